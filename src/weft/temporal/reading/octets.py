"""What stands in a line, by compiled code. In: bytes and places in them. Out: places, words, answers.

Nothing here reads behind the end it is given, nor behind the line end that every text has.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

_TAB, _LINE_END, _RETURN, _SPACE, _MARK, _DASH, _BACKSLASH, _DELETE = 9, 10, 13, 32, 34, 45, 92, 127
_ZERO, _NINE = 48, 57


def word(text: bytes) -> Bytes:
    """A constant for compiled code."""
    return np.frombuffer(text, np.uint8)


_VERSION = word(b" HTTP/")
_IMAGE, _FONT, _AUDIO, _VIDEO, _STYLE = map(word, (b"image/", b"font/", b"audio/", b"video/", b"text/css"))
_SCRIPT, _SCRIPT2, _SCRIPT3 = map(word, (b"text/javascript", b"application/javascript", b"application/x-javascript"))


# Lines and their fields.


@compiled
def line_at(text: Bytes, place: int) -> tuple[int, int, bool]:
    """Where a line ends, where the next one begins, and whether there are control characters in it."""
    odd = False
    while text[place] != _LINE_END:
        octet = text[place]
        if (
            octet < _SPACE and octet != _TAB and not (octet == _RETURN and text[place + 1] == _LINE_END)
        ) or octet == 127:
            odd = True
        place += 1
    stop = place - 1 if place > 0 and text[place - 1] == _RETURN else place
    return stop, place + 1, odd


@compiled
def words(text: Bytes, place: int, stop: int, start: Places, end: Places) -> int:
    """Find words between spaces; how many there are (those for which there is no room count as one more)."""
    count = 0
    while place < stop:
        if text[place] == _SPACE:
            place += 1
            continue
        if count == len(start):
            return count + 1
        start[count] = place
        while place < stop and text[place] != _SPACE:
            place += 1
        end[count] = place
        count += 1
    return count


@compiled
def cells(text: Bytes, place: int, stop: int, delimiter: int, start: Places, end: Places) -> int:
    """Find the fields of a CSV line; how many there are, or -1 where a quotation mark is not closed."""
    count = 0
    while True:
        quoted = place < stop and text[place] == _MARK
        begin = place + 1 if quoted else place
        place = begin
        if quoted:
            while place < stop and not (text[place] == _MARK and (place + 1 == stop or text[place + 1] != _MARK)):
                place += 2 if text[place] == _MARK else 1
            if place >= stop:
                return -1
        else:
            while place < stop and text[place] != delimiter:
                place += 1
        if count < len(start):
            start[count], end[count] = begin, place
        count += 1
        place += quoted
        if place >= stop:
            return count
        if text[place] != delimiter:
            return -1
        place += 1


@compiled
def quote_end(text: Bytes, place: int, stop: int) -> int:
    """The quotation mark that ends a quoted field of an access log; `stop` where there is none."""
    while place < stop and text[place] != _MARK:
        place += 2 if text[place] == _BACKSLASH else 1
    return min(place, stop)


@compiled
def target_of(text: Bytes, place: int, stop: int) -> tuple[int, int]:
    """The target of a request line: up to its version, or to its end where it has none."""
    version = stop - 9  # " HTTP/1.1"
    end = version if version >= place and begins(text, version, stop, _VERSION) else stop
    if end == stop and stop - 7 >= place and begins(text, stop - 7, stop, _VERSION):
        end = stop - 7  # " HTTP/2"
    return place, end


@compiled
def agent_of(text: Bytes, place: int, stop: int) -> tuple[int, int]:
    """What stands between the last quotation marks but two: behind the status come the referrer and the agent."""
    opened = find(text, place, stop, _MARK)
    closed = quote_end(text, opened + 1, stop)
    opened = find(text, closed + 1, stop, _MARK)
    return min(opened + 1, stop), quote_end(text, opened + 1, stop)


@compiled
def find(text: Bytes, place: int, stop: int, octet: int) -> int:
    """Where an octet is; `stop` where it is not."""
    while place < stop and text[place] != octet:
        place += 1
    return min(place, stop)


# What stands in a field.


@compiled
def equals(text: Bytes, start: int, end: int, word: Bytes) -> bool:
    """Is this the word?"""
    return end - start == len(word) and begins(text, start, end, word)


@compiled
def begins(text: Bytes, start: int, end: int, word: Bytes) -> bool:
    """Does it begin with the word?"""
    if end - start < len(word):
        return False
    step = 0
    while step < len(word) and text[start + step] == word[step]:
        step += 1
    return step == len(word)


@compiled
def is_answered(text: Bytes, place: int) -> bool:
    """Is the status 2xx or 304?"""
    if text[place] == 50:
        return True
    return bool(text[place] == 51 and text[place + 1] == 48 and text[place + 2] == 52)


@compiled
def is_embedded(text: Bytes, start: int, end: int) -> bool:
    """Does a media type say that this is a part of a page?"""
    if text[start] == _DASH:
        return False
    return (
        begins(text, start, end, _IMAGE)
        or begins(text, start, end, _FONT)
        or begins(text, start, end, _AUDIO)
        or begins(text, start, end, _VIDEO)
        or begins(text, start, end, _STYLE)
        or begins(text, start, end, _SCRIPT)
        or begins(text, start, end, _SCRIPT2)
        or begins(text, start, end, _SCRIPT3)
    )


@compiled
def is_count(text: Bytes, start: int, end: int) -> bool:
    """Is this a whole number, and not too large a one?"""
    for place in range(start, end):
        if not _ZERO <= text[place] <= _NINE:
            return False
    return 0 < end - start <= 9


@compiled
def count_of(text: Bytes, start: int, end: int) -> int:
    """The number that stands there."""
    value = 0
    for place in range(start, end):
        value = value * 10 + int(text[place]) - _ZERO
    return value


@compiled
def put(into: Bytes, place: int, text: Bytes, start: int, end: int) -> int:
    """Copy a part of a text; where the copy ends."""
    for step in range(end - start):
        into[place + step] = text[start + step]
    return place + end - start


@compiled
def put_cell(into: Bytes, place: int, text: Bytes, start: int, end: int) -> int:
    """Copy a field of a CSV file, whose quotation marks are written twice where it is quoted."""
    quoted = start > 0 and text[start - 1] == _MARK
    while start < end:
        into[place] = text[start]
        place += 1
        start += 2 if quoted and text[start] == _MARK else 1
    return place
