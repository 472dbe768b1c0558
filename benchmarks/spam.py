"""What link farms do to orderings, and what it helps to count their links less.

    python -m benchmarks.spam [seed]...

Generated webs with 5 and 20 % of their pages on link farms (`weft.graph.farms`), and without. Each is crawled in
simulation in every ordering that counts links, by order alone, with all links alike and with weights. PageRank is
summed over the first 25 and 50 % of the pages. Whose? That of the same web before there were farms in it (*without
farms*: pages of farms have none), and that of the web with them when their own links give nothing (*without their
votes*: pages of farms have what honest pages were made to give them). The share of the farms' pages that is among these
first pages is told beside. The thresholds of the detector were chosen on seed 1.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import description
from weft.graph import Graph, Recipe, generate
from weft.graph.farms import Planted, plant
from weft.graph.rank import pagerank
from weft.ordering import ordering_named
from weft.ordering.ties import LEAST_MUTUAL, MUTUAL_SHARE
from weft.ordering.weights import LinkWeights
from weft.sim.run import Conditions, Scores, Simulation

SEEDS = (1, 2, 3)
RECIPE = Recipe(sites=1_000, pages=50_000, largest_site=5_000)
SHARES = (0.0, 0.05, 0.2)  # of pages on farms
PARTS = (0.25, 0.5)  # of the pages that are crawled
ORDERINGS = ("breadth-first", "backlink", "opic", "opic-seeds", "batch", "partial", "historical-parent")
WEIGHTS = {
    "alike": LinkWeights(),
    "places": LinkWeights(weight_domain=0.1, weight_address=0.1),
    "farms": LinkWeights(weight_farm=0.0),
    "all": LinkWeights(weight_domain=0.1, weight_address=0.1, weight_farm=0.0),
}
RERANK = 5_000


def truths(before: Graph, planted: Planted, farm: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    """PageRank that no farm has a vote in."""
    graph = planted.graph
    apart = np.zeros(graph.pages)
    apart[: before.pages] = pagerank(before.offsets, before.links)
    out = np.where(farm, 0, np.diff(graph.offsets))
    offsets = np.concatenate([[0], np.cumsum(out)]).astype(np.int64)
    silent = pagerank(offsets, graph.links[~np.repeat(farm, np.diff(graph.offsets))])
    return {"without farms": apart, "without their votes": silent}


def measure(share: float, seed: int) -> list[dict[str, Any]]:
    """One web: every ordering with all weights."""
    before = generate(RECIPE, seed)
    planted = plant(before, share, seed)
    graph, hosting = planted
    farm = hosting.farm[graph.site_of(np.arange(graph.pages))] > 0
    true = truths(before, planted, farm)
    # An earlier crawl knew two pages in three, and counted the farms' votes.
    old = np.where(np.arange(graph.pages) % 3 == 0, np.nan, pagerank(graph.offsets, graph.links))
    rows = []
    for name in ORDERINGS:
        for said, weights in WEIGHTS.items():
            if name == "breadth-first" and said != "alike":
                continue
            given: dict[str, Any] = dict(zip(LinkWeights.__dataclass_fields__, weights.values, strict=True))
            conditions = Conditions(wait=0.0, rerank=RERANK, **given)
            crawl = Simulation(graph, ordering_named(name), conditions, Scores(old=old), None, hosting)
            order = crawl.run().order
            row: dict[str, Any] = {"share": share, "seed": seed, "ordering": name, "weights": said}
            for part in PARTS:
                first = order[: int(part * graph.pages)]
                row[f"at {part:.0%}"] = {
                    **{of: float(scores[first].sum()) for of, scores in true.items()},
                    "farm pages": float(farm[first].sum() / max(1, farm.sum())),
                }
            if weights.given:
                taken = crawl.farms
                row["taken for farms"] = {
                    "rightly": int(np.count_nonzero(taken & (hosting.farm > 0))),
                    "wrongly": int(np.count_nonzero(taken & (hosting.farm == 0))),
                    "of": int(np.count_nonzero(hosting.farm)),
                }
            rows.append(row)
    return rows


def run(seeds: tuple[int, ...] = SEEDS) -> dict[str, Any]:
    """All webs."""
    rows = [row for share in SHARES for seed in seeds for row in measure(share, seed)]
    detector = {"least mutual": LEAST_MUTUAL, "mutual share": MUTUAL_SHARE}
    return {"machine": description(), "pages": RECIPE.pages, "seeds": seeds, "detector": detector, "rows": rows}


def mean(found: dict[str, Any], share: float, ordering: str, weights: str, at: str, what: str) -> float:
    """The mean over the seeds."""
    key = (share, ordering, weights)
    rows = [row for row in found["rows"] if (row["share"], row["ordering"], row["weights"]) == key]
    return float(np.mean([row[at][what] for row in rows]))


def show(found: dict[str, Any]) -> None:
    """Print the tables."""
    for share in SHARES:
        print(f"\n{share:.0%} of the pages on farms; at 25 % and 50 % of the pages, means of seeds {found['seeds']}")
        print(f"{'ordering':<18}{'weights':<13}{'without farms':>15}{'their votes':>15}{'farm pages':>17}")
        for name in ORDERINGS:
            for said in WEIGHTS:
                if name == "breadth-first" and said != "alike":
                    continue
                cells = []
                for what in ("without farms", "without their votes", "farm pages"):
                    one, two = (mean(found, share, name, said, f"at {part:.0%}", what) for part in PARTS)
                    cells.append(f"{one:.3f} / {two:.3f}")
                print(f"{name:<18}{said:<13}{cells[0]:>15}{cells[1]:>15}{cells[2]:>17}")


if __name__ == "__main__":
    show(run(tuple(map(int, sys.argv[1:])) or SEEDS))
