"""Signs of a trap in a URL, and sites that have nothing but copies."""

from __future__ import annotations

from time import gmtime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.costs import check_linear

from weft.frontier.rules import FOUND, TURN, Waiting, candidate, first_refusal
from weft.frontier.scope import Scope, Selection
from weft.frontier.traps import is_after, repeats
from weft.model import Kind, Reason
from weft.urls import site_of


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://a.example/x/x/x/x/", True),
        ("http://a.example/x/y/x/y/x/y/x", True),
        ("http://a.example/x/y/x/y/x/y/", False),
        ("http://a.example/////////", False),
        ("http://a.example/x/y/z/u/v/w/p/q/r/s/t", False),
        ("http://a.example/?p=1&p=2&p=3&p=4", True),
        ("http://a.example/?p=1;p=2;p=3&p=4", True),
        ("http://a.example/?p=1&p=2&p=3&q=4", False),
        ("http://a.example/?a=1&b=2&c=3&d=4&e=5", False),
        ("http://a.example/x/x/x?x=1", False),
    ],
)
def test_repeats__of_a_folder_or_a_parameter(url: str, *, found: bool) -> None:
    """More than three times is more than people write."""
    assert repeats(url, 3) is found


@given(st.lists(st.sampled_from(["a", "b", "ab", "a.html", ""]), max_size=12), st.integers(1, 4))
def test_repeats__are_found_as_if_each_segment_were_counted(segments: list[str], most: int) -> None:
    """What is looked at first only spares the counting."""
    last = [each for each in segments[-2:] if each]
    counted = len(segments) > 1 and any(segments.count(each) > most for each in last)
    assert repeats("http://h.example/" + "/".join(segments), most) is counted


@pytest.mark.parametrize(
    ("url", "ahead"),
    [
        ("http://a.example/2047/03/", True),
        ("http://a.example/cal-2029-12.html", True),
        ("http://a.example/events/2029/3/1", True),
        ("http://a.example/?year=2031&month=2", True),
        ("http://a.example/?date=20310501", True),
        ("http://a.example/?month=2031-05", True),
        ("http://a.example/2028/03/", False),
        ("http://a.example/1912/03/04/", False),
        ("http://a.example/2047/13/", False),
        ("http://a.example/item/210511", False),
        ("http://a.example/item/2905-11", False),
        ("http://a.example/item/2047-05b", False),
        ("http://a.example/?p=2047", False),
        ("http://a.example/?id=204703", False),
        ("http://a.example/standards/2105", False),
    ],
)
def test_dates__that_lie_ahead(url: str, *, ahead: bool) -> None:
    """A year with a month, or a parameter that says what it is; other numbers are numbers."""
    assert is_after(url, 2028) is ahead


def test_signs__cost_what_their_length_says() -> None:
    """A URL may be as long as a page."""
    for piece in ("/2047/1", "&p=1", "/x", "=2047-", "?year=20"):
        make = lambda size, piece=piece: "http://a.example/" + piece * (size // len(piece))  # noqa: E731
        check_linear(make, lambda url: (repeats(url, 3), is_after(url, 2028)), size=200_000)


@pytest.mark.parametrize("kind", [Kind.A, Kind.SITEMAP, Kind.SEED, Kind.IMAGE, Kind.REDIRECT])
@pytest.mark.parametrize("depth", [0, 1])
def test_rules__leave_traps_out(kind: Kind, depth: int) -> None:
    """Pages that nobody asked for by name; the short cut says what the rules say."""
    year = gmtime().tm_year + 2
    named = kind == Kind.SEED or (kind == Kind.REDIRECT and depth == 0)
    for url, reason in (
        ("http://a.example/x/x/x/x/", Reason.REPEATS),
        (f"http://a.example/{year}/05/", Reason.CALENDAR),
        (f"http://a.example/{year - 1}/05/", None),
    ):
        scope = Scope(Selection(scope="all"))
        expected = None if named or kind == Kind.IMAGE else reason
        assert first_refusal(FOUND, scope, candidate(url, kind, depth)) is expected
        assert scope.refusal(url, site_of(url), kind, depth) is expected


def test_rules__of_traps_have_limits_that_can_be_set() -> None:
    """For whoever archives what lies ahead, or has deep folders of one name."""
    scope = Scope(Selection(scope="all", max_repeats=9, max_years_ahead=100))
    year = gmtime().tm_year + 90
    for url in ("http://a.example/x/x/x/x/", f"http://a.example/{year}/05/"):
        assert scope.refusal(url, "a.example", Kind.A, 1) is None


@pytest.mark.parametrize(
    ("settings", "copies", "share", "refused"),
    [
        ({}, 90, 0.94, False),
        ({}, 500, 0.96, True),
        ({}, 49, 1.0, False),
        ({}, 50, 0.98, True),
        ({"max_duplicate_share": 1.0}, 5000, 1.0, False),
        ({"max_site_duplicates": 10}, 9, 0.09, False),
        ({"max_site_duplicates": 10}, 10, 0.09, True),
    ],
)
def test_site__with_too_many_copies_is_left_alone(
    settings: dict[str, float], copies: int, share: float, *, refused: bool
) -> None:
    """By their number, where there is a limit, or by their share of what came last."""
    scope = Scope(Selection(scope="all", **settings))  # type: ignore[arg-type]
    page = Waiting(url="http://a.example/x", site="a.example", copies=copies, share=share)
    assert first_refusal(TURN, scope, page) is (Reason.SITE_DUPLICATES if refused else None)
