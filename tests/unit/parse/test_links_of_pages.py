"""The links of a page as a sequence: the same as their texts, however they are asked for."""

from __future__ import annotations

import pytest

from weft.parse.directives import NOTHING_ASKED
from weft.parse.html import parse_html
from weft.parse.links import PageLinks

PLAIN = b"<a href=/a>1</a><a href=b>2</a><a href='?c'>3</a><a href=#d>4</a>"
MIXED = PLAIN + b"<a rel=next href=e>5</a><a href='/f?a&amp;b'>6</a><area href=g>" + PLAIN


def links_of(html: bytes, *, most: int = 100) -> PageLinks:
    """As a page is read."""
    url = "http://a.example/"
    parsed = parse_html(html, "utf-8", url, "weft", requisites=False, header=NOTHING_ASKED, most=most)
    assert isinstance(parsed.links, PageLinks)
    return parsed.links


def test_links__are_in_their_order_on_the_page() -> None:
    """Whether they stand there as they are meant or not; those with an empty href are none."""
    first = [("/a", 1), ("b", 1), ("?c", 1), ("#d", 1)]
    assert links_of(b"<a href=''>" + MIXED) == [*first, ("e", 1), ("/f?a&b", 1), ("g", 2), *first]


@pytest.mark.parametrize("html", [PLAIN, MIXED])
def test_some_links__are_those_of_the_list(html: bytes) -> None:
    """One, some from the beginning, the middle or the end, none, and every other one."""
    links = links_of(html)
    texts = list(links)
    for part in (slice(2), slice(1, 3), slice(3, 1), slice(-2, None), slice(90, 95), slice(None, None, 2)):
        assert links[part] == texts[part]
        assert len(links[part]) == len(texts[part])
    assert links[1] == texts[1]
    assert links[-1] == texts[-1]


def test_links__beyond_the_limit_of_a_page_are_left_out() -> None:
    """The first ones stay."""
    assert links_of(PLAIN, most=2) == [("/a", 1), ("b", 1)]
