"""Which SimHashes of texts are alike. In: distinct SimHashes, and in how many bits two may differ. Out: sets.

Comparing each with each takes too long, so they are sorted several times, each time by other bits. The 64 bits are cut
into blocks, `within` + k of them: where two differ in no more than `within` bits, k blocks are the same in both, and
for each choice of k blocks those that agree in them stand side by side in one of the orders. k is chosen by what the
sorting and the comparing would take. One order is in memory at a time: 32 bytes a SimHash in all, beside the
SimHashes themselves.

Where very many agree in the chosen bits, each is compared with the next `MOST` alone, so that time is bounded too; how
often that happened is counted. Two sets become one where any of their members are alike: members of a set may differ in
more bits.

>>> import numpy as np
>>> found = alike(np.array([0, 7, 255, 1 << 40], np.uint64), 3)
>>> found.sets.tolist(), found.cut
([0, 0, 2, 0], 0)
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled, inlined, uncounted

MOST = 2_000  # with which one SimHash is compared in one order
_SORTING = 40.0  # comparisons that take as long as sorting a SimHash
_BITS = 64


class Alike(NamedTuple):
    """SimHashes in sets."""

    sets: NDArray[np.int64]
    """For each: the first of its set."""
    cut: int
    """How many were not compared with all that they had to be, in some order."""


def alike(values: NDArray[np.uint64], within: int) -> Alike:
    """Put distinct SimHashes into sets."""
    sets = np.arange(len(values), dtype=np.int64)
    cut = 0
    if len(values) > 1:
        for mask in masks(len(values), within):
            keys = values & mask
            order = np.argsort(keys, kind="stable")
            cut += _join(values, keys, order, within, MOST, sets)
        _flatten(sets)
    return Alike(sets, cut)


def masks(count: int, within: int) -> list[np.uint64]:
    """The bits by which so many SimHashes are sorted, each time.

    >>> [f"{mask:016x}" for mask in masks(1_000, 3)]
    ['000000000000ffff', '00000000ffff0000', '0000ffff00000000', 'ffff000000000000']
    >>> len(masks(50_000_000, 3)), masks(7, 0) == [2**64 - 1]
    (10, True)
    """

    def cost(chosen: int) -> float:
        return comb(within + chosen, chosen) * (_SORTING + count / 2 ** (_BITS * chosen / (within + chosen)))

    chosen = min(range(1, 6), key=cost)
    blocks = within + chosen
    bounds = [_BITS * block // blocks for block in range(blocks + 1)]
    parts = [(1 << bounds[block + 1]) - (1 << bounds[block]) for block in range(blocks)]
    return [np.uint64(sum(some)) for some in combinations(parts, chosen)]


@inlined
def _differ(one: np.uint64, other: np.uint64) -> int:
    """In how many bits two differ."""
    bits = one ^ other
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@uncounted
def first_of(sets: NDArray[np.int64], member: int) -> int:
    """The first of a member's set; the way there is halved."""
    while sets[member] != member:
        sets[member] = sets[sets[member]]
        member = sets[member]
    return member


@compiled
def unite(sets: NDArray[np.int64], ones: NDArray[np.int64], others: NDArray[np.int64]) -> None:
    """Make one of the sets of each pair."""
    for place in range(ones.size):
        one, other = first_of(sets, ones[place]), first_of(sets, others[place])
        sets[max(one, other)] = min(one, other)


@compiled
def _join(
    values: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    order: NDArray[np.int64],
    within: int,
    most: int,
    sets: NDArray[np.int64],
) -> int:
    """Compare those that agree in the bits they are sorted by; how many had too many of these behind them."""
    cut = 0
    for place in range(order.size):
        here = order[place]
        last = min(place + most, order.size - 1)
        for further in range(place + 1, last + 1):
            there = order[further]
            if keys[there] != keys[here]:
                break
            if _differ(values[here], values[there]) <= within:
                one, other = first_of(sets, here), first_of(sets, there)
                sets[max(one, other)] = min(one, other)
        else:
            if last + 1 < order.size and keys[order[last + 1]] == keys[here]:
                cut += 1
    return cut


@compiled
def _flatten(sets: NDArray[np.int64]) -> None:
    for member in range(sets.size):
        sets[member] = first_of(sets, member)
