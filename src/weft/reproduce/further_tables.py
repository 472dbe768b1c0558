"""The report beyond the papers' own tables. In: the values. Out: blocks.

What would have to be true for values that do not come out; real graphs; live crawls; and the webs themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from weft.reproduce.blocks import Block, Heading, Picture, Points, Table, Text
from weft.reproduce.experiments import VARIED
from weft.reproduce.published import TAU
from weft.reproduce.verdicts import shown

_Rows = tuple[tuple[str, ...], ...]


# What would have to be true.


def variants(values: Mapping[str, Any]) -> list[Block]:
    """Webs and clocks that could explain what does not come out."""
    rows = []
    for each in values["variants"]:
        cells = [_means(each["orderings"][name]) for name in VARIED]
        rows.append((each["name"], f"{each['links_per_page']:.0f}", *cells))
    goal = {"backlink": ".50 / .02", "partial": ".52 / .02", "breadth-first": ".64 / .13", "batch": ".63 / .20"}
    goal |= {"opic": ".67 / .22", "larger-sites-first": ".67 / .25", "omniscient": ".74 / .65", "random": "~.50 / 0"}
    rows.append(("*published*", "", *(goal[name] for name in VARIED)))
    return [
        Heading("What would have to be true"),
        Text(
            "P1 has backlink and partial near random, and a tau of .25 for larger-sites-first. Webs and clocks that "
            f"could explain it, tried on {values['scale']['variant_pages']:,} pages; average / tau, means over seeds. "
            "The combinations (apart-, islands-) are those that moved most of some twenty tried by hand on one seed."
        ),
        Points(tuple(f"*{each['name']}*: {each['what']}" for each in values["variants"])),
        Table(("web", "links a page", *VARIED), tuple(rows)),
        *_moved(values["variants"]),
    ]


def _means(pair: Mapping[str, Any]) -> str:
    return f"{shown(float(np.mean(pair['average'])))} / {shown(float(np.mean(pair['tau'])), 2)}"


def _moved(variants: Iterable[Mapping[str, Any]]) -> list[Block]:
    """What moved and what did not, said from the numbers."""
    base, *others = variants
    said = []
    for name in ("backlink", "partial"):
        leads = {each["name"]: _lead(each, name) / _lead(each, "breadth-first") for each in (base, *others)}
        least = min(leads, key=lambda web: leads[web])
        pair = named(variants, least)["orderings"][name]
        said.append(
            f"{name} has {shown(leads[base['name']], 2)} of breadth-first's lead over random in {base['name']}, and "
            f"least in {least}: {shown(leads[least], 2)}, with a tau of {shown(float(np.mean(pair['tau'])), 2)} "
            f"(published: {'.00 and .02' if name == 'backlink' else '.14 and .02'}, with random at .50)."
        )
    taus = {each["name"]: float(np.mean(each["orderings"]["larger-sites-first"]["tau"])) for each in (base, *others)}
    most = max(taus, key=lambda web: taus[web])
    near = [web for web, tau in taus.items() if abs(tau - 0.25) <= TAU]
    said.append(
        f"tau of larger-sites-first is {shown(taus[base['name']], 2)} in {base['name']} and highest in {most} "
        f"({shown(taus[most], 2)}); it is within {shown(TAU, 2)} of the published .25 in: {', '.join(near) or 'none'}."
    )
    hit = [each["name"] for each in (base, *others) if _all_near(each)]
    said.append(
        "Webs in which backlink, partial, breadth-first, opic and larger-sites-first are all within .03 of their "
        f"published averages: {', '.join(hit) or 'none'}."
    )
    return [Points(tuple(said))]


def named(variants: Iterable[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """The variant of a name."""
    return next(each for each in variants if each["name"] == name)


def _lead(web: Mapping[str, Any], ordering: str) -> float:
    """How far an ordering's average is above that of random."""
    averages = web["orderings"]
    return float(np.mean(averages[ordering]["average"]) - np.mean(averages["random"]["average"]))


def _all_near(web: Mapping[str, Any]) -> bool:
    goals = {"backlink": 0.50, "partial": 0.52, "breadth-first": 0.64, "opic": 0.67, "larger-sites-first": 0.67}
    return all(abs(np.mean(web["orderings"][name]["average"]) - goal) <= 0.03 for name, goal in goals.items())


# Beyond the papers' own web.


def real(values: Mapping[str, Any]) -> list[Block]:
    """Real graphs, where there are any."""
    if not values["real"]:
        return [Heading("Real graphs"), Text("None: there was no directory of them (--data).")]
    about = tuple(
        f"*{each['name']}*: {each['about']}; {each['pages']:,} pages, {each['sites']:,} sites, {each['links']:,} links"
        + (f"; {each['unreached']:,} pages that no home page reaches were left out" if each["unreached"] else "")
        + ("; its sites are a guess: cut where no link of at most 3,000 numbers crosses" if each["guessed"] else "")
        for each in values["real"]
    )
    rows = tuple(
        (
            each["name"],
            shown(each["optimal"]),
            *(f"{shown(run['average'])} / {shown(run['tau'], 2)}" for run in map(each["orderings"].get, VARIED)),
        )
        for each in values["real"]
    )
    return [
        Heading("Real graphs"),
        Text(
            "Average / tau with r = 1, w = 15 s, t = 1 s; a crawl begins with each site's page of the shortest path. "
            "None of them was looked at when the generator was made. Two are query graphs, whose sites have a page or "
            "two: there politeness decides nothing."
        ),
        Points(about),
        Table(("graph", "optimal", *VARIED), rows),
    ]


def live(values: Mapping[str, Any]) -> list[Block]:
    """Crawls of the testbed beside simulated ones, where they were done."""
    live = values.get("live")
    if not live:
        return []
    rows = tuple(
        (
            name,
            shown(both["live"]["average"]),
            shown(both["simulated"]["average"]),
            shown(both["apart"]),
            f"{both['live']['seconds']:.1f}",
            f"{both['simulated']['seconds']:.1f}",
            shown(both["apart_by_time"]),
        )
        for name, both in live["orderings"].items()
    )
    titles = ("average, live", "simulated", "furthest apart", "seconds, live", "simulated", "furthest apart by time")
    return [
        Heading("Live crawls"),
        Text(
            f"The testbed, {live['pages']:,} pages on {live['sites']:,} sites, crawled with r = {live['r']}, w = "
            f"{live['w'] * 1000:g} ms (for 5 s) and k = 1, answers after {live['latency_ms']:g} ms in the median; and "
            "the same simulated, with the very latencies of the testbed. What the crawler itself takes for a page "
            "(connecting, parsing, storing) is not in the simulation."
        ),
        Table(("ordering", *titles), rows),
        Picture("live-pages"),
        Picture("live-time"),
    ]


def webs(values: Mapping[str, Any]) -> list[Block]:
    """The main webs beside the papers' collections."""
    rows: _Rows = tuple(
        (
            f"web {number}",
            f"{web['sites']:,}",
            f"{web['pages']:,}",
            f"{web['links']:,}",
            f"{web['largest_site']:,}",
            f"{100 * web['dangling']:.1f} %",
            f"{100 * web['external']:.1f} %",
            shown(web["optimal"]),
        )
        for number, web in enumerate(values["webs"], 1)
    )
    theirs: _Rows = (
        ("Chile (P1, table 1)", "50,000-51,000", "2.4-2.8 million", "", "25,000", "", "", ""),
        ("Greece (P1, table 1)", "29,000-31,000", "3.4-3.6 million", "", "25,000", "", "", ""),
    )
    titles = ("web", "sites", "pages", "links", "largest site", "dangling", "external", "optimal average")
    took = values.get("took")
    ending = [Text(f"All of it took {took / 60:.0f} minutes.")] if took else []
    return [
        Heading("The webs"),
        Text("Sites and pages are by construction, beside those of the papers' collections."),
        Table(titles, rows + theirs),
        *ending,
    ]
