"""Chance that can be computed again. In: a seed, the question, the number of a thing. Out: its draw.

Whether page 17 is a duplicate or site 3 sets cookies follows from the seed and these numbers alone, in any
order, in any process, on any machine. The mixing function is SplitMix64 (Steele, Lea and Flood 2014).

>>> cookies = Dice(1, "cookies")
>>> cookies.one(3) == int(cookies.many(np.arange(5))[3]) == int(mix(cookies.key, 3))
True
>>> bool(abs(cookies.shares(np.arange(10_000)).mean() - 0.5) < 0.01)
True
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ONE, _A, _B, _C = np.uint64(1), np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def mix(key: np.uint64, number: int) -> np.uint64:
    """64 bits for one thing, in compiled code."""
    mixed = (np.uint64(number) + _ONE) * _GOLDEN + key
    mixed = (mixed ^ (mixed >> _A)) * _FIRST
    mixed = (mixed ^ (mixed >> _B)) * _SECOND
    return np.uint64(mixed ^ (mixed >> _C))


class Dice:
    """The draws for one question."""

    __slots__ = ("key",)

    def __init__(self, seed: int, question: str) -> None:
        digest = hashlib.blake2b(f"{seed}/{question}".encode(), digest_size=8).digest()
        self.key = np.uint64(int.from_bytes(digest, "little"))

    def one(self, number: int) -> int:
        """64 bits for one thing."""
        return int(mix(self.key, number))

    def share(self, number: int) -> float:
        """A number from 0 up to 1 for one thing."""
        return (self.one(number) >> 11) * 2.0**-53

    def many(self, numbers: NDArray[np.integer]) -> NDArray[np.uint64]:
        """64 bits for each of many things."""
        mixed = (numbers.astype(np.uint64) + _ONE) * _GOLDEN + self.key
        mixed = (mixed ^ (mixed >> _A)) * _FIRST
        mixed = (mixed ^ (mixed >> _B)) * _SECOND
        return np.asarray(mixed ^ (mixed >> _C))

    def shares(self, numbers: NDArray[np.integer]) -> NDArray[np.float64]:
        """A number from 0 up to 1 for each of many things."""
        return np.asarray((self.many(numbers) >> np.uint64(11)) * 2.0**-53)

    def normals(self, numbers: NDArray[np.integer]) -> NDArray[np.float64]:
        """A standard normal draw for each of many things (Box and Muller, from two halves of the bits)."""
        bits = self.many(numbers)
        first = ((bits >> np.uint64(32)) + _ONE) * 2.0**-32
        second = (bits & np.uint64(2**32 - 1)) * 2.0**-32
        return np.asarray(np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second))
