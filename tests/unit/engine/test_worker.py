"""A worker whose global frontier is slow or away: commits go on, and what was to be told is told later, once.

Worker, local frontier and global frontier are real; the network is a script, and time is virtual: the event loop jumps
to whatever is due next.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
from tests.scripted import PlainNames

from weft.clock import VirtualClock
from weft.engine.asker import Asker
from weft.engine.drive import Ask
from weft.engine.gate import Gate, Identity
from weft.engine.limits import Limits
from weft.engine.marker import Marker
from weft.engine.progress import Progress
from weft.engine.wires import Wires
from weft.engine.worker import Worker
from weft.events import Bus, Fetched
from weft.fetch.dns import Answer
from weft.fetch.transport import Connection, Request
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.local.visit import Visit
from weft.frontier.overrides import Overrides
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.frontier.shared import contract
from weft.frontier.shared.contract import Begun, FrontierAwayError, Orders, Report
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.model import Page
from weft.ordering.breadth_first import BreadthFirst
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.store.store import Store
from weft.store.volumes import Storing
from weft.urls import UrlRules

BEGAN = 1_000_000.0
SITES, PAGES = 6, 40
Script = Callable[[float], str]  # at so many seconds: "", "away", "unheard"


def web() -> dict[str, bytes]:
    """Sites whose pages lead on one by one; every tenth leads to the next site as well."""
    pages = {}
    for site in range(SITES):
        for page in range(PAGES):
            links = [f"/{page + 1}"] if page + 1 < PAGES else []
            links += [f"http://s{site + 1}.example/0"] if page == 10 and site + 1 < SITES else []
            pages[f"http://s{site}.example/{page}"] = "".join(f'<a href="{link}">x</a>' for link in links).encode()
    return pages


class Script_(PlainNames):  # noqa: N801
    """Every page is there at once."""

    def __init__(self, pages: dict[str, bytes], clock: VirtualClock) -> None:
        self._pages = pages
        self._clock = clock

    def resolve(self, host: str) -> Ask[Answer]:
        """Each site has an address of its own."""
        address = f"192.0.2.{int(host[1]) + 1}"
        return Ask(lambda done: done(Answer((address,), None, 1e9)))

    def connect(self, visit: Visit, address: str, answered: Callable[[], None] | None) -> Connection:
        """Nothing is opened."""
        return Connection(visit.site.host, 80, address, verify=False, answered=answered)

    def fetch(self, connection: Connection, request: Request) -> Ask[Page | None]:
        """The page."""
        del connection
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        now, headers = self._clock.wall(), {"content-type": "text/html"}
        body = self._pages[request.url]
        page = Page(
            request.url, 200, None, b"GET / HTTP/1.1\r\n\r\n", head, headers, body, "", "192.0.2.1", "", now, now, 0.1,
            closed=False,
        )  # fmt: skip
        return Ask(lambda done: done(page))

    def close(self, connection: Connection) -> None:
        """Nothing to close."""


class Jumping(selectors.SelectSelector):
    """Waits for nothing: time passes at once."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the time pass that there is until something is due."""
        assert timeout is not None, "nothing will ever happen"
        if timeout > 0:
            self._clock.advance(timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on a virtual clock."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(Jumping(clock))
        self._virtual = clock

    def time(self) -> float:
        """The virtual time."""
        return self._virtual.now()


class Later(Executor):
    """A thread, as the loop sees it, whose work takes so many virtual seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it, when its time is over."""
        done: Future[Any] = Future()

        def work() -> None:
            try:
                done.set_result(function(*args, **kwargs))
            except Exception as error:  # noqa: BLE001  as an executor does
                done.set_exception(error)

        self._loop.call_later(self._seconds, work)
        return done


class Unsteady:
    """The real global frontier, which a script lets be away, or do as it was told without saying so."""

    def __init__(self, folder: Path, clock: VirtualClock, script: Script) -> None:
        create_frontier(folder, by_size=False, seeds=["http://s0.example/0"])
        self.real = open_frontier(folder, clock)
        self.real.prepare(1, contract.Limits())
        self._clock = clock
        self._script = script
        self.told: list[int] = []  # numbers of batches that were new, in the order in which they were heard
        self.answered: list[float] = []
        self._applied = 0

    def begin(self, worker: int, lease: float = 0.0) -> Begun:
        """As ever."""
        return self.real.begin(worker, lease)

    def touch(self, worker: int) -> None:
        """As ever."""
        self.real.touch(worker)

    def held(self, worker: int) -> set[str]:
        """As ever."""
        return self.real.held(worker)

    def close(self) -> None:
        """As ever."""
        self.real.close()

    def exchange(self, report: Report) -> Orders:
        """As the script says."""
        how = self._script(self._clock.now() - BEGAN)
        if how == "away":
            raise FrontierAwayError("it is away")
        self.told += [batch.number for batch in report.batches if batch.number > self._applied]
        orders = self.real.exchange(report)
        self._applied = orders.applied
        if how == "unheard":
            raise FrontierAwayError("nobody knows whether it heard")
        self.answered.append(self._clock.now() - BEGAN)
        return orders


class Crawl:
    """One worker on a virtual clock, with everything it has to do with."""

    def __init__(self, folder: Path, script: Script, *, lease: float, exchange_takes: float = 0.0) -> None:
        self.clock = clock = VirtualClock(BEGAN)
        self.shared = Unsteady(folder, clock, script)
        politeness = Politeness(wait=2.0, per_visit=1, margin=0.0)
        self.frontier = LocalFrontier(
            Terms(
                ordering=BreadthFirst(),
                politeness=politeness,
                selection=Selection(scope="all", robots="ignore", max_depth=1000),
                retries=Retries(),
                overrides=Overrides(),
                rules=UrlRules(),
                agent="weft",
                secret=bytes(16),
                capacity=1 << 14,
            ),
            path=folder / "frontier.log",
            clock=clock,
        )
        self.frontier.commits.recover(self.shared.begin(0))
        bus = Bus()
        self.fetched: list[tuple[float, str]] = []
        bus.subscribe(self._on_event)
        progress = Progress(clock)
        bus.subscribe(progress.on_event)
        self.marker = Marker(folder / "reading")
        apart: Any = None
        wires = Wires(
            clock=clock,
            network=Script_(web(), clock),
            frontier=self.frontier,
            parser=Parser(Reading(), "weft"),
            apart=apart,
            marker=self.marker,
            store=Store(folder, Storing(), info={}, chance=random.Random(0)),
            asker=Asker("weft", self.frontier.scope.wanted, max_bytes=10**6, encodings=""),
            gate=Gate(Identity(contact="mailto:me@example.org", allow_address=("192.0.2.0/24",)), ()),
            bus=bus,
            progress=progress,
            politeness=politeness,
            application=None,
            verify_tls=False,
        )
        self.commits: list[float] = []
        self.said: list[str] = []
        self._worker = Worker(
            0,
            wires,
            progress,
            Limits(),
            self.shared,
            sync=False,
            lease=lease,
            beat=lambda: self.commits.append(clock.now() - BEGAN),
            say=self.said.append,
        )
        self._takes = exchange_takes

    def _on_event(self, event: object) -> None:
        if isinstance(event, Fetched):
            self.fetched.append((self.clock.now() - BEGAN, event.outcome.turn.url))

    def run(self) -> str:
        """Crawl to the end; why it was."""
        loop = VirtualLoop(self.clock)
        self._worker._committing = Later(loop, 0.01)  # type: ignore[assignment]
        self._worker._exchanging = Later(loop, self._takes)  # type: ignore[assignment]
        try:
            loop.run_until_complete(self._worker.run(lambda _statistics: None))
        finally:
            loop.close()
            self.frontier.close()
            self.marker.close()
            self.shared.close()
        return self._worker.why

    def between(self, begin: float, end: float) -> int:
        """How many pages were fetched in these seconds."""
        return sum(begin < at < end for at, _ in self.fetched)


def check_all_told_once(crawl: Crawl) -> None:
    """Every page was fetched once, and every batch applied once, in its order."""
    assert sorted(url for _, url in crawl.fetched) == sorted(web())
    assert crawl.shared.told == sorted(set(crawl.shared.told))
    assert crawl.frontier.exchanges.report(0, wants=0).batches == [], "nothing is left to be told"


@pytest.mark.parametrize("how", ["away", "unheard"])
def test_commits__go_on_while_the_global_frontier_is_away(tmp_path: Path, how: str) -> None:
    """Pages are fetched and kept; when it is back it hears of everything, once and in order, also if it heard before
    and nobody knew.
    """
    crawl = Crawl(tmp_path, lambda at: how if 20 < at < 60 else "", lease=1000.0)
    assert crawl.run() == "done"
    assert 35 <= sum(20 < at < 60 for at in crawl.commits) <= 45, "one a second"
    assert crawl.between(20, 60) > 30
    assert not [at for at in crawl.shared.answered if 20 < at < 60]
    assert len(crawl.said) == 2, "that it is away, and that it is back; each once"
    assert "answers again after" in crawl.said[1]
    check_all_told_once(crawl)


def test_lease__ends_the_visits_while_the_global_frontier_stays_away(tmp_path: Path) -> None:
    """It is counted from before the last report that was answered; what was fetched until then is kept, and with the
    next answer the crawl goes on.
    """
    crawl = Crawl(tmp_path, lambda at: "away" if 20 < at < 60 else "", lease=10.0)
    assert crawl.run() == "done"
    last = max(at for at in crawl.shared.answered if at < 20.5)
    assert crawl.between(20, last + 10) > 5
    assert crawl.between(last + 10.001, 60) == 0
    assert crawl.between(60, 65) > 0
    assert 35 <= sum(20 < at < 60 for at in crawl.commits) <= 45
    check_all_told_once(crawl)


def test_exchange__that_is_slow_delays_no_commit(tmp_path: Path) -> None:
    """Each takes longer than several commits do, which are told together."""
    crawl = Crawl(tmp_path, lambda _at: "", lease=1000.0, exchange_takes=7.0)
    assert crawl.run() == "done"
    steady = [at for at in crawl.commits if 10 < at < 60]
    assert 45 <= len(steady) <= 55
    assert len([at for at in crawl.shared.answered if 10 < at < 60]) <= 8
    check_all_told_once(crawl)


def test_exchange__is_hurried_only_where_it_ends_a_want(tmp_path: Path) -> None:
    """A worker that could do more than it has asks at once, and is not answered with sites: it asks once a second then,
    with every commit, and not ten times.
    """
    crawl = Crawl(tmp_path, lambda _at: "", lease=1000.0)
    assert crawl.run() == "done"
    assert 35 <= len([at for at in crawl.shared.answered if 20 < at < 60]) <= 60
    assert 35 <= sum(20 < at < 60 for at in crawl.commits) <= 60
    check_all_told_once(crawl)


def test_end__while_the_global_frontier_is_away_is_a_good_one(tmp_path: Path) -> None:
    """What was to be told is on disk; that it waits there is said."""
    crawl = Crawl(tmp_path, lambda at: "away" if at > 20 else "", lease=1000.0)
    asyncio_stop = crawl.clock.now() + 30

    def stop_then(*_: object) -> None:
        if crawl.clock.now() > asyncio_stop:
            crawl._worker.stop("interrupted")

    crawl.commits = _Heard(stop_then)
    assert crawl.run() == "interrupted"
    assert "is told when the crawl goes on" in crawl.said[-1]


class _Heard(list[float]):
    """A list that tells of what is added to it."""

    def __init__(self, told: Callable[[float], None]) -> None:
        super().__init__()
        self._told = told

    def append(self, value: float) -> None:
        super().append(value)
        self._told(value)
