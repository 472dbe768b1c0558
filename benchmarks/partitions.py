"""What ordering by parts costs: N workers that share the sites out, each ordering its own by what it was told.

    python -m benchmarks.partitions [pages]

Two reasons why N workers come to good pages later than one with N connections: each takes the best of its own sites
only, and knows only the links that it saw. So each ordering is crawled in three ways: *one frontier*; *told all*: sites
are shared out by chance, and every link counts at once wherever it points to; *told once*: as weft does, a page on
another worker's site is told the score of the first link from here, and no further one. In each, N connections fetch
a page in each instant, of sites that then rest for some instants: the order-only crawl of the papers.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import description
from weft.compiled import address_of, compiled, table_of
from weft.graph import Recipe, generate
from weft.graph.model import Graph
from weft.graph.rank import pagerank
from weft.ordering import ordering_named
from weft.ordering.contract import Ordering
from weft.ordering.heaps import Heaps, TwoLevelHeap, pop_at, push_at, rescore_at, set_ready_at, take_site_at
from weft.ordering.known import NO_PAGE, Known
from weft.ordering.rules import UNSCORED, found, linked, rule_of
from weft.sim.core import open_sites
from weft.sim.metrics import average

PAGES = 100_000
PER_SITE = 70
WORKERS = (2, 16, 128)
ORDERINGS = ("breadth-first", "larger-sites-first", "backlink", "opic")
WAYS = ("one frontier", "told all", "told once")
REST = 400  # instants that a site rests: 16 seconds at 40 ms a page


class Parts(NamedTuple):
    """Who has which site, and what a worker is told."""

    address: NDArray[np.int64]  # by worker: where its heaps are
    owner: NDArray[np.int32]  # by site: its worker, for the heaps
    informed: NDArray[np.int32]  # by site: its worker, for what is told; all the same: everything is


@compiled
def _crawl(  # noqa: C901, PLR0915  one loop, compiled whole
    graph: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]],
    parts: Parts,
    known: Known,
    rule: int,
    turns: NDArray[np.int32],
    rest: int,
    seeds: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Pages in the order in which they are visited; at each instant those of `turns`, a worker for each connection."""
    offsets, links, site_of = graph
    pages = offsets.size - 1
    number = np.full(pages, -1, np.int32)
    page_of = np.empty(pages, np.int32)
    taken = np.zeros(pages, np.bool_)
    count = 0
    for page in seeds:
        if number[page] < 0:
            number[page], page_of[count] = count, page
            if rule != UNSCORED:
                known.score[count] = found(rule, known, count, NO_PAGE, 0)
            push_at(parts.address[parts.owner[site_of[page]]], site_of[page], count)
            count += 1
    order = np.empty(pages, np.int32)
    resting = np.full((rest + 1, turns.size), -1, np.int32)  # sites by the instant at which they are ready again
    due = np.zeros(rest + 1, np.int32)  # … and how many
    done, instant, idle = 0, 0, 0
    while idle <= rest:
        first = done
        now = instant % (rest + 1)
        if idle > 0 and due[now] == 0:  # as at the instant before
            idle += 1
            instant += 1
            continue
        due[now] = 0
        for i in range(turns.size):
            if resting[now, i] >= 0:
                set_ready_at(parts.address[parts.owner[resting[now, i]]], resting[now, i])
                resting[now, i] = -1
        for i in range(turns.size):
            site = take_site_at(parts.address[turns[i]])
            if site >= 0:
                at = pop_at(parts.address[turns[i]], site)
                taken[at] = True
                order[done] = page_of[at]
                done += 1
                resting[(instant + rest) % (rest + 1), i] = site
                due[(instant + rest) % (rest + 1)] += 1
        for visit in range(first, done):
            page = order[visit]
            parent = number[page]
            worker = parts.informed[site_of[page]]
            out = offsets[page + 1] - offsets[page]
            for i in range(offsets[page], offsets[page + 1]):
                target = links[i]
                site = site_of[target]
                if number[target] < 0:
                    number[target], page_of[count] = count, target
                    if rule != UNSCORED:
                        known.score[count] = found(rule, known, count, parent, out)
                        known.score[count] = linked(rule, known, count, parent, out)
                    push_at(parts.address[parts.owner[site]], site, count)
                    count += 1
                elif rule != UNSCORED and not taken[number[target]] and parts.informed[site] == worker:
                    score = linked(rule, known, number[target], parent, out)
                    rescore_at(parts.address[parts.owner[site]], site, number[target], score)
        idle = 0 if done > first else idle + 1
        instant += 1
    return order[:done]


def _order(graph: Graph, name: str, workers: int, way: str, seed: int = 1) -> NDArray[np.int32]:
    """One crawl."""
    ordering = ordering_named(name)
    lots = np.random.default_rng(seed).integers(0, workers, graph.sites).astype(np.int32)
    alone = np.zeros(graph.sites, np.int32)
    count = 1 if way == "one frontier" else workers
    score = np.zeros(graph.pages if ordering.scored else 1)
    heaps = [_heaps(graph, ordering, score) for _ in range(count)]
    tables = [table_of(each) for each in heaps]
    parts = Parts(
        np.array([address_of(table) for table in tables], np.int64),
        alone if count == 1 else lots,
        lots if way == "told once" else alone,
    )
    known = Known(score, np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, np.int64), seed)
    site_of = np.repeat(np.arange(graph.sites, dtype=np.int32), np.diff(graph.first_page))
    turns = np.arange(workers, dtype=np.int32) % count
    return _crawl((graph.offsets, graph.links, site_of), parts, known, rule_of(ordering), turns, REST, graph.seeds)


def _heaps(graph: Graph, ordering: Ordering, score: NDArray[np.float64]) -> Heaps:
    """Heaps of one worker, by the scores that all have; a page and a site are in those of their own worker alone."""
    heaps = TwoLevelHeap(
        pages=graph.pages, sites=graph.sites, scored=ordering.scored, by_size=ordering.by_size
    ).arrays._replace(score=score)
    open_sites(heaps, graph.sites)
    return heaps


def run(pages: int = PAGES) -> dict[str, Any]:
    """Crawl one web in all ways."""
    graph = generate(Recipe(sites=pages // PER_SITE, pages=pages), 1)
    ranks = pagerank(graph.offsets, graph.links)
    rows = []
    for name in ORDERINGS:
        for workers in WORKERS:
            rows += [
                {"ordering": name, "workers": workers, "way": way}
                | {"average": average(_order(graph, name, workers, way), ranks)}
                for way in WAYS
            ]
    return {"machine": description(), "graph": str(graph.describe()), "rows": rows}


def show(result: dict[str, Any]) -> None:
    """Print the table."""
    found = {(row["ordering"], row["workers"], row["way"]): row["average"] for row in result["rows"]}
    print(result["graph"])
    print(f"{'average of PageRank':<23}{'workers':>12}{'one':>11}{'told all':>10}{'told once':>11}")
    for name in ORDERINGS:
        for workers in WORKERS:
            one, told_all, told_once = (found[name, workers, way] for way in WAYS)
            print(f"{name:<27}{workers:>8}{one:>11.3f}{told_all:>10.3f}{told_once:>11.3f}")


if __name__ == "__main__":
    show(run(*map(int, sys.argv[1:])))
