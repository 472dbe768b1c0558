"""Which simulations the papers' tables and figures need. In: a scale. Out: tasks, each with a key by which it is found.

    main/SEED                       the web of the main tables
    main/SEED/ORDERING              one connection, constant page time: P1 table 2, figures 4 and 5
    main/SEED/t=T,r=R/ORDERING      the signs; even/SEED/t=T,r=R/ORDERING the same on other webs
    main/SEED/bandwidth=B,r=R       P0 table 1, and in another reading main/SEED/waiting/bandwidth=B,r=R
    main/SEED/timed/ORDERING        1,000 connections, latencies and speeds: P0 figures 8 and 9, P1 figure 6
    main/SEED/batches               P0 figures 1, 2 and 7
    sweep/SEED/…                    P0 figures 5 and 6
    country/NAME/ORDERING           P1 figure 4, webs of the sizes of its four collections
    VARIANT/SEED/ORDERING           what would have to be true
    real/NAME/ORDERING              real graphs

A web's own key is that of the task that makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from weft.reproduce import real
from weft.reproduce.scale import PAGE_TIME, WAIT, Scale, Size
from weft.reproduce.simulations import Crawl, Download, Make, Read, Task
from weft.sim.run import Conditions

WITHOUT_HISTORY = ("backlink", "partial", "breadth-first", "batch", "opic", "larger-sites-first")
HISTORICAL = ("historical-zero", "historical-random", "historical-parent", "historical-omniscient")
TABLE_2 = (*WITHOUT_HISTORY, *HISTORICAL, "omniscient")
BESIDE = ("random", "opic-seeds")
"""Not in the table: the base line, and the other reading of OPIC."""

RERANKS = (10_000, 50_000, 100_000)  # K of P0
ROBOTS = (1, 64, 256)  # r of P0
BANDWIDTHS = (20_000_000, 2_000_000, 200_000, 20_000, 2_000, 200)  # bytes a second, P0 table 1
SPEED_UP_PAGES = 150_000  # the nearest to the seeds: table 1 is measured over them, whatever r is
READINGS = {"": False, "waiting/": True}  # of table 1: whether a robot waits with its site
SIGN_TERMS = ((0.0115, 1), (0.04, 1), (0.1, 1), (1.0, 1), (1.0, 64), (1.0, 256))  # t and r
SIGN_ORDERINGS = ("breadth-first", "larger-sites-first", "omniscient")
EVEN = {"site_weight_power": 1.0}
"""A site is linked from others in proportion to its size, no more."""
EVEN_ORDERINGS = SIGN_ORDERINGS[:2]
COUNTRIES = {
    "Chile, April 2004": (50_000, 2_400_000),
    "Chile, May 2004": (51_000, 2_800_000),
    "Greece, May 2004": (29_000, 3_400_000),
    "Greece, September 2004": (31_000, 3_600_000),
}
"""Sites and pages of P1's collections: its table 1 has the smaller and the larger number of each country."""
FIGURE_4 = ("omniscient", "larger-sites-first", "opic", "breadth-first", "batch", "partial", "backlink")
VARIED = ("random", "breadth-first", "backlink", "partial", "batch", "opic", "larger-sites-first", "omniscient")
BATCH_PAGES = 10_000  # of P0's figure 7, by the time that it takes on a slow link
BATCH_TERMS = tuple((k, bandwidth) for bandwidth in (20_000, 2_000) for k in (1, 100))


@dataclass(frozen=True, slots=True)
class Variant:
    """A web, or a clock, that is otherwise: a possible reason for what the papers saw."""

    name: str
    what: str
    recipe: dict[str, float] = field(default_factory=dict)
    page_time: float = PAGE_TIME
    wait: float = WAIT
    cap: float = 1.0


_TEMPLATES = {"dense": 0.8, "dense_least": 200, "dense_links": 60.0}
VARIANTS = (
    Variant("as-it-is", "the web and the clock of the main tables, a twentieth of their size"),
    Variant(
        "templates",
        "four of five sections with 200 or more pages are dynamic: 60 links among themselves on every page",
        _TEMPLATES | {"dense_dangling": 0.0},
    ),
    Variant(
        "leaky-templates",
        "the same, but seven of ten leaves of these sections have no links",
        _TEMPLATES,
    ),
    Variant(
        "registered",
        "sites below the mean size are known by registration only: no links from other sites, and nobody links home",
        {"unknown_sites": 1.0, "links_home": 0.0},
    ),
    Variant("apart", "sites hardly link to each other: 2 % instead of 20 %", {"external": 0.02}),
    Variant("higher-cap", "a site may have ten times as many pages: 250,000 at full size", cap=10.0),
    Variant("lower-cap", "a site may have a fifth as many pages: 5,000 at full size", cap=0.2),
    Variant("apart-slow", "both: sites hardly link to each other, and a page takes 1 s", {"external": 0.02}, 1.0),
    Variant(
        "apart-templates-slow",
        "and with the dynamic sections of `templates`",
        _TEMPLATES | {"dense_dangling": 0.0, "external": 0.02},
        1.0,
    ),
    Variant(
        "islands-templates-slow",
        "the same, and sites link to each other even less: 0.5 %",
        _TEMPLATES | {"dense_dangling": 0.0, "external": 0.005},
        1.0,
    ),
    Variant("slow-pages", "a page takes 1 s: 15 sites take turns, not 375", page_time=1.0),
    Variant("no-wait", "w = 0: nothing keeps a crawler from staying in one site", wait=0.0, page_time=1.0),
    Variant(
        "flat",
        "no menus, indexes or links home, few links between sites: PageRank is hardly concentrated",
        {"links_home": 0.0, "links_index": 0.0, "menus": 0.0, "external": 0.05, "site_weight_power": 0.0},
    ),
)


def tasks(scale: Scale, data: Path | None) -> list[Task]:
    """Everything there is to do."""
    found: list[Task] = []
    for seed in range(1, scale.seeds + 1):
        found += _main(scale.main, seed)
        found += _even(scale.main, seed)
        found += _sweep(scale.sweep, seed)
        for variant in VARIANTS:
            found += _variant(variant, scale.variant, seed)
    found += _countries(scale)
    if data is not None:
        found += _real(data)
    return found


def _main(size: Size, seed: int) -> Iterator[Task]:
    web = f"main/{seed}"
    rerank = size.of_pages(100_000)
    yield Make(key=web, recipe=size.recipe(), seed=seed, aged=True)
    for ordering in (*TABLE_2, *BESIDE):
        conditions = Conditions(wait=WAIT, page_time=PAGE_TIME, rerank=rerank, seed=seed)
        yield Crawl(key=f"{web}/{ordering}", graph=web, ordering=ordering, conditions=conditions)
    for page_time, robots in SIGN_TERMS:
        for ordering in SIGN_ORDERINGS:
            if (page_time, robots) != (PAGE_TIME, 1):  # that is in table 2
                conditions = Conditions(wait=WAIT, page_time=page_time, connections=robots)
                key = f"{web}/t={page_time:g},r={robots}/{ordering}"
                yield Crawl(key=key, graph=web, ordering=ordering, conditions=conditions)
    yield from _timed(size, seed)


def _even(size: Size, seed: int) -> Iterator[Task]:
    web = f"even/{seed}"
    yield Make(key=web, recipe=size.recipe(**EVEN), seed=seed)
    for page_time, robots in SIGN_TERMS:
        conditions = Conditions(wait=WAIT, page_time=page_time, connections=robots)
        for ordering in EVEN_ORDERINGS:
            key = f"{web}/t={page_time:g},r={robots}/{ordering}"
            yield Crawl(key=key, graph=web, ordering=ordering, conditions=conditions)


def _timed(size: Size, seed: int) -> Iterator[Task]:
    web = f"main/{seed}"
    many = size.of_sites(1_000)
    for bandwidth in BANDWIDTHS:
        for robots in ROBOTS:
            conditions = Conditions(wait=WAIT, connections=robots, bandwidth=bandwidth)
            for reading, robots_wait in READINGS.items():
                yield Crawl(
                    key=f"{web}/{reading}bandwidth={bandwidth},r={robots}",
                    graph=web,
                    ordering="length",
                    conditions=conditions,
                    weather=seed,
                    nearest=size.of_pages(SPEED_UP_PAGES),
                    robots_wait=robots_wait,
                )
    alone = Conditions(wait=WAIT, connections=many)
    yield Crawl(key=f"{web}/timed/length", graph=web, ordering="length", conditions=alone, weather=seed)
    greece = Conditions(wait=5.0, small_wait=15.0, connections=many)
    for ordering in ("breadth-first", "larger-sites-first"):
        yield Crawl(key=f"{web}/timed/{ordering}", graph=web, ordering=ordering, conditions=greece, weather=seed)
    terms = tuple(
        (f"k={k}, {bandwidth}", Conditions(wait=WAIT, per_visit=k, bandwidth=bandwidth, connections=many))
        for k, bandwidth in BATCH_TERMS
    )
    size_of_batch = size.of_pages(BATCH_PAGES)
    yield Download(key=f"{web}/batches", graph=web, ordering="length", size=size_of_batch, terms=terms, seed=seed)


def _sweep(size: Size, seed: int) -> Iterator[Task]:
    web = f"sweep/{seed}"
    yield Make(key=web, recipe=size.recipe(), seed=seed)
    plain = Conditions(wait=WAIT, page_time=PAGE_TIME, seed=seed)
    for ordering in ("omniscient", "depth", "length", "random"):
        yield Crawl(key=f"{web}/{ordering}", graph=web, ordering=ordering, conditions=plain)
    for rerank in RERANKS:
        conditions = Conditions(wait=WAIT, page_time=PAGE_TIME, rerank=size.of_pages(rerank), seed=seed)
        for ordering in ("batch", "partial"):
            key = f"{web}/{ordering},K={rerank}"
            yield Crawl(key=key, graph=web, ordering=ordering, conditions=conditions)
    for robots in ROBOTS:
        conditions = Conditions(wait=WAIT, page_time=1.0, connections=robots)
        for ordering in ("depth", "length"):
            key = f"{web}/{ordering},r={robots}"
            yield Crawl(key=key, graph=web, ordering=ordering, conditions=conditions)


def _countries(scale: Scale) -> Iterator[Task]:
    for seed, name in enumerate(COUNTRIES, 1):
        web, size = f"country/{name}", scale.country(*COUNTRIES[name])
        yield Make(key=web, recipe=size.recipe(), seed=seed)
        conditions = Conditions(wait=WAIT, page_time=PAGE_TIME, rerank=size.of_pages(100_000), seed=seed)
        for ordering in FIGURE_4:
            yield Crawl(key=f"{web}/{ordering}", graph=web, ordering=ordering, conditions=conditions)


def _variant(variant: Variant, size: Size, seed: int) -> Iterator[Task]:
    web = f"{variant.name}/{seed}"
    yield Make(key=web, recipe=size.recipe(cap=variant.cap, **variant.recipe), seed=seed)
    conditions = Conditions(wait=variant.wait, page_time=variant.page_time, rerank=size.of_pages(100_000), seed=seed)
    for ordering in VARIED:
        yield Crawl(key=f"{web}/{ordering}", graph=web, ordering=ordering, conditions=conditions)


def _real(data: Path) -> Iterator[Task]:
    for name in real.find(data):
        web = f"real/{name}"
        yield Read(key=web, data=data, name=name)
        for ordering in VARIED:
            # As the trial did: a page takes 1 s, PageRank is computed some 35 times.
            conditions = Conditions(wait=WAIT, page_time=1.0, rerank=_REAL_RERANK.get(name, 100))
            yield Crawl(key=f"{web}/{ordering}", graph=web, ordering=ordering, conditions=conditions)


_REAL_RERANK = {"uk-2007": 2_857, "california": 186, "hollins": 172, "cars": 69, "ics": 32}
