"""The papers' figures, drawn from our values. In: the values. Out: charts with a caption and a description."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from weft.printing import plots
from weft.printing.charts import Areas, Chart, Frame, Lines, Panels, Points, Series
from weft.printing.figures import Figure
from weft.reproduce.scale import PAGES

Named = Mapping[str, Mapping[str, Any]]


_PAGES = ("share of the pages", "cumulative PageRank")
_UNIT: dict[str, Any] = {"x_range": (0, 1), "y_range": (0, 1.01)}


def draw(values: Mapping[str, Any]) -> dict[str, Figure]:
    """All figures there are values for; none where matplotlib is missing."""
    if not plots.available():
        return {}
    found = [_drawn(name, series, values) for name, series in values["series"].items()]
    if values.get("live"):
        found += _live(values["live"])
    return {figure.name: figure for figure in found}


def _drawn(name: str, series: Named, values: Mapping[str, Any]) -> Figure:
    frame, caption = _frame(name, values)
    if name == "p1-4":
        panels = [Lines(_series(each), replace(frame, title=web)) for web, each in series.items()]
        said = _said(frame, [f"{web}: {', '.join(each)}" for web, each in series.items()])
        return Figure(name, Panels(panels, replace(frame, height=6.6)), caption, said)
    kind: Callable[[list[Series], Frame], Chart] = _KINDS.get(name, Lines)
    return Figure(name, kind(_series(series), frame), caption, _said(frame, series))


_KINDS: dict[str, Callable[[list[Series], Frame], Chart]] = {"p0-1": Areas, "p0-2": Areas, "p0-3": Points}


def _series(named: Named) -> list[Series]:
    return [Series(label, each["x"], each["y"], reference=label == "random") for label, each in named.items()]


def _frame(name: str, values: Mapping[str, Any]) -> tuple[Frame, str]:
    scale = values["scale"]
    main = f"{scale['pages']:,} pages on {scale['sites']:,} sites"
    sweep = f"{scale['sweep_pages']:,} pages on {scale['sweep_sites']:,} sites"
    frames: dict[str, tuple[Frame, str]] = {
        "p0-1": (
            Frame("The link in use all the time", "hours", "bytes a second", **_batch_look(values)),
            "P0, figure 1: a batch of the best pending pages if all could be had at once: it takes T*; seed 1.",
        ),
        "p0-2": (
            Frame(
                "The link as it is used: what is hatched is wasted", "hours", "bytes a second", **_batch_look(values)
            ),
            "P0, figure 2: the same batch, k = 1: sites have to be left alone for w, and run out of pages.",
        ),
        "p0-3": (
            Frame("Few sites have most of the pages", "pages of a site", "share of the sites", x_log=True, y_log=True),
            f"P0, figure 3: site sizes; {main}, all seeds.",
        ),
        "p0-5": (
            Frame("One robot: cumulative PageRank by pages", *_PAGES, **_UNIT),
            f"P0, figure 5: r = 1, t = .04 s; {sweep}, seed 1. K as in the paper; in proportion here.",
        ),
        "p0-6": (
            Frame("Depth and Length with 1, 64 and 256 robots", *_PAGES, **_UNIT),
            f"P0, figure 6: t = 1 s; {sweep}, seed 1.",
        ),
        "p0-7": (
            Frame("A batch from the middle of the crawl", "hours", "active robots"),
            "P0, figure 7: robots at work on a batch of the best pending pages; k, bytes a second of the link; seed 1.",
        ),
        "p0-8": (
            Frame("Length with up to 1,000 connections, by time", "days", "share", y_range=(0, 1.01)),
            f"P0, figure 8: w = 15 s, k = 1, no limit on the link; {main}, seed 1.",
        ),
        "p0-9": (
            Frame("What each day brings", "day of the crawl", "average PageRank (1: of all pages)"),
            "P0, figure 9: the same crawl, all seeds.",
        ),
        "p0-10": (
            Frame("PageRank by depth", "links from the nearest home page", "average PageRank (1: of all pages)"),
            f"P0, figure 10: {main}, all seeds; depths with fewer than 20 pages are left out.",
        ),
        "p1-3": (
            Frame("Who holds the PageRank", *_PAGES, **_UNIT),
            f"P1, figure 3: the best pages first, which no crawler can be above; {main}, all seeds.",
        ),
        "p1-4": (
            Frame("Strategies without history", *_PAGES, **_UNIT),
            f"P1, figure 4: r = 1, w = 15 s, t = .04 s; webs {PAGES / scale['sweep_pages']:.3g} times smaller.",
        ),
        "p1-5": (
            Frame("Strategies with history", *_PAGES, **_UNIT),
            "P1, figure 5: the same web; 55 % of the pages, with 72 % of the PageRank, are old by construction.",
        ),
        "p1-6": (
            Frame("By time: breadth-first and larger sites first", "days", "share", y_range=(0, 1.01)),
            "P1, figure 6: up to 1,000 connections, w = 5 s, and 15 s for sites of less than 100 pages; seed 1.",
        ),
    }
    return frames[name]


def _batch_look(values: Mapping[str, Any]) -> dict[str, Any]:
    """Figures 1 and 2 of P0 have the same axes, one below the other."""
    full, used = values["series"]["p0-1"]["used"], values["series"]["p0-2"]["used"]
    return {"height": 2.6, "x_range": (0, max(used["x"], default=1.0)), "y_range": (0, 1.05 * full["y"][0])}


def _live(live: Mapping[str, Any]) -> list[Figure]:
    """The measured curves over the simulated ones."""
    pages, time = {}, {}
    for ordering, both in live["orderings"].items():
        for kind in ("live", "simulated"):
            run = both[kind]
            pages[f"{ordering}, {kind}"] = {"x": run["fraction"], "y": run["pagerank"]}
            time[f"{ordering}, {kind}"] = {"x": run["time"], "y": run["pagerank_by_time"]}
    about = f"{live['pages']:,} pages on {live['sites']:,} sites, r = {live['r']}, w = {live['w'] * 1000:g} ms, k = 1."
    return [
        _overlaid("live-pages", Frame("Live and simulated, by pages", *_PAGES, **_UNIT), pages, about),
        _overlaid("live-time", Frame("Live and simulated, by time", "seconds", _PAGES[1]), time, about),
    ]


def _overlaid(name: str, frame: Frame, series: Named, about: str) -> Figure:
    return Figure(name, Lines(_series(series), frame), f"{frame.title}: {about}", _said(frame, series))


def _said(frame: Frame, labels: Iterable[str]) -> str:
    return f"Chart of {frame.y} by {frame.x}: {'; '.join(labels)}."
