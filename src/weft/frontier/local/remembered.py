"""Links that were followed before. In: links as they are written, and where. Out: what is to be known of where they
lead.

Most links of a page were on an earlier page of the same site, written the same way: they are answered here, all of a
page in one step, without parsing anything; URL-seen was asked about them then. A link is known by a keyed hash
(SipHash, see `keyed`) of its text and of what it is relative to. There is room for so many, in places of four; what
comes in where a place is full takes the place of the oldest there, which is resolved again when it comes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, binder, compiled, copy_bytes, find_byte, inlined, reserve, table_of, uncounted
from weft.frontier.keyed import siphash
from weft.model import FIRST_REQUISITE, Kind
from weft.parse.links import Link, PageLinks

_SETS = 1 << 16  # of four links each, 4 MB in all
_LONGEST = 65_536  # bytes of a link; of a longer one nothing is remembered
_MANY = 1 << 10  # links of a page that there is room for at first
_A = int(Kind.A)
_NO_KINDS = np.empty(0, np.uint8)

# What remembers: links of pages that are followed, parts of pages, and links that ask not to be followed.
_PAGES, _PARTS, _UNFOLLOWED = range(3)


Unknown = tuple[int, int, str, int]
"""A link that nothing is remembered of: its place among the links of its page, the key by which it can be remembered (0
where it is too long for that), the link as written, and its kind. Not named: it is made for every new link.
"""


class _Arrays(NamedTuple):
    """What the compiled functions read and write."""

    secret: NDArray[np.uint64]
    links: NDArray[np.uint64]  # by set: four keys, then where each leads; all of it in one line of the cache
    ids: NDArray[np.uint64]  # by set: four keys of URLs, where pages are ranked
    bases: NDArray[np.uint8]  # what links are relative to: origin, folder and the page itself, a line each
    words: NDArray[np.uint64]  # one text, as it is hashed
    # Links of a page.
    keys: NDArray[np.uint64]
    targets: NDArray[np.uint64]
    url_keys: NDArray[np.uint64]
    unknown: NDArray[np.int64]  # of those that are not known: the place among them, where the text begins and ends


class Remembered:
    """A cache of links that one worker followed; its discovery owns it.

    It may forget anything at any time: who finds nothing here asks URL-seen.
    """

    def __init__(self, secret: NDArray[np.uint64], *, shared: bool, ranked: bool, sets: int = _SETS) -> None:
        self._shared = shared  # an absolute link means the same on every site
        self._ranked = ranked
        self._secret = secret
        self._links = reserve(8 * sets, np.uint64, large=True)
        self._ids = reserve(4 * sets if ranked else 1, np.uint64)
        self._make_room(_LONGEST, _MANY)

    def __repr__(self) -> str:
        return f"Remembered({np.count_nonzero(self._links.reshape(-1, 8)[:, :4])} links)"

    def look_up(
        self, links: Sequence[Link], site: str, origin: str, folder: str, base: str, *, followed: bool = True
    ) -> tuple[list[int], list[Unknown]]:
        """Where links of a site's page lead, relative to these; 0 for nowhere, and for those that nothing is remembered
        of. Where pages are ranked, the key of the URL stands above its id.
        """
        count = links.size if type(links) is PageLinks else len(links)
        if not count:
            return [], []
        bases = f"{site} {origin}\n{site} {folder}\n{site} {base}".encode("utf-8", "surrogatepass")
        size = len(bases)
        if size > self._room or count > self._most:
            self._make_room(max(2 * size, self._room), max(2 * count, self._most))
        self._bases[:size] = bases
        if type(links) is not PageLinks:
            return self._find_made(links, size, followed=followed)
        found, unknown = self._find(links.data, links.spans, _NO_KINDS, size, _PAGES)
        if not unknown and not links.made:
            return found, []
        page, places = links.page, links.places
        unknowns = [(at, key, page[begin:end].decode(), _A) for at, key, begin, end in unknown]
        if not links.made:
            return found, unknowns
        more, further = self._find_made(links.made, size, followed=followed)
        for before, (place, target) in enumerate(zip(places, more, strict=True)):
            found.insert(before + place, target)
        unknowns = [(at + bisect_right(places, at), key, written, kind) for at, key, written, kind in unknowns]
        unknowns += [(at + places[at], key, written, kind) for at, key, written, kind in further]
        return found, sorted(unknowns)

    def remember(self, found: dict[int, int]) -> None:
        """Keep where links lead: by the key of each, what `look_up` is to give for it."""
        keys, targets, url_keys = self._keys, self._targets, self._url_keys
        for at, (key, target) in enumerate(found.items()):
            keys[at] = key
            targets[at] = target & _ID
            if self._ranked:
                url_keys[at] = target >> ID_BITS
        _store_at(self._address, len(found))

    def clear(self) -> None:
        """Forget everything: what was followed is to be looked at anew."""
        self._links.fill(0)

    def _find_made(self, links: Sequence[Link], bases: int, *, followed: bool) -> tuple[list[int], list[Unknown]]:
        """The same for links that are texts."""
        texts = [written.encode("utf-8", "surrogatepass") for written, _ in links]
        ends = list(accumulate(map(len, texts)))
        spans = np.array(list(chain.from_iterable(zip([0, *ends[:-1]], ends, strict=True))), np.int64)
        kinds = np.array([kind for _, kind in links], np.uint8)
        found, unknown = self._find(
            np.frombuffer(b"".join(texts), np.uint8), spans, kinds, bases, _PAGES if followed else _UNFOLLOWED
        )
        return found, [(at, key, *links[at]) for at, key, _, _ in unknown]

    def _find(
        self, data: NDArray[np.uint8], spans: NDArray[np.int64], kinds: NDArray[np.uint8], bases: int, of: int
    ) -> tuple[list[int], list[tuple[int, int, int, int]]]:
        """Where links of a page lead; of those that are not known: place, key, where the text begins, where it ends."""
        count = spans.size // 2
        missing = _find_at(self._address, data, spans, kinds, bases, of, self._shared)
        found = self._targets[:count].tolist()
        if self._ranked:
            found = [key << ID_BITS | target for key, target in zip(self._url_keys[:count], found, strict=True)]
        if not missing:
            return found, []
        rows, keys = iter(self._unknown[: 3 * missing].tolist()), self._keys
        return found, [(at, keys[at], begin, end) for at, begin, end in zip(rows, rows, rows, strict=True)]

    def _make_room(self, size: int, most: int) -> None:
        self._room, self._most = size, most
        self._arrays = _Arrays(
            secret=self._secret,
            links=self._links,
            ids=self._ids,
            bases=np.zeros(size, np.uint8),
            words=np.zeros(max(size, _LONGEST) // 8 + 1, np.uint64),
            keys=np.zeros(most, np.uint64),
            targets=np.zeros(most, np.uint64),
            url_keys=np.zeros(most, np.uint64),
            unknown=np.zeros(3 * most, np.int64),
        )
        self._table = table_of(self._arrays)
        self._address = address_of(self._table)
        # Views are read and set at a third of what arrays cost.
        self._bases, self._keys = _view(self._arrays.bases), _view(self._arrays.keys)
        self._targets, self._url_keys = _view(self._arrays.targets), _view(self._arrays.url_keys)
        self._unknown = _view(self._arrays.unknown)


ID_BITS = 64  # where pages are ranked, what is remembered of a link has its key above its id
_ID = (1 << ID_BITS) - 1
_FIRST_REQUISITE = int(FIRST_REQUISITE)
_HASH, _SLASH, _COLON, _QUESTION, _SPACE, _S = b"#/:? s"
_HTTP = np.frombuffer(b"http", np.uint8)


def _view(array: Any) -> Any:
    return memoryview(array)


_arrays_at = binder(_Arrays)


@uncounted
def _base(arrays: _Arrays, at: int, size: int) -> tuple[np.uint64, int]:
    """The key of one thing that links are relative to, which stands on a line; and where the next begins."""
    end = find_byte(arrays.bases[:size], at, 10)
    copy_bytes(arrays.words.ctypes.data, arrays.bases.ctypes.data + at, end - at)
    return siphash(arrays.secret[0], arrays.secret[1], arrays.words, end - at), end + 1


@compiled
def _find_at(
    address: int,
    page: NDArray[np.uint8],
    spans: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    bases: int,
    of: int,
    shared: bool,
) -> int:
    """Look links up; how many are not known. Without kinds all are those of <a>."""
    arrays = _arrays_at(address)
    low, high = arrays.secret[0], arrays.secret[1]
    words, start = arrays.words, arrays.words.ctypes.data
    origin, at = _base(arrays, 0, bases)
    folder, at = _base(arrays, at, bases)
    whole, at = _base(arrays, at, bases)
    count = spans.size // 2
    for i in range(count):
        begin, end = spans[2 * i], spans[2 * i + 1]
        first = page[begin]
        arrays.keys[i] = np.uint64(0)
        if end - begin <= _LONGEST and first != _HASH:
            relative = folder
            if first == _SLASH:
                relative = origin
            elif first == _QUESTION or first <= _SPACE:  # what is all whitespace is the page itself
                relative = whole
            elif _is_absolute(page, begin, end):
                relative = np.uint64(0) if shared else origin
            what = _PARTS if of == _PAGES and kinds.size and kinds[i] >= _FIRST_REQUISITE else of
            copy_bytes(start, page.ctypes.data + begin, end - begin)
            arrays.keys[i] = siphash(low ^ relative, high ^ np.uint64(what), words, end - begin)
    # All are looked up behind each other, so that the processor waits for many of them at once.
    missing = 0
    for i in range(count):
        key = arrays.keys[i]
        place = _place(arrays.links, key) if key else -1
        arrays.targets[i] = arrays.links[place + 4] if place >= 0 else np.uint64(0)
        if arrays.ids.size > 1:
            arrays.url_keys[i] = arrays.ids[place // 8 * 4 + place % 8] if place >= 0 else np.uint64(0)
        if place < 0 and page[spans[2 * i]] != _HASH:  # which is the page itself
            arrays.unknown[3 * missing] = i
            arrays.unknown[3 * missing + 1] = spans[2 * i]
            arrays.unknown[3 * missing + 2] = spans[2 * i + 1]
            missing += 1
    return missing


@inlined
def _place(links: NDArray[np.uint64], key: np.uint64) -> int:
    """Where a key stands, or -1."""
    first = np.int64(key & np.uint64(links.size // 8 - 1)) * 8
    for place in range(first, first + 4):
        if links[place] == key:
            return place
    return -1


@inlined
def _is_absolute(page: NDArray[np.uint8], begin: int, end: int) -> bool:
    """Does a text begin with http:// or https://?"""
    if end - begin < 8:
        return False
    for place in range(4):
        if page[begin + place] != _HTTP[place]:
            return False
    at = begin + 5 if page[begin + 4] == _S else begin + 4
    return bool(page[at] == _COLON and page[at + 1] == _SLASH and page[at + 2] == _SLASH)


@compiled
def _store_at(address: int, count: int) -> None:
    """Put links in, each as the first of its set; the last one of a full set goes."""
    arrays = _arrays_at(address)
    links, ids = arrays.links, arrays.ids
    for i in range(count):
        key = arrays.keys[i]
        place = _place(links, key)
        if place < 0:
            first = np.int64(key & np.uint64(links.size // 8 - 1)) * 8
            for other in range(first + 3, first, -1):
                links[other] = links[other - 1]
                links[other + 4] = links[other + 3]
                if ids.size > 1:
                    ids[other // 8 * 4 + other % 8] = ids[other // 8 * 4 + other % 8 - 1]
            place = int(first)
        links[place] = key
        links[place + 4] = arrays.targets[i]
        if ids.size > 1:
            ids[place // 8 * 4 + place % 8] = arrays.url_keys[i]
