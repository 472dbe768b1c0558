"""Nothing is cut or left out in silence: what a crawl did not keep is counted, told, and can be had."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.crawling import rows
from tests.small_site import Answer, Asked, SmallSite, links, small_site
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from weft import crawl
from weft.app import Summary, run
from weft.cli import main
from weft.config import Settings
from weft.directory import Plan
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
            assert managed.status().truncated == {"pages": {"length": 1}, "requisites": {}, "robots": {}}
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


def test_warcinfo__says_who_and_what_for(tmp_path: Path) -> None:
    """By the names of DCMI that other crawlers write; a line break makes no further field."""
    with small_site({"/": b"x"}) as site:
        out = tmp_path / "harvest"
        gather(site, out, operator="A Library", description="Of the town\r\nrobots: ignore")
        gather(site, tmp_path / "other", collection="Towns", contact="mailto:me@example.org")
    found = [_warcinfo(folder) for folder in (out, tmp_path / "other")]
    assert found[0]["operator"] == "A Library"
    assert found[0]["description"] == "Of the town robots: ignore"
    assert found[0]["isPartOf"] == "harvest"
    assert found[0]["robots"] == "obey"
    assert (found[1]["operator"], found[1]["isPartOf"]) == ("mailto:me@example.org", "Towns")
    assert "description" not in found[1]


def _warcinfo(out: Path) -> dict[str, str]:
    (volume,) = (out / "volumes").glob("*.warc.gz")
    checker = Checker(SimpleNamespace(inputs=[str(volume)], verbose=False))
    checker.process_all()
    assert checker.exit_value == 0
    with volume.open("rb") as file:
        record = next(iter(ArchiveIterator(file)))
        assert record.rec_type == "warcinfo"
        lines = record.content_stream().read().decode().splitlines()
    return dict(line.split(": ", 1) for line in lines)


# --- redirects that want a cookie back ---


def turned_away(*places: str) -> Callable[[Asked], Answer]:
    """A page for those who have the cookie; the others get it, and are sent somewhere, each time elsewhere."""
    rest = list(places)

    def answer(asked: Asked) -> Answer:
        if "seen=1" in asked.get("cookie", ""):
            return Answer(b"<p>welcome</p>")
        place = rest.pop(0) if len(rest) > 1 else rest[0]
        return Answer(status=302, headers=(("Location", place), ("Set-Cookie", "seen=1; Path=/")))

    return answer


def moved(place: str) -> Answer:
    """A redirect."""
    return Answer(status=302, headers=(("Location", place),))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("pages", "asked"),
    [
        ({"/page": turned_away("/page")}, ["/page", "/page"]),
        ({"/page": turned_away("/x/../page#top")}, ["/page", "/page"]),
        ({"/page": turned_away("/consent"), "/consent": moved("/page")}, ["/page", "/consent", "/page"]),
        (
            {"/page": turned_away("/login"), "/login": moved("/consent"), "/consent": moved("/page")},
            ["/page", "/login", "/consent", "/page"],
        ),
    ],
    ids=["itself", "spelt", "consent", "chain"],
)
def test_cookie__that_is_wanted_back_is_brought(
    pages: dict[str, Any], asked: list[str], workers: int, tmp_path: Path
) -> None:
    """A page that sends visitors away to see whether its cookie comes back is had in the end."""
    with small_site({"/": links("/page")} | pages) as site:
        values = {"wait": 0.0, "per_visit": 50, "workers": workers}
        settings = Settings().with_values(values, where="a test")
        summary = run(Plan(seeds=[site.url()], out=tmp_path / "x", settings=settings, watched=workers > 1))
        assert site.asked == ["/", *asked]
    good = rows(tmp_path / "x", "status, reason", f"url = '{site.url('/page')}' order by fetched_at")
    assert good[-1] == (200, None)
    assert summary.pending == 0


def test_cookie__that_nobody_is_content_with_is_no_loop(tmp_path: Path) -> None:
    """A page that always redirects, there and back, or each time elsewhere, is tried twice and no more."""
    numbers = iter(range(1000))

    def elsewhere(_asked: Asked) -> Answer:
        place = f"/back?{next(numbers)}"
        return Answer(status=302, headers=(("Location", place), ("Set-Cookie", "seen=1")))

    class Backs(dict[str, Any]):
        def get(self, path: str, default: Any = None) -> Any:
            return moved("/new") if path.startswith("/back?") else super().get(path, default)

    pages = Backs({"/": links("/old", "/self", "/new"), "/new": elsewhere, "/bounce": moved("/old")})
    pages["/old"] = Answer(status=302, headers=(("Location", "/bounce"), ("Set-Cookie", "seen=1")))
    pages["/self"] = Answer(status=302, headers=(("Location", "/self"), ("Set-Cookie", "seen=1")))
    with small_site(pages) as site:
        summary = gather(site, tmp_path / "x", max_depth=99)
        counts = Counter(path.partition("?")[0] for path in site.asked)
    assert summary.why == "done"
    assert counts == {"/": 1, "/old": 2, "/bounce": 1, "/self": 2, "/new": 2, "/back": 2}
