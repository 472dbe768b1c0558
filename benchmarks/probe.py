"""weft as it is, with a look inside its workers: how long the event loop does not run, and what exchanges take.

    python -m benchmarks.probe FOLDER crawl …

is `weft crawl …`, with workers that note in FOLDER what they see: a callback every 5 ms notes when it was called, and
with what processor time and what time in the run queue of the loop's thread, so that a stall of weft can be told from
a processor that was given to somebody else; exchanges with the global frontier are timed. `read` gives what was noted
between two moments.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import weft.work

TICK = 0.005  # seconds
_FOLDER = "WEFT_BENCH_PROBE"


@dataclass
class Noted:
    """What workers saw between two moments."""

    gaps: list[float] = field(default_factory=list)  # seconds between two callbacks, the 5 ms included
    own: list[float] = field(default_factory=list)  # the same without the time that the thread waited for a processor
    longest: tuple[float, float, float] = (0.0, 0.0, 0.0)  # the longest: seconds, on the processor, waiting for one
    exchanges: int = 0
    exchanging: float = 0.0  # share of the time, the mean of the workers
    exchanging_cpu: float = 0.0  # processor seconds of all workers

    def percentile(self, share: float) -> float:
        """The gap that so many are not longer than."""
        return sorted(self.gaps)[int(share * (len(self.gaps) - 1))] if self.gaps else 0.0


class _Probe:
    """Notes, in memory, until the worker ends."""

    def __init__(self) -> None:
        self.ticks = array("d")  # by tick: wall time, monotonic, processor time, time in the run queue
        self.exchanges = array("d")  # by exchange: wall time, seconds, processor seconds
        # The main thread has the process's number; its line has the nanoseconds on the processor and in the queue.
        self._schedule = os.open(f"/proc/self/task/{os.getpid()}/schedstat", os.O_RDONLY)

    def tick(self) -> None:
        on_processor, waiting = os.pread(self._schedule, 64, 0).split()[:2]
        self.ticks.extend((time.time(), time.perf_counter(), int(on_processor) / 1e9, int(waiting) / 1e9))
        asyncio.get_running_loop().call_later(TICK, self.tick)

    def watch(self, shared: Any) -> None:
        exchange = shared.exchange

        def timed(report: Any) -> Any:
            began, cpu = time.perf_counter(), time.thread_time()
            try:
                return exchange(report)
            finally:
                self.exchanges.extend((time.time(), time.perf_counter() - began, time.thread_time() - cpu))

        shared.exchange = timed

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"ticks": list(self.ticks), "exchanges": list(self.exchanges)}), encoding="ascii")


def _work(arguments: list[str]) -> int:
    """What a worker's process runs."""
    probe = _Probe()
    work = weft.work.work

    async def probed(plan: Any, number: int, shared: Any, *rest: Any) -> str:
        probe.watch(shared)
        probe.tick()
        return await work(plan, number, shared, *rest)

    setattr(weft.work, "work", probed)  # noqa: B010
    try:
        return weft.work.main(arguments)
    finally:
        probe.save(Path(os.environ[_FOLDER]) / f"probe-{arguments[1]}-{os.getpid()}.json")


def _crawl(folder: str, arguments: list[str]) -> None:
    """Run the command line, and let the watchdog start workers that are looked into."""
    import weft.app
    from weft.cli import main

    def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["benchmarks.probe" if word == "weft.work" else word for word in command], **options)

    os.environ[_FOLDER] = folder
    setattr(weft.app, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": start}))  # noqa: B010
    main(arguments)


def read(folder: Path, first: float, second: float) -> Noted:
    """What the workers that have ended noted between two moments."""
    noted = Noted()
    files = list(folder.glob("probe-*.json"))
    for path in files:
        found = json.loads(path.read_text(encoding="ascii"))
        ticks = [each for each in _rows(found["ticks"], 4) if first <= each[0] < second]
        for before, after in pairwise(ticks):
            gap, on_processor, waiting = (after[place] - before[place] for place in (1, 2, 3))
            noted.gaps.append(gap)
            noted.own.append(gap - min(waiting, gap))
            noted.longest = max(noted.longest, (gap, on_processor, waiting))
        for wall, seconds, cpu in _rows(found["exchanges"], 3):
            if first <= wall < second:
                noted.exchanges += 1
                noted.exchanging += seconds / (second - first) / len(files)
                noted.exchanging_cpu += cpu
    return noted


def _rows(flat: list[float], width: int) -> list[list[float]]:
    return [flat[place : place + width] for place in range(0, len(flat), width)]


if __name__ == "__main__":
    if sys.argv[2] == "crawl":
        _crawl(sys.argv[1], sys.argv[2:])
    else:
        sys.exit(_work(sys.argv[1:]))
