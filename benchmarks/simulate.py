"""What simulations cost: a graph of 3.5 million pages, and one of a million beside it; CPU seconds on one core.

    python -m benchmarks.simulate [pages]...

Every simulation runs in a process of its own, on a graph that is mapped into memory, after a small one that loads (or,
the first time, compiles) what is compiled; both are told apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import description
from weft.graph import Recipe, generate
from weft.graph.ageing import old_scores
from weft.graph.files import Stored, save
from weft.graph.rank import pagerank

PAGES = (1_000_000, 3_500_000)
PER_SITE = 70
PAGE_TIMES = (0.04, 1.0)
LIMITS = {"rank": 15.0, "batch": 90.0, "partial": 90.0}  # CPU seconds; all others:
LIMIT = 10.0
MOST_MB = 1000
ORDERINGS = (
    *("breadth-first", "larger-sites-first", "backlink", "opic", "random", "historical-zero", "historical-parent"),
    *("omniscient", "batch", "partial"),
)

_CHILD = """
import json, sys, time
from dataclasses import replace
from pathlib import Path
from benchmarks.machine import peak_mb
from weft.graph.files import load
from weft.graph.rank import pagerank
from weft.ordering import ordering_named
from weft.sim.metrics import average
from weft.sim.run import Conditions, Scores, simulate
path, name, page_time = sys.argv[1:]
if name == "rank":
    graph = load(Path(path)).graph
    began = time.process_time()
    small = load(Path(path).parent / "small").graph
    pagerank(small.offsets, small.links)
    compiled = time.process_time() - began
    began = time.process_time()
    pagerank(graph.offsets, graph.links)
    print(json.dumps([compiled, time.process_time() - began, 0.0, peak_mb()]))
    sys.exit()
began = time.process_time()
small = load(Path(path).parent / "small")
conditions = Conditions(page_time=float(page_time))
scores = Scores(small.scores, small.old_scores)
simulate(small.graph, ordering_named(name), replace(conditions, rerank=100), scores)
compiled = time.process_time() - began
stored = load(Path(path))
result = simulate(stored.graph, ordering_named(name), conditions, Scores(stored.scores, stored.old_scores))
peak = peak_mb()  # what follows is not the simulation
print(json.dumps([compiled, result.cpu, average(result.order, stored.scores), peak]))
"""


def measure(path: Path, name: str, page_time: float) -> dict[str, float]:
    """Simulate in a process of its own."""
    command = [sys.executable, "-c", _CHILD, str(path), name, str(page_time)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    compiled, cpu, mean, peak = json.loads(done.stdout)
    return {"compiled": compiled, "cpu": cpu, "average": mean, "peak_mb": peak}


def make(pages: int, path: Path) -> dict[str, Any]:
    """Write a graph with scores; what it took."""
    began = time.process_time()
    graph = generate(Recipe(sites=pages // PER_SITE, pages=pages), 1)
    generated = time.process_time() - began
    scores = pagerank(graph.offsets, graph.links)
    save(Stored(graph=graph, scores=scores, old_scores=old_scores(graph, scores, 1)), path)
    return {"links": len(graph.links), "generate": generated}


def run(pages: tuple[int, ...] = PAGES) -> dict[str, Any]:
    """All orderings on all sizes."""
    found: dict[str, Any] = {"machine": description(), "runs": {}}
    with tempfile.TemporaryDirectory() as folder:
        make(700, Path(folder) / "small")
        for size in pages:
            path = Path(folder) / str(size)
            runs = make(size, path)
            runs["rank"] = measure(path, "rank", 0.0)
            for name in ORDERINGS:
                for page_time in PAGE_TIMES:
                    runs[f"{name} t={page_time}"] = measure(path, name, page_time)
                    print(f"  {size:,} {name} t={page_time}: {runs[f'{name} t={page_time}']['cpu']:.2f} s", flush=True)
            found["runs"][str(size)] = runs
    return found


def show(found: dict[str, Any]) -> None:
    """Print the table."""
    for size, runs in found["runs"].items():
        print(f"\n{int(size):,} pages, {runs['links']:,} links; generated in {runs['generate']:.1f} CPU s")
        print(f"{'':<28}{'CPU s':>8}{'goal':>7}{'compile/load':>14}{'peak MB':>9}{'average':>9}")
        for name, values in runs.items():
            if isinstance(values, dict):
                limit = LIMITS.get(name.partition(" ")[0], LIMIT)
                print(
                    f"{name:<28}{values['cpu']:>8.2f}{limit:>7.0f}{values['compiled']:>14.2f}"
                    f"{values['peak_mb']:>9.0f}{values['average']:>9.4f}"
                )


if __name__ == "__main__":
    show(run(tuple(map(int, sys.argv[1:])) or PAGES))
