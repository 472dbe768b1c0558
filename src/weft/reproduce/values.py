"""Everything the report says, as plain values. In: what came of the tasks. Out: a dictionary that JSON can hold.

`values` and `claims` have the papers' numbers and sentences with ours and a verdict; `signs`, `variants` and `real` are
tables of their own; `series` is what figures are drawn from. The report is written from this alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.reproduce import published
from weft.reproduce.claims import CLAIMS, Results, at, same_distribution
from weft.reproduce.experiments import (
    BANDWIDTHS,
    BESIDE,
    COUNTRIES,
    EVEN_ORDERINGS,
    FIGURE_4,
    READINGS,
    RERANKS,
    ROBOTS,
    SIGN_ORDERINGS,
    SIGN_TERMS,
    TABLE_2,
    VARIANTS,
    VARIED,
)
from weft.reproduce.scale import PAGE_TIME, Scale
from weft.reproduce.simulations import DAY, Found
from weft.reproduce.verdicts import claim_verdict, verdict
from weft.sim.batch import Choice
from weft.sim.speedup import Run, speed_ups

KIND = "weft reproduction"

Values = dict[str, Any]


def collect(found: Results, scale: Scale) -> Values:
    """All values."""
    seeds = range(1, scale.seeds + 1)
    return {
        "kind": KIND,
        "scale": {
            "sites": scale.sites,
            "pages": scale.pages,
            "sweep_sites": scale.sweep.sites,
            "sweep_pages": scale.sweep.pages,
            "variant_sites": scale.variant.sites,
            "variant_pages": scale.variant.pages,
            "seeds": scale.seeds,
        },
        "values": [_value(each, found, seeds) for each in published.values()],
        "claims": [_claim(each, found, scale.seeds) for each in published.claims()],
        "beside": {name: _pair(found, f"main/{{}}/{name}", seeds) for name in (*TABLE_2, *BESIDE)},
        "speed_ups": _speed_ups(found, seeds),
        "countries": _countries(found),
        "signs": _signs(found, seeds),
        "even_signs": _even_signs(found, seeds),
        "variants": _variants(found, seeds),
        "real": _real(found),
        "batches": _batches(found, seeds),
        "bounds": {
            f"{share:g}": [
                float(np.interp(share, _grid(found), found[f"main/{seed}"]["concentration"])) for seed in seeds
            ]
            for share in (0.5, 0.8)
        },
        "webs": [_plain_web(found[f"main/{seed}"]) for seed in seeds],
        "series": _series(found, seeds),
    }


def _value(value: published.Value, found: Results, seeds: range) -> Found:
    ours = [_ours(value.key, found, seed) for seed in seeds]
    return {
        "place": value.place,
        "name": value.name,
        "key": value.key,
        "published": value.published,
        "printed": value.printed or f"{value.published:g}",
        "tolerance": value.tolerance,
        "ours": ours,
        "verdict": verdict(value.published, value.tolerance, ours),
    }


def _ours(key: str, found: Results, seed: int) -> float:
    """Our value for one of the papers' numbers."""
    kind, _, rest = key.partition("/")
    web = f"main/{seed}"
    if kind in ("average", "tau", "half"):
        return float(found[f"{web}/{rest}"][kind])
    if kind == "speed-up":
        bandwidth, _, robots = rest.partition("/")
        return _speed_up(found, web, int(bandwidth), int(robots))
    if kind == "batch":
        return float(found[f"{web}/batches"][Choice.BEST.value]["runs"][rest]["hours"])
    if kind == "timed":
        return at(found, f"{web}/timed/length", float(rest))
    assert kind == "days", key
    by_time = found[f"{web}/timed/length"]["by_time"]
    place = int(np.searchsorted(by_time["pages"], float(rest) - 1e-9))
    return float(by_time["time"][min(place, len(by_time["time"]) - 1)] / DAY)


def _speed_up(found: Results, web: str, bandwidth: int, robots: int) -> float:
    """How many times faster than one robot on the widest link, over the same pages: see `weft.sim.speedup`."""
    runs = [
        Run("length", 1, r, each, found[f"{web}/bandwidth={each},r={r}"]["time"], 0.0)
        for each in BANDWIDTHS
        for r in ROBOTS
    ]
    table = {(each.run.bandwidth, each.run.connections): each.speed_up for each in speed_ups(runs)}
    return table[bandwidth, robots]


def _speed_ups(found: Results, seeds: range) -> dict[str, list[Found]]:
    """Table 1 of P0 in both readings: a robot leaves its site to rest, or waits with it."""
    rows: dict[str, list[Found]] = {}
    for reading in READINGS:
        for bandwidth, *speeds in published.TABLE_1:
            for robots, speed in zip(ROBOTS, speeds, strict=True):
                ours = [_speed_up(found, f"main/{seed}/{reading}".rstrip("/"), bandwidth, robots) for seed in seeds]
                within = verdict(speed, max(0.05, published.RELATIVE * speed), ours)
                row = {"bandwidth": bandwidth, "r": robots, "published": speed, "ours": ours, "verdict": within}
                rows.setdefault(reading, []).append(row)
    return rows


def _countries(found: Results) -> dict[str, Found]:
    """Averages and taus of the webs of figure 4 of P1, by ordering."""
    return {
        ordering: {
            what: [float(found[f"country/{name}/{ordering}"][what]) for name in COUNTRIES]
            for what in ("average", "tau")
        }
        for ordering in FIGURE_4
    }


def _claim(claim: published.Claim, found: Results, seeds: int) -> Found:
    if claim.key == "same-distribution":
        holds = [same_distribution(found, seeds)] if seeds > 1 else []
    else:
        holds = [CLAIMS[claim.key](found, seed) for seed in range(1, seeds + 1)]
    return {
        "place": claim.place,
        "name": claim.name,
        "key": claim.key,
        "holds": holds,
        "verdict": claim_verdict(holds),
    }


def _pair(found: Results, key: str, seeds: range) -> Found:
    """Average and tau of the crawls of all seeds."""
    return {name: [float(found[key.format(seed)][name]) for seed in seeds] for name in ("average", "tau")}


# The signs.


def _signs(found: Results, seeds: range) -> list[Found]:
    """Breadth-first, larger sites first and omniscient over page time and connections, means over seeds."""
    rows = []
    for page_time, robots in SIGN_TERMS:
        terms = "" if (page_time, robots) == (PAGE_TIME, 1) else f"t={page_time:g},r={robots}/"
        pairs = {name: _pair(found, f"main/{{}}/{terms}{name}", seeds) for name in SIGN_ORDERINGS}
        row = _sign(page_time, robots, pairs)
        best = max(row["averages"], key=lambda name: float(row["averages"][name]))
        rows.append({**row, "omniscient_highest": best == "omniscient"})
    return rows


def _even_signs(found: Results, seeds: range) -> list[Found]:
    """The same where links to other sites are spread more evenly."""
    return [
        _sign(
            page_time,
            robots,
            {name: _pair(found, f"even/{{}}/t={page_time:g},r={robots}/{name}", seeds) for name in EVEN_ORDERINGS},
        )
        for page_time, robots in SIGN_TERMS
    ]


def _sign(page_time: float, robots: int, pairs: Mapping[str, Found]) -> Found:
    averages = {name: float(np.mean(pair["average"])) for name, pair in pairs.items()}
    above = averages["larger-sites-first"] > averages["breadth-first"]
    return {
        "t": page_time,
        "r": robots,
        "averages": averages,
        "taus": {name: float(np.mean(pair["tau"])) for name, pair in pairs.items()},
        "expected": "above" if page_time <= PAGE_TIME or robots > 1 else "below",
        "found": "above" if above else "below",
    }


# What would have to be true.


def _variants(found: Results, seeds: range) -> list[Found]:
    rows = []
    for variant in VARIANTS:
        webs = [found[f"{variant.name}/{seed}"] for seed in seeds]
        rows.append(
            {
                "name": variant.name,
                "what": variant.what,
                "optimal": float(np.mean([web["optimal"] for web in webs])),
                "links_per_page": float(np.mean([web["links"] / web["pages"] for web in webs])),
                "external": float(np.mean([web["external"] for web in webs])),
                "orderings": {name: _pair(found, f"{variant.name}/{{}}/{name}", seeds) for name in VARIED},
            }
        )
    return rows


# Real graphs.


def _real(found: Results) -> list[Found]:
    names = [key.partition("/")[2] for key in found if key.startswith("real/") and key.count("/") == 1]
    rows = []
    for name in names:
        web = found[f"real/{name}"]
        kept = ("about", "sites", "pages", "links", "external", "unreached", "unusable", "guessed", "optimal")
        crawls = {each: {what: found[f"real/{name}/{each}"][what] for what in ("average", "tau")} for each in VARIED}
        rows.append({"name": name, **{what: web[what] for what in kept}, "orderings": crawls})
    return rows


# Batches.


def _batches(found: Results, seeds: range) -> list[Found]:
    rows = []
    for choice in Choice:
        some = [found[f"main/{seed}/batches"][choice.value] for seed in seeds]
        rows.append(
            {
                "choice": choice.value,
                "pages": [each["pages"] for each in some],
                "sites": [each["sites"] for each in some],
                "largest": [each["largest"] for each in some],
                "hours": {run: [each["runs"][run]["hours"] for each in some] for run in some[0]["runs"]},
            }
        )
    return rows


def _plain_web(web: Found) -> Found:
    return {name: value for name, value in web.items() if name not in ("concentration", "took")}


# Figures: those of the first seed, as the papers draw one collection, and all seeds where they lie together.


def _series(found: Results, seeds: range) -> Found:
    def by_pages(key: str) -> Found:
        return {"x": found[key]["fraction"], "y": found[key]["pagerank"]}

    def by_time(key: str, what: str) -> Found:
        series = found[key]["by_time"]
        return {"x": [each / DAY for each in series["time"]], "y": series[what]}

    def many(web: str, names: tuple[str, ...]) -> Found:
        return {name: by_pages(f"{web}/{name}") for name in names}

    grid = _grid(found)
    sweep = "sweep/1"
    reranked = tuple(f"{name},K={k}" for name in ("batch", "partial") for k in RERANKS)
    runs = found["main/1/batches"][Choice.BEST.value]["runs"]
    return {
        "p0-1": _full(runs[_LINK], _LINK_RATE),
        "p0-2": {
            "used": {"x": runs[_LINK]["at"], "y": runs[_LINK]["used"]},
            "wasted": _wasted(runs[_LINK], _LINK_RATE),
        },
        "p0-3": {f"web {seed}": _sizes(found[f"main/{seed}"]) for seed in seeds},
        "p0-5": many(sweep, ("omniscient", "length", "depth", *reranked, "random")),
        "p0-6": many(sweep, tuple(f"{name},r={r}" for name in ("depth", "length") for r in ROBOTS)),
        "p0-7": {name: {"x": run["at"], "y": run["robots"]} for name, run in runs.items()},
        "p0-8": {
            "pages": by_time("main/1/timed/length", "pages"),
            "PageRank": by_time("main/1/timed/length", "pagerank"),
        },
        "p0-9": {f"web {seed}": _days(found[f"main/{seed}/timed/length"]) for seed in seeds},
        "p0-10": {f"web {seed}": _depths(found[f"main/{seed}"]) for seed in seeds},
        "p1-3": {f"web {seed}": {"x": grid, "y": found[f"main/{seed}"]["concentration"]} for seed in seeds},
        "p1-4": {name: many(f"country/{name}", FIGURE_4) for name in COUNTRIES},
        "p1-5": many("main/1", (*TABLE_2[6:], "opic")),
        "p1-6": {
            f"{what}, {name}": by_time(f"main/1/timed/{name}", key)
            for what, key in (("pages", "pages"), ("PageRank", "pagerank"))
            for name in ("breadth-first", "larger-sites-first")
        },
    }


_LINK_RATE = 20_000  # bytes a second, of the batch of P0's figure 7 that figures 1 and 2 are drawn of
_LINK = f"k=1, {_LINK_RATE}"


def _full(run: Found, bandwidth: float) -> Found:
    """The bytes of a download as they would come if the link were in use all the time, for T*."""
    least = run["bytes"] / bandwidth / 3600
    return {"used": {"x": [0.0, least], "y": [bandwidth] * 2}, "wasted": {"x": [0.0, least], "y": [0.0] * 2}}


def _wasted(run: Found, bandwidth: float) -> Found:
    return {"x": run["at"], "y": [max(0.0, bandwidth - used) for used in run["used"]]}


def _grid(found: Results) -> list[float]:
    """The shares of the pages at which PageRank's concentration is known."""
    return list(np.linspace(0, 1, len(found["main/1"]["concentration"])))


def _sizes(web: Found) -> Found:
    """Sites of a size, in bins that double: their share of all sites, by page of the bin's width."""
    rows = [row for row in web["site_sizes"] if row[0] > 0]
    return {
        "x": [float(np.sqrt(low * high)) for low, high, _ in rows],
        "y": [many / (high - low + 1) / web["sites"] for low, high, many in rows],
    }


def _days(crawl: Found) -> Found:
    return {"x": list(range(1, len(crawl["by_day"]) + 1)), "y": crawl["by_day"]}


def _depths(web: Found) -> Found:
    levels = [level for level in web["depths"] if level[1] >= 20]  # a handful of pages has no average worth drawing
    return {"x": [level[0] for level in levels], "y": [level[2] for level in levels]}
