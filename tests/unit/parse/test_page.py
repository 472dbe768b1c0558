"""Which reader looks at a page, and that none of them ever raises."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.costs import check_linear

from weft.model import Kind, Page, Parsed, Reason
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.parse.tags import LargePage

URL = "http://site.test/a/"


def parse(
    body: bytes, kind: Kind = Kind.A, *, requisites: bool = False, limit: int = 1_000_000, **headers: str
) -> Parsed:
    """A page with these headers, read."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    head = (
        b"HTTP/1.1 200 OK\r\n"
        + "".join(f"{name}: {value}\r\n" for name, value in named.items()).encode("latin-1")
        + b"\r\n"
    )
    page = Page(URL, 200, None, b"", head, named, body, "", "", "", 0.0, 0.0, 0.0, closed=False)
    return Parser(Reading(requisites=requisites, max_expanded_bytes=limit), "Weft").parse(page, kind)


def test_html__is_read_in_its_charset() -> None:
    """The parameter of the Content-Type decides, in whatever spelling."""
    body = "<title>Яж</title><a href=x>".encode("cp1251")
    for declared in ('text/html; Charset="windows-1251"', "text/html;x=y;charset=windows-1251, text/html"):
        parsed = parse(body, content_type=declared)
        assert (parsed.title, parsed.charset, parsed.links) == ("Яж", "cp1251", [("x", Kind.A)])


def test_html__content_coding_is_undone_first() -> None:
    """A packed page is a page."""
    parsed = parse(gzip.compress(b"<html><a href=x>"), content_encoding="gzip")
    assert (parsed.type, parsed.links) == ("text/html", [("x", Kind.A)])


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_coding__that_breaks_off_is_read_so_far_and_told(coding: str) -> None:
    """As browsers show such a page; nothing cut it on its way, so who asks must hear that something is missing."""
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}[coding]
    body = packed(b"<title>whole</title>" + b"".join(b"<a href=%d>" % number for number in range(500)))
    whole, part = (parse(each, content_encoding=coding) for each in (body, body[: len(body) // 2]))
    assert (whole.whole, len(whole.links), whole.title) == (True, 500, "whole")
    assert (part.whole, part.reason) == (False, None)
    assert coding == "br" or 0 < len(part.links) < 500  # of so little, brotli gives nothing before its end


def test_html__that_is_large_is_for_somebody_else_to_read() -> None:
    """By its size without its coding; what is no HTML is read whatever its size, and so is all without a limit."""
    packed = gzip.compress(b"<html><a href=x>".ljust(1001))
    html = {"content-type": "text/html", "content-encoding": "gzip"}
    text = {"content-type": "text/plain"}
    pages = [
        Page(URL, 200, None, b"", b"", headers, body, "", "", "", 0.0, 0.0, 0.0, closed=False)
        for headers, body in ((html, packed), (text, b"x" * 2000))
    ]
    with pytest.raises(LargePage):
        Parser(Reading(), "weft", largest=1000).parse(pages[0], Kind.A)
    assert Parser(Reading(), "weft", largest=1001).parse(pages[0], Kind.A).links == [("x", Kind.A)]
    assert Parser(Reading(), "weft").parse(pages[0], Kind.A).links == [("x", Kind.A)]
    assert Parser(Reading(), "weft", largest=1000).parse(pages[1], Kind.A).reason is None


@pytest.mark.parametrize(
    ("coding", "reason"), [("gzip", Reason.EXPANSION), ("unknown", Reason.ENCODING), ("br", Reason.ENCODING)]
)
def test_coding__that_cannot_be_undone_is_the_pages_reason(coding: str, reason: Reason) -> None:
    """A content that expands beyond the limit, or is not what it says, is not read, not even a part of it."""
    body = gzip.compress(b"<a href=x>" * 10_000)
    parsed = parse(body, limit=1000, content_encoding=coding, content_type="text/html")
    assert (parsed.reason, parsed.links, parsed.type) == (reason, [], "text/html")


def test_header__robots_tags_are_obeyed() -> None:
    """For all robots and for ours, in HTML and in feeds."""
    for tag, follow in (("nofollow", False), ("weft: none", False), ("otherbot: nofollow", True)):
        assert parse(b"<html><a href=x>", x_robots_tag=tag).follow is follow
        assert parse(b"<rss><link>x</link></rss>", content_type="text/xml", x_robots_tag=tag).follow is follow


def test_feed__lists_its_items() -> None:
    """RSS, Atom and JSON, served under their own name or as XML."""
    rss = b"<?xml version='1.0'?><rss><channel><item><link>http://a/1</link></item></channel></rss>"
    for declared in ("application/rss+xml", "text/xml", "text/plain", ""):
        assert parse(rss, content_type=declared).links == [("http://a/1", Kind.FEED)]
    feed = b'{"items": [{"url": "http://a/1"}]}'
    assert parse(feed, content_type="application/feed+json").links == [("http://a/1", Kind.FEED)]


def test_css__is_read_where_it_is_a_part_of_a_page() -> None:
    """Style sheets lead on when requisites are collected, and are mere text when somebody links to one."""
    body = b"@import 'a.css'; x { background: url(b.png) }"
    assert parse(body, Kind.STYLE, content_type="text/css").links == [("a.css", Kind.STYLE), ("b.png", Kind.PART)]
    assert parse(body, Kind.A, content_type="text/css").links == []


def test_sitemap__is_read_as_one_whatever_its_type() -> None:
    """How a URL was found says what it is; maps of maps are told apart from pages."""
    index = b"<sitemapindex><sitemap><loc>m</loc></sitemap></sitemapindex>"
    assert parse(index, Kind.MAP, content_type="text/html").links == [("m", Kind.MAP)]
    assert parse(index, Kind.A, content_type="text/xml").links == []
    assert parse(b"http://a/1", Kind.MAP).links == [("http://a/1", Kind.SITEMAP)]


def test_text__has_a_charset_and_no_links() -> None:
    """So that it can be shown."""
    parsed = parse("Voilà.".encode("cp1252"), content_type="text/plain")
    assert (parsed.type, parsed.charset, parsed.links) == ("text/plain", "cp1252", [])


def test_other__is_only_named() -> None:
    """What no reader knows has a type and no more."""
    parsed = parse(b"%PDF-1.4", content_type="application/octet-stream")
    assert parsed == Parsed("application/pdf", "", "", "", URL, [], [], follow=True, reason=None)


def test_bombs__cost_little() -> None:
    """Megabytes of links, of nested quotes and of declarations are read in reasonable time."""
    for piece in (b"<a href=x>", b"<!--", b"<p title='", b"<meta charset="):
        check_linear(
            lambda size, piece=piece: piece * (size // len(piece)),  # type: ignore[misc]
            lambda body: parse(body, requisites=True, content_type="text/html"),
            size=1_000_000,
        )


TYPES = [
    "",
    "text/html",
    "text/xml",
    "text/plain",
    "text/css",
    "application/rss+xml",
    "image/png",
    "text/html; charset=utf-16",
]
CODINGS = ["", "gzip", "deflate", "br", "zstd", "gzip, br", "x"]


@given(
    st.one_of(st.binary(max_size=300), st.binary(max_size=200).map(gzip.compress)),
    st.sampled_from(TYPES),
    st.sampled_from(CODINGS),
    st.sampled_from([Kind.A, Kind.MAP, Kind.STYLE, Kind.FEED]),
)
def test_parse__never_raises(body: bytes, declared: str, coding: str, kind: Kind) -> None:
    """Any bytes under any type and coding, however they were found."""
    parsed = parse(body, kind, requisites=True, content_type=declared, content_encoding=coding)
    assert all(written for written, _ in parsed.links)
