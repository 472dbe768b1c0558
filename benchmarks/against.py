"""Processor time a page of this tree against another revision. In: a revision, by REV or --rev. Out: a ratio with its
interval.

    make bench PARTS=against REV=e987726                                    # 100 pages a visit, one worker
    make bench PARTS=against REV=e987726 K=1                                # a connection for every page
    make bench PARTS=against REV=e987726 WORKERS=2                          # two workers, on one core
    make bench PARTS=against REV=HEAD OTHER=--no-sync                       # what it costs to have commits on disk
    python -m benchmarks.against --rev e987726 --rounds 3 --pages 4000     # a quick trial

The same web is crawled to its end by both, so that both fetch the same pages; what the servers' logs say of each run
must be the same set. In each round the old revision runs twice and this tree once. The three run at the same time on
one core, which gives each of them a few milliseconds in turn: whatever the machine does to one of them it does to all.
(One after the other, ratios of the same revision to itself went from 0.90 to 1.10.) Each has a server of its own; the
servers share the other core. Who is started first changes from round to round.

The ratio of a round is new to old; beside it stands old to old, which should be 1 and shows what the machine alone
does to such a ratio. Of each the median over the rounds counts, with a 95 % bootstrap interval. Times are higher than
those of a crawl that has its core to itself, since the three push each other out of the processor's caches.

Who is done first leaves the core to the others, whose last pages are cheaper for it: where one side starts faster, the
ratio of whole crawls is unjust to it. So there is a second one, of the pages that were answered while all three were at
work, with what each end took.

A page's time is that of all processes from the page `SKIPPED` on to the end of the crawl: the start, with the loading
of compiled code that first calls bring, is counted apart. The end belongs to it, since it is chance whether a file is
sealed before the last page or behind it; how much that was stands beside it. Workers are sampled from outside, and the
moments are those of the server's log.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.crawlers import seeds_of, web, weft_command
from benchmarks.machine import cpu_of, cpu_seconds, description
from benchmarks.ratios import Interval, interval
from weft.testbed.bed import Bed, serving
from weft.testbed.web import Web

ROOT = Path(__file__).parent.parent
BOUND = 1.00  # of the other revision's time a page
SKIPPED = 1_000  # pages until a worker is warm
SAMPLE = 0.02  # seconds between two looks at a worker


@dataclass(frozen=True)
class Measured:
    """One crawl; processor time in seconds, user and system."""

    side: str
    pages: int  # that count: those behind the first ones
    cpu_ms_per_page: float  # of all processes, from the first page that counts to the end of the crawl
    start_s: float  # of all processes, until the first page was answered
    warming_s: float  # of the worker, from there to the first page that counts
    end_s: float  # of all processes, behind the last page: a part of the first figure
    seconds: float  # by the clock, of the pages that count
    together_ms_per_page: float = 0.0  # of the pages while all sides were at work, with the end shared out among all


@dataclass(frozen=True)
class Crawled:
    """One crawl as it was watched."""

    measured: Measured
    fetched: set[bytes]
    warm: float  # wall times: when the pages began that count
    moments: list[float]  # of all its pages, in order
    samples: Samples

    def within(self, first: float, last: float) -> Measured:
        """With what a page took between two moments."""
        pages = bisect_left(self.moments, last) - bisect_left(self.moments, first)
        spent = self.samples.until(last) - self.samples.until(first)
        each = spent / max(1, pages) + self.measured.end_s / self.measured.pages
        return replace(self.measured, together_ms_per_page=1000 * each)


@contextlib.contextmanager
def checked_out(revision: str) -> Iterator[tuple[Path, str]]:
    """The sources of a revision, with its full name: in a folder that is removed, or, for who measures more than once,
    in one of the folder KEEP, with the code that was compiled for it.
    """
    name = _git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
    with tempfile.TemporaryDirectory(prefix="weft-against-") as removed:
        folder = Path(os.environ.get("KEEP", removed)) / name
        if not folder.exists():
            with tarfile.open(fileobj=io.BytesIO(_git("archive", name, "src"))) as files:
                files.extractall(folder, filter="data")
            warmed(folder / "src")
        yield folder / "src", name


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def _environment(source: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source)}


def warmed(source: Path) -> None:
    """Fill a tree's cache of compiled code, as far as crawls need it where the tree can tell."""
    command = [sys.executable, "-m", "weft", "doctor", "--warm", "--quiet"]
    if (source / "weft" / "readiness.py").exists():
        command = [sys.executable, "-c", "from weft.readiness import make_ready; make_ready('crawl')"]
    subprocess.run(command, env=_environment(source), cwd=source, check=False, stdout=subprocess.DEVNULL)
    command = [sys.executable, "-c", "import weft; print(weft.__file__)"]
    found = subprocess.run(command, env=_environment(source), cwd=source, check=True, capture_output=True, text=True)
    if not Path(found.stdout.strip()).is_relative_to(source):
        sys.exit(f"{source} was asked for, and Python imports {found.stdout.strip()}")


class Samples:
    """Processor time of a crawl's processes as it grows: of its worker, and of all."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.worker: list[float] = []
        self.all: list[float] = []

    def take(self, watchdog: psutil.Process) -> None:
        """Look once; between a process's start and its end only."""
        with contextlib.suppress(psutil.Error):
            workers = [child.pid for child in watchdog.children() if "weft.work" in child.cmdline()]
            now = time.time()
            worker = sum(map(cpu_of, workers))
            self.at.append(now)
            self.worker.append(worker)
            self.all.append(cpu_seconds(watchdog.pid))

    def between(self, first: float, last: float) -> float:
        """Processor time of the worker from one moment to another."""
        begun, ended = np.interp([first, last], self.at, self.worker)
        return float(ended - begun)

    def until(self, moment: float) -> float:
        """Processor time of all until a moment."""
        return float(np.interp(moment, self.at, self.all))


def crawl(
    bed: Bed, side: str, source: Path, folder: Path, core: int, options: list[str], *, per_visit: int, workers: int
) -> Crawled:
    """Crawl the web to its end; what it took, and which pages were fetched."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    out = folder / "crawl"
    log = bed.log_file
    assert log is not None
    bed.dns_questions()  # whatever it is asked, the server writes its log out
    begin = log.stat().st_size
    samples = Samples()
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [*weft_command(seeds_of(bed, folder), out, per_visit=per_visit, workers=workers), *options],
            stdout=said,
            stderr=said,
            cwd=folder,
            env=_environment(source),
        )
        try:
            os.sched_setaffinity(process.pid, {core})
            watchdog = psutil.Process(process.pid)
            while not (gone := os.wait4(process.pid, os.WNOHANG))[0]:
                samples.take(watchdog)
                time.sleep(SAMPLE)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    _, status, used = gone
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"the crawl by {side} failed:\n{(folder / 'said').read_text()[-2000:]}")
    bed.dns_questions()
    answered = _answered(log, begin)
    moments = sorted(moment for moment, _ in answered)
    skipped = min(SKIPPED, len(moments) // 4)
    first, warm, last = moments[0], moments[skipped], moments[-1]
    pages = len(moments) - skipped
    measured = Measured(
        side=side,
        pages=pages,
        cpu_ms_per_page=1000 * (used.ru_utime + used.ru_stime - samples.until(warm)) / pages,
        start_s=samples.until(first),
        warming_s=samples.between(first, warm),
        end_s=used.ru_utime + used.ru_stime - samples.until(last),
        seconds=last - warm,
    )
    return Crawled(measured, {page for _, page in answered}, warm, moments, samples)


def _answered(log: Path, begin: int) -> list[tuple[float, bytes]]:
    """When which page was answered, by the server's log; without the port, which is each server's own."""
    with log.open("rb") as file:
        file.seek(begin)
        lines = [line.split(b"\t") for line in file]
    return [
        (float(line[7]), line[1].partition(b":")[0] + line[12])
        for line in lines
        if line[0] == b"request" and line[11] == b"page"
    ]


def run(*, rev: str = "", rounds: int = 0, pages: int = 0) -> dict[str, Any]:
    """All rounds. What is not given is taken from the environment: REV, ROUNDS, PAGES; and always K, WORKERS and OTHER,
    which are options of the other revision alone.
    """
    other_options = os.environ.get("OTHER", "").split()
    per_visit, workers = int(os.environ.get("K", "100")), int(os.environ.get("WORKERS", "1"))
    rev = rev or os.environ.get("REV", "")
    rounds, pages = rounds or int(os.environ.get("ROUNDS", "9")), pages or int(os.environ.get("PAGES", "30000"))
    if not rev:
        sys.exit("which revision? make bench PARTS=against REV=e987726")
    machine = description()
    print("  compiled code is loaded or made: a minute for each tree that has none yet", flush=True)
    with checked_out(rev) as (other, name):
        warmed(ROOT / "src")
        sides = {"old": (other, other_options), "new": (ROOT / "src", []), "again": (other, other_options)}
        found = all_rounds(sides, rounds=rounds, pages=pages, per_visit=per_visit, workers=workers)
    return {
        "machine": machine,
        "revision": name,
        "this": _git("describe", "--always", "--dirty", "--abbrev=40").decode().strip(),
        "pages": found["old"][0].pages,
        "rounds": rounds,
        "other_options": other_options,
        "per_visit": per_visit,
        "workers": workers,
        "bound": BOUND,
        "ratio": asdict(interval(ratios(found, "new"))),
        "control": asdict(interval(ratios(found, "again"))),
        "together": {
            side: asdict(interval(ratios(found, side, of="together_ms_per_page"))) for side in ("new", "again")
        },
        "ratios": {side: ratios(found, side) for side in ("new", "again")},
        "runs": {side: [asdict(each) for each in runs] for side, runs in found.items()},
    }


def all_rounds(
    sides: Mapping[str, tuple[Path, list[str]]], *, rounds: int, pages: int, per_visit: int = 100, workers: int = 1
) -> dict[str, list[Measured]]:
    """Crawl the same web by each side, which is sources and further options: all at the same time, round by round. What
    each took is printed, with its ratio to the first.
    """
    server_core, core = _cores()
    names = list(sides)
    found: dict[str, list[Measured]] = {side: [] for side in names}
    served = _served(web(sites=max(20, pages // 50), pages=pages), server_core, len(names))
    with tempfile.TemporaryDirectory() as folder, served as beds:
        for number in range(rounds):
            first = number % len(names)
            crawls = [
                (bed, side, sides[side][0], Path(folder) / side, core, sides[side][1])
                for bed, side in zip(beds, names[first:] + names[:first], strict=True)
            ]
            with ThreadPoolExecutor(len(crawls)) as pool:
                done = list(pool.map(lambda each: crawl(*each, per_visit=per_visit, workers=workers), crawls))
            first_all, last_all = max(each.warm for each in done), min(each.moments[-1] for each in done)
            for each in done:
                if each.fetched != done[0].fetched:
                    sys.exit(f"not the same pages were fetched: {len(each.fetched ^ done[0].fetched)} differ")
                found[each.measured.side].append(each.within(first_all, last_all))
            said = ", ".join(_said(found[side][-1], found[names[0]][-1]) for side in names)
            print(f"  {number + 1}/{rounds}: {said} ms/page", flush=True)
    return found


def _said(taken: Measured, to: Measured) -> str:
    """A side and its ratios: of the whole, and while all were at work."""
    whole = taken.cpu_ms_per_page / to.cpu_ms_per_page
    together = taken.together_ms_per_page / to.together_ms_per_page
    return f"{taken.side} {taken.cpu_ms_per_page:.4f} ({whole:.4f}, {together:.4f})"


@contextlib.contextmanager
def _served(web: Web, core: int, times: int) -> Iterator[list[Bed]]:
    """The same web, once for each side; the servers share a core."""
    with contextlib.ExitStack() as stack:
        beds = [stack.enter_context(serving(web)) for _ in range(times)]
        for bed in beds:
            os.sched_setaffinity(bed.pid, {core})
        yield beds


def ratios(found: dict[str, list[Measured]], side: str, to: str = "old", of: str = "cpu_ms_per_page") -> list[float]:
    """What a side took a page, to what another one did, round by round."""
    return [getattr(a, of) / getattr(b, of) for a, b in zip(found[side], found[to], strict=True)]


def _cores() -> tuple[int, int]:
    """A core for the server and this process, and one for the crawl."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("this needs two cores: one for the server, one for the crawl")
    return cores[0], cores[-1]


def show(result: dict[str, Any]) -> None:
    """Print the ratio, what it may be held for, and the rest beside it."""
    print(f"\n{'':<8}{'CPU ms/page':>13}{'start s':>10}{'warming s':>11}{'end s':>8}{'pages/s':>9}")
    for side, runs in result["runs"].items():
        names = ("cpu_ms_per_page", "start_s", "warming_s", "end_s", "seconds")
        cpu, start, warming, end, seconds = (statistics.median(each[name] for each in runs) for name in names)
        print(f"{side:<8}{cpu:>13.4f}{start:>10.2f}{warming:>11.2f}{end:>8.2f}{result['pages'] / seconds:>9.0f}")
    ratio, control = (Interval(**result[name]) for name in ("ratio", "control"))
    form = f"k = {result['per_visit']}, {result['workers']} {'worker' if result['workers'] == 1 else 'workers'}"
    print(f"\n{result['pages']:,} pages, {form}, {result['rounds']} rounds")
    print("medians of the paired ratios with 95 % intervals")
    for label, each in (("this tree", ratio), ("old again", control)):
        print(f"{label}: {each.median:.4f} times {result['revision'][:9]} ({each.low:.4f} to {each.high:.4f})")
    for label, side in (("this tree", "new"), ("old again", "again")):
        each = Interval(**result["together"][side])
        print(f"{label}, while all were at work: {each.median:.4f} ({each.low:.4f} to {each.high:.4f})")
    print(f"goal: at most {result['bound']}: {ratio.verdict(result['bound'])}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description="CPU a page against a revision.")
    parser.add_argument("--rev", default="", help="the other revision [environment: REV]")
    parser.add_argument("--rounds", type=int, default=0, help="[environment: ROUNDS, or 9]")
    parser.add_argument("--pages", type=int, default=0, help="of the web [environment: PAGES, or 30000]")
    asked = parser.parse_args()
    show(run(rev=asked.rev, rounds=asked.rounds, pages=asked.pages))


if __name__ == "__main__":
    main()
