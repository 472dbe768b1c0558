"""A repair and the run behind it go by the same records: a crawl is made step by step, on a clock that stands still,
and its files are damaged where commits end. Nothing depends on when a process was killed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pyarrow.parquet as pq
import pytest
from tests.crawling import rows

from weft.clock import VirtualClock
from weft.config import Settings
from weft.directory import Plan, secret_of, write_settings
from weft.engine.gate import Identity
from weft.events import Fetched
from weft.frontier.durable.records import records_of
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.politeness import Politeness
from weft.frontier.scope import Selection
from weft.frontier.shared.contract import Limits
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.model import Outcome, Page, Parsed, Turn
from weft.ordering import ordering_named
from weft.repair import repair_crawl
from weft.soundness import check_sound
from weft.store.files import OPEN, SETTLED, Mark, intact
from weft.store.store import Store

HEAD, HEADERS = b"HTTP/1.1 200 OK\r\n\r\n", {"content-type": "text/html"}
SEEDS = [f"http://{letter}.example/" for letter in "abcde"]
# How many pages each commit has, and whether it has URLs that were not known before.
COMMITS = ((1, True), (1, True), (1, False), (1, True), (1, True))


class Life:
    """One life of the only worker: it fetches what it is told to, and commits when it is told to."""

    def __init__(self, out: Path, settings: Settings) -> None:
        self._out = out
        self._clock = VirtualClock(1000.0)
        self._shared = open_frontier(out, self._clock)
        check_sound(out, self._shared)
        self._shared.prepare(1, Limits(max_pages=None))
        begun = self._shared.begin(0)
        self.store = Store(out, settings.storing, info={}, chance=random.Random(0), clock=self._clock)
        terms = Terms(
            ordering=ordering_named("breadth-first"),
            politeness=settings.politeness,
            selection=settings.selection,
            retries=settings.retries,
            overrides=settings.overrides,
            rules=settings.urls,
            agent="weft",
            secret=secret_of(out),
            capacity=1 << 12,
        )
        log = out / "workers" / "0" / "frontier.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        self.frontier = LocalFrontier(terms, path=log, clock=self._clock)
        last = self.frontier.commits.recover(begun, lambda commit: intact(out, commit.marks))
        self.dropped = len(self.frontier.pages.log.dropped)
        self.store.take_up(*(({}, 0) if last is None else (last.marks, last.number)))
        self.store.before = self.frontier.exchanges.mail.number
        self._commits = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.frontier.close()
        self._shared.close()

    def exchange(self) -> None:
        """Hear what there is to fetch."""
        self.frontier.exchanges.obey(self._shared.exchange(self.frontier.exchanges.report(0, wants=1 << 20)))

    def fetch(self) -> bool:
        """Fetch one page; False where there is none."""
        self._clock.advance(60.0)  # every site has rested
        visit = self.frontier.visit()
        if visit is None:
            return False
        assert self.frontier.enter(visit, f"198.18.0.{visit.site.number}")
        turn = self.frontier.turn(visit)
        if turn is not None:
            self._store(turn)
            self.frontier.settle(visit, turn, None)
        self.frontier.leave(visit)
        return turn is not None

    def _store(self, turn: Turn) -> None:
        wall = self._clock.wall()
        body = turn.url.encode()
        page = Page(turn.url, 200, None, b"GET", HEAD, HEADERS, body, "", "192.0.2.1", "", wall, wall, 0.1, closed=True)
        parsed = Parsed("text/html", "utf-8", "", "", turn.url, [], [], follow=True, reason=None)
        stored = self.store.archive(turn, page, cut="")
        fetched = Fetched(Outcome(turn, page, parsed, None), "", 1, stored.digest, duplicate=False, links=0)
        self.store.note_page(fetched, stored)

    def commit(self) -> None:
        """Put everything on disk."""
        marks = self.store.mark()
        self.store.sync()
        self.frontier.commits.commit(marks=marks, sync=True)
        self._commits += 1
        self.exchange()

    def finish(self) -> None:
        """Fetch what is left, and seal everything."""
        self.exchange()
        while self.fetch():
            pass
        self.commit()
        self.store.mark()
        self.store.roll(all_of_them=True)
        self.store.seal(self._commits + 1 + SETTLED)


class Crawl:
    """A crawl of five pages in five commits, whose worker was killed."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.settings = Settings(
            identity=Identity(contact="mailto:me@example.org"),
            selection=Selection(scope="all", robots="ignore"),
            politeness=Politeness(margin=0.0),
        )
        out.mkdir()
        write_settings(Plan(seeds=SEEDS, out=out, settings=self.settings))
        create_frontier(out, by_size=False, seeds=SEEDS)
        with Life(out, self.settings) as life:
            life.exchange()
            for number, (pages, news) in enumerate(COMMITS):
                for _ in range(pages):
                    assert life.fetch()
                for each in range(20 if news else 0):
                    life.store.note_url(1000 * number + each, f"http://far.example/{number}/{each}")
                life.commit()

    def marks(self, folder: str) -> list[Mark]:
        """By commit: how far the open file of a folder was valid, where it had one."""
        commits = [record.commit() for record in records_of(self.out / "workers" / "0" / "frontier.log")]
        return [mark for commit in commits for name, mark in commit.marks.items() if name.startswith(folder)]

    def zero(self, folder: str, first: int, last: int) -> None:
        """The bytes of a file between two places are zeros."""
        (path,) = (path for path in (self.out / folder).glob(f"*{OPEN}") if ".cdxj" not in path.name)
        with path.open("r+b") as file:
            file.seek(first)
            file.write(bytes(last - first))


def _lose_old_urls(crawl: Crawl) -> None:
    """Bytes of `urls` from before the last three commits on; the last but two had none. Its checksum is right, those of
    the last two are not: they look like what a crash left, until the part is mended.
    """
    marks = crawl.marks("urls/")
    assert marks[-3].since == marks[-3].length
    crawl.zero("urls", marks[-4].since + 8, marks[-1].length)


def _lose_a_record_and_new_rows(crawl: Crawl) -> None:
    """The first record of a volume is bad, so the row of its page must go; and the last two commits lost their rows."""
    records, parts = crawl.marks("volumes/"), crawl.marks("pages/")
    crawl.zero("volumes", records[0].length - 60, records[0].length - 20)
    crawl.zero("pages", parts[-2].since + 8, parts[-1].length)


@pytest.mark.parametrize("damage", [_lose_old_urls, _lose_a_record_and_new_rows])
def test_repair__goes_by_the_records_that_count_afterwards(tmp_path: Path, damage: Callable[[Crawl], None]) -> None:
    """What it takes for lost is lost when the crawl goes on, and what it takes for stored is stored: every page has one
    row.
    """
    crawl = Crawl(tmp_path / "crawl")
    damage(crawl)
    assert repair_crawl(crawl.out, lambda _report: True).done
    with Life(crawl.out, crawl.settings) as life:
        assert not life.dropped  # the repair has decided that
        life.finish()
    stored = Counter(url for (url,) in rows(crawl.out, "url", "final"))
    assert stored == dict.fromkeys(SEEDS, 1)


def test_repair__keeps_commits_that_only_a_damaged_file_speaks_against(tmp_path: Path) -> None:
    """Their pages are not fetched again: the file is made anew, and the others have all that was promised."""
    crawl = Crawl(tmp_path / "crawl")
    _lose_old_urls(crawl)
    report = repair_crawl(crawl.out, lambda _report: True)
    assert report.pages == 0
    assert len(list(records_of(crawl.out / "workers" / "0" / "frontier.log"))) == len(COMMITS)
    (part,) = (crawl.out / "urls").glob("*.parquet")
    assert pq.read_table(part).num_rows == 20  # of the commit before the first bad byte


def test_repair__puts_a_log_aside_before_it_is_cut(tmp_path: Path) -> None:
    """Nothing is deleted, and it says so before."""
    crawl = Crawl(tmp_path / "crawl")
    _lose_a_record_and_new_rows(crawl)
    log = crawl.out / "workers" / "0" / "frontier.log"
    before = log.read_bytes()
    said = repair_crawl(crawl.out, lambda _report: False).losses
    assert log.read_bytes() == before
    assert any(line.startswith("workers/0/frontier.log: its last records go (2)") for line in said)
    repair_crawl(crawl.out, lambda _report: True)
    assert len(list(records_of(log))) == len(COMMITS) - SETTLED
    (copy,) = crawl.out.glob("damaged/*/workers/0/frontier.log")
    assert copy.read_bytes() == before
