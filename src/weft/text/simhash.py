r"""A short name for what a text says, so that texts that say almost the same have almost the same. In: a text. Out: 64
bits (a SimHash), and how many words it has.

Two texts that differ in a few words differ in a few of the 64 bits; two that have nothing in common differ in about 32.
How many bits mean what is measured in docs/duplicates.md. Whoever wants the same number elsewhere computes it so:

1. The text in lower case, as UTF-8. A word is a run of ASCII letters, ASCII digits and characters from U+00C0 on, but
   for those from U+2000 to U+2BFF and from U+3000 to U+303F, which are blanks, punctuation and signs. A character from
   U+3040 to U+9FFF (kana, Chinese characters) is a word by itself.
2. A word's number is FNV-1a of its bytes, in 64 bits.
3. For each three words in a row, with the numbers a, b and c: mix((a * 5 + b) * 5 + c), modulo 2 ** 64, where mix is
   the finaliser of MurmurHash3 (fmix64).
4. A bit of the SimHash is set where more than half of these numbers have it set; of fewer than three words none is.

>>> one, words = simhash("The quick brown fox jumps over the lazy dog " * 9 + "and sleeps.")
>>> other, _ = simhash("The quick brown fox jumps over the lazy dog " * 9 + "and wakes.")
>>> words, distance(one, other) < 4
(83, True)
>>> simhash("Too short")
(0, 2)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled, inlined, uncounted

_FNV = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_FIVE = np.uint64(5)
_ONE = np.uint64(1)
_BITS = 64


def simhash(text: str) -> tuple[int, int]:
    """The SimHash of a text, and its words; 0 where there are fewer than three."""
    data = np.frombuffer(text.lower().encode("utf-8", "surrogatepass"), np.uint8)
    bits, words = _simhash(data)
    return int(bits), int(words)


def distance(one: int, other: int) -> int:
    """In how many bits two differ, be they signed or not.

    >>> distance(-1, 2**64 - 1), distance(0, -1), distance(5, 6)
    (0, 64, 2)
    """
    return ((one ^ other) & (2**64 - 1)).bit_count()


@inlined
def _mix(number: np.uint64) -> np.uint64:
    """Spread every bit of a number over all of them."""
    number ^= number >> np.uint64(33)
    number *= np.uint64(0xFF51AFD7ED558CCD)
    number ^= number >> np.uint64(33)
    number *= np.uint64(0xC4CEB9FE1A85EC53)
    return number ^ (number >> np.uint64(33))


@uncounted
def _count(counts: NDArray[np.int32], number: np.uint64) -> None:
    """Add one to what counts each bit that is set."""
    for bit in range(_BITS):
        counts[bit] += np.int32((number >> np.uint64(bit)) & _ONE)


@inlined
def _width(data: NDArray[np.uint8], at: int) -> int:
    """How many bytes from here on are a character that is a word by itself (3), a part of one (1), or what stands
    between words (-1 to -3).
    """
    byte = data[at]
    if byte < 0x80:
        if 0x61 <= byte <= 0x7A or 0x30 <= byte <= 0x39 or 0x41 <= byte <= 0x5A:
            return 1
        return -1
    following = data[at + 1] if at + 1 < data.size else np.uint8(0)
    if byte == 0xC2:  # U+0080 to U+00BF: no letters but three, among them the blank that is not broken
        return -2
    if byte == 0xE2 and following < 0xB0:  # U+2000 to U+2BFF: blanks, dashes, quotes, signs
        return -3
    if byte == 0xE3 and following == 0x80:  # U+3000 to U+303F: the same for ideographs
        return -3
    if (byte == 0xE3 and following > 0x80) or 0xE4 <= byte <= 0xE9:  # U+3040 to U+9FFF
        return 3
    return 1


@compiled
def _simhash(data: NDArray[np.uint8]) -> tuple[np.uint64, int]:
    """The same of bytes in lower case."""
    counts = np.zeros(_BITS, np.int32)
    first = second = np.uint64(0)
    words = 0
    word = _FNV
    inside = False
    at = 0
    while at <= data.size:
        width = _width(data, at) if at < data.size else -1
        if inside and width != 1:
            words += 1
            if words >= 3:
                _count(counts, _mix((first * _FIVE + second) * _FIVE + word))
            first, second, word, inside = second, word, _FNV, False
        if width == 3:
            for place in range(at, min(at + 3, data.size)):
                word = (word ^ np.uint64(data[place])) * _PRIME
            words += 1
            if words >= 3:
                _count(counts, _mix((first * _FIVE + second) * _FIVE + word))
            first, second, word = second, word, _FNV
            at += 3
        elif width == 1:
            word = (word ^ np.uint64(data[at])) * _PRIME
            inside = True
            at += 1
        else:
            at -= width
    found = np.uint64(0)
    for bit in range(_BITS):
        if 2 * counts[bit] > max(0, words - 2):
            found |= _ONE << np.uint64(bit)
    return found, words
