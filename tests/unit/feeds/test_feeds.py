"""Feeds of all forms are read into one value, broken ones as far as they go."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.costs import check_linear

import weft.feeds.reading
from weft.feeds import Entry, Feed, read_feed

BASE = "http://www.a.example/news/"
AT = 1772445903.0  # 2 March 2026, 10:05:03 UTC
ONE = Entry("http://www.a.example/1.html?x=1&y=2", AT, "Rain & wind")
TWO = Entry("http://www.a.example/2.html", None, "Second")

# ruff: noqa: E501  feeds are as they are
RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
<title>News of A</title><link>http://www.a.example/</link>
<atom:link rel="hub" href="https://hub.example/"/><atom:link rel="self" href="http://www.a.example/feed.xml"/>
<item><title><![CDATA[Rain & wind]]></title><link>http://www.a.example/1.html?x=1&amp;y=2</link>
<description>&lt;a href="/elsewhere"&gt;more&lt;/a&gt;</description><pubDate>Mon, 02 Mar 2026 11:05:03 +0100</pubDate></item>
<!-- <item><link>http://www.a.example/hidden</link></item> -->
<item><title>Second</title><guid isPermaLink="true">http://www.a.example/2.html</guid><pubDate>soon</pubDate></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="es"><title>A</title><link rel="hub" href="https://hub.example/"/>
<entry><title type="html">Rain &amp;amp; wind</title><link rel="enclosure" href="/sound.mp3"/>
<link rel="alternate" type="text/html" href="/1.html?x=1&amp;y=2"/><id>tag:a.example,2026:1</id>
<updated>2026-03-05T00:00:00Z</updated><published>2026-03-02T10:05:03Z</published></entry>
<entry><title>Second</title><link href="../2.html"/><id>tag:a.example,2026:2</id></entry></feed>"""
RDF = """<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="x">
<items><rdf:Seq><rdf:li resource="http://www.a.example/1.html"/></rdf:Seq></items></channel>
<item rdf:about="1"><title>Rain &amp; wind</title><link>http://www.a.example/1.html?x=1&amp;y=2</link>
<dc:date>2026-03-02T11:05:03+01:00</dc:date></item><item rdf:about="2"><title>Second</title><link>/2.html</link></item></rdf:RDF>"""
NEWS = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
<url><loc>http://www.a.example/1.html?x=1&amp;y=2</loc><lastmod>2026-03-09</lastmod><news:news>
<news:publication><news:name>A</news:name></news:publication><news:publication_date>2026-03-02T10:05:03Z</news:publication_date>
<news:title>Rain &amp; wind</news:title></news:news></url><url><loc>http://www.a.example/old.html</loc></url></urlset>"""
JSON = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "A",
        "hubs": [{"type": "WebSub", "url": "https://hub.example/"}],
        "items": [
            {"id": "1", "url": "/1.html?x=1&y=2", "title": "Rain & wind", "date_published": "2026-03-02T10:05:03Z"},
            {"id": "http://www.a.example/2.html", "title": "Second"},
        ],
    }
)
HUB = "https://hub.example/"


@pytest.mark.parametrize(
    ("text", "form", "entries", "hub"),
    [
        (RSS, "rss", (ONE, TWO), HUB),
        (ATOM, "atom", (ONE, TWO), HUB),
        (RDF, "rss", (ONE, TWO), ""),
        (NEWS, "news", (ONE,), ""),
        (JSON, "json", (ONE, TWO), HUB),
    ],
    ids=["rss", "atom", "rdf", "news", "json"],
)
def test_feed__of_any_form_is_the_same_value(text: str, form: str, entries: tuple[Entry, ...], hub: str) -> None:
    """Address, time and title, whoever wrote it; a description, a comment and an enclosure announce nothing."""
    assert read_feed(text.encode(), BASE) == Feed(form, entries, hub)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [RSS, ATOM, RDF, NEWS, JSON], ids=["rss", "atom", "rdf", "news", "json"])
def test_feed__that_breaks_off_gives_what_came(text: str) -> None:
    """Cut behind the first entry, nothing of which is missing."""
    whole = read_feed(text.encode(), BASE)
    at = next(text.index(end) for end in ("</item>", "</entry>", "</url>", "},\n  {", '}, {"id": "http') if end in text)
    cut = read_feed(text[: at + 3].encode(), BASE)
    assert (cut.form, cut.entries[:1]) == (whole.form, (ONE,))


def test_feed__with_what_people_do_to_feeds() -> None:
    """A bare ampersand, no end of an item, blanks in an address, a prefix, and entries that are there twice."""
    body = b"""\xef\xbb\xbf  <rss><channel><item><title>Fish & chips</title><link>
        http://www.a.example/1.html?x=1&y=2 </link><item><link>http://www.a.example/1.html?x=1&y=2</link>
        <item><link>javascript:alert(1)</link><item><link>ftp://a.example/</link><item></channel>"""
    assert read_feed(body, BASE).entries == (ONE._replace(published=None, title="Fish & chips"),)


@pytest.mark.parametrize(
    ("charset", "declared", "http"),
    [
        ("latin-1", "ISO-8859-1", ""),
        ("latin-1", "utf-8", "iso-8859-1"),
        ("utf-16", "utf-16", ""),
        ("utf-8", "no-such", ""),
    ],
)
def test_feed__of_any_charset(charset: str, declared: str, http: str) -> None:
    """HTTP goes before what the file declares, a byte order mark before both; unknown names are passed over."""
    text = f'<?xml version="1.0" encoding="{declared}"?><rss><item><title>Mañana</title><link>/1</link></item></rss>'
    assert read_feed(text.encode(charset), BASE, http).entries[0].title == "Mañana"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><html><body><item><link>/x</link></item></body></html>",
        b"<urlset><url><loc>http://a.example/</loc></url></urlset>",
        b'{"items": [{"url": "http://a.example/"}]}',
        b"[1, 2]",
        b"\x00\xff\xfe",
    ],
    ids=["nothing", "html", "sitemap", "other json", "list", "bytes"],
)
def test_feed__that_is_none_says_so(body: bytes) -> None:
    """An error page, a sitemap without news and a JSON of something else announce nothing."""
    assert read_feed(body, BASE) == Feed("none", (), "")


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            "<item> </item> <entry| <link> </link> <![CDATA[ ]]> <!-- --> &amp; &#x0; <rss> <feed> http://[ \x00 { "
            '"items":[ } <pubDate>99 <urlset><url> é'.replace("|", " ").split(" ")
        ),
        max_size=40,
    ).map("".join)
)
def test_feed__never_fails(text: str) -> None:
    """Whatever comes, entries have addresses of the web and no feed ends the reader."""
    feed = read_feed(text.encode(), BASE)
    assert all(entry.url.startswith("http") for entry in feed.entries)


@pytest.mark.parametrize("piece", ["<item>", "<!--", "<![CDATA[", "<link ", '<link href="', "&", "<item><title>"])
def test_feed__takes_time_by_its_length_alone(piece: str) -> None:
    """However its bytes are meant."""
    check_linear(lambda n: b"<rss>" + piece.encode() * n, lambda body: read_feed(body, BASE), size=20_000)


def test_feed__has_so_many_entries_and_no_more() -> None:
    """A site cannot fill the memory of who reads its feed."""
    body = "<rss>" + "".join(f"<item><link>/{at}</link></item>" for at in range(3000))
    assert len(read_feed(body.encode(), BASE).entries) == weft.feeds.reading.MOST
