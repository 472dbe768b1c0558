"""One ordering, two worlds: the live crawler visits the pages of a web in the order in which the simulator does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.crawling import crawl, make_web, rows

from weft.graph.hosting import Hosting
from weft.graph.rank import pagerank
from weft.ordering import ordering_named, ordering_names
from weft.sim.run import Conditions, Scores, simulate
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

PAGES = 700
MANY = 5000  # as many as `make soak` takes
RERANK = 100  # pages between two computations of PageRank
WITHOUT_ORACLE = [name for name in ordering_names() if not ordering_named(name).needs]
WITH_ORACLE = [name for name in ordering_names() if name not in WITHOUT_ORACLE]


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web that equals its graph."""
    with serving(make_web(PLAIN, sites=30, pages=PAGES, largest=250)) as bed:
        yield bed


@pytest.fixture(scope="module")
def large() -> Iterator[Bed]:
    """A larger one."""
    with serving(make_web(PLAIN, sites=60, pages=MANY, largest=1500)) as bed:
        yield bed


def live_order(bed: Bed, out: Path, ordering: str, *, why: str = "done", **changes: Any) -> list[int]:
    """The pages in the order in which a crawl with one connection and no waits visits them."""
    summary = crawl(
        bed,
        out,
        ordering=ordering,
        connections=1,
        per_visit=1,
        max_site_pages=MANY,
        robots="ignore",
        sitemaps=False,
        random_seed=3,
        rerank=RERANK,
        rerank_delay=0,
        **changes,
    )
    assert summary.why == why
    pages = (bed.web.page(url) for (url,) in rows(out, "url", "final order by fetched_at"))
    return [page for page in pages if page is not None]


def first_difference(one: list[int], other: list[int]) -> str:
    """Where two orders part, for people."""
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"{len(one)} and {len(other)} pages; different from place {at}: {one[at : at + 5]}, {other[at : at + 5]}"


@pytest.mark.parametrize("ordering", WITHOUT_ORACLE)
def test_orders__live_and_simulated_are_the_same(bed: Bed, tmp_path: Path, ordering: str) -> None:
    """With one connection and no waits, against a real server."""
    _check_same(bed, tmp_path, ordering)


@pytest.mark.soak
@pytest.mark.parametrize("ordering", WITHOUT_ORACLE)
def test_orders__live_and_simulated_are_the_same_for_many_pages(large: Bed, tmp_path: Path, ordering: str) -> None:
    """The same on a larger web."""
    _check_same(large, tmp_path, ordering)


def _check_same(bed: Bed, folder: Path, ordering: str) -> None:
    conditions = Conditions(wait=0.0, rerank=RERANK, seed=3)
    simulated = simulate(bed.web.graph, ordering_named(ordering), conditions).order.tolist()
    live = live_order(bed, folder / "crawl", ordering)
    assert len(simulated) == bed.web.graph.pages
    assert live == simulated, first_difference(live, simulated)


@pytest.mark.parametrize("ordering", ["backlink", "larger-sites-first", "length", "opic", "random"])
def test_orders__are_the_same_over_a_restart(bed: Bed, tmp_path: Path, ordering: str) -> None:
    """What pages were worth when the crawl was stopped they are worth when it goes on."""
    simulated = simulate(
        bed.web.graph, ordering_named(ordering), Conditions(wait=0.0, rerank=RERANK, seed=3)
    ).order.tolist()
    live_order(bed, tmp_path / "crawl", ordering, max_pages=PAGES // 2, why="page limit")
    live = live_order(bed, tmp_path / "crawl", ordering)
    assert live == simulated, first_difference(live, simulated)


@pytest.mark.parametrize("ordering", ["opic", "partial"])
def test_orders__are_the_same_where_some_links_count_less(tmp_path: Path, ordering: str) -> None:
    """Sites share domains and addresses, and some look like a farm: both worlds weigh every link alike."""
    weights: dict[str, Any] = {
        "weight_site": 0.5,
        "weight_domain": 0.25,
        "weight_address": 0.25,
        "weight_farm": 0.0,
    }
    shared = dataclasses.replace(PLAIN, sites_per_domain=3, sites_per_address=4)
    with serving(make_web(shared, sites=30, pages=PAGES, largest=250)) as bed:
        graph, names = bed.web.graph, bed.web.names
        sites = range(graph.sites)
        hosting = Hosting.of_names(map(names.host, sites), map(names.address, sites))
        conditions = Conditions(wait=0.0, rerank=RERANK, seed=3, **weights)
        simulated = simulate(graph, ordering_named(ordering), conditions, hosting=hosting).order.tolist()
        live = live_order(bed, tmp_path / "crawl", ordering, **weights)
    assert live == simulated, first_difference(live, simulated)
    plain = simulate(graph, ordering_named(ordering), Conditions(wait=0.0, rerank=RERANK, seed=3)).order.tolist()
    assert simulated != plain, "the weights matter"


@pytest.mark.parametrize("ordering", WITH_ORACLE)
def test_orders__with_scores_from_a_file(bed: Bed, tmp_path: Path, ordering: str) -> None:
    """The same for orderings that are told scores."""
    graph = bed.web.graph
    true = pagerank(graph.offsets, graph.links)
    old = np.where(np.arange(graph.pages) % 3 == 0, np.nan, true[::-1])
    share = np.count_nonzero(~np.isnan(old)) / len(old)  # of the pages that are old: by it old scores are comparable
    simulated = simulate(
        graph, ordering_named(ordering), Conditions(wait=0.0, rerank=RERANK, seed=3), Scores(true=true, old=old * share)
    ).order.tolist()
    files = {}
    for name, scores in (("true", true), ("old", old)):
        files[name] = tmp_path / f"{name}.tsv"
        known = [(bed.web.url(page), score) for page, score in enumerate(scores.tolist()) if not np.isnan(score)]
        files[name].write_text("".join(f"{url}\t{score!r}\n" for url, score in known))
    given = {"scores": str(files["true" if ordering == "omniscient" else "old"])}
    if ordering == "historical-omniscient":
        given["oracle"] = str(files["true"])
    live = live_order(bed, tmp_path / "crawl", ordering, **given)
    assert live == simulated, first_difference(live, simulated)
