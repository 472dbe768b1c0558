"""Pages/s of a whole worker whose frontier knows 50 million URLs, against the same with a million; and how long it
takes to go on with them.

    python -m benchmarks.frontier_worker [ordering] [URLs] [repeats]

A crawl of the benchmark web is begun and stopped after some thousand pages; its log is swollen by URLs of sites that
are set aside, all of them pending; then the crawl goes on, and is measured like the crawlers of `benchmarks.crawlers`:
pages by the server's log, processor time from outside. What swells the log is the input of `benchmarks.frontier`. The
sites are set aside because nobody answers for them: they are in the memory, the table and the heaps of pages, and not
in the heap of sites.

Before the crawl goes on the log becomes a checkpoint, as it would have become several while it grew. How long that
takes and what it writes is shown, and how long it takes then until the first page is asked for.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crawlers import commands, page_times, pages_between, web
from benchmarks.frontier import COMMIT, LINKS, ORDERINGS, SMALL, URLS, Web
from benchmarks.machine import cpu_seconds, description, family, peak_megabytes
from weft.directory import secret_of
from weft.frontier.durable.chain import open_chain
from weft.frontier.durable.log import Commit, FrontierLog
from weft.frontier.keyed import Keyed
from weft.frontier.local.site import Site
from weft.frontier.overrides import Overrides
from weft.model import Kind, SiteNumber
from weft.store.files import SETTLED
from weft.testbed.bed import Bed, serving

BEGUN = 5000  # pages fetched before the log is swollen
LEAST_RATIO = 0.95
MOST_GOING = 10.0  # seconds until the first page
WARM = 10.0  # seconds: what is read for the first time behind a start is not what pages cost


@dataclass(frozen=True)
class Measured:
    """One crawl that went on."""

    crawler: str
    pages_per_second: float
    cpu_ms_per_page: float
    peak_mb: float
    server_cpu: float  # cores
    going_on_s: float  # from the command to the first page, by the server's log


def swell(out: Path, urls: int, *, of: int) -> None:
    """Let the log of a crawl that was stopped know so many URLs in all: the first ones of a web of `of`. The global
    frontier is told whose their groups are: else the crawl would be found damaged.
    """
    log = FrontierLog(out / "workers" / "0" / "frontier.log")
    keyed = Keyed(secret_of(out))
    last, names = Commit(), 0
    for replayed in log.replay():
        last = replayed.commit
        names += len(replayed.commit.sites)
    source = Web(of)
    known = log.pages
    numbers = count(names)
    new: list[Site] = []
    held: list[tuple[str]] = []

    def number(name: str) -> int:
        new.append(Site(SiteNumber(next(numbers)), name, Overrides().of(name)))
        new[-1].set_aside = True
        return new[-1].number

    for first in range(known, urls, COMMIT):
        ranks, pages = source.places(np.arange(first - known, min(urls, first + COMMIT) - known))
        texts = source.texts(ranks, pages)
        sites = source.number(ranks, number).tolist()
        for key, text, owner in zip(keyed.array_of(texts).tolist(), texts, sites, strict=True):
            log.append(key, text, key // LINKS, owner, 3, Kind.A)
        grown = Commit(
            sites=[site.name for site in new],
            groups=[site.domain for site in new],
            states=[(site.number, site.memory(0.0, 0.0)) for site in new],
            marks=last.marks,
            counts=last.counts,
            number=last.number,
            taken=last.taken,
            clean=last.clean,
        )
        log.commit(grown)
        held += [(site.domain,) for site in new]
        new.clear()
    log.close()
    with closing(sqlite3.connect(out / "frontier.db")) as base, base:
        base.executemany("insert or ignore into groups(name, holder, seed, found) values(?, 0, 0, 0)", held)


def fold_log(out: Path) -> tuple[float, float, float]:
    """Make a checkpoint of the log of a crawl that was stopped: seconds, MB of tables and MB of segments."""
    path = out / "workers" / "0" / "frontier.log"
    log, last = FrontierLog(path), Commit()
    for replayed in log.replay():
        last = replayed.commit
    last = Commit(marks=last.marks, counts=last.counts, number=last.number, taken=last.taken, clean=last.clean)
    for number in range(SETTLED + 1):
        log.pack(last, roll=number == 0)
        log.write(sync=False)
        log.written()
    log.close()
    began = time.perf_counter()
    command = [sys.executable, "-m", "weft.frontier.durable.checkpoint", str(path), "0", str(os.getpid())]
    subprocess.run(command, check=True)
    took = time.perf_counter() - began
    with closing(open_chain(path)) as chain:
        assert chain.base is not None
        manifest = chain.base.manifest
        tables = sum(file.length for file in manifest.files.values())
        segments = sum(each.length for each in manifest.segments if each.number == manifest.number)
    return took, tables / 1e6, segments / 1e6


def measure(bed: Bed, ordering: str, urls: int, *, of: int, folder: Path, seconds: float = 12.0) -> Measured:
    """Begin a crawl, swell its log, go on, and look at it twice."""
    seeds, out, log = folder / "seeds.txt", folder / "crawl", bed.log_file
    assert log is not None
    seeds.write_text("\n".join(bed.seeds()) + "\n", encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    command = [*commands(seeds, out)["weft k=100"], "--ordering", ordering]
    subprocess.run([*command, "--max-pages", str(BEGUN)], check=True, stdout=subprocess.DEVNULL)
    began = time.perf_counter()
    swell(out, urls, of=of)
    print(f"  {ordering}: {urls:,} URLs, log swollen in {time.perf_counter() - began:.0f} s", flush=True)
    took, tables, segments = fold_log(out)
    print(
        f"  {ordering}: checkpoint in {took:.1f} s, {tables:.0f} MB of tables, {segments:.0f} of segments", flush=True
    )
    began, begin, command_at = time.perf_counter(), log.stat().st_size, time.time()
    with (folder / "weft.out").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        while log.stat().st_size < begin + 200_000 and process.poll() is None and time.perf_counter() - began < 600:
            time.sleep(0.1)
        time.sleep(WARM)
        first = (time.time(), cpu_seconds(process.pid), bed.cpu_s())
        time.sleep(seconds)
        second = (time.time(), cpu_seconds(process.pid), bed.cpu_s())
        peak = max(peak_megabytes(pid) for pid in family(process.pid))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    passed, cpu, served = (b - a for a, b in zip(first, second, strict=True))
    bed.log()
    pages = pages_between(log, begin, first[0], second[0])
    if not pages:
        sys.exit(f"nothing was fetched:\n{(folder / 'weft.out').read_text()[-2000:]}")
    going_on = min(page_times(log, begin)) - command_at
    return Measured(f"{ordering} {urls:,}", pages / passed, 1000 * cpu / pages, peak, served / passed, going_on)


def run(*, orderings: tuple[str, ...] = ORDERINGS, urls: int = URLS, repeats: int = 3) -> dict[str, Any]:
    """Each ordering with few URLs and with many, in turn; the medians."""
    found: dict[str, dict[int, list[Measured]]] = {}
    machine = description()
    with tempfile.TemporaryDirectory() as name, serving(web()) as bed:
        for ordering in orderings:
            runs = found[ordering] = {min(SMALL, urls // 2): [], urls: []}
            for _ in range(repeats):
                for size, of_size in runs.items():
                    of_size.append(measure(bed, ordering, size, of=urls, folder=Path(name)))
                    print(f"  {dataclasses.asdict(of_size[-1])}", flush=True)
    return {
        "machine": machine,
        "orderings": {
            ordering: {str(size): [dataclasses.asdict(run) for run in some] for size, some in runs.items()}
            for ordering, runs in found.items()
        },
    }


def show(result: dict[str, Any]) -> None:
    """Print the ratios."""
    for ordering, runs in result["orderings"].items():
        (few, some), (many, others) = runs.items()
        small, large = (statistics.median(run["pages_per_second"] for run in each) for each in (some, others))
        cpu = [statistics.median(run["cpu_ms_per_page"] for run in each) for each in (some, others)]
        going = statistics.median(run["going_on_s"] for run in others)
        peak = max(run["peak_mb"] for run in others)
        print(
            f"{ordering}: {large:,.0f} pages/s with {int(many):,} URLs, {large / small:.2f} times as many as with"
            f" {int(few):,} (goal: at least {LEAST_RATIO}); by processor time {cpu[0] / cpu[1]:.2f}; going on after"
            f" {going:.0f} s (goal: {MOST_GOING:.0f}), peak {peak:,.0f} MB"
        )


if __name__ == "__main__":
    asked = dict(enumerate(sys.argv[1:]))
    chosen = (asked[0],) if 0 in asked else ORDERINGS
    show(run(orderings=chosen, urls=int(asked.get(1, URLS)), repeats=int(asked.get(2, 3))))
