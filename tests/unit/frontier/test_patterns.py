"""Patterns of URLs: what Python's matcher would say, in a time that the URL cannot make long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.costs import check_costs

from weft.errors import UsageError
from weft.frontier.patterns import Patterns

TRAP = r".*(/[^/]+)/[^/]+\1/[^/]+\1/"
ORDINARY = [
    r"\.pdf$",
    r"^https?://[^/]+/(a|b)+/",
    r"(?i)\.(gif|JPG)$",
    r"[?&]sid=\w+",
    r"/\d{4}/\d\d/",
    r"/x{,2}y",
    r"a|b{2}|[^c]d",
    r"(?P<year>\d+)-",
    r"(?P<year>\d+)/",
    r"/a(?=b)",
    r"\bprint\b",
]
URLS = st.text(alphabet="abcdxyz019/.?&=-_%PDFGIFprintsid:", max_size=60)


@given(path=URLS)
@pytest.mark.parametrize("pattern", ORDINARY)
def test_pattern__means_what_it_means_to_python(pattern: str, path: str) -> None:
    """Whichever matcher is asked."""
    url = f"http://a.example/{path}"
    assert Patterns((pattern,), "exclude", unsure=True).match(url) == (re.search(pattern, url) is not None)


@given(path=URLS)
def test_patterns__match_where_one_does(path: str) -> None:
    """All of them together, some of which no other matcher than Python's knows."""
    url = f"http://a.example/{path}"
    expected = any(re.search(pattern, url) for pattern in ORDINARY)
    assert Patterns(tuple(ORDINARY), "include", unsure=False).match(url) == expected


@pytest.mark.parametrize("pattern", [".*foo.*bar.*baz.*qux", "(a+)+$", "(.*a){12}x", "([a-z]+/)+end"])
def test_pattern__cannot_be_made_slow_by_a_url(pattern: str) -> None:
    """Python's own matcher takes from milliseconds to for ever over these."""
    patterns = Patterns((pattern,), "exclude", unsure=True)
    assert not patterns.slow
    for url in ("http://a/" + "foobar" * 300, "http://a/" + "a" * 1900 + "!", "http://a/" + "a/" * 900):
        check_costs(lambda url=url: patterns.match(url), steps=1_000_000)  # type: ignore[misc]


@pytest.mark.parametrize("unsure", [True, False])
def test_pattern__with_a_back_reference_is_tried_on_urls_of_some_length(unsure: bool) -> None:
    """A longer one counts as the caller says."""
    patterns = Patterns((TRAP,), "exclude", unsure=unsure)
    assert patterns.slow
    assert patterns.match("http://a.example/x/y/x/y/x/")
    assert not patterns.match("http://a.example/x/y/z/")
    assert patterns.match("http://a.example/" + "ab/" * 300) == unsure


def test_pattern__that_is_none_is_refused() -> None:
    """With what is wrong about it."""
    with pytest.raises(UsageError, match="--exclude is not a regular expression"):
        Patterns(("(",), "exclude", unsure=True)
