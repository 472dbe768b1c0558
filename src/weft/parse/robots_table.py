"""Large robots.txt files, read by compiled code. In: the bytes of a file and our product token. Out: the rules for us
as a table, which answers as the rules of a small file do.

The same reading as in `robots`, which explains it; that takes microseconds for a line, which is too long where there
may be a hundred thousand lines: 500 KiB of whatever bytes take this one some ten milliseconds. A line becomes numbers,
places in the file and in its patterns as paths have them; a rule becomes an object when it decides.

Invariant: a `Table` and the matcher of `robots` give the same rule for every file and path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import inlined, uncounted
from weft.parse.globs import UNKNOWN, Globs

LONGEST_LINE = 2083 * 8 - 1
_SHORTEST = 6  # bytes of a line that says something, at least, its end included
_AGENT, _ALLOW, _DISALLOW, _SITEMAP, _DELAY = range(1, 6)

# Keys as bytes, one after the other: field, length, and the letters from here on.
_KEYS = (
    (_AGENT, b"user-agent"),
    (_AGENT, b"useragent"),
    (_AGENT, b"user agent"),
    (_ALLOW, b"allow"),
    (_DISALLOW, b"disallow"),
    (_DISALLOW, b"dissallow"),
    (_DISALLOW, b"dissalow"),
    (_DISALLOW, b"disalow"),
    (_DISALLOW, b"diasllow"),
    (_DISALLOW, b"disallaw"),
    (_SITEMAP, b"sitemap"),
    (_SITEMAP, b"site-map"),
    (_DELAY, b"crawl-delay"),
    (_DELAY, b"crawldelay"),
    (_DELAY, b"crawl delay"),
)
_LETTERS = np.frombuffer(b"".join(key for _, key in _KEYS), np.uint8)
_FIELD_OF = np.array([field for field, _ in _KEYS], np.int32)
_ENDS = np.cumsum([len(key) for _, key in _KEYS]).astype(np.int32)

# Columns of what `_scan` finds: what, where the value is, the line; of a sitemap whose key has its scheme, also where.
_WHAT, _BEGIN, _END, _LINE, _WORD, _WORD_END = range(6)
_FOR_ALL, _FOR_US, _MAP = 0, 2, 4  # a rule of these is 1 more where it allows
# Columns of what `_patterns` makes: the text to compare, its rank, the row of its rule, whether it has wildcards.
_FROM, _TO, _RANK, _ROW, _WILD = range(5)


class Scanned(NamedTuple):
    """What a file says to us, as rows."""

    rows: NDArray[np.int32]
    ours: bool  # there are groups of ours
    delay: float | None


class Table:
    """The rules of a large file, made ready for checks."""

    __slots__ = ("_globs", "_lengths", "_patterns", "_plain", "_ranks", "_rows", "_starred", "_text", "size")

    def __init__(self, body: bytes, rows: NDArray[np.int32], most_globs: int) -> None:
        self._text = body
        self._rows = rows
        values = int((rows[:, _END] - rows[:, _BEGIN]).sum())
        octets = np.empty(9 * values + 4 * len(rows) + 8, np.uint8)  # no more than is written to is taken
        patterns = np.empty((3 * len(rows), 5), np.int32)
        counts = np.zeros(3, np.int64)
        _patterns(np.frombuffer(body, np.uint8), rows, octets, patterns, counts)
        if counts[2] > most_globs:
            raise OverflowError
        self._patterns = patterns = patterns[: counts[0]].copy()
        text = octets[: counts[1]].tobytes()
        plain = np.flatnonzero(patterns[:, _WILD] == 0)
        # What is put in last stays: the highest rank, and of those the first line.
        plain = plain[np.lexsort((-plain, patterns[plain, _RANK]))]
        begins, ends = patterns[plain, _FROM].tolist(), patterns[plain, _TO].tolist()
        self._plain = dict(
            zip((text[begin:end] for begin, end in zip(begins, ends, strict=True)), plain.tolist(), strict=True)
        )
        sizes = patterns[plain, _TO] - patterns[plain, _FROM]
        self._starred = bool((patterns[plain, _RANK] >> 1 > sizes).any())
        self._lengths: list[int] = np.unique(sizes)[::-1].tolist()
        wild = np.flatnonzero(patterns[:, _WILD])
        wild = wild[np.argsort(-patterns[wild, _RANK], kind="stable")]
        self._globs = (wild, _globs(text, patterns[wild])) if len(wild) else None
        self._ranks = -patterns[wild, _RANK]
        self.size = len(body) + 150 * len(plain) + self._patterns.nbytes + rows.nbytes + 2 * len(text)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def closed(self) -> bool:
        """Is anything disallowed?"""
        rules = self._rows[self._patterns[:, _ROW], _WHAT]
        return bool((rules & 1 == 0).any())

    def rules(self) -> Iterator[tuple[bool, bytes, int]]:
        """All rules as they are written: whether it allows, its value, its line."""
        for what, begin, end, line, _, _ in self._rows.tolist():
            yield bool(what & 1), self._text[begin:end], line

    def decide(self, path: str) -> tuple[bool, bytes, int] | int | None:
        """The rule that decides about a path, as in `rules`; None where none does, `UNKNOWN` where it takes too
        long to tell.
        """
        octets = path.encode("utf-8", "surrogatepass")
        best, decided = 0, -1
        plain, patterns = self._plain, self._patterns
        for length in self._lengths:
            if length <= len(octets) and (found := plain.get(octets[:length])) is not None:
                rank = int(patterns[found, _RANK])
                if rank > best:
                    best, decided = rank, found
                    if not self._starred:
                        break
        if self._globs is not None:
            wild, globs = self._globs
            place = globs.first(path, int(np.searchsorted(self._ranks, -best)) if best else len(wild))
            if place == UNKNOWN:
                return UNKNOWN
            if place >= 0:
                decided = int(wild[place])
        if decided < 0:
            return None
        what, begin, end, line = self._rows[patterns[decided, _ROW], :4].tolist()
        return bool(what & 1), self._text[begin:end], line


def scanned(body: bytes, agent: bytes) -> Scanned:
    """Read the lines of a file (without its byte order mark) that say something to an agent, in lower case."""
    rows = np.empty((len(body) // _SHORTEST + 2, 6), np.int32)
    found = np.array([0.0, -1.0, -1.0, 0.0])
    octets = np.frombuffer(body, np.uint8)
    _scan(octets, np.frombuffer(agent, np.uint8), _LETTERS, _ENDS, _FIELD_OF, rows, found)
    ours, delay = found[3] > 0, found[1] if found[1] >= 0 else found[2]
    return Scanned(rows[: int(found[0])], bool(ours), float(delay) if delay >= 0 else None)


def load() -> None:
    """Bring in what is compiled: that takes milliseconds which nobody has once a crawl runs."""
    body = b"User-agent: *\nDisallow: /*a$\nAllow: /b"
    Table(body, rules_of(scanned(body, b"weft")), 1).decide("/")


def rules_of(found: Scanned) -> NDArray[np.int32]:
    """The rows of the rules that apply."""
    what = found.rows[:, _WHAT]
    return found.rows[np.isin(what, (_FOR_US, _FOR_US + 1) if found.ours else (_FOR_ALL, _FOR_ALL + 1))]


def sitemaps_of(body: bytes, found: Scanned) -> tuple[str, ...]:
    """The sitemaps that a file names, each once; little is done for each, for there may be tens of thousands."""
    rows = found.rows[found.rows[:, _WHAT] == _MAP]
    begins, ends = rows[:, _BEGIN].tolist(), rows[:, _END].tolist()
    if body.isascii() and not rows[:, _WORD_END].any():
        text = body.decode("ascii")
        return tuple(dict.fromkeys([text[begin:end] for begin, end in zip(begins, ends, strict=True)]))
    words = zip(rows[:, _WORD].tolist(), rows[:, _WORD_END].tolist(), begins, ends, strict=True)
    values = (
        body[word:word_end] + b":" + body[begin:end] if word_end else body[begin:end]
        for word, word_end, begin, end in words
    )
    return tuple(dict.fromkeys(value.decode("utf-8", "replace") for value in values))


def _globs(text: bytes, patterns: NDArray[np.int32]) -> Globs:
    """Patterns with wildcards, in order of precedence, cut at their stars."""
    size = int((patterns[:, _TO] - patterns[:, _FROM]).sum())
    octets = np.empty(size + 1, np.uint8)
    bounds = np.zeros(size + 2 * len(patterns) + 2, np.int32)
    pieces = np.empty((len(patterns), 3), np.int32)
    used = np.zeros(2, np.int64)
    _cut(np.frombuffer(text, np.uint8), patterns, octets, bounds, pieces, used)
    return Globs.ready(octets[: used[0]].tobytes(), bounds[: used[1] + 1].copy(), pieces)


@inlined
def _blank(octet: int) -> bool:
    return octet == 32 or 9 <= octet <= 13


@inlined
def _lower(octet: int) -> int:
    return octet + 32 if 65 <= octet <= 90 else octet


@inlined
def _field(
    body: NDArray[np.uint8],
    begin: int,
    end: int,
    letters: NDArray[np.uint8],
    ends: NDArray[np.int32],
    fields: NDArray[np.int32],
) -> int:
    """What a key means: it begins as one of those that are known; 0 if none."""
    first = 0
    for key in range(fields.size):
        last = ends[key]
        at = first
        if end - begin >= last - first:
            while at < last and _lower(body[begin + at - first]) == letters[at]:
                at += 1
            if at == last:
                return int(fields[key])
        first = last
    return 0


@inlined
def _seconds(body: NDArray[np.uint8], begin: int, end: int) -> float:
    """The number that a value begins with; -1 if none."""
    at, value, digits = begin, 0.0, 0
    while at < end and 48 <= body[at] <= 57:
        value = value * 10.0 + (body[at] - 48)
        digits += 1
        at += 1
    if at < end and body[at] == 46:
        at += 1
        scale = 1.0
        while at < end and 48 <= body[at] <= 57:
            if scale < 1e15:
                value = value * 10.0 + (body[at] - 48)
                scale *= 10.0
            digits += 1
            at += 1
        value /= scale
    return value if digits and value < np.inf else -1.0


@inlined
def _line(body: NDArray[np.uint8], start: int) -> tuple[int, int, int]:
    """Where the line that begins here ends, comments and blanks left out; its first colon, or -1; the next line."""
    size = body.size
    stop = start
    while stop < size and body[stop] not in (10, 13):
        stop += 1
    last = min(stop, start + LONGEST_LINE)
    end, colon = start, -1
    while end < last and body[end] not in (0, 35):  # NUL, #
        if colon < 0 and body[end] == 58:
            colon = end
        end += 1
    while end > start and _blank(body[end - 1]):
        end -= 1
    following = stop + 2 if stop + 1 < size and body[stop] == 13 and body[stop + 1] == 10 else stop + 1
    return end, colon, following


@inlined
def _parted(body: NDArray[np.uint8], key: int, end: int, colon: int) -> tuple[int, int]:
    """Where the key of a line ends and its value begins: at the colon, or between two words; -1 where it has none."""
    key_end, value = colon, colon + 1
    if colon < 0:
        key_end = key
        while key_end < end and body[key_end] not in (9, 32):
            key_end += 1
        value = key_end
        while value < end and body[value] in (9, 32):
            value += 1
        words = value < end
        for at in range(value, end):
            if body[at] in (9, 32):
                words = False
        if not words:
            value = -1
    while key_end > key and _blank(body[key_end - 1]):
        key_end -= 1
    return key_end, value


@inlined
def _is_everybody(body: NDArray[np.uint8], value: int, end: int) -> bool:
    return value < end and body[value] == 42 and (end - value == 1 or _blank(body[value + 1]))


@inlined
def _is_us(body: NDArray[np.uint8], value: int, end: int, agent: NDArray[np.uint8]) -> bool:
    """Are the letters, - and _ at the start of a name those of the agent?"""
    at = value
    while at < end and _product(body[at]):
        if at - value >= agent.size or _lower(body[at]) != agent[at - value]:
            return False
        at += 1
    return at - value == agent.size


@inlined
def _written_scheme(body: NDArray[np.uint8], key: int, key_end: int) -> int:
    """Where the scheme begins at the end of a key (Sitemap https://…: the only colon is the URL's own); else -1."""
    if key_end - key < 5 or not _scheme(body, key_end):
        return -1
    word = key_end - 1
    while word > key and not _blank(body[word - 1]):
        word -= 1
    return word


@uncounted
def _scan(  # noqa: C901
    body: NDArray[np.uint8],
    agent: NDArray[np.uint8],
    letters: NDArray[np.uint8],
    ends: NDArray[np.int32],
    fields: NDArray[np.int32],
    rows: NDArray[np.int32],
    found: NDArray[np.float64],
) -> None:
    """`scanned`: fills in rows, and into `found` how many, our delay and everybody's, and whether groups are ours."""
    number = count = following = 0
    ours = everybody = closed = False
    while following < body.size:
        key = following
        end, colon, following = _line(body, key)
        number += 1
        while key < end and _blank(body[key]):
            key += 1
        key_end, value = _parted(body, key, end, colon)
        field = _field(body, key, key_end, letters, ends, fields) if value >= 0 else 0
        if field == 0:
            continue
        word = _written_scheme(body, key, key_end) if field == _SITEMAP else -1
        while word < 0 and value < end and _blank(body[value]):
            value += 1
        if field == _AGENT:
            if closed:
                ours = everybody = closed = False
            if _is_everybody(body, value, end):
                everybody = True
            elif _is_us(body, value, end, agent):
                ours = True
                found[3] = 1.0
            continue
        if field == _DELAY:
            seconds = _seconds(body, value, end)
            if ours:
                found[1] = max(found[1], seconds)
            if everybody:
                found[2] = max(found[2], seconds)
            continue
        if field == _SITEMAP:
            if value == end and word < 0:
                continue
            rows[count, 0] = _MAP
        elif ours or everybody:
            closed = True
            rows[count, 0] = (_FOR_US if ours else _FOR_ALL) + (field == _ALLOW)
        else:
            continue
        rows[count, 1], rows[count, 2], rows[count, 3] = value, end, number
        rows[count, 4], rows[count, 5] = max(word, 0), key_end if word >= 0 else 0
        count += 1
    found[0] = count


@inlined
def _scheme(body: NDArray[np.uint8], end: int) -> bool:
    """Does a key of five bytes or more end with a blank and http, or with https?"""
    secure = _lower(body[end - 1]) == 115
    first = end - 5 if secure else end - 4
    for place in range(4):
        expected = 104 if place == 0 else 112 if place == 3 else 116
        if _lower(body[first + place]) != expected:
            return False
    return secure or body[end - 5] == 32


@inlined
def _product(octet: int) -> bool:
    return 65 <= octet <= 90 or 97 <= octet <= 122 or octet in (45, 95)


@inlined
def _hex(octet: int) -> int:
    """The value of a hexadecimal digit, -1 if it is none."""
    if 48 <= octet <= 57:
        return octet - 48
    if 65 <= octet <= 70:
        return octet - 55
    if 97 <= octet <= 102:
        return octet - 87
    return -1


@inlined
def _escape(
    body: NDArray[np.uint8], begin: int, end: int, octets: NDArray[np.uint8], used: int
) -> tuple[int, bool, bool]:
    """Write a value in the form that paths have: where it ends, whether it has triplets, whether wildcards."""
    triplets = special = False
    at = begin
    while at < end:
        octet = body[at]
        if octet == 37 and at + 2 < end and _hex(body[at + 1]) >= 0 and _hex(body[at + 2]) >= 0:
            triplets = True
            octets[used] = 37
            octets[used + 1] = _digit(_hex(body[at + 1]))
            octets[used + 2] = _digit(_hex(body[at + 2]))
            used += 3
            at += 3
            continue
        if octet >= 128:
            octets[used] = 37
            octets[used + 1] = _digit(octet >> 4)
            octets[used + 2] = _digit(octet & 15)
            used += 3
        else:
            special = special or octet in (36, 42)
            octets[used] = octet
            used += 1
        at += 1
    return used, triplets, special


@inlined
def _decode(octets: NDArray[np.uint8], first: int, last: int, used: int) -> int:
    """Write a pattern once more, with what need not be a triplet as it is; where that ends."""
    at = first
    while at < last:
        decoded = _unreserved(octets[at + 1], octets[at + 2]) if octets[at] == 37 and at + 2 < last else 0
        octets[used] = decoded or octets[at]
        at += 3 if decoded else 1
        used += 1
    return used


@uncounted
def _patterns(
    body: NDArray[np.uint8],
    rows: NDArray[np.int32],
    octets: NDArray[np.uint8],
    patterns: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """The patterns that rules stand for, in the form that paths have. `counts` of: patterns, octets, wildcard rules."""
    count = used = wild = 0
    for row in range(rows.shape[0]):
        if rows[row, 1] == rows[row, 2]:
            continue
        allow = rows[row, 0] & 1
        first = used
        used, triplets, special = _escape(body, rows[row, 1], rows[row, 2], octets, used)
        last = used
        wild += special
        _place(octets, first, last, allow, row, patterns, count)
        count += 1
        if triplets:
            end = _decode(octets, first, last, last)
            if end - last < last - first:
                _place(octets, last, end, allow, row, patterns, count)
                count += 1
                used = end
        if allow:
            folder = last
            while folder > first and octets[folder - 1] != 47:
                folder -= 1
            if folder > first and _is_index(octets, folder, last):
                begin = used
                for at in range(first, folder):
                    octets[used] = octets[at]
                    used += 1
                octets[used] = 36
                used += 1
                _place(octets, begin, used, allow, row, patterns, count)
                count += 1
    counts[0], counts[1], counts[2] = count, used, wild


@inlined
def _digit(value: int) -> int:
    return 48 + value if value < 10 else 55 + value


@inlined
def _unreserved(high: int, low: int) -> int:
    """The letter, digit, hyphen, full stop, underscore or tilde that a triplet stands for; 0 if none. Upper case."""
    first, second = _hex(high), _hex(low)
    if first < 0 or second < 0 or high >= 97 or low >= 97:
        return 0
    octet = first * 16 + second
    letter = 65 <= octet <= 90 or 97 <= octet <= 122
    return octet if letter or 48 <= octet <= 57 or octet in (45, 46, 95, 126) else 0


@inlined
def _is_index(octets: NDArray[np.uint8], folder: int, last: int) -> bool:
    """Is what follows the last slash index.htm, or begins so?"""
    if last - folder < 9:
        return False
    for place, letter in enumerate((105, 110, 100, 101, 120, 46, 104, 116, 109)):
        if octets[folder + place] != letter:
            return False
    return True


@inlined
def _place(
    octets: NDArray[np.uint8],
    first: int,
    last: int,
    allow: int,
    row: int,
    patterns: NDArray[np.int32],
    count: int,
) -> None:
    """Write a pattern down: as a plain prefix where it is one, else as it is."""
    ends = octets[last - 1] == 36
    body = last - 1 if ends else last
    open_end = body
    while open_end > first and octets[open_end - 1] == 42:
        open_end -= 1
    wild = ends and open_end == body
    for at in range(first, open_end):
        if octets[at] == 42:
            wild = True
    patterns[count, 0] = first
    patterns[count, 1] = last if wild else open_end
    patterns[count, 2] = 2 * (last - first) + allow  # one more to win a tie
    patterns[count, 3] = row
    patterns[count, 4] = wild


@uncounted
def _cut(
    text: NDArray[np.uint8],
    patterns: NDArray[np.int32],
    octets: NDArray[np.uint8],
    bounds: NDArray[np.int32],
    pieces: NDArray[np.int32],
    used: NDArray[np.int64],
) -> None:
    """Cut patterns at their stars: a head, parts that are not empty, and a tail where there is an end mark."""
    filled = count = 0
    for place in range(patterns.shape[0]):
        at, end = patterns[place, 0], patterns[place, 1]
        ends = text[end - 1] == 36
        if ends:
            end -= 1
        first, stars = count, 0
        begin = filled
        while at < end:
            if text[at] == 42:
                if stars == 0 or filled > begin:  # the head may be empty
                    count += 1
                    bounds[count] = filled
                    begin = filled
                stars += 1
            else:
                octets[filled] = text[at]
                filled += 1
            at += 1
        if stars == 0 or ends or filled > begin:  # the tail may be empty, too
            count += 1
            bounds[count] = filled
        pieces[place, 0], pieces[place, 1] = first, count - first
        pieces[place, 2] = 2 if stars == 0 else 1 if ends else 0
    used[0], used[1] = filled, count
