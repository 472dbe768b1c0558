"""Today's web: pages of 240 KB with 150 links, over TLS with ECDSA P-256, a new connection a visit and no session
resumed; weft beside its floor, which has two forms.

    python -m benchmarks.modern [--seconds 4 --rounds 1]

The floor is `benchmarks/bare_tls.py`. The sites are served by the testbed, with pages that `benchmarks.modern_pages`
makes larger; it has a certificate for each of them and hands out no tickets. Measured like `benchmarks.crawlers`, once
every site has been visited: robots.txt is fetched and a certificate verified once a site, which would count for too
much in a few seconds.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks import probe
from benchmarks.crawlers import SEED, seeds_of, watch, weft_command
from benchmarks.machine import description
from benchmarks.modern_pages import TIMES, serving
from weft.graph.generate import generate
from weft.graph.recipe import Recipe
from weft.testbed.bed import Bed
from weft.testbed.log import read_log
from weft.testbed.options import PLAIN
from weft.testbed.serve import ServerSettings
from weft.testbed.web import Web

SITES = 500
MOST_CPU = 1.4  # a page, against the floor
PUBLISHED = 57  # pages/s a core: the best published figure of a crawler in Python, a billion pages in a day


@dataclass(frozen=True)
class Measured:
    """One run of one crawler."""

    pages_per_second: float
    cpu_ms_per_page: float
    server_ms_per_page: float
    cores: float
    server_cores: float
    stolen_cores: float
    page_kb: float
    pages_per_connection: float
    peak_mb: float
    stall_ms: float = 0.0
    own_stall_ms: float = 0.0


def web() -> Web:
    """240 KB in the mean, 150 links a page, sites large enough that all are busy to the end; nothing fails."""
    recipe = Recipe(sites=SITES, pages=200 * SITES, largest_site=400, block_least=200, links_per_page=150.0)
    graph = generate(recipe, SEED)
    return Web(graph, dataclasses.replace(PLAIN, naming="literals", median_bytes=180_000 // TIMES), SEED)


def measure(bed: Bed, name: str, *, warm: float, seconds: float, folder: Path) -> Measured:
    """Run one crawler and look at it twice."""
    seeds, out, notes = seeds_of(bed, folder), folder / "crawl", folder / "notes"
    for path in (out, notes):
        shutil.rmtree(path, ignore_errors=True)
    notes.mkdir()
    command = [sys.executable, "-m", "benchmarks.bare_tls", str(seeds), "tokens" if name == "tokens" else "tree"]
    if name == "weft":
        python, _, _, *rest = weft_command(seeds, out, per_visit=1)
        command = [python, "-m", "benchmarks.probe", str(notes), *rest, "--ca-file", str(bed.ca_file)]
    seen = watch(bed, name, [command], warm=warm, seconds=seconds, folder=folder, begun=2 * SITES)
    noted = probe.read(notes, seen.first, seen.second)
    passed, pages = seen.second - seen.first, seen.pages
    size, per_connection = _sizes(bed, seen.first, seen.second)
    return Measured(
        pages_per_second=pages / passed,
        cpu_ms_per_page=1000 * seen.cpu / pages,
        server_ms_per_page=1000 * seen.server / pages,
        cores=seen.cpu / passed,
        server_cores=seen.server / passed,
        stolen_cores=seen.stolen / passed,
        page_kb=size / 1000,
        pages_per_connection=per_connection,
        peak_mb=seen.peak_mb,
        stall_ms=1000 * noted.longest[0],
        own_stall_ms=1000 * max(noted.own, default=0.0),
    )


def _sizes(bed: Bed, first: float, second: float) -> tuple[float, float]:
    """Bytes a page and pages a connection, by the server's log."""
    assert bed.log_file is not None
    entries = [
        entry
        for entry in read_log(bed.log_file)
        if entry.event == "request" and entry.kind == "page" and first <= entry.last_byte < second
    ]
    return statistics.mean(entry.size for entry in entries), len(entries) / len({entry.connection for entry in entries})


def run(*, rounds: int = 3, seconds: float = 12.0, warm: float = 1.0) -> dict[str, Any]:
    """Both, in turn; the median of each."""
    machine = description()
    found: dict[str, list[Measured]] = {"bare": [], "tokens": [], "weft": []}
    served = web()
    with tempfile.TemporaryDirectory() as name, serving(served, ServerSettings(tls=True, resumption=False)) as bed:
        for number in range(rounds):
            for crawler, runs in found.items():
                runs.append(measure(bed, crawler, warm=warm, seconds=seconds, folder=Path(name)))
                rate = f"{runs[-1].pages_per_second:8.0f} pages/s{runs[-1].cpu_ms_per_page:8.3f} ms/page"
                print(f"  {number + 1}/{rounds} {crawler:<12}{rate}", flush=True)
    return {
        "machine": machine,
        "seconds": seconds,
        "runs": {name: [asdict(each) for each in runs] for name, runs in found.items()},
        "median": {name: _median(runs) for name, runs in found.items()},
    }


def _median(runs: list[Measured]) -> dict[str, float]:
    return {each.name: statistics.median(getattr(run, each.name) for run in runs) for each in fields(Measured)}


def show(result: dict[str, Any]) -> None:
    """Print the table and the ratio."""
    medians = result["median"]
    print(
        f"\n{'':<8}{'pages/s':>9}{'CPU ms/page':>13}{'testbed':>9}{'cores':>7}{'testbed':>9}{'KB/page':>9}"
        f"{'pages/conn.':>13}{'peak MB':>9}{'stall ms':>10}"
    )
    for name, row in medians.items():
        print(
            f"{name:<8}{row['pages_per_second']:>9.0f}{row['cpu_ms_per_page']:>13.3f}{row['server_ms_per_page']:>9.3f}"
            f"{row['cores']:>7.2f}{row['server_cores']:>9.2f}{row['page_kb']:>9.0f}{row['pages_per_connection']:>13.2f}"
            f"{row['peak_mb']:>9.0f}{row['stall_ms']:>10.0f}"
        )
    tree, tokens, ours = (medians[name]["cpu_ms_per_page"] for name in ("bare", "tokens", "weft"))
    print(
        f"weft: {ours / tree:.2f} times the CPU of the floor that builds trees (goal: at most {MOST_CPU:.2f}),"
        f" {ours / tokens:.2f} of that which has weft's tokenizer; {1000 / ours:.0f} pages a"
        f" CPU second, {1000 / ours / PUBLISHED:.1f} times the best published figure of a crawler in Python"
        f" ({PUBLISHED})"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.modern", description="Large pages over TLS.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=12.0, help="of each run, after every site has been visited")
    asked = parser.parse_args()
    show(run(rounds=asked.rounds, seconds=asked.seconds))


if __name__ == "__main__":
    main()
