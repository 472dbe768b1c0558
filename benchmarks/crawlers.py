"""weft beside the bare loop, in both its forms, and Scrapy: the same web, one run, the median of three.

Each crawler runs against the testbed on the other core. After it has warmed up, the pages that the *server* has
answered and the processor time that the crawler's processes have used are taken twice, some seconds apart: the
figures are their differences, so that nobody's start-up is counted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import cpu_of, description, family, peak_megabytes, stolen
from weft.graph.generate import generate
from weft.graph.recipe import Recipe
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.web import Web

HERE = Path(__file__).parent
SEED = 7


@dataclass(frozen=True)
class Measured:
    """One run of one crawler."""

    crawler: str
    pages_per_second: float
    cpu_ms_per_page: float
    peak_mb: float
    server_cpu: float  # cores


def web(*, sites: int = 2000, pages: int = 250_000) -> Web:
    """2,000 sites, 22 links a page, 15 KB median; nothing fails."""
    graph = generate(Recipe(sites=sites, pages=pages, links_per_page=22.0), SEED)
    return Web(graph, dataclasses.replace(PLAIN, naming="literals"), SEED)


@dataclass(frozen=True)
class Seen:
    """What crawlers did between two moments."""

    first: float  # wall time
    second: float
    pages: int  # by the server's log
    cpu: float  # seconds, of all their processes
    watchdog: float  # of these, of the processes that were started here: where a crawl has workers, the watchdog
    server: float  # processor seconds of the testbed
    stolen: float  # processor seconds that the machine under this one kept
    peak_mb: float  # of the largest process

    @property
    def pages_per_second(self) -> float:
        """The rate."""
        return self.pages / (self.second - self.first)


@contextlib.contextmanager
def _running(name: str, command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / f"{name}.out").open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=HERE.parent)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def weft_command(seeds: Path, out: Path, *, per_visit: int, workers: int = 1) -> list[str]:
    """How weft is started, with everything on."""
    weft = [sys.executable, "-m", "weft", "crawl", "--seeds", str(seeds), "--out", str(out), "--scope", "all", "--json"]
    weft += ["--connections", "256", "--wait", "0", "--max-depth", "1000", "--max-depth-dynamic", "1000"]
    return [*weft, "--per-visit", str(per_visit), "--workers", str(workers)]


def commands(seeds: Path, out: Path) -> dict[str, list[str]]:
    """How each crawler is started."""
    bare = [sys.executable, str(HERE / "bare.py"), str(seeds)]
    return {
        "scrapy": [sys.executable, str(HERE / "spider.py"), str(seeds)],
        "bare k=100": [*bare, "100"],
        "tokens k=100": [*bare, "100", "tokens"],
        "weft k=100": weft_command(seeds, out, per_visit=100),
        "bare k=1": [*bare, "1"],
        "tokens k=1": [*bare, "1", "tokens"],
        "weft k=1": weft_command(seeds, out, per_visit=1),
    }


def measure(bed: Bed, name: str, *, warm: float, seconds: float, folder: Path) -> Measured:
    """Run one crawler and look at it twice."""
    out = folder / "crawl"
    shutil.rmtree(out, ignore_errors=True)
    seen = watch(bed, name, [commands(seeds_of(bed, folder), out)[name]], warm=warm, seconds=seconds, folder=folder)
    passed = seen.second - seen.first
    return Measured(name, seen.pages / passed, 1000 * seen.cpu / seen.pages, seen.peak_mb, seen.server / passed)


def seeds_of(bed: Bed, folder: Path) -> Path:
    """The seeds, in a file."""
    seeds = folder / "seeds.txt"
    seeds.write_text("\n".join(bed.seeds()) + "\n", encoding="utf-8")
    return seeds


def watch(
    bed: Bed, name: str, started: list[list[str]], *, warm: float, seconds: float, folder: Path, begun: int = 200
) -> Seen:
    """Run crawlers side by side, look at them twice, and end them; `begun` pages are fetched before they are warm."""
    log = bed.log_file
    assert log is not None
    bed.dns_questions()  # whatever it is asked, the server writes its log out
    begin = log.stat().st_size
    label = name.partition(" ")[0]
    with contextlib.ExitStack() as running:
        crawls = [running.enter_context(_running(label, command, folder)) for command in started]
        deadline = time.monotonic() + 120
        while pages_between(log, begin) < begun and time.monotonic() < deadline:
            _check_running(crawls, folder / f"{label}.out")
            time.sleep(0.1)
        time.sleep(warm)
        _check_running(crawls, folder / f"{label}.out")
        processes = [pid for crawl in crawls for pid in family(crawl.pid)]
        first = _look(bed, crawls, processes)
        time.sleep(seconds)
        second = _look(bed, crawls, processes)
        peak = max(map(peak_megabytes, processes))
        _check_running(crawls, folder / f"{label}.out")
    bed.dns_questions()
    pages = pages_between(log, begin, first[0], second[0])
    if not pages:
        sys.exit(f"{name} fetched nothing:\n{(folder / f'{label}.out').read_text()[-2000:]}")
    cpu, watchdog, server, steal = (after - before for before, after in zip(first[1:], second[1:], strict=True))
    return Seen(first[0], second[0], pages, cpu, watchdog, server, steal, peak)


def _check_running(crawls: list[subprocess.Popen[bytes]], said: Path) -> None:
    if any(crawl.poll() is not None for crawl in crawls):
        sys.exit(f"a crawler ended too early:\n{said.read_text()[-2000:]}")


def _look(
    bed: Bed, crawls: list[subprocess.Popen[bytes]], processes: list[int]
) -> tuple[float, float, float, float, float]:
    """The time, and the processor time: of all processes, of those that were started here, of the server, stolen."""
    started = sum(cpu_of(crawl.pid) for crawl in crawls)
    return time.time(), sum(map(cpu_of, processes)), started, bed.cpu_s(), stolen()


def pages_between(log: Path, begin: int, first: float = 0.0, second: float = 1e12) -> int:
    """How many pages the server answered between two moments, by its own log."""
    return sum(1 for at in page_times(log, begin) if first <= at < second)


def page_times(log: Path, begin: int) -> Iterator[float]:
    """When the server was asked for pages, by its own log from a place in it on; in the order of their answers."""
    with log.open("rb") as file:
        file.seek(begin)
        for line in file:
            fields = line.split(b"\t")
            if fields[0] == b"request" and fields[11:12] == [b"page"]:
                yield float(fields[7])


def run(*, repeats: int = 3, seconds: float = 12.0, warm: float = 3.0, only: str = "") -> dict[str, Any]:
    """All crawlers, in turn, so that what the machine does meanwhile hits them all; the median of each."""
    found: dict[str, list[Measured]] = {}
    machine = description()
    served = web()
    with tempfile.TemporaryDirectory() as name, serving(served) as bed:
        names = [crawler for crawler in commands(Path(), Path()) if only in crawler]
        for repeat in range(repeats):
            for crawler in names:
                measured = measure(bed, crawler, warm=warm, seconds=seconds, folder=Path(name))
                found.setdefault(crawler, []).append(measured)
                print(f"  {repeat + 1}/{repeats} {crawler:<12} {measured.pages_per_second:8.0f} pages/s", flush=True)
    medians = {crawler: _median(runs) for crawler, runs in found.items()}
    return {"machine": machine, "runs": {k: [asdict(m) for m in v] for k, v in found.items()}, "median": medians}


def _median(runs: list[Measured]) -> dict[str, float]:
    names = ("pages_per_second", "cpu_ms_per_page", "peak_mb", "server_cpu")
    return {name: statistics.median(getattr(run, name) for run in runs) for name in names}


def show(result: dict[str, Any]) -> None:
    """Print the table and the ratios."""
    medians = result["median"]
    print(f"\n{'':<14}{'pages/s':>10}{'CPU ms/page':>14}{'peak MB':>10}{'server cores':>14}")
    for crawler, row in medians.items():
        print(
            f"{crawler:<14}{row['pages_per_second']:>10.0f}{row['cpu_ms_per_page']:>14.3f}"
            f"{row['peak_mb']:>10.0f}{row['server_cpu']:>14.2f}"
        )
    for k in ("100", "1"):
        for form, what in (("bare", "builds trees (goal: at most 1.40)"), ("tokens", "has weft's tokenizer")):
            if {f"weft k={k}", f"{form} k={k}"} <= medians.keys():
                middle, least, most = _ratios(result["runs"], f"weft k={k}", f"{form} k={k}")
                rounds = f"round by round {least:.2f} to {most:.2f}"
                print(f"weft k={k}: {middle:.2f} times the CPU of the bare loop that {what}; {rounds}")
    if {"weft k=100", "scrapy"} <= medians.keys():
        ratio = medians["weft k=100"]["pages_per_second"] / medians["scrapy"]["pages_per_second"]
        print(f"weft k=100: {ratio:.1f} times Scrapy's pages/s (goal: at least 12)")


def _ratios(runs: dict[str, list[dict[str, Any]]], ours: str, theirs: str) -> tuple[float, float, float]:
    """How many times the processor time a page takes, in each round: the median, the least and the most."""
    pairs = zip(runs[ours], runs[theirs], strict=True)
    ratios = [mine["cpu_ms_per_page"] / other["cpu_ms_per_page"] for mine, other in pairs]
    return statistics.median(ratios), min(ratios), max(ratios)


def save(result: dict[str, Any], path: Path) -> None:
    """Keep the result as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    outcome = run(repeats=int(sys.argv[2]) if len(sys.argv) > 2 else 1, only=sys.argv[1] if len(sys.argv) > 1 else "")
    show(outcome)
