"""Several orderings side by side, each in a process of its own. In: a graph on disk, names of orderings. Out: their
simulations, in the order of the names.
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.graph.files import Stored, load
from weft.graph.hosting import Hosting
from weft.graph.rank import pagerank
from weft.graph.scores import read_scores
from weft.ordering import ordering_named
from weft.sim.batch import Choice, choose, simulate_batch
from weft.sim.result import Simulated
from weft.sim.run import Conditions, Scores, simulate
from weft.sim.times import PageTimes, Weather, draw_times
from weft.urls import site_of

_LOOK = 0.2  # seconds between two looks at how far they are

_done: Any = None  # in a process of the pool: pages visited, by simulation


@dataclass(frozen=True, slots=True)
class Order:
    """What a process of the pool is to simulate: all of it can be pickled."""

    graph: Path
    conditions: Conditions = field(default_factory=Conditions)
    weather: Weather | None = None  # pages have times of their own
    scores: Path | None = None  # a file of scores that orderings look at, instead of the graph's own
    oracle: Path | None = None  # a file of true scores beside these
    times: PageTimes | None = None  # what each page takes, instead of the weather's
    batch: int = 0  # pages of a batch from the middle of the crawl, which alone is simulated
    choice: Choice = Choice.SPREAD  # of the pages of the batch


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
    wanted: Order, names: list[str], *, processes: int = 0, progress: Callable[[list[int]], None] = lambda _done: None
) -> Iterator[Simulated]:
    """Simulate every ordering; `progress` is told again and again how many pages each has visited."""
    for name in names:
        ordering_named(name)
    processes = min(processes or len(os.sched_getaffinity(0)), len(names))
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        if processes == 1:
            counts = [0] * len(names)

            def count(at: int, pages: int) -> None:
                counts[at] = pages
                progress(counts)

            for at, name in enumerate(names):
                yield _simulate(wanted, name, lambda pages, at=at: count(at, pages))  # type: ignore[misc]
            return
        spawn = multiprocessing.get_context("spawn")  # a fork would carry the threads of the compiled code with it
        done = spawn.Array("q", len(names), lock=False)
        with ProcessPoolExecutor(processes, spawn, _begin, (done,)) as pool:
            futures = [pool.submit(_run, wanted, name, at, Path(folder)) for at, name in enumerate(names)]
            try:
                for name, future in zip(names, futures, strict=True):
                    yield _loaded(name, _awaited(future, lambda: progress(list(done))))
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


def _run(wanted: Order, name: str, at: int, folder: Path) -> Path:
    """In a process of the pool: simulate one ordering, and leave the result in a file."""

    def count(pages: int) -> None:
        _done[at] = pages

    path = folder / f"{at}.npz"
    np.savez(path, result=np.array(_simulate(wanted, name, count), dtype=object))
    return path


def _simulate(wanted: Order, name: str, progress: Callable[[int], None]) -> Simulated:
    stored = load(wanted.graph)
    ordering = ordering_named(name)
    needs = ordering.needs
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
    graph, times = stored.graph, wanted.times
    hosting = hosting_of(stored) if wanted.conditions.given else None
    if times is None and wanted.weather is not None:
        sites = np.repeat(np.arange(graph.sites, dtype=np.int32), np.diff(graph.first_page))
        times = draw_times(sites, graph.sites, wanted.weather, wanted.conditions.seed)
    if wanted.batch == 0:
        return simulate(graph, ordering, wanted.conditions, Scores(true, old), times, progress, hosting)
    middle = replace(wanted.conditions, most_pages=graph.pages // 2)
    visited = simulate(graph, ordering, middle, Scores(true, old), None, progress, hosting).order
    batch = choose(graph, visited, wanted.batch, wanted.choice, seed=wanted.conditions.seed)
    # No care is taken of scores within a batch (P0 section 6): its pages come in the order in which they were chosen.
    found = simulate_batch(graph, batch, ordering_named("breadth-first"), wanted.conditions, times)
    return replace(found, ordering=name)
