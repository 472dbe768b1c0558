"""One live crawl of a million pages, to its end: its rate, its memory and its files, minute by minute.

    python -m benchmarks.million [--pages 1050000] [--workers 1]

Nothing waits and nothing fails: what is looked at is whether the last minute is as good as the first. The frontier's
files are the logs that grow and the checkpoints that they are folded into; what changed since the last checkpoint is
the log alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.crawlers import seeds_of, web, weft_command
from benchmarks.machine import cpu_of, description, family
from weft.testbed.bed import serving

PAGES = 1_050_000
SITE_PAGES = 50  # on average
EVERY = 60.0  # seconds


@dataclass(frozen=True)
class Minute:
    """How a crawl stood at one moment, and how fast it was since the one before."""

    seconds: float
    pages: int
    known: int
    pages_per_second: float
    cpu_ms_per_page: float  # of all processes
    worker_mb: float  # resident, of the largest worker
    log_mb: float  # logs that are not folded yet
    tables_mb: float  # checkpoints, their segments included
    volumes_mb: float


def run(*, pages: int = PAGES, workers: int = 1, every: float = EVERY) -> dict[str, Any]:
    """Crawl it, and look once a minute."""
    machine, minutes = description(), list[Minute]()
    served = web(sites=max(20, pages // SITE_PAGES), pages=pages)
    with tempfile.TemporaryDirectory() as name, serving(served) as bed:
        folder = Path(name)
        out = folder / "crawl"
        command = weft_command(seeds_of(bed, folder), out, per_visit=100, workers=workers)
        began = time.monotonic()
        with (folder / "said").open("wb") as said:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said)
            try:
                answer = _watched(process, out, minutes, every, began)
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if process.returncode:
            sys.exit(f"the crawl failed:\n{(folder / 'said').read_text()[-2000:]}")
        summary = json.loads(answer)
        audit = subprocess.run(
            [sys.executable, "-m", "weft", "audit", str(out), "--json"], capture_output=True, check=False
        )
    return {
        "machine": machine,
        "workers": workers,
        "why": summary["why"],
        "pages": summary["counts"]["pages"],
        "restarts": summary["restarted"],
        "faults": summary["counts"]["faults"],
        "seconds": time.monotonic() - began,
        "audit": audit.returncode,
        "minutes": [asdict(minute) for minute in minutes],
    }


def _watched(process: subprocess.Popen[bytes], out: Path, minutes: list[Minute], every: float, began: float) -> bytes:
    """Look at a crawl until it ends; what it said then."""
    before, cpu, at = 0, 0.0, began
    while True:
        try:
            answer, _ = process.communicate(timeout=max(0.1, at + every - time.monotonic()))
        except subprocess.TimeoutExpired:
            answer = None
        if answer is not None:
            return answer
        now, used = time.monotonic(), sum(map(cpu_of, family(process.pid)))
        known, fetched = _standing(out)
        rate, more = (fetched - before) / (now - at), max(1, fetched - before)
        minutes.append(
            Minute(
                seconds=now - began,
                pages=fetched,
                known=known,
                pages_per_second=rate,
                cpu_ms_per_page=1000 * max(0.0, used - cpu) / more,
                worker_mb=max(map(_resident_mb, family(process.pid))),
                log_mb=_megabytes(out.glob("workers/*/frontier.*log")) + _megabytes(out.glob("workers/*/*.log.*")),
                tables_mb=_megabytes(path for path in out.glob("workers/*/**/*") if "log" not in path.suffix),
                volumes_mb=_megabytes(out.glob("volumes/*")),
            )
        )
        print(_line(minutes[-1]), flush=True)
        before, cpu, at = fetched, used, now


def _standing(out: Path) -> tuple[int, int]:
    """URLs known and pages fetched, as the crawl says itself."""
    asked = subprocess.run(
        [sys.executable, "-m", "weft", "status", str(out), "--json"], capture_output=True, check=True
    )
    status = json.loads(asked.stdout)
    return int(status["known"]), int(status["pages"])


def _resident_mb(pid: int) -> float:
    try:
        return float(psutil.Process(pid).memory_info().rss) / 1e6
    except psutil.Error:  # it ended meanwhile
        return 0.0


def _megabytes(paths: Iterable[Path]) -> float:
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # folded, sealed or removed meanwhile
            continue
    return total / 1e6


def _line(minute: Minute) -> str:
    return (
        f"{minute.seconds / 60:>7.1f}{minute.pages:>11,}{minute.known:>11,}{minute.pages_per_second:>9.0f}"
        f"{minute.cpu_ms_per_page:>8.3f}{minute.worker_mb:>8.0f}{minute.log_mb:>8.1f}{minute.tables_mb:>9.1f}"
        f"{minute.volumes_mb:>10.0f}"
    )


def show(result: dict[str, Any]) -> None:
    """Print the minutes, and how the end compares with the beginning."""
    print(
        f"\n{'minute':>7}{'pages':>11}{'known':>11}{'pages/s':>9}{'ms/page':>8}{'MB':>8}{'log':>8}{'tables':>9}{'volumes':>10}"
    )
    minutes = [Minute(**each) for each in result["minutes"]]
    for minute in minutes:
        print(_line(minute))
    audit = "clean" if result["audit"] == 0 else "NOT clean"
    print(
        f"\n{result['pages']:,} pages in {result['seconds'] / 60:.1f} minutes, {result['why']}; "
        f"{result['restarts']} restarts, {result['faults']} faults, audit {audit}"
    )
    if len(minutes) > 4:
        first, last = minutes[1], minutes[-2]
        print(f"processor time a page, last full minute to second: {last.cpu_ms_per_page / first.cpu_ms_per_page:.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.million", description="A live crawl of a million pages."
    )
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--every", type=float, default=EVERY)
    asked = parser.parse_args()
    show(run(pages=asked.pages, workers=asked.workers, every=asked.every))


if __name__ == "__main__":
    main()
