"""What a process does at a time: make a web, or simulate one crawl. In: a task. Out: what came of it, as plain values.

Graphs are in a directory that all processes share, mapped into memory. Of a simulation some hundred numbers are kept.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.graph import Graph, Recipe, generate
from weft.graph.ageing import old_scores
from weft.graph.describe import describe
from weft.graph.files import Stored, load, save
from weft.graph.rank import pagerank
from weft.graph.subgraph import nearest, subgraph_of
from weft.ordering import ordering_named
from weft.reproduce import real
from weft.reproduce.scale import PAGE_TIME, WAIT
from weft.sim import metrics
from weft.sim.batch import Choice, choose, simulate_batch
from weft.sim.result import Simulated
from weft.sim.run import Conditions, Scores, simulate
from weft.sim.times import PageTimes, Weather, draw_times
from weft.sim.usage import usage

Found = dict[str, Any]

POINTS = 201
DAY = 86_400.0
TAU_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Make:
    """Generate a web, rank it, and keep it."""

    key: str
    recipe: Recipe
    seed: int
    aged: bool = False
    """Also work out what PageRank was in an earlier snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Read a real graph, rank it, and keep it."""

    key: str
    data: Path
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    """Simulate a crawl."""

    key: str
    graph: str
    """The key of the task that made it."""
    ordering: str
    conditions: Conditions
    weather: int | None = None
    """Pages have times of their own, drawn from this seed."""
    nearest: int = 0
    """Pages, the nearest to the seeds, that alone are crawled; 0: all."""
    robots_wait: bool = False
    """A robot stays with its site while that rests, and is free only then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """Download batches from the middle of a crawl, each alone and chosen in another way."""

    key: str
    graph: str
    ordering: str
    """Of the crawl up to there."""
    size: int
    terms: tuple[tuple[str, Conditions], ...]
    seed: int


Task = Make | Read | Crawl | Download


def perform(task: Task, folder: Path) -> Found:
    """Do a task; the seconds it took are noted."""
    began = time.perf_counter()
    match task:
        case Make():
            found = _make(task, folder)
        case Read():
            found = _read(task, folder)
        case Crawl():
            found = _crawl(task, folder)
        case Download():
            found = _download(task, folder)
    return {**found, "took": time.perf_counter() - began}


# Webs.


def _make(task: Make, folder: Path) -> Found:
    graph = generate(task.recipe, task.seed)
    scores = pagerank(graph.offsets, graph.links)
    old = old_scores(graph, scores, task.seed) if task.aged else None
    save(Stored(graph=graph, scores=scores, old_scores=old), folder / task.key)
    return _described(graph, scores)


def _read(task: Read, folder: Path) -> Found:
    found = real.read(task.data, task.name)
    scores = pagerank(found.graph.offsets, found.graph.links)
    save(Stored(graph=found.graph, scores=scores), folder / task.key)
    notes = {"about": found.about, "unreached": found.unreached, "unusable": found.unusable, "guessed": found.guessed}
    return _described(found.graph, scores) | notes


def _described(graph: Graph, scores: NDArray[np.float64]) -> Found:
    """What the papers draw of a web."""
    drawn = describe(graph, scores)
    summary = drawn.summary
    held = np.concatenate([[0.0], np.cumsum(np.sort(scores)[::-1])])
    places = np.linspace(0, graph.pages, POINTS).round().astype(np.int64)
    return {
        "sites": summary.sites,
        "pages": summary.pages,
        "links": summary.links,
        "largest_site": summary.largest_site,
        "dangling": summary.dangling_share,
        "external": summary.external_share,
        "site_sizes": [list(row) for row in drawn.site_sizes],
        "depths": [list(level) for level in drawn.depths],
        "concentration": held[places].tolist(),
        "optimal": metrics.optimal_average(scores),
    }


# Crawls.


def _crawl(task: Crawl, folder: Path) -> Found:
    stored = load(folder / task.graph)
    assert stored.scores is not None
    graph, known, old = stored.graph, stored.scores, stored.old_scores
    times = None if task.weather is None else times_of(graph, task.weather)
    if task.nearest:
        some = subgraph_of(graph, nearest(graph, task.nearest))
        graph, known, old = some.graph, known[some.pages], None if old is None else old[some.pages]
        if times is not None:
            times = PageTimes(times.latency[some.pages], times.size[some.pages], times.speed[some.sites])
    conditions = task.conditions
    if task.robots_wait:
        # A site that rests is as good as one that is slow to answer: the robot is busy with it.
        assert times is not None
        times = replace(times, latency=times.latency + np.float32(conditions.wait))
        conditions = replace(conditions, wait=0.0)
    result = simulate(graph, ordering_named(task.ordering), conditions, Scores(true=known, old=old), times)
    return measured(result, known, timed=times is not None)


def times_of(graph: Graph, seed: int) -> PageTimes:
    """Latencies, sizes and speeds for a graph."""
    sites = np.repeat(np.arange(graph.sites, dtype=np.int32), np.diff(graph.first_page))
    return draw_times(sites, graph.sites, Weather(), seed)


def measured(result: Simulated, scores: NDArray[np.float64], *, timed: bool) -> Found:
    """Average, tau, and the curve by pages; by time, too, where that means something."""
    curve = metrics.curve(result.order, scores, result.finished, POINTS)
    cumulative = metrics.cumulative(result.order, scores)
    found: Found = {
        "average": float(cumulative.mean()) if len(cumulative) else 0.0,
        "tau": metrics.kendall(result.order, scores, TAU_SEED),
        "downloads": len(result.order),
        "time": float(result.finished[-1]) if len(result.finished) else 0.0,
        "half": float((np.searchsorted(cumulative, 0.5) + 1) / len(scores)),
        "fraction": curve.fraction.tolist(),
        "pagerank": curve.pagerank.tolist(),
    }
    if timed:
        by_time = metrics.by_time(result.finished, result.order, scores, POINTS)
        found["by_time"] = {
            "time": by_time.time.tolist(),
            "pages": (by_time.pages / len(scores)).tolist(),
            "pagerank": by_time.pagerank.tolist(),
        }
        found["by_day"] = _by_day(result, scores)
    return found


def _by_day(result: Simulated, scores: NDArray[np.float64]) -> list[float]:
    """Average PageRank of the pages that each day brought, as a multiple of that of all pages."""
    days = (result.finished / DAY).astype(np.int64)
    counts = np.bincount(days)
    sums = np.bincount(days, weights=scores[result.order]) * len(scores)
    return [float(total / count) if count else 0.0 for total, count in zip(sums, counts, strict=True)]


def _download(task: Download, folder: Path) -> Found:
    graph = load(folder / task.graph).graph
    half = Conditions(wait=WAIT, page_time=PAGE_TIME, most_pages=graph.pages // 2)
    visited = simulate(graph, ordering_named(task.ordering), half).order
    times = times_of(graph, task.seed)
    return {choice.value: _downloaded(task, graph, visited, times, choice) for choice in Choice}


def _downloaded(task: Download, graph: Graph, visited: NDArray[np.int32], times: PageTimes, choice: Choice) -> Found:
    batch = choose(graph, visited, task.size, choice, seed=task.seed)
    sizes = np.bincount(graph.site_of(batch))
    found: Found = {"pages": len(batch), "sites": int((sizes > 0).sum()), "largest": int(sizes.max()), "runs": {}}
    for name, conditions in task.terms:
        result = simulate_batch(graph, batch, ordering_named("breadth-first"), conditions, times)
        used = usage(result, POINTS)
        assert used.used is not None
        found["runs"][name] = {
            "hours": float(result.finished[-1]) / 3600,
            "bytes": result.bytes_moved,
            "at": (used.time / 3600).tolist(),
            "robots": used.robots.tolist(),
            "used": used.used.tolist(),
        }
    return found
