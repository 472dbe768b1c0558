"""How good lists of temporal sites are, on generated worlds; and what ranking a million pages costs.

    python -m benchmarks.temporal_sites [seed]...

Every figure is a mean over worlds by seed. F is held against the truth of the window's pages, future F against that of
pages born in the fourteen days after it. With 20,000 tiny hosts F is given over the pages of the other sites, beside
its ratio to F without tiny hosts (the same pages, ranked alone), and over all pages, where no list of 100 sites can
reach the tiny hosts' temporal pages.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.machine import description
from weft.temporal.evaluation import evaluate, measure
from weft.temporal.folders import Folders, rank_folders
from weft.temporal.hubs import find_hubs
from weft.temporal.labels import Rules, classify
from weft.temporal.sites import PAPER, SiteRules, rank_sites
from weft.temporal.views import Labels, Views
from weft.temporal.worlds import Recipe, World, make_world
from weft.temporal.worlds.writing import manual_list

SEEDS = (301, 302)
SITES = (1000, 600)
TINY = 20_000
AFTER = 14
ALIKE = SiteRules(half_life=0.0, least_rate=0.0)  # all pages, however old
RULES = {
    "paper score": PAPER,
    "floor of 20 pages": replace(PAPER, least_pages=20),
    "20 untemporal pages added": ALIKE,
    "the same, hubs apart": replace(ALIKE, hubs_apart=True),
    "the same, half-life 3 days": SiteRules(),
    "for the best F": replace(ALIKE, rank_by="f-measure"),
}
POPULARITY = "popularity only"
EVENTS = {"all pages alike": ALIKE, "half-life 3 days": SiteRules()}
END_SITES = (60, 150, 300, 600)
END_SEEDS = (301, 302, 303, 304)
ENDS = {
    "as long as it may be": replace(ALIKE, cut=False),
    "cut, all pages alike": ALIKE,
    "default: half-life, least rate, cut": SiteRules(),
}
MANUAL = "manual list"

Seeds = Callable[[Views, Labels], Sequence[str]]
Table = dict[str, list[float]]


@dataclass(frozen=True)
class Case:
    """A world as the analysis sees it, and as it is."""

    world: World
    views: Views
    labels: Labels
    true: NDArray[np.bool_]  # the window's pages
    later: pa.Table  # the truth of pages born after it


def case(seed: int, sites: int, tiny_hosts: int = 0) -> Case:
    """Make a world and label its pages."""
    world = make_world(Recipe(seed=seed, sites=sites, tiny_hosts=tiny_hosts, after=AFTER))
    views = world.views()
    later = world.truth.filter(pc.field("birth") >= world.recipe.days)
    true = _bools(world.truth_of(views)["temporal_by_definition"])
    return Case(world, views, classify(views, Rules()), true, later)


def run(seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """All tables."""
    found: dict[str, Any] = {"machine": description(), "seeds": list(seeds), "lists": {}, "levels": {}, "tiny": {}}
    for sites in SITES:
        cases = [case(seed, sites) for seed in seeds]
        found["lists"][str(sites)] = mean_of([lists(each) for each in cases])
        found["levels"][str(sites)] = mean_of([levels(each) for each in cases])
        found["hubs"] = mean_of([hubs(each) for each in cases])
        found["tiny"][str(sites)] = mean_of([tiny(case(seed, sites, TINY)) for seed in seeds])
    return found | {"ends": ends(), "events": events(seeds), "cost": cost()}


def rankers() -> dict[str, Seeds]:
    """Every way to make a list."""

    def by(rules: SiteRules) -> Seeds:
        return lambda views, labels: rank_sites(views, labels, rules).seeds()

    return {name: by(rules) for name, rules in RULES.items()} | {POPULARITY: popular}


def popular(views: Views, _labels: Labels) -> Sequence[str]:
    """The sites with the most views."""
    seen = np.bincount(views.site, views.totals(), len(views.sites))
    found: list[str] = views.sites.take(pa.array(np.argsort(-seen, kind="stable")[: PAPER.top])).to_pylist()
    return found


def lists(given: Case) -> Table:
    """F and future F of each list."""
    found = {}
    born_later = _bools(given.later["temporal_by_definition"])
    for name, seeds_of in rankers().items():
        seeds = seeds_of(given.views, given.labels)
        found[name] = [evaluate(given.views, given.true, seeds).f, measure(given.later["site"], born_later, seeds).f]
    return found


def ends() -> dict[str, dict[str, list[list[float]]]]:
    """Where the list ends, beside the manual list: sites, F and future F, world by world.

    The list ends by the labels of the window that the analysis has made itself; F is by the truth, which it never saw.
    """
    found: dict[str, dict[str, list[list[float]]]] = {}
    for sites in END_SITES:
        table = found[str(sites)] = {name: [] for name in (*ENDS, MANUAL)}
        for seed in END_SEEDS:
            given = case(seed, sites)
            lists_ = {name: rank_sites(given.views, given.labels, rules).seeds() for name, rules in ENDS.items()}
            lists_[MANUAL] = manual_list(given.world)
            born_later = _bools(given.later["temporal_by_definition"])
            for name, seeds in lists_.items():
                later = measure(given.later["site"], born_later, seeds).f
                table[name].append([len(seeds), evaluate(given.views, given.true, seeds).f, later])
    return found


def tiny(given: Case) -> Table:
    """F over the other sites' pages, its ratio to F without tiny hosts, F over all pages, tiny hosts on the list."""
    views, true = given.views, given.true
    other = ~np.asarray(pc.starts_with(views.sites, "www.tiny"), np.bool_)[views.site]
    alone = some(views, other)
    alone_labels = classify(alone, Rules())
    found = {}
    for name, seeds_of in rankers().items():
        crowded, quiet = seeds_of(views, given.labels), seeds_of(alone, alone_labels)
        f = evaluate(alone, true[other], crowded).f
        on_list = sum(site.startswith("www.tiny") for site in crowded)
        found[name] = [f, f / evaluate(alone, true[other], quiet).f, evaluate(views, true, crowded).f, on_list]
    return found


def levels(given: Case) -> Table:
    """How well future pages are told apart, and recall when half of them are taken, by site, folder and pattern."""
    found = rank_folders(given.views, given.labels, SiteRules())
    later = given.later.filter(pc.field("kind") != "hub")
    true = _bools(later["temporal_by_definition"])
    nothing = found.sites.only(np.zeros(len(found.sites.names), np.bool_))
    by = {
        "site": Folders(found.sites, nothing, nothing),
        "folder": Folders(found.sites, found.folders, nothing),
        "pattern": found,
    }
    urls, names = later["url"].combine_chunks(), later["site"].combine_chunks()
    scores = {name: each.guess(urls, names) for name, each in by.items()}
    return {name: [auc(score, true), half_recall(score, true)] for name, score in scores.items()}


def hubs(given: Case) -> Table:
    """Precision and recall of hubs; and the mean view share of news sites with and without them."""
    views, labels = given.views, given.labels
    found = find_hubs(views, labels)
    true = np.asarray(pc.equal(given.world.truth_of(views)["kind"], "hub"), np.bool_)
    right = int((found & true).sum())
    shares = []
    for apart in (False, True):
        ranking = rank_sites(views, labels, SiteRules(hubs_apart=apart))
        news = np.asarray(pc.starts_with(ranking.names, "www.news"), np.bool_)
        shares.append(float(ranking.view_share[news].mean()))
    return {"precision, recall": [right / found.sum(), right / true.sum()], "news sites' view share": shares}


def events(seeds: Sequence[int]) -> dict[str, dict[str, float]]:
    """Days until a site whose event lasts from day 50 to 65 is found, and until it is dropped, ranking every day."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in EVENTS}
    sites = 0
    for seed in seeds:
        recipe = Recipe(seed=seed, sites=600, after=40, event_sites=10, event_day=50, event_days=15, event_pages=60)
        world = make_world(recipe)
        listed = [(day, lists_at(world, day)) for day in range(51, 92)]
        for site in world.sites.table().filter(pc.field("kind") == "event").to_pylist():
            sites += 1
            for name in EVENTS:
                on = [day for day, every in listed if site["site"] in every[name]]
                taken[name] += [(on[0] - site["on"], max(on[-1] + 1 - site["off"], 0))] if on else []
    return {name: _events(days, sites) for name, days in taken.items()}


def _events(days: list[tuple[float, float]], sites: int) -> dict[str, float]:
    find, drop = np.median(np.array(days), axis=0)
    return {"sites": sites, "found": len(days), "median days to find": float(find), "to drop": float(drop)}


def lists_at(world: World, day: int) -> dict[str, set[str]]:
    """The lists at the start of a day, from the sixty days before."""
    views = world.views(since=max(day - 60, 0), days=min(day, 60))
    labels = classify(views, Rules())
    return {name: set(rank_sites(views, labels, rules).seeds()) for name, rules in EVENTS.items()}


def cost() -> dict[str, Any]:
    """CPU seconds for a million pages of 100,000 sites; best of three."""
    views, labels = million()
    steps: dict[str, Callable[[], object]] = {
        "rank sites": lambda: rank_sites(views, labels, SiteRules()),
        "the same by what can be polled": lambda: rank_sites(views, labels, SiteRules(top=0, polls_per_day=1e5)),
        "rank folders and patterns": lambda: rank_folders(views, labels, SiteRules()),
    }
    return {name: min(_cpu(step) for _ in range(3)) for name, step in steps.items()}


def million() -> tuple[Views, Labels]:
    """A million pages without any sense to them, on sites of very different sizes."""
    dice = np.random.default_rng(1)
    views = make_world(Recipe(seed=1, sites=90)).views()
    pages, sites, days = 1_000_000, 100_000, 10
    site = np.sort((sites * dice.random(pages) ** 3).astype(np.int32))
    forms = ("http://www.s{}.example/news/2026/04/07/n{}.html", "http://www.s{}.example/a/show.php?cat=a&id={}")
    urls = [forms[page % 2].format(at, page) for page, at in enumerate(site.tolist())]
    made = Views(
        views.window,
        pa.array(urls),
        pa.array([f"www.s{at}.example" for at in range(sites)]),
        site,
        np.arange(pages + 1, dtype=np.int64) * days,
        np.tile(np.arange(days, dtype=np.int16) * 5, pages),
        dice.integers(1, 100, pages * days).astype(np.int32),
        np.full(pages * days, -1, np.int32),
    )
    temporal = dice.random(pages) < 0.3
    day = dice.integers(0, 60, pages).astype(np.int16)
    share = temporal.astype(np.float64)
    return made, Labels(
        day, day, day.astype(np.float64), share, share, temporal.astype(np.int8), temporal, np.full(pages, -1, np.int8)
    )


def some(views: Views, kept: NDArray[np.bool_]) -> Views:
    """The views of some pages."""
    days = np.diff(views.start)
    row = np.repeat(kept, days)
    return replace(
        views,
        urls=views.urls.filter(pa.array(kept)),
        site=views.site[kept],
        start=np.concatenate([[0], np.cumsum(days[kept])]),
        day=views.day[row],
        count=views.count[row],
        first=views.first[row],
    )


def auc(score: NDArray[np.float64], true: NDArray[np.bool_]) -> float:
    """How often a true one has the higher score of two; ties count half."""
    _, place, pages = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(pages) - (pages - 1) / 2)[place]
    hits, misses = int(true.sum()), int((~true).sum())
    return float((rank[true].sum() - hits * (hits + 1) / 2) / (hits * misses))


def half_recall(score: NDArray[np.float64], true: NDArray[np.bool_]) -> float:
    """The share of the true ones among the better half."""
    best = np.argsort(-score, kind="stable")[: len(score) // 2]
    return float(true[best].sum() / true.sum())


def mean_of(tables: Sequence[Table]) -> Table:
    """The mean of tables, number by number."""
    return {name: np.mean([table[name] for table in tables], axis=0).tolist() for name in tables[0]}


def _bools(column: Any) -> NDArray[np.bool_]:
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False), np.bool_)


def _cpu(step: Callable[[], object]) -> float:
    began = time.process_time()
    step()
    return time.process_time() - began


def show(found: dict[str, Any]) -> None:
    """Print the tables."""
    print(f"Lists of {PAPER.top} sites; means over worlds {', '.join(map(str, found['seeds']))}")
    print(f"{'':<30}" + "".join(f"{sites + ' sites':>28}" for sites in found["lists"]))
    print(f"{'':<30}" + f"{'F':>14}{'future F':>14}" * len(found["lists"]))
    for name in found["lists"][str(SITES[0])]:
        print(f"{name:<30}" + "".join(f"{each:>14.3f}" for table in found["lists"].values() for each in table[name]))
    for sites, table in found["tiny"].items():
        print(f"\nwith {TINY:,} tiny hosts beside {sites} sites")
        print(f"{'':<30}{'F, other sites':>16}{'ratio':>8}{'F, all pages':>14}{'tiny on list':>14}")
        for name, (f, ratio, over_all, listed) in table.items():
            print(f"{name:<30}{f:>16.3f}{ratio:>8.3f}{over_all:>14.3f}{listed:>14.1f}")
    print(
        "\nfuture pages told apart by    AUC, and recall of the better half; " + ", ".join(found["levels"]) + " sites"
    )
    for name in ("site", "folder", "pattern"):
        print(f"{name:<30}" + "   ".join(f"{a:.3f} {b:.3f}" for a, b in (t[name] for t in found["levels"].values())))
    print()
    for name, (first, second) in found["hubs"].items():
        print(f"{'hubs: ' + name:<34}{first:.3f} {second:.3f}")
    print(f"\nwhere the list ends: sites, F, future F; means over worlds {', '.join(map(str, END_SEEDS))}")
    for sites, table in found["ends"].items():
        for name, worlds in table.items():
            many, f, later = np.mean(worlds, axis=0)
            beaten = sum(ours[1] > theirs[1] for ours, theirs in zip(worlds, table[MANUAL], strict=True))
            print(f"{sites:>5} sites, {name:<36}{many:>6.1f}{f:>8.3f}{later:>8.3f}   above the manual list: {beaten}")
    print()
    for name, values in found["events"].items():
        print(f"{'event sites, ' + name:<34}" + ", ".join(f"{key} {value:g}" for key, value in values.items()))
    print()
    for name, seconds in found["cost"].items():
        print(f"{'1M pages, ' + name:<44}{seconds:.2f} CPU s")


if __name__ == "__main__":
    show(run(tuple(map(int, sys.argv[1:])) or SEEDS))
