"""A world: versions, snapshots and what happened agree with each other, for any time and in any process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.graph import Recipe
from weft.graph.changing import Changes, World, make_world
from weft.graph.changing.files import arrays_of, load_world, save_world
from weft.graph.changing.happenings import Kind, happenings, keeping_up
from weft.graph.changing.snapshots import snapshot
from weft.graph.changing.world import DAY, HOUR

RECIPE, CHANGES = Recipe(sites=30, pages=1_500), Changes(days=20, news=0.3, events=0.2, half_life_days=40)
WORLD = make_world(RECIPE, CHANGES, seed=4)
PAGES = st.integers(0, WORLD.graph.pages - 1)
TIMES = st.floats(0, WORLD.end)


@given(PAGES, TIMES, TIMES)
def test_world__versions_never_go_down(page: int, one: float, other: float) -> None:
    """Later is never an earlier version, and the edits between two times are what their versions differ by."""
    begin, end = sorted((one, other))
    before, after = WORLD.version_of(page, begin), WORLD.version_of(page, end)
    assert before.real <= after.real
    assert before.cosmetic <= after.cosmetic
    if end < WORLD.death[page]:
        assert len(WORLD.edits_of(page, begin, end)) == after.real - before.real


@given(TIMES)
def test_world__arrays_are_answered_like_single_pages(at: float) -> None:
    """What is asked of many pages at once is what is asked of each."""
    pages = np.arange(0, WORLD.graph.pages, 37)
    version, modified = WORLD.version_of(pages, at), WORLD.modified(pages, at)
    for place, page in enumerate(pages.tolist()):
        alone = WORLD.version_of(page, at)
        assert (version.real[place], version.cosmetic[place]) == (alone.real, alone.cosmetic)
        assert modified[place] == WORLD.modified(page, at)


@given(st.sampled_from(WORLD.hubs.tolist()), TIMES)
def test_hub__lists_the_newest_that_were_alive_when_the_last_was_born(hub: int, at: float) -> None:
    """A front is written when a page of it is born, and shows the newest of then."""
    listed = WORLD.newest(hub, at)
    site = int(WORLD.graph.site_of(hub))
    home = hub == WORLD.graph.first_page[site]
    mine = [
        page
        for page in WORLD.graph.pages_of(site)
        if (home or WORLD.front[page] == hub) and WORLD.birth[page] <= at and page in set(WORLD.listing.tolist())
    ]
    if not mine:
        assert not len(listed)
        return
    written = max(WORLD.birth[page] for page in mine)
    there = sorted((page for page in mine if WORLD.death[page] > written), key=lambda page: -WORLD.birth[page])
    expected = [WORLD.birth[page] for page in there[: CHANGES.listed]]
    assert WORLD.birth[listed].tolist() == expected
    assert set(listed.tolist()) <= set(there)


def test_hub__same_version_same_listing() -> None:
    """What a hub lists changes only with its version."""
    for hub in WORLD.hubs.tolist():
        shown: dict[int, list[int]] = {}
        for at in np.linspace(0, WORLD.end, 60):
            listed = WORLD.newest(hub, float(at)).tolist()
            assert shown.setdefault(int(WORLD.version_of(hub, at).real), listed) == listed


@pytest.mark.parametrize("at", [0.0, 5.3 * DAY, CHANGES.days * DAY])
def test_snapshot__is_the_graph_of_its_time(at: float) -> None:
    """It has the pages that are alive, their links to others that are, and no page twice."""
    graph, pages = snapshot(WORLD, at)
    assert pages.tolist() == np.flatnonzero(WORLD.alive(np.arange(WORLD.graph.pages), at)).tolist()
    alive = set(pages.tolist())
    for page in range(0, graph.pages, 7):
        wanted = [target for target in WORLD.links_at(int(pages[page]), at).tolist() if target in alive]
        assert pages[graph.links_of(page)].tolist() == wanted
        assert len(set(wanted)) == len(wanted)
    inner = np.flatnonzero(graph.parent >= 0)
    assert (graph.depth[inner] == graph.depth[graph.parent[inner]] + 1).all()
    assert (graph.parent[graph.seeds] == -1).all()
    assert (graph.site_of(np.arange(graph.pages)) == WORLD.graph.site_of(pages)).all()


def test_snapshot__everything_can_be_reached() -> None:
    """In a snapshot of a young world nearly all pages can be reached from the home pages by links."""
    graph, _ = snapshot(WORLD, 3 * DAY)
    reached = np.zeros(graph.pages, dtype=bool)
    border = graph.seeds
    while len(border):
        reached[border] = True
        targets = np.unique(np.concatenate([graph.links_of(int(page)) for page in border]))
        border = targets[~reached[targets]]
    assert reached.mean() > 0.97


def test_snapshot__not_before_the_start() -> None:
    """Nothing is known of the time before a world."""
    with pytest.raises(UsageError, match="no snapshot"):
        snapshot(WORLD, -1.0)


def test_world__nobody_links_to_the_unborn() -> None:
    """A page that is not a hub links to what was born before it, or was there at the start."""
    graph = WORLD.graph
    source = np.repeat(np.arange(graph.pages), np.diff(graph.offsets))
    born = np.maximum(WORLD.birth, 0.0)
    assert (born[graph.links] <= born[source]).all()
    inner = graph.parent >= 0
    assert (WORLD.birth[graph.parent[inner]] <= WORLD.birth[inner]).all()
    assert (WORLD.death[graph.parent[inner]] >= WORLD.death[inner]).all()


def test_world__edits_are_in_order_and_in_the_life_of_their_page() -> None:
    """Edits of a page come in order, on whole seconds, after its birth and before its death."""
    page = np.repeat(np.arange(WORLD.graph.pages), np.diff(WORLD.edit_offsets))
    assert (WORLD.edit_times >= WORLD.birth[page]).all()
    assert (WORLD.edit_times < WORLD.death[page]).all()
    assert (WORLD.edit_times % 1 == 0).all()
    same = page[1:] == page[:-1]
    assert (np.diff(WORLD.edit_times)[same] >= 0).all()


def test_world__rates_are_kept() -> None:
    """Edits and births come as often as their rates say, within what chance allows (five deviations)."""
    world = make_world(Recipe(sites=60, pages=6_000), Changes(days=40, half_life_days=1e6, news=0.2), seed=9)
    page = np.repeat(np.arange(world.graph.pages), np.diff(world.edit_offsets))
    usual = ~world.temporal[page] & (world.edit_times > 0)
    there = (world.end - np.maximum(world.birth, 0.0)) / DAY
    expected = float((world.edits_a_day * there).sum())
    assert abs(usual.sum() - expected) < 5 * np.sqrt(expected)
    hours = np.arange(0, world.end, HOUR)
    births = sum(world.births_a_day(site, float(at)) for site in range(60) for at in hours) / 24
    assert abs((world.birth > 0).sum() - births) < 5 * np.sqrt(births)


def test_happenings__are_the_difference_of_two_snapshots() -> None:
    """Who was born and did not die is new in the second snapshot; who died is no more in it."""
    begin, end = 3 * DAY, 11 * DAY
    found = happenings(WORLD, begin, end)
    of = {kind: set(found.page[found.kind == place].tolist()) for place, kind in enumerate(Kind)}
    before, after = set(snapshot(WORLD, begin).pages.tolist()), set(snapshot(WORLD, end).pages.tolist())
    assert after - before == of[Kind.BORN] - of[Kind.DIED]
    assert before - after == of[Kind.DIED] - of[Kind.BORN]
    assert (np.diff(found.at) >= 0).all()
    assert len(found.at) == sum((found.kind == place).sum() for place in range(3))


def test_keeping_up__who_comes_each_hour_is_at_most_an_hour_late() -> None:
    """Delays, freshness and age of a crawl that comes every hour are what sampling by hand finds."""
    begin, end = 0.0, 4 * DAY
    pages = np.flatnonzero(WORLD.front != np.arange(WORLD.graph.pages))
    rounds = np.arange(begin, end + 1, 6 * HOUR)
    page, at = np.tile(pages, len(rounds)), np.repeat(rounds, len(pages))
    kept = keeping_up(WORLD, page, at, begin=begin, end=end)
    assert kept.within(6 * HOUR) > 0.99
    assert 0 < kept.mean_delay_s < 6 * HOUR
    fresh, ages = [], []
    for moment in np.linspace(begin, end, 400)[1:-1]:
        there = pages[WORLD.alive(pages, moment)]
        last = np.full(len(there), moment - moment % (6 * HOUR))
        had = WORLD.birth[there] <= last
        same = had & (WORLD.version_of(there, last).real == WORLD.version_of(there, moment).real)
        fresh.append(same.mean())
        lacks = np.array(
            [
                WORLD.edits_of(int(one), float(when), float(moment))[0] if known else WORLD.birth[one]
                for one, when, known, ok in zip(there, last, had, same, strict=True)
                if not ok
            ]
        )
        ages.append((moment - lacks).sum() / len(there))
    assert kept.freshness == pytest.approx(np.mean(fresh), abs=0.003)
    assert kept.age_s == pytest.approx(np.mean(ages), rel=0.05)


def test_keeping_up__nobody_came() -> None:
    """Without a fetch nothing is fresh and nothing found."""
    nothing = np.empty(0)
    kept = keeping_up(WORLD, nothing.astype(int), nothing, begin=0.0, end=DAY)
    assert (kept.freshness, kept.found, kept.within(1e9)) == (0.0, 0, 0.0)


def _digest(world: World) -> str:
    arrays = {**arrays_of(world), "links": world.graph.links, "first": world.graph.first_page}
    return hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays))).hexdigest()


def test_world__is_the_same_in_another_process() -> None:
    """The same recipe and seed give the same world, whatever the process hashes by."""
    code = (
        "from tests.unit.graph.test_graph_changing import _digest, RECIPE, CHANGES, make_world;"
        "print(_digest(make_world(RECIPE, CHANGES, seed=4)))"
    )
    root = Path(__file__).parents[3]
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "77"},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == _digest(WORLD)
    assert _digest(make_world(RECIPE, CHANGES, seed=5)) != _digest(WORLD)


def test_world__comes_back_from_disk_as_it_was(tmp_path: Path) -> None:
    """A world that was written is the world that is read."""
    save_world(WORLD, tmp_path / "world", {"source": "world", "warnings": []})
    again = load_world(tmp_path / "world")
    assert _digest(again) == _digest(WORLD)
    assert (again.changes, again.seed) == (WORLD.changes, WORLD.seed)
    assert again.newest(0, DAY).tolist() == WORLD.newest(0, DAY).tolist()
    (tmp_path / "world" / "world.json").unlink()
    with pytest.raises(UsageError, match="does not change"):
        load_world(tmp_path / "world")


@pytest.mark.parametrize(
    "wrong", [{"days": 0.1}, {"edits_least": 3.0}, {"stale": 0.9}, {"gone_410": 1.0}, {"cosmetic_most_s": 1.0}]
)
def test_changes__what_cannot_be_made_is_refused(wrong: dict[str, Any]) -> None:
    """A recipe that makes no sense is refused before anything is made."""
    with pytest.raises(UsageError):
        Changes(**wrong).check()
