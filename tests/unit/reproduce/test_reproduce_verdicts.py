"""Verdicts, scales and the report's place."""

from __future__ import annotations

import doctest
import importlib
import json
from pathlib import Path

import pytest

from weft.errors import UsageError
from weft.reproduce import claims, experiments, published
from weft.reproduce.report import check_replaceable, read_values
from weft.reproduce.scale import LARGEST, Scale, Size
from weft.reproduce.values import KIND
from weft.reproduce.verdicts import claim_verdict, spread, verdict


@pytest.mark.parametrize("name", ["blocks", "real", "scale", "verdicts"])
def test_reproduce_doctests__examples_are_true(name: str) -> None:
    """Every example gives what it says."""
    failed, tried = doctest.testmod(importlib.import_module(f"weft.reproduce.{name}"))
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([0.60, 0.64, 0.68], "comes out"),
        ([0.60], "comes out"),
        ([0.59, 0.61], "in range"),
        ([0.55, 0.75], "in range"),
        ([0.69, 0.70], "does not"),
        ([], "not done"),
    ],
)
def test_verdict__is_by_the_tolerance(ours: list[float], expected: str) -> None:
    """Within for every seed, for the range over seeds, or not."""
    assert verdict(0.64, 0.04, ours) == expected


def test_claims__every_sentence_has_a_test_and_every_test_a_sentence() -> None:
    """And a name of its own."""
    keys = [claim.key for claim in published.claims()]
    assert len(keys) == len(set(keys))
    assert set(keys) == set(claims.CLAIMS) | {"same-distribution"}
    assert claim_verdict([]) == "not done"


def test_published__values_are_the_papers() -> None:
    """All of table 2 and table 1, and some from figures and text."""
    values = {value.key: value for value in published.values()}
    assert len(values) == len(published.values())
    assert (values["average/backlink"].published, values["average/backlink"].tolerance) == (0.50, 0.01)
    assert values["tau/larger-sites-first"].published == 0.2498
    assert values["speed-up/20000/256"].published == 83.3
    assert sum(key.startswith("speed-up/") for key in values) == 18


def test_scale__is_the_papers_at_full_size_and_in_proportion_below() -> None:
    """The page limit, K and batches shrink with the web."""
    assert Scale().main.recipe().largest_site == LARGEST
    small = Scale().tenth()
    assert (small.sites, small.pages, small.main.of_pages(100_000)) == (5_000, 350_000, 10_000)
    assert Size(20, 1_000).recipe(cap=0.2).largest_site == 200  # never so low that the pages do not fit
    for bad in (Scale(seeds=0), Scale(sites=5), Scale(sweep_pages=10)):
        with pytest.raises(UsageError):
            bad.check()


def test_tasks__have_keys_of_their_own_and_webs_that_are_made(tmp_path: Path) -> None:
    """Nothing is simulated on a web that no task makes."""
    tasks = experiments.tasks(Scale().tenth(), tmp_path)
    keys = {task.key for task in tasks}
    assert len(keys) == len(tasks)
    assert all(getattr(task, "graph", task.key) in keys for task in tasks)


def test_spread__of_negative_numbers_can_be_read() -> None:
    """A minus sign is no dash."""
    assert spread([-0.1, 0.1]) == "-.100 to .100"


def test_place__only_a_report_is_replaced(tmp_path: Path) -> None:
    """Anything else is left alone."""
    check_replaceable(tmp_path / "new")
    check_replaceable(tmp_path)
    report = tmp_path / "report"
    report.mkdir()
    (report / "values.json").write_text(json.dumps({"kind": KIND}))
    check_replaceable(report)
    assert read_values(report) == {"kind": KIND}
    (report / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="foreign file"):
        check_replaceable(report)
    (report / "mine.txt").unlink()
    (report / "values.json").write_text("{}")
    with pytest.raises(UsageError, match="no earlier report"):
        check_replaceable(report)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="directory of its own"):
        check_replaceable(tmp_path / "file")


def test_flat_when_deep__looks_at_levels() -> None:
    """A claim is a function of what was found."""
    depths = [[0, 10, 6.0], [1, 20, 3.0], [2, 30, 1.0], [3, 30, 0.8], [4, 30, 0.5], [5, 30, 0.4]]
    assert claims.CLAIMS["flat-when-deep"]({"main/1": {"depths": depths}}, 1)
    assert not claims.CLAIMS["low-homes"]({"main/1": {"depths": depths}}, 1)
