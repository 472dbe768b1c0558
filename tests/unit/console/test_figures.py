"""Plots are images and nothing else, and say what their numbers say."""

from __future__ import annotations

import csv
import io
import re
from xml.etree import ElementTree as ET

import pytest

from weft.console.figures import FIGURES, as_csv, as_svg

MEASURED = {
    "began": 1_000_000.0,
    "interval": 2.0,
    "pages_rate": [0.0, 5.0, 10.0, 2.5],
    "fetches_rate": [1.0, 7.0, 12.0, 4.0],
    "useful_rate": [0.0, 1e6, 2e6, 5e5],
    "overhead_rate": [1e3, 1e3, 1e3, 1e3],
    "wasted_rate": [0.0, 0.0, 1e5, 0.0],
    "downloads_under_way": [0.0, 3.0, 8.0, 1.0],
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("tone", ["light", "dark"])
def test_plot__is_an_image_without_style_or_script(name: str, tone: str) -> None:
    """It is shown under a policy that allows neither, and leads nowhere."""
    drawn = ET.fromstring(as_svg(FIGURES[name], MEASURED, tone))  # noqa: S314  our own
    names = {re.sub(r"\{.*\}", "", element.tag) for element in drawn.iter()}
    assert names <= {"svg", "title", "path", "polyline", "text"}
    assert all("style" not in element.attrib and "href" not in element.attrib for element in drawn.iter())
    lines = [element for element in drawn.iter() if element.tag.endswith("polyline")]
    assert len(lines) == len(FIGURES[name].series)


def test_plot__draws_larger_values_higher() -> None:
    """By the numbers of the first series."""
    drawn = ET.fromstring(as_svg(FIGURES["speed"], MEASURED, "light"))  # noqa: S314  our own
    line = next(element for element in drawn.iter() if element.tag.endswith("polyline"))
    heights = [float(point.split(",")[1]) for point in line.attrib["points"].split()]
    values = MEASURED["pages_rate"]
    assert isinstance(values, list)
    assert sorted(range(4), key=lambda place: -heights[place]) == sorted(range(4), key=lambda place: values[place])


def test_numbers__are_beside_the_plot() -> None:
    """Every value of every series."""
    rows = list(csv.reader(io.StringIO(as_csv(FIGURES["bandwidth"], MEASURED))))
    assert rows[0] == ["seconds", "useful", "overhead", "wasted"]
    assert [float(cell) for cell in rows[3]] == [4.0, 2e6, 1e3, 1e5]
    assert len(rows) == 5
