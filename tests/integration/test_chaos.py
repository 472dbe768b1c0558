"""Three nodes of two workers on a rough web, and everything that can happen to machines: what they store together is
what an undisturbed crawl stores, and no server notices more than that it is visited.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from tests.cluster_of_nodes import Node, begun, nodes, pause, rows_in_files, standing, together
from tests.commands import completed
from tests.crawling import crawl, make_web, rows
from tests.database import Database
from tests.disks import fill, remount, small_disk
from tests.lines import Line, lines
from tests.patience import PATIENCE
from tests.serverside import check_polite, visits_of
from tests.siege import descendants

from weft.store.reading import CrawlFiles
from weft.testbed.bed import Bed, serving
from weft.testbed.options import Options
from weft.testbed.serve import ServerSettings
from weft.urls import registered_domain, site_of

pytestmark = pytest.mark.restarts

WAIT = 0.2
TIMEOUT = 5.0  # of a page
NODES = 3
# A lease of ten seconds; eleven later, and when a page's time is over, a node counts as lost.
IMPATIENT = ("--hung-after", "20", "--node-lost-after", "21", "--crawl-delay-most", "1", "--parcel-every", "12")
POLITE = ("--wait", str(WAIT), "--per-visit", "10", "--timeout", str(TIMEOUT), "--commit-every", "0.3")
SOON = ("--retry-pauses", "0.1", "--retry-pauses", "0.2", "--too-often-pause", "0.1")
FENCED = "others have its groups by now"
FORBIDDEN_WITHIN = 5.0  # seconds that a blacklist may take everywhere
ROUGH = Options(
    hang_s=8.0,  # less than it takes until others have the groups of a node that sleeps
    retry_after_s=1,
    crawl_delay_s=0.3,
    duplicates=0.2,
    cookies=0.5,
    redirects=0.1,
    robots_rules=0.5,
    sitemaps=0.0,
    sites_per_address=2,
    sites_per_domain=2,
    compressed=0.2,
    median_bytes=4_000,
)


class Scale(NamedTuple):
    """How large a chaos is, and what happens in it."""

    sites: int
    pages: int
    speed: str
    away: float  # seconds that the database is stopped for
    strikes: tuple[str, ...]


SHORT = Scale(40, 900, "40 pages/s", 0.0, ("killed", "cut", "database killed", "frozen"))
LONG = Scale(
    600,
    30_000,
    "60 pages/s",
    60.0,
    (
        *("killed", "cut", "database killed", "late", "full", "killed", "database stopped", "frozen"),
        *("blacklisted", "cut off", "killed", "late"),
    ),
)


@pytest.fixture
def own() -> Iterator[Database]:
    """A database that may be stopped."""
    server = Database()
    yield server
    server.stop()


Outcomes = dict[str, tuple[int, str]]
_COLUMNS = ("url", "status", "reason", "final", "kind")


def outcomes(outs: list[Path]) -> Outcomes:
    """What became of each page, by the rows of all nodes that count; no page has two."""
    found: Outcomes = {}
    for out in outs:
        for batch in CrawlFiles(out).batches("pages", _COLUMNS):
            columns: dict[str, list[Any]] = batch.to_pydict()
            for url, status, reason, final, kind in zip(*(columns[name] for name in _COLUMNS), strict=True):
                if final and kind != "robots":
                    assert url not in found, f"{url} has two final rows"
                    found[url] = (status or 0, reason or "")
    return found


@pytest.mark.parametrize(
    "scale",
    [
        pytest.param(SHORT, id="short"),
        pytest.param(LONG, id="long", marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
)
def test_chaos__leaves_what_an_undisturbed_crawl_leaves(own: Database, tmp_path: Path, scale: Scale) -> None:
    """Kill -9, a line that is cut, a machine that sleeps, one that comes back too late, a full disk, a database that
    is stopped, and one that is killed: nothing is missing, nothing counts twice, and politeness holds.
    """
    web = make_web(ROUGH, sites=scale.sites, pages=scale.pages, largest=max(40, scale.pages // 100))
    with serving(web, ServerSettings(keep_alive_s=5.0)) as bed:
        expected = undisturbed(bed, tmp_path / "undisturbed")
        before = len(bed.log())
        with Chaos.begun(bed, own, tmp_path, scale, len(expected)) as chaos:
            for place, strike in enumerate(scale.strikes):
                chaos.strike(strike, place)
            chaos.ends()
        log = bed.log()[before:]
    stored = outcomes([node.out for node in chaos.nodes])
    chaos.show(stored, sum(entry.event == "request" for entry in log))
    kept = {url: outcome for url, outcome in expected.items() if not chaos.is_forbidden(url)}
    wrong = [url for url in kept if stored.get(url) != kept[url]]
    assert not wrong, [(url, kept[url], stored.get(url)) for url in wrong[:3]]
    assert stored.keys() - expected.keys() == set()
    check_polite(visits_of(log), wait=WAIT)
    late = [entry for entry in log if entry.opened > chaos.forbidden_at + FORBIDDEN_WITHIN]
    assert not [entry.site for entry in late if registered_domain(entry.site.partition(":")[0]) == chaos.forbidden]


def undisturbed(bed: Bed, out: Path) -> Outcomes:
    """What becomes of the pages when nobody disturbs the crawl."""
    assert crawl(bed, out, timeout=TIMEOUT).why == "done"
    final = rows(out, "url, coalesce(status, 0), coalesce(reason, '')", "final and kind <> 'robots'")
    return {url: (status, reason) for url, status, reason in final}


class Chaos:
    """Nodes, their lines to a database, and what is done to them."""

    def __init__(self, bed: Bed, own: Database, address: str, scale: Scale, pages: int) -> None:
        self._bed = bed
        self._own = own
        self._address = address
        self._scale = scale
        self._pages = pages
        self._began = self._requests()
        self.nodes: list[Node] = []
        self.lines: list[Line] = []
        self.disk: Path | None = None
        self.forbidden, self.forbidden_at = "", float("inf")
        self._told: list[tuple[str, int, int, float]] = []  # strike, node, requests until then, seconds
        self._costs = Costs(own, address)
        self._late = 0  # nodes that others took for lost though nothing was done to them

    def __repr__(self) -> str:
        return f"Chaos({self._scale})"

    @classmethod
    @contextmanager
    def begun(cls, bed: Bed, own: Database, folder: Path, scale: Scale, pages: int) -> Iterator[Chaos]:
        """Have all nodes begin."""
        address = own.schema()
        begun(bed, folder, address, *POLITE, *SOON, *IMPATIENT, "--speed", scale.speed)
        with ExitStack() as stack:
            chaos = cls(bed, own, address, scale, pages)
            if "full" in scale.strikes:
                chaos.disk = stack.enter_context(small_disk(folder / "machine0", "2g"))
            chaos.lines = stack.enter_context(lines(own, NODES))
            addresses = [line.address(address) for line in chaos.lines]
            chaos.nodes = stack.enter_context(nodes(addresses, folder, "--workers", "2"))
            together(address, *chaos.nodes)
            stack.enter_context(chaos._costs.watched(chaos.nodes))
            yield chaos

    # What happens.

    def strike(self, what: str, place: int) -> None:
        """Wait for the crawl to come to a place of its own, and have something happen there."""
        share = self._pages * 4 // (5 * len(self._scale.strikes))
        until = self._began + (place + 1) * share
        self._wait(lambda: self._requests() > until, "the crawl stands still")
        self._wait(lambda: all(each.alive for each in self._latest()), "not all nodes are back")
        at, began = self._requests(), time.monotonic()
        number = place % NODES if what != "full" else 0
        strikes: dict[str, Callable[[Node, Line], None]] = {
            "killed": self._kill,
            "late": self._lose,
            "frozen": self._freeze,
            "cut": self._cut,
            "cut off": self._cut_off,
            "full": self._fill,
            "database killed": self._kill_database,
            "database stopped": self._stop_database,
            "blacklisted": self._forbid,
        }
        strikes[what](self.nodes[number], self.lines[number])
        self._told.append((what, number, at, time.monotonic() - began))

    def ends(self) -> None:
        """The crawl comes to its end, on all nodes."""
        assert completed("speed", self._address, "none").returncode == 0
        self._wait(lambda: all(self._is_over(node) for node in self.nodes), "it does not end", idle=True)
        for node in self.nodes:
            node.ends()

    def is_forbidden(self, url: str) -> bool:
        """Is a page of what was forbidden in the middle of the crawl?"""
        return bool(self.forbidden) and registered_domain(site_of(url).partition(":")[0]) == self.forbidden

    def _kill(self, node: Node, _line: Line) -> None:
        node.stop()
        node.start()

    def _lose(self, node: Node, _line: Line) -> None:
        """It is dead until others have its groups; then it comes back and is another node."""
        number = node.number
        node.stop()
        self._until_lost(number)
        node.start()
        self._wait(lambda: "marked as superseded" in node.told(), "it was not told")

    def _freeze(self, node: Node, _line: Line) -> None:
        """It sleeps until others have its groups, and wakes when nobody else sends anything."""
        number = node.number
        with node.frozen():
            self._until_lost(number)
            before = self._silence()
        self._is_fenced(node, before)

    def _cut(self, node: Node, line: Line) -> None:
        """It goes on without the database until its lease is over, and then when it is back."""
        line.cut()
        self._wait(lambda: not self._state(node.number).alive, "its lease does not end")
        line.mend()

    def _cut_off(self, node: Node, line: Line) -> None:
        """It goes on without the database, and waits, until others have its groups."""
        number = node.number
        line.cut()
        self._until_lost(number)
        before = self._silence()
        line.mend()
        self._is_fenced(node, before)

    def _is_fenced(self, node: Node, before: int) -> None:
        """Not one new request of it; then the others go on, and it joins as whoever sees to it would have it."""
        self._wait(lambda: node.process.poll() is not None, "it does not end", idle=True)
        assert FENCED in node.told()
        assert self._requests() == before
        pause(self._address, paused=False)
        node.start()

    def _silence(self) -> int:
        """Pause all nodes that hear it; how many requests there were when nobody sends any more."""
        pause(self._address, paused=True)
        before = -1
        while before != (before := self._requests()):
            time.sleep(TIMEOUT + 1)  # nothing else tells of what is yet under way
        return before

    def _fill(self, node: Node, _line: Line) -> None:
        """Nothing more goes to its disk, until somebody makes room."""
        assert self.disk is not None
        said = node.told().count("the crawl pauses here")
        fill(self.disk)
        self._wait(lambda: node.told().count("the crawl pauses here") > said, "it does not say so")
        remount(self.disk, "size=2g")
        self._wait(lambda: "the crawl goes on after" in node.told(), "it does not go on")

    def _kill_database(self, _node: Node, _line: Line) -> None:
        self._own.kill()
        self._own.start()

    def _stop_database(self, _node: Node, _line: Line) -> None:
        self._own.stop()
        time.sleep(self._scale.away)  # how long is what this is about
        self._own.start()

    def _forbid(self, _node: Node, _line: Line) -> None:
        """A domain with many pages, of which some are yet to be fetched."""
        asked = Counter(entry.site for entry in self._bed.log())
        site = max(asked, key=lambda site: asked[site])
        self.forbidden = registered_domain(site.partition(":")[0])
        done = completed("blacklist", self._address, self.forbidden)
        assert done.returncode == 0, done.stderr
        self.forbidden_at = time.time()

    # How things stand.

    def _requests(self) -> int:
        self._bed.dns_questions()  # whatever it is asked, the server writes its log out
        with self._bed.log_file.open("rb") as file:
            return sum(block.count(b"\nrequest\t") for block in iter(lambda: file.read(1 << 20), b""))

    def _state(self, number: int) -> Any:
        return next(each for each in standing(self._address) if each.number == number)

    def _latest(self) -> list[Any]:
        numbers = {node.number for node in self.nodes}
        return [each for each in standing(self._address) if each.number in numbers]

    def _until_lost(self, number: int) -> None:
        self._wait(lambda: self._state(number).state == "lost", "it does not count as lost")

    def _wait(self, what: Callable[[], bool], failure: str, *, idle: bool = False) -> None:
        """Wait for something, at leisure: what is asked costs more than most."""
        deadline = time.monotonic() + PATIENCE
        while not what():
            assert time.monotonic() < deadline, failure
            if not idle:
                for node in self.nodes:
                    assert not self._is_over(node), node.told()[-3000:]
            time.sleep(0.3)

    def _is_over(self, node: Node) -> bool:
        """Has it ended for good? One that a slow machine kept from the database for too long is started again, as its
        own words have it, and as whatever sees to services would.
        """
        if node.process.poll() not in (None, 0, -9) and FENCED in node.told()[-1000:]:
            self._late += 1
            node.start()
        return node.process.poll() not in (None, -9)

    # What it came to.

    def show(self, stored: Outcomes, requests: int) -> None:
        """Print the table."""
        files = sum(rows_in_files(node.out) for node in self.nodes)
        counting = sum(
            batch.num_rows for node in self.nodes for batch in CrawlFiles(node.out).batches("pages", ("url",))
        )
        table = [f"{'strike':<18}{'node':>5}{'requests':>10}{'seconds':>9}"]
        table += [f"{what:<18}{number:>5}{at - self._began:>10}{took:>9.1f}" for what, number, at, took in self._told]
        table += [f"{len(stored)} pages, {requests} requests, {files - counting} rows superseded", self._costs.told()]
        table += [f"{self._late} nodes counted as lost though nothing was done to them"]
        print("\n" + "\n".join(table))  # noqa: T201


class Costs:
    """What rounds of parcels cost: their bytes, and the processor time of those who make them."""

    def __init__(self, own: Database, address: str) -> None:
        self._own = own
        schema = parse_qs(urlsplit(address).query)["schema"][0]
        self._query = f"select worker, number, sum(length(content)) from {schema}.kept group by worker, number"  # noqa: S608
        self._spent: dict[tuple[str, int], float] = {}  # by whom and process
        self._sent: dict[tuple[int, int], int] = {}  # by worker and round

    def __repr__(self) -> str:
        return f"Costs({len(self._sent)} rounds)"

    @contextmanager
    def watched(self, running: list[Node]) -> Iterator[None]:
        """Look while something runs."""
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(running, over), name="costs", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _watch(self, running: list[Node], over: threading.Event) -> None:
        while not over.wait(0.2):
            for node in running:
                for pid in (node.process.pid, *descendants(node.process.pid)):
                    self._look_at(pid)
            with suppress(psycopg.Error), closing(psycopg.connect(self._own.uri)) as base:
                for worker, number, size in base.execute(self._query):
                    self._sent[worker, number] = max(int(size), self._sent.get((worker, number), 0))

    def _look_at(self, pid: int) -> None:
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            whose = "parcels" if b"weft.keeping" in line else "crawl"
            self._spent[whose, pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def told(self) -> str:
        """In words."""
        every = sum(self._spent.values())
        parcels = sum(seconds for (whose, _), seconds in self._spent.items() if whose == "parcels")
        sent = f"{len(self._sent)} rounds of parcels, {sum(self._sent.values()):,} bytes"
        return f"{sent}, {parcels:.1f} s of {every:.1f} s processor time ({parcels / max(every, 1e-9):.1%})"
