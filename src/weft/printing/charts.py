"""Charts as data. In: series of numbers and the frame they stand in. Out: the same as CSV, for other programs.

What a chart looks like is the errand of `plots`. Every number that is drawn is in the CSV, one point a line, the axes'
names at its head.

>>> print(csv_of(Lines([Series("opic", [0, 1], [0.5, 1])], Frame("Better is higher", "pages", "PageRank"))), end="")
series,pages,PageRank
opic,0,0.5
opic,1,1
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around a drawing: a title that says what is to be seen, the axes, and how they run."""

    title: str
    x: str
    y: str
    x_log: bool = False
    y_log: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    height: float = 4.4
    """Inches; all figures are 8 wide."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Points with a name; a reference is what the others are held against, drawn thin and in the colour of text."""

    label: str
    x: ArrayLike
    y: ArrayLike
    reference: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """One value for each place of a bar chart, nan where there is none, and how far it spreads down and up."""

    label: str
    values: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """A line for each series."""

    series: Sequence[Series]
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points for each series, and a line for a reference."""

    series: Sequence[Series]
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """Areas one on top of the other, each as high as its series says; the last is hatched: it is what was not used.
    References are lines.
    """

    series: Sequence[Series]
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class BarChart:
    """Bars that lie, names on the left, the first one on top; one bar for each series at every name."""

    names: Sequence[str]
    series: Sequence[Bars]
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """Charts of one kind side by side, two in a row, with one legend; each frame's title names its panel."""

    charts: Sequence[Lines | Areas]
    frame: Frame


Chart = Lines | Points | Areas | BarChart | Panels


def csv_of(chart: Chart) -> str:
    """All numbers of a chart."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    match chart:
        case Panels():
            rows.writerow(["panel", "series", chart.frame.x, chart.frame.y])
            for panel in chart.charts:
                rows.writerows([panel.frame.title, *row] for row in _points(panel.series))
        case BarChart():
            rows.writerow(["name", "series", "value", "low", "high"])
            for place, name in enumerate(chart.names):
                for each in chart.series:
                    spread = [_plain(side[place]) if side is not None else "" for side in (each.low, each.high)]
                    rows.writerow([name, each.label, _plain(each.values[place]), *spread])
        case _:
            rows.writerow(["series", chart.frame.x, chart.frame.y or "value"])
            rows.writerows(_points(chart.series))
    return text.getvalue()


def _points(series: Sequence[Series]) -> Iterator[list[str]]:
    for each in series:
        for x, y in zip(np.asarray(each.x), np.asarray(each.y), strict=True):
            yield [each.label, _plain(x), _plain(y)]


def _plain(value: float) -> str:
    """A number with all digits that it has, and no more; nothing where there is none.

    >>> _plain(np.float64(0.1)), _plain(3.0), _plain(float("nan")), _plain(1e-9)
    ('0.1', '3', '', '1e-09')
    """
    number = float(value)
    if np.isnan(number):
        return ""
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
