"""Somebody links to a URL of his own that has the fingerprint of another's page: that page is crawled and shown all the
same.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.collisions import FORGED, VICTIM
from tests.small_site import SmallSite, links, small_site

from weft.app import run
from weft.cli import main
from weft.config import Settings
from weft.directory import Plan, secret_of
from weft.errors import UsageError, WeftError
from weft.explain import explain_url
from weft.repair import repair_crawl
from weft.store.reading import CrawlFiles
from weft.urls import fingerprint

ATTACKER = "http://attacker.example/"
HOME = "http://good.victim.example/"


def go(web: SmallSite, out: Path, **changes: Any) -> None:
    """Crawl what a proxy has: names need no server of their own then, and URLs no port."""
    values = {"scope": "all", "wait": 0.0, "contact": "mailto:me@example.org", "proxy": f"http://127.0.0.1:{web.port}"}
    run(Plan(seeds=[ATTACKER], out=out, settings=Settings().with_values(values | changes, where="a test")))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SmallSite, Path]]:
    """The attacker's page is a seed, and names his URL before the victim's site."""
    out = tmp_path_factory.mktemp("aimed") / "crawl"
    pages = {
        ATTACKER: links(FORGED, HOME),
        FORGED: links("/from-forged") + b"the attacker's",
        "http://attacker.example/from-forged": b"x",
        HOME: links("/p3"),
        VICTIM: links("/beyond") + b"the victim's",
        f"{HOME}beyond": b"y",
    }
    with small_site(pages) as web:
        go(web, out)
        yield web, out


def test_victim__is_fetched(crawled: tuple[SmallSite, Path]) -> None:
    """And so is the other; in the columns both have one id, and each its own URL."""
    web, out = crawled
    assert [web.asked.count(url) for url in (FORGED, VICTIM, f"{HOME}beyond")] == [1, 1, 1]
    rows = CrawlFiles(out).rows(fingerprint(VICTIM))
    assert sorted(row["url"] for row in rows) == sorted([FORGED, VICTIM])
    assert sorted(CrawlFiles(out).urls(fingerprint(VICTIM))) == sorted([FORGED, VICTIM])


def test_show__gives_the_page_that_was_asked_for(
    crawled: tuple[SmallSite, Path], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """By its text."""
    for url, mine in ((VICTIM, b"the victim's"), (FORGED, b"the attacker's")):
        with pytest.raises(SystemExit) as ended:
            main(["show", str(crawled[1]), url])
        assert ended.value.code == 0
        assert mine in capfdbinary.readouterr().out


def test_explain__speaks_of_the_page_that_was_asked_for(crawled: tuple[SmallSite, Path]) -> None:
    """Where several pages may be meant, all of them are named."""
    out = crawled[1]
    answer = explain_url(out, VICTIM)
    assert (answer.state, len(answer.fetches), answer.fetches[0]["url"]) == ("fetched", 1, VICTIM)
    assert any(f"found first on {HOME} " in line for line in answer.because)
    beyond = explain_url(out, f"{HOME}beyond")
    assert any(VICTIM in line and FORGED in line for line in beyond.because)


def test_explain__does_not_take_a_forged_page_for_one_that_was_not_fetched(tmp_path: Path) -> None:
    """The victim's page is linked and refused: that is said, and not what came of the other."""
    out = tmp_path / "crawl"
    with small_site({ATTACKER: links(FORGED, VICTIM), FORGED: b"mine"}) as web:
        go(web, out, exclude=[r"/p3$"])
        assert [url for url in web.asked if not url.endswith("robots.txt")] == [ATTACKER, FORGED]
        answer = explain_url(out, VICTIM)
        assert (answer.state, answer.fetches) == ("refused", [])
        assert any(FORGED in line for line in answer.because), "links are known by ids alone, and it is said"
        with pytest.raises(SystemExit) as ended:
            main(["show", str(out), VICTIM])
        assert ended.value.code == 1
        go(web, out)  # wider: what was refused comes in, whoever has its id
        assert web.asked.count(VICTIM) == 1


def test_secret__is_the_owners_alone_and_stays(crawled: tuple[SmallSite, Path], tmp_path: Path) -> None:
    """Each crawl draws its own, keeps it, and does not go on without it."""
    web, out = crawled
    key = out / "hash.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    asked = len(web.asked)
    go(web, out)
    assert (key.read_bytes(), len(web.asked)) == (before, asked)
    go(web, tmp_path / "other", max_pages=1)
    assert secret_of(tmp_path / "other") != secret_of(out)


@pytest.mark.parametrize("damage", ["removed", "flipped", "cut"])
def test_secret__that_is_damaged_ends_the_run_until_it_is_repaired(
    crawled: tuple[SmallSite, Path], tmp_path: Path, damage: str
) -> None:
    """Without it no URL would be known again. The frontier is made anew from texts, and no page is fetched twice."""
    web, out = crawled[0], tmp_path / "crawl"
    shutil.copytree(crawled[1], out)
    key = out / "hash.key"
    text = key.read_text()
    damaged = {"removed": "", "flipped": ("1" if text[0] == "0" else "0") + text[1:], "cut": text[:20]}[damage]
    key.unlink()
    if damaged:
        key.write_text(damaged)
    asked = len(web.asked)
    with pytest.raises(WeftError, match="hash key"):
        go(web, out)
    assert repair_crawl(out, lambda _report: True).done
    go(web, out)
    assert [url for url in web.asked[asked:] if not url.endswith("robots.txt")] == []


@pytest.mark.parametrize("left", [["hash.key"], [".lock", "hash.key.new"], ["hash.key", "seeds.txt", "crawl.toml.new"]])
def test_directory__that_was_left_before_its_settings_were_written_is_begun_anew(
    crawled: tuple[SmallSite, Path], tmp_path: Path, left: list[str]
) -> None:
    """Nothing is lost that was crawled; where there is anything else, the directory is not ours."""
    for name in left:
        (tmp_path / name).write_text("half")
    go(crawled[0], tmp_path, max_pages=1)
    assert len(secret_of(tmp_path)) == 16
    (tmp_path / "crawl.toml").unlink()
    with pytest.raises(UsageError, match="no crawl of ours"):
        go(crawled[0], tmp_path, max_pages=1)
