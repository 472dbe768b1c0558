"""What is crawled and what is not."""

from __future__ import annotations

import pytest

from weft.errors import UsageError
from weft.frontier.overrides import Overrides, SiteSettings
from weft.frontier.rules import FOUND, answers, candidate
from weft.frontier.scope import Scope, Selection, twins
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
        ("tld", "http://anything.org:8080/", True),
        ("tld", "http://example.com/", False),
        ("tld", "http://org.example.com/", False),
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


def test_scope__of_an_address_has_no_top_level_domain() -> None:
    """It stands for itself."""
    made = scope("http://192.0.2.1/", scope="tld")
    assert refusal(made, "http://192.0.2.1/a", Kind.A, 1) is None
    assert refusal(made, "http://198.51.100.1/", Kind.A, 1) is Reason.SCOPE


@pytest.mark.parametrize("name", ["site", "domain", "tld", "prefix", "list"])
@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("http://a.pt/", True),
        ("https://www.b.a.pt:8080/x", True),
        ("http://xn--bcher-kva.example.com/", True),
        ("http://example.com/", False),
        ("http://pt.example.com/", False),
        ("http://apt/", False),
    ],
)
def test_scope__has_further_domains(name: str, url: str, *, inside: bool) -> None:
    """With all that is below them, whatever the seeds stand for; a list of a country's names is one of these."""
    made = scope(scope=name, domains=("*.PT", "bücher.example.com."))
    assert refusal(made, url, Kind.A, 1) is (None if inside else Reason.SCOPE)
    assert made.covers(site_of(url)) is inside


@pytest.mark.parametrize("name", ["a/b", "", "127.0.0.1", "a b", "http://a.pt/"])
def test_scope__refuses_what_is_no_domain(name: str) -> None:
    """At once, and not by finding nothing there."""
    with pytest.raises(UsageError, match="is no name of a domain"):
        Scope(Selection(domains=(name,)))


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


def test_answers__show_what_every_rule_says() -> None:
    """Explain can show which rules agree and which refuse."""
    said = dict(answers(FOUND, scope(), candidate("http://other.test/a.zip", Kind.A, 1)))
    assert said[Reason.SCOPE]
    assert said[Reason.EXTENSION]
    assert not said[Reason.DEPTH]


def test_overrides__the_most_specific_wins() -> None:
    """A site's own settings beat those of its domain."""
    overrides = Overrides(sites={"*.example.org": SiteSettings(wait=9.0), "www.example.org": SiteSettings(wait=1.0)})
    assert overrides.of("www.example.org").wait == 1.0
    assert overrides.of("blog.example.org").wait == 9.0
    assert overrides.of("example.org").wait == 9.0
    assert overrides.of("example.com").wait is None


def test_overrides__a_sites_own_depth_replaces_that_of_the_crawl() -> None:
    """It may be less or more; dynamic pages have their limit beside it."""
    overrides = Overrides(sites={"deep.test": SiteSettings(max_depth=30), "*.flat.test": SiteSettings(max_depth=1)})
    made = Scope(Selection(scope="all"), overrides)
    assert refusal(made, "http://deep.test/a", Kind.A, 30) is None
    assert refusal(made, "http://deep.test/a", Kind.A, 31) is Reason.DEPTH
    assert refusal(made, "http://deep.test/a?b", Kind.A, 6) is Reason.DEPTH
    assert refusal(made, "http://www.flat.test/a", Kind.A, 1) is None
    assert refusal(made, "http://www.flat.test/a", Kind.A, 2) is Reason.DEPTH
    assert refusal(made, "http://other.test/a", Kind.A, 16) is Reason.DEPTH
