"""Who is asked for a URL. In: a URL in normal form, or a host. Out: its site, origin, parts, domain.

A *site* is a host name, with its port where that is not the scheme's default one, without the scheme: the
unit of partition and politeness. An *origin* has the scheme too: robots.txt is per origin. A *registered
domain* is the name that somebody bought; sites under one domain share a throttle.

No parser runs here: a URL in normal form (`weft.urls.normal`) is sliced. Given anything else, the answers
mean nothing.

>>> site_of("https://www.example.org:8080/a?b"), origin_of("https://www.example.org/a?b")
('www.example.org:8080', 'https://www.example.org')
>>> split("http://example.org/a?b")
Parts(scheme='http', host='example.org', port=80, target='/a?b')
>>> registered_domain("news.bbc.co.uk:8080")
'bbc.co.uk'
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from publicsuffixlist import PublicSuffixList


class Parts(NamedTuple):
    """A URL taken apart: `target` is what stands in a request line, the path with its query."""

    scheme: str
    host: str
    port: int
    target: str


def site_of(url: str) -> str:
    """The host, with its port where that is not the default one.

    >>> site_of("http://[2001:db8::1]:8080/")
    '[2001:db8::1]:8080'
    """
    start = 8 if url[4] == "s" else 7
    return url[start : url.index("/", start)]


def origin_of(url: str) -> str:
    """Scheme, host and port: whom a robots.txt speaks for."""
    return url[: url.index("/", 8)]


def target_of(url: str) -> str:
    """The path with its query: what stands in a request line, and what robots.txt is asked about.

    >>> target_of("https://example.org/a?b")
    '/a?b'
    """
    return url[url.index("/", 8) :]


def split(url: str) -> Parts:
    """The URL's scheme, host, port and target."""
    secure = url[4] == "s"
    start = 8 if secure else 7
    path = url.index("/", start)
    host = url[start:path]
    # A colon inside brackets belongs to an IPv6 address.
    if ":" in host and host[-1] != "]":
        host, _, port = host.rpartition(":")
        return Parts("https" if secure else "http", host, int(port), url[path:])
    return Parts("https" if secure else "http", host, 443 if secure else 80, url[path:])


def host_of(site: str) -> str:
    """The site without its port.

    >>> host_of("example.org:8080"), host_of("[::1]:80"), host_of("[::1]")
    ('example.org', '[::1]', '[::1]')
    """
    if ":" in site and site[-1] != "]":
        return site[: site.rindex(":")]
    return site


@lru_cache(maxsize=65536)
def registered_domain(site: str) -> str:
    """The registered domain of a host or site; an address, a public suffix or a single label is its own.

    Both sections of the Public Suffix List count, as in browsers and in the peers: the blogs under
    ``blogspot.com`` or ``github.io`` belong to different people, and as one domain a whole platform would be
    crawled at the pace of one small site. That they share servers is what the limit per address is for.

    >>> registered_domain("a.someone.github.io"), registered_domain("[::1]:8080")
    ('someone.github.io', '[::1]')
    """
    host = host_of(site)
    return registrable(host) or host


def registrable(host: str) -> str | None:
    """The part of a host name that can be registered, or None where the list knows none.

    >>> registrable("www.example.org"), registrable("org"), registrable("localhost"), registrable("10.1.2.3")
    ('example.org', None, None, None)
    """
    if host[-1:] == "]" or host.rpartition(".")[2].isdecimal():
        return None
    found: str | None = _suffixes().privatesuffix(host.lower())
    return found


@cache
def _suffixes() -> PublicSuffixList:
    """The list that comes with the library, read when first needed: it takes a tenth of a second."""
    return PublicSuffixList()
