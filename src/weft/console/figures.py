"""Plots over the life of a crawl. In: what `weft report` measures over time. Out: SVG files and the same as CSV.

They are drawn here and not by matplotlib: an operator has them open all day, and a drawing takes a millisecond so. An
image file knows nothing of the page around it, so there is one for light and one for dark; it has no style and no
script in it, only attributes. Colours are those of `weft.printing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

from weft.printing.plots import COLOURS
from weft.units import size, span

_WIDTH, _HEIGHT = 760, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 12, 34, 30
_LINES = {"light": COLOURS, "dark": (COLOURS[4], COLOURS[5], COLOURS[2], *COLOURS[:2])}  # what is seen on dark
_INKS = {"light": ("#1f2328", "#59636e", "#d1d9e0"), "dark": ("#e6e8eb", "#9aa4ae", "#3d444d")}
_FONT = 'font-family="system-ui, Segoe UI, Helvetica Neue, sans-serif"'


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot: its title, what its numbers are, and its series by their names in the measured values."""

    title: str
    says: str  # what it means, in a sentence
    number: Callable[[float], str]
    series: Mapping[str, str]


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:,.2g}"


FIGURES: dict[str, Figure] = {
    "speed": Figure(
        "Pages and fetches a second",
        "Fetches are all requests that came to an end: robots.txt files, parts of pages and repeated tries are among "
        "them.",
        _plain,
        {"pages": "pages_rate", "fetches": "fetches_rate"},
    ),
    "bandwidth": Figure(
        "Bytes a second, by what they were good for",
        "Overhead is robots.txt files and redirects; wasted are failures, contents that were there already, and those "
        "not kept.",
        lambda number: f"{size(number)}/s",
        {"useful": "useful_rate", "overhead": "overhead_rate", "wasted": "wasted_rate"},
    ),
    "downloads": Figure(
        "Downloads under way",
        "How many answers were awaited or read at the same time, the mean of each interval.",
        _plain,
        {"downloads": "downloads_under_way"},
    ),
}


def as_svg(figure: Figure, measured: Mapping[str, Any], tone: str) -> str:
    """The plot as an image, for light or for dark."""
    ink, faint, line = _INKS[tone]
    series = {label: [float(each) for each in measured[name]] for label, name in figure.series.items()}
    most = _round_up(max((max(values, default=0.0) for values in series.values()), default=0.0))
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} {_FONT} font-size="12" fill="{ink}">',
        f"<title>{escape(figure.title)}</title>",
    ]
    for step in range(5):
        y = bottom - (bottom - _TOP) * step / 4
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="{line}" fill="none"/>')
        said = escape(figure.number(most * step / 4))
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{faint}">{said}</text>')
    parts += _times(measured, faint)
    at = _LEFT
    for place, (label, values) in enumerate(series.items()):
        colour = _LINES[tone][place % len(_LINES[tone])]
        parts.append(
            f'<polyline points="{_points(values, most)}" fill="none" stroke="{colour}" stroke-width="1.8" '
            'stroke-linejoin="round"/>'
        )
        parts.append(f'<path d="M{at} 16h18" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{at + 24}" y="20">{escape(label)}</text>')
        at += 44 + 8 * len(label)
    return "".join([*parts, "</svg>"])


def as_csv(figure: Figure, measured: Mapping[str, Any]) -> str:
    """The numbers behind a plot: seconds since the first fetch, at the begin of each interval."""
    columns: Sequence[Sequence[float]] = [measured[name] for name in figure.series.values()]
    lines = [",".join(("seconds", *figure.series))]
    for place, values in enumerate(zip(*columns, strict=True)):
        lines.append(",".join(f"{number:.6g}" for number in (place * measured["interval"], *values)))
    return "\r\n".join(lines) + "\r\n"


def _points(values: Sequence[float], most: float) -> str:
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    step = wide / max(1, len(values) - 1)
    return " ".join(
        f"{_LEFT + place * step:.1f},{_TOP + high * (1 - value / most):.1f}" for place, value in enumerate(values)
    )


def _times(measured: Mapping[str, Any], faint: str) -> list[str]:
    """When it began, how long that is, and when it ended."""
    began = datetime.fromtimestamp(measured["began"], UTC)
    whole = measured["interval"] * len(measured["pages_rate"])
    y, right = _HEIGHT - _BOTTOM + 18, _WIDTH - _RIGHT
    middle = (_LEFT + right) / 2
    ended = datetime.fromtimestamp(measured["began"] + whole, UTC)
    return [
        f'<text x="{_LEFT}" y="{y}" fill="{faint}">{began:%Y-%m-%d %H:%M:%S}</text>',
        f'<text x="{middle:.0f}" y="{y}" text-anchor="middle" fill="{faint}">{escape(span(whole))}</text>',
        f'<text x="{right}" y="{y}" text-anchor="end" fill="{faint}">{ended:%Y-%m-%d %H:%M:%S} UTC</text>',
    ]


def _round_up(number: float) -> float:
    """The next number that is easy to read.

    >>> _round_up(0.0), _round_up(7.0), _round_up(130.0), _round_up(0.03)
    (1.0, 8.0, 200.0, 0.04)
    """
    if number <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(number))
    return next((step * power for step in (1, 2, 4, 8) if step * power >= number), 10 * power)
