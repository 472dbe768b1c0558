"""Figures of one look. In: charts. Out: SVG as text, or PNG.

Seven colours that the colour-blind tell apart, and another dash when they are used up; the text stays text. The same
input gives the same file, byte for byte. Lines and letters are in the colour of the text around them (`currentColor`),
and the background is a rectangle of class `paper`, so that a page can show the figure on light and on dark.

matplotlib is an extra (`weft[plots]`), imported only here and only when a figure is drawn.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from weft.errors import UsageError
from weft.printing.charts import Areas, BarChart, Bars, Chart, Frame, Lines, Panels, Points, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "Bars", "Frame", "Series", "available", "bars", "lines", "png", "scatter", "svg"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c6d46")
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MARKERS = ("o", "s", "^", "D", "v", "X", "P")
_INK = "#1f2328"  # becomes the colour of the text around
_DOTS = 150  # an inch
_GREY = "#8c959f"  # visible on light and on dark
_LOOK: dict[str, Any] = {
    "svg.hashsalt": "weft",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so that widths are the same everywhere
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": _GREY,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "hatch.linewidth": 0.7,
    "figure.facecolor": "none",
}


def available() -> bool:
    """Whether figures can be drawn here."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError:
        return False
    return True


def lines(series: Sequence[Series], frame: Frame) -> str:
    """A line for each series, with a legend beside where there is more than one."""
    return svg(Lines(series, frame))


def scatter(series: Sequence[Series], frame: Frame) -> str:
    """Points for each series, a line for references (a fitted slope); for log-log, say so in the frame."""
    return svg(Points(series, frame))


def bars(names: Sequence[str], series: Sequence[Bars], frame: Frame) -> str:
    """Bars that lie, names on the left, the first one on top; one bar for each series at every name."""
    return svg(BarChart(names, series, frame))


def svg(chart: Chart) -> str:
    """A chart as SVG."""
    # Who made it and when would differ from one machine to the next.
    metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    return _follow_the_page(_saved(chart, format="svg", metadata=metadata).decode())


def png(chart: Chart) -> bytes:
    """A chart as PNG, dark on white, large enough for print."""
    return _saved(chart, format="png", dpi=_DOTS, facecolor="white", metadata={"Software": None})


def _saved(chart: Chart, **options: Any) -> bytes:
    """Draw into an empty figure and give the file of it."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("drawing figures needs matplotlib", todo="pip install 'weft[plots]'") from error
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the user's own matplotlibrc says
        mpl.rcParams.update(cast("Any", _LOOK))
        # No pyplot: it keeps figures alive and looks for a screen.
        figure = Figure(figsize=(8.0, chart.frame.height), layout="constrained")
        _draw(figure, chart)
        file = io.BytesIO()
        figure.savefig(file, **options)
    return file.getvalue()


def _draw(figure: Figure, chart: Chart) -> None:
    if isinstance(chart, Panels):
        _draw_panels(figure, chart)
        return
    axes = figure.add_subplot()
    _dress(axes, chart.frame)  # first, so that a drawing may name the ticks itself
    _draw_one(axes, chart)
    if len(chart.series) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.01), borderaxespad=0, fontsize=9)


def _draw_panels(figure: Figure, chart: Panels) -> None:
    """Two in a row, one legend below."""
    figure.suptitle(chart.frame.title, x=0.01, ha="left", fontsize=11)
    rows = -(-len(chart.charts) // 2)
    for place, each in enumerate(chart.charts):
        axes = figure.add_subplot(rows, 2, place + 1)
        _dress(axes, each.frame)
        axes.title.set_fontsize(10)
        _draw_one(axes, each)
    legends = (axes.get_legend_handles_labels() for axes in figure.axes)
    named = {label: handle for handles, labels in legends for handle, label in zip(handles, labels, strict=True)}
    figure.legend(list(named.values()), list(named), loc="outside lower left", ncols=4, fontsize=9)


def _draw_one(axes: Axes, chart: Lines | Points | Areas | BarChart) -> None:
    match chart:
        case Lines():
            _draw_lines(axes, chart.series)
        case Points():
            _draw_points(axes, chart.series)
        case Areas():
            _draw_areas(axes, chart.series)
        case BarChart():
            _draw_bars(axes, chart)


def _draw_lines(axes: Axes, series: Sequence[Series]) -> None:
    drawn = 0
    for each in series:
        if each.reference:
            axes.plot(each.x, each.y, label=each.label, color=_INK, linewidth=1.0, linestyle=(0, (2, 2)))
        else:
            axes.plot(each.x, each.y, label=each.label, color=_colour(drawn), linestyle=_dash(drawn))
            drawn += 1


def _draw_points(axes: Axes, series: Sequence[Series]) -> None:
    drawn = 0
    for each in series:
        if each.reference:
            axes.plot(each.x, each.y, label=each.label, color=_INK, linewidth=1.0)
            continue
        look: dict[str, Any] = {"markersize": 3.5, "markeredgewidth": 0, "alpha": 0.75, "linestyle": "none"}
        marker = _MARKERS[drawn % len(_MARKERS)]
        axes.plot(each.x, each.y, label=each.label, color=_colour(drawn), marker=marker, **look)
        drawn += 1


def _draw_areas(axes: Axes, series: Sequence[Series]) -> None:
    filled = [each for each in series if not each.reference]
    below: Any = np.zeros(len(np.asarray(filled[0].y))) if filled else 0.0
    for number, each in enumerate(filled):
        above = below + np.asarray(each.y, dtype=np.float64)
        look: dict[str, Any] = {"facecolor": _colour(number), "linewidth": 0}
        if each is filled[-1]:
            look = {"facecolor": "none", "edgecolor": _GREY, "hatch": "////", "linewidth": 0}
        axes.fill_between(np.asarray(each.x), below, above, label=each.label, **look)
        below = above
    _draw_lines(axes, [each for each in series if each.reference])


def _draw_bars(axes: Axes, chart: BarChart) -> None:
    thick = 0.8 / max(1, len(chart.series))
    for number, each in enumerate(chart.series):
        values = np.asarray(each.values, dtype=np.float64)
        places = np.arange(len(chart.names)) - 0.4 + thick * (number + 0.5)
        axes.barh(places, values, height=thick * 0.9, color=_colour(number), label=each.label)
        if each.low is not None and each.high is not None:
            spread = np.maximum(0.0, [values - np.asarray(each.low), np.asarray(each.high) - values])
            axes.errorbar(values, places, xerr=spread, fmt="none", ecolor=_INK, elinewidth=1.0, capsize=2.5)
    axes.set_yticks(np.arange(len(chart.names)), labels=list(chart.names))
    axes.set_ylim(len(chart.names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def _dress(axes: Axes, frame: Frame) -> None:
    """Give the axes their title, names, scales and ranges."""
    axes.set_title(frame.title)
    axes.set_xlabel(frame.x)
    axes.set_ylabel(frame.y)
    for axis, set_scale, log in (
        (axes.xaxis, axes.set_xscale, frame.x_log),
        (axes.yaxis, axes.set_yscale, frame.y_log),
    ):
        if log:
            set_scale("log")
            axis.set_minor_formatter("")
        axis.set_major_formatter(_power if log else _number)
    if frame.x_range:
        axes.set_xlim(*frame.x_range)
    if frame.y_range:
        axes.set_ylim(*frame.y_range)


def _number(value: float, _place: float) -> str:
    """A number at a linear axis.

    >>> _number(2500000.0, 0), _number(0.1 + 0.2, 0)
    ('2,500,000', '0.3')
    """
    return f"{value:,.10g}"


def _power(value: float, _place: float) -> str:
    """A power of ten at a logarithmic axis.

    >>> _power(0.001, 0), _power(100.0, 0)
    ('10⁻³', '10²')
    """
    return "10" + str(round(math.log10(value))).translate(_RAISED) if value > 0 else ""


def _follow_the_page(svg: str) -> str:
    """Let the text's colour be that of the page around; a figure on its own is dark on white."""
    head, start, rest = svg.replace(_INK, "currentColor").partition("<svg")
    attributes, end, drawing = rest.partition(">")
    paper = '\n <rect class="paper" width="100%" height="100%" fill="#ffffff"/>'
    return f'{head}{start} color="{_INK}"{attributes}{end}{paper}{drawing}'


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _dash(number: int) -> Any:
    return _DASHES[number // len(COLOURS) % len(_DASHES)]
