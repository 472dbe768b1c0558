"""Parse: what is in a page. In: a `Page` and how its URL was found. Out: a `Parsed`.

Decides by media type which reader looks at it; what no reader knows has no links. What cannot be read has a reason.
"""

from __future__ import annotations

from functools import lru_cache

from weft.model import Kind, Page, Parsed, Reason
from weft.parse.css import css_links
from weft.parse.decode import charset_of, decode_content
from weft.parse.directives import NOTHING_ASKED, head_directives
from weft.parse.html import parse_html
from weft.parse.media import CSS, FEEDS, HTML, detect_type
from weft.parse.options import Reading
from weft.parse.sitemap import parse_sitemap

LARGE = 1_000_000  # bytes of HTML; reading a page of so many with a link in every line takes 30 ms
_GZIP = b"\x1f\x8b\x08"


class LargePage(Exception):  # noqa: N818  it is no error
    """A page has so much in it that reading it would hold up all others."""


class Parser:
    """Reads pages for one crawl."""

    def __init__(self, settings: Reading, agent: str, *, largest: int | None = None) -> None:
        self._settings = settings
        self._largest = largest  # bytes of HTML; None where pages are read whatever they are
        self._agent = agent.lower()  # the product token by which pages address us

    def content(self, page: Page) -> tuple[bytes, Reason | None]:
        """The body with its content codings undone."""
        coding = page.headers.get("content-encoding", "")
        return decode_content(page.body, coding, self._settings.max_expanded_bytes) if coding else (page.body, None)

    def parse(self, page: Page, kind: int) -> Parsed:
        """Read a page; `LargePage` is raised where that should rather be done apart."""
        body, reason = self.content(page)
        declared, _, parameters = page.headers.get("content-type", "").partition(";")
        found = detect_type(declared, body)
        if reason is not None:  # a part of what expands without end is worth no more than the rest of it
            return _nothing(page, found, reason)
        header = head_directives(page.head, self._agent) if "x-robots-tag" in page.headers else NOTHING_ASKED
        if kind == Kind.MAP:
            return self._sitemap(page, body)
        if found in HTML:
            if self._largest is not None and len(body) > self._largest:
                raise LargePage
            charset = charset_of(body, _charset_parameter(parameters))
            return parse_html(
                body,
                charset,
                page.url,
                self._agent,
                requisites=self._settings.requisites,
                labels=self._settings.link_text,
                header=header,
            )
        if found in FEEDS:
            pages = parse_sitemap(body).pages
            return _listing(page, found, [(url, Kind.FEED) for url in pages], follow=header.follow)
        if found in CSS and kind >= Kind.IMAGE:
            charset = charset_of(body, _charset_parameter(parameters))
            links = css_links(body.decode(charset, "replace"))
            return _listing(page, found, links, follow=header.follow)
        if found.startswith("text/"):
            return _nothing(page, found, None, charset_of(body, _charset_parameter(parameters)))
        return _nothing(page, found, None)

    def _sitemap(self, page: Page, body: bytes) -> Parsed:
        if body.startswith(_GZIP):
            body, _ = decode_content(body, "gzip", 4 * self._settings.max_expanded_bytes)
        listed = parse_sitemap(body)
        links: list[tuple[str, int]] = [(url, Kind.MAP) for url in listed.maps]
        links += [(url, Kind.SITEMAP) for url in listed.pages]
        return _listing(page, "text/xml" if body[:100].lstrip().startswith(b"<") else "text/plain", links, follow=True)


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


def _nothing(page: Page, found: str, reason: Reason | None, charset: str = "") -> Parsed:
    return Parsed(found, charset, "", "", page.url, [], [], follow=True, reason=reason)


def _listing(page: Page, found: str, links: list[tuple[str, int]], *, follow: bool) -> Parsed:
    return Parsed(found, "", "", "", page.url, links, [], follow=follow, reason=None)
