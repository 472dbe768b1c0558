"""Whose a link is."""

from __future__ import annotations

from msgspec.structs import replace

from weft.frontier.durable.log import Commit
from weft.frontier.keyed import Keyed
from weft.frontier.local.holdings import Holdings
from weft.frontier.shared.contract import Batch, Found, Gain
from weft.model import UrlId

KEYED = Keyed(bytes(16))


def link(number: int) -> Found:
    """A link to a page of its own."""
    return Found(f"http://a.example/{number}", 1, 1, UrlId(7))


def several() -> Holdings:
    """What one of several workers holds: nothing yet."""
    holdings = Holdings(KEYED)
    holdings.alone = False
    return holdings


def test_alone__every_group_becomes_ours_at_once() -> None:
    """It is held from then on, part of the next commit, and claimed in what the global frontier is told, once."""
    holdings = Holdings(KEYED)
    assert holdings.groups == set()
    for _ in range(3):
        assert holdings.holds("a.example")
        assert holdings.holds("b.example")
    assert holdings.groups == {"a.example", "b.example"}
    assert holdings.new == ["a.example", "b.example"]
    assert holdings.pack(Commit()) == Batch(0, claimed=["a.example", "b.example"])


def test_several__only_what_was_checked_out_is_ours() -> None:
    """Asking for a group does not make it ours, and claims nothing."""
    holdings = several()
    assert not holdings.holds("a.example")
    assert not holdings.holds("a.example")
    assert holdings.check_out("a.example")
    assert holdings.holds("a.example")
    assert not holdings.holds("b.example")
    assert holdings.new == ["a.example"]
    assert holdings.pack(Commit()) == Batch(0)


def test_check_out__of_what_is_held_is_nothing_new() -> None:
    """Messages may come twice."""
    for holdings in (Holdings(KEYED), several()):
        assert holdings.check_out("a.example")
        assert not holdings.check_out("a.example")
        assert holdings.new == ["a.example"]
        assert holdings.holds("a.example")
        assert holdings.pack(Commit()) == Batch(0), "what was given to us need not be claimed"


def test_send__links_wait_by_group_for_the_next_commit() -> None:
    """In the order in which they were found."""
    holdings = several()
    for number, group in enumerate(("a.example", "b.example", "a.example")):
        holdings.send(group, link(number))
    assert holdings.notices == {"a.example": [link(0), link(2)], "b.example": [link(1)]}


def test_send__the_same_link_is_sent_once() -> None:
    """Also from another page, and after the batch went with a commit."""
    holdings = several()
    holdings.send("a.example", link(1))
    holdings.send("a.example", link(1))
    holdings.send("a.example", Found("http://a.example/1", 2, 9, UrlId(8)))
    assert holdings.notices == {"a.example": [link(1)]}
    holdings.pack(Commit())
    holdings.send("a.example", link(1))
    assert holdings.notices == {}


def test_gain__further_links_go_out_in_sums() -> None:
    """One notice a page and commit, with what all links since the last commit add; of pages never told of, nothing."""
    holdings = Holdings(KEYED, gaining=True)
    holdings.alone = False
    first, second = link(1), link(2)
    holdings.send("a.example", first)
    holdings.gain(KEYED.of(first.url), 0.5)
    holdings.gain(KEYED.of(first.url), 0.25)
    holdings.send("a.example", second)
    holdings.gain(KEYED.of(link(3).url), 1.0)
    unsent = [holdings.unsent]
    told = holdings.pack(Commit()).notices["a.example"]
    assert told == [replace(first, gain=0.75), second]
    assert [*unsent, holdings.unsent] == [True, False]
    holdings.send("a.example", first)
    holdings.gain(KEYED.of(first.url), 2.0)
    assert holdings.pack(Commit()).notices == {"a.example": [Gain(first.url, 2.0)]}
    assert holdings.pack(Commit()).notices == {}


def test_start__is_that_of_the_page_where_a_link_was_found_first() -> None:
    """Whoever finds it later changes nothing; what is known already starts no more."""
    holdings = Holdings(KEYED, gaining=True)
    holdings.alone = False
    key = KEYED.of(link(1).url)
    holdings.send("a.example", link(1))
    holdings.start(key, 0.5)
    holdings.start(key, 0.125)
    assert holdings.pack(Commit()).notices == {"a.example": [replace(link(1), score=0.5)]}
    holdings.send("a.example", link(1))
    holdings.start(key, 0.125)
    assert holdings.pack(Commit()).notices == {}


def test_send__no_link_is_ever_lost() -> None:
    """Among many, some push others out of memory: these may be sent twice, none is left out."""
    holdings = several()
    for _ in range(2):
        for number in range(50_000):
            holdings.send("a.example", link(number))
    sent = [each.url for each in holdings.notices["a.example"] if isinstance(each, Found)]
    assert set(sent) == {link(number).url for number in range(50_000)}
    assert len(sent) < 60_000
