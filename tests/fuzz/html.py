"""HTML: what is found stands on the page, is found by each way of reading it, and grows no faster than the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.fuzz.corpora import answers, html_cases
from tests.fuzz.target import Target, words

from weft.model import Kind, Page
from weft.parse.css import css_links
from weft.parse.directives import NOTHING_ASKED
from weft.parse.html import parse_html, srcset
from weft.parse.options import Reading
from weft.parse.page import LARGE, Parser
from weft.parse.tags import LargePage, Tag, _scanned, read_links, read_tags
from weft.text.html import main_text, whole_text

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

URL = "http://example.org/a/b"
CHARSETS = ("utf-8", "utf-8", "cp1252", "utf-16-le", "big5hkscs", "iso2022_jp", "gb18030", "x-mac-cyrillic")
_LONGEST_RESOLVED = 6  # bytes that the character takes for which the shortest reference stands, and some more


def check(data: bytes) -> None:
    """Each way of reading it."""
    _check_scan(data)
    _check_tags(data)
    _check_parsed(data, CHARSETS[len(data) % 7])
    _check_page(data)
    text = data.decode("utf-8", "replace")
    assert len(whole_text(text)) <= 4 * len(text) + 100
    if len(text) < 5_000:
        main_text(text)
    assert sum(len(written) for written, _ in css_links(text)) <= len(text)
    assert sum(map(len, srcset(text))) <= len(text)


def _check_scan(data: bytes) -> None:
    array = np.frombuffer(data, np.uint8)
    for parts in (False, True):
        for texts in (False, True):
            rows, pieces = _scanned(data, array, parts=parts, texts=texts, briefly=False)
            for found in (rows.reshape(-1, 3), pieces.reshape(-1, 3)):
                ends = np.where(found[:, 2] < 0, ~found[:, 2], found[:, 2])
                assert (found[:, 1] >= 0).all()
                assert (ends >= found[:, 1]).all(), "a value ends before it begins"
                assert (ends <= len(data)).all(), "a value ends behind the page"
                assert ((found[:, 0] >> 16) < found[:, 1]).all(), "a value stands before its tag"
                assert (np.diff(found[:, 1]) >= 0).all(), "values are not in their order"
                assert len(found) <= len(data)


def _check_tags(data: bytes) -> None:
    tags = read_tags(data)
    placed, spans = read_links(data, np.frombuffer(data, np.uint8))
    plain = [data[begin:end].decode("ascii") for begin, end in spans.reshape(-1, 2)]
    merged: list[Tag] = []
    at = 0
    for name, attributes, before in placed:
        merged += [*_links(plain[at:before]), (name, attributes)]
        at = before
    merged += _links(plain[at:])
    expected = [("a", {"href": tag[0]}) if tag[1] is None else tag for tag in tags if tag != ("", None)]
    assert merged == expected
    held = sum(len(value) for _, attributes in expected for value in (attributes or {}).values())
    assert held <= _LONGEST_RESOLVED * len(data)
    for parts in (False, True):
        assert all(attributes is not None for _, attributes in read_tags(data, parts=parts, texts=True))


def _links(written: list[str]) -> list[Tag]:
    return [("a", {"href": each}) for each in written]


def _check_parsed(data: bytes, charset: str) -> None:
    """The same links, whatever else is asked for."""
    plainly = parse_html(data, charset, URL, "weft", requisites=False, header=NOTHING_ASKED)
    labelled = parse_html(data, charset, URL, "weft", requisites=False, labels=True, header=NOTHING_ASKED)
    with_parts = parse_html(data, charset, URL, "weft", requisites=True, header=NOTHING_ASKED)
    links = [link for link in plainly.links if link[0]]
    assert links == [link for link in labelled.links if link[0]]
    assert plainly.nofollow == labelled.nofollow == with_parts.nofollow
    assert len(labelled.labels) == len(labelled.links) + len(labelled.nofollow)
    pages = {int(kind) for kind in Kind if kind < Kind.IMAGE}
    assert [link for link in with_parts.links if link[1] in pages and link[0]] == links
    assert len(plainly.title) <= 1_000
    assert len(plainly.language) <= 35
    assert len(plainly.links) + len(plainly.nofollow) <= len(data)
    few = parse_html(data, charset, URL, "weft", requisites=False, header=NOTHING_ASKED, most=2)
    assert list(few.links) == list(plainly.links)[:2]
    assert len(few.links) + len(few.nofollow) + few.left_out == len(plainly.links) + len(plainly.nofollow)


def _check_page(data: bytes) -> None:
    """As the loop does it: a page is read, or is one for a process apart."""
    page = Page(URL, 200, None, b"", b"", {"content-type": "text/html"}, data, "", "", "", 0, 0, 0, closed=False)
    parsed = Parser(Reading(link_text=True), "weft").parse(page, Kind.A)
    try:
        briefly = Parser(Reading(), "weft", largest=LARGE).parse(page, Kind.A)
    except LargePage:
        assert len(data) > 60_000
        return
    assert briefly.charset == parsed.charset
    assert briefly.robots == parsed.robots


def real(data: Path) -> list[bytes]:
    """Documents of html5lib's tests, and pages of web archives."""
    pages = [body for body in answers(data / "warc-samples") if b"<" in body[:2_000]]
    return html_cases(data / "html5lib-tree") + pages


def grammar() -> SearchStrategy[bytes]:
    """Tags, attributes and texts, in any order."""
    from hypothesis import strategies as st

    some = st.sampled_from
    name = some(
        words(
            r"a A p base link meta title script style svg math mi template textarea plaintext frameset frame "
            r"iframe image img noscript desc td foreignObject annotation-xml html area xmp abcdefghijklmnopq"
        )
    )
    key = some(words(r"href HREF src rel content name http-equiv srcset style xlink:href = charset lang data-src x"))
    value = some(
        [
            *words(
                r"/a b?c&amp;d&copy=1&#x41;&#0; nofollow\x20canonical robots none refresh 0;url='x \x00 "
                r"a\x201x,\x20b\x202x url(x) \xc3\xa9 \xff a\r\nb stylesheet data:x"
            ),
            b"",
        ]
    )
    quoted = st.tuples(some([b'"%s"', b"'%s'", b"%s", b'"%s', b" '%s' "]), value).map(
        lambda two: two[0].replace(b"%s", two[1])
    )
    attribute = st.tuples(key, some([b"=", b" = ", b""]), quoted, some([b" ", b"/", b"\n", b""])).map(b"".join)
    attributes = st.lists(attribute, max_size=4).map(b" ".join)
    tag = st.tuples(some([b"<", b"</"]), name, some([b" ", b"/", b""]), attributes, some([b">", b">", b"/>", b""])).map(
        b"".join
    )
    other = some(
        words(
            r"<!-- --> --!> <!--> <![CDATA[ ]]> <!doctype\x20html> <?x> </> < text &lt; \r \x20 <script> </script "
            r"</title> \xef\xbb\xbf"
        )
    )
    return st.lists(tag | tag | other, max_size=25).map(b"".join)


TARGET = Target(
    check,
    own=(
        b'<!doctype html><html lang=en><title>A &amp; B</title><base href=/x/><a href="/?a&amp;b=2">t<b>u</b></a>',
        b"<svg><a xlink:href=x><title><a href=y></title><![CDATA[<a href=n>]]></svg><template><a href=z></template>",
        b"<script><!--<script></script>--></script><meta http-equiv=refresh content='0; url=x'><img srcset='a, b 2x'>",
    ),
    real=real,
    words=words(
        r"<a\x20href= <A\x20HREF=' </a> <script> </script> <!-- --> <svg> <template> <title> <style> <![CDATA[ "
        r"]]> <base\x20href= <meta\x20name=robots\x20content= <frameset> <frame\x20src= <math> &#x41; &amp "
        r"\x22 ' /> = <plaintext> <td\x20background= <link\x20rel= style='a:url(b)' <img\x20srcset='"
    ),
    grammar=grammar,
)
