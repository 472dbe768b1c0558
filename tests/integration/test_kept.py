"""Nothing is cut or left out in silence: what a crawl did not keep is counted, told, and can be had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.crawling import rows
from tests.small_site import Answer, SmallSite, links, small_site

from weft import crawl
from weft.app import Summary
from weft.cli import main
from weft.errors import UsageError
from weft.explain import explain_url
from weft.manage import managing

PDF = Answer(b"%PDF-1.4 one", "application/pdf")


def gather(site: SmallSite, out: Path, *seeds: str, **settings: Any) -> Summary:
    """Crawl a small site, without waiting."""
    chosen: dict[str, Any] = {"wait": 0.0, "per_visit": 50, "retry_pauses": []} | settings
    return crawl([site.url(seed) for seed in seeds or ("/",)], out, **chosen)


def said(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """What a command prints."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_cut__is_told_wherever_one_looks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A body that is longer than the limit: in the totals, in status, in the log and in the explanation."""
    with small_site({"/": links("/long"), "/long": b"x" * 3000}) as site:
        out = tmp_path / "cut"
        summary = gather(site, out, max_bytes_page=1000)
        assert summary.counts.truncated == {"length": 1}
        assert summary.counts.parts_truncated == {}
        with managing(out) as managed:
            assert managed.status().truncated == {"pages": {"length": 1}, "requisites": {}}
        status = said(capsys, "status", str(out))
        assert "--max-bytes-page" in status
        assert "1 kB" in status
        lines = said(capsys, "log", str(out), "--cut").splitlines()
        assert [line.split("\t")[1] for line in lines] == ["200 cut:length"]
        assert said(capsys, "log", str(out), "--failed") == ""
        assert "1,000 bytes" in explain_url(out, site.url("/long")).verdict
        assert "bytes" not in explain_url(out, site.url("/")).verdict


def test_requisites__are_counted_with_their_duplicates(tmp_path: Path) -> None:
    """Images are no pages, and are not forgotten either."""
    picture = Answer(b"GIF89a picture", "image/gif")
    page = b'<img src="/a.gif"><img src="/b.gif"><img src="/none.gif"><img src="/long.gif">'
    pages = {"/": page, "/a.gif": picture, "/b.gif": picture, "/long.gif": Answer(b"GIF89a" * 100, "image/gif")}
    with small_site(pages) as site:
        counts = gather(site, tmp_path / "parts", requisites=True, max_bytes_page=500).counts
    assert (counts.pages, counts.duplicates) == (1, 0)
    assert (counts.parts, counts.parts_good, counts.parts_failed, counts.parts_duplicates) == (4, 3, 1, 1)
    assert (counts.truncated, counts.parts_truncated) == ({}, {"length": 1})


def test_types__that_are_not_collected_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By what the file is called, and by what the server says; with the option that takes them."""
    pages = {"/": links("/a.pdf", "/b.pdf", "/film", "/own"), "/film": Answer(b"x", "video/mp4")}
    with small_site(pages | {"/own": Answer(b"x", "application/x-own")}) as site:
        out = tmp_path / "types"
        summary = gather(site, out)
        assert summary.counts.unwanted == {"application/pdf": 2, "video/mp4": 1, "application/x-own": 1}
        status = said(capsys, "status", str(out))
        assert "application/pdf 2 (--types pdf)" in status
        assert "video/mp4 1 (--types mp4)" in status
        assert "(--types application/x-own)" in status
        assert gather(site, out).counts.unwanted == summary.counts.unwanted, "a second run counts nothing twice"


@pytest.mark.parametrize("types", [["*/*"], ["all"], ["pdf", "video/*", "bin"]])
def test_types__everything_comes_when_it_is_asked_for(types: list[str], tmp_path: Path) -> None:
    """Whatever it is called."""
    pages = {"/": links("/a.pdf", "/film.mp4", "/c.bin"), "/a.pdf": PDF, "/film.mp4": Answer(b"x", "video/mp4")}
    with small_site(pages | {"/c.bin": Answer(b"y", "application/octet-stream")}) as site:
        summary = gather(site, tmp_path / "all", types=types)
    assert (summary.counts.good, summary.refused) == (4, {})


def test_types__nonsense_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """With what is meant."""
    with pytest.raises(UsageError, match="pdf"):
        crawl(["http://127.0.0.1:9/"], tmp_path / "x", types=["pfd"])
    assert not (tmp_path / "x").exists()


def test_seed__is_stored_whatever_its_type(tmp_path: Path) -> None:
    """And so is where it redirects to; a link of the same type is not."""
    moved = Answer(status=302, headers=(("Location", "/there.pdf"),))
    pages = {"/a.pdf": PDF, "/moved": moved, "/there.pdf": Answer(b"%PDF-1.4 two", "application/pdf")}
    with small_site(pages | {"/": links("/c", "/c.pdf"), "/c": PDF}) as site:
        out = tmp_path / "seeds"
        gather(site, out, "/", "/a.pdf", "/moved")
        stored = {url for (url,) in rows(out, "url", "volume is not null and status = 200")}
        assert stored == {site.url("/"), site.url("/a.pdf"), site.url("/there.pdf")}


def test_log__as_json_has_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing where there is nothing."""
    with small_site({"/": links("/none")}) as site:
        out = tmp_path / "json"
        gather(site, out)
    found = {row["url"]: row for row in map(json.loads, said(capsys, "log", str(out), "--json").splitlines())}
    page, none = found[site.url("/")], found[site.url("/none")]
    assert (page["status"], page["bytes"], page["depth"], page["attempt"]) == (200, len(links("/none")), 0, 1)
    assert isinstance(page["took"], float)
    assert (page["reason"], page["cut"], page["retry"]) == (None, None, False)
    assert (none["status"], none["reason"]) == (404, "status-4xx")


@pytest.mark.parametrize("wrong", [["--last", "-1"], ["--reason", "status-4x"], ["--reason", "nonsense"]])
def test_log__misuse_is_refused(wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rather than answered with nothing."""
    (tmp_path / "crawl.toml").write_text("", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["log", str(tmp_path), *wrong])
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert "status-4xx" in message or "--last" in message
