"""Links, title, base and what a page asks of robots, read out of HTML as a browser would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.costs import check_linear

from weft.model import Kind, Parsed
from weft.parse.directives import NOTHING_ASKED, Directives
from weft.parse.html import parse_html, srcset

URL = "http://site.test/dir/page.html"


def read(
    html: str | bytes, *, charset: str = "utf-8", requisites: bool = False, header: Directives = NOTHING_ASKED
) -> Parsed:
    """A page as the parser gets it."""
    body = html if isinstance(html, bytes) else html.encode(charset)
    return parse_html(body, charset, URL, "weft", requisites=requisites, header=header)


def links(html: str | bytes, kind: Kind | None = None, **options: object) -> list[str]:
    """The links as written, of one kind or of all."""
    parsed = read(html, **options)  # type: ignore[arg-type]
    return [written for written, found in parsed.links if kind is None or found == kind]


# --- links to pages ---


def test_links__of_every_element_that_leads_to_a_page() -> None:
    """Anchors, areas, frames, iframes, links and refreshes are found, each with its kind."""
    parsed = read(
        '<link rel=next href=l><meta http-equiv=refresh content="1;url=r"><a href=a>x</a>'
        "<map><area href=m></map><iframe src=i></iframe>"
    )
    assert sorted(parsed.links, key=lambda link: link[1]) == [
        ("a", Kind.A),
        ("m", Kind.AREA),
        ("i", Kind.IFRAME),
        ("l", Kind.LINK),
        ("r", Kind.REFRESH),
    ]


def test_links__of_one_element_keep_their_order() -> None:
    """Breadth-first follows links as they stand on the page."""
    assert links("<a href=3></a><p><a href=1></a></p><div><a href=2></a></div>", Kind.A) == ["3", "1", "2"]


def test_links__are_as_written_but_for_their_entities() -> None:
    """References are resolved; blanks, breaks and case are left to whoever resolves the link."""
    assert links('<a href=" /A?x=1&amp;y=2&copy=3&#x41; \n">') == [" /A?x=1&y=2&copy=3A \n"]


def test_links__without_an_address_are_none() -> None:
    """An anchor, an empty link and a link attribute without a value lead nowhere."""
    assert links("<a name=x></a><a href=''></a><a href></a><iframe></iframe><area><link rel=next>") == []


def test_links__in_frames_where_the_page_is_a_frameset() -> None:
    """Frames count in a frameset; in a body browsers ignore them."""
    assert links("<frameset><frame src=1><frameset><frame src=2></frameset></frameset>") == ["1", "2"]
    assert links("<frameset><frame src=1></frameset>", Kind.FRAME) == ["1"]
    assert links("<body><frame src=1><a href=2>") == ["2"]


def test_links__in_noscript_count_and_in_templates_do_not() -> None:
    """We run no scripts: what is written for those who do not is for us, what scripts would fill in is not."""
    assert links("<noscript><a href=1></a></noscript><template><a href=2></a></template>") == ["1"]


def test_links__in_drawings_count_in_both_spellings() -> None:
    """SVG links by href, and did by xlink:href."""
    assert links("<svg><a href=1></a><a xlink:href=2></a></svg>") == ["1", "2"]


def test_links__in_text_comments_and_scripts_are_none() -> None:
    """What only looks like markup is not."""
    assert (
        links("<!-- <a href=1> --><script>'<a href=2>'</script><textarea><a href=3></textarea><title><a href=4>") == []
    )


@pytest.mark.parametrize(
    ("relation", "kind"),
    [
        ("canonical", Kind.LINK),
        ("alternate", Kind.LINK),
        ("Next Bookmark", Kind.LINK),
        ("prev", Kind.LINK),
        ("stylesheet", Kind.STYLE),
        ("alternate stylesheet", Kind.STYLE),
        ("shortcut icon", Kind.PART),
        ("apple-touch-icon", Kind.PART),
        ("manifest", Kind.PART),
        ("dns-prefetch", None),
        ("preconnect", None),
        ("pingback", None),
        ("", None),
    ],
)
def test_link__is_a_page_a_part_or_neither_by_its_relation(relation: str, kind: Kind | None) -> None:
    """Only relations to pages are followed, only parts are requisites, and the rest is for browsers."""
    html = f'<link rel="{relation}" href=x>'
    expected = [] if kind is None else [("x", kind)]
    assert read(html, requisites=True).links == expected
    assert read(html).links == (expected if kind is Kind.LINK else [])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=foo", ["foo"]),
        ("0;URL='foo bar'", ["foo bar"]),
        ('0;url="foo"bar', ["foo"]),
        ("0;url='foo", ["foo"]),
        ("0;foo", ["foo"]),
        ("0 , url = foo", ["foo"]),
        ("5 url=foo", ["foo"]),
        (".5;url=foo", ["foo"]),
        ("1.5.7;url=foo", ["foo"]),
        (" \n5 ;\t\n url\t=\n foo#x ", ["foo#x"]),
        ("0;url=foo;bar", ["foo;bar"]),
        ("0;url=/?a='b'", ["/?a='b'"]),
        ("0;url=foo>bar", ["foo>bar"]),
        ("0;url:foo", ["url:foo"]),
        ("0;urlfoo", ["urlfoo"]),
        ("5", []),
        ("5;", []),
        ("5;url=", []),
        ("5;url=''", []),
        ("url=foo", []),
        ("; url=foo", []),
        ("-1;url=foo", []),
        ("5x;url=foo", []),
        ("", []),
    ],
)
def test_refresh__is_read_as_the_standard_says(content: str, expected: list[str]) -> None:
    """The spellings that browsers follow are links; a refresh of the page itself is none."""
    html = f'<meta http-equiv="Refresh" content="{content.replace(chr(34), "&quot;")}">'
    assert links(html, Kind.REFRESH) == expected


def test_refresh__costs_linear_time() -> None:
    """No content of the attribute makes the pattern back up."""
    for before, piece in (("0;url", " "), ("", "0"), ("0;", "url="), ("", " ")):
        check_linear(
            lambda size, before=before, piece=piece: before + piece * size,  # type: ignore[misc]
            lambda content: read(f'<meta http-equiv=refresh content="{content}">'),
            size=200_000,
        )


# --- base, title, language ---


@pytest.mark.parametrize(
    ("html", "base"),
    [
        ("<a href=x>", URL),
        ("<base href=http://other.test/x/y>", "http://other.test/x/y"),
        ("<base href=/x/>", "http://site.test/x/"),
        ("<base href=../>", "http://site.test/"),
        ("<base href=//other.test>", "http://other.test/"),
        ("<base href=''>", URL),
        ("<base target=_top><base href=/1/><base href=/2/>", "http://site.test/1/"),
        ("<body><p><base href=/late/>", "http://site.test/late/"),
        ("<base href='http://[bad/'><base href=/2/>", URL),
        ("<base href='data:text/html,x'>", URL),
        ("<base href='javascript:0'>", URL),
    ],
)
def test_base__is_where_links_are_relative_to(html: str, base: str) -> None:
    """The first base with an address counts, wherever it stands, resolved against the page; a useless one does not."""
    assert read(html).base == base


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> A\n &amp;  b </title>", "A & b"),
        ("<title></title><title>second</title>", "second"),
        ("<p>stray<title>in the body</title>", "in the body"),
        ("<svg><title>drawing</title></svg>", ""),
        ("<svg><title text=attribute>drawing</title></svg><title text=attribute>page</title>", "page"),
        ("<svg><g><title>drawing</title></g></svg><title>page</title>", "page"),
        ("<title><b>bold</b></title>", "<b>bold</b>"),
        ("<title>" + "x" * 5000 + "</title>", "x" * 1000),
        ("no title", ""),
    ],
)
def test_title__is_the_pages_own(html: str, title: str) -> None:
    """The first title that says something and is not a drawing's, on one line, of bounded length."""
    assert read(html).title == title


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ("<html lang='PT-br '>", "pt-br"),
        ("<html xml:lang=fr>", "fr"),
        ("<html lang=de xml:lang=fr>", "de"),
        ("<p lang=en>", ""),
        ("<html lang='" + "x" * 500 + "'>", "x" * 35),
    ],
)
def test_language__is_as_declared(html: str, language: str) -> None:
    """The language of the root element, in lower case, of bounded length."""
    assert read(html).language == language


# --- what is asked of robots ---


@pytest.mark.parametrize(
    ("html", "follow"),
    [
        ("<meta name=robots content=nofollow>", False),
        ("<meta name=ROBOTS content='NOINDEX,NOFOLLOW'>", False),
        ("<meta name=' robots ' content='none'>", False),
        ("<meta name=weft content=nofollow>", False),
        ("<meta name=Weft content=nofollow>", False),
        ("<meta name=otherbot content=nofollow>", True),
        ("<meta name=weft2 content=nofollow>", True),
        ("<meta name=robots content='noindex, noarchive'>", True),
        ("<meta name=robots content='follow'>", True),
        ("<meta name=robots>", True),
        ("<meta name=robots content=follow><meta name=weft content=nofollow>", False),
        ("<meta name=robots content=nofollow><meta name=weft content=follow>", False),
        ("stray words <meta name=robots content=nofollow>", False),
    ],
)
def test_meta_robots__is_obeyed_for_all_and_for_us(html: str, follow: bool) -> None:
    """A no for all robots or for ours is a no, wherever the tag ended up."""
    assert read(html + "<a href=x>").follow is follow


def test_meta_robots__adds_to_what_the_header_asked() -> None:
    """A no in the header stays one."""
    assert not read("<meta name=robots content=follow>", header=Directives(("nofollow",))).follow


@pytest.mark.parametrize(
    ("html", "robots"),
    [
        ("<a href=x>", ""),
        ("<meta name=robots content='index, follow'>", ""),
        ("<meta name=robots content='noarchive, nosnippet'>", "noarchive,nosnippet"),
        ("<meta name=robots content=noindex><meta name=weft content=nofollow>", "nofollow,noindex"),
        ("<meta name=otherbot content=noindex>", ""),
    ],
)
def test_meta_robots__is_written_down(html: str, robots: str) -> None:
    """Whether it is obeyed or not."""
    assert read(html).robots == robots


@pytest.mark.parametrize(
    ("html", "canonical"),
    [
        ("<link rel=canonical href=/b?a=1#top>", "http://site.test/b?a=1"),
        ("<link rel='alternate Canonical' href='//EXAMPLE.org:80/c'>", "http://example.org/c"),
        ("<base href=/deep/er/><link rel=canonical href=' x '>", "http://site.test/deep/er/x"),
        ("<link rel=canonical href=x><base href=/deep/er/>", "http://site.test/deep/er/x"),
        ("<link rel=canonical href=first><link rel=canonical href=second>", "http://site.test/dir/first"),
        ("<link rel=canonical><link rel=canonical href=second>", "http://site.test/dir/second"),
        ("<link rel=next href=x><a rel=canonical href=y>", ""),
        ("<link rel=canonical href='mailto:x'>", ""),
        (f"<link rel=canonical href={'x' * 2000}>", ""),
    ],
)
def test_canonical__is_resolved(html: str, canonical: str) -> None:
    """The first that names one counts, against the base of the page wherever that stands."""
    assert read(html).canonical == canonical


def test_labels__stand_beside_the_links_where_they_are_asked_for() -> None:
    """Text and relations of each link, then of those that ask not to be followed; parts of pages have none."""
    html = (
        '<link rel="Next  prefetch" href=l><meta http-equiv=refresh content="1;url=r"><a href=1 rel=nofollow>no</a>'
        "<a href=2 rel=ME>one <b>two</b></a><img src=i><a href=3></a><area href=4 rel=nofollow>"
    )
    parsed = parse_html(html.encode(), "utf-8", URL, "weft", requisites=True, header=NOTHING_ASKED, labels=True)
    assert [written for written, _ in [*parsed.links, *parsed.nofollow]] == ["l", "r", "2", "i", "3", "1", "4"]
    assert parsed.labels == [
        ("", "next prefetch"),
        ("", ""),
        ("one two", "me"),
        ("", ""),
        ("", ""),
        ("no", "nofollow"),
        ("", "nofollow"),
    ]
    assert read(html, requisites=True).labels == []
    assert [len(text) for text, _ in _labels("<a href=x>" + 1000 * "x")] == [500]


def _labels(html: str) -> list[tuple[str, str]]:
    return parse_html(html.encode(), "utf-8", URL, "weft", requisites=False, header=NOTHING_ASKED, labels=True).labels


def test_nofollow__on_a_link_sets_it_apart() -> None:
    """Links that ask not to be followed are kept in a list of their own, also in the charset of the page."""
    parsed = read('<a href=1 rel="external NoFollow"></a><a href=2 rel=nofollower></a><area href=3 rel=nofollow>')
    assert parsed.links == [("2", Kind.A)]
    assert parsed.nofollow == [("1", Kind.A), ("3", Kind.AREA)]
    assert read('<link rel="next nofollow" href=x>').nofollow == [("x", Kind.LINK)]
    assert read('<a rel=nofollow href="?q=é">', charset="cp1252").nofollow == [("?q=%E9", Kind.A)]


# --- requisites ---


REQUISITES = """
<link rel=stylesheet href=style.css><link rel=icon href=icon.png>
<link rel=preload imagesrcset="pre1 1x, pre2 2x" href=pre>
<style>@import "import.css"; body { background: url(page.png) }</style><script src=script.js></script>
<body background=back.gif><img src=img.jpg data-src=lazy.jpg srcset="small.jpg 1x, large.jpg 2x">
<picture><source srcset="wide.webp 800w"><img src=fallback.jpg></picture>
<p style="background: url('attribute.png')"><input type=image src=button.png>
<table background=table.gif><td background=cell.gif></table>
<video src=film.mp4 poster=poster.jpg><source src=film.webm><track src=film.vtt></video><audio src=sound.mp3></audio>
<embed src=embedded.swf><object data=object.pdf></object>
<svg><image href=drawn.png /><image xlink:href=drawn2.png />
<use href="sprite.svg#a" /><use xlink:href="sprite2.svg#b" /></svg>
<img src="data:image/gif;base64,AAAA" srcset="data:,x 2x"><img src="DATA:,x"><a href=page.html></a>
"""


def test_requisites__are_everything_that_a_browser_would_load() -> None:
    """Images, style sheets, scripts, media and what they refer to, each with its kind; nothing that is written out."""
    found = {kind: sorted(links(REQUISITES, kind, requisites=True)) for kind in Kind if kind >= Kind.IMAGE}
    assert found == {
        Kind.IMAGE: sorted(
            [
                "img.jpg",
                "lazy.jpg",
                "small.jpg",
                "large.jpg",
                "wide.webp",
                "fallback.jpg",
                "button.png",
                "back.gif",
                "table.gif",
                "cell.gif",
                "poster.jpg",
                "drawn.png",
                "drawn2.png",
                "sprite.svg#a",
                "sprite2.svg#b",
                "pre1",
                "pre2",
            ]
        ),
        Kind.STYLE: ["import.css", "style.css"],
        Kind.SCRIPT: ["script.js"],
        Kind.PART: sorted(
            [
                "icon.png",
                "pre",
                "page.png",
                "attribute.png",
                "film.mp4",
                "film.webm",
                "film.vtt",
                "sound.mp3",
                "embedded.swf",
                "object.pdf",
            ]
        ),
    }


def test_requisites__in_style_attributes_of_any_element() -> None:
    """Also of those that are asked for something else, and do not have it."""
    html = "<title style='a:url(1)'>T</title><base style='a:url(2)'><svg><title style='a:url(3)'>D</title></svg>"
    parsed = read(f"{html}<base href=/x/>", requisites=True)
    assert [written for written, _ in parsed.links] == ["1", "2", "3"]
    assert (parsed.title, parsed.base) == ("T", "http://site.test/x/")


def test_requisites__are_left_out_unless_asked_for() -> None:
    """Without them a page leads to pages only."""
    assert read(REQUISITES).links == [("page.html", Kind.A)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.jpg", ["a.jpg"]),
        ("a.jpg, b.jpg", ["a.jpg", "b.jpg"]),
        ("a.jpg 1x,b.jpg 2x", ["a.jpg", "b.jpg"]),
        (" , a.jpg 100w 50h ,, b.jpg", ["a.jpg", "b.jpg"]),
        ("a,b.jpg 1x", ["a,b.jpg"]),
        ("a.jpg,,, b.jpg", ["a.jpg", "b.jpg"]),
        ("a.jpg\t1x,\nb.jpg\r2x,\x0cc.jpg", ["a.jpg", "b.jpg", "c.jpg"]),
        ("a.jpg (x, y) 1x, b.jpg", ["a.jpg", "b.jpg"]),
        ("a.jpg (x, y, b.jpg", ["a.jpg"]),
        ("", []),
        (" , ,", []),
    ],
)
def test_srcset__is_split_as_the_standard_says(text: str, expected: list[str]) -> None:
    """An address runs to the next blank, a descriptor to a comma outside brackets."""
    assert srcset(text) == expected


def test_srcset__costs_linear_time() -> None:
    """However many candidates there are, and however long they are."""
    assert len(srcset("a 1x," * 200_000)) == 200_000
    assert srcset("(" * 1_000_000) == ["(" * 1_000_000]
    assert srcset("a " + "(" * 1_000_000) == ["a"]
    check_linear(lambda size: "a 1x," * size, srcset, size=100_000)
    check_linear(lambda size: "(" * size, srcset, size=500_000)
    check_linear(lambda size: "a " + "(" * size, srcset, size=500_000)


# --- charsets ---


@pytest.mark.parametrize(
    ("charset", "expected"),
    [
        ("utf-8", "/é?q=é#é"),
        ("cp1252", "/é?q=%E9#é"),
        ("cp1251", "/é?q=%26%23233%3B#é"),
        ("cp932", "/é?q=%26%23233%3B#é"),
        ("gb18030", "/é?q=%A8%A6#é"),
        ("utf-16-le", "/é?q=é#é"),
    ],
)
def test_query__is_sent_in_the_charset_of_the_page(charset: str, expected: str) -> None:
    """As browsers do: the query alone, but for pages in a Unicode charset; what the charset lacks as a reference."""
    body = '<a href="/&eacute;?q=&eacute;#&eacute;">'.encode(charset)
    assert links(body, charset=charset) == [expected]


def test_query__keeps_what_is_ascii() -> None:
    """Triplets, plus signs and other parameters are not touched; a question mark behind a hash is no query."""
    assert links('<a href="?a=%20+b&c=é">', charset="cp1252") == ["?a=%20+b&c=%E9"]
    assert links('<a href="x#y?é">', charset="cp1252") == ["x#y?é"]


def test_charset__decides_what_the_bytes_mean() -> None:
    """A title in Cyrillic, Japanese and UTF-16 comes out as it went in; bytes that mean nothing are replaced."""
    for title, charset in (("Съешь же", "cp1251"), ("いろは", "cp932"), ("日本", "utf-16-be")):
        assert read(f"<title>{title}</title>", charset=charset).title == title
    assert read(b"<title>\xff\xfe</title>").title == "\ufffd\ufffd"


# --- nothing ends the crawl ---


PIECES = b"""
< > </ a href = " ' <a_href= <base_href= <meta_ http-equiv=refresh_ content= 0;url= <title> <svg> <style>@import_ url(
<img_srcset= <base_style= <svg><title_style=
<frameset> <frame_src= <link_rel=stylesheet_href= \x00 \xff \xe9 &#xD800; &#0; <!-- --> ]]> <template> ? #
"""
MARKUP = st.lists(st.sampled_from([piece.replace(b"_", b" ") for piece in PIECES.split()]), max_size=30).map(b"".join)
CHARSETS = st.sampled_from(["utf-8", "cp1252", "cp932", "utf-16-le", "iso2022_jp"])


@given(st.one_of(MARKUP, st.binary(max_size=200)), CHARSETS, st.booleans())
def test_parse_html__never_raises(body: bytes, charset: str, requisites: bool) -> None:
    """Any bytes are a page, with links that are not empty and text that can be written down."""
    parsed = parse_html(body, charset, URL, "weft", requisites=requisites, header=NOTHING_ASKED)
    assert all(written for written, _ in [*parsed.links, *parsed.nofollow])
    "".join([parsed.title, parsed.language, parsed.base, *(written for written, _ in parsed.links)]).encode()
