"""Finer than sites: folders, patterns, and what they say about pages never seen."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.unit.temporal.judged import Judged, pages_of
from tests.unit.temporal.made import Counts

from weft.temporal.folders import rank_folders
from weft.temporal.labels import Rules, classify
from weft.temporal.places import levels, place_names
from weft.temporal.sites import SiteRules
from weft.temporal.views import Views
from weft.temporal.worlds import Recipe, make_world

NEWS: Counts = {20: 80, 21: 10}
HOWTO: Counts = {20: 40, 40: 40}


@pytest.mark.parametrize(
    ("url", "folder", "pattern"),
    [
        pytest.param("http://a.nl/", "a.nl/", "a.nl/", id="home page"),
        pytest.param("https://a.nl:8080/x.html", "a.nl:8080/", "a.nl:8080/", id="port"),
        pytest.param("http://a.nl/news/2026-04-07/n1.html", "a.nl/news/#-#-#/", "a.nl/news/#-#-#/", id="day"),
        pytest.param("http://a.nl/a.asp?p=1", "a.nl/", "a.nl/a.asp?p", id="dynamic"),
        pytest.param("http://a.nl/a.asp?q=2&p=1", "a.nl/", "a.nl/a.asp?p&q", id="order of parameters"),
        pytest.param("http://a.nl/a.asp?p=1&p=2", "a.nl/", "a.nl/a.asp?p", id="parameter twice"),
        pytest.param("http://a.nl/a.asp?4711", "a.nl/", "a.nl/a.asp?#", id="number instead of parameters"),
        pytest.param("http://a.nl/a.asp?", "a.nl/", "a.nl/a.asp?", id="empty query"),
        pytest.param("http://a.nl/x/a.asp?to=/b/c/", "a.nl/x/", "a.nl/x/a.asp?to", id="slashes in the query"),
        pytest.param("http://a.nl/v7/a2.php?p=1", "a.nl/v#/", "a.nl/v#/a#.php?p", id="numbers in the path"),
        pytest.param("4711", "a.nl", "a.nl", id="an id"),
    ],
)
def test_place__of_a_page_is_told_by_its_url(url: str, folder: str, pattern: str) -> None:
    """Folders end at the last slash of the path, patterns hold the names of parameters, numbers are all alike."""
    site = "a.nl:8080" if ":8080" in url else "a.nl"
    found = place_names(pa.array([url]), pa.array([site]))
    assert [each.to_pylist() for each in found] == [[folder], [pattern]]


def _site() -> Judged:
    pages = {f"http://a.nl/news/2026/04/{day:02d}/n.html": (True, NEWS) for day in range(1, 21)}
    pages |= {f"http://a.nl/howto/{at}.html": (False, HOWTO) for at in range(20)}
    pages |= {f"http://a.nl/show.php?id={at}": (True, NEWS) for at in range(10)}
    pages |= {f"http://a.nl/view.php?id={at}": (False, HOWTO) for at in range(10)}
    pages |= {"http://a.nl/rare/1.html": (False, HOWTO), "http://b.nl/1.html": (False, HOWTO)}
    return pages_of(pages)


def test_folders__are_ranked_as_sites_are() -> None:
    """The best folder is the one with the news, and its columns are its own."""
    views, labels = _site()
    found = rank_folders(views, labels, SiteRules())
    best = found.folders
    assert best.names[0].as_py() == "a.nl/news/#/#/#/"
    assert (best.pages[0], best.temporal_pages[0], best.page_share[0]) == (20, 20, 1.0)
    assert best.pages.sum() == found.sites.pages.sum() == views.pages
    assert found.patterns.names.to_pylist() == ["a.nl/show.php?id", "a.nl/view.php?id"], "only dynamic pages have any"


def test_folder__with_few_pages_leans_on_its_site() -> None:
    """One untemporal page says less about a folder than twenty."""
    found = rank_folders(*_site(), SiteRules()).folders
    score = dict(zip(found.names.to_pylist(), found.score, strict=True))
    assert score["a.nl/howto/"] < score["a.nl/rare/"] < score["a.nl/news/#/#/#/"]


def test_guess__goes_back_from_pattern_to_folder_to_site() -> None:
    """A page never seen is judged by the narrowest place that was seen; an unknown site has nothing to show."""
    found = rank_folders(*_site(), SiteRules())
    urls = [
        *("http://a.nl/show.php?id=99", "http://a.nl/news/2026/05/01/n.html", "http://a.nl/howto/new.php?x=1"),
        *("http://a.nl/unheard/of.html", "http://c.nl/1.html"),
    ]
    guessed = found.guess(pa.array(urls), pa.array(["a.nl"] * 4 + ["c.nl"]))
    patterns, folders, sites = (
        dict(zip(each.names.to_pylist(), each.score, strict=True))
        for each in (found.patterns, found.folders, found.sites)
    )
    assert guessed.tolist() == [
        patterns["a.nl/show.php?id"], folders["a.nl/news/#/#/#/"], folders["a.nl/howto/"], sites["a.nl"], 0.0,
    ]  # fmt: skip


def test_levels__lie_one_within_the_other() -> None:
    """Pages of one pattern are of one folder, and pages of one folder are of one site."""
    views: Views = make_world(Recipe(seed=2, sites=40)).views(floor=60)
    sites, folders, patterns = levels(views)
    for above, below in ((sites, folders), (folders, patterns)):
        pairs = np.unique(np.stack([below.of, above.of]), axis=1)
        assert pairs.shape[1] == len(below.names)
    assert np.array_equal(folders.site[folders.of], views.site)


def test_patterns__tell_future_pages_apart_better_than_sites_do() -> None:
    """On pages born after the window, of a world that puts most pages where they belong."""
    world = make_world(Recipe(seed=6, sites=300, after=14))
    views = world.views(floor=60)
    found = rank_folders(views, classify(views, Rules()), SiteRules())
    later = world.truth.filter((pc.field("birth") >= 60) & (pc.field("kind") != "hub"))
    urls, names = later["url"].combine_chunks(), later["site"].combine_chunks()
    temporal = np.array(later["temporal_by_definition"].to_pylist())
    of_site = dict(zip(found.sites.names.to_pylist(), found.sites.score, strict=True))
    by_site = np.array([of_site.get(name, 0.0) for name in names.to_pylist()])
    assert _auc(found.guess(urls, names), temporal) > max(0.88, _auc(by_site, temporal) + 0.04)


def _auc(score: np.ndarray, true: np.ndarray) -> float:
    """How often a true one has the higher score of two; ties count half."""
    better = score[true][:, None]
    return float(((better > score[~true]) + 0.5 * (better == score[~true])).mean())
