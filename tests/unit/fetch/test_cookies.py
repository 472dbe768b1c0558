"""Cookies of one site: taken in, sent back, bounded."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.fetch.cookies import LONGEST, MOST, Cookie, Jar

NOW = 1_000_000.0


def sent(*lines: str, target: str = "/", secure: bool = False, later: float = 0.0) -> str:
    """The Cookie header after these Set-Cookie lines."""
    jar = Jar()
    jar.store(list(lines), NOW)
    return jar.header(target, secure=secure, now=NOW + later)


def test_cookie__comes_back_as_it_was_set() -> None:
    """In the order they came, quotes and all; a later one replaces an earlier of the same name."""
    assert sent('a="1 2"; HttpOnly', "b=; SameSite=Lax", "c=x=y", "a=3") == "a=3; b=; c=x=y"


@pytest.mark.parametrize(
    ("path", "target", "matches"),
    [
        ("/", "/anything", True),
        ("/shop", "/shop", True),
        ("/shop", "/shop/cart", True),
        ("/shop", "/shop?x", True),
        ("/shop", "/shopping", False),
        ("/shop/", "/shop/cart", True),
        ("/shop/", "/shop", False),
        ("/shop", "/", False),
        ("relative", "/anything", True),
        ("", "/anything", True),
    ],
)
def test_path__covers_what_lies_below_it(path: str, target: str, matches: bool) -> None:
    """A path that is none means the whole site."""
    assert sent(f"a=1; Path={path}", target=target) == ("a=1" if matches else "")


def test_secure__goes_over_tls_only() -> None:
    """However the attribute is written."""
    assert sent("a=1; SECURE", "b=2") == "b=2"
    assert sent("a=1; Secure=x", secure=True) == "a=1"


@pytest.mark.parametrize(
    ("attributes", "until"),
    [
        ("", None),
        ("Max-Age=60", 60.0),
        ("max-age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 60.0),
        ("Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", 60.0),
        ("Expires=Mon, 12 Jan 1970 13:47:40 GMT", 60.0),
        ("Expires=Monday, 12-Jan-70 13:47:40 GMT", 60.0),
        ("Expires=whenever", None),
        ("Max-Age=soon", None),
        ("Max-Age=--5", None),
        ("Max-Age=\xb2", None),
        ("Max-Age=" + "9" * 40, 10.0**9),
    ],
)
def test_age__ends_a_cookie(attributes: str, until: float | None) -> None:
    """By its age before its date; what cannot be read does not end it while the crawl runs."""
    assert sent(f"a=1; {attributes}") == "a=1"
    if until is None:
        assert sent(f"a=1; {attributes}", later=10.0**10) == "a=1"
    else:
        assert sent(f"a=1; {attributes}", later=until - 1) == "a=1"
        assert sent(f"a=1; {attributes}", later=until) == ""


@pytest.mark.parametrize("attributes", ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
def test_age__in_the_past_takes_a_cookie_back(attributes: str) -> None:
    """That is how a site deletes one."""
    assert sent("a=1", f"a=2; {attributes}", "b=3") == "b=3"


@pytest.mark.parametrize(
    "line", ["", "a", "=1", "; a=1", "a=\x01", "a\r=1", "caf\xe9=1", "a=1\n", f"a={'x' * LONGEST}"]
)
def test_garbage__is_not_kept(line: str) -> None:
    """What could not be sent back in a header, or is too long, is no cookie."""
    assert sent(line) == ""


def test_limit__a_site_has_so_many_cookies() -> None:
    """More are refused, those there are can be changed, and those that ran out make room."""
    jar = Jar()
    jar.store([f"c{number}=1; Max-Age=60" for number in range(MOST + 5)], NOW)
    assert len(jar.cookies) == MOST
    jar.store(["c0=2", "new=1"], NOW)
    assert jar.cookies["c0"].value == "2"
    assert "new" not in jar.cookies
    jar.store(["new=1"], NOW + 61)
    assert set(jar.cookies) == {"c0", "new"}


def test_jar__outlives_a_restart() -> None:
    """Cookies are plain values: what is written down comes back."""
    jar = Jar()
    jar.store(["a=1; Path=/x; Secure; Max-Age=5", "b=2"], NOW)
    written = msgspec.msgpack.encode(jar.cookies)
    assert msgspec.msgpack.decode(written, type=dict[str, Cookie]) == jar.cookies


PIECES = st.sampled_from(
    [
        "a",
        "=",
        ";",
        " ",
        "Max-Age",
        "Expires",
        "Path",
        "/",
        "-",
        "9",
        ",",
        "Thu",
        "Jan",
        ":",
        "\xb2",
        "\x00",
        "GMT",
        "\xff",
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=20).map("".join), st.text(max_size=10))
def test_cookies__never_raise(line: str, target: str) -> None:
    """Any line is stored or dropped, and what is sent back can stand in a header."""
    value = sent(line, target=target)
    assert value.isascii()
    assert value.isprintable()


def test_cookies__of_a_site_have_an_end_together() -> None:
    """One by one they may be large; a request has no more than servers take."""
    jar = Jar()
    jar.store([f"c{number}={'v' * 4000}; Path=/{'p' * 2000}" for number in range(50)], 0.0)
    assert sum(len(name) + len(cookie.value) + len(cookie.path) for name, cookie in jar.cookies.items()) <= 16_384
    line = jar.header("/", secure=False, now=1.0)
    assert 4000 < len(line) <= 8190
    assert all(pair.endswith("v" * 4000) for pair in line.split("; "))


def test_jar__knows_whether_it_changed() -> None:
    """A cookie that is sent again, to last a little longer, is the same."""
    jar = Jar()
    jar.store(["a=1; Max-Age=60"], 0.0)
    assert jar.changed
    for line, changed in (("a=1; Max-Age=60", False), ("a=2; Max-Age=60", True), ("a=; Max-Age=0", True)):
        jar.changed = False
        jar.store([line], 30.0)
        assert jar.changed is changed
