"""A URL of one's own with the public fingerprint of somebody else's: a second preimage of XXH3-64.

XXH3 without a seed, over 128 bytes, is a sum of eight blocks of 16 bytes that are mixed each for itself, and a step at
the end that can be undone. With the first bytes given, four blocks are left to choose so that the sum is as wanted: a
generalised birthday problem (Wagner, "A generalized birthday problem", 2002), solved by sorting four lists of four
million values. That takes half a minute of one core, so tests use a pair that was made by it:

    forged("http://attacker.example/", VICTIM) == FORGED
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.urls import fingerprint

Words = NDArray[np.uint64]

VICTIM = "http://good.victim.example/p3"
FORGED = (
    "http://attacker.example/pccjplpdbhjcinafiinojnnknacdghlelbomikca"
    "oaonfnmceplbmepcggondcjmpiimmadblpppceaofpfpfekgfepjinfbfghhelea"
)

LENGTH = 128
# The first half of the constant that XXH3 calls its secret; it is in its source.
_CONSTANT = np.frombuffer(
    bytes.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
        "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
        "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
        "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    ),
    dtype="<u8",
)
_PLACES = (0, 2, 4, 6, 7, 5, 3, 1)  # of the constant's 16 bytes, by block
_PRIME = 0x9E3779B185EBCA87
_LAST = 0x165667919E3779F9
_MASK = (1 << 64) - 1
_BITS = 22
_LOW = np.uint64((1 << _BITS) - 1)
_FREE = (4, 5, 6, 7)  # the blocks that are chosen


def forged(prefix: str, victim: str) -> str:
    """A URL that begins with the prefix (64 bytes at most) and has the fingerprint of the victim."""
    head = prefix.encode()
    assert len(head) <= 16 * _FREE[0], "there must be room to choose"
    wanted = _undone(fingerprint(victim))
    for salt in range(10):
        chance = np.random.default_rng(salt)
        fixed = head + _letters(chance, 16 * _FREE[0] - len(head)).tobytes()
        rest = (wanted - LENGTH * _PRIME - sum(int(_mixed(fixed, block)[0]) for block in range(_FREE[0]))) & _MASK
        found = _four_that_sum_to(rest, [_choices(chance, block) for block in _FREE])
        if found is not None:
            return (fixed + b"".join(found)).decode()
    raise AssertionError("ten tries without a collision: the sum is not what XXH3 computes")


def _undone(digest: int) -> int:
    """The sum before XXH3's last step."""
    digest ^= digest >> 32
    digest = digest * pow(_LAST, -1, 1 << 64) & _MASK
    return digest ^ digest >> 37


def _letters(chance: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """Letters from a to p."""
    return np.frombuffer(chance.bytes(count), np.uint8) % 16 + np.uint8(97)


def _choices(chance: np.random.Generator, block: int) -> tuple[NDArray[np.uint8], Words]:
    """Texts for a block, and what each adds to the sum."""
    texts = _letters(chance, 16 << _BITS).reshape(-1, 16)
    words = texts.view("<u8")
    low, high = _CONSTANT[2 * _PLACES[block] : 2 * _PLACES[block] + 2]
    return texts, _folded(words[:, 0] ^ low, words[:, 1] ^ high)


def _mixed(text: bytes, block: int) -> Words:
    words = np.frombuffer(text, "<u8", 2, 16 * block)
    low, high = _CONSTANT[2 * _PLACES[block] : 2 * _PLACES[block] + 2]
    return _folded(words[:1] ^ low, words[1:] ^ high)


def _folded(a: Words, b: Words) -> Words:
    """The two halves of the product of 64-bit numbers, one upon the other."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    other = a0 * b1 + (middle & low)
    high = a1 * b1 + (middle >> half) + (other >> half)
    folded: Words = (a * b) ^ high
    return folded


def _four_that_sum_to(rest: int, lists: list[tuple[NDArray[np.uint8], Words]]) -> list[bytes] | None:
    """One text of each list, so that their values sum to the rest."""
    (first, a), (second, b), (third, c), (fourth, d) = lists
    left, right = _pairs(a, b, 0), _pairs(c, d, rest)
    sums, others = a[left[0]] + b[left[1]], np.uint64(rest) - (c[right[0]] + d[right[1]])
    common = np.intersect1d(sums, others)
    if not len(common):
        return None
    at, other = np.flatnonzero(sums == common[0])[0], np.flatnonzero(others == common[0])[0]
    places = (left[0][at], left[1][at], right[0][other], right[1][other])
    return [texts[place].tobytes() for texts, place in zip((first, second, third, fourth), places, strict=True)]


def _pairs(a: Words, b: Words, rest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of values whose sums end like the rest."""
    order = np.argsort(b & _LOW)
    ends = (b & _LOW)[order]
    wanted = (np.uint64(rest) - a) & _LOW
    begin, end = np.searchsorted(ends, wanted, "left"), np.searchsorted(ends, wanted, "right")
    counts = end - begin
    ones = np.repeat(np.arange(len(a)), counts)
    offsets = np.arange(len(ones)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ones, order[np.repeat(begin, counts) + offsets]
