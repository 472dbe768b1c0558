"""Lines of text logs, cut by compiled code. In: whole lines, as bytes. Out: `Rows`, and what became of each line.

Three forms: Squid's native log (`time elapsed client code/status bytes method URL name hierarchy type`), the Combined
log of web servers and of other proxies (`[host] client ident name [time] "GET target HTTP/1.1" status bytes "referrer"
"agent"`; its last two fields may be missing), and CSV. A quoted field of a CSV file may not go over a line end: a log
that has lost a quotation mark would lose the rest of the file, too.

A row is appended only when its line is whole; a line has one `Fate`, and rows come in the order of the lines that are
`USED`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.temporal.reading.fates import Fate
from weft.temporal.reading.octets import (
    Bytes,
    Places,
    agent_of,
    begins,
    cells,
    count_of,
    equals,
    find,
    is_answered,
    is_count,
    is_embedded,
    line_at,
    put,
    put_cell,
    quote_end,
    target_of,
    word,
    words,
)
from weft.temporal.reading.times import BAD, time_at

# Compiled code knows plain numbers, not members of an enumeration.
_BLANK, _METHOD, _STATUS, _EMBEDDED = int(Fate.BLANK), int(Fate.METHOD), int(Fate.STATUS), int(Fate.EMBEDDED)
_FIELDS, _TIME, _USER, _PAGE = int(Fate.FIELDS), int(Fate.TIME), int(Fate.USER), int(Fate.PAGE)
_COUNT, _QUOTE, _CONTROL, _HOST, _USED = int(Fate.COUNT), int(Fate.QUOTE), int(Fate.CONTROL), int(Fate.HOST), 0

_LINE_END, _SPACE, _MARK, _HASH, _DASH, _SLASH, _OPEN, _CLOSE = 10, 32, 34, 35, 45, 47, 91, 93
_GET, _HTTP, _HTTPS, _SECURE_PORT = map(word, (b"GET", b"http://", b"https://", b":443"))

# Which columns of a CSV file are what, by their numbers; -1 where there is none.
USER, AGENT, TS, URL, VIEWS = range(5)


class Rows(NamedTuple):
    """Room for what the lines of one piece of a log become; texts stand behind each other and end at `*_end`."""

    user: Bytes
    user_end: Places
    url: Bytes
    url_end: Places
    us: Places
    views: Places
    fate: NDArray[np.int8]  # of each line


def room_for(text: Bytes, more_a_line: int) -> Rows:
    """Room for the rows of a text, where a row's URL has at most so many bytes that are not in its line."""
    lines = int(np.count_nonzero(text == _LINE_END))

    def places() -> Places:
        return np.empty(lines, np.int64)

    return Rows(
        np.empty(len(text) + lines, np.uint8),
        places(),
        np.empty(len(text) + more_a_line * lines, np.uint8),
        places(),
        places(),
        places(),
        np.empty(lines, np.int8),
    )


@compiled
def cut_squid(text: Bytes, rows: Rows) -> int:
    """Cut lines of Squid's native log; how many rows they are."""
    start, end = np.zeros(10, np.int64), np.zeros(10, np.int64)
    done, begin, user, url = 0, 0, 0, 0
    for line in range(len(rows.fate)):
        stop, after, odd = line_at(text, begin)
        fields = words(text, begin, stop, start, end)
        begin = after
        status = end[3] - 3
        moment = time_at(text, start[0], end[0])
        if fields == 0 or text[start[0]] == _HASH:
            rows.fate[line] = _BLANK
        elif odd:
            rows.fate[line] = _CONTROL
        elif fields < 7 or status <= start[3] or text[status - 1] != _SLASH:
            rows.fate[line] = _FIELDS
        elif moment == BAD:
            rows.fate[line] = _TIME
        elif not equals(text, start[5], end[5], _GET):
            rows.fate[line] = _METHOD
        elif not is_answered(text, status):
            rows.fate[line] = _STATUS
        elif fields >= 10 and is_embedded(text, start[9], end[9]):
            rows.fate[line] = _EMBEDDED
        else:
            rows.fate[line] = _USED
            # A name that the proxy asked for is a better user than the address it came from.
            named = fields > 7 and not (end[7] - start[7] == 1 and text[start[7]] == _DASH)
            who = 7 if named else 2
            user = put(rows.user, user, text, start[who], end[who])
            url = put(rows.url, url, text, start[6], end[6])
            rows.user_end[done], rows.url_end[done], rows.us[done] = user, url, moment
            done += 1
    return done


@compiled
def cut_combined(text: Bytes, virtual: bool, base: Bytes, rows: Rows) -> int:
    """Cut lines of a Combined log, which begin with a virtual host, or whose targets `base` stands before."""
    start, end = np.zeros(4, np.int64), np.zeros(4, np.int64)
    client = 1 if virtual else 0
    done, begin, user, url = 0, 0, 0, 0
    for line in range(len(rows.fate)):
        first = begin
        stop, begin, odd = line_at(text, first)
        opened = find(text, first, stop, _OPEN)
        closed = find(text, opened, stop, _CLOSE)
        fields = words(text, first, opened, start, end)
        moment = time_at(text, opened + 1, closed)
        fate, answer = _request_fate(text, closed + 3, stop)
        target, target_end = target_of(text, closed + 7, answer)
        whole = begins(text, target, target_end, _HTTP) or begins(text, target, target_end, _HTTPS)
        if stop == first or text[first] == _HASH:
            fate = _BLANK
        elif odd:
            fate = _CONTROL
        elif fields < 3 + client:
            fate = _FIELDS
        elif fate < _FIELDS and moment == BAD:
            fate = _TIME
        elif fate == _USED and not whole:
            if target >= target_end or text[target] != _SLASH:
                fate = _PAGE
            elif not virtual and len(base) == 0:
                fate = _HOST
        rows.fate[line] = fate
        if fate == _USED:
            if not whole:
                url = _put_origin(rows.url, url, text, start[0], end[0] if virtual else start[0], base)
            url = put(rows.url, url, text, target, target_end)
            user = put(rows.user, user, text, start[client], end[client])
            agent, agent_end = agent_of(text, answer + 1, stop)
            rows.user[user] = _SPACE
            user = put(rows.user, user + 1, text, agent, agent_end)
            rows.user_end[done], rows.url_end[done], rows.us[done] = user, url, moment
            done += 1
    return done


@compiled
def _request_fate(text: Bytes, request: int, stop: int) -> tuple[int, int]:
    """What becomes of a line by its request, and where that ends; behind its last quotation mark the status stands."""
    if request > stop or text[request - 1] != _MARK or text[request - 2] != _SPACE:
        return _FIELDS, stop
    answer = quote_end(text, request, stop)
    if answer == stop:
        return _QUOTE, stop
    if stop - answer < 5:
        return _FIELDS, stop
    if not (equals(text, request, request + 3, _GET) and text[request + 3] == _SPACE):
        return _METHOD, answer
    return (_USED if is_answered(text, answer + 2) else _STATUS), answer


@compiled
def _put_origin(into: Bytes, place: int, text: Bytes, start: int, end: int, base: Bytes) -> int:
    """Write what stands before a target: the host of the line, or what all lines without one have."""
    if start == end:
        return put(into, place, base, 0, len(base))
    secure = end - start > 4 and equals(text, end - 4, end, _SECURE_PORT)
    scheme = _HTTPS if secure else _HTTP
    return put(into, put(into, place, scheme, 0, len(scheme)), text, start, end)


@compiled
def cut_csv(text: Bytes, delimiter: int, width: int, columns: Places, rows: Rows) -> int:
    """Cut lines of a CSV file that has so many columns; `columns` says which of them are what."""
    start, end = np.zeros(width, np.int64), np.zeros(width, np.int64)
    done, begin, user, url = 0, 0, 0, 0
    for line in range(len(rows.fate)):
        first = begin
        stop, begin, odd = line_at(text, first)
        fields = cells(text, first, stop, delimiter, start, end)
        moment = time_at(text, start[columns[TS]], end[columns[TS]])
        if stop == first:
            rows.fate[line] = _BLANK
        elif odd:
            rows.fate[line] = _CONTROL
        elif fields != width:
            rows.fate[line] = _QUOTE if fields < 0 else _FIELDS
        elif moment == BAD:
            rows.fate[line] = _TIME
        elif columns[USER] >= 0 and start[columns[USER]] == end[columns[USER]]:
            rows.fate[line] = _USER
        elif start[columns[URL]] == end[columns[URL]]:
            rows.fate[line] = _PAGE
        elif columns[VIEWS] >= 0 and not is_count(text, start[columns[VIEWS]], end[columns[VIEWS]]):
            rows.fate[line] = _COUNT
        else:
            rows.fate[line] = _USED
            url = put_cell(rows.url, url, text, start[columns[URL]], end[columns[URL]])
            if columns[USER] >= 0:
                user = put_cell(rows.user, user, text, start[columns[USER]], end[columns[USER]])
            if columns[AGENT] >= 0:
                rows.user[user] = _SPACE
                user = put_cell(rows.user, user + 1, text, start[columns[AGENT]], end[columns[AGENT]])
            if columns[VIEWS] >= 0:
                rows.views[done] = count_of(text, start[columns[VIEWS]], end[columns[VIEWS]])
            rows.user_end[done], rows.url_end[done], rows.us[done] = user, url, moment
            done += 1
    return done
