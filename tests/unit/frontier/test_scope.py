"""What is crawled and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.frontier.scope import Scope, Selection, twins
from weft.frontier.sites import Overrides, SiteSettings
from weft.model import Kind, Reason
from weft.urls import site_of


def refusal(made: Scope, url: str, kind: Kind, depth: int) -> Reason | None:
    """What the scope says of a URL."""
    return made.refusal(url, site_of(url), kind, depth)


def scope(seed: str = "http://www.example.org/dir/index.html", **settings: object) -> Scope:
    """A scope with one seed."""
    made = Scope(Selection(**settings))  # type: ignore[arg-type]
    made.admit(seed)
    return made


@pytest.mark.parametrize(
    ("name", "url", "inside"),
    [
        ("site", "https://example.org/x", True),
        ("site", "http://www.example.org/other", True),
        ("site", "http://blog.example.org/", False),
        ("site", "http://www.example.org:8080/", False),
        ("domain", "http://blog.example.org/", True),
        ("domain", "http://example.com/", False),
        ("prefix", "https://www.example.org/dir/sub/x", True),
        ("prefix", "http://www.example.org/other", False),
        ("prefix", "http://www.example.org.evil.test/dir/", False),
        ("list", "http://www.example.org/dir/2", False),
        ("all", "http://anything.test/", True),
    ],
)
def test_scope__is_where_the_seeds_say(name: str, url: str, *, inside: bool) -> None:
    """A seed stands for its site and twin, its domain, its folder, itself, or nothing in particular."""
    assert refusal(scope(scope=name), url, Kind.A, 1) is (None if inside else Reason.SCOPE)


def test_scope__twin_of_an_address_is_itself() -> None:
    """There is no www. before a number."""
    assert twins("127.0.0.1:8080") == ("127.0.0.1:8080", "127.0.0.1:8080")
    assert twins("[::1]") == ("[::1]", "[::1]")


def test_scope__parts_of_a_page_come_from_anywhere() -> None:
    """An image on another site is part of the page, and its depth does not count."""
    assert refusal(scope(), "http://cdn.test/a.jpg", Kind.IMAGE, 99) is None


@pytest.mark.parametrize(
    ("url", "depth", "reason"),
    [
        ("http://example.org/a", 15, None),
        ("http://example.org/a", 16, Reason.DEPTH),
        ("http://example.org/a?b=1", 5, None),
        ("http://example.org/a?b=1", 6, Reason.DEPTH),
        ("http://example.org/a.php", 6, Reason.DEPTH),
        ("http://example.org/" + "x" * 2000, 1, Reason.URL_LENGTH),
        ("http://example.org/a.zip", 1, Reason.EXTENSION),
        ("http://example.org:22/", 1, Reason.PORT),
    ],
)
def test_limits__of_depth_length_and_names(url: str, depth: int, reason: Reason | None) -> None:
    """15 links for static pages and 5 for dynamic ones, 2,000 characters, names of pages, ports of the web."""
    assert refusal(scope(scope="all"), url, Kind.A, depth) is reason


def test_patterns__exclude_beats_include_and_seeds_need_none() -> None:
    """An exclude always holds; an include holds for links, not for the seeds themselves."""
    made = scope(scope="all", include=("/news/",), exclude=("print=1",))
    assert refusal(made, "http://a.test/news/1", Kind.A, 1) is None
    assert refusal(made, "http://a.test/other", Kind.A, 1) is Reason.NOT_INCLUDED
    assert refusal(made, "http://a.test/other", Kind.SEED, 0) is None
    assert refusal(made, "http://a.test/news/1?print=1", Kind.SEED, 0) is Reason.EXCLUDED


def test_patterns__a_broken_one_is_refused_by_name() -> None:
    """The message names the flag and the pattern."""
    with pytest.raises(UsageError, match=r"--include is not a regular expression.*\(\("):
        Scope(Selection(include=("((",)))


def test_trace__shows_every_rules_answer() -> None:
    """Explain can show which rules agree and which refuse."""
    answers = dict(scope().trace("http://other.test/a.zip", Kind.A, 1))
    assert answers[Reason.SCOPE]
    assert answers[Reason.EXTENSION]
    assert not answers[Reason.DEPTH]


@given(
    name=st.sampled_from(["site", "domain", "prefix", "list", "all"]),
    patterns=st.tuples(st.booleans(), st.booleans()),
    url=st.sampled_from(
        [
            "http://www.example.org/dir/a.html",
            "http://example.org/news/a.zip?x=1",
            "http://blog.example.org/news/",
            "http://www.example.org:22/",
            "http://other.test/a.php?print=1",
            f"http://www.example.org/dir/{'x' * 2000}",
        ]
    ),
    kind=st.sampled_from(list(Kind)),
    depth=st.sampled_from([0, 1, 5, 6, 15, 16]),
)
def test_refusal__is_the_first_no_of_the_trace(
    name: str, patterns: tuple[bool, bool], url: str, kind: Kind, depth: int
) -> None:
    """What decides is what explain shows to decide."""
    made = scope(scope=name, include=("/news/",) if patterns[0] else (), exclude=("print=1",) if patterns[1] else ())
    first = next((reason for reason, refused in made.trace(url, kind, depth) if refused), None)
    assert refusal(made, url, kind, depth) is first
    assert refusal(made, url, kind, depth) is first, "also from the cache"


def test_overrides__the_most_specific_wins() -> None:
    """A site's own settings beat those of its domain."""
    overrides = Overrides(sites={"*.example.org": SiteSettings(wait=9.0), "www.example.org": SiteSettings(wait=1.0)})
    assert overrides.of("www.example.org").wait == 1.0
    assert overrides.of("blog.example.org").wait == 9.0
    assert overrides.of("example.org").wait == 9.0
    assert overrides.of("example.com").wait is None
