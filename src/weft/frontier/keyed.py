"""Keys of URLs: what decides whether one was seen. In: a crawl's secret, and texts. Out: 64 bits of each, that nobody
can tell, or choose, who does not have the secret.

SipHash-2-4 over the UTF-8 text (Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012). The fingerprints of
`weft.urls` are public: who wants two URLs to have the same can make them. So they are names, in columns and for other
programs, and decide nothing; keys decide, and stand nowhere but in the frontier (decision 0033). All workers of a crawl
have the same secret. 0 is the key of no URL.

>>> Keyed(bytes(range(16))).of("".join(map(chr, range(15)))) == 0xA129CA6149BE45E5  # as in the paper's appendix
True
>>> keyed = Keyed(bytes(16))
>>> list(keyed.of_all(["http://a.example/", "http://a.example/ü"])) == [
...     keyed.of("http://a.example/"), keyed.of("http://a.example/ü")]
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, binder, compiled, copy_bytes, find_byte, inlined, table_of, uncounted

_TEXTS, _MANY = 1 << 16, 1 << 12  # bytes and texts that there is room for at first


class _Arrays(NamedTuple):
    """What the compiled functions read and write."""

    secret: NDArray[np.uint64]
    texts: NDArray[np.uint8]
    words: NDArray[np.uint64]  # one text, as it is hashed
    keys: NDArray[np.uint64]


class Keyed:
    """Gives URLs their keys, for one crawl."""

    def __init__(self, secret: bytes) -> None:
        assert len(secret) == 16, "a secret has 128 bits"
        self.secret = np.frombuffer(secret, dtype="<u8").astype(np.uint64)
        self._make_room(_TEXTS, _MANY)

    def __repr__(self) -> str:
        return "Keyed()"  # and not by what

    def of(self, url: str) -> int:
        """The key of one URL."""
        return self.of_bytes(url.encode())

    def of_bytes(self, text: bytes) -> int:
        """The key of what is no URL alone."""
        size = len(text)
        if size > self._room:
            self._make_room(2 * size, self._most)
        self._texts[:size] = text
        _hash_one(self._address, size)
        key: int = self._keys[0]
        return key

    def of_all(self, urls: Sequence[str]) -> Any:
        """The keys of many URLs, as a view that is good until the next are asked for."""
        text, count = "\n".join(urls).encode(), len(urls)
        size = len(text)
        if size > self._room or count > self._most:
            self._make_room(max(2 * size, self._room), max(2 * count, self._most))
        self._texts[:size] = text
        _hash_lines(self._address, size, count)
        return self._keys[:count]

    def array_of(self, urls: Sequence[str]) -> NDArray[np.uint64]:
        """The keys of any number of URLs, for good."""
        parts = [np.array(self.of_all(urls[at : at + _MANY])) for at in range(0, len(urls), _MANY)]
        return np.concatenate([np.empty(0, np.uint64), *parts])

    def _make_room(self, size: int, most: int) -> None:
        self._room, self._most = size, most
        self._arrays = _Arrays(
            secret=self.secret,
            texts=np.zeros(size, np.uint8),
            words=np.zeros(size // 8 + 1, np.uint64),
            keys=np.zeros(most, np.uint64),
        )
        self._table = table_of(self._arrays)
        self._address = address_of(self._table)
        # Views are read and set at a third of what arrays cost.
        self._texts, self._keys = _view(self._arrays.texts), _view(self._arrays.keys)


def _view(array: Any) -> Any:
    return memoryview(array)


_arrays_at = binder(_Arrays)


@compiled
def _hash_one(address: int, size: int) -> None:
    """The key of the text that is there."""
    arrays = _arrays_at(address)
    copy_bytes(arrays.words.ctypes.data, arrays.texts.ctypes.data, size)
    arrays.keys[0] = siphash(arrays.secret[0], arrays.secret[1], arrays.words, size)


@compiled
def _hash_lines(address: int, size: int, count: int) -> None:
    """The keys of so many texts, one a line; a URL in normal form has no line ends."""
    secret, texts, words, keys = _arrays_at(address)
    texts = texts[:size]
    at = 0
    for i in range(count):
        end = find_byte(texts, at, 10)
        copy_bytes(words.ctypes.data, texts.ctypes.data + at, end - at)
        keys[i] = siphash(secret[0], secret[1], words, end - at)
        at = end + 1


Four = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


@uncounted
def siphash(low: np.uint64, high: np.uint64, words: NDArray[np.uint64], length: int) -> np.uint64:
    """The key of a text that lies at the beginning of an array; what is behind it does not count."""
    v0 = low ^ np.uint64(0x736F6D6570736575)
    v1 = high ^ np.uint64(0x646F72616E646F6D)
    v2 = low ^ np.uint64(0x6C7967656E657261)
    v3 = high ^ np.uint64(0x7465646279746573)
    whole = length // 8
    for i in range(whole):
        v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, words[i])
    rest = (np.uint64(1) << np.uint64(8 * (length % 8))) - np.uint64(1)
    last = (np.uint64(length) << np.uint64(56)) | (words[whole] & rest)
    v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, last)
    v2 ^= np.uint64(0xFF)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    key = v0 ^ v1 ^ v2 ^ v3
    return key if key != np.uint64(0) else np.uint64(1)


@inlined
def _absorb(v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64, word: np.uint64) -> Four:
    v3 ^= word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ word, v1, v2, v3


@inlined
def _round(v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64) -> Four:
    v0 += v1
    v1 = (v1 << np.uint64(13)) | (v1 >> np.uint64(51))
    v1 ^= v0
    v0 = (v0 << np.uint64(32)) | (v0 >> np.uint64(32))
    v2 += v3
    v3 = (v3 << np.uint64(16)) | (v3 >> np.uint64(48))
    v3 ^= v2
    v0 += v3
    v3 = (v3 << np.uint64(21)) | (v3 >> np.uint64(43))
    v3 ^= v0
    v2 += v1
    v1 = (v1 << np.uint64(17)) | (v1 >> np.uint64(47))
    v1 ^= v2
    v2 = (v2 << np.uint64(32)) | (v2 >> np.uint64(32))
    return v0, v1, v2, v3
