"""Sitemaps and feeds: URLs are bounded, and those beyond the bound are counted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.corpora import answers, files
from tests.fuzz.target import Target, words

from weft.model import Kind, Page
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.parse.sitemap import _LONGEST, MOST_URLS, parse_sitemap

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def check(data: bytes) -> None:
    """All of them, and the first few."""
    listed = parse_sitemap(data)
    assert len(listed.pages) <= MOST_URLS
    assert len(listed.maps) <= MOST_URLS
    assert listed.left_out == 0
    assert len(listed.pages) + len(listed.maps) <= len(data)
    for url in (*listed.pages, *listed.maps):
        assert url == url.strip() != ""
        assert len(url) <= max(_LONGEST, len(data)) * 12 + 1_000
    few = parse_sitemap(data, most=2)
    assert len(few.pages) <= 2
    assert len(few.maps) <= 2
    if listed.whole and few.whole:
        told = len(few.pages) + len(few.maps) + few.left_out
        assert told <= len(listed.pages) + len(listed.maps)
        assert few.pages == listed.pages[:2] or few.left_out == 0
    page = Page("http://a.example/", 200, None, b"", b"", {}, data, "", "", "", 0, 0, 0, closed=False)
    for kind, declared in ((Kind.MAP, "text/xml"), (Kind.A, "application/rss+xml")):
        page.headers["content-type"] = declared
        parsed = Parser(Reading(), "weft").parse(page, kind)
        assert all(written for written, _ in parsed.links)


def real(data: Path) -> list[bytes]:
    """Files of the tests of others, and what looks like XML in web archives."""
    found = files(data / "sitemaps-crawlercommons", "*.xml") + files(data / "sitemaps-crawlercommons", "*.txt")
    found += files(data / "sitemaps-crawlercommons", "*.gz")
    return found + [
        body for body in answers(data / "warc-samples") if body[:200].lstrip().startswith((b"<?xml", b"<rss"))
    ]


def grammar() -> SearchStrategy[bytes]:
    """Elements of sitemaps and feeds, in any order."""
    from hypothesis import strategies as st

    some = st.sampled_from
    name = some(
        words(
            r"url loc sitemap sitemapindex urlset item link guid rss feed entry image:image image:loc textInput a "
            r"LOC"
        )
    )
    attribute = some(
        [
            *words(
                r"\x20href='http://a/x' \x20rel=self\x20href='y' \x20rel='alternate'\x20href='&#x20;z\x20' "
                r"\x20isPermaLink='false' \x20xml:base='http://b/c/' \x20xml:base='%' \x20xmlns:image='i' "
                r"\x20rdf:about='http://a/r' \x20x"
            ),
            b"",
            b"",
        ]
    )
    text = some(
        words(
            r"http://a/1 \x20https://a/2\x20 &amp; & &#1; <![CDATA[http://a/3]]> \n \xe9 \xc3\xa9 <!--\x20c\x20--> "
            r"\x00 x &x;"
        )
    )
    opened = st.tuples(st.just(b"<"), name, attribute, some([b">", b"/>", b""])).map(b"".join)
    closed = name.map(lambda each: b"</" + each + b">")
    whole = st.tuples(name, text).map(lambda two: b"<" + two[0] + b">" + two[1] + b"</" + two[0] + b">")
    start = some(
        [
            *words(
                r"<?xml\x20version='1.0'\x20encoding='UTF-8'?> <?xml\x20version='1.0'\x20encoding='latin1'?> "
                r"\xef\xbb\xbf <!DOCTYPE\x20a\x20[<!ENTITY\x20x\x20'http://a/e'>]> http://a/t\n "
                r"{\x22items\x22:\x20[{\x22url\x22:\x20\x22http://a/j\x22},\x20{}]} {"
            ),
            b"",
        ]
    )
    return st.tuples(start, st.lists(whole | opened | closed | text, max_size=25).map(b"".join)).map(b"".join)


TARGET = Target(
    check,
    own=(
        b"<?xml version='1.0'?><urlset><url><loc>http://a/1</loc></url><url><loc>http://a/2&b</loc></url><url>http://a/3</url></urlset>",
        b"<sitemapindex><sitemap><loc>http://a/s.xml</loc></sitemap></sitemapindex>",
        b"<rss><item><guid>http://a/g</guid></item><item><link>http://a/l</link></item><item rdf:about='http://a/r'/></rss>",
        b"<feed xml:base='http://b/'><entry><link rel=alternate href='c'/></entry></feed>",
        b'{"items": [{"url": "http://a/j"}]}',
        b"http://a/1\r\n\thttp://a/2 \n",
    ),
    real=real,
    words=words(
        r"<loc> </loc> <url> </url> <sitemap> <item> </item> <guid> <link\x20href=' xml:base=' http:// &amp; & "
        r"<![CDATA[ ]]> <!DOCTYPE\x20a\x20[ <!ENTITY\x20x\x20' &x; encoding='utf-16' \n {\x22items\x22:\x20[ "
        r"\x22url\x22:\x20"
    ),
    grammar=grammar,
)
