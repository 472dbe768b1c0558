"""Crawls that really happen, beside simulated ones. In: a scale. Out: both curves of two orderings, and how far apart.

The papers held their simulator against crawls of the Greek web (P1, section 5.3). Here the web is the testbed, which is
its graph, and time runs a hundred times faster: w = 50 ms for 5 s. The simulation has the same r, w and k and the
testbed's own latencies; what the crawler itself needs for a page is not in it.
"""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.app import run
from weft.config import Settings
from weft.directory import Plan
from weft.errors import WeftError
from weft.graph import Recipe, generate
from weft.graph.rank import pagerank
from weft.ordering import ordering_named
from weft.reproduce.simulations import POINTS, Found
from weft.sim import metrics
from weft.sim.run import Conditions, simulate
from weft.sim.times import PageTimes
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.web import Web

ORDERINGS = ("breadth-first", "larger-sites-first")
WAIT = 0.05  # seconds, for 5
LATENCY = 20.0  # milliseconds, the median of an answer
ROBOTS = 10
_WARM = 200  # pages of a first crawl that is not looked at: it loads what is compiled
_SEED = 5
_FAST = 1e9  # bytes a second: a page is over when its answer begins


def validate(pages: int) -> Found:
    """Crawl a testbed of so many pages in two orders, and simulate the same."""
    sites = max(10, pages // 20)
    graph = generate(Recipe(sites=sites, pages=pages, largest_site=max(50, pages // 20)), _SEED)
    scores = pagerank(graph.offsets, graph.links)
    options = dataclasses.replace(PLAIN, naming="literals", latency_ms=LATENCY, median_bytes=2_000)
    found: Found = {"pages": pages, "sites": sites, "r": ROBOTS, "w": WAIT, "latency_ms": LATENCY, "orderings": {}}
    with serving(Web(graph, options, _SEED)) as bed:
        _warm_up(bed)
        for ordering in ORDERINGS:
            live = _crawled(bed, ordering)
            simulated = _simulated(bed, ordering)
            found["orderings"][ordering] = _compared(live, simulated, scores)
    return found


Timed = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Pages in the order in which they were finished, and when."""


def _crawled(bed: Bed, ordering: str) -> Timed:
    with tempfile.TemporaryDirectory(prefix="weft-live-") as name:
        out = Path(name) / "crawl"
        settings = Settings().with_values(_settings(ordering), where="weft reproduce")
        summary = run(Plan(seeds=bed.seeds(), out=out, settings=settings))
        if summary.why != "done" or summary.counts.good < bed.web.graph.pages:
            raise WeftError(
                f"the live crawl of the testbed ended ({summary.why}) with {summary.counts.good} pages",
                todo="see whether something else keeps this machine busy, and try again",
            )
        return _read(bed, out)


def _warm_up(bed: Bed) -> None:
    with tempfile.TemporaryDirectory(prefix="weft-live-") as name:
        values = _settings(ORDERINGS[-1]) | {"max_pages": _WARM}
        settings = Settings().with_values(values, where="weft reproduce")
        run(Plan(seeds=bed.seeds(), out=Path(name) / "crawl", settings=settings))


def _settings(ordering: str) -> dict[str, object]:
    """Nothing cut off, nothing asked for beside the pages, and no wait beside w."""
    deep = {"max_depth": 1000, "max_depth_dynamic": 1000, "max_site_pages": 1_000_000}
    polite = {"wait": WAIT, "margin": 0.0, "per_visit": 1, "connections": ROBOTS}
    return {"ordering": ordering, "scope": "all", "robots": "ignore", "sitemaps": False, "workers": 1} | deep | polite


def _read(bed: Bed, out: Path) -> Timed:
    """What the crawl's columns say."""
    files = sorted((out / "pages").glob("*.parquet"))
    tables = [pq.read_table(file, columns=["url", "final", "fetched_at", "took"]) for file in files]
    rows = [row for table in tables for row in table.to_pylist() if row["final"]]
    pages = [(bed.web.page(row["url"]), row["fetched_at"].timestamp() + (row["took"] or 0.0)) for row in rows]
    known = sorted((when, page) for page, when in pages if page is not None)
    start = min(row["fetched_at"].timestamp() for row in rows)
    return np.array([page for _, page in known]), np.array([when - start for when, _ in known])


def _simulated(bed: Bed, ordering: str) -> Timed:
    web = bed.web
    graph = web.graph
    times = PageTimes(
        latency=web.traits.latency,
        size=np.ones(graph.pages, dtype=np.float32),
        speed=np.full(graph.sites, _FAST, dtype=np.float32),
    )
    result = simulate(graph, ordering_named(ordering), Conditions(wait=WAIT, connections=ROBOTS), times=times)
    return result.order.astype(np.int64), result.finished


def _compared(live: Timed, simulated: Timed, scores: NDArray[np.float64]) -> Found:
    found: Found = {}
    grid = np.linspace(0, 1, POINTS)
    curves = {}
    for name, (order, finished) in (("live", live), ("simulated", simulated)):
        curve = metrics.curve(order, scores, finished, POINTS)
        curves[name] = np.interp(grid, curve.fraction, curve.pagerank)
        by_time = metrics.by_time(finished, order, scores, POINTS)
        found[name] = {
            "average": metrics.average(order, scores),
            "seconds": float(finished[-1]),
            "fraction": grid.tolist(),
            "pagerank": curves[name].tolist(),
            "time": by_time.time.tolist(),
            "pages_by_time": (by_time.pages / len(scores)).tolist(),
            "pagerank_by_time": by_time.pagerank.tolist(),
        }
    found["apart"] = float(np.abs(curves["live"] - curves["simulated"]).max())
    longest = max(found["live"]["seconds"], found["simulated"]["seconds"])
    times = np.linspace(0, longest, POINTS)
    found["apart_by_time"] = float(np.abs(_at(found["live"], times) - _at(found["simulated"], times)).max())
    return found


def _at(run: Found, times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.interp(times, run["time"], run["pagerank_by_time"]))
