"""Texts of HTML: the words that a reader sees, in linear time whatever a page is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.costs import check_linear

from weft.text.html import main_text, whole_text
from weft.text.signs import signs_of

_CASES = [
    ("<p>a<p>b", "a\n\nb"),
    ("a<br>b<br/>c", "a\nb\nc"),
    ("<table><tr><td>1<td>2<tr><td>3</table>", "1 2\n3"),
    ("one<b>two</b> <i> three</i>", "onetwo three"),
    ("<pre>a\n  b</pre>c", "a\nb\n\nc"),
    ("a<!-- <p>no --> b", "a b"),
    ("a<!--> b", "a b"),
    ("<script>if (a < b) '</p>'</script>x", "x"),
    ("<STYLE>p{}</Style >x<title>t</title>", "x"),
    ("<a title='>no' href=\">\">yes</a>", "yes"),
    ("1 < 2 &lt; 3 <4", "1 < 2 < 3 <4"),
    ("&amp;amp; &nbsp; &eacute;", "&amp; é"),
    ("<![CDATA[x]]>y<?php no ?>z", "yz"),
    ("<p>a</p><a href='never ends", "a"),
    ("<noscript>seen</noscript><template><p>no</template>", "seen"),
    ("a\x01b\x02c", "a b c"),
    ("", ""),
]


@pytest.mark.parametrize(("page", "words"), _CASES)
def test_whole_text__is_what_a_reader_sees(page: str, words: str) -> None:
    """Blocks are parted by a blank line, rows by a line end, cells by a blank."""
    assert whole_text(page) == words


@given(st.text(alphabet="<>/!-'\"= ap\n&;scriptbr", max_size=60))
def test_whole_text__of_anything_is_a_text(page: str) -> None:
    """Whatever stands in a page, it has a text without markers of ours."""
    assert not set(whole_text(page)) & set("\x01\x02\x03")


@pytest.mark.parametrize(
    "bit",
    ["<div>", "<!--", "<", '<a "', "<a '\"", "<script>", "&amp", " <", "<svg>", "</template", " \n<p>", "<font a>"],
)
def test_whole_text__takes_time_linear_in_the_length_of_a_page(bit: str) -> None:
    """Also where nothing that begins ever ends."""
    check_linear(lambda size: bit * (size // len(bit)), whole_text, size=200_000)


def test_main_text__leaves_menus_out_and_gives_up_on_what_is_nested_too_deep() -> None:
    """Time grows with the square of the depth."""
    page = "<nav><a href=/>Menu</a></nav><main><p>Words of the page, which are its own.</p></main><footer>Foot</footer>"
    assert main_text(page) == "Words of the page, which are its own."
    assert main_text("<div>" * 5_000) is None
    assert main_text("<div></x>" * 5_000) is None
    rows = "<table>" + "<tr><td>a<td>b" * 2_000 + "</table>" + "<p>text of a paragraph" * 2_000 + "<li>x" * 500
    assert main_text(f"<html><body><main>{rows}</main></body></html>") is not None


def test_signs__tell_a_content_that_was_misread() -> None:
    """No links, no words, no blanks; a language without blanks is not taken for that."""
    assert signs_of("Words enough to be read", 1) == ""
    assert signs_of("\x7f\x10 11 22", 0) == "no-links,no-words"
    assert signs_of("QWxsIHRoZSB3b3JkcyBvZiBhIHBhZ2UgdGhhdCBpcyBub25l " * 3, None) == "long-strings"
    assert signs_of("これは日本語の長い文章であり、単語の間に空白がないので、そのままでは数えられません。", 2) == ""
