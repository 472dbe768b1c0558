"""What a large frontier costs: 50 million URLs of 62 characters over 500,000 sites with Zipf sizes, a tenth of them
on one site.

    python -m benchmarks.frontier                # both orderings, 50 million URLs: a quarter of an hour, 5 GB on disk
    python -m benchmarks.frontier --urls 2000000 # the same, small, in a minute

Each figure comes from a process of its own. The bulk of the URLs is put in by the compiled functions and the log's
`append`, which leaves the same state behind as a crawl: keys, table, heaps, names of sites, texts in the log
on disk. Then the last million is found as a crawl finds it: pages with 22 links each, of which 80 % lead to URLs that
are known, go through `Discovery.follow`; and a million pages are taken by visits, one page each, 256 at a time, on a
clock that stands still. The same is done with the first million alone, and the rates are compared. The known URLs
that links lead to are drawn from all, so neither the caches of links nor those of the processor help: links of a real
page are kinder.

Most of what a link costs there is Python's, whatever the size. So the compiled core is measured alone, too: URL-seen
with the heaps, on arrays.

Last, the log is read back as after a restart. Rates are by processor time, because others use the machine. Memory is
the most that the process had resident, less what the input takes; what is mapped of the log is in it, and shown: that
is the page cache's, and given back when something else needs it.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.crawlers import save
from benchmarks.machine import description
from weft.clock import VirtualClock
from weft.compiled import compiled
from weft.frontier.durable.log import FrontierLog
from weft.frontier.keyed import Keyed
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.local.seen import MOST_OFFERED, Seen
from weft.frontier.local.seen import _offer_at as offer_at
from weft.frontier.local.visit import Visit
from weft.frontier.overrides import Overrides
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.frontier.shared.contract import Orders
from weft.model import NO_ID, Kind, PageNumber, Parsed, SiteNumber, Turn, UrlId
from weft.ordering import ordering_named
from weft.ordering.heaps import POOLED, TwoLevelHeap, heaps_at, pop, set_ready, take_site
from weft.urls import UrlRules, fingerprint, registered_domain, site_of

ORDERINGS = ("breadth-first", "larger-sites-first")
URLS = 50_000_000
SMALL = 1_000_000  # what the large frontier is compared with
PER_SITE = 100  # pages of a site in the mean
LINKS = 22  # of a page
SEEN = 0.8  # of the links lead to known URLs
COMMIT = 20_000  # new URLs, or pages taken, between two commits
CONNECTIONS = 256
SECRET = bytes(range(16))
MOST = 1 << 30  # pages of a site: no limit
LEAST_RATIO = 0.4
MOST_MEMORY = 2000.0  # MB


# The frontier as it is measured: all that this file knows of its inside.


class Inside(NamedTuple):
    """The parts of a local frontier."""

    seen: Seen
    heaps: TwoLevelHeap
    log: FrontierLog


def open_frontier(path: Path, ordering: str, urls: int) -> LocalFrontier:
    """A frontier without waits and limits, on a clock that stands still."""
    return LocalFrontier(
        Terms(
            ordering=ordering_named(ordering),
            politeness=Politeness(wait=0.0, margin=0.0, connections=CONNECTIONS, per_visit=1),
            selection=Selection(scope="all", max_site_pages=MOST, max_depth=1000, max_depth_dynamic=1000),
            retries=Retries(),
            overrides=Overrides(),
            rules=UrlRules(),
            agent="weft",
            secret=SECRET,
            capacity=capacity_for(urls),
        ),
        path=path,
        clock=VirtualClock(1e9),
    )


def capacity_for(urls: int) -> int:
    """Pages that there is address space for; a crawl has as much for any number of URLs."""
    return max(1 << 27, 2 * urls)


def inside(frontier: LocalFrontier) -> Inside:
    """Its parts."""
    return Inside(frontier.pages.seen, frontier._heaps, frontier.pages.log)  # noqa: SLF001


def number_of(frontier: LocalFrontier, name: str) -> int:
    """The number of a site; a new one becomes the frontier's own, as when a link leads to it."""
    held = frontier.holdings.holds(registered_domain(name))
    assert held
    return frontier.sites.number(name)


def address_of_seen(seen: Seen) -> int:
    """Where the compiled functions find the arrays of URL-seen."""
    return seen.address


def unvisited(frontier: LocalFrontier, most: int) -> list[int]:
    """Some of the sites that it keeps no object for."""
    sites = frontier.sites
    return [number for number in range(len(frontier.sites.names) - 1, -1, -1) if number not in sites][:most]


def sites_made(frontier: LocalFrontier) -> int:
    """How many sites it keeps an object for."""
    return len(frontier.sites)


def commit(frontier: LocalFrontier) -> None:
    """What a worker does once a second."""
    frontier.commits.commit(marks={})
    frontier.exchanges.obey(Orders(applied=1 << 62))  # whatever was reported has been taken note of


# The input: made piece by piece, always the same, never held.


class Web:
    """URLs in the order in which they are found: the site and the text of each follow from its number."""

    TEXT = b"https://www.site0000000.org/archive/2026/entry-0000000000.html"

    def __init__(self, urls: int) -> None:
        self.urls = urls
        sizes = zipf(urls, max(10, urls // PER_SITE), largest=urls // 10)
        self._ends = np.cumsum(sizes)
        self._stride = round(urls * 0.6180339887) | 1
        while math.gcd(self._stride, urls) > 1:
            self._stride += 2
        self._numbers = np.full(len(sizes), -1, dtype=np.int32)  # of the sites, in the order in which they are found

    def places(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The sites (by size) of URLs, and which of their site's pages they are."""
        spread = numbers * self._stride % self.urls
        sites = np.searchsorted(self._ends, spread, side="right")
        return sites, self._ends[sites] - spread

    def number(self, ranks: NDArray[np.int64], number: Callable[[str], int]) -> NDArray[np.int32]:
        """The numbers of sites; `number` gives one to a site that was not met before."""
        new = ranks[self._numbers[ranks] < 0]
        for rank in new[np.sort(np.unique(new, return_index=True)[1])].tolist():
            self._numbers[rank] = number(self.name(rank))
        return self._numbers[ranks]

    def texts(self, ranks: NDArray[np.int64], pages: NDArray[np.int64]) -> list[str]:
        """The URLs."""
        signs = np.empty((len(ranks), len(self.TEXT)), dtype=np.uint8)
        signs[:] = np.frombuffer(self.TEXT, dtype=np.uint8)
        for numbers, last, digits in ((ranks, 22, 7), (pages, 56, 10)):
            rest = numbers
            for at in range(last, last - digits, -1):
                rest, digit = np.divmod(rest, 10)
                signs[:, at] += digit.astype(np.uint8)
        text = signs.tobytes().decode()
        width = len(self.TEXT)
        return [text[at : at + width] for at in range(0, len(text), width)]

    @classmethod
    def name(cls, rank: int) -> str:
        """The name of a site."""
        return f"www.site{rank:07d}.org"


def zipf(total: int, sites: int, *, largest: int) -> NDArray[np.int64]:
    """Sizes that fall with a power of the rank, the power chosen so that the largest is as large as it must be."""
    ranks = np.arange(1, sites + 1, dtype=np.float64)
    low, high = 0.0, 3.0
    for _ in range(60):
        power = (low + high) / 2
        low, high = (low, power) if total / (ranks**-power).sum() > largest else (power, high)
    sizes = np.maximum(1, (largest * ranks**-power).astype(np.int64))
    sizes[1 : 1 + abs(int(total - sizes.sum())) % (sites - 1)] += 1  # what rounding has lost
    sizes[0] += total - sizes.sum()
    return sizes


def offers(known: int, new: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of URLs: the next `new` ones in order, among four times as many that are known."""
    count = round(new / (1 - SEEN))
    numbers = chance.integers(0, known, count)
    numbers[np.sort(chance.choice(count, new, replace=False))] = np.arange(known, known + new)
    return numbers


# Filling.


def fill(web: Web, frontier: LocalFrontier, urls: int, memory: Memory) -> None:
    """Let a frontier know so many URLs, by the compiled functions and the log."""
    seen, heaps, log = inside(frontier)
    for first in range(0, urls, COMMIT):
        ranks, pages = web.places(np.arange(first, min(urls, first + COMMIT)))
        texts = web.texts(ranks, pages)
        keys = seen.keyed.array_of(texts)
        sites = web.number(ranks, lambda name: number_of(frontier, name))
        offer_all(seen, heaps, keys, sites)
        append = log.append
        for number, (text, key, site) in enumerate(zip(texts, keys.tolist(), sites.tolist(), strict=True), first):
            append(key, text, UrlId(number // LINKS), site, 3, Kind.A)
        commit(frontier)
        memory.look()
    assert len(frontier.pages) == urls == int(seen.arrays.counts[0])


def offer_all(seen: Seen, heaps: TwoLevelHeap, keys: NDArray[np.uint64], sites: NDArray[np.int32]) -> None:
    """Offer many URLs to the compiled core, on arrays."""
    arrays, address = seen.arrays, address_of_seen(seen)
    for at in range(0, len(keys), MOST_OFFERED):
        count = min(MOST_OFFERED, len(keys) - at)
        arrays.keys[:count] = keys[at : at + count]
        arrays.sites[:count] = sites[at : at + count]
        offer_at(address, heaps.address, count)


# Measuring.


class Memory:
    """The memory of this process, in MB."""

    def __init__(self) -> None:
        self.private = 0.0  # the most that was not a mapped file
        self.mapped = 0.0

    def look(self) -> None:
        """Note how much it is."""
        now = self.now()
        self.private = max(self.private, now["RssAnon"])
        self.mapped = max(self.mapped, now["RssFile"])

    @staticmethod
    def now() -> dict[str, float]:
        """What the system says."""
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        fields = (line.split() for line in lines if line.startswith(("VmHWM", "VmRSS", "Rss")))
        return {field[0].rstrip(":"): int(field[1]) * 1024 / 1e6 for field in fields}


class Watch:
    """Processor time and wall time of what is measured, in pieces."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0
        self._began = 0.0, 0.0

    def __enter__(self) -> None:
        self._began = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.cpu += time.process_time() - self._began[0]
        self.wall += time.perf_counter() - self._began[1]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What came of one process. MB are 10^6 bytes; rates are by processor time."""

    part: str  # "path" or "core"
    ordering: str
    urls: int
    sites: int
    offers: int
    offers_per_second: float
    offers_wall_s: float
    takes: int
    takes_per_second: float
    takes_wall_s: float
    filled_s: float
    bytes_per_url: dict[str, float]  # what of the memory can be told apart
    peak_mb: float  # the most that was resident, without the input
    start_mb: float  # of that: Python and the libraries, before there was a frontier
    private_mb: float  # of that: the most that was not a mapped file
    mapped_mb: float  # of that: the most that was
    input_mb: float
    visited: int = 0  # sites that were visited
    visited_bytes: float = 0.0  # what each of them takes
    log_mb: float = 0.0


def small_of(urls: int) -> int:
    """The size of the frontier that one with so many URLs is compared with."""
    return min(SMALL, urls // 10)


def last_of(urls: int, of: int) -> int:
    """How many URLs are found, and then as many pages taken, under the watch: as many as the small frontier has, and
    in that one half of them.
    """
    return min(small_of(of), urls // 2)


def measure_path(ordering: str, urls: int, of: int, folder: Path) -> Measured:
    """The way of links and turns in a worker, with the first `urls` of a web."""
    start = Memory.now()
    web = Web(of)
    memory = Memory()
    ready = Memory.now()
    frontier = open_frontier(folder / "frontier.log", ordering, urls)
    seen, heaps, _log = inside(frontier)
    last = last_of(urls, of)
    began = time.perf_counter()
    fill(web, frontier, urls - last, memory)
    filled = time.perf_counter() - began
    following = follow_links(web, frontier, urls, memory)
    parts = bytes_per_url(seen, heaps, len(frontier.sites.names), Memory.now()["RssAnon"] - ready["RssAnon"])
    taking = take_pages(frontier, last, memory)
    peak, visited = Memory.now()["VmHWM"], sites_made(frontier)
    per_site = bytes_of_a_site(frontier)
    frontier.close()
    given = ready["VmRSS"] - start["VmRSS"]
    count = round(last / (1 - SEEN))
    return Measured(
        part="path", ordering=ordering, urls=urls, sites=len(frontier.sites.names),
        offers=count, offers_per_second=count / following.cpu, offers_wall_s=following.wall,
        takes=last, takes_per_second=last / taking.cpu, takes_wall_s=taking.wall,
        filled_s=filled, bytes_per_url=parts,
        peak_mb=peak - given, start_mb=start["VmRSS"], private_mb=memory.private - given,
        mapped_mb=memory.mapped, input_mb=given,
        visited=visited, visited_bytes=per_site,
        log_mb=(folder / "frontier.log").stat().st_size / 1e6,
    )  # fmt: skip


def bytes_of_a_site(frontier: LocalFrontier) -> float:
    """What it takes to know a site that is visited for the first time."""
    numbers = unvisited(frontier, 1000)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in numbers:
        frontier.sites[SiteNumber(number)]
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken / max(1, len(numbers))


def bytes_per_url(seen: Seen, heaps: TwoLevelHeap, sites: int, megabytes: float) -> dict[str, float]:
    """Where the memory goes."""
    arrays, urls = seen.arrays, int(seen.arrays.counts[0])
    by_site = (*heaps.arrays[2:8], arrays.found, arrays.most)
    parts = {
        "keys": float(arrays.key.itemsize),
        "table": float(arrays.slots.sum()) * arrays.table.itemsize / urls,
        "heaps of pages": float(heaps.arrays.counts[POOLED]) * heaps.arrays.pool.itemsize / urls,
        "arrays of sites": sites * sum(each.itemsize for each in by_site) / urls,
    }
    parts["the rest"] = megabytes * 1e6 / urls - sum(parts.values())
    return parts


def follow_links(web: Web, frontier: LocalFrontier, urls: int, memory: Memory) -> Watch:
    """Find the URLs up to a number as a crawl does: on pages, with links of which most are known."""
    chance = np.random.default_rng(1)
    turns = [turn_of(web, number) for number in range(1000)]
    sites = [frontier.sites[frontier.sites.number(site_of(turn.url))] for turn in turns]
    watch = Watch()
    for known in range(len(frontier.pages), urls, COMMIT):
        numbers = offers(known, min(COMMIT, urls - known), chance)
        links = [(text, int(Kind.A)) for text in web.texts(*web.places(numbers))]
        pages = [links[at : at + LINKS] for at in range(0, len(links), LINKS)]
        parsed = [
            Parsed("text/html", "utf-8", "", "", turn.url, some, [], follow=True, reason=None)
            for turn, some in zip(cycle(turns), pages)
        ]
        with watch:
            for site, turn, page in zip(cycle(sites), cycle(turns), parsed):
                frontier.discovery.follow(site, turn, page)
            commit(frontier)
        memory.look()
    assert len(frontier.pages) == urls
    return watch


def turn_of(web: Web, number: int) -> Turn:
    """The turn of a page."""
    url = web.texts(*web.places(np.array([number])))[0]
    return Turn(PageNumber(number), fingerprint(url), url, 3, Kind.A, NO_ID, 1)


def take_pages(frontier: LocalFrontier, count: int, memory: Memory) -> Watch:
    """Take pages by visits of one page each, as many visits at once as there are connections."""
    watch = Watch()
    under_way: deque[tuple[Visit, Turn]] = deque()
    for first in range(0, count, COMMIT):
        with watch:
            for _ in range(min(COMMIT, count - first)):
                visit = frontier.visit()
                if visit is None:
                    visit_over(frontier, *under_way.popleft())
                    visit = frontier.visit()
                assert visit is not None
                turn = frontier.turn(visit)
                assert turn is not None
                number = visit.site.number
                entered = frontier.enter(visit, f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
                assert entered
                under_way.append((visit, turn))
            commit(frontier)
        memory.look()
    with watch:
        for visit, turn in under_way:
            visit_over(frontier, visit, turn)
    return watch


def visit_over(frontier: LocalFrontier, visit: Visit, turn: Turn) -> None:
    """Its page has come, and the visit ends."""
    frontier.settle(visit, turn, None)
    following = frontier.turn(visit)
    assert following is None
    visit.took = 0.1
    frontier.leave(visit)


def measure_core(ordering: str, urls: int, of: int, _folder: Path) -> Measured:
    """The compiled functions alone: on arrays, without texts and log."""
    start = Memory.now()
    web = Web(of)
    memory = Memory()
    ready = Memory.now()
    rank = ordering_named(ordering)
    capacity = capacity_for(urls)
    heaps = TwoLevelHeap(pages=capacity, sites=capacity >> 3, scored=rank.scored, by_size=rank.by_size)
    seen = Seen(capacity, capacity >> 3, heaps, Keyed(SECRET))
    sites = 0

    def number(_name: str) -> int:
        nonlocal sites
        sites += 1
        seen.arrays.most[sites - 1] = MOST
        heaps.add_site(sites - 1)
        heaps.set_ready(sites - 1)
        return sites - 1

    def batch(numbers: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        return scattered(numbers), web.number(web.places(numbers)[0], number)

    last = last_of(urls, of)
    began = time.perf_counter()
    for first in range(0, urls - last, COMMIT):
        offer_all(seen, heaps, *batch(np.arange(first, min(urls - last, first + COMMIT))))
    filled = time.perf_counter() - began
    chance, offering, taking = np.random.default_rng(1), Watch(), Watch()
    for known in range(urls - last, urls, COMMIT):
        keys, owners = batch(offers(known, min(COMMIT, urls - known), chance))
        with offering:
            offer_all(seen, heaps, keys, owners)
    assert int(seen.arrays.counts[0]) == urls
    memory.look()
    parts = bytes_per_url(seen, heaps, sites, Memory.now()["RssAnon"] - ready["RssAnon"])
    busy = np.full(CONNECTIONS, -1, dtype=np.int32)
    for first in range(0, last, COMMIT):
        with taking:
            taken = take_some(heaps.address, busy, first, min(COMMIT, last - first))
        assert taken == min(COMMIT, last - first)
    given = ready["VmRSS"] - start["VmRSS"]
    count = round(last / (1 - SEEN))
    return Measured(
        part="core", ordering=ordering, urls=urls, sites=sites,
        offers=count, offers_per_second=count / offering.cpu, offers_wall_s=offering.wall,
        takes=last, takes_per_second=last / taking.cpu, takes_wall_s=taking.wall,
        filled_s=filled, bytes_per_url=parts,
        peak_mb=Memory.now()["VmHWM"] - given, start_mb=start["VmRSS"], private_mb=memory.private - given,
        mapped_mb=memory.mapped, input_mb=given,
    )  # fmt: skip


def scattered(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A key for each number, no two the same."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@compiled
def take_some(address: int, busy: NDArray[np.int32], first: int, count: int) -> int:
    """Take the best page of the best site again and again; a site is ready again after as many others as fit in
    `busy`.
    """
    heaps = heaps_at(address)
    taken = 0
    for i in range(first, first + count):
        at = i % busy.size
        if busy[at] >= 0:
            set_ready(heaps, busy[at])
        site = take_site(heaps)
        if site < 0:
            break
        taken += pop(heaps, site) >= 0
        busy[at] = site
    return taken


@dataclass(frozen=True, kw_only=True)
class Restarted:
    """What it took to read a log back, in a process of its own."""

    ordering: str
    urls: int
    seconds: float
    peak_mb: float  # the most that was resident
    now_mb: float  # afterwards


def measure_restart(ordering: str, urls: int, _of: int, folder: Path) -> Restarted:
    """Read back the log that another process has left."""
    frontier = open_frontier(folder / "frontier.log", ordering, urls)
    began = time.perf_counter()
    frontier.commits.recover()
    seconds = time.perf_counter() - began
    assert len(frontier.pages) == urls
    frontier.close()
    memory = Memory.now()
    return Restarted(ordering=ordering, urls=urls, seconds=seconds, peak_mb=memory["VmHWM"], now_mb=memory["VmRSS"])


PARTS: dict[str, Callable[[str, int, int, Path], Measured | Restarted]] = {
    "path": measure_path,
    "core": measure_core,
    "restart": measure_restart,
}


# Running.


def child(part: str, ordering: str, urls: int, of: int, folder: Path) -> Any:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.frontier", "--part", part, "--ordering", ordering]
    command += ["--urls", str(urls), "--of", str(of), "--folder", str(folder)]
    if part != "restart":
        for left in folder.glob("frontier*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parents[1])
    return (Restarted if part == "restart" else Measured)(**json.loads(done.stdout))


def run(urls: int = URLS, orderings: tuple[str, ...] = ORDERINGS) -> dict[str, Any]:
    """All measurements, in turn. The small frontier is measured before and after the large one; the better counts."""
    runs: list[Measured] = []
    restarts: list[Restarted] = []
    small = small_of(urls)
    machine = description()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        need, free = urls * 100, shutil.disk_usage(folder).free
        if free < need:
            sys.exit(f"{need / 1e9:.1f} GB are needed in {folder}, {free / 1e9:.1f} are free: set TMPDIR")
        for ordering in orderings:
            for part in ("core", "path"):
                child(part, ordering, 20_000, 1_000_000, folder)  # so that everything is compiled
                for count in (small, urls, small):
                    runs.append(child(part, ordering, count, urls, folder))
                    show_run(runs[-1])
                    if part == "path" and count == urls:
                        restarts.append(child("restart", ordering, urls, urls, folder))
    return {
        "machine": machine,
        "runs": [asdict(each) for each in runs],
        "ratios": ratios(runs),
        "restarts": [asdict(each) for each in restarts],
    }


def ratios(runs: list[Measured]) -> dict[str, dict[str, dict[str, float]]]:
    """Rates with all the URLs against those with few, by part and ordering."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    most = max(each.urls for each in runs)
    for large in (each for each in runs if each.urls == most):
        small = [each for each in runs if (each.part, each.ordering) == (large.part, large.ordering) and each != large]
        found.setdefault(large.part, {})[large.ordering] = {
            "offers": large.offers_per_second / max(each.offers_per_second for each in small),
            "takes": large.takes_per_second / max(each.takes_per_second for each in small),
        }
    return found


HEADER = (
    f"{'':<6}{'ordering':<20}{'URLs':>12}{'sites':>9}{'offers/s':>12}{'takes/s':>12}{'peak MB':>9}{'mapped':>8}"
    f"{'fill s':>8}"
)


def show_run(run: Measured) -> None:
    """One line, as soon as it is known."""
    print(
        f"{run.part:<6}{run.ordering:<20}{run.urls:>12,}{run.sites:>9,}{run.offers_per_second:>12,.0f}"
        f"{run.takes_per_second:>12,.0f}{run.peak_mb:>9,.0f}{run.mapped_mb:>8,.0f}{run.filled_s:>8.0f}",
        flush=True,
    )


def show(result: dict[str, Any]) -> None:
    """Print the memory and the ratios."""
    runs = [Measured(**each) for each in result["runs"]]
    most = max(each.urls for each in runs)
    for run in runs:
        if run.urls == most and run.part == "path":
            parts = ", ".join(f"{name} {size:.1f}" for name, size in run.bytes_per_url.items())
            print(
                f"\n{run.ordering}: {run.peak_mb:,.0f} MB at most (goal: below {MOST_MEMORY:,.0f}), of them"
                f" {run.start_mb:,.0f} before the start, {run.private_mb:,.0f} not mapped, {run.mapped_mb:,.0f} mapped"
                f"\n  {sum(run.bytes_per_url.values()):.1f} bytes a URL: {parts}"
                f"\n  {run.visited:,} sites visited, {run.visited_bytes:,.0f} bytes each; log {run.log_mb:,.0f} MB"
            )
    for restart in (Restarted(**each) for each in result["restarts"]):
        print(
            f"\n{restart.ordering}: the log is read back in {restart.seconds:.0f} s; {restart.peak_mb:,.0f} MB at most,"
            f" {restart.now_mb:,.0f} afterwards"
        )
    print()
    for part, by_ordering in result["ratios"].items():
        for ordering, found in by_ordering.items():
            text = ", ".join(f"{what}/s {ratio:.2f}" for what, ratio in found.items())
            print(f"{part}, {ordering}: {text} times the rate of the small frontier (goal: at least {LEAST_RATIO})")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description="What a large frontier costs.")
    parser.add_argument("--urls", type=int, default=URLS)
    parser.add_argument("--ordering", choices=ORDERINGS, help="one of them only")
    parser.add_argument("--out", type=Path, help="keep the result here, as JSON")
    for inner in ("--part", "--of", "--folder"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)  # as in a crawl
        measure = PARTS[asked.part]
        print(json.dumps(asdict(measure(asked.ordering, asked.urls, int(asked.of), Path(asked.folder)))))
        return
    print(f"{asked.urls:,} URLs of {len(Web.TEXT)} characters, {SEEN:.0%} of the offers known\n\n{HEADER}")
    result = run(asked.urls, (asked.ordering,) if asked.ordering else ORDERINGS)
    show(result)
    if asked.out:
        save(result, asked.out)


if __name__ == "__main__":
    main()
