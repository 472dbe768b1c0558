"""A worker whose memory is bounded: URLs of 62 characters on sites of equal size, offered in an order in which every
link leads to another site.

    python -m benchmarks.frontier_memory                                                   # the whole: hours, 40 GB
    python -m benchmarks.frontier_memory --urls 5000000 --sites 50000 --memory 430MB       # a hundredth: minutes

That is the worst order there is: whatever was put away is linked to again, and nothing is visited meanwhile that could
make room. URLs are found as in a crawl: pages with 22 links, all of them new, go through `Discovery.follow`; a
commit behind every 20,000; checkpoints are made by processes beside it, as always. First the same is done without a
bound, with as many URLs as are compared with (a tenth).

Rates are by processor time of the worker, because others use the machine; what the processes beside it take is shown.
Memory is the most that was resident, mapped files not counted. Disk is everything in the worker's folder when the last
checkpoint is made. In the end the groups of a sample are read back from the files: is each of their URLs there, and
once?
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crawlers import save
from benchmarks.frontier import CONNECTIONS, MOST, SECRET, Memory
from benchmarks.machine import description
from weft.clock import VirtualClock
from weft.frontier.durable.log import FrontierLog
from weft.frontier.durable.on_shelf import on_shelf
from weft.frontier.durable.past import Past
from weft.frontier.keyed import Keyed
from weft.frontier.local.bounds import FIXED, Bound
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import CAPACITY, Terms
from weft.frontier.overrides import Overrides
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.frontier.shared.contract import Orders
from weft.model import NO_ID, Kind, PageNumber, Parsed, Turn
from weft.ordering import ordering_named
from weft.units import quantity
from weft.urls import UrlRules, fingerprint

URLS, SITES, MEMORY = 500_000_000, 5_000_000, "3GB"
COMPARED = 10  # times as many as without a bound
LINKS = 22
COMMIT = 20_000  # URLs between two commits
SAMPLE = 1_000_000  # URLs
LEAST_RATIO = 0.5
MOST_BYTES = 80.0  # of disk, a URL
_STRIDE = 0.6180339887


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What came of one process."""

    urls: int
    sites: int
    memory_mb: float  # that it may take; 0: no bound
    offers_per_second: float
    wall_s: float
    beside_s: float  # processor time of the processes that made checkpoints
    beside_mb: float  # the most that one of them took
    peak_mb: float
    start_mb: float  # of that, before there was a frontier
    longest_ms: float  # that a commit kept the loop
    put_away: int  # groups, times
    shelved: int  # groups in the end
    in_memory: int  # URLs in the end
    disk_bytes_per_url: float
    sampled: int  # URLs that were looked for
    forgotten: int
    twice: int


def name_of(site: int) -> str:
    """The name of a site."""
    return f"www.site{site:07d}.org"


def urls_of(first: int, end: int, sites: int) -> list[str]:
    """URLs in the order in which they are found: every site is met once before one is met again."""
    stride = round(sites * _STRIDE) | 1
    while np.gcd(stride, sites) > 1:
        stride += 2
    numbers = np.arange(first, end)
    where, page = (numbers % sites * stride % sites).tolist(), (numbers // sites).tolist()
    return [f"https://{name_of(s)}/archive/2026/entry-{p:010d}.html" for s, p in zip(where, page, strict=True)]


def open_frontier(path: Path, memory: int) -> LocalFrontier:
    """A frontier without waits and limits, on a clock that stands still."""
    return LocalFrontier(
        Terms(
            ordering=ordering_named("breadth-first"),
            politeness=Politeness(wait=0.0, margin=0.0, connections=CONNECTIONS, per_visit=1),
            selection=Selection(scope="all", max_site_pages=MOST, max_page_sites=MOST),
            retries=Retries(),
            overrides=Overrides(),
            rules=UrlRules(),
            agent="weft",
            secret=SECRET,
            bound=Bound(CAPACITY, CAPACITY >> 3, memory - FIXED) if memory else None,
        ),
        path=path,
        clock=VirtualClock(1e9),
    )


def measure(urls: int, sites: int, memory: int, folder: Path) -> Measured:
    """Offer so many URLs to a worker."""
    start, peak = Memory.now(), Memory()
    path = folder / "frontier.log"
    frontier = open_frontier(path, memory)
    source = "https://www.source.org/"
    frontier.add_seed(source)
    site = frontier.sites.get("www.source.org")
    assert site is not None
    turn = Turn(PageNumber(0), fingerprint(source), source, 3, Kind.A, NO_ID, 1)
    spent, longest, began = 0.0, 0.0, time.perf_counter()
    for first in range(0, urls, COMMIT):
        some = urls_of(first, min(urls, first + COMMIT), sites)
        links = [[(url, Kind.A) for url in some[at : at + LINKS]] for at in range(0, len(some), LINKS)]
        pages = [Parsed("text/html", "utf-8", "", "", source, each, [], follow=True, reason=None) for each in links]
        before = time.process_time()
        for page in pages:
            frontier.discovery.follow(site, turn, page)
        longest = max(longest, commit(frontier))
        spent += time.process_time() - before
        peak.look()
    wall = time.perf_counter() - began
    shelving = frontier.exchanges.shelving
    put_away, shelved, known = (0, 0, urls) if shelving is None else (shelving.put, shelving.groups, shelving.in_use)
    settle(frontier)
    peak.look()
    frontier.close()
    beside = resource.getrusage(resource.RUSAGE_CHILDREN)
    disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    sampled, forgotten, twice = check(path, urls, sites)
    return Measured(
        urls=urls,
        sites=sites,
        memory_mb=memory / 1e6,
        offers_per_second=urls / spent,
        wall_s=wall,
        beside_s=beside.ru_utime + beside.ru_stime,
        beside_mb=beside.ru_maxrss / 1e3,
        peak_mb=peak.private,
        start_mb=start["RssAnon"],
        longest_ms=longest * 1000,
        put_away=put_away,
        shelved=shelved,
        in_memory=known,
        disk_bytes_per_url=disk / urls,
        sampled=sampled,
        forgotten=forgotten,
        twice=twice,
    )


def commit(frontier: LocalFrontier) -> float:
    """What a worker does once a second; for how long it keeps the loop."""
    began = time.perf_counter()
    frontier.commits.pack(marks={}, counts=b"")
    packed = time.perf_counter() - began
    frontier.commits.write(sync=False)
    began = time.perf_counter()
    frontier.commits.written()
    frontier.exchanges.obey(Orders(applied=1 << 62))
    return max(packed, time.perf_counter() - began)


def settle(frontier: LocalFrontier) -> None:
    """Commit until what was put away is on the shelf, and nothing else is left of it."""
    rolling = frontier.commits._rolling  # noqa: SLF001
    before = rolling.taken
    until = time.monotonic() + 3600
    while time.monotonic() < until and (rolling.taken < before + 2 or rolling._process is not None):  # noqa: SLF001
        rolling.hurry = True
        commit(frontier)
        time.sleep(0.05)
    for _ in range(4):
        commit(frontier)


def check(path: Path, urls: int, sites: int) -> tuple[int, int, int]:
    """Read the groups of a sample back: how many URLs they have, how many of them are not there, how many twice."""
    chance = np.random.default_rng(7)
    per_site = -(-urls // sites)
    chosen = set(chance.choice(sites, min(sites, -(-SAMPLE // per_site)), replace=False).tolist())
    names = {name_of(site) for site in chosen}
    expected: set[str] = set()
    for first in range(0, urls, sites):
        for url in urls_of(first, min(urls, first + sites), sites):
            if url.split("/", 3)[2] in names:
                expected.add(url)
    keyed, log = Keyed(SECRET), FrontierLog(path, read_only=True)
    found: Counter[str] = Counter()
    try:
        past = Past(log)
        for replayed in log.replay():
            past.take(replayed)
        keys = [keyed.of(name.removeprefix("www.")) for name in names]
        for _group, content in on_shelf(past, log, set(keys)):
            found.update(content.urls.decode().split("\n"))
        ours = {number for number, name in enumerate(past.names) if name in names and number not in past.left}
        table = np.zeros(len(past.names) + 1, np.bool_)
        table[list(ours)] = True
        for first, of, _rows, _texts in log.stored():
            found.update(log.entry(first + place).url for place in np.flatnonzero(table[of]).tolist())
    finally:
        log.close()
    return len(expected), len(expected - found.keys()), sum(count - 1 for count in found.values())


def child(urls: int, sites: int, memory: int, folder: Path) -> Measured:
    """Measure in a process of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    command = [sys.executable, "-m", "benchmarks.frontier_memory", "--urls", str(urls), "--sites", str(sites)]
    command += ["--memory", str(memory), "--folder", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parents[1])
    return Measured(**json.loads(done.stdout))


def run(urls: int = URLS, sites: int = SITES, memory: str = MEMORY) -> dict[str, Any]:
    """Without a bound and with one."""
    machine, bound = description(), int(quantity(memory, "bytes"))
    if bound <= FIXED:
        sys.exit(f"a worker that knows nothing takes {FIXED / 1e6:.0f} MB: give more")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "worker"
        need, free = urls * 100, shutil.disk_usage(name).free
        if free < need:
            sys.exit(f"{need / 1e9:.1f} GB are needed in {name}, {free / 1e9:.1f} are free: set TMPDIR")
        child(50_000, 500, FIXED + 1_000_000, folder)  # so that everything is compiled
        runs = [
            child(urls // COMPARED, max(1, sites // COMPARED), 0, folder),
            child(urls, sites, bound, folder),
        ]
    return {"machine": machine, "runs": [asdict(each) for each in runs]}


def show(result: dict[str, Any]) -> None:
    """Print both beside each other."""
    free, bound = (Measured(**each) for each in result["runs"])
    for each in (free, bound):
        allowed = f"{each.memory_mb:,.0f} MB" if each.memory_mb else "no bound"
        print(
            f"{each.urls:>12,} URLs on {each.sites:,} sites, {allowed}: {each.offers_per_second:,.0f} offers/s, "
            f"{each.wall_s:,.0f} s; {each.peak_mb:,.0f} MB at most ({each.start_mb:,.0f} before the start), "
            f"a commit {each.longest_ms:,.0f} ms at most; {each.disk_bytes_per_url:.1f} bytes of disk a URL; "
            f"beside it {each.beside_s:,.0f} s of processor time and {each.beside_mb:,.0f} MB at most"
        )
    ratio = bound.offers_per_second / free.offers_per_second
    print(
        f"\n{ratio:.2f} times the rate (goal: at least {LEAST_RATIO}); disk: goal at most {MOST_BYTES:.0f}; "
        f"{bound.put_away:,} groups were put away, {bound.shelved:,} are so in the end, {bound.in_memory:,} URLs are "
        f"in memory; of {bound.sampled:,} sampled URLs {bound.forgotten:,} are forgotten, {bound.twice:,} twice"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier_memory", description=__doc__)
    parser.add_argument("--urls", type=int, default=URLS)
    parser.add_argument("--sites", type=int, default=SITES)
    parser.add_argument("--memory", default=MEMORY, help="that the worker may take")
    parser.add_argument("--out", type=Path, help="keep the result here, as JSON")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.folder:
        measured = measure(asked.urls, asked.sites, int(asked.memory), Path(asked.folder))
        print(json.dumps(asdict(measured)))
        return
    result = run(asked.urls, asked.sites, asked.memory)
    show(result)
    if asked.out:
        save(result, asked.out)


if __name__ == "__main__":
    main()
