"""One simulation. In: a graph, an ordering, the terms. Out: `Simulated`: the order of the pages, and when.

>>> from weft.graph import Graph
>>> from weft.ordering import ordering_named
>>> graph = Graph.from_links([2, 1], [(0, 1), (0, 2), (1, 0)], parent=[-1, 0, -1])
>>> simulate(graph, ordering_named("breadth-first"), Conditions(wait=0.0)).order.tolist()
[0, 2, 1]
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, table_of
from weft.errors import UsageError
from weft.graph import Graph
from weft.graph.hosting import Hosting
from weft.ordering.contract import Ordering, Scored
from weft.ordering.heaps import TwoLevelHeap
from weft.ordering.known import NO_PAGE, Known, stays
from weft.ordering.reranking import Estimate, Reranking, RerankPlan, make_edges
from weft.ordering.rules import PYTHON, UNSCORED, rule_of
from weft.ordering.ties import as_of_now, counted_all, divided, make_ties, weigh
from weft.ordering.weights import LinkWeights
from weft.settings import setting
from weft.sim import core
from weft.sim.result import Simulated
from weft.sim.times import PageTimes

_STEP = 50_000  # pages between two signs of progress
_NONE = np.zeros(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions(LinkWeights):
    """Settings of a simulated crawl: its politeness, its connections, what links count, and what is left to chance."""

    connections: int = setting(1, "connections at once, each to a site of its own (r)", at_least=1, at_most=1_000_000)
    wait: float = setting(15.0, "seconds between two visits to a site (w)", at_least=0, unit="seconds")
    per_visit: int = setting(1, "pages fetched on one connection (k)", at_least=1)
    small_wait: float | None = setting(
        None, "seconds between two visits to a site with few pages; the same when not given", at_least=0, unit="seconds"
    )
    small_site: int = setting(100, "a site has few pages below this number", at_least=0)
    page_time: float = setting(
        1.0, "seconds that every page takes, when pages have no times of their own", at_least=0, unit="seconds"
    )
    bandwidth: float = setting(
        np.inf,
        "bytes a second that the link moves; pages have latencies and sizes then",
        above=0,
        at_most=np.inf,
        unit="bytes",
    )
    kept_latency: float = setting(
        0.2, "the part of its latency that a page on an open connection still has", at_least=0, at_most=1
    )
    keep_alive_pages: int = setting(
        0, "pages after which a server closes a connection, such as 100; 0: it does not", at_least=0
    )
    keep_alive: float = setting(
        0.0,
        "seconds for which a server keeps a connection open after a page, such as 15: a visit that begins within them "
        "goes on with it; 0: until the visit ends",
        at_least=0,
        unit="seconds",
    )
    rerank: int = setting(100_000, "pages between two computations of PageRank, for batch and partial (K)", at_least=1)
    rerank_delay: int = setting(0, "downloads from a computation's begin to its effect (d)", at_least=0)
    iterations: int = setting(2, "iterations of each of these computations", at_least=1)
    most_pages: int = setting(
        0, "pages after which to stop; of crawls that are compared, the pages nearest to the seeds; 0: all", at_least=0
    )
    seed: int = setting(1, "number that decides about everything that is left to chance", at_least=0)

    def check(self) -> None:
        """Refuse what cannot be simulated."""
        for name in ("connections", "per_visit", "rerank", "iterations"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}", todo="it must be at least 1")
        for name in (
            *("wait", "page_time", "rerank_delay", "most_pages", "kept_latency"),
            *("keep_alive_pages", "keep_alive"),
        ):
            if not getattr(self, name) >= 0:
                raise UsageError(f"{name} is {getattr(self, name)}", todo="it must not be negative")
        if not self.bandwidth > 0:
            raise UsageError(f"the bandwidth is {self.bandwidth}", todo="give bytes a second, more than none")
        if self.rerank_delay >= self.rerank:
            raise UsageError(
                f"a computation begins every {self.rerank} pages and would take effect {self.rerank_delay} pages later",
                todo="give a --rerank-delay smaller than --rerank",
            )


@dataclass(frozen=True, slots=True)
class Scores:
    """What oracles and earlier crawls know, by page of the graph; NaN where they know nothing."""

    true: NDArray[np.float64] | None = None
    old: NDArray[np.float64] | None = None

    def of(self, name: str, ordering: str) -> NDArray[np.float64]:
        """The scores of a name that an ordering needs."""
        scores: NDArray[np.float64] | None = getattr(self, name)
        if scores is None:
            what = "the scores of an earlier crawl" if name == "old" else "the true scores of the pages"
            raise UsageError(
                f"{ordering} needs {what}, and the graph has none",
                todo="give a file with --scores; `weft graph rank GRAPH --out FILE` writes one"
                if name == "true"
                else "give a file of them with --scores, or a graph of `weft graph generate`, which knows them",
            )
        return scores


class Simulation:
    """A crawl of a graph in one ordering, from its seeds to its end."""

    def __init__(
        self,
        graph: Graph,
        ordering: Ordering,
        conditions: Conditions,
        scores: Scores | None = None,
        times: PageTimes | None = None,
        hosting: Hosting | None = None,
        copies: NDArray[np.bool_] | None = None,
    ) -> None:
        conditions.check()
        hosting = hosting or Hosting.apart(graph.sites)
        scores = scores or Scores()
        needs = ordering.needs
        self._ordering = ordering
        self._conditions = conditions
        self._graph = graph
        old = scores.of("old", ordering.name) if "old" in needs else _NONE
        true = scores.of("true", ordering.name) if "true" in needs else _NONE
        copied = np.zeros(1, np.bool_) if copies is None or not ordering.by_size else np.array(copies)
        sites = _page_sites(graph)
        self._web = core.Web(graph.offsets, graph.links, sites, np.array(hosting.address), copied, old, true)
        rule = rule_of(ordering)
        fixed = rule == UNSCORED or (rule != PYTHON and isinstance(ordering, Scored) and ordering.linked is stays)
        every = ordering.rerank
        self._heaps = TwoLevelHeap(
            pages=graph.pages,
            sites=graph.sites,
            scored=ordering.scored,
            by_size=ordering.by_size,
            fixed=fixed and every is None,
            but_copies=copies is not None,
        )
        pages = graph.pages
        self._known = Known(
            score=self._heaps.arrays.score,
            old=np.full(pages, np.nan) if "old" in needs else _NONE.copy(),
            true=np.full(pages, np.nan) if "true" in needs else _NONE.copy(),
            past=np.sort(old[~np.isnan(old)]) if "old" in needs else _NONE.copy(),
            ranked=np.zeros(1, np.int64),
            seed=conditions.seed,
        )
        most_links = int(np.diff(graph.offsets).max()) if pages else 0
        self._state = core.make_state(pages, graph.sites, conditions.connections, most_links)
        reranking = Reranking(pages=conditions.rerank, delay=conditions.rerank_delay, iterations=conditions.iterations)
        self._edges = make_edges(pages if every else 1, len(graph.links) if every else 1)
        self._ties = make_ties(graph.sites, conditions)
        if self._ties.on:
            self._ties.domain[:] = hosting.domain
        self._estimate = Estimate(pages if every else 1, reranking, self._heaps.arrays.owner)
        self._plan = None if every is None else RerankPlan(every, reranking)
        self._snapshot = _NONE
        self._times = times.arrays() if times is not None else core.Times(*(np.zeros(1, np.float32),) * 3)
        self._terms = core.Terms(
            rule=rule,
            fixed=fixed,
            ranked=every is not None,
            connections=conditions.connections,
            per_visit=conditions.per_visit,
            wait=float(conditions.wait),  # a whole number would be compiled for once more
            small_wait=float(conditions.wait if conditions.small_wait is None else conditions.small_wait),
            small=conditions.small_site,
            page_time=float(conditions.page_time),
            timed=times is not None,
            bandwidth=float(conditions.bandwidth),
            kept_latency=float(conditions.kept_latency),
            keep_pages=conditions.keep_alive_pages or np.iinfo(np.int32).max,
            keep_time=float(conditions.keep_alive) or -1.0,
        )

        arrays = (self._web, self._times, self._state, self._known, self._edges, self._ties)
        self._kept = [table_of(each) for each in arrays]
        web_at, times_at, state_at, known_at, edges_at, ties_at = map(address_of, self._kept)
        self._tables = core.Tables(web_at, times_at, state_at, self._heaps.address, known_at, edges_at, ties_at)

    def __repr__(self) -> str:
        return f"Simulation({self._ordering.name}, {self.visited} of {self._graph.pages} pages)"

    @property
    def visited(self) -> int:
        """Pages visited so far."""
        return int(self._state.counts[core.VISITED])

    @property
    def farms(self) -> NDArray[np.bool_]:
        """By site: is it taken for a part of a link farm by now? None is where all links count alike."""
        return self._ties.farm[: self._graph.sites] if self._ties.on else np.zeros(self._graph.sites, np.bool_)

    def run(self, progress: Callable[[int], None] = lambda _visited: None) -> Simulated:
        """Crawl to the end."""
        began, cpu = time.perf_counter(), time.process_time()
        self._begin()
        most = self._conditions.most_pages or self._graph.pages
        while self.visited < most:
            visited = self.visited
            goal = min(most, (visited // _STEP + 1) * _STEP)
            why = core.advance_at(
                self._tables, self._terms, goal if self._plan is None else min(goal, self._plan.next_at)
            )
            if why == core.ASK:
                self._ask()
            if self._plan is not None:
                self._plan.over(self.visited - visited)
                self._rerank(self._plan)
            if why == core.DONE:
                break
            if why == core.REACHED:
                progress(self.visited)
        progress(self.visited)
        state, n = self._state, self.visited
        order = np.array(state.order[:n])
        return Simulated(
            ordering=self._ordering.name,
            order=order,
            finished=np.array(state.finished[:n]),
            started=np.array(state.started[:n]),
            site=self._web.site[order],
            seconds=time.perf_counter() - began,
            cpu=time.process_time() - cpu,
            parameters=dataclasses.asdict(self._conditions),
            bytes_moved=float(state.clock[core.MOVED]),
            answered=np.array(state.answered[:n]) if self._terms.timed else None,
            speed=self._times.speed[self._web.site[order]] if self._terms.timed else None,
        )

    def _begin(self) -> None:
        """Find the seeds."""
        state, known = self._state, self._known
        core.open_sites(self._heaps.arrays, self._graph.sites)
        core.number_seeds(self._web, self._terms, state, known, self._graph.seeds)
        seeds = int(state.counts[core.FOUND])
        if self._terms.rule == PYTHON:
            assert isinstance(self._ordering, Scored)
            known.score[:seeds] = self._ordering.found(known, np.arange(seeds), NO_PAGE, 0)
        if self._plan is not None:
            known.score[: self._plan.begin(seeds)] = 0.0
        core.push_seeds(self._web, state, self._heaps.arrays)

    def _ask(self) -> None:
        """Let an ordering in Python score the links of the page that has just finished."""
        state, known, ordering = self._state, self._known, self._ordering
        assert isinstance(ordering, Scored)
        page = int(state.counts[core.OPEN])
        at = state.page[page]
        out = int(self._graph.offsets[at + 1] - self._graph.offsets[at])
        if out == 0:
            return
        links = state.buffer[:out]
        first = state.counts[core.FIRST_NEW]
        new = links[links >= first]
        shares = self._shares(at, links)
        known.score[new] = ordering.found(
            known, new, page, divided(out, None if shares is None else shares[links >= first])
        )
        scores = counted_all(known.score[links], ordering.linked(known, links, page, out), shares)
        core.apply_scores_at(self._tables, scores)

    def _shares(self, page: int, links: NDArray[np.int32]) -> NDArray[np.float64] | None:
        """What the links of a page of the graph count, if some count less."""
        site = self._web.site
        return weigh(self._ties, int(site[page]), site[self._state.page[links]]) if self._ties.on else None

    # Scores computed anew.

    def _rerank(self, plan: RerankPlan) -> None:
        """Compute what is due, and let it take effect when that is due."""
        found = int(self._state.counts[core.FOUND])
        if plan.snapshot_due(found):
            self._snapshot = self._compute()
        if plan.effect_due(found):
            plan.take_effect(
                self._heaps.arrays, self._known, found, self._snapshot, partial(self._pending, found), self._compute
            )

    def _pending(self, found: int) -> NDArray[np.int64]:
        return np.flatnonzero(~self._state.taken[:found])

    def _compute(self) -> NDArray[np.float64]:
        ties = as_of_now(self._ties, self._graph.sites)
        return self._estimate.compute(self._edges, self.visited, int(self._state.counts[core.FOUND]), ties).copy()


def _page_sites(graph: Graph) -> NDArray[np.int32]:
    return np.repeat(np.arange(graph.sites, dtype=np.int32), np.diff(graph.first_page))


def simulate(
    graph: Graph,
    ordering: Ordering,
    conditions: Conditions | None = None,
    scores: Scores | None = None,
    times: PageTimes | None = None,
    progress: Callable[[int], None] = lambda _visited: None,
    hosting: Hosting | None = None,
    copies: NDArray[np.bool_] | None = None,
) -> Simulated:
    """Crawl a graph in an ordering. Where its sites are matters if some links count less; pages that are said to be
    `copies` do not count in the size of a site.
    """
    return Simulation(graph, ordering, conditions or Conditions(), scores, times, hosting, copies).run(progress)
