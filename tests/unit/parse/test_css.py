"""What style sheets refer to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.costs import check_linear

from weft.model import Kind
from weft.parse.css import css_links


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('@import "a.css";', [("a.css", Kind.STYLE)]),
        ("@import'a.css' screen;", [("a.css", Kind.STYLE)]),
        ("@IMPORT url(a.css) print;", [("a.css", Kind.STYLE)]),
        ("@import\nurl( 'a.css' );", [("a.css", Kind.STYLE)]),
        ('@import/**/"a.css"', [("a.css", Kind.STYLE)]),
        ("@import a.css;", []),
        ("x { background: URL( a.png ) }", [("a.png", Kind.PART)]),
        ('x { src: url("a b.woff") format("woff"), url(c.ttf) }', [("a b.woff", Kind.PART), ("c.ttf", Kind.PART)]),
        ("background:url(/a;b=1/c.png?d,e)", [("/a;b=1/c.png?d,e", Kind.PART)]),
        (r"x { background: url(a\)b.png) }", [("a)b.png", Kind.PART)]),
        (r'x { background: url("a\"b\26 c.png") }', [('a"b&c.png', Kind.PART)]),
        ("x { background: url(a b.png) }", []),
        ("x { background: url() url( ) url('') }", []),
        ("x { background: url(data:image/png;base64,AA==) url('DATA:,x') }", []),
        ("/* url(a.png) */ x { background: url(b.png) } /* url(c.png)", [("b.png", Kind.PART)]),
        ("x { fill: url(#gradient) }", [("#gradient", Kind.PART)]),
        ("no references", []),
    ],
)
def test_css__finds_imports_and_addresses(text: str, expected: list[tuple[str, Kind]]) -> None:
    """Imports are style sheets, other addresses are parts; comments and contents written out are neither."""
    assert css_links(text) == expected


@pytest.mark.parametrize("piece", ["@import ", "url(", 'url("', "/*", "\\", "url('a", "url(a ", '@import url("\n'])
def test_css__costs_linear_time(piece: str) -> None:
    """Whatever is repeated."""
    check_linear(lambda size: piece * (size // len(piece)), css_links, size=500_000)
    check_linear(lambda size: "url(" + " " * size + piece, css_links, size=500_000)


PIECES = ["@import", "url(", ")", "'", '"', "\\", "/*", "*/", " ", "a", "\n", "26", "\\0", "\\d800"]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_css__never_raises(text: str) -> None:
    """Any text is a style sheet, and what it refers to can be written down."""
    assert all(written and written.encode() for written, _ in css_links(text))
