"""Applications: what they see of a page, and how several share one crawl."""

from __future__ import annotations

import gzip
from collections.abc import Iterable

from weft.engine.application import Application, FetchedPage, Request, Together
from weft.model import Kind, Page, Turn
from weft.parse.options import Reading
from weft.parse.page import Parser

PARSER = Parser(Reading(), "weft")


def fetched(url: str, html: str = "", charset: str = "utf-8", **headers: str) -> FetchedPage:
    """A page as an application gets it."""
    body = gzip.compress(html.encode(charset))
    named = {"content-type": f"text/html; charset={charset}", "content-encoding": "gzip"} | headers
    page = Page(url, 200, None, b"", b"", named, body, "", "", "", 0.0, 0.0, 0.0, closed=False)
    return FetchedPage(Turn(1, 2, url, 3, Kind.A, 0, 1), page, PARSER.parse(page, Kind.A), PARSER)


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
    """Nobody asked for it, so everybody is told; what they want is gathered."""
    first, second = Recorder(visited=["http://a/1"]), Recorder(visited=[Request("http://a/2", 5.0)])
    wanted = list(Together(first, second).visited(fetched("http://a/")))
    assert wanted == ["http://a/1", Request("http://a/2", 5.0)]
    assert first.seen == second.seen == ["http://a/"]


def test_together__a_page_goes_to_those_who_asked_for_it() -> None:
    """To one, or to both, and to the one who asked only."""
    first, second = Recorder(visited=["http://a/1", "http://a/both"]), Recorder(visited=["http://a/2", "http://a/both"])
    both = Together(first, second)
    list(both.visited(fetched("http://a/")))
    first.wants = second.wants = {}
    for url in ("http://a/1", "http://a/2", "http://a/both"):
        list(both.visited(fetched(url)))
    assert first.seen == ["http://a/", "http://a/1", "http://a/both"]
    assert second.seen == ["http://a/", "http://a/2", "http://a/both"]


def test_together__what_is_asked_for_is_known_by_its_normal_form() -> None:
    """However it was written, relative to its page or not."""
    first, second = Recorder(visited=["x/../b", "HTTP://A:80/c#d"]), Recorder()
    both = Together(first, second)
    list(both.visited(fetched("http://a/dir/page")))
    for url in ("http://a/dir/b", "http://a/c"):
        list(both.visited(fetched(url)))
    assert first.seen == ["http://a/dir/page", "http://a/dir/b", "http://a/c"]
    assert second.seen == ["http://a/dir/page"]


def test_together__a_failure_is_told_to_those_who_asked() -> None:
    """They may ask for something else."""
    first, second = Recorder(visited=["http://a/1"], failed=["http://a/instead"]), Recorder()
    both = Together(first, second)
    list(both.visited(fetched("http://a/")))
    assert list(both.failed("http://a/1", "timeout")) == ["http://a/instead"]
    list(both.visited(fetched("http://a/instead")))
    assert (first.lost, second.lost) == ([("http://a/1", "timeout")], [])
    assert (first.seen, second.seen) == (["http://a/", "http://a/instead"], ["http://a/"])


def test_together__what_cannot_be_a_url_is_passed_on_and_forgotten() -> None:
    """The system refuses it; nothing waits for it."""
    both = Together(Recorder(visited=["mailto:x", "http://"]))
    assert list(both.visited(fetched("http://a/"))) == ["mailto:x", "http://"]
    assert both._wanted == {}


def test_together__nothing_is_kept_of_a_page_that_came() -> None:
    """A request is remembered until its page is there."""
    both = Together(Recorder(visited=["http://a/1"]), Recorder())
    list(both.visited(fetched("http://a/")))
    assert list(both._wanted) == ["http://a/1"]
    both._applications[0].wants = {}  # type: ignore[attr-defined]
    list(both.visited(fetched("http://a/1")))
    assert both._wanted == {}
