r"""Header lines. In: the lines of an answer's header as they came. Out: status, raw bytes, a dictionary.

>>> status, raw, headers = parse_head([b"HTTP/1.1 200 OK\r\n", b"Content-Type: text/html\r\n", b"\r\n"])
>>> status, headers
(200, {'content-type': 'text/html'})
"""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping
from functools import lru_cache


def parse_head(lines: list[bytes]) -> tuple[int, bytes, dict[str, str]]:
    """Read the last header of those that came: 1xx answers come before the real one, trailers behind it.

    Values are text as latin-1, repeated names are joined by ", ". Nothing is refused: a broken line is left out of
    the dictionary and kept in the bytes.
    """
    if not lines:
        return 0, b"", {}
    end = lines[-1]
    if end not in _BLANK or lines.count(end) > 1:
        lines = _last_head(lines)
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, value = _known_field(line) if len(line) <= _LONGEST_KNOWN else _field(line)
        if name:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return _status(lines[0]), b"".join(lines), headers


def _field(line: bytes) -> tuple[str, str]:
    """Name and value; no name where there is no colon."""
    name, colon, value = line.decode("latin-1").partition(":")
    return (name.strip().lower(), value.strip()) if colon else ("", "")


_known_field = lru_cache(maxsize=4096)(_field)  # servers say the same things all the time
_LONGEST_KNOWN = 200


_BLANK = (b"\r\n", b"\n")


def _last_head(lines: list[bytes]) -> list[bytes]:
    """The lines from the last status line to the blank line behind it, or as far as they came."""
    starts = [0, *(number for number, line in enumerate(lines[:-1], 1) if line in _BLANK)]
    first = max((start for start in starts if lines[start].startswith(b"HTTP/")), default=0)
    length = next((number for number, line in enumerate(lines[first:], 1) if line in _BLANK), len(lines))
    return lines[first : first + length]


def _status(line: bytes) -> int:
    if line[8:9] == b" " and line[12:13] in b" \r\n" and line[9:12].isdigit():
        return int(line[9:12])
    parts = line.split(None, 2)
    if len(parts) > 1 and parts[1].isdigit():
        return min(int(parts[1][:4]), 999)
    return 0


def header_values(head: bytes, name: str) -> list[str]:
    """Every value of a header that may be repeated and whose values hold commas, as Set-Cookie does."""
    wanted = name.lower()
    values = []
    for line in head.decode("latin-1").split("\n")[1:]:
        found, colon, value = line.partition(":")
        if colon and found.strip().lower() == wanted:
            values.append(value.strip())
    return values


def retry_after(value: str, now: float) -> float | None:
    """Seconds to wait by a Retry-After value, a number of seconds or a date; None when it is neither.

    >>> retry_after("120", 0.0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 10.0), retry_after("soon", 0.0)
    (120.0, 50.0, None)
    """
    text = value.split(",", 1)[0].strip() if value[:1].isdecimal() else value.strip()
    if text.isdecimal():
        return float(min(int(text[:9]), 10**9))
    parsed = email.utils.parsedate_tz(text)
    if parsed is None:
        return None
    try:
        return max(0.0, email.utils.mktime_tz(parsed) - now)
    except (OverflowError, ValueError):
        return None


def keep_alive(headers: dict[str, str]) -> tuple[int | None, float | None]:
    """What the server's Keep-Alive header allows: further requests, idle seconds.

    >>> keep_alive({"keep-alive": "timeout=5, max=99"})
    (99, 5.0)
    """
    most: int | None = None
    idle: float | None = None
    for part in headers.get("keep-alive", "").split(","):
        name, value = (text.strip() for text in part.partition("=")[::2])
        if value.isdecimal():
            if name.lower() == "max":
                most = int(value[:9])
            elif name.lower() == "timeout":
                idle = float(value[:9])
    return most, idle


# What frames a message or names its receiver is the system's business.
_OUR_OWN = frozenset(
    ("host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect")
)
_token = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+").fullmatch
_forbidden = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search


def check_headers(headers: Mapping[str, str] | None) -> None:
    """Refuse request headers that cannot be sent, by name: a message never shows a value.

    >>> check_headers({"Accept-Language": "de"})
    >>> check_headers({"X": "a" + chr(10)})
    Traceback (most recent call last):
    ValueError: the value of the header 'X' has a line end or another control character
    """
    for name, value in (headers or {}).items():
        if not _token(name):
            raise ValueError(f"{name!r} is no name of a header")
        if name.lower() in _OUR_OWN:
            raise ValueError(f"the header {name!r} is not for settings: weft writes it")
        if _forbidden(value):
            raise ValueError(f"the value of the header {name!r} has a line end or another control character")


def headers_complaint(headers: Mapping[str, str]) -> str:
    """What is wrong with request headers that are settings; nothing: they are good."""
    try:
        check_headers(headers)
    except ValueError as error:
        return str(error)
    return ""


def named_header(line: str) -> tuple[str, str]:
    """A header as it is written in a message, such as on a command line.

    >>> named_header("Accept-Language: de")
    ('Accept-Language', 'de')
    """
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise ValueError("a header is written as 'Name: value'")
    return name.strip(), value.strip()
