"""Figures of a report that is a directory. In: charts and what is said about them. Out: files, and the page's figures.

Beside each other are `NAME.svg`, `NAME.png` and `NAME.csv`: the drawing for pages and for print, for slides, and the
numbers it was drawn from. The page shows the drawing itself, and leads to the three files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from weft.printing import plots
from weft.printing.charts import Chart, csv_of
from weft.printing.page import Page

KINDS = ("svg", "png", "csv")


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A chart, its files' name, a caption for all, and a description for those who cannot see it."""

    name: str
    chart: Chart
    caption: str
    alternative: str


def write_figures(folder: Path, figures: Iterable[Figure]) -> dict[str, str]:
    """Write the three files of every figure into a folder, which is made if need be; the SVG of each by its name."""
    drawn: dict[str, str] = {}
    for figure in figures:
        folder.mkdir(exist_ok=True)
        drawn[figure.name] = plots.svg(figure.chart)
        (folder / f"{figure.name}.svg").write_text(drawn[figure.name], encoding="utf-8")
        (folder / f"{figure.name}.png").write_bytes(plots.png(figure.chart))
        (folder / f"{figure.name}.csv").write_text(csv_of(figure.chart), encoding="utf-8")
    return drawn


def show(page: Page, figure: Figure, svg: str, folder: str) -> None:
    """Show a figure whose files are in a folder beside the page."""
    files = {kind.upper(): f"{folder}/{figure.name}.{kind}" for kind in KINDS}
    page.figure(svg, caption=figure.caption, alternative=figure.alternative, files=files)
