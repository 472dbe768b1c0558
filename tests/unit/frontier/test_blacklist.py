"""What must not be visited any more."""

from __future__ import annotations

import doctest
import importlib
import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.frontier.blacklist import Blacklist, usable_rule
from weft.urls import site_of


def named(url: str, *rules: str) -> bool:
    """Does one of these rules, as a person writes them, name a URL?"""
    return Blacklist(map(usable_rule, rules)).names(url, site_of(url))


@pytest.mark.parametrize(
    ("rule", "url", "hit"),
    [
        # A URL, and no other.
        ("http://a.example/x", "http://a.example/x", True),
        ("http://a.example/x", "http://a.example/x/y", False),
        ("http://a.example/x", "https://a.example/x", False),
        ("HTTP://A.example:80/./x", "http://a.example/x", True),
        ("http://a.example", "http://a.example/", True),
        # All that begin like this.
        ("http://a.example/x*", "http://a.example/x", True),
        ("http://a.example/x*", "http://a.example/xyz?q=1", True),
        ("http://a.example/x/*", "http://a.example/x", False),
        ("http://a.example/*", "http://a.example/", True),
        ("http://a.example/*", "http://a.example.evil.test/", False),
        ("http://a.example*", "http://a.example.evil.test/", False),
        ("http://a.example/*", "https://a.example/", False),
        # A site, under both schemes, and none below it.
        ("a.example", "http://a.example/deep/x", True),
        ("A.Example", "https://a.example/", True),
        ("a.example", "http://www.a.example/", False),
        ("a.example", "http://a.example:8080/", False),
        ("a.example:8080", "http://a.example:8080/", True),
        ("a.example:8080", "http://a.example/", False),
        ("bücher.example", "http://xn--bcher-kva.example/", True),
        # A domain with all below it.
        ("*.a.example", "http://a.example/", True),
        ("*.a.example", "http://www.a.example/", True),
        ("*.a.example", "http://x.y.a.example:8080/z", True),
        ("*.a.example", "http://b.example/", False),
        ("*.a.example", "http://nota.example/", False),
        ("*.example", "http://nota.example/", True),
        # Addresses are not for URLs to say.
        ("192.0.2.0/24", "http://a.example/", False),
    ],
)
def test_rule__names_what_it_says_and_nothing_else(rule: str, url: str, *, hit: bool) -> None:
    """A URL, a beginning of URLs, a site, a domain."""
    assert named(url, rule) is hit


@pytest.mark.parametrize(
    ("rule", "network"),
    [
        ("192.0.2.0/24", "192.0.2.0/24"),
        ("192.0.2.77/24", "192.0.2.0/24"),
        ("10.0.0.1", "10.0.0.1/32"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("[2001:db8::1]", "2001:db8::1/128"),
    ],
)
def test_rule__of_addresses_becomes_a_range(rule: str, network: str) -> None:
    """For whoever opens connections to ask."""
    assert usable_rule(rule) == network
    assert Blacklist([network]).ranges == (ipaddress.ip_network(network),)


def test_blacklist__of_many_kinds_and_of_none() -> None:
    """Any rule is enough; without rules nothing is named."""
    rules = ("http://a.example/x", "http://b.example/y*", "c.example", "*.d.example", "192.0.2.0/24")
    for url in ("http://a.example/x", "http://b.example/y1", "https://c.example/", "http://w.d.example/"):
        assert named(url, *rules)
        assert not named(url)
    assert not named("http://e.example/", *rules)
    assert not named("http://b.example/", *rules)
    assert Blacklist(rules).rules == rules
    assert Blacklist(rules).ranges == (ipaddress.ip_network("192.0.2.0/24"),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "*.",
        "x y",
        "http://",
        "http://a b/",
        "ftp://a.example/",
        "a.example/path",
        "*.a.example/path",
        "a.example:99999",
        "*",
        "**",
        "ex*mple.org",
        "*.ex*mple.org",
        "example.org*",
        "example.org?x=1",
        "example.org#x",
        "me@example.org",
        "mailto:me@example.org",
        "*.example.org:8080",
    ],
)
def test_rule__that_is_none_is_refused(text: str) -> None:
    """With what was given, and what a rule may be."""
    with pytest.raises(UsageError, match="is no rule for a blacklist") as caught:
        usable_rule(text)
    assert f"'{text.strip()}'" in caught.value.what
    for kind in ("URL", "site", "*.domain", "192.0.2.0/24"):
        assert kind in caught.value.todo


@given(
    host=st.from_regex(r"[a-z][a-z0-9-]{0,10}[a-z0-9](\.[a-z]{2,6}){1,3}", fullmatch=True),
    form=st.sampled_from(["{}", "*.{}", "http://{}/a/*", "https://{}:8443/x?y=1", "{}:8080"]),
)
def test_rule__as_it_is_kept_is_kept_as_it_is(host: str, form: str) -> None:
    """Read again it is the same rule, and it names what it was written for."""
    rule = usable_rule(form.format(host))
    assert usable_rule(rule) == rule
    site = rule.removeprefix("*.")
    url = (rule if "://" in rule else f"http://{site}/").replace("*", "z")
    assert Blacklist([rule]).names(url, site_of(url))


def test_doctests__hold() -> None:
    """The examples are true."""
    failed, tried = doctest.testmod(importlib.import_module("weft.frontier.blacklist"))
    assert tried
    assert not failed
