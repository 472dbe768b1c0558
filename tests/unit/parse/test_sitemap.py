"""Sitemaps, indexes and feeds, as they are and as they should be."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.costs import check_costs

from weft.model import Kind, Page
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.parse.sitemap import MOST_URLS, parse_sitemap


def urlset(*locations: str, head: str = "") -> bytes:
    """A sitemap."""
    return f"{head}<urlset>{''.join(f'<url><loc>{location}</loc></url>' for location in locations)}</urlset>".encode()


# --- real files ---


@pytest.mark.parametrize(
    ("name", "pages", "maps"),
    [
        ("sitemap.ns.xml", ["http://www.example.com/1", "http://www.example.com/2"], 0),
        ("sitemap.badns.xml", ["http://www.example.com/1", "http://www.example.com/2"], 0),
        ("sitemap.txt", ["http://www.domain.com/page1.html", "http://www.domain.com/page2.html"], 0),
        ("sitemap-with-bom.txt", ["http://www.domain.com/page1.html", "http://www.domain.com/page2.html"], 0),
        ("do-not-visit.txt", ["http://www.example.com/do-not-visit-here"], 0),
        (
            "atom.xml",
            [
                "http://example.org/",
                "http://example.org/2003/12/13/atom03",
                "http://example.org/2003/12/13/atom03.html",
            ],
            0,
        ),
        ("sitemap.index.xml", [], 15),
        ("sitemap.txt.gz", 5, 0),
        ("xmlSitemap.gz", 5, 0),
    ],
)
def test_real_files__list_what_they_list(shared_data: Path, name: str, pages: list[str] | int, maps: int) -> None:
    """The files that another crawler is tested with are read in full, as the sitemaps of a crawl."""
    body = (shared_data / "sitemaps-crawlercommons" / name).read_bytes()
    page = Page("http://a/", 200, None, b"", b"", {}, body, "", "", "", 0.0, 0.0, 0.0, closed=False)
    parsed = Parser(Reading(), "weft").parse(page, Kind.MAP)
    listed = [written for written, kind in parsed.links if kind == Kind.SITEMAP]
    assert (listed if isinstance(pages, list) else len(listed)) == pages
    named = [written for written, kind in parsed.links if kind == Kind.MAP]
    assert len(named) == maps
    assert all(written.startswith("https://example.com/sitemap.jss?portalCode=") for written in named)
    assert parsed.follow
    assert parsed.reason is None


# --- sitemaps ---


def test_sitemap__lists_pages_and_an_index_lists_maps() -> None:
    """What stands in <url> is a page, what stands in <sitemap> is another map."""
    assert parse_sitemap(urlset("http://a/1", "http://a/2")).pages == ["http://a/1", "http://a/2"]
    index = parse_sitemap(b"<sitemapindex><sitemap><loc>http://a/m.xml</loc></sitemap></sitemapindex>")
    assert index[:2] == ([], ["http://a/m.xml"])


@pytest.mark.parametrize(
    "body",
    [
        urlset("http://a/1", head="\n\n <?xml version='1.0'?>"),
        urlset("http://a/1", head="\ufeff<?xml version='1.0' encoding='utf-8'?>"),
        urlset("http://a/1", head="\ufeff\n<?xml version='1.0'?>"),
        urlset("http://a/1").decode().encode("utf-16"),
        urlset("<![CDATA[http://a/1]]>"),
        urlset("\n   http://a/1\t\n"),
        urlset("http://a/1").upper().replace(b"HTTP://A", b"http://a"),
        b"<s:urlset xmlns:s='x'><s:url><s:loc>http://a/1</s:loc></s:url></s:urlset>",
        b"<url><loc>http://a/1</loc></url>",
        b"<urlset><url>http://a/1</url></urlset>",
        urlset("http://a/1", "http://a/2")[:50],
        urlset("http://a/1") + b"</urlset>",
        urlset("http://a/1", head="<?xml version='1.0' encoding='nonsense'?>"),
        urlset("http://a/1") + b"\x00\x00",
    ],
)
def test_sitemap__is_read_forgivingly(body: bytes) -> None:
    """Blanks and marks before it, odd case and prefixes, a missing <loc>, a broken end: the page is found."""
    assert parse_sitemap(body).pages == ["http://a/1"]


def test_sitemap__ampersands_that_nobody_escaped_lose_nothing() -> None:
    """The commonest fault of sitemaps: the pages behind it count too, and the address is as it was meant."""
    broken = urlset("http://a/?x=1&y=2&amp;z=3&nbsp;", "http://a/&#50;", "http://a/3\x0b")
    assert parse_sitemap(broken).pages == ["http://a/?x=1&y=2&z=3&nbsp;", "http://a/2", "http://a/3"]


@pytest.mark.parametrize("charset", ["windows-1251", "shift_jis", "gb2312", "koi8-r", "utf-16"])
def test_sitemap__is_read_in_its_charset(charset: str) -> None:
    """Also in those that the XML parser does not know by itself."""
    body = f"<?xml version='1.0' encoding='{charset}'?><urlset><url><loc>http://a/Яж</loc></url></urlset>"
    assert parse_sitemap(body.encode(charset)).pages == ["http://a/Яж"]


def test_sitemap__pictures_and_films_are_no_pages() -> None:
    """The extensions for images and videos have locations too; other languages of a page are pages."""
    body = (
        b"<urlset xmlns:image='i' xmlns:xhtml='h'><url><loc>http://a/1</loc>"
        b"<image:image><image:loc>http://a/i.jpg</image:loc></image:image>"
        b"<video:video><video:player_loc>http://a/v</video:player_loc></video:video>"
        b"<xhtml:link rel='alternate' hreflang='de' href='http://a/de'/></url></urlset>"
    )
    assert parse_sitemap(body).pages == ["http://a/1", "http://a/de"]


def test_sitemap__is_bounded() -> None:
    """More than the protocol allows is not taken, in XML and in text."""
    many = [f"http://a/{number}" for number in range(MOST_URLS + 10)]
    assert parse_sitemap(urlset(*many)).pages == many[:MOST_URLS]
    assert parse_sitemap("\n".join(many).encode()).pages == many[:MOST_URLS]


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>"
        + b"".join(b"<!ENTITY a%d '%s'>" % (n, (b"&a%d;" % (n - 1) if n else b"&a;") * 10) for n in range(12))
        + b"]><urlset><url><loc>&a11;</loc></url></urlset>",
        b"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>&a;</loc></url></urlset>",
        b"<a>" * 200_000 + b"<loc>x</loc>" * 100_000,
        b"<loc>" * 500_000,
        b"&" * 2_000_000,
        b"<" * 2_000_000,
        b"<urlset>" + b"&" * 2_000_000,
    ],
    ids=["entities", "external-entity", "deep", "nested", "ampersands", "brackets", "ampersands-in-xml"],
)
def test_sitemap__no_bomb_costs_much(body: bytes) -> None:
    """Entities that expand without end, files of the machine, depth and repetition: neither time nor secrets."""
    check_costs(lambda: parse_sitemap(body), steps=30_000_000)
    listed = parse_sitemap(body)
    assert sum(map(len, listed.pages)) < 1_000_000
    assert not any("root:" in page for page in listed.pages)


# --- feeds and text ---


def test_rss__lists_its_items() -> None:
    """The channel and its items are pages; a logo and the feed's own address are not."""
    body = (
        b"<?xml version='1.0'?><rss xmlns:atom='x'><channel><link>http://a/</link>"
        b"<atom:link rel='self' href='http://a/feed'/><image><url>http://a/logo.png</url><link>http://a/</link></image>"
        b"<item><title>T &amp; t</title><link>http://a/1?x&amp;y</link></item>"
        b"<item><link><![CDATA[http://a/2]]></link></item></channel></rss>"
    )
    assert parse_sitemap(body).pages == ["http://a/", "http://a/1?x&y", "http://a/2"]


@pytest.mark.parametrize(
    ("items", "pages"),
    [
        ("<item><guid>http://a/1</guid></item><item><title>t</title><link>http://a/2</link></item>", ["1", "2"]),
        ("<item><guid isPermaLink='true'> http://a/1 </guid><title>t</title></item>", ["1"]),
        ("<item><guid isPermaLink='false'>http://a/1</guid></item>", []),
        ("<item><guid isPermaLink=' False '>http://a/1</guid></item>", []),
        ("<item><guid>tag:a,2004:1</guid></item><item><guid>1</guid></item>", []),
        ("<item><guid>http://a/1</guid><link>http://a/2</link></item>", ["2"]),
        ("<item><link>http://a/2</link><guid>http://a/1</guid></item><item><guid>http://a/3</guid></item>", ["2", "3"]),
        ("<item><link/><guid>HTTP://a/1</guid></item>", ["1"]),
        ("<item><guid>http://a/1</guid></item><item><title>none</title></item>", ["1"]),
        ("<item><guid>http://a/1</guid><title>it breaks off", ["1"]),
        ("<textInput><link>http://a/search</link></textInput>", []),
    ],
)
def test_rss__an_item_without_a_link_is_at_its_guid(items: str, pages: list[str]) -> None:
    """Unless the guid says that it is no permanent link, or is no URL; the link counts where there is one."""
    listed = parse_sitemap(f"<rss version='2.0'><channel>{items}</channel></rss>".encode()).pages
    assert [page.lower() for page in listed] == [f"http://a/{page}" for page in pages]


def test_rdf__lists_its_items() -> None:
    """RSS 1.0 has its items beside the channel; one without a link is about its page."""
    body = (
        b"<rdf:RDF xmlns:rdf='r' xmlns='http://purl.org/rss/1.0/'><channel rdf:about='http://a/feed'>"
        b"<link>http://a/</link><items><rdf:Seq><rdf:li rdf:resource='http://a/1'/></rdf:Seq></items></channel>"
        b"<item rdf:about='urn:1'><title>t</title><link>http://a/1</link></item>"
        b"<item rdf:about='http://a/2'><title>t</title></item><item rdf:about='urn:3'/></rdf:RDF>"
    )
    assert parse_sitemap(body).pages == ["http://a/", "http://a/1", "http://a/2"]


def test_atom__lists_the_pages_of_its_entries() -> None:
    """Alternates are the pages, in every spelling of the relation; the feed itself, media and replies are not."""
    links = {
        "1": "",
        "2": "rel='alternate'",
        "3": "rel='http://www.iana.org/assignments/relation/alternate'",
        "4": "rel=' Alternate '",
        "5": "rel='self'",
        "6": "rel='enclosure'",
        "7": "rel='replies'",
        "8": "rel='edit'",
    }
    entries = "".join(f"<entry><link {rel} href='http://a/{page}'/></entry>" for page, rel in links.items())
    listed = parse_sitemap(f"<feed xmlns='http://www.w3.org/2005/Atom'>{entries}</feed>".encode()).pages
    assert listed == [f"http://a/{page}" for page in "1234"]


def test_feed__relative_links_are_resolved_where_it_says_against_what() -> None:
    """An xml:base counts for its element and all within; without one the link is left as it is."""
    body = (
        b"<feed xml:base='http://a/x/'><entry><link href='1'/></entry>"
        b"<entry xml:base='y/'><link href='2'/><link xml:base='http://b/' href='/3'/><link href='http://c/4'/></entry>"
        b"<entry><link href='../5'/></entry><entry xml:base='mailto:'><link href='6'/></entry></feed>"
    )
    expected = ["http://a/x/1", "http://a/x/y/2", "http://b/3", "http://c/4", "http://a/5", "http://a/x/6"]
    assert parse_sitemap(body).pages == expected
    assert parse_sitemap(b"<feed><entry><link href='../5'/></entry></feed>").pages == ["../5"]


@pytest.mark.parametrize(
    ("body", "pages"),
    [
        (b'{"items": [{"url": "http://a/1"}, {"id": 2}, {"url": ""}]}', ["http://a/1"]),
        (b'{"items": {"url": 1}}', []),
        (b"{", []),
        (b'{"items": "\xff"}', []),
    ],
)
def test_json_feed__lists_its_items(body: bytes, pages: list[str]) -> None:
    """A feed in JSON is a feed; any other JSON lists nothing."""
    assert parse_sitemap(body).pages == pages


def test_text__lists_one_url_a_line() -> None:
    """Blanks around it do not matter, lines that are no URL are left out."""
    body = b"\xef\xbb\xbfhttp://a/1\r\n\r\n  https://a/2  \nnot a url\nftp://a/3\rhttp://a/4"
    assert parse_sitemap(body).pages == ["http://a/1", "https://a/2", "http://a/4"]


def test_gzip__of_a_gzip_is_undone_for_sitemaps() -> None:
    """A .gz file that was sent with Content-Encoding: gzip is packed twice."""
    body = gzip.compress(gzip.compress(urlset("http://a/1")))
    page = Page(
        "http://a/", 200, None, b"", b"", {"content-encoding": "gzip"}, body, "", "", "", 0.0, 0.0, 0.0, closed=False
    )
    assert Parser(Reading(), "weft").parse(page, Kind.MAP).links == [("http://a/1", Kind.SITEMAP)]


PIECES = b"""
<urlset> <url> <loc> </loc> http://a/ & &amp; <![CDATA[ ]]> <sitemap> \xff \x00 <?xml_version="1.0"_encoding=" "?>
utf-16 <!DOCTYPE <link_href=' '/> { "items":[ \xef\xbb\xbf <item> </item> <guid> </guid> <item_xml:base=" ">
"""
MARKUP = st.lists(st.sampled_from([b"\n", *(piece.replace(b"_", b" ") for piece in PIECES.split())]), max_size=20)


@given(st.one_of(MARKUP.map(b"".join), st.binary(max_size=100)))
def test_sitemap__never_raises(body: bytes) -> None:
    """Any bytes are a sitemap that lists something or nothing."""
    assert all(parse_sitemap(body).pages)


def test_feed__that_goes_on_behind_its_end_is_read_up_to_there() -> None:
    """Also where all of it is an address that stands for an item."""
    assert parse_sitemap(b"<guid>https://a/2</guid><url>&#1;</url>").pages == ["https://a/2"]
