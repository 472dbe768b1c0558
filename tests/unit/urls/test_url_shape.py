"""Guesses by the look of a URL, and fingerprints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64

from weft.urls import extension, fingerprint, fingerprints, is_dynamic


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://a.org/b.HTML", "html"),
        ("http://a.org/b.tar.gz", "gz"),
        ("http://a.org/b.pdf?c.d", "pdf"),
        ("http://a.org/b?c.pdf", ""),
        ("http://a.org/b.c/d", ""),
        ("http://a.org/.hidden", ""),
        ("http://a.org/b.", ""),
        ("http://a.org/", ""),
        ("http://a.org/what.is.this-very-long-thing", ""),
    ],
)
def test_extension__is_that_of_the_last_segment(url: str, found: str) -> None:
    """Neither the host nor the query nor a folder has an extension."""
    assert extension(url) == found


@pytest.mark.parametrize(
    ("url", "dynamic"),
    [
        ("http://a.org/b.php", True),
        ("http://a.org/b.ASPX", True),
        ("http://a.org/b.do", True),
        ("http://a.org/cgi/b.cgi", True),
        ("http://a.org/b.html?x", True),
        ("http://a.org/?", True),
        ("http://a.org/b.html", False),
        ("http://a.org/php/", False),
        ("http://a.php/", False),
    ],
)
def test_is_dynamic__by_question_mark_or_extension(url: str, dynamic: bool) -> None:
    """P1's heuristic: a question mark anywhere, or a known extension."""
    assert is_dynamic(url) is dynamic


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_fingerprint__is_xxh3_of_the_utf8_text(urls: list[str]) -> None:
    """Every process and every later crawl computes the same 64 bits, one by one or in a batch."""
    expected = [xxh3_64(url.encode()).intdigest() for url in urls]
    assert [fingerprint(url) for url in urls] == expected
    assert fingerprints(urls) == expected
    assert all(0 <= number < 2**64 for number in expected)


def test_fingerprint__is_pinned() -> None:
    """The value is written to disk and must never change."""
    assert fingerprint("https://example.org/") == 0x8E2C3C2914C7CB49
