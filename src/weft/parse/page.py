"""Parse: what is in a page. In: a `Page` and how its URL was found. Out: a `Parsed`.

Decides by media type which reader looks at it; what no reader knows has no links. What cannot be read has a reason.
Reading takes time linear in the decoded size. What would take more than some 40 ms is not read in the event loop, by
its decoded size or by what is in it: `LargePage` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from weft.model import Kind, Page, Parsed, Reason
from weft.parse.css import css_links
from weft.parse.decode import charset_of, decode_content, undo_codings
from weft.parse.directives import NOTHING_ASKED, Directives, head_directives
from weft.parse.html import parse_html
from weft.parse.media import CSS, FEEDS, HTML, detect_type
from weft.parse.options import Reading
from weft.parse.scripts import script_links
from weft.parse.sitemap import Sitemap, parse_sitemap
from weft.parse.tags import LargePage

LARGE = 1_000_000  # bytes of a content, decoded; HTML has a measure of its own beside it, see `tags`
_LISTING = 50_000  # bytes of a sitemap, a feed or a style sheet: at most 0.8 µs for each, as measured
_SCRIPTED = 200_000  # bytes of a page whose scripts are looked at, too
_MOST_OF_A_SITEMAP = 52_428_800  # bytes, decoded, as the protocol has it
_MOST_TEXT = 4_000_000  # signs of all links of a page together; a sitemap's 50,000 of usual length have as many
_FEW = 1_000  # links that are not counted so …
_LITTLE = _MOST_TEXT // 15  # … and bytes of a page: however its links are written, they are not that long
_MAP = int(Kind.MAP)  # an enumeration's members are slow to find in Python 3.11
_GZIP = b"\x1f\x8b\x08"


class Parser:
    """Reads pages for one crawl."""

    def __init__(self, settings: Reading, agent: str, *, largest: int | None = None) -> None:
        self._settings = settings
        self._largest = largest  # bytes, decoded; None where pages are read whatever they are
        self._agent = agent.lower()  # the product token by which pages address us

    def content(self, page: Page) -> tuple[bytes, Reason | None]:
        """The body with its content codings undone."""
        coding = page.headers.get("content-encoding", "")
        return decode_content(page.body, coding, self._settings.max_expanded_bytes) if coding else (page.body, None)

    def asked(self, page: Page) -> Directives:
        """What the header of an answer asks of robots."""
        return head_directives(page.head, self._agent) if "x-robots-tag" in page.headers else NOTHING_ASKED

    def parse(self, page: Page, kind: int) -> Parsed:
        """Read a page; `LargePage` is raised where that should rather be done apart."""
        body, reason, whole = self._decoded(page, kind)
        parsed = self._parse(page, kind, body, reason)
        if not whole and not page.truncated:
            parsed = msgspec.structs.replace(parsed, whole=False)
        if len(body) < _LITTLE or len(parsed.links) + len(parsed.nofollow) <= _FEW:
            return parsed
        return _shortened(parsed)

    def _parse(self, page: Page, kind: int, body: bytes, reason: Reason | None) -> Parsed:
        declared, _, parameters = page.headers.get("content-type", "").partition(";")
        found = detect_type(declared, body)
        header = self.asked(page)
        if reason is not None and (kind != _MAP or reason is not Reason.EXPANSION):
            # A part of what expands without end is worth no more than the rest of it; that of a long list is.
            return _nothing(page, found, header, reason)
        if kind == _MAP:
            return self._sitemap(page, body, header, reason)
        most, briefly = self._settings.max_links, self._largest is not None
        if found in HTML:
            self._check(body, _SCRIPTED if self._settings.script_links else self._largest)
            charset = charset_of(body, _charset_parameter(parameters))
            read = parse_html(
                body,
                charset,
                page.url,
                self._agent,
                requisites=self._settings.requisites,
                labels=self._settings.link_text,
                header=header,
                most=most,
                briefly=briefly,
            )
            return _with_scripts(read, body, most) if self._settings.script_links else read
        if found in FEEDS:
            self._check(body, _LISTING)
            listed = parse_sitemap(body, most=most)
            links: list[tuple[str, int]] = [(url, Kind.FEED) for url in listed.pages]
            return _listing(page, found, header, links, listed.left_out, reason=_harm(listed))
        if found in CSS and kind >= Kind.IMAGE:
            self._check(body, _LISTING)
            charset = charset_of(body, _charset_parameter(parameters))
            links = css_links(body.decode(charset, "replace"))
            return _listing(page, found, header, links[:most], max(0, len(links) - most))
        if found.startswith("text/"):
            return _nothing(page, found, header, None, charset_of(body, _charset_parameter(parameters)))
        return _nothing(page, found, header, None)

    def _decoded(self, page: Page, kind: int) -> tuple[bytes, Reason | None, bool]:
        """The content, where it can be had without holding up others; and whether its coding came to its end."""
        coding = page.headers.get("content-encoding", "")
        if not coding:
            return page.body, None, True
        limit = self._settings.max_expanded_bytes
        return self._expanded(page.body, coding, max(limit, _MOST_OF_A_SITEMAP) if kind == Kind.MAP else limit)

    def _expanded(self, body: bytes, coding: str, limit: int) -> tuple[bytes, Reason | None, bool]:
        if self._largest is None:
            return undo_codings(body, coding, limit)
        if "," in coding:  # a coding in a coding may take longer than its sizes tell
            raise LargePage
        body, reason, whole = undo_codings(body, coding, min(limit, self._largest))
        if reason is Reason.EXPANSION and limit > self._largest:
            raise LargePage
        return body, reason, whole

    def _check(self, body: bytes, largest: int | None) -> None:
        """Raise `LargePage` for what is larger than that, where others would have to wait for it."""
        if self._largest is not None and largest is not None and len(body) > largest:
            raise LargePage

    def _sitemap(self, page: Page, body: bytes, header: Directives, reason: Reason | None) -> Parsed:
        if body.startswith(_GZIP):
            body, reason, _ = self._expanded(body, "gzip", max(self._settings.max_expanded_bytes, _MOST_OF_A_SITEMAP))
        self._check(body, _LISTING)
        listed = parse_sitemap(body)
        links: list[tuple[str, int]] = [(url, Kind.MAP) for url in listed.maps]
        links += [(url, Kind.SITEMAP) for url in listed.pages]
        found = "text/xml" if body[:100].lstrip().startswith(b"<") else "text/plain"
        read = _listing(page, found, header, links, listed.left_out, reason=_harm(listed) or reason)
        return read if read.follow else msgspec.structs.replace(read, follow=True)  # it is made to be followed


def _with_scripts(parsed: Parsed, body: bytes, most: int) -> Parsed:
    """A page with what looks like links in its scripts, as far as it has room for them, behind its own."""
    known = {written for written, _ in parsed.links}
    found: list[tuple[str, int]] = [(url, Kind.JS) for url in script_links(body) if url not in known]
    taken = found[: max(0, most - len(parsed.links))]
    if not found:
        return parsed
    labels = parsed.labels
    if labels:
        first = len(parsed.links)
        labels = [*labels[:first], *([("", "")] * len(taken)), *labels[first:]]
    left_out = parsed.left_out + len(found) - len(taken)
    return msgspec.structs.replace(parsed, links=[*parsed.links, *taken], labels=labels, left_out=left_out)


def _shortened(parsed: Parsed) -> Parsed:
    """A page without the links behind so many signs of them; all are written down."""
    links, left = _fitting(parsed.links, _MOST_TEXT)
    nofollow = list(_fitting(parsed.nofollow, left)[0])
    left_out = len(parsed.links) + len(parsed.nofollow) - len(links) - len(nofollow)
    if not left_out:
        return parsed
    first = len(parsed.links)
    return msgspec.structs.replace(
        parsed,
        links=links,
        nofollow=nofollow,
        labels=parsed.labels[: len(links)] + parsed.labels[first : first + len(nofollow)],
        left_out=parsed.left_out + left_out,
    )


def _fitting(links: Sequence[tuple[str, int]], room: int) -> tuple[Sequence[tuple[str, int]], int]:
    """The first links that have so many signs together, and how many are left."""
    for count, (written, _) in enumerate(links):
        room -= len(written)
        if room < 0:
            return links[:count], 0
    return links, room


def _harm(listed: Sitemap) -> Reason | None:
    """Why a list was not read to its end, if so."""
    return None if listed.whole else Reason.HOSTILE


@lru_cache(maxsize=1024)
def _charset_parameter(parameters: str) -> str:
    """The charset in the parameters of a Content-Type.

    >>> _charset_parameter(' boundary=x; Charset="UTF-8"')
    'UTF-8'
    """
    if not parameters:
        return ""
    for part in parameters.split(";"):
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.partition(",")[0].strip().strip("\"'")
    return ""


def _nothing(page: Page, found: str, header: Directives, reason: Reason | None, charset: str = "") -> Parsed:
    return Parsed(found, charset, "", "", page.url, [], [], follow=True, reason=reason, robots=header.text)


def _listing(
    page: Page,
    found: str,
    header: Directives,
    links: list[tuple[str, int]],
    left_out: int,
    *,
    reason: Reason | None = None,
) -> Parsed:
    return Parsed(
        found,
        "",
        "",
        "",
        page.url,
        links,
        [],
        follow=header.follow,
        reason=reason,
        left_out=left_out,
        robots=header.text,
    )
