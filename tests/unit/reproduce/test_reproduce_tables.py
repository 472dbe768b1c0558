"""Tables and figures of the papers that are measured anew: speed-ups over the same pages, four webs, the link's use."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from weft.printing import plots
from weft.printing.charts import Areas, Panels, csv_of
from weft.reproduce import experiments, values
from weft.reproduce.experiments import BANDWIDTHS, COUNTRIES, FIGURE_4, READINGS, ROBOTS
from weft.reproduce.figures import draw
from weft.reproduce.scale import Scale
from weft.reproduce.simulations import Crawl, Make, perform

SMALL = Scale(sites=200, pages=6_000, sweep_pages=2_000, seeds=1)


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All crawls of P0's table 1, on a small web."""
    folder: Path = tmp_path_factory.mktemp("webs")
    tasks = [
        task
        for task in experiments.tasks(SMALL, None)
        if task.key == "main/1" or (task.key.startswith("main/1/") and "bandwidth=" in task.key)
    ]
    nearest = {task.nearest for task in tasks if isinstance(task, Crawl)}
    assert len(tasks) == 1 + len(READINGS) * len(BANDWIDTHS) * len(ROBOTS)
    assert nearest == {SMALL.main.of_pages(experiments.SPEED_UP_PAGES)}
    return {
        # Enough pages for a small web to have robots wait.
        task.key: perform(dataclasses.replace(task, nearest=2_000) if isinstance(task, Crawl) else task, folder)
        for task in tasks
    }


def test_speed_ups__are_over_the_same_pages_and_never_above_r(timed: dict[str, Any]) -> None:
    """In both readings; one robot on the widest link is the measure, and more are worth something there."""
    assert {found["downloads"] for key, found in timed.items() if "bandwidth" in key} == {2_000}
    assert len({round(found["pagerank"][-1], 9) for key, found in timed.items() if "bandwidth" in key}) == 1
    for rows in values._speed_ups(timed, range(1, 2)).values():
        for row in rows:
            assert 0 < row["ours"][0] <= row["r"]
        widest = {row["r"]: row["ours"][0] for row in rows if row["bandwidth"] == BANDWIDTHS[0]}
        assert widest[1] == pytest.approx(1.0, abs=0.02)
        assert widest[64] > 5


def test_countries__are_four_webs_of_the_papers_sizes() -> None:
    """In proportion, each with every strategy of figure 4, and each drawn by a seed of its own."""
    tasks = [task for task in experiments.tasks(Scale(), None) if task.key.startswith("country/")]
    webs = {task.key: task for task in tasks if isinstance(task, Make)}
    assert set(webs) == {f"country/{name}" for name in COUNTRIES}
    assert len({task.seed for task in webs.values()}) == 4
    chile, greece = webs["country/Chile, April 2004"].recipe, webs["country/Greece, May 2004"].recipe
    assert (chile.sites, chile.pages) == (round(50_000 / 3.5), round(2_400_000 / 3.5))
    assert (greece.sites, greece.pages) == (round(29_000 / 3.5), round(3_400_000 / 3.5))
    assert len(tasks) == 4 * (1 + len(FIGURE_4))


def test_figures__one_two_and_four_are_drawn() -> None:
    """P0's link in use and in part wasted, on the same axes, and P1's four webs as panels; with all their numbers."""
    assert plots.available()
    line = {"x": [0.0, 1.0], "y": [0.0, 1.0]}
    run = {"at": [0.5, 1.5], "used": [20_000.0, 5_000.0], "bytes": 20_000 * 3600 * 1.25}
    series = {
        "p0-1": values._full(run, 20_000),
        "p0-2": {"used": {"x": run["at"], "y": run["used"]}, "wasted": values._wasted(run, 20_000)},
        "p1-4": {name: dict.fromkeys(FIGURE_4, line) for name in COUNTRIES},
    }
    scale = {"pages": 1, "sites": 1, "sweep_pages": 1_000_000, "sweep_sites": 1}
    found = draw({"series": series, "scale": scale})
    assert isinstance(found["p0-1"].chart, Areas)
    assert "used,1.25,20000" in csv_of(found["p0-1"].chart).splitlines()
    assert "wasted,1.5,15000" in csv_of(found["p0-2"].chart).splitlines()
    assert found["p0-1"].chart.frame.x_range == found["p0-2"].chart.frame.x_range
    four = found["p1-4"].chart
    assert isinstance(four, Panels)
    assert [chart.frame.title for chart in four.charts] == list(COUNTRIES)
    assert len(csv_of(four).splitlines()) == 1 + 4 * len(FIGURE_4) * 2
    assert "Greece, September 2004" in plots.svg(four)
