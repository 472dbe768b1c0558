"""Which sites lead, and how many of them make the list."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.temporal.judged import labels_of, pages_of, sites_of

from weft.errors import UsageError
from weft.temporal import list_length
from weft.temporal.evaluation import evaluate, measure
from weft.temporal.labels import Rules, classify
from weft.temporal.sites import PAPER, SiteRules, rank_sites
from weft.temporal.views import Labels, Views
from weft.temporal.worlds import Recipe, make_world

NEWS = {"news.example": (40, 10), "mixed.example": (10, 30), "shop.example": (0, 50)}
TINY = {f"tiny{at}.example": (1, 0) for at in range(20)}


def test_score__is_the_papers_where_no_pages_are_added() -> None:
    """Three fifths of the page share and two fifths of the view share, by hand."""
    views, labels = pages_of({"http://a.example/1": (True, {20: 300}), "http://a.example/2": (False, {20: 60, 30: 40})})
    ranking = rank_sites(views, labels, PAPER)
    assert (ranking.page_share[0], ranking.view_share[0]) == (0.5, 0.75)
    assert ranking.score[0] == pytest.approx(0.6 * 0.5 + 0.4 * 0.75)


def test_score__of_the_paper_lets_tiny_sites_lead_and_ours_does_not() -> None:
    """One page that happens to be temporal makes no news site."""
    views, labels = sites_of(NEWS | TINY)
    assert rank_sites(views, labels, PAPER).names[0].as_py().startswith("tiny")
    assert rank_sites(views, labels, SiteRules()).names[:2].to_pylist() == ["news.example", "mixed.example"]


def test_ranking__says_what_the_sites_have() -> None:
    """Counts, shares and rates are those of the pages; equal sites stand in the order of their names."""
    views, labels = sites_of(NEWS | {"also.example": (40, 10)})
    ranking = rank_sites(views, labels, SiteRules())
    assert ranking.names.to_pylist() == ["also.example", "news.example", "mixed.example", "shop.example"]
    assert ranking.pages.tolist() == [50, 50, 40, 50]
    assert ranking.temporal_pages.tolist() == [40, 40, 10, 0]
    assert ranking.views.tolist() == [4000, 4000, 3200, 4000]
    assert ranking.page_share.tolist() == [0.8, 0.8, 0.25, 0.0]
    assert ranking.publication_rate.tolist() == [40 / 52, 40 / 52, 10 / 52, 0.0]
    assert ranking.births.tolist() == [50 / 52, 50 / 52, 40 / 52, 50 / 52]
    assert np.all(np.diff(ranking.score) <= 0)


@given(st.permutations(range(130)))
def test_ranking__does_not_depend_on_the_order_of_pages(order: list[int]) -> None:
    """The same pages in another order give the same ranking to the last bit."""
    views, labels = sites_of({"news.example": (40, 10), "mixed.example": (10, 30), "shop.example": (0, 40)})
    shuffled, relabelled = _in_order(views, labels, np.array(order))
    one, other = (rank_sites(*each, SiteRules()) for each in ((views, labels), (shuffled, relabelled)))
    for field in fields(one):
        assert np.array_equal(np.asarray(getattr(one, field.name)), np.asarray(getattr(other, field.name))), field.name


def _in_order(views: Views, labels: Labels, order: np.ndarray) -> tuple[Views, Labels]:
    """The same pages, otherwise arranged."""
    days = [np.arange(views.start[page], views.start[page + 1]) for page in order]
    row = np.concatenate(days)
    start = np.cumsum([0, *map(len, days)])
    urls = views.urls.take(pa.array(order))
    moved = replace(views, urls=urls, site=views.site[order], start=start, day=views.day[row], count=views.count[row])
    return moved, Labels(*(getattr(labels, field.name)[order] for field in fields(labels)))


def test_list__has_no_site_without_a_temporal_page() -> None:
    """A list that is longer than there are such sites stays shorter."""
    views, labels = sites_of(NEWS)
    ranking = rank_sites(views, labels, SiteRules(top=3, cut=False, least_rate=0))
    assert ranking.seeds() == ["news.example", "mixed.example"]
    assert ranking.listed.tolist() == [True, True, False]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=8), st.integers(1, 9))
def test_list__ends_where_its_f_measure_is_best(counts: list[tuple[int, int]], top: int) -> None:
    """Of all beginnings of the ranking that are short enough, no other has a higher F by the labels themselves."""
    given_pages = {f"s{at}.example": pair for at, pair in enumerate(counts) if sum(pair)}
    if not given_pages:
        return
    views, labels = sites_of(given_pages)
    whole = rank_sites(views, labels, SiteRules(top=top, cut=False, least_rate=0)).seeds()
    found = rank_sites(views, labels, SiteRules(top=top, least_rate=0)).seeds()
    assert found == whole[: len(found)]
    measured = [evaluate(views, labels.temporal, whole[:length]).f for length in range(1, len(whole) + 1)]
    assert (evaluate(views, labels.temporal, found).f if found else 0.0) == max(measured, default=0.0)
    assert rank_sites(views, labels, replace(PAPER, top=top)).listed.sum() == len(whole), "the paper's list is not cut"


def test_list__of_a_small_web_is_better_for_its_end() -> None:
    """Not only by the labels that it was made from: by the truth, and on pages born after the window."""
    world = make_world(Recipe(seed=301, sites=60, after=14))
    views = world.views()
    labels = classify(views, Rules())
    later = world.truth.filter(pc.field("birth") >= world.recipe.days)
    by_rule = [rank_sites(views, labels, SiteRules(cut=cut, least_rate=0)).seeds() for cut in (False, True)]
    assert len(by_rule[1]) < len(by_rule[0]) < 60
    true = np.asarray(world.truth_of(views)["temporal_by_definition"], np.bool_)
    in_time = [evaluate(views, true, seeds).f for seeds in by_rule]
    after = [
        measure(later["site"], np.asarray(later["temporal_by_definition"], np.bool_), seeds).f for seeds in by_rule
    ]
    assert in_time[1] > in_time[0] + 0.1
    assert after[1] > after[0] + 0.04


def test_list__leaves_out_sites_with_fewer_pages_than_wanted() -> None:
    """They stay in the ranking, where their scores put them."""
    views, labels = sites_of(NEWS | {"small.example": (19, 0), "enough.example": (20, 0)})
    ranking = rank_sites(views, labels, replace(PAPER, least_pages=20, top=2))
    assert ranking.names.to_pylist()[:3] == ["enough.example", "small.example", "news.example"]
    assert ranking.seeds() == ["enough.example", "news.example"]


@example([(20, 0), (3, 4), (1, 20)], 3)  # the second is good enough beside the third, and too bad without it
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=6), st.integers(1, 3))
def test_f_measure__of_its_list_is_the_best_there_is(sizes: list[tuple[int, int]], top: int) -> None:
    """No other list of that length, or a shorter one, has a better F-measure."""
    made = {f"s{at}.example": size for at, size in enumerate(sizes) if sum(size)}
    if not made:
        return
    views, labels = sites_of(made)
    found = rank_sites(views, labels, SiteRules(rank_by="f-measure", top=top, least_rate=0)).seeds()
    every = [list(some) for length in range(top + 1) for some in combinations(made, length)]
    best = max(evaluate(views, labels.temporal, some).f for some in every)
    assert evaluate(views, labels.temporal, found).f == pytest.approx(best)


def test_half_life__lets_a_site_go_whose_event_is_over() -> None:
    """Without it, as in the paper, a site that was full of news a month ago leads; by default the one that has some."""
    views, labels = sites_of({"games.example": (60, 0), "daily.example": (20, 10)}, born={"games.example": 20})
    assert rank_sites(views, labels, SiteRules(half_life=0)).names[0].as_py() == "games.example"
    assert rank_sites(views, labels, PAPER).names[0].as_py() == "games.example"
    ranking = rank_sites(views, labels, SiteRules())
    assert ranking.names[0].as_py() == "daily.example"
    assert ranking.pages.tolist() == [30, 60], "what is shown are pages, not weights"


def test_events__are_followed_within_days() -> None:
    """A site that publishes from day 50 to 65 is listed within three days, and dropped within ten after its event."""
    recipe = Recipe(seed=302, sites=90, after=25, event_sites=4, event_day=50, event_days=15, event_pages=60)
    world = make_world(recipe)
    on: dict[str, list[int]] = {}
    for day in range(51, 78):
        views = world.views(since=max(day - 60, 0), days=min(day, 60))
        for site in rank_sites(views, classify(views, Rules()), SiteRules()).seeds():
            on.setdefault(site, []).append(day)
    events = world.sites.table().filter(pc.field("kind") == "event").to_pylist()
    assert len(events) == 4
    listed = [on[site["site"]] for site in events]
    found = [days[0] - site["on"] for days, site in zip(listed, events, strict=True)]
    dropped = [days[-1] + 1 - site["off"] for days, site in zip(listed, events, strict=True)]
    assert np.median(found) <= 3
    assert np.median(dropped) <= 10


def test_list__has_no_site_that_publishes_hardly_anything_lately() -> None:
    """Half a temporal page a day by default, whatever its score; those of long ago hardly count."""
    views, labels = sites_of(
        {"busy.example": (20, 0), "slow.example": (4, 0), "over.example": (60, 0)}, {"over.example": 20}
    )
    assert rank_sites(views, labels, SiteRules(cut=False)).seeds() == ["busy.example"]
    assert set(rank_sites(views, labels, SiteRules(cut=False, least_rate=0)).seeds()) == set(views.sites.to_pylist())
    alike = SiteRules(cut=False, half_life=0)
    assert set(rank_sites(views, labels, alike).seeds()) == {"over.example"}, "by the whole window 60 are more than 20"


def test_list__says_where_it_ends_and_why() -> None:
    """The lowest score, F by the labels themselves, and the rule that ended it."""
    views, labels = sites_of(NEWS)
    by_f = rank_sites(views, labels, SiteRules(least_rate=0)).ending
    assert (by_f.sites, by_f.rule) == (1, "f-measure")
    assert by_f.f == pytest.approx(2 * 40 / (50 + 50)), "40 of 50 pages, and 50 temporal ones in all"
    assert by_f.score == pytest.approx(rank_sites(views, labels, SiteRules(least_rate=0)).score[0])
    rules = {
        "top": SiteRules(top=1, cut=False, least_rate=0),
        "no more": SiteRules(cut=False, least_rate=0),
        "polls": SiteRules(top=0, least_rate=0, polls_per_day=1.0, delay_hours=10.0),
    }
    for rule, each in rules.items():
        assert rank_sites(views, labels, each).ending.rule == rule
    nothing = rank_sites(*sites_of({"shop.example": (0, 50)}), SiteRules()).ending
    assert (nothing.sites, nothing.score, nothing.f) == (0, None, 0.0)


def test_hubs__can_be_left_apart() -> None:
    """A home page with most of the views hides that a site is temporal; it is counted, and can be left out."""
    pages = {f"http://a.example/{at}.html": (True, {20: 80}) for at in range(30)}
    views, labels = pages_of(pages | {"http://a.example/": (False, dict.fromkeys(range(60), 100))})
    within, apart = (rank_sites(views, labels, SiteRules(hubs_apart=each)) for each in (False, True))
    assert (within.pages[0], within.hubs[0], within.view_share[0]) == (31, 1, pytest.approx(2400 / 8400))
    assert (apart.pages[0], apart.hubs[0], apart.view_share[0]) == (30, 1, 1.0)


def test_polls__that_the_crawler_has_make_the_list_so_long() -> None:
    """Twice the polls serve more sites, and new pages still wait no longer than was asked for."""
    views, labels = sites_of({f"s{at:02d}.example": (50 - at, 5) for at in range(40)})
    lengths = []
    for polls in (50.0, 100.0, 400.0):
        ranking = rank_sites(views, labels, SiteRules(top=0, least_rate=0, polls_per_day=polls, delay_hours=2.0))
        chosen = ranking.listed
        assert ranking.polls[chosen].sum() == pytest.approx(polls)
        assert ranking.polls[~chosen].sum() == 0
        rate = ranking.publication_rate[chosen]
        assert (rate * 12 / ranking.polls[chosen]).sum() / rate.sum() <= 2.0, "half an interval, in hours"
        lengths.append(int(chosen.sum()))
    assert 0 < lengths[0] < lengths[1] < lengths[2] == 40


def test_polls__shared_by_the_root_of_the_rate_keep_pages_waiting_least() -> None:
    """Evenly shared polls, and polls in proportion to the rates, both make pages wait longer."""
    rates = np.array([9.0, 4.0, 1.0, 0.25])

    def waiting(polls: np.ndarray) -> float:
        return float((rates / (2 * polls)).sum() / rates.sum())

    ours = waiting(list_length.polls(list_length.Demand(np.sqrt(rates), rates), 40.0))
    assert ours < min(waiting(np.full(4, 10.0)), waiting(40 * rates / rates.sum()))


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(SiteRules(alpha=-1.0), id="negative weight"),
        pytest.param(SiteRules(alpha=0.0, beta=0.0), id="no weight"),
        pytest.param(SiteRules(pseudo_pages=-1.0), id="negative pages"),
        pytest.param(SiteRules(top=0), id="no length and no polls"),
        pytest.param(SiteRules(top=0, polls_per_day=9.0, delay_hours=-1.0), id="negative delay"),
    ],
)
def test_rules__that_mean_nothing_are_refused(rules: SiteRules) -> None:
    """The message says what to do."""
    with pytest.raises(UsageError) as refused:
        rules.check()
    assert refused.value.todo


def test_nothing__is_ranked_where_there_is_nothing() -> None:
    """No page, no site."""
    views, _ = sites_of({"a.example": (1, 0)})
    nothing = replace(
        views, urls=views.urls[:0], sites=views.sites[:0], site=views.site[:0], start=np.zeros(1, np.int64),
        day=views.day[:0], count=views.count[:0], first=views.first[:0],
    )  # fmt: skip
    ranking = rank_sites(nothing, labels_of(nothing, []), SiteRules())
    assert ranking.seeds() == []
    assert len(ranking.names) == 0


def test_seed_list__is_hardly_moved_by_tiny_hosts() -> None:
    """Thousands of tiny hosts take the paper's whole list; of ours at most a fiftieth of its F-measure."""
    world = make_world(Recipe(seed=5, sites=200, tiny_hosts=4000))
    views = world.views(floor=60)
    labels = classify(views, Rules())
    tiny = np.char.startswith(np.array(views.sites.to_pylist()), "www.tiny")
    alone = _without(views, tiny[views.site])
    alone_labels = classify(alone, Rules())

    def f(rules: SiteRules, crowded: bool) -> float:
        ranking = rank_sites(views, labels, rules) if crowded else rank_sites(alone, alone_labels, rules)
        return evaluate(alone, alone_labels.temporal, ranking.seeds()).f

    ours, papers = SiteRules(top=20), replace(PAPER, top=20)
    assert f(ours, crowded=True) >= 0.98 * f(ours, crowded=False)
    assert f(papers, crowded=True) < 0.1 * f(papers, crowded=False)


def _without(views: Views, gone: np.ndarray) -> Views:
    """The views without some pages."""
    row = np.repeat(~gone, np.diff(views.start))
    start = np.concatenate([[0], np.cumsum(np.diff(views.start)[~gone])])
    return replace(
        views, urls=views.urls.filter(pa.array(~gone)), site=views.site[~gone], start=start,
        day=views.day[row], count=views.count[row], first=views.first[row],
    )  # fmt: skip
