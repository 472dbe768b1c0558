"""Headers of answers: whatever a server says, there is a status, a dictionary and bounded cookies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.corpora import answers
from tests.fuzz.target import Target, words

from weft.fetch.cookies import LARGEST, LONGEST_LINE, MOST, Jar
from weft.fetch.endings import is_whole
from weft.fetch.headers import header_values, headers_complaint, keep_alive, parse_head, retry_after
from weft.parse.directives import head_directives
from weft.parse.media import Wanted, detect_type, plain_type
from weft.parse.page import _charset_parameter
from weft.urls import normal_form

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

NOW = 1_700_000_000.0


def check(data: bytes) -> None:
    """Everything that is read out of a head."""
    lines = data.splitlines(keepends=True) if data[:1] == b"\n" else _by_newline(data)
    status, raw, headers = parse_head(lines)
    assert 0 <= status <= 999
    assert raw in data
    assert sum(len(name) + len(value) for name, value in headers.items()) <= len(data) + 2 * len(lines)
    for name, value in headers.items():
        assert name == name.strip().lower() != ""
        assert "\n" not in value
    if data[:1] != b"\n":
        for name in ("set-cookie", "location", "content-type"):
            assert ", ".join(header_values(raw, name)) == headers.get(name, ""), name
    is_whole(raw)
    headers_complaint(headers)
    _check_values(raw, headers)
    _check_cookies(header_values(raw, "Set-Cookie"), headers.get("location", "/"))


def _by_newline(data: bytes) -> list[bytes]:
    """As libcurl hands them over."""
    *whole, last = data.split(b"\n")
    return [*(line + b"\n" for line in whole), *([last] if last else [])]


def _check_values(raw: bytes, headers: dict[str, str]) -> None:
    wait = retry_after(headers.get("retry-after", ""), NOW)
    assert wait is None or (wait >= 0 and math.isfinite(wait))
    most, idle = keep_alive(headers)
    assert most is None or most >= 0
    assert idle is None or (idle >= 0 and math.isfinite(idle))
    declared = headers.get("content-type", "")
    named = plain_type(declared)
    assert len(named) <= 255
    assert named.isascii()
    assert detect_type(declared, raw[:100]).isprintable()
    Wanted().type(declared)
    assert len(_charset_parameter(declared.partition(";")[2])) <= len(declared)
    asked = head_directives(raw, "weft")
    assert len(asked.text) <= 200
    assert len(asked.words) <= 20
    normal_form(headers.get("location", ""), "http://example.org/")


def _check_cookies(lines: list[str], target: str) -> None:
    jar = Jar()
    for moment in (NOW, NOW + 100):
        jar.store(lines, moment)
        assert len(jar.cookies) <= MOST
        assert sum(len(name) + len(held.value) + len(held.path) for name, held in jar.cookies.items()) <= LARGEST
        for secure in (True, False):
            sent = jar.header(target, secure=secure, now=moment)
            assert len(sent) <= LONGEST_LINE
            assert all(32 <= ord(sign) <= 126 for sign in sent), "a line that cannot be sent"
    jar.changed = False
    jar.store(lines, NOW + 100)
    again = dict(jar.cookies)
    jar.store(lines, NOW + 100)
    assert jar.cookies == again, "the same lines, and other cookies"


def real(data: Path) -> list[bytes]:
    """Heads out of web archives."""
    return answers(data / "warc-samples", heads=True)


def grammar() -> SearchStrategy[bytes]:
    """Status lines, fields and ends of lines, most of them right."""
    from hypothesis import strategies as st

    some = st.sampled_from
    status = some(
        [
            *words(
                r"HTTP/1.1\x20200\x20OK HTTP/2\x20301 HTTP/1.0\x20100\x20Continue ICY\x20200\x20OK "
                r"HTTP/1.1\x2099999\x20x HTTP/1.1 HTTP/1.1\x20\xb2\xb2\xb2\x20x"
            ),
            b"",
        ]
    )
    name = some(
        [
            *words(
                r"Content-Type Set-Cookie set-cookie\x20 Location Retry-After Keep-Alive X-Robots-Tag Content-Encoding "
                r"\x20folded \xff"
            ),
            b"",
        ]
    )
    word = some(
        [
            *words(
                r"text/html ;\x20charset= \x22utf-8\x22 a=b ;\x20Path=/x ;\x20Max-Age= -1 ;\x20Secure ;\x20Expires= "
                r"Thu,\x2001\x20Jan\x201970\x2000:01:00\x20GMT Wed,\x2099\x20Foo\x2099999\x2099:99:99\x20+9999 "
                r"timeout=5 ,\x20max= weft:\x20noindex ,\x20nofollow none \x00 \xe9 = , ; \x20 \xb2 /"
            ),
            b"9" * 30,
            b"a" * 300,
        ]
    )
    field = st.tuples(name, some([b": ", b":", b""]), st.lists(word, max_size=6).map(b"".join)).map(b"".join)
    end = some([b"\r\n", b"\r\n", b"\n", b"\r"])
    line = st.tuples(field | field | status, end).map(b"".join)
    lines = st.lists(line, max_size=20).map(b"".join)
    return st.tuples(status, end, lines, end, some([b"", b"X-Trailer: a\r\n\r\n"])).map(b"".join)


TARGET = Target(
    check,
    own=(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nSet-Cookie: a=b; Path=/x; Max-Age=60\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nRetry-After: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n",
        b"HTTP/2 301 \r\nlocation: /a\r\nx-robots-tag: weft: noindex, nofollow\r\nkeep-alive: timeout=5, max=9\r\n\r\n",
    ),
    real=real,
    words=words(
        r"HTTP/1.1\x20 \r\n \r\n\r\n Set-Cookie:\x20 ;\x20Max-Age= ;\x20Expires= ;\x20Path=/ Retry-After:\x20 "
        r"Content-Type:\x20 ;\x20charset= Location:\x20 Keep-Alive:\x20 X-Robots-Tag:\x20 "
        r"Thu,\x2001\x20Jan\x201970\x2000:00:00\x20GMT 99999999999999999999 -1 : , ; = \xb2 \x00"
    ),
    grammar=grammar,
)
