"""Requests that are more than a URL: what they are called, and what is sent once."""

from __future__ import annotations

from weft.frontier.durable.log import Commit
from weft.frontier.local.specials import Specials
from weft.frontier.special import Special
from weft.model import Reason, UrlId
from weft.urls import fingerprint

URL = "http://a.test/login"
POST = Special({}, b"user=me", repeat=False)


def test_id__of_a_get_is_that_of_its_url() -> None:
    """Whatever its headers: it is the same page."""
    assert Special({"X": "1"}, None, repeat=False).id(URL) == fingerprint(URL)


def test_id__of_a_post_has_its_body_in_it() -> None:
    """Not its headers; and a page that is fetched again after a POST is another than before."""
    ids = [
        fingerprint(URL),
        POST.id(URL),
        Special({}, b"user=you", repeat=False).id(URL),
        Special({}, b"", repeat=False).id(URL),
        POST.id(URL + "/"),
        Special({}, None, repeat=True, after=UrlId(1)).id(URL),
        Special({}, None, repeat=True, after=UrlId(2)).id(URL),
    ]
    assert len(set(ids)) == len(ids)
    assert POST.id(URL) == Special({"X": "1"}, b"user=me", repeat=True).id(URL)


def test_intention__is_told_when_it_is_written_and_not_before() -> None:
    """One commit has it; its end is what gives leave."""
    specials = Specials()
    told: list[None] = []
    specials.add(7, POST)
    specials.intend(7, told.append)
    assert specials.waiting
    commit = Commit()
    specials.pack(commit, clean=False)
    assert (told, commit.sent, specials.intended(7)) == ([], [(7, True)], False)
    assert [page for page, _ in commit.requests] == [7]
    specials.written()
    assert (told, specials.intended(7)) == ([None], True)


def test_intention__that_came_to_nothing_is_taken_back() -> None:
    """By who gives the turn back, or by a clean end; what is being sent stays unknown."""
    specials = Specials()
    for page in (1, 2, 3):
        specials.add(page, POST)
        specials.intend(page, lambda _: None)
    specials.pack(Commit(), clean=False)
    specials.written()
    specials.withdraw(1)
    specials.sending(3)
    commit = Commit()
    specials.pack(commit, clean=True)
    assert commit.sent == [(1, False), (2, False)]


def test_retry__of_a_post_only_where_nothing_was_sent() -> None:
    """A page without a request of its own, a GET, and what may be repeated are tried as ever."""
    specials = Specials()
    specials.add(1, POST)
    specials.add(2, Special({"X": "1"}, None, repeat=False))
    specials.add(3, Special({}, b"", repeat=True))
    assert specials.may_retry(1, Reason.CONNECT_REFUSED)
    assert not specials.may_retry(1, Reason.TIMEOUT)
    assert not specials.may_retry(1, Reason.STATUS_5XX)
    for page in (2, 3, 4):
        assert specials.may_retry(page, Reason.TIMEOUT)


def test_over__forgets() -> None:
    """A crawl that has no such requests left pays nothing for them."""
    specials = Specials()
    specials.add(1, POST)
    assert specials.of
    specials.over(1)
    assert not specials.of
    assert specials.ever
