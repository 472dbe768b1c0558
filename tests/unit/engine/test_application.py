"""Applications: what they see of a page, and how several share one crawl."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from weft.engine.application import Application, FetchedPage, Request, Together, packed_meta
from weft.engine.calls import Calls, call_of, forget_harm
from weft.engine.hosting import Caller
from weft.frontier.special import Special
from weft.model import NO_ID, Kind, Page, PageNumber, Turn, UrlId
from weft.parse.options import Reading
from weft.parse.page import Parser

PARSER = Parser(Reading(), "weft")


def fetched(url: str, html: str = "", charset: str = "utf-8", owners: int = -1, **headers: str) -> FetchedPage:
    """A page as an application gets it."""
    body = gzip.compress(html.encode(charset))
    named = {"content-type": f"text/html; charset={charset}", "content-encoding": "gzip"} | headers
    page = Page(url, 200, None, b"", b"", named, body, "", "", "", 0.0, 0.0, 0.0, closed=False)
    special = None if owners == -1 else Special({}, None, repeat=True, owners=owners)
    return FetchedPage(
        Turn(PageNumber(1), UrlId(2), url, 3, Kind.A, NO_ID, 1), page, PARSER.parse(page, Kind.A), PARSER, special
    )


class Recorder(Application):
    """Notes what it is told, and wants what it was made to want."""

    def __init__(self, **wants: Iterable[Request | str] | None) -> None:
        self.wants = wants
        self.seen: list[str] = []
        self.lost: list[tuple[str, str]] = []

    def visited(self, page: FetchedPage) -> Iterable[Request | str] | None:
        """Note a page."""
        self.seen.append(page.url)
        return self.wants.get("visited")

    def failed(self, url: str, reason: str) -> Iterable[Request | str] | None:
        """Note a failure."""
        self.lost.append((url, reason))
        return self.wants.get("failed")


def test_page__shows_content_text_and_links() -> None:
    """Decoded, read in its charset, links in normal form, each once, in order."""
    html = "<html lang=ru><title>Яж</title><a href=b#x></a><a href=../c></a><a href=b></a><a href=mailto:x></a>"
    page = fetched("http://a/d/e", html, "windows-1251")
    assert (page.url, page.depth, page.status, page.title, page.type, page.language) == (
        "http://a/d/e",
        3,
        200,
        "Яж",
        "text/html",
        "ru",
    )
    assert page.body == html.encode("windows-1251")
    assert page.text == html
    assert page.links == ["http://a/d/b", "http://a/c"]
    assert repr(page) == "FetchedPage(200 http://a/d/e)"


def test_page__that_asks_not_to_be_followed_has_no_links() -> None:
    """An application that follows links obeys without knowing."""
    assert fetched("http://a/", "<meta name=robots content=nofollow><a href=b>").links == []


def test_application__follows_every_link_by_default() -> None:
    """And asks for nothing when a page fails."""
    assert Application().visited(fetched("http://a/", "<a href=b>")) == ["http://a/b"]
    assert Application().failed("http://a/", "timeout") is None


def test_together__a_seed_belongs_to_all() -> None:
    """Nobody asked for it, so everybody is told; what they want is gathered, with who wants it."""
    first, second = Recorder(visited=["http://a/1"]), Recorder(visited=[Request("http://a/2", 5.0)])
    wanted = list(Together(first, second).visited(fetched("http://a/")))
    assert wanted == [Request("http://a/1", owners=1), Request("http://a/2", 5.0, owners=2)]
    assert first.seen == second.seen == ["http://a/"]


def test_together__a_page_goes_to_those_who_asked_for_it() -> None:
    """To one, or to both: as its request says, which the frontier kept."""
    first, second = Recorder(), Recorder()
    both = Together(first, second)
    for number, url in enumerate(("http://a/1", "http://a/2", "http://a/both"), 1):
        list(both.visited(fetched(url, owners=number)))
    assert first.seen == ["http://a/1", "http://a/both"]
    assert second.seen == ["http://a/2", "http://a/both"]


def test_together__a_failure_and_a_redirect_are_told_to_those_who_asked() -> None:
    """They may ask for something else; what a method does not know of is not given to it."""
    first, second = Recorder(failed=["http://a/instead"]), Recorder()
    both = Together(first, second)
    wanted = list(both.failed("http://a/1", "timeout", owners=1, meta=7))
    assert wanted == [Request("http://a/instead", owners=1)]
    assert (first.lost, second.lost) == ([("http://a/1", "timeout")], [])
    both.redirected("http://a/1", "http://a/2", owners=2)


def test_together__has_the_states_of_all() -> None:
    """Each gets its own back; one that has none gets nothing."""

    class Counting(Application):
        def __init__(self) -> None:
            self.count = 0

        def state(self) -> int:
            return self.count

        def restore(self, state: int) -> None:
            self.count = state

    first, second = Counting(), Counting()
    first.count, second.count = 3, 5
    state = Together(first, Recorder(), second).state()
    others = Counting(), Recorder(), Counting()
    Together(*others).restore(state)
    assert (others[0].count, others[2].count) == (3, 5)


def test_caller__keeps_what_was_asked_for_before_an_exception() -> None:
    """Whatever raises, and be it a request to end the process."""

    class Raising(Application):
        def visited(self, page: FetchedPage) -> Iterable[str]:
            yield f"{page.url}1"
            sys.exit(3)

        def failed(self, url: str, reason: str, meta: object = None) -> Iterable[str]:
            raise KeyError(url, reason, meta)

    caller = Caller(Raising(), "Raising", lambda: 0.0)
    wanted, error = caller.visited(fetched("http://a/"))
    assert wanted == ["http://a/1"]
    assert isinstance(error, SystemExit)
    _, error = caller.failed("http://a/", "timeout", Special({}, None, repeat=True, meta=packed_meta([1])))
    assert isinstance(error, KeyError)
    assert error.args == ("http://a/", "timeout", [1])


def test_caller__asks_for_the_state_only_when_it_may_have_changed() -> None:
    """After a call; and where the application says so itself, when it does."""

    class Counting(Application):
        count, changed, asked = 0, False, 0

        def state(self) -> int:
            self.asked += 1
            return self.count

    application = Counting()
    caller = Caller(application, "Counting", lambda: 0.0)
    assert caller.state() == (b"", None)
    caller.visited(fetched("http://a/"))
    assert caller.state() == (b"", None)
    application.count, application.changed = 4, True
    caller.visited(fetched("http://a/"))
    assert caller.state() == (b"\x04", None)
    assert caller.state() == (b"", None)
    assert (application.asked, application.changed) == (1, False)


def test_request__is_special_only_where_it_must_be() -> None:
    """A URL with a priority costs the frontier nothing beside it."""
    assert Request("http://a/", 3.0).special(5.0) is None
    assert Request("http://a/", again=True).special(5.0) is None
    special = Request("http://a/", meta={"n": 1}, later=2.0).special(5.0)
    assert special == Special({}, None, repeat=False, meta=packed_meta({"n": 1}), due=7.0)
    with pytest.raises(TypeError, match="cannot be kept"):
        Request("http://a/", meta=object())
    with pytest.raises(ValueError, match="larger"):
        Request("http://a/", meta="x" * 100_000)


def test_calls__one_that_ended_its_process_twice_is_not_made_again(tmp_path: Path) -> None:
    """Once may be somebody else's doing."""
    call = ("mine:Bad", "visited", "http://a/")
    for times in range(3):
        calls = Calls(tmp_path)
        assert calls.is_harmful(*call) == (times == 2)
        calls.under(*call).__enter__()
        assert call_of(tmp_path) == "mine:Bad.visited(http://a/)"
        calls.close()
    forget_harm(tmp_path)
    calls = Calls(tmp_path)
    assert not calls.harmful
    with calls.under(*call):
        pass
    assert call_of(tmp_path) == ""
    calls.close()
