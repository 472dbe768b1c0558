"""One plan for simulator and crawler: when scores are computed anew, when they take effect, what the next batch is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from weft.ordering.heaps import TwoLevelHeap
from weft.ordering.known import HELD, Known
from weft.ordering.reranking import Every, Reranking, RerankPlan


def plan(every: Every, *, pages: int = 10, delay: int = 0) -> RerankPlan:
    """A plan with these numbers."""
    return RerankPlan(every, Reranking(pages=pages, delay=delay))


def heap_of(pages: int) -> tuple[TwoLevelHeap, Known]:
    """Pages of one site, all pending, none with a score."""
    heaps = TwoLevelHeap(pages=pages, sites=1, scored=True, by_size=False)
    heaps.add_site(0)
    heaps.arrays.score[:pages] = HELD
    for page in range(pages):
        heaps.push(0, page)
    one = np.zeros(1)
    return heaps, Known(heaps.arrays.score, one, one, one, np.zeros(1, np.int64), 1)


def effect(
    due: RerankPlan, heaps: TwoLevelHeap, known: Known, ranks: list[float], again: list[float] | None = None
) -> list[int]:
    """Let ranks take effect, on all pages that are pending; the next batch."""

    def compute() -> NDArray[np.float64]:
        assert again is not None, "nothing is computed twice without need"
        return np.array(again)

    pending = np.sort(heaps.pages_of(0)).astype(np.int64)
    chosen = due.take_effect(heaps.arrays, known, known.score.size, np.array(ranks), lambda: pending, compute)
    return [int(page) for page in chosen]


@pytest.mark.parametrize("delay", [0, 3])
def test_plan__computes_so_many_pages_before_the_effect(delay: int) -> None:
    """Every K pages there is an effect, and the snapshot d pages before it; each is due once."""
    due = plan(Every.PAGES, pages=10, delay=delay)
    heaps, known = heap_of(2)
    assert due.begin(2) == 0
    snapshots, effects = [], []
    for over in range(1, 31):
        assert due.next_at >= over
        due.over(1)
        if due.snapshot_due(2):
            snapshots.append(over)
        assert not due.snapshot_due(2)
        if due.effect_due(2):
            effects.append(over)
            assert effect(due, heaps, known, [0.5, 0.25]) == []
    assert effects == [10, 20, 30]
    assert snapshots == [10 - delay, 20 - delay, 30 - delay]
    assert known.score.tolist() == [0.5, 0.25]


def test_plan__begins_with_a_batch_of_seeds() -> None:
    """As many as a batch has, or all; every K pages there is none."""
    assert plan(Every.BATCH, pages=10).begin(4) == 4
    assert plan(Every.BATCH, pages=10).begin(400) == 10
    assert plan(Every.PAGES, pages=10).begin(400) == 0


@pytest.mark.parametrize("every", list(Every))
def test_plan__computes_at_once_after_a_restart(every: Every) -> None:
    """What the earlier run knew is the snapshot; no page is of a batch yet."""
    due = plan(every, pages=10, delay=3)
    assert due.begin(400, resumed=True) == 0
    assert due.snapshot_due(400)
    assert due.effect_due(400)


def test_batch__has_the_best_and_the_others_wait() -> None:
    """Among equals those found first; pages that were not known at the snapshot wait, too."""
    due = plan(Every.BATCH, pages=2)
    heaps, known = heap_of(4)
    due.begin(4, resumed=True)
    assert due.snapshot_due(4)
    assert effect(due, heaps, known, [0.2, 0.4, 0.2]) == [1, 0]
    assert known.score.tolist() == [0.2, 0.4, HELD, HELD]
    due.over(1)
    assert not due.snapshot_due(4)
    due.over(1)
    assert due.snapshot_due(4)
    assert due.effect_due(4)


def test_batch__is_computed_again_where_all_of_the_snapshot_is_over() -> None:
    """Only pages found since are pending: nobody waits for a page that had its turn."""
    due = plan(Every.BATCH, pages=2)
    heaps, known = heap_of(3)
    assert [heaps.pop(0) for _ in range(3)] == [-1, -1, -1]  # all wait
    due.begin(3, resumed=True)
    assert due.snapshot_due(3)
    assert effect(due, heaps, known, [], again=[0.1, 0.2, 0.3]) == [2, 1]


def test_batch__that_has_all_pages_waits_for_others() -> None:
    """While nothing else is known there is nothing to choose from, and nothing is computed."""
    due = plan(Every.BATCH, pages=10)
    heaps, known = heap_of(2)
    due.begin(2, resumed=True)
    assert due.snapshot_due(2)
    assert effect(due, heaps, known, [0.1, 0.2]) == [0, 1]
    due.over(2)
    assert not due.snapshot_due(2)
    assert not due.effect_due(2)
    assert due.snapshot_due(3)
    assert due.effect_due(3)
