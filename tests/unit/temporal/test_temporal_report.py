"""The page that people read, and its figures."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.unit.temporal.made import views_of

from weft.errors import UsageError
from weft.temporal import pictures
from weft.temporal.analysis import Task, find
from weft.temporal.evaluation import Measures
from weft.temporal.findings import Findings
from weft.temporal.output import summarise
from weft.temporal.reading import Taken
from weft.temporal.report import report, table_one
from weft.temporal.sites import SiteRules
from weft.temporal.views import Curves

NEWS = {20: 90, 21: 30, 22: 5, 30: 1}
STEADY = dict.fromkeys(range(60), 3)
TAKEN = Taken(files=2, rows=1000, broken=3, failed=17, small_pages=8, examples=["a.log, line 7: the <time> is odd"])


@pytest.fixture(scope="module")
def found() -> Findings:
    """Many news pages and some steady ones."""
    news = [{day: 80, day + 1: 20, day + 4: 2} for day in range(1, 41)]
    urls = [f"http://news.test/{day:02}" for day in range(40)] + [f"http://steady.test/{n:02}" for n in range(25)]
    return find(views_of(*news, *[STEADY] * 25, urls=urls), TAKEN, Task(sites=SiteRules(least_rate=0)), lambda *_: None)


@pytest.fixture(scope="module")
def html(found: Findings) -> str:
    """The page."""
    return report(found, summarise(found)).html()


def test_report__tells_what_was_dropped_and_why(html: str) -> None:
    """Every fate with its number, broken lines with their places, and all text is escaped."""
    for words in (
        "1,000",
        "neither 2xx nor 304",
        "8 pages with too few views",
        "a.log, line 7: the &lt;time&gt; is odd",
    ):
        assert words in html
    assert "<time>" not in html


def test_report__ranks_sites_and_marks_the_seed_list(html: str) -> None:
    """The best first; those of the list are green."""
    assert html.index("news.test") < html.index("steady.test")
    assert '<td class="good">news.test</td>' in html
    assert '<td class="good">steady.test</td>' not in html


def test_report__figures_have_captions_and_descriptions(found: Findings, html: str) -> None:
    """One for Phi(1), one for each example."""
    figures = 1 + len(pictures.examples(found.views, found.labels))
    assert html.count("<svg") == html.count('role="img" aria-label="') == html.count("<figcaption>") == figures


def test_table_one__has_the_form_of_the_papers() -> None:
    """The paper's own numbers come out as it prints them (P2, table 1)."""
    manual = Measures(59_113, 108_237, 59_113 / 108_237, 59_113 / 135_939, 2 * 59_113 / (108_237 + 135_939))
    ours = Measures(70_110, 91_996, 70_110 / 91_996, 70_110 / 135_939, 2 * 70_110 / (91_996 + 135_939))
    assert table_one([manual, ours]) == [
        ["Temporal pages", "59,113", "70,110"],
        ["Total pages", "108,237", "91,996"],
        ["Precision", "54.6%", "76.2%"],
        ["Recall", "43.5%", "51.6%"],
        ["F-measure", "0.484", "0.615"],
    ]


def test_examples__are_of_every_label_and_each_shown_once(found: Findings) -> None:
    """Also where few pages have to stand for many reasons."""
    chosen = pictures.examples(found.views, found.labels)
    assert len({each.page for each in chosen}) == len(chosen)
    assert {found.labels.label[each.page] for each in chosen} == set(found.labels.label.tolist())
    few = find(views_of(NEWS), TAKEN, Task(), lambda *_: None)
    assert [each.page for each in pictures.examples(few.views, few.labels)] == [0]


def test_curve__is_drawn_as_views_of_a_day() -> None:
    """Summed over the days it gives the interest gathered: A, all of it within the window here."""
    curves = Curves(np.array([100.0]), np.array([5.25]), np.array([0.3]), np.array([0.5]))
    line = pictures._curve(curves, 0, 60)
    assert line is not None
    x, y = line
    assert float(np.trapezoid(y, x)) == pytest.approx(100.0, rel=1e-3)
    assert y[x < 4.7].max() == 0.0
    assert pictures._curve(Curves(*(np.array([np.nan]) for _ in range(4))), 0, 60) is None


def test_first_day__draws_the_sites_asked_for(found: Findings) -> None:
    """And says how much of the interest is over after a day."""
    drawn = report(dataclasses.replace(found, drawn=("steady.test",)), summarise(found)).html()
    assert "steady.test (25)" in drawn
    assert "news.test (40)" not in drawn
    with pytest.raises(UsageError, match=r"nowhere\.test"):
        report(dataclasses.replace(found, drawn=("nowhere.test",)), summarise(found))


def test_first_day__is_of_sites_with_pages_enough(found: Findings) -> None:
    """The best of the ranking, and the last one for contrast."""
    urls = [f"http://{site}.test/{page:03}" for site in "abcdefg" for page in range(20)]
    urls += [f"http://z.test/{page}" for page in range(6)]
    views = views_of(*[NEWS] * len(urls), urls=urls)
    names = views.sites.to_pylist()
    chosen = pictures.sites_to_draw(views, list(range(len(names))))
    assert [names[site] for site in chosen] == ["a.test", "b.test", "c.test", "g.test"]
    assert len(pictures.sites_to_draw(found.views, [0, 1])) == 2
