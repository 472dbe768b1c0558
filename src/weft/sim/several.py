"""Several crawls side by side, each in a process of its own. In: a graph on disk, orderings and their terms. Out: the
simulations, in the order in which they were asked for.

Crawls whose times are compared have the same pages (`Order.nearest`, or the same batch), whatever their terms are.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.graph import Graph
from weft.graph.files import Stored, load
from weft.graph.hosting import Hosting
from weft.graph.rank import pagerank
from weft.graph.scores import read_scores
from weft.graph.subgraph import Subgraph, nearest, subgraph_of
from weft.ordering import ordering_named
from weft.ordering.rules import by_lot, rule_of
from weft.sim.batch import Choice, choose, simulate_batch
from weft.sim.result import Simulated
from weft.sim.run import Conditions, Scores, simulate
from weft.sim.times import PageTimes, Weather, draw_times
from weft.urls import site_of

_LOOK = 0.2  # seconds between two looks at how far they are

_done: Any = None  # in a process of the pool: pages visited, by simulation


@dataclass(frozen=True, slots=True)
class Order:
    """What all crawls have in common: all of it can be pickled."""

    graph: Path
    weather: Weather | None = None  # pages have times of their own
    scores: Path | None = None  # a file of scores that orderings look at, instead of the graph's own
    oracle: Path | None = None  # a file of true scores beside these
    times: PageTimes | None = None  # what each page takes, instead of the weather's
    batch: int = 0  # pages of a batch from the middle of the crawl, which alone is simulated
    choice: Choice = Choice.SPREAD  # of the pages of the batch
    nearest: int = 0  # pages, the nearest to the seeds, that alone are crawled; 0: all


@dataclass(frozen=True, slots=True)
class Job:
    """One crawl."""

    ordering: str
    conditions: Conditions
    label: str = ""
    """What it is called beside others of the same ordering."""
    until: Conditions | None = None
    """How a crawl goes to where a batch is taken from; as the batch itself if not given."""

    @property
    def name(self) -> str:
        """What it is called beside others."""
        return self.label or self.ordering


def by_chance(wanted: Order, ordering: str) -> bool:
    """Is anything in a crawl left to chance: what pages take, which pages are a batch, or the ordering itself?"""
    drawn = wanted.weather is not None and wanted.times is None
    lot = wanted.batch > 0 and wanted.choice is Choice.RANDOM
    return drawn or lot or by_lot(rule_of(ordering_named(ordering)))


def true_scores(stored: Stored) -> NDArray[np.float64]:
    """PageRank of all pages: the graph's own, or computed now."""
    if stored.scores is not None:
        return stored.scores
    return pagerank(stored.graph.offsets, stored.graph.links)


def hosting_of(stored: Stored) -> Hosting | None:
    """Where the sites of a graph are: as it says, or by the URLs of their home pages; None where nothing is known."""
    if stored.hosting is not None or stored.urls is None:
        return stored.hosting
    return Hosting.of_names(site_of(stored.urls[int(home)]) for home in stored.graph.first_page[:-1])


def simulate_all(
    wanted: Order, jobs: list[Job], *, processes: int = 0, progress: Callable[[list[int]], None] = lambda _done: None
) -> Iterator[Simulated]:
    """Simulate every crawl; `progress` is told again and again how many pages each has visited."""
    for job in jobs:
        ordering_named(job.ordering)
    processes = min(processes or len(os.sched_getaffinity(0)), len(jobs))
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        if processes == 1:
            counts = [0] * len(jobs)

            def count(at: int, pages: int) -> None:
                counts[at] = pages
                progress(counts)

            for at, job in enumerate(jobs):
                yield _simulate(wanted, job, lambda pages, at=at: count(at, pages))  # type: ignore[misc]
            return
        spawn = multiprocessing.get_context("spawn")  # a fork would carry the threads of the compiled code with it
        done = spawn.Array("q", len(jobs), lock=False)
        with ProcessPoolExecutor(processes, spawn, _begin, (done,)) as pool:
            futures = [pool.submit(_run, wanted, job, at, Path(folder)) for at, job in enumerate(jobs)]
            try:
                for job, future in zip(jobs, futures, strict=True):
                    yield _loaded(job.name, _awaited(future, lambda: progress(list(done))))
            finally:
                for future in futures:
                    future.cancel()


def _awaited(future: Future[Path], look: Callable[[], None]) -> Path:
    while not future.done():
        look()
        time.sleep(_LOOK)
    look()
    return future.result()


def _loaded(name: str, path: Path) -> Simulated:
    try:
        with np.load(path, allow_pickle=True) as kept:
            found: Simulated = kept["result"].item()
    except (OSError, BrokenProcessPool) as error:
        raise WeftError(f"the simulation of {name} ended without a result: {error}") from error
    with contextlib.suppress(OSError):
        path.unlink()
    return found


def _begin(done: Any) -> None:
    global _done  # noqa: PLW0603  how a process of a pool is given something that cannot be sent
    _done = done


def _run(wanted: Order, job: Job, at: int, folder: Path) -> Path:
    """In a process of the pool: simulate one crawl, and leave the result in a file."""

    def count(pages: int) -> None:
        _done[at] = pages

    path = folder / f"{at}.npz"
    np.savez(path, result=np.array(_simulate(wanted, job, count), dtype=object))
    return path


def _simulate(wanted: Order, job: Job, progress: Callable[[int], None]) -> Simulated:
    web = _web(wanted, job)
    ordering, conditions = ordering_named(job.ordering), job.conditions
    if wanted.batch == 0:
        found = simulate(web.graph, ordering, conditions, web.scores, web.times, progress, web.hosting)
    else:
        middle = replace(job.until or conditions, seed=conditions.seed, most_pages=web.graph.pages // 2)
        visited = simulate(web.graph, ordering, middle, web.scores, None, progress, web.hosting).order
        batch = choose(web.graph, visited, wanted.batch, wanted.choice, seed=conditions.seed)
        # No care is taken of scores within a batch (P0 section 6): its pages come in the order in which they were
        # chosen.
        found = simulate_batch(web.graph, batch, ordering_named("breadth-first"), conditions, web.times)
    found = replace(found, ordering=job.ordering, label=job.label)
    if web.within is None:
        return found
    return replace(found, order=web.within.pages[found.order], site=web.within.sites[found.site])


@dataclass(frozen=True, slots=True)
class _Web:
    """What is crawled: the graph, or the pages of it that all crawls have in common, and what is known about it."""

    graph: Graph
    scores: Scores
    times: PageTimes | None
    hosting: Hosting | None
    within: Subgraph | None


def _web(wanted: Order, job: Job) -> _Web:
    stored = load(wanted.graph)
    graph, times = stored.graph, wanted.times
    scores = _scores(wanted, stored, ordering_named(job.ordering).needs)
    hosting = hosting_of(stored) if job.conditions.given else None
    if times is None and wanted.weather is not None:
        sites = np.repeat(np.arange(graph.sites, dtype=np.int32), np.diff(graph.first_page))
        times = draw_times(sites, graph.sites, wanted.weather, job.conditions.seed)
    if not 0 < wanted.nearest < graph.pages:
        return _Web(graph, scores, times, hosting, None)
    some = subgraph_of(graph, nearest(graph, wanted.nearest))
    pages, sites = some.pages, some.sites
    return _Web(
        some.graph,
        Scores(*(None if each is None else each[pages] for each in (scores.true, scores.old))),
        None if times is None else PageTimes(times.latency[pages], times.size[pages], times.speed[sites]),
        None if hosting is None else Hosting(hosting.domain[sites], hosting.address[sites], hosting.farm[sites]),
        some,
    )


def _scores(wanted: Order, stored: Stored, needs: tuple[str, ...]) -> Scores:
    """The scores that an ordering looks at."""
    given = read_scores(wanted.scores, stored) if wanted.scores is not None and needs else None
    true, old = None, None
    if "old" in needs:
        # PageRank sums to 1: a page of a smaller web has more of it, which matters beside true scores.
        old = stored.old_scores if given is None else given * (np.count_nonzero(~np.isnan(given)) / len(given))
    if "true" in needs:
        if wanted.oracle is not None:
            true = read_scores(wanted.oracle, stored)
        else:
            true = given if given is not None and "old" not in needs else true_scores(stored)
    return Scores(true, old)
