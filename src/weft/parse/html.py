"""HTML. In: the bytes of a page and their charset. Out: its links as written, title, language, base, and what it
asks of robots.

The parser is lexbor, which builds the tree that browsers build, whatever the author wrote. One look-up per element
name costs no more than one query for all of them. What belongs into the head is looked for everywhere: a stray word
before it is enough to put it into the body.
"""

from __future__ import annotations

import codecs
import re
from typing import Any
from urllib.parse import quote

import ada_url
from selectolax.lexbor import LexborHTMLParser

from weft.model import Kind, Parsed
from weft.parse.css import css_links
from weft.parse.directives import Directives, read_directives

# As the HTML standard reads it: a time, a separator, perhaps "url=", and the rest, in quotes or not.
_REFRESH = re.compile(
    r"""\s*(?=[0-9.])[0-9.]*+(?:\s|(?=[;,]))\s*+[;,]?+\s*+(?:url\s*=\s*)?+(?:"([^"]*)|'([^']*)|(.+))""",
    re.IGNORECASE | re.DOTALL,
)
_MOST_TITLES = 20
_LONGEST_TITLE = 1000

# What the relations of <link> mean: a page to follow, or a part of this one. Others (dns-prefetch …) are neither.
_PAGE_RELATIONS = frozenset(
    [
        "alternate",
        "amphtml",
        "archives",
        "author",
        "bookmark",
        "canonical",
        "first",
        "help",
        "index",
        "last",
        "license",
        "next",
        "prev",
        "previous",
        "search",
        "shortlink",
        "start",
        "up",
    ]
)
_PART_RELATIONS = frozenset(
    [
        "stylesheet",
        "icon",
        "apple-touch-icon",
        "apple-touch-icon-precomposed",
        "mask-icon",
        "manifest",
        "preload",
        "modulepreload",
        "image_src",
    ]
)


_LINKS = (("a", "href", Kind.A), ("area", "href", Kind.AREA), ("iframe", "src", Kind.IFRAME))


def parse_html(body: bytes, charset: str, url: str, agent: str, *, requisites: bool, header: Directives) -> Parsed:
    """Read a page. `header` is what X-Robots-Tag said; `requisites` asks for the parts of the page too."""
    tree = LexborHTMLParser(body if charset == "utf-8" else body.decode(charset, "replace"))
    directives = header
    links: list[tuple[str, int]] = []
    nofollow: list[tuple[str, int]] = []
    for node in tree.tags("meta"):
        directives = _read_meta(node.attributes, directives, agent, links)
    for node in tree.tags("link"):
        _read_link(node.attributes, links, nofollow, requisites=requisites)
    for tag, attribute, kind in _LINKS:
        for node in tree.tags(tag):
            attributes = node.attributes
            written = attributes.get(attribute) or attributes.get("xlink:href")
            if written:
                relation = attributes.get("rel")
                if relation is not None and "nofollow" in relation.lower().split():
                    nofollow.append((written, kind))
                else:
                    links.append((written, kind))
    body_node = tree.body
    if body_node is None or body_node.tag == "frameset":
        links += [(written, Kind.FRAME) for node in tree.tags("frame") if (written := node.attributes.get("src"))]
    if requisites:
        links += _parts(tree)
    if not charset.startswith("utf-"):
        links = [(_in_charset(written, charset), kind) for written, kind in links]
        nofollow = [(_in_charset(written, charset), kind) for written, kind in nofollow]
    return Parsed(
        type="text/html",
        charset=charset,
        language=_language(tree),
        title=_title(tree),
        base=_base(tree, url),
        links=links,
        nofollow=nofollow,
        follow=directives.follow,
        reason=None,
    )


def _language(tree: Any) -> str:
    root = tree.root
    if root is None:
        return ""
    attributes = root.attributes
    return (attributes.get("lang") or attributes.get("xml:lang") or "").strip().lower()[:35]


def _title(tree: Any) -> str:
    """The first title that is not a drawing's."""
    for node in tree.tags("title")[:_MOST_TITLES]:  # each is a walk up the tree
        above = node.parent
        while above is not None and (tag := above.tag) != "svg":
            above = None if tag == "head" else above.parent
        if above is None and (title := " ".join((node.text(deep=True) or "").split())):
            return title[:_LONGEST_TITLE]
    return ""


def _base(tree: Any, url: str) -> str:
    """What links are relative to: the first <base> with an address counts, unless that is one no link can have."""
    for node in tree.tags("base"):
        written = node.attributes.get("href")
        if written is not None:
            try:
                base = str(ada_url.join_url(url, written))
            except ValueError:
                return url
            return url if base.startswith(("data:", "javascript:")) else base
    return url


def _read_meta(attributes: Any, directives: Directives, agent: str, links: list[tuple[str, int]]) -> Directives:
    """A <meta>: robots directives add up; a refresh is a link."""
    name = attributes.get("name")
    if name is not None and name.strip().lower() in ("robots", agent):
        return directives.and_also(read_directives(attributes.get("content") or ""))
    asked = attributes.get("http-equiv")
    if asked is not None and asked.strip().lower() == "refresh":
        found = _REFRESH.match(attributes.get("content") or "")
        if found and (written := (found[1] or found[2] or found[3] or "").strip()):
            links.append((written, Kind.REFRESH))
    return directives


def _read_link(
    attributes: Any, links: list[tuple[str, int]], nofollow: list[tuple[str, int]], *, requisites: bool
) -> None:
    written = attributes.get("href")
    relations = (attributes.get("rel") or "").lower().split()
    if not written or not relations:
        return
    if not _PART_RELATIONS.isdisjoint(relations):
        if requisites:
            links.append((written, Kind.STYLE if "stylesheet" in relations else Kind.PART))
    elif not _PAGE_RELATIONS.isdisjoint(relations):
        (nofollow if "nofollow" in relations else links).append((written, Kind.LINK))


def _in_charset(written: str, charset: str) -> str:
    """A browser sends the query of a link in the page's charset, where that is not one of Unicode's."""
    address, hash_mark, fragment = written.partition("#")
    path, mark, query = address.partition("?")
    if not mark or query.isascii():
        return written
    return f"{path}?{quote(query.encode(charset, 'weft-reference'), safe=_PRINTED)}{hash_mark}{fragment}"


def _reference(error: UnicodeError) -> tuple[str, int]:
    """What a browser writes into a query for a character that the charset lacks."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(sign)}%3B" for sign in lacking), error.end


codecs.register_error("weft-reference", _reference)
_PRINTED = "".join(map(chr, range(33, 127)))


# The parts of a page: element, attribute, kind.
_PARTS: tuple[tuple[str, str, Kind], ...] = (
    ("img", "src", Kind.IMAGE),
    ("img", "data-src", Kind.IMAGE),
    ("script", "src", Kind.SCRIPT),
    ("input", "src", Kind.IMAGE),
    ("body", "background", Kind.IMAGE),
    ("td", "background", Kind.IMAGE),
    ("table", "background", Kind.IMAGE),
    ("video", "poster", Kind.IMAGE),
    ("video", "src", Kind.PART),
    ("audio", "src", Kind.PART),
    ("source", "src", Kind.PART),
    ("track", "src", Kind.PART),
    ("embed", "src", Kind.PART),
    ("object", "data", Kind.PART),
    ("image", "href", Kind.IMAGE),
    ("image", "xlink:href", Kind.IMAGE),
    ("use", "href", Kind.IMAGE),
    ("use", "xlink:href", Kind.IMAGE),
    ("script", "href", Kind.SCRIPT),
    ("script", "xlink:href", Kind.SCRIPT),
)
# One candidate of a srcset: its address, which runs to the next blank; then what describes it, to a comma.
_CANDIDATE = re.compile(r"[ \t\n\f\r,]*+([^ \t\n\f\r]+)")
_DESCRIPTORS = re.compile(r"(?:[^(,]|\([^)]*\)?)*+,?")
_SETS = (("img", "srcset"), ("img", "data-srcset"), ("source", "srcset"), ("link", "imagesrcset"))


def _parts(tree: Any) -> list[tuple[str, int]]:
    """What a browser needs to show the page, apart from what <link href> says; contents written out in place are not
    looked for elsewhere.
    """
    found: list[tuple[str, int]] = []
    for tag, attribute, kind in _PARTS:
        for node in tree.tags(tag):
            written = node.attributes.get(attribute)
            if written and written[:5].lower() != "data:":
                found.append((written, kind))
    for tag, attribute in _SETS:
        for node in tree.tags(tag):
            if text := node.attributes.get(attribute):
                found += [(written, Kind.IMAGE) for written in srcset(text) if not written.startswith("data:")]
    for node in tree.tags("style"):
        found += css_links(node.text(deep=True) or "")
    for node in tree.css("[style]"):
        found += css_links(node.attributes.get("style") or "")
    return found


def srcset(text: str) -> list[str]:
    """The URLs of a srcset attribute.

    >>> srcset("a.jpg 1x, b,c.jpg 2x,d.jpg")
    ['a.jpg', 'b,c.jpg', 'd.jpg']
    """
    found = []
    at = 0
    while match := _CANDIDATE.match(text, at):
        written = match[1]
        at = match.end()
        if written.endswith(","):
            written = written.rstrip(",")
        else:
            at = _DESCRIPTORS.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
        found.append(written)
    return found
