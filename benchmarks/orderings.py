"""The ordering's share of the live crawler's processor time per page.

    python -m benchmarks.orderings

A crawl of the benchmark's web per ordering, watched by py-spy: of the samples of the event loop's thread, those inside
the ordering's own work count (scoring and choosing pages and sites), whoever called it. The bare comparison, CPU per
page beside that of breadth-first, is printed too; its noise is larger than what is measured.
"""

from __future__ import annotations

import collections
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.crawlers import _running, pages_between, seeds_of, web, weft_command
from benchmarks.machine import cpu_of, description, family
from weft.testbed.bed import Bed, serving

ORDERINGS = ("breadth-first", "larger-sites-first", "opic", "backlink", "partial")
GOAL = 0.05
SECONDS = 15
# Functions whose time is the ordering's: choosing sites and pages, and scoring.
OURS = (
    "Schedule.begin (",
    "Ranking.",
)


def share_of(profile: Path) -> float:
    """The share of the loop's samples that are in the ordering's work."""
    counts: collections.Counter[bool] = collections.Counter()
    for line in profile.read_text(encoding="utf-8").splitlines():
        stack, _, samples = line.rpartition(" ")
        if "uvloop" in stack:
            counts[any(name in stack for name in OURS)] += int(samples)
    return counts[True] / max(1, sum(counts.values()))


def measure(bed: Bed, ordering: str, folder: Path) -> dict[str, float]:
    """One crawl."""
    out, log = folder / "crawl", bed.log_file
    assert log is not None
    shutil.rmtree(out, ignore_errors=True)
    command = [*weft_command(seeds_of(bed, folder), out, per_visit=100), "--ordering", ordering]
    begin = log.stat().st_size
    with _running("weft", command, folder) as crawl:
        time.sleep(8)
        worker = max(family(crawl.pid), key=cpu_of)
        first, before = time.time(), cpu_of(worker)
        profile = folder / "profile.txt"
        spy = Path(sys.executable).with_name("py-spy")
        watching = [str(spy), "record", "-p", str(worker), "-d", str(SECONDS), "-r", "250", "-f", "raw", "-o"]
        subprocess.run([*watching, str(profile)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        second, after = time.time(), cpu_of(worker)
    bed.dns_questions()
    pages = pages_between(log, begin, first, second)
    return {"share": share_of(profile), "cpu_ms_per_page": 1000 * (after - before) / pages, "pages": pages}


def run() -> dict[str, Any]:
    """One crawl for each ordering."""
    with tempfile.TemporaryDirectory() as name, serving(web()) as bed:
        found = {ordering: measure(bed, ordering, Path(name)) for ordering in ORDERINGS}
    return {"machine": description(), "orderings": found}


def show(found: dict[str, Any]) -> None:
    """Print the table."""
    print(f"{'ordering':<22}{'share':>8}{'ms/page':>9}   (goal: under {GOAL:.0%} for larger-sites-first and opic)")
    for name, values in found["orderings"].items():
        print(f"{name:<22}{values['share']:>8.1%}{values['cpu_ms_per_page']:>9.3f}")


if __name__ == "__main__":
    show(run())
