"""HTML. In: the bytes of a page and their charset. Out: its links as written, title, language, base, and what it
asks of robots.

Links are in their order on the page. What belongs into the head is looked for everywhere: a stray word before it is
enough to put it into the body.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Sequence
from urllib.parse import quote

import ada_url
import numpy as np
from numpy.typing import NDArray

from weft.model import Kind, Parsed
from weft.parse.css import css_links
from weft.parse.directives import Directives, read_directives
from weft.parse.links import Link, PageLinks
from weft.parse.tags import PlacedTag, read_links, read_tags
from weft.urls import normal_form

# As the HTML standard reads it: a time, a separator, perhaps "url=", and the rest, in quotes or not.
_REFRESH = re.compile(
    r"""\s*(?=[0-9.])[0-9.]*+(?:\s|(?=[;,]))\s*+[;,]?+\s*+(?:url\s*=\s*)?+(?:"([^"]*)|'([^']*)|(.+))""",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_TITLE = 1000
_LONGEST_TEXT = 500  # of a link
_LONGEST_CANONICAL = 2000

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


_NO_SPANS = np.empty(0, np.int64)
_LINKS = {"a": Kind.A, "area": Kind.AREA, "iframe": Kind.IFRAME, "frame": Kind.FRAME}


def parse_html(  # noqa: C901, PLR0913
    body: bytes,
    charset: str,
    url: str,
    agent: str,
    *,
    requisites: bool,
    header: Directives,
    labels: bool = False,
    most: int = sys.maxsize,
    briefly: bool = False,
) -> Parsed:
    """Read a page. `header` is what X-Robots-Tag said; `requisites` asks for the parts of the page too, `labels` for
    what links say and their relations. No more than `most` links are taken, of those that are followed and of those
    that are not. Where that is to be done `briefly`, `LargePage` is raised for what takes long.
    """
    if charset != "utf-8":
        body = body.decode(charset, "replace").encode("utf-8", "replace")
    directives = header
    links: list[tuple[str, int]] = []
    nofollow: list[tuple[str, int]] = []
    said: list[tuple[str, str]] = []
    unfollowed_said: list[tuple[str, str]] = []
    language = other_language = title = base = canonical = ""
    places: list[int] = []  # for each of the links, how many spans come before it
    data = np.frombuffer(body, np.uint8)
    tags, spans = _read(body, data, requisites=requisites, labels=labels, briefly=briefly)
    for element, attributes, before in tags:
        if (kind := _LINKS.get(element)) is not None:
            written = attributes.get("href") or attributes.get("src") or attributes.get("xlink:href")
            if written:
                relation = attributes.get("rel")
                if relation is not None and "nofollow" in relation.lower().split():
                    nofollow.append((written, kind))
                else:
                    links.append((written, kind))
        elif element == "link":
            named = _read_link(attributes, links, nofollow, requisites=requisites)
            canonical = canonical or named
        elif element == "meta":
            directives = _read_meta(attributes, directives, agent, links)
        elif element == "title":
            title = title or " ".join(attributes.get("text", "").split())[:_LONGEST_TITLE]
        elif element == "base":
            base = base or _base(attributes.get("href"), url)
        elif element == "html":
            language = language or attributes.get("lang", "")
            other_language = other_language or attributes.get("xml:lang", "")
        if requisites:
            links += _parts(element, attributes)
        if labels:
            _add_labels(attributes, said, len(links))
            _add_labels(attributes, unfollowed_said, len(nofollow))
        if len(places) < len(links):
            places += [before] * (len(links) - len(places))
    if not charset.startswith("utf-"):
        links, nofollow = _sent(links, charset), _sent(nofollow, charset)
    found: Sequence[Link] = PageLinks(body, data, spans, links, places) if spans.size else links
    left_out = max(0, len(found) - most) + max(0, len(nofollow) - most)
    if left_out:
        found = found[:most]
        del nofollow[most:], said[most:], unfollowed_said[most:]
    return Parsed(
        type="text/html",
        charset=charset,
        language=(language or other_language).strip().lower()[:35],
        title=title,
        base=base or url,
        links=found,
        nofollow=nofollow,
        follow=directives.follow,
        reason=None,
        labels=said + unfollowed_said,
        left_out=left_out,
        robots=directives.text if directives.words else "",
        canonical=_canonical(canonical, charset, base or url) if canonical else "",
    )


def _read(
    body: bytes, data: NDArray[np.uint8], *, requisites: bool, labels: bool, briefly: bool
) -> tuple[Iterable[PlacedTag], NDArray[np.int64]]:
    """The tags of a page, and where plain links stand on it, of which there are no tags; where their text or the parts
    of the page are asked for too, there are tags of all.
    """
    if not (requisites or labels):
        return read_links(body, data, briefly=briefly)
    tags = read_tags(body, parts=requisites, texts=labels, briefly=briefly)
    return (("a", {"href": each}, 0) if held is None else (each, held, 0) for each, held in tags), _NO_SPANS


def _add_labels(attributes: dict[str, str], said: list[tuple[str, str]], links: int) -> None:
    """Note what the links of a tag say, of those that were added with it."""
    if len(said) < links:
        label = attributes.get("text", "")[:_LONGEST_TEXT], " ".join(attributes.get("rel", "").lower().split())
        said += [label] * (links - len(said))


def _base(written: str | None, url: str) -> str:
    """What links are relative to, unless it is something no link can be relative to; nothing if nothing is written."""
    if written is None:
        return ""
    try:
        base = str(ada_url.join_url(url, written))
    except ValueError:
        return url
    return url if base.startswith(("data:", "javascript:")) else base


def _read_meta(
    attributes: dict[str, str], directives: Directives, agent: str, links: list[tuple[str, int]]
) -> Directives:
    """A <meta>: robots directives add up; a refresh is a link."""
    name = attributes.get("name")
    if name is not None and name.strip().lower() in ("robots", agent):
        return directives.and_also(read_directives(attributes.get("content", "")))
    asked = attributes.get("http-equiv")
    if asked is not None and asked.strip().lower() == "refresh":
        found = _REFRESH.match(attributes.get("content", ""))
        if found and (written := (found[1] or found[2] or found[3] or "").strip()):
            links.append((written, Kind.REFRESH))
    return directives


def _read_link(
    attributes: dict[str, str],
    links: list[tuple[str, int]],
    nofollow: list[tuple[str, int]],
    *,
    requisites: bool,
) -> str:
    """A <link>: a page to follow, or a part of this one; what it names as the canonical URL, if it does."""
    written = attributes.get("href")
    relations = attributes.get("rel", "").lower().split()
    if not written or not relations:
        return ""
    if not _PART_RELATIONS.isdisjoint(relations):
        if requisites:
            links.append((written, Kind.STYLE if "stylesheet" in relations else Kind.PART))
    elif not _PAGE_RELATIONS.isdisjoint(relations):
        (nofollow if "nofollow" in relations else links).append((written, Kind.LINK))
        return written if "canonical" in relations else ""
    return ""


def _canonical(written: str, charset: str, base: str) -> str:
    """The canonical URL of a page in normal form; nothing where it is no URL, or too long for one."""
    sent = written if charset.startswith("utf-") else _in_charset(written, charset)
    url = normal_form(sent.strip(), base)
    return url if type(url) is str and len(url) <= _LONGEST_CANONICAL else ""


def _sent(links: list[tuple[str, int]], charset: str) -> list[tuple[str, int]]:
    """Links as a browser would send them from a page with this charset, which is none of Unicode's."""
    return [(_in_charset(written, charset), kind) for written, kind in links]


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
    return "".join(f"%26%23{ord(character)}%3B" for character in lacking), error.end


codecs.register_error("weft-reference", _reference)
_PRINTED = "".join(map(chr, range(33, 127)))


# The parts of a page: by element, its attributes and what they lead to.
_PARTS: dict[str, tuple[tuple[str, Kind], ...]] = {
    "audio": (("src", Kind.PART),),
    "body": (("background", Kind.IMAGE),),
    "embed": (("src", Kind.PART),),
    "image": (("href", Kind.IMAGE), ("xlink:href", Kind.IMAGE)),
    "img": (("src", Kind.IMAGE), ("data-src", Kind.IMAGE)),
    "input": (("src", Kind.IMAGE),),
    "object": (("data", Kind.PART),),
    "script": (("src", Kind.SCRIPT), ("href", Kind.SCRIPT), ("xlink:href", Kind.SCRIPT)),
    "source": (("src", Kind.PART),),
    "table": (("background", Kind.IMAGE),),
    "td": (("background", Kind.IMAGE),),
    "track": (("src", Kind.PART),),
    "use": (("href", Kind.IMAGE), ("xlink:href", Kind.IMAGE)),
    "video": (("poster", Kind.IMAGE), ("src", Kind.PART)),
}
_SETS = ("srcset", "data-srcset", "imagesrcset")
# One candidate of a srcset: its address, which runs to the next whitespace; then its descriptors, to a comma.
_CANDIDATE = re.compile(r"[ \t\n\f\r,]*+([^ \t\n\f\r]+)")
_DESCRIPTORS = re.compile(r"(?:[^(,]|\([^)]*\)?)*+,?")


def _parts(element: str, attributes: dict[str, str]) -> list[tuple[str, int]]:
    """What a browser needs to show the page, apart from what <link href> says; contents written out in place are not
    looked for elsewhere.
    """
    found: list[tuple[str, int]] = []
    for attribute, kind in _PARTS.get(element, ()):
        written = attributes.get(attribute)
        if written and written[:5].lower() != "data:":
            found.append((written, kind))
    for attribute in _SETS:
        if text := attributes.get(attribute):
            found += [(written, Kind.IMAGE) for written in srcset(text) if not written.startswith("data:")]
    if element == "style":
        found += css_links(attributes.get("text", ""))
    if text := attributes.get("style"):
        found += css_links(text)
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
