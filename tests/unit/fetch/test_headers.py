"""Header lines as they come off the wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.fetch.headers import header_values, keep_alive, parse_head, retry_after

STATUS = b"HTTP/1.1 200 OK\r\n"
END = b"\r\n"


def test_head__is_status_bytes_and_names() -> None:
    """Names are in lower case, values stripped, repeated ones joined; the bytes are as they came."""
    lines = [STATUS, b"Content-Type: text/html\r\n", b"X-A:1\r\n", b"x-a :  2 \r\n", END]
    assert parse_head(lines) == (200, b"".join(lines), {"content-type": "text/html", "x-a": "1, 2"})


def test_head__of_nothing_is_no_answer() -> None:
    """Status 0, no bytes, no names."""
    assert parse_head([]) == (0, b"", {})


def test_head__is_the_last_of_several() -> None:
    """1xx answers come before the real one."""
    early = [b"HTTP/1.1 103 Early Hints\r\n", b"Link: x\r\n", END, b"HTTP/1.1 100 Continue\r\n", END]
    final = [b"HTTP/1.1 404 Not Found\r\n", b"X: y\r\n", END]
    assert parse_head(early + final) == (404, b"".join(final), {"x": "y"})


def test_head__ends_where_the_content_begins() -> None:
    """Trailers come behind the content and are no part of the header."""
    lines = [STATUS, b"X: y\r\n", END]
    assert parse_head([*lines, b"X-Trailer: 1\r\n"]) == (200, b"".join(lines), {"x": "y"})
    assert parse_head([*lines, b"X-Trailer: 1\r\n", END]) == (200, b"".join(lines), {"x": "y"})


def test_head__a_header_that_looks_like_a_status_line_is_a_header() -> None:
    """A new header begins behind a blank line only."""
    lines = [STATUS, b"HTTP/1.1 500 No: x\r\n", b"A: b\r\n", END]
    assert parse_head(lines)[:2] == (200, b"".join(lines))


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_head__may_break_off(end: bytes) -> None:
    """A header without its end is read as far as it came, also behind a whole 1xx one."""
    lines = [b"HTTP/1.1 200 OK" + end, b"A: b" + end]
    assert parse_head(lines) == (200, b"".join(lines), {"a": "b"})
    assert parse_head([b"HTTP/1.1 103 x" + end, end, *lines])[1] == b"".join(lines)


def test_head__line_ends_may_be_mixed() -> None:
    """A bare line feed ends a line as well, even where others have two signs."""
    assert parse_head([STATUS, b"A: 1\n", b"B: 2\r\n", b"\n"])[2] == {"a": "1", "b": "2"}
    assert parse_head([b"HTTP/1.1 200 OK\n", b"A: 1\n", b"\n"])[2] == {"a": "1"}


def test_head__values_are_latin_1() -> None:
    """No byte is refused, and none of them ends a line that is not an end of line."""
    assert parse_head([STATUS, b"X: \xe9\x85\x0b\x1c\xff\r\n", END])[2] == {"x": "\xe9\x85\x0b\x1c\xff"}


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"HTTP/1.1 200 OK\r\n", 200),
        (b"HTTP/1.0 404\r\n", 404),
        (b"HTTP/1.1  301  Moved\r\n", 301),
        (b"HTTP/1.1 12345 x\r\n", 999),
        (b"HTTP/1.1 OK\r\n", 0),
        (b"HTTP/1.1\r\n", 0),
        (b"HTTP/1.1 -1 x\r\n", 0),
        (b"\r\n", 0),
    ],
)
def test_status__is_a_number_or_none(line: bytes, status: int) -> None:
    """What is no status is 0; no status is larger than a column holds."""
    assert parse_head([line, END])[0] == status


def test_values__are_kept_apart() -> None:
    """Headers whose values hold commas are read one by one, by a name in any case; a letter is no line end."""
    head = STATUS + b"Set-Cookie: a=1, b\r\nSET-COOKIE : c=\xc3\x85d\r\nX-Set-Cookie: no\r\nSet-Cookie\r\n" + END
    assert header_values(head, "Set-Cookie") == ["a=1, b", "c=\xc3\x85d"]
    assert header_values(b"", "set-cookie") == []


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("120, 60", 120.0),
        ("9" * 30, 999_999_999.0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 110.0),
        ("Thursday, 01-Jan-70 00:02:00 GMT", 110.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("\xb2", None),
        ("5\xb2", None),
        ("Thu, 99 Foo 9999 99:99:99 GMT", None),
    ],
)
def test_retry_after__is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    """Never negative, and None when it is neither."""
    assert retry_after(value, 10.0) == seconds


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("timeout=5, max=99", (99, 5.0)),
        ("Timeout = 5,MAX =  99", (99, 5.0)),
        ("max=0", (0, None)),
        ("timeout=x, max=", (None, None)),
        ("max=\xb2, timeout=          5", (None, 5.0)),
        ("max=" + "9" * 30, (999_999_999, None)),
        ("", (None, None)),
    ],
)
def test_keep_alive__is_what_the_server_allows(value: str, expected: tuple[int | None, float | None]) -> None:
    """Further requests and idle seconds, each where it is said and makes sense."""
    assert keep_alive({"keep-alive": value}) == expected


LINES = st.lists(
    st.one_of(st.sampled_from([STATUS, END, b"\n", b"A: b\r\n", b"HTTP/1.1"]), st.binary(max_size=20)), max_size=9
)


@given(LINES, st.text(max_size=40), st.sampled_from(["", "Thu, ", "1 Jan ", "00:00", "max=", "timeout="]))
def test_headers__never_raise(lines: list[bytes], value: str, start: str) -> None:
    """Any bytes are a header, any text is a value."""
    status, head, headers = parse_head(lines)
    assert 0 <= status <= 999
    assert head in b"".join(lines)
    assert all(type(name) is str for name in headers)
    header_values(head, "a")
    assert (retry_after(start + value, 0.0) or 0.0) >= 0.0
    keep_alive({"keep-alive": start + value})
