"""Pages/s of a whole worker whose frontier knows 50 million URLs, against the same with a million.

    python -m benchmarks.frontier_worker [ordering] [URLs] [repeats]

A crawl of the benchmark web is begun and stopped after some thousand pages; its log is swollen by URLs of sites that
are set aside, all of them pending; then the crawl goes on, and is measured like the crawlers of `benchmarks.crawlers`:
pages by the server's log, processor time from outside. What swells the log is the input of `benchmarks.frontier`. The
sites are set aside because nobody answers for them: they are in the memory, the table and the heaps of pages, and not
in the heap of sites.
"""

from __future__ import annotations

import dataclasses
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import numpy as np

from benchmarks.crawlers import Measured, commands, pages_between, web
from benchmarks.frontier import COMMIT, LINKS, ORDERINGS, SMALL, URLS, Web
from benchmarks.machine import cpu_seconds, peak_megabytes
from weft.directory import secret_of
from weft.frontier.keyed import Keyed
from weft.frontier.log import Commit, FrontierLog
from weft.frontier.sites import Overrides, Site
from weft.model import Kind
from weft.testbed.bed import Bed, serving

BEGUN = 5000  # pages fetched before the log is swollen
LEAST_RATIO = 0.95


def swell(out: Path, urls: int, *, of: int) -> None:
    """Let the log of a crawl that was stopped know so many URLs in all: the first ones of a web of `of`."""
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

    def number(name: str) -> int:
        new.append(Site(next(numbers), name, Overrides().of(name)))
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
            states=[(site.number, site.memory(0.0)) for site in new],
            marks=last.marks,
            counts=last.counts,
            number=last.number,
            taken=last.taken,
            clean=last.clean,
        )
        log.commit(grown)
        new.clear()
    log.close()


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
    began, begin = time.perf_counter(), log.stat().st_size
    with (folder / "weft.out").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        while log.stat().st_size < begin + 200_000 and process.poll() is None and time.perf_counter() - began < 600:
            time.sleep(0.1)
        print(f"  {ordering}: {urls:,} URLs, going on after {time.perf_counter() - began:.0f} s", flush=True)
        time.sleep(3.0)
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
    return Measured(f"{ordering} {urls:,}", pages / passed, 1000 * cpu / pages, peak, served / passed)


def family(pid: int) -> list[int]:
    """A process and its children."""
    found = [pid]
    for parent in found:
        found += map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split())
    return found


def main() -> None:
    """Measure and print."""
    asked = dict(enumerate(sys.argv[1:]))
    orderings = (asked[0],) if 0 in asked else ORDERINGS
    urls, repeats = int(asked.get(1, URLS)), int(asked.get(2, 3))
    with tempfile.TemporaryDirectory() as name, serving(web()) as bed:
        for ordering in orderings:
            runs: dict[int, list[Measured]] = {min(SMALL, urls // 2): [], urls: []}
            for _ in range(repeats):
                for size, of_size in runs.items():
                    of_size.append(measure(bed, ordering, size, of=urls, folder=Path(name)))
                    print(f"  {dataclasses.asdict(of_size[-1])}", flush=True)
            small, large = (statistics.median(run.pages_per_second for run in some) for some in runs.values())
            cpu = [statistics.median(run.cpu_ms_per_page for run in some) for some in runs.values()]
            print(
                f"{ordering}: {large:,.0f} pages/s with {urls:,} URLs, {large / small:.2f} times as many as with"
                f" {min(runs):,} (goal: at least {LEAST_RATIO}); by processor time {cpu[0] / cpu[1]:.2f}"
            )


if __name__ == "__main__":
    main()
