"""Patterns with wildcards, tried together. In: patterns cut at their stars, in order of precedence, and a path. Out:
the first that matches, or that this cannot be told for the work that is allowed.

Most patterns are ruled out by two neighbouring octets that the path does not have. Work is counted in octets that are
looked at; where there is more than `_MOST_WORK` of it, about half a millisecond, nothing is said about the path.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.compiled import uncounted

UNKNOWN = -2
_MOST_WORK = 300_000
_WORDS = 1 << 13  # of eight bits: one for each pair of octets


class Globs:
    """Patterns made ready for checks: heads, parts and tails, one after the other."""

    __slots__ = ("_bounds", "_octets", "_pairs", "_pieces")

    def __init__(self, globs: list[tuple[str, tuple[str, ...], str | None, bool]]) -> None:
        octets = bytearray()
        bounds: list[int] = [0]
        pieces: list[tuple[int, int, int]] = []  # the first piece, how many, and whether 1 the last ends, 2 it is all
        for head, parts, tail, whole in globs:
            first = len(bounds) - 1
            for piece in (head, *parts) if tail is None else (head, *parts, tail):
                octets += piece.encode("utf-8", "surrogatepass")
                bounds.append(len(octets))
            pieces.append((first, len(bounds) - 1 - first, 2 if whole else int(tail is not None)))
        self._keep(bytes(octets), np.array(bounds, np.int32), np.array(pieces, np.int32).reshape(-1, 3))

    @classmethod
    def ready(cls, octets: bytes, bounds: NDArray[np.int32], pieces: NDArray[np.int32]) -> Globs:
        """Patterns that are cut already: all pieces one after the other, where each ends, and by pattern the first of
        its pieces, how many, and whether 1 the last ends the path, 2 it is all.
        """
        globs = cls([])
        globs._keep(octets, bounds, pieces)
        return globs

    def _keep(self, octets: bytes, bounds: NDArray[np.int32], pieces: NDArray[np.int32]) -> None:
        self._octets = np.frombuffer(octets, np.uint8)
        self._bounds = bounds
        self._pieces = pieces
        self._pairs = np.zeros(_WORDS, np.uint8)

    def first(self, path: str, most: int) -> int:
        """The place of the first of the patterns before `most` that matches, -1 if none does, or `UNKNOWN`."""
        octets = np.frombuffer(path.encode("utf-8", "surrogatepass"), np.uint8)
        return first_match(self._octets, self._bounds, self._pieces, self._pairs, octets, most)


@uncounted
def first_match(  # noqa: C901
    octets: NDArray[np.uint8],
    bounds: NDArray[np.int32],
    pieces: NDArray[np.int32],
    pairs: NDArray[np.uint8],
    path: NDArray[np.uint8],
    most: int,
) -> int:
    """`Globs.first`."""
    pairs[:] = 0
    for at in range(1, path.size):
        pair = np.int64(path[at - 1]) << 8 | np.int64(path[at])
        pairs[pair >> 3] |= np.uint8(1 << (pair & 7))
    work = 0
    for glob in range(most):
        first, count, how = pieces[glob, 0], pieces[glob, 1], pieces[glob, 2]
        position, end = 0, path.size
        matches = True
        work += 2
        for place in range(first, first + count):  # is there a pair that the path does not have?
            for at in range(bounds[place] + 1, bounds[place + 1]):
                work += 1
                pair = np.int64(octets[at - 1]) << 8 | np.int64(octets[at])
                if not pairs[pair >> 3] >> (pair & 7) & 1:
                    matches = False
                    break
            if not matches:
                break
            if work > _MOST_WORK:
                return UNKNOWN
        if not matches:
            continue
        last = first + count - 1
        if how == 1:  # the tail first
            size = bounds[last + 1] - bounds[last]
            end -= size
            matches = end >= bounds[first + 1] - bounds[first]
            at = 0
            while matches and at < size:
                matches = octets[bounds[last] + at] == path[end + at]
                at += 1
            work += at
        for place in range(first, last if how == 1 else last + 1):
            if not matches:
                break
            begin, size = bounds[place], bounds[place + 1] - bounds[place]
            found = -1
            start = position
            while start + size <= end and found < 0:
                at = 0
                while at < size and octets[begin + at] == path[start + at]:
                    at += 1
                work += at + 1
                if at == size:
                    found = start
                elif place == first or work > _MOST_WORK:  # the head stands at the beginning
                    break
                start += 1
            if work > _MOST_WORK:
                return UNKNOWN
            matches = found >= 0
            position = found + size
        if matches and (how != 2 or position == path.size):
            return glob
    return -1
