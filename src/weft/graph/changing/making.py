"""The maker of worlds. In: a recipe of a graph, how it changes, a seed. Out: a `World`, the same on every machine.

The generated graph is there at the start; its leaves are as old as the rates of their sites make them. What is born
later hangs under a front of its site and comes behind the site's other pages, so that pages of a site stay together. A
new page links to its front, its home page, the pages before it in its front's list, a few others of its site, and at
times to another site; nobody links to it before it is born, and its front does from then on.

Everything happens on whole seconds, so that HTTP's dates can say it. Chance has streams of its own for sites, births,
links, edits and deaths: another rate of edits leaves births as they were.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.graph.changing.processes import exponentials, log_uniform, normals, points
from weft.graph.changing.publishing import draw_births, draw_publishing
from weft.graph.changing.recipe import Changes
from weft.graph.changing.world import AWAY, DAY, GONE, HOUR, MISSING, Publishing, Reals, World
from weft.graph.generate import generate
from weft.graph.model import Graph
from weft.graph.recipe import Recipe

OLDEST = 3_650.0  # days: pages of slow sites are not older
_BEFORE = 3  # links of a new page to those born before it
_OTHERS = 2  # and to others of its site
_ELSEWHERE = 0.3  # share of the new pages that link to another site


class _Leaves(NamedTuple):
    """New pages, by site and then by birth."""

    site: NDArray[np.int64]
    birth: Reals
    for_event: NDArray[np.bool_]
    front: NDArray[np.int64]
    """As it is numbered in the graph of the start."""


def make_world(recipe: Recipe, changes: Changes, seed: int) -> World:
    """Make the world that belongs to these and to this seed."""
    changes.check()
    return world_of(generate(recipe, seed), changes, seed)


def world_of(start: Graph, changes: Changes, seed: int) -> World:
    """The world that begins with this graph."""
    streams = np.random.SeedSequence([seed, 0x776F726C64]).spawn(5)
    for_sites, for_births, for_links, for_edits, for_deaths = (
        np.random.Generator(np.random.PCG64(stream)) for stream in streams
    )
    publishing = draw_publishing(for_sites, start, changes)
    leaf, front = _leaves_of(start), _fronts_of(start, changes.fronts)
    site, birth, for_event = draw_births(for_births, publishing, changes)
    new = _Leaves(site, birth, for_event, _choose_fronts(for_births, start, front, site))
    graph, moved = _grown(for_links, start, new)
    born_later = np.ones(graph.pages, dtype=np.bool_)
    born_later[moved] = False
    births, deaths = np.zeros(graph.pages), np.full(graph.pages, np.inf)
    births[moved] = _past(for_births, start, leaf, publishing)
    births[born_later] = new.birth
    mortal = born_later.copy()
    mortal[moved] = leaf & (front != np.arange(start.pages))
    life = exponentials(for_deaths, graph.pages) * (changes.half_life_days * DAY / np.log(2))
    # Who lives at the start has lost nothing by its age.
    deaths[mortal] = (np.maximum(births, 0.0) + np.floor(life) + 1.0)[mortal]
    fronts = np.zeros(graph.pages, dtype=np.int32)
    fronts[moved] = moved[front]
    fronts[born_later] = moved[new.front]
    temporal = _temporal(for_edits, graph, mortal, publishing, changes)
    temporal[np.flatnonzero(born_later)[new.for_event]] = True
    rate, offsets, times = _edits(for_edits, graph, births, deaths, temporal, changes)
    listed, by_front = _in_order(graph, fronts, births, mortal)
    return World(
        changes=changes,
        seed=seed,
        graph=graph,
        publishing=publishing,
        birth=births,
        death=deaths,
        edits_a_day=rate,
        edit_offsets=offsets,
        edit_times=times,
        cosmetic_s=_cosmetic(for_edits, graph, changes),
        temporal=temporal,
        ending=_endings(for_deaths, graph.pages, changes),
        front=fronts,
        listing=listed,
        listing_offsets=_cut(graph.site_of(listed), graph.sites),
        front_listing=by_front,
        front_offsets=_cut(fronts[by_front], graph.pages),
    )


def _cut(keys: NDArray[np.integer], many: int) -> NDArray[np.int64]:
    """Where in an array that is sorted by keys each of them begins, and the last one ends."""
    return np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=many))]).astype(np.int64)


def _leaves_of(graph: Graph) -> NDArray[np.bool_]:
    leaf = np.ones(graph.pages, dtype=np.bool_)
    leaf[graph.parent[graph.parent >= 0]] = False
    return leaf


def _fronts_of(graph: Graph, many: int) -> NDArray[np.int64]:
    """For each page the hub it stands under: the first sections below a home page, or that itself."""
    leaf = _leaves_of(graph)
    front = np.repeat(graph.first_page[:-1].astype(np.int64), np.diff(graph.first_page))
    sections = np.flatnonzero((graph.depth == 1) & ~leaf)
    site = graph.site_of(sections)
    place = np.arange(len(sections)) - np.searchsorted(site, site)
    sections = sections[place < many]
    front[sections] = sections
    for depth in range(2, int(graph.depth.max(initial=0)) + 1):
        level = np.flatnonzero(graph.depth == depth)
        front[level] = front[graph.parent[level]]
    return front


def _choose_fronts(
    rng: np.random.Generator, graph: Graph, front: NDArray[np.int64], site: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The front of each new page: any of its site's sections, its home page if there is none."""
    hubs = np.flatnonzero(front == np.arange(graph.pages))
    offsets = _cut(graph.site_of(hubs), graph.sites)
    sections = offsets[site + 1] - offsets[site] - 1
    chosen = 1 + np.floor(rng.random(len(site)) * sections).astype(np.int64)
    return hubs[offsets[site] + np.where(sections > 0, chosen, 0)]


def _grown(rng: np.random.Generator, start: Graph, new: _Leaves) -> tuple[Graph, NDArray[np.int64]]:
    """The graph with the new pages, and where the pages of the start are in it."""
    added = np.bincount(new.site, minlength=start.sites)
    shift = np.concatenate([[0], np.cumsum(added)])
    first_page = start.first_page + shift
    moved = np.arange(start.pages) + np.repeat(shift[:-1], np.diff(start.first_page))
    place = np.arange(len(new.site)) + start.first_page[new.site + 1]  # those of earlier sites are counted by both
    pages = int(first_page[-1])
    parent, depth = np.full(pages, -1, dtype=np.int32), np.zeros(pages, dtype=np.uint8)
    parent[moved] = np.where(start.parent >= 0, moved[start.parent], -1)
    depth[moved] = start.depth
    parent[place] = moved[new.front]
    depth[place] = start.depth[new.front] + 1
    source = np.repeat(moved, np.diff(start.offsets))
    offsets, links = _sorted_links(pages, [(source, moved[start.links]), *_links_of_new(rng, start, new, moved, place)])
    graph = Graph(
        first_page=first_page, offsets=offsets, links=links, parent=parent, depth=depth, seeds=moved[start.seeds]
    )
    return graph, moved


def _links_of_new(
    rng: np.random.Generator, start: Graph, new: _Leaves, moved: NDArray[np.int64], place: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of pages: what the new ones link to."""
    many = len(place)
    homes = moved[start.first_page[new.site]]
    pairs = [(place, moved[new.front]), (place, homes)]
    order = np.lexsort((new.birth, new.front))
    for step in range(1, _BEFORE + 1):
        later, earlier = order[step:], order[:-step] if step < many else order[:0]
        same = new.front[later] == new.front[earlier] if len(later) else np.empty(0, dtype=np.bool_)
        pairs.append((place[later[same]], place[earlier[same]]))
    sizes = np.diff(start.first_page)
    for _ in range(_OTHERS):
        other = start.first_page[new.site] + np.floor(rng.random(many) * sizes[new.site]).astype(np.int64)
        pairs.append((place, moved[other]))
    away = rng.random(many) < _ELSEWHERE
    pairs.append((place[away], moved[np.floor(rng.random(many) * start.pages).astype(np.int64)][away]))
    return pairs


def _sorted_links(
    pages: int, pairs: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Links by their source, in the order in which they are given; none twice, and none to itself."""
    source, target = (np.concatenate(side) for side in zip(*pairs, strict=True))
    _, first = np.unique(source * pages + target, return_index=True)
    first = np.sort(first)
    source, target = source[first], target[first]
    other = source != target
    source, target = source[other], target[other]
    order = np.argsort(source, kind="stable")
    return _cut(source, pages), target[order].astype(np.int32)


def _past(rng: np.random.Generator, start: Graph, leaf: NDArray[np.bool_], publishing: Publishing) -> Reals:
    """When what is there at the start was born: leaves at their site's rate, the last number last, others before."""
    many = leaf.astype(np.int64)
    count = np.add.reduceat(many, start.first_page[:-1])
    rate = np.maximum(publishing.births_a_day, count / OLDEST)
    site = np.repeat(np.arange(start.sites), np.diff(start.first_page))
    gaps = np.where(leaf, exponentials(rng, start.pages) / rate[site], 0.0)
    ages = np.cumsum(gaps[::-1])[::-1]  # from the last page on, over all sites
    ages -= np.append(ages, 0.0)[start.first_page[1:]][site]
    birth = np.floor(-ages * DAY) - 1.0
    for depth in range(int(start.depth.max(initial=0)), 0, -1):
        level = np.flatnonzero(start.depth == depth)
        np.minimum.at(birth, start.parent[level], birth[level])
    return birth


def _temporal(
    rng: np.random.Generator, graph: Graph, mortal: NDArray[np.bool_], publishing: Publishing, changes: Changes
) -> NDArray[np.bool_]:
    share = np.where(publishing.news, changes.temporal, changes.temporal_elsewhere)
    chosen = rng.random(graph.pages) < np.repeat(share, np.diff(graph.first_page))
    return np.asarray(chosen & mortal)


def _edits(
    rng: np.random.Generator,
    graph: Graph,
    birth: Reals,
    death: Reals,
    temporal: NDArray[np.bool_],
    changes: Changes,
) -> tuple[Reals, NDArray[np.int64], Reals]:
    """Rates a day, and the times of all real edits by page; of the past only the last one."""
    usual = np.repeat(log_uniform(rng, changes.edits_least, changes.edits_most, graph.sites), np.diff(graph.first_page))
    # The factor's mean is 1, so that pages of a site are edited as often as its rate says.
    rate = usual * np.exp(changes.edits_spread * normals(rng, graph.pages) - changes.edits_spread**2 / 2)
    rate[(rng.random(graph.pages) < changes.still) | temporal] = 0.0
    begins = np.maximum(birth, 0.0)
    long = np.maximum(np.minimum(death, changes.days * DAY) - begins, 0.0)
    page, along = points(rng, np.where(temporal, changes.news_edits, rate * long / DAY))
    soon = temporal[page]
    with np.errstate(divide="ignore", invalid="ignore"):
        late = -np.log1p(-np.minimum(along / changes.news_edits, 1 - 1e-12)) * changes.news_edits_h * HOUR
        when = np.floor(np.where(soon, birth[page] + late, begins[page] + along / rate[page] * DAY))
        last = np.floor(-exponentials(rng, graph.pages) / rate * DAY)
    kept = (when < death[page]) & (when < changes.days * DAY)
    page, when = page[kept], when[kept]
    past = np.flatnonzero((rate > 0) & (last > birth))
    page, when = np.concatenate([past, page]), np.concatenate([last[past], when])
    order = np.argsort(page, kind="stable")
    return rate, _cut(page, graph.pages), when[order]


def _cosmetic(rng: np.random.Generator, graph: Graph, changes: Changes) -> Reals:
    """Seconds between cosmetic edits: of a site's pages alike."""
    each = np.ceil(log_uniform(rng, changes.cosmetic_least_s, changes.cosmetic_most_s, graph.sites))
    each[rng.random(graph.sites) >= changes.cosmetic] = np.inf
    return np.repeat(each, np.diff(graph.first_page))


def _endings(rng: np.random.Generator, pages: int, changes: Changes) -> NDArray[np.uint8]:
    draw = rng.random(pages)
    found = np.full(pages, MISSING, dtype=np.uint8)
    found[draw < changes.gone_410 + changes.gone_away] = AWAY
    found[draw < changes.gone_410] = GONE
    return found


def _in_order(
    graph: Graph, fronts: NDArray[np.int32], birth: Reals, listed: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Listed pages by site, and by front, each in the order of birth."""
    pages = np.flatnonzero(listed)
    by_birth = pages[np.argsort(birth[pages], kind="stable")]
    by_site = by_birth[np.argsort(graph.site_of(by_birth), kind="stable")]
    by_front = by_birth[np.argsort(fronts[by_birth], kind="stable")]
    return by_site.astype(np.int32), by_front.astype(np.int32)
