"""Alike SimHashes: all that are within the distance, whatever the order they are looked at in."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from weft.duplicates import alike as module
from weft.duplicates.alike import alike, masks


def by_hand(values: NDArray[np.uint64], within: int) -> list[int]:
    """Each compared with each."""
    sets = list(range(len(values)))
    for one in range(len(values)):
        for other in range(one):
            if int(values[one] ^ values[other]).bit_count() <= within and sets[one] != sets[other]:
                low, high = sorted((sets[one], sets[other]))
                sets = [low if each == high else each for each in sets]
    return sets


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 63), max_size=6)), max_size=40),
    st.integers(0, 6),
)
def test_alike__is_what_comparing_each_with_each_gives(flips: list[tuple[int, list[int]]], within: int) -> None:
    """Values that differ from one of five in a few bits, some near the limit."""
    chance = random.Random(7)
    bases = [chance.getrandbits(64) for _ in range(5)]
    found = set()
    for base, bits in flips:
        value = bases[base]
        for bit in bits:
            value ^= 1 << bit
        found.add(value)
    values = np.array(sorted(found), np.uint64)
    assert alike(values, within).sets.tolist() == by_hand(values, within)


@pytest.mark.parametrize("within", range(9))
@pytest.mark.parametrize("count", [100, 10**6, 10**8])
def test_masks__leave_no_pair_out(within: int, count: int) -> None:
    """Wherever the bits lie in which two differ, they agree in all bits of one mask."""
    chance = random.Random(within)
    chosen = masks(count, within)
    for _ in range(200):
        differ = sum(1 << bit for bit in chance.sample(range(64), within))
        assert any(int(mask) & differ == 0 for mask in chosen)


def test_alike__says_where_not_all_were_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is bounded where very many agree in some bits."""
    values = np.array([0, 3, 12, 48, 192, 1 << 40], np.uint64)
    assert alike(values, 4).cut == 0
    monkeypatch.setattr(module, "MOST", 2)
    assert alike(values, 4).cut > 0
