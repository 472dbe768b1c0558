"""The figures of a report of simulations. In: what was measured. Out: charts, each with what is said about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.printing.charts import Areas, Frame, Lines, Panels, Series
from weft.printing.figures import Figure
from weft.sim import metrics
from weft.sim.measured import Measured
from weft.sim.usage import POINTS

_MOST_LINES = 14  # more cannot be told apart
_MOST_PANELS = 6
_MANY_TIMES = 20


def figures(
    ranked: Sequence[Measured], scores: NDArray[np.float64], table: Sequence[Mapping[str, Any]]
) -> list[Figure]:
    """Cumulative PageRank by pages and by time; speed-ups; and, where robots or a link are shared, robots at work and
    bandwidth used and wasted over time.
    """
    shown, left = _some(ranked)
    found = [_by_pages(shown, scores, left), _by_time(shown, left)]
    if len({row["connections"] for row in table}) > 1:
        found.append(_speed_ups(table))
    busy = [each for each in shown if each.usage.used is not None or float(each.usage.robots.max()) > 1.0]
    if busy:
        found.append(_active(busy, left))
    linked = [each for each in ranked if each.usage.used is not None and math.isfinite(each.usage.bandwidth)]
    if linked:
        found.append(_bandwidth(linked))
    return found


def _some(ranked: Sequence[Measured]) -> tuple[Sequence[Measured], str]:
    """As many as can be told apart, those on the widest link before others; and what is said of the others."""
    if len(ranked) <= _MOST_LINES:
        return ranked, ""
    simulated = [each for each in ranked if "connections" in each.measures["parameters"]]
    widest = max((each.terms[1] for each in simulated), default=math.inf)
    some = [each for each in ranked if each not in simulated or each.terms[1] == widest][:_MOST_LINES]
    return some, f" {len(ranked) - len(some)} more crawls are in curves.parquet; those on the widest link are drawn."


def _by_pages(shown: Sequence[Measured], scores: NDArray[np.float64], left: str) -> Figure:
    optimal = metrics.curve(np.arange(len(scores)), np.sort(scores)[::-1], np.zeros(len(scores)))
    series = [Series("optimal", optimal.fraction, optimal.pagerank, reference=True)]
    series += [Series(each.name, each.curve.fraction, each.curve.pagerank) for each in shown]
    title = "The higher a curve, the more PageRank is in after the same number of pages"
    frame = Frame(title, "share of the pages", "cumulative PageRank", x_range=(0, 1), y_range=(0, 1.01))
    caption = (
        "Cumulative PageRank by pages. The dotted line takes the pages in the order of their PageRank, which no "
        "crawler can. Pages drawn at random from the whole graph would go along the diagonal; the ordering random "
        f"draws from the pages found so far, and those that are found early have more links to them than others.{left}"
    )
    return Figure("pagerank-by-pages", Lines(series, frame), caption, _said(shown, "by pages"))


def _by_time(shown: Sequence[Measured], left: str) -> Figure:
    unit, length, axis = _time_axis(shown)
    series = [Series(each.name, each.by_time.time / length, each.by_time.pagerank) for each in shown]
    title = "The further left a curve, the sooner its PageRank is in"
    frame = Frame(title, unit, "cumulative PageRank", y_range=(0, 1.01), **axis)
    caption = (
        "Cumulative PageRank by time: an order is worth little if politeness keeps the crawler waiting for it." + left
    )
    return Figure("pagerank-by-time", Lines(series, frame), caption, _said(shown, "by time"))


def _speed_ups(table: Sequence[Mapping[str, Any]]) -> Figure:
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in table:
        parts = [
            *([row["ordering"]] if len({each["ordering"] for each in table}) > 1 else []),
            *([f"k = {row['per_visit']}"] if len({each["per_visit"] for each in table}) > 1 else []),
            *([rate(row["bandwidth"])] if len({each["bandwidth"] for each in table}) > 1 else []),
        ]
        lines.setdefault(", ".join(parts) or row["ordering"], []).append((row["connections"], row["speed_up"]))
    most = max(row["connections"] for row in table)
    series = [Series("r", [1, most], [1, most], reference=True)]
    for label, points in list(lines.items())[:_MOST_LINES]:
        xs, ys = zip(*sorted(points), strict=True)
        series.append(Series(label, xs, ys))
    frame = Frame(
        "Where a line leaves the dotted one, more robots are idle, or share a full link",
        "connections (r)",
        "speed-up",
        x_log=True,
        y_log=True,
    )
    best = max(table, key=lambda row: float(row["speed_up"]))
    said = f"Line chart. The highest speed-up is {best['speed_up']:.1f} with {best['connections']} connections."
    return Figure("speed-ups", Lines(series, frame), "Speed-ups (P0, table 1), all crawls over the same pages.", said)


def _active(busy: Sequence[Measured], left: str) -> Figure:
    unit, length, axis = _time_axis(busy)
    series = [Series(each.name, each.usage.time / length, each.usage.robots) for each in busy]
    most = max(float(each.usage.robots.max()) for each in busy)
    title = "Where a line falls, robots have found no site that may be visited"
    frame = Frame(title, unit, "active robots", y_range=(0, 1.05 * most or 1.0), **axis)
    caption = f"Active robots over time (P0, figure 7), means of {POINTS} intervals.{left}"
    said = "; ".join(f"{each.name} {each.measures['active']:.1f}" for each in busy)
    return Figure("active-robots", Lines(series, frame), caption, f"Line chart. Mean of active robots: {said}.")


def _bandwidth(linked: Sequence[Measured]) -> Figure:
    """P0's figure 2, and its figure 1 as an outline."""
    drawn = linked[:_MOST_PANELS]
    more = f" {len(linked) - len(drawn)} more crawls are in usage.parquet." if len(linked) > len(drawn) else ""
    caption = (
        "Bandwidth over time: used, and wasted because sites are slow or have to be left alone (P0, figure 2); inside "
        f"the dotted line the same bytes if the link were in use all the time, for T* (P0, figure 1).{more}"
    )
    said = "; ".join(f"{each.name} {100 * each.measures['wasted_bandwidth']:.0f} % wasted" for each in drawn)
    if len(drawn) == 1:
        scale, name = _scale(drawn[0].usage.bandwidth)
        return Figure(
            "bandwidth", _used(drawn[0], _TITLE, f"{name} a second", scale, drawn), caption, f"Area chart. {said}."
        )
    charts = [_used(each, each.name, "share", each.usage.bandwidth, drawn) for each in drawn]
    frame = Frame(_TITLE, charts[0].frame.x, "share of the bandwidth", height=1.0 + 2.4 * (-(-len(charts) // 2)))
    return Figure("bandwidth", Panels(charts, frame), caption, f"Area charts. {said}.")


_TITLE = "What is hatched could have been moved, and was not"


def _used(each: Measured, title: str, y: str, scale: float, drawn: Sequence[Measured]) -> Areas:
    """One crawl's; `scale` is what its axis counts in."""
    used = each.usage
    assert used.used is not None
    assert used.least_time is not None
    unit, length, _ = _time_axis(drawn)
    time, least = used.time / length, used.least_time / length
    full = used.bandwidth / scale
    outline = Series("T*: all of it, all the time", [0, 0, least, least], [0, full, full, 0], reference=True)
    end = max(each.measures["time"], used.least_time) / length or 1.0
    series = [Series("used", time, used.used / scale), Series("wasted", time, used.wasted / scale), outline]
    return Areas(series, Frame(title, unit, y, x_range=(0, end), y_range=(0, 1.05 * full)))


# As people read it.


def unit_of(seconds: float) -> tuple[str, float]:
    """The unit in which a time is best read.

    >>> unit_of(90.0), unit_of(90_000.0)
    (('seconds', 1.0), ('hours', 3600.0))
    """
    units = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0))
    return next((each for each in units if seconds >= 2 * each[1]), ("seconds", 1.0))


def rate(bandwidth: float | None) -> str:
    """Bytes a second as they are read.

    >>> rate(20_000.0), rate(2e6), rate(1500.0), rate(None)
    ('20 kB/s', '2 MB/s', '1.5 kB/s', 'no limit')
    """
    if bandwidth is None or not math.isfinite(bandwidth):
        return "no limit"
    scale, name = _scale(bandwidth)
    return f"{bandwidth / scale:g} {name}/s"


def short_rate(bandwidth: float) -> str:
    """The same as a part of a file's name, with all its digits.

    >>> short_rate(20_000.0), short_rate(1_234_567.0), short_rate(math.inf)
    ('20kB', '1.234567MB', 'inf')
    """
    scale, name = _scale(bandwidth) if math.isfinite(bandwidth) else (1.0, "")
    return f"{bandwidth / scale:.15g}{name}"


def _scale(amount: float) -> tuple[float, str]:
    scales = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    return next((each for each in scales if amount >= each[0]), (1.0, "bytes"))


def _time_axis(kept: Sequence[Measured]) -> tuple[str, float, dict[str, Any]]:
    """Title and unit of an axis of time, and how it runs: by powers of ten where one crawl takes many times as long as
    another.
    """
    times = [each.measures["time"] for each in kept]
    longest, shortest = max(times), min(times)
    unit, length = unit_of(longest)
    end = longest / length or 1.0
    if 0 < shortest < longest / _MANY_TIMES:
        return f"{unit} from the start", length, {"x_log": True, "x_range": (shortest / length / 100, end)}
    return f"{unit} from the start", length, {"x_range": (0, end)}


def _said(ranked: Sequence[Measured], against: str) -> str:
    averages = "; ".join(f"{each.name} {each.measures['average']:.3f}" for each in ranked)
    return f"Line chart of cumulative PageRank {against}. Averages: {averages}."
