"""Duplicate hosts: which site stands for which, and that the original is asked for in place of its replica."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.frontier.conftest import parsed
from tests.unit.frontier.test_local import NO_WAIT, crawl_order, take

from weft.errors import UsageError
from weft.frontier.duphosts import Duphosts, parse, read_duphosts
from weft.frontier.rules import FOUND, candidate, first_refusal
from weft.frontier.scope import Scope, Selection
from weft.model import NO_ID, Kind, Reason
from weft.urls import fingerprint


@pytest.fixture
def listed(tmp_path: Path) -> str:
    """A list with two replicas."""
    path = tmp_path / "duphosts.txt"
    path.write_text("# a comment\nb.example\ta.example\t# 9 of 9\n\nC.example:8080 a.example\n", encoding="utf-8")
    return str(path)


def test_list__leads_to_the_last_original() -> None:
    """A replica of a replica is one of its original; what is no pair is refused with its line."""
    assert parse("c.example b.example\nb.example a.example", "x") == {
        "b.example": "a.example",
        "c.example": "a.example",
    }
    wrong = ["a.example", "a.example a.example", "a b c", "http://a.example/ b.example", "a b\na c", "a b\nb c\nc a"]
    for text in wrong:
        with pytest.raises(UsageError, match=r"."):
            parse(text, "list.txt")
    with pytest.raises(UsageError, match="cannot read"):
        read_duphosts("/no/such/file", www=False)


def test_www__is_added_to_registered_domains_alone() -> None:
    """By the level of the domain, as in P3 4.3.1; an address has none, and a list that chose a name is obeyed."""
    rule = Duphosts({"www.b.example": "b.example"}, www=True)
    for site, original in {
        "a.co.uk": "www.a.co.uk",
        "a.example:8080": "www.a.example:8080",
        "x.a.example": "x.a.example",
        "www.a.example": "www.a.example",
        "b.example": "b.example",
        "www.b.example": "b.example",
        "127.0.0.1": "127.0.0.1",
        "[::1]:80": "[::1]:80",
        "localhost": "localhost",
        "co.uk": "co.uk",
    }.items():
        assert rule.original_of(site) == original


def test_rule__refuses_all_but_redirects(listed: str) -> None:
    """A server that redirects to a replica knows why."""
    scope = Scope(Selection(scope="all", duphosts=listed))
    for kind in Kind:
        said = first_refusal(FOUND, scope, candidate("http://b.example/x", kind, 0))
        assert said is (None if kind == Kind.REDIRECT else Reason.DUPHOST)
        assert scope.refusal("http://b.example/x", "b.example", kind, 0) is said
        assert scope.refusal("http://a.example/x", "a.example", kind, 0) is None


def test_frontier__asks_the_original_in_place_of_the_replica(make: Any, listed: str) -> None:
    """Seeds, links and requests; the scope is that of the original; the replica is counted as refused, and links lead
    to where the crawl goes.
    """
    frontier = make(politeness=NO_WAIT, selection=Selection(scope="site", duphosts=listed))
    assert frontier.add_seed("http://b.example/") is None
    visit, turn = take(frontier)
    assert turn.url == "http://a.example/"
    links = ["http://c.example:8080/x?y", "/z", "http://a.example/x?y", "http://other.example/"]
    followed, _ = frontier.discovery.follow(visit.site, turn, parsed(turn.url, *links))
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    urls = ["http://a.example/x?y", "http://a.example/z"]
    assert followed.targets == [fingerprint(url) for url in (*urls, urls[0], links[-1])]
    assert frontier.discovery.offer("http://b.example/w", Kind.REQUEST, 1, NO_ID) is None
    assert crawl_order(frontier) == [*urls, "http://a.example/w"]
    assert frontier.discovery.refused[Reason.DUPHOST] == 3
    assert frontier.discovery.refused[Reason.SCOPE] == 1


def test_redirect__to_a_replica_is_followed_as_it_is(make: Any, listed: str) -> None:
    """The original may have moved there: nothing is lost, and there is no circle."""
    frontier = make(politeness=NO_WAIT, selection=Selection(scope="all", duphosts=listed))
    frontier.add_seed("http://a.example/")
    visit, turn = take(frontier)
    frontier.settle(visit, turn, None)
    assert frontier.redirects.follow(turn, "http://b.example/", Kind.REDIRECT, 1) is None
    frontier.leave(visit)
    assert crawl_order(frontier) == ["http://b.example/"]
