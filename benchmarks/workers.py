"""One worker against two, durability on against off, and how long the event loop stands still.

    python -m benchmarks.workers                # everything, a quarter of an hour
    python -m benchmarks.workers --seconds 4 --rounds 1 --only durable

The web is that of `benchmarks.crawlers`, and so is the way of measuring: pages by the server's log, processor time of
every process from outside, some seconds apart. The workers are weft's own, looked into by `benchmarks.probe`. All
kinds of a table are run in turn, three times, and the median of each figure counts.

Two workers and the testbed share the machine's cores, one worker and the testbed do not have to. So that what the
cores do to each other is not taken for what workers cost each other, two crawls of one worker each are run side by
side, too: they have nothing in common but the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import statistics
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import uvloop

from benchmarks import probe
from benchmarks.crawlers import Seen, seeds_of, watch, web, weft_command
from benchmarks.machine import description
from weft.store.cdxj import cdxj_line
from weft.store.sealing import seal
from weft.testbed.bed import Bed, serving

MOST_CPU = 1.08  # of two workers, a page, against one
MOST_EXCHANGING = 0.03  # of the time
LEAST_DURABLE = 0.97  # of the rate without it
MOST_STALL = 0.050  # seconds
SMALL_FILES = ["--part-bytes", "200000", "--volume-bytes", "4000000"]  # full after a second or two
FULL_VOLUME = 200_000  # lines of the index of a full volume: 5 KB a record


@dataclass(frozen=True)
class Kind:
    """A way to run weft."""

    name: str
    per_visit: int
    workers: int = 1
    crawls: int = 1  # side by side
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """One run of one kind; times in milliseconds, shares of the wall time."""

    pages_per_second: float
    cpu_ms_per_page: float  # of the workers
    watchdog_ms_per_page: float
    server_ms_per_page: float
    cores: float  # used by the workers
    server_cores: float
    stolen_cores: float
    exchanging: float  # share of the time in exchanges with the global frontier, a worker
    exchanging_cpu: float  # share of the workers' processor time
    exchanges: int
    stall_ms: float  # the longest time that a loop did not run
    stall_cpu_ms: float  # of these, its thread was on the processor
    stall_queue_ms: float  # and waited for one
    own_stall_ms: float  # the longest without the time that the thread waited for a processor
    stall_999_ms: float  # 99.9 % are not longer
    stalls: int  # longer than 50 ms
    own_stalls: int
    sealed: int  # files
    peak_mb: float


WORKERS = [
    kind
    for k in (100, 1)
    for kind in (
        Kind(f"1 worker k={k}", k),
        Kind(f"2 workers k={k}", k, workers=2),
        Kind(f"1+1 k={k}", k, crawls=2),
    )
]
DURABLE = [Kind("sync", 100), Kind("no sync", 100, options=("--no-sync",))]
SEALING = [Kind("small files", 100, options=tuple(SMALL_FILES))]
TABLES = {"workers": WORKERS, "durable": DURABLE, "sealing": SEALING}


def measure(bed: Bed, kind: Kind, *, warm: float, seconds: float, folder: Path) -> Measured:
    """Run one kind and look at it twice."""
    seeds = seeds_of(bed, folder)
    notes, outs = folder / "notes", [folder / f"crawl{number}" for number in range(kind.crawls)]
    for path in (notes, *outs):
        shutil.rmtree(path, ignore_errors=True)
    notes.mkdir()
    started = []
    for out in outs:
        python, _, _, *rest = weft_command(seeds, out, per_visit=kind.per_visit, workers=kind.workers)
        started.append([python, "-m", "benchmarks.probe", str(notes), *rest, *kind.options])
    seen = watch(bed, "weft", started, warm=warm, seconds=seconds, folder=folder)
    return _measured(seen, probe.read(notes, seen.first, seen.second), _sealed(outs, seen))


def _measured(seen: Seen, noted: probe.Noted, sealed: int) -> Measured:
    passed, pages, workers = seen.second - seen.first, seen.pages, seen.cpu - seen.watchdog
    return Measured(
        pages_per_second=pages / passed,
        cpu_ms_per_page=1000 * workers / pages,
        watchdog_ms_per_page=1000 * seen.watchdog / pages,
        server_ms_per_page=1000 * seen.server / pages,
        cores=workers / passed,
        server_cores=seen.server / passed,
        stolen_cores=seen.stolen / passed,
        exchanging=noted.exchanging,
        exchanging_cpu=noted.exchanging_cpu / workers,
        exchanges=noted.exchanges,
        stall_ms=1000 * noted.longest[0],
        stall_cpu_ms=1000 * noted.longest[1],
        stall_queue_ms=1000 * noted.longest[2],
        own_stall_ms=1000 * max(noted.own, default=0.0),
        stall_999_ms=1000 * noted.percentile(0.999),
        stalls=sum(gap > MOST_STALL for gap in noted.gaps),
        own_stalls=sum(gap > MOST_STALL for gap in noted.own),
        sealed=sealed,
        peak_mb=seen.peak_mb,
    )


def _sealed(outs: list[Path], seen: Seen) -> int:
    """Files that were sealed between the two moments."""
    paths = [path for out in outs for name in ("pages", "links", "urls", "volumes") for path in (out / name).iterdir()]
    return sum(seen.first <= path.stat().st_ctime < seen.second for path in paths)


def full_volume(lines: int = FULL_VOLUME) -> dict[str, float]:
    """Seal the index of a full volume in a thread: how long an event loop beside it stands still."""
    chance = random.Random(1)
    text = "".join(
        cdxj_line(
            f"https://www.site-{chance.randrange(2000)}.example/some/section/page-{number}.html", 1.7e9 + number / 500,
            200, "text/html; charset=utf-8", f"sha1:{chance.getrandbits(160):032x}", number * 5000, 5000,
            "weft-20261116024743-0-00001.warc.gz", revisit=False,
        )
        for number in range(lines)
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weft-20261116024743-0-00001.cdxj.open"
        path.write_text(text, encoding="ascii")
        longest, took = uvloop.run(_beside(path))
    return {"lines": lines, "longest_ms": 1000 * longest, "took_ms": 1000 * took}


async def _beside(path: Path) -> tuple[float, float]:
    began = last = time.perf_counter()
    longest = 0.0
    sealing = threading.Thread(target=seal, args=(path,))
    sealing.start()
    while sealing.is_alive():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest, last - began


def run(*, rounds: int = 3, seconds: float = 12.0, warm: float = 3.0, only: str = "") -> dict[str, Any]:
    """All tables, each in turn."""
    machine = description()
    found: dict[str, list[Measured]] = {}
    with tempfile.TemporaryDirectory() as name, serving(web()) as bed:
        for kinds in (kinds for table, kinds in TABLES.items() if only in table):
            for number in range(rounds):
                for kind in kinds if number % 2 == 0 else reversed(kinds):  # machines grow faster or slower meanwhile
                    measured = measure(bed, kind, warm=warm, seconds=seconds, folder=Path(name))
                    found.setdefault(kind.name, []).append(measured)
                    rate = f"{measured.pages_per_second:8.0f} pages/s{measured.cpu_ms_per_page:8.3f} ms/page"
                    print(f"  {number + 1}/{rounds} {kind.name:<18}{rate}", flush=True)
    return {
        "machine": machine,
        "seconds": seconds,
        "runs": {name: [asdict(each) for each in runs] for name, runs in found.items()},
        "median": {name: _median(runs) for name, runs in found.items()},
        "full_volume": full_volume(),
    }


def _median(runs: list[Measured]) -> dict[str, float]:
    """The median of each figure; of stalls the worst."""
    worst = {"stall_ms", "own_stall_ms", "stalls", "own_stalls"}
    return {
        each.name: (max if each.name in worst else statistics.median)(getattr(run, each.name) for run in runs)
        for each in fields(Measured)
    }


HEADER = (
    f"\n{'':<18}{'pages/s':>9}{'CPU ms/page':>13}{'watchdog':>10}{'testbed':>9}{'cores':>7}{'testbed':>9}"
    f"{'exchanges':>11}{'of CPU':>8}{'stall ms':>10}{'own':>6}{'99.9 %':>8}{'> 50':>6}{'sealed':>8}"
)


def show(result: dict[str, Any]) -> None:
    """Print the tables and what the goals say to them."""
    medians = result["median"]
    print(HEADER)
    for name, row in medians.items():
        print(
            f"{name:<18}{row['pages_per_second']:>9.0f}{row['cpu_ms_per_page']:>13.3f}"
            f"{row['watchdog_ms_per_page']:>10.3f}{row['server_ms_per_page']:>9.3f}{row['cores']:>7.2f}"
            f"{row['server_cores']:>9.2f}{row['exchanging']:>11.2%}{row['exchanging_cpu']:>8.2%}"
            f"{row['stall_ms']:>10.0f}{row['own_stall_ms']:>6.0f}{row['stall_999_ms']:>8.0f}{row['stalls']:>6.0f}"
            f"{row['sealed']:>8.0f}"
        )
    print("(stalls: the worst of all rounds; own: without the time that the loop's thread waited for a processor)\n")
    for k in (100, 1):
        names = f"1 worker k={k}", f"2 workers k={k}", f"1+1 k={k}"
        if set(names) <= medians.keys():
            one, two, apart = (medians[name] for name in names)
            ratio = two["cpu_ms_per_page"] / one["cpu_ms_per_page"]
            control = two["cpu_ms_per_page"] / apart["cpu_ms_per_page"]
            print(
                f"2 workers, k={k}: {ratio:.3f} times the CPU a page of 1 (goal: at most {MOST_CPU}), {control:.3f}"
                f" times that of two crawls side by side; {two['pages_per_second'] / one['pages_per_second']:.2f} times"
                f" the pages/s; exchanges {two['exchanging']:.1%} of the time (goal: at most {MOST_EXCHANGING:.0%})"
            )
    if {"sync", "no sync"} <= medians.keys():
        on, off = medians["sync"], medians["no sync"]
        print(
            f"durable: {on['pages_per_second'] / off['pages_per_second']:.3f} times the pages/s without, "
            f"{off['cpu_ms_per_page'] / on['cpu_ms_per_page']:.3f} times the pages a CPU second"
            f" (goal: at least {LEAST_DURABLE})"
        )
    for name in ("sync", "small files"):
        if name in medians:
            row = medians[name]
            print(
                f"{name}: the loop stands still {row['stall_ms']:.0f} ms at most, {row['own_stall_ms']:.0f} without"
                f" waits for a processor (goal: at most {1000 * MOST_STALL:.0f}), with {row['sealed']:.0f} files sealed"
            )
    full = result["full_volume"]
    print(
        f"sealing the index of a full volume ({full['lines']:,} lines): {full['took_ms']:.0f} ms in a thread, in which"
        f" the loop stands still for {full['longest_ms']:.0f} ms at most (goal: at most {1000 * MOST_STALL:.0f})"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description="Workers, durability, stalls.")
    parser.add_argument("--only", choices=TABLES, default="", help="one of the tables")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=12.0, help="of each run, after it has warmed up")
    parser.add_argument("--warm", type=float, default=3.0)
    asked = parser.parse_args()
    show(run(rounds=asked.rounds, seconds=asked.seconds, warm=asked.warm, only=asked.only))


if __name__ == "__main__":
    main()
