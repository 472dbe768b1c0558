"""Lists held against pages, as in table 1 of P2."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.temporal.judged import pages_of, sites_of
from tests.unit.temporal.made import Counts

from weft.temporal.evaluation import Measures, evaluate, measure, train_weights
from weft.temporal.sites import SiteRules


@pytest.mark.parametrize(
    ("temporal", "total", "precision", "recall", "f"),
    [
        pytest.param(59_113, 108_237, 0.546, 0.435, 0.484, id="base line"),
        pytest.param(70_110, 91_996, 0.762, 0.516, 0.615, id="our method"),
    ],
)
def test_table_1__comes_out_as_printed(temporal: int, total: int, precision: float, recall: float, f: float) -> None:
    """From the paper's numbers of pages, 135,939 of 975,151 temporal, come the paper's percentages."""
    listed = np.arange(975_151) < total
    true = np.zeros(975_151, np.bool_)
    true[:temporal] = True
    true[total : total + 135_939 - temporal] = True
    found = measure(pa.array(np.where(listed, "listed", "other")), true, ["listed"])
    assert (found.temporal, found.total) == (temporal, total)
    assert [round(each, 3) for each in (found.precision, found.recall, found.f)] == [precision, recall, f]


def test_list__is_held_against_the_pages_of_its_sites() -> None:
    """Names that no page has, and names given twice, change nothing."""
    views, labels = sites_of({"a.example": (3, 1), "b.example": (1, 5)})
    found = evaluate(views, labels.temporal, ["a.example", "a.example", "nowhere.example"])
    assert found == Measures(temporal=3, total=4, precision=0.75, recall=0.75, f=0.75)


@pytest.mark.parametrize("sites", [pytest.param([], id="empty"), pytest.param(["x.example"], id="unknown")])
def test_list__without_pages_is_worth_nothing(sites: list[str]) -> None:
    """And nothing is divided by nothing."""
    views, labels = sites_of({"a.example": (1, 1)})
    assert evaluate(views, labels.temporal, sites) == Measures(temporal=0, total=0, precision=0.0, recall=0.0, f=0.0)
    nobody = np.zeros(2, np.bool_)
    assert evaluate(views, nobody, ["a.example"]).f == 0.0


def test_weights__are_those_of_the_best_list() -> None:
    """Where a site has temporal pages that nobody reads and another has few that everybody does, alpha decides."""
    quiet: Counts = {20: 60}
    loud: Counts = {20: 6000}
    pages = {f"http://many.example/{at}": (True, quiet) for at in range(60)}
    pages |= {"http://many.example/x": (False, {20: 9000, 40: 9000})}
    pages |= {f"http://few.example/{at}": (True, loud) for at in range(10)}
    pages |= {f"http://few.example/u{at}": (False, {20: 30, 40: 30}) for at in range(40)}
    views, labels = pages_of(pages)
    found = train_weights(views, labels, labels.temporal, SiteRules(top=1, half_life=0, least_rate=0))
    measures = dict(found.tried)
    assert measures[0.0] < measures[1.0] == found.f, "by views the wrong site leads"
    assert (found.alpha, found.beta) == (0.6, 0.4), "of equals the nearest to the paper's"


def test_weights__are_held_against_the_truth_where_it_is_given() -> None:
    """The list is made from labels, and judged by what is true."""
    views, labels = sites_of({"a.example": (30, 0), "b.example": (20, 10)})
    true = np.array([url.as_py().startswith("http://b.example/") for url in views.urls])
    found = train_weights(views, labels, true, SiteRules(top=1))
    assert (found.f, found.alpha) == (0.0, 0.6), "and where all are alike the paper's stay"
