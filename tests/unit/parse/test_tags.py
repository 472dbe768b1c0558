"""The tags of a page, against what the standard says and against a parser that builds the whole tree."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser
from tests.costs import check_linear
from tests.unit.parse.test_html_corpora import samples

from weft.parse.names import ATTRIBUTES, ELEMENTS
from weft.parse.tags import read_tags, resolved

Found = set[tuple[str, str, str]]


def tags_of(page: bytes, *, parts: bool = False, texts: bool = False) -> list[tuple[str, dict[str, str]]]:
    """All tags in one form, those of plain links too."""
    return [
        ("a", {"href": element}) if attributes is None else (element, attributes)
        for element, attributes in read_tags(page, parts=parts, texts=texts)
    ]


def hrefs(page: str | bytes) -> list[str]:
    """The links of the anchors."""
    body = page.encode() if isinstance(page, str) else page
    return [attributes["href"] for element, attributes in tags_of(body) if element == "a" and "href" in attributes]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<a href=1>", ["1"]),
        ("<A\nHREF\t=\r\f'1'>", ["1"]),
        ('<a/href="1"/>', ["1"]),
        ("<a href=1/>", ["1/"]),
        ("<a href=1 href=2 HREF=3>", ["1"]),
        ("<a href = >", [""]),
        ("<a href>", [""]),
        ("<a =href=1 href=2>", ["2"]),
        ("<a class='x>y' href=1>", ["1"]),
        ('<a title="<a href=0>" href=1>', ["1"]),
        ("<a href='a\"b'>", ['a"b']),
        ("<ab href=1><a-b href=2><a", []),
        ("<a href=1", []),
        ("<a href='1>", []),
        ("<a href=1 ", []),
        ("< a href=1></a href=2><a href=3>", ["3"]),
        ("<a href=\0>", ["\ufffd"]),
        ("<a href='x\r\ny\rz'>", ["x\ny\nz"]),
        ("<a\0 href=1>", []),
        (b"<a href=\xc3\xa9\xff>", ["é\ufffd"]),
        (b"\xef\xbb\xbf<a href=1>", ["1"]),
    ],
)
def test_tag__is_read_as_the_standard_says(page: str | bytes, expected: list[str]) -> None:
    """Names in any case, values in quotes or not, of equal attributes the first; a tag that is cut off is none."""
    assert hrefs(page) == expected


@pytest.mark.parametrize(
    "around",
    [
        "<!--{}-->",
        "<!-- > --{} --!>",
        "<!{}",
        "<?{}",
        "</ {}",
        "<script>{}</script>",
        "<script><!-- {} --></script>",
        "<script><!--<script></script>{}--></script>",
        "<STYLE>{}</Style >",
        "<title>{}</title/>",
        "<textarea></text{}</textarea>",
        "<iframe>{}</iframe>",
        "<xmp></xm></xmpp>{}</xmp>",
        "<noframes>{}</noframes>",
        "<noembed>{}</noembed>",
        "<template><template></template>{}</template>",
        "<svg><![CDATA[{}]]></svg>",
        "<math><![CDATA[]]{}]]></math>",
        "<p title='{}'>",
        "<plaintext>{}",
    ],
)
def test_link__in_what_is_no_markup_is_none(around: str) -> None:
    """And one behind it is a link, where anything can come behind it."""
    page = around.format("<a href=0>") + "<a href=1>"
    assert hrefs(page) == ([] if "plaintext" in around else ["1"])


@pytest.mark.parametrize(
    "before",
    [
        "<!-->",
        "<!--->",
        "<!---->",
        "<!--a--!>",
        "<!-- -- > -->",
        "<![CDATA[>",
        "<!doctype html '>",
        "</>",
        "<>",
        "<3",
        "<script/></script>",
        "<script><!--></script>",
        "<script><!--<script></script></script>",
        "<svg><script></svg>",
        "<svg><style>",
        "<svg><title>",
        "<svg><textarea>",
        "<svg/><title></title>",
        "<svg><p><title></title>",
        "<svg><foreignObject><title></title>",
        "<svg><desc><svg><textarea></svg></desc><iframe>",
        "<math><mi><style></style>",
        "<template></template></template>",
        "<noscript>",
        "<table>",
        "<select>",
        "\0",
    ],
)
def test_link__behind_anything_that_ends_is_found(before: str) -> None:
    """Comments that end at once, drawings with titles, scripts that hold scripts."""
    assert hrefs(before + "<a href=1>") == ["1"]


@pytest.mark.parametrize("attribute", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "&amp;&lt;&gt;&quot;&apos;&nbsp;",
        "&copy&copy;&copy=&copyx&copy ",
        "&notit;&notin;&not;&not",
        "&amp;amp;&ampamp;&#38;#38;",
        "&#65;&#65&#x41;&#X41 &#0065;&#x00000041;",
        "&#0;&#xD800;&#x110000;&#99999999999;&#x80;&#150;&#x81;&#13;",
        "&;&#;&#x;&x;&#a;& &&",
        "&CounterClockwiseContourIntegral;&acE;&fjlig;",
    ],
)
def test_references__mean_what_a_browser_takes_them_for(text: str, attribute: bool) -> None:
    """With and without semicolons, in and out of attributes, numbers that are no characters."""
    markup = f'<title x="{text}">{text}</title>'.replace('&quot;"', "&quot;")
    title = LexborHTMLParser(markup).css_first("title")
    assert title is not None
    expected = title.attributes["x"] if attribute else title.text()
    assert resolved(text, attribute=attribute) == expected


def test_names__can_be_told_apart() -> None:
    """Every element and attribute has a number that fits in its place, and a name that fits in two words."""
    for names in (ELEMENTS, ATTRIBUTES):
        assert len(set(names)) == len(names) < 256
        assert all(len(name) <= 16 for name in names)
    assert len(ATTRIBUTES) < 63, "they are bits of a word"


# --- against a tree ---

PAIRS = [("a", "href"), ("img", "src"), ("base", "href"), ("iframe", "src"), ("area", "href"), ("link", "href")]
PAIRS += [("meta", "content"), ("meta", "name"), ("script", "src"), ("input", "src"), ("td", "background")]
PLAIN = """
<a_href=%d> </a> <A_HREF="%d"_href=x> <a\thref='%d'/> <img_src=%d> <base_href=%d> <iframe_src=%d> </iframe> <script>
</script> <!-- --> --!> <!--> <title> </title> <textarea> </textarea> <style> </style> <p> </p> <div> text " ' > < = /
&amp; <xmp> </xmp> <noscript> <b> <br> </br> <?x </_x <!doctype_html> <area_href="%d&copy;%d"_alt> <a_href="%d - ! \0
<link_rel=next_href=%d> <meta_name=x_content="%d"> <li> <noembed> </noembed> <script_src=%d> <table>
"""
DRAWN = """
<![CDATA[ ]]> <svg> </svg> <svg/> <math> </math> <desc> </desc> <foreignObject> </foreignObject> <mi> </mi> <g> </g>
<template> </template> </noscript>
"""


def ours(page: bytes) -> Found:
    """What we find."""
    tags = tags_of(page, parts=True)
    return {
        (each, name, text) for each, values in tags for name, text in values.items() if text and (each, name) in PAIRS
    }


def theirs(page: bytes) -> Found:
    """What is in the tree."""
    tree = LexborHTMLParser(page)
    return {
        (element, name, text)
        for element, name in PAIRS
        for node in tree.tags(element)
        if (text := node.attributes.get(name))
    }


def documents(pieces: str, count: int, seed: int) -> list[bytes]:
    """Pages put together out of pieces, each value with a number of its own."""
    chance = random.Random(seed)
    forms = [piece.replace("_", " ") for piece in pieces.split()]
    made = []
    for _ in range(count):
        page = "".join(chance.choices(forms, k=chance.randint(2, 14)))
        parts = page.split("%d")
        made.append("".join(f"{part}{number}" for number, part in enumerate(parts)).encode())
    return made


def test_pages__at_random_have_the_tags_of_their_trees() -> None:
    """Whatever stands in whatever order."""
    for page in documents(PLAIN, 4000, 1):
        assert ours(page) == theirs(page), page


def test_pages__at_random_with_drawings_have_them_with_rare_exceptions() -> None:
    """Which drawing an end tag ends that belongs to neither, only a tree can tell."""
    pages = documents(PLAIN + DRAWN, 10_000, 2)
    assert sum(ours(page) != theirs(page) for page in pages) <= 10


def test_archives__have_the_tags_of_their_trees(shared_data: Path) -> None:
    """On hundreds of real pages all tags of interest are the tree's, and no others."""
    pages = samples(shared_data / "warc-samples")
    found = 0
    for page in pages:
        body = page.body.decode("utf-8", "replace").encode()
        assert ours(body) == theirs(body), page.url
        found += len(ours(body))
    assert found > 40_000


# --- nothing takes long ---


@pytest.mark.parametrize(
    "piece",
    [
        b"<div>",
        b"<a href=x>",
        b"<b x=1>",
        b"<svg>",
        b"<svg><style>",
        b"<template>",
        b"<script><!--",
        b"<!--",
        b"<![CDATA[",
        b"<svg><![CDATA[",
        b"</",
        b"</<",
        b"<script></<",
        b"<title></titl",
        b"<",
        b"<a ",
        b" a=",
        b"<a a='",
        b"<a &=&",
        b"<title>&",
        b"--!>",
        b"\0",
    ],
)
def test_pages__take_time_linear_in_their_length(piece: bytes) -> None:
    """Whatever is repeated, in one tag or in none."""
    for before in (b"", b"<script>", b"<a "):
        check_linear(
            lambda size, before=before: before + piece * (size // len(piece)),  # type: ignore[misc]
            lambda page: read_tags(page, parts=True, texts=True),
            size=500_000,
        )


@given(st.binary(max_size=300), st.booleans(), st.booleans())
def test_tags__of_any_bytes_are_text(page: bytes, parts: bool, texts: bool) -> None:
    """Nothing is read beyond the page, and all of it can be written down."""
    for element, attributes in tags_of(page, parts=parts, texts=texts):
        assert element in ELEMENTS
        for name, text in attributes.items():
            assert name in ATTRIBUTES
            assert len(text.encode()) <= 3 * len(page) + 8


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<a href=x>one</a> two", ["one"]),
        ("before <a href=x> one\n\t <b>t</b>wo </a>", ["one two"]),
        ("<p><a href=x>&lt;1&gt; caf&eacute; é</a>", ["<1> café é"]),
        ("<a href=x>1 < 2</a>", ["1 < 2"]),
        ("<a href=x>one<a href=y>two</a>three", ["one", "two"]),
        ("<a href=x>o<!-- no -->n<script>no</script>e<style>no</style><?no?></a>", ["one"]),
        ("<a href=x><img src=i>one<template>no<a href=y>no</a></template></a>", ["one"]),
        ("<a href=x></a><a href=y> </a><a href=z>", [None, "", None]),
        ("<a href=x>to the end", ["to the end"]),
        ("<a name=here>no link</a><a href=x>one</a>", ["one"]),
        ("<area href=x>one<a href=y>two</A >three", [None, "two"]),
        ("<svg><a xlink:href=x>one<title>two</title></a></svg>", ["onetwo"]),
    ],
)
def test_texts__are_what_links_hold(page: str, said: list[str | None]) -> None:
    """From tag to end tag, or to the next link; without comments, scripts and templates, blanks made one."""
    for parts in (False, True):
        tags = tags_of(page.encode(), parts=parts, texts=True)
        links = [attributes for element, attributes in tags if element in ("a", "area") and len(attributes) > 0]
        assert [attributes.get("text") for attributes in links if "name" not in attributes] == said
        plain = [(element, {**attributes}) for element, attributes in tags]
        for element, attributes in plain:
            if element == "a":
                attributes.pop("text", None)
        assert plain == tags_of(page.encode(), parts=parts), "nothing else is changed by it"


def test_texts__of_a_page_with_many() -> None:
    """However many pieces there are, each is where it belongs."""
    page = "".join(f"<a href={number}>n<i>u</i>m<b>b</b>er {number}</a>" for number in range(5000))
    tags = tags_of(page.encode(), texts=True)
    assert [attributes["text"] for _, attributes in tags] == [f"number {number}" for number in range(5000)]
