"""Sites whose answers take long to read, crawled beside one that means no harm: it gets all its pages, and what was
left out of theirs is told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.crawling import rows
from tests.hostile.answers import ATTACKS, innocent, served

from weft.app import run
from weft.config import Settings
from weft.directory import Plan
from weft.engine.progress import Counts
from weft.frontier.durable.log import FrontierLog
from weft.model import Reason

_SETTINGS = {"scope": "all", "wait": 0.0, "retry_pauses": [0.1], "max_depth": 3}


def crawl(name: str, out: Path, **changes: Any) -> list[str]:
    """Crawl an attack with an innocent site beside it: what it was asked for."""
    attack = ATTACKS[name]()
    with served(attack.pages, "127.0.0.2") as bad, served(innocent(), "127.0.0.3") as good:
        settings = Settings().with_values(_SETTINGS | attack.settings | changes, where="a test")
        run(Plan(seeds=[bad.url, good.url], out=out, settings=settings))
    assert set(good.asked) >= set(innocent())
    return bad.asked


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gzip-members", Reason.ENCODING),
        ("gzip-in-gzip", Reason.ENCODING),
        ("zeros", None),
        ("feed-empty-elements", Reason.HOSTILE),
        ("media-type", None),
    ],
)
def test_page__that_takes_long_harms_nobody(tmp_path: Path, name: str, reason: Reason | None) -> None:
    """It has its reason; the other pages of its own site and those of others are fetched, once."""
    asked = crawl(name, tmp_path / "out")
    assert [path for path in asked if path != "/robots.txt"] == ["/", "/bad", "/good"]
    found = dict(rows(tmp_path / "out", "url, reason", "url like '%/bad'"))
    assert list(found.values()) == [None if reason is None else reason.value]


@pytest.mark.parametrize("name", ["map-open-elements", "map-empty-elements"])
def test_sitemap__without_end_harms_nobody(tmp_path: Path, name: str) -> None:
    """It is hostile, and asked for once."""
    asked = crawl(name, tmp_path / "out")
    assert asked.count("/sitemap.xml") == 1
    assert rows(tmp_path / "out", "reason", "url like '%/sitemap.xml'") == [("hostile",)]


def test_links__beyond_the_limit_are_counted(tmp_path: Path) -> None:
    """Nothing is cut in silence."""
    crawl("tags", tmp_path / "out", max_links=50)
    assert _refused(tmp_path / "out")["page-links"] == 99_000 - 50


def test_robots__that_refuse_much_let_others_crawl(tmp_path: Path) -> None:
    """27,000 patterns are more than are tried: nothing but robots.txt is asked for, and the refusals are committed."""
    asked = crawl("robots-tails", tmp_path / "out")
    assert asked == ["/robots.txt"]
    assert _refused(tmp_path / "out")["robots"] == 1


def test_cookies__are_written_down_when_they_change(tmp_path: Path) -> None:
    """And no more of them than a server would take."""
    crawl("cookies", tmp_path / "out", per_visit=1)
    log = FrontierLog(tmp_path / "out" / "workers" / "0" / "frontier.log", read_only=True)
    jars = [jar for replayed in log.replay() for _, jar in replayed.commit.jars]
    log.close()
    assert len(jars) == 1
    assert len(jars[0]) < 20_000


def test_media_type__is_written_without_what_it_hides(tmp_path: Path) -> None:
    """The log is looked at in terminals."""
    crawl("media-type", tmp_path / "out")
    log = (tmp_path / "out" / "log" / "crawl.log").read_bytes()
    assert b"\x1b" not in log
    assert max(map(len, log.splitlines())) < 500
    assert b"\ttext/html\t" in next(line for line in log.splitlines() if b"/bad\t" in line)


def _refused(out: Path) -> dict[str, int]:
    """How many URLs were refused, by reason."""
    log = FrontierLog(out / "workers" / "0" / "frontier.log", read_only=True)
    *_, last = log.replay()
    log.close()
    return msgspec.msgpack.decode(last.commit.counts, type=Counts).refused
