"""Hosts that have a crawler ask where it should not, or for ever: each attack is what one host, or all below a domain,
answers.
"""

from __future__ import annotations

import gzip
from itertools import count

from tests.hostile.web import MISSING, Asked, Says, moved
from tests.small_site import Answer, links

TEXT = "text/plain"


def plain(*targets: str) -> Says:
    """A good host: no robots.txt, and the same links on every page."""
    return lambda asked: MISSING if asked.path == "/robots.txt" else Answer(links(*targets))


def robots_leads_to(target: str) -> Says:
    """A robots.txt that redirects: to another port, host, scheme, or to nobody at all."""
    return lambda asked: moved(target) if asked.path == "/robots.txt" else Answer(b"page")


def robots_says(body: bytes, *headers: tuple[str, str]) -> Says:
    """A robots.txt with these bytes; a page that links to what it might forbid."""
    return lambda asked: (
        Answer(body, TEXT, headers=headers) if asked.path == "/robots.txt" else Answer(links("/secret", "/public"))
    )


def to_tls(robots: bytes) -> Says:
    """A host that redirects everything to the same under https, as most do."""

    def says(asked: Asked) -> Answer:
        if asked.scheme == "http":
            return moved(f"https://{asked.host}{asked.path}")
        return Answer(robots, TEXT) if asked.path == "/robots.txt" else Answer(links("/1", "/2"))

    return says


def endless_redirects() -> Says:
    """Every page redirects to a host that nobody has heard of."""
    numbers = count(1)
    return lambda asked: (
        MISSING
        if asked.path == "/robots.txt"
        else moved(f"http://h{next(numbers)}.{asked.host.split('.', 1)[1]}{asked.path}")
    )


def endless_sitemaps() -> Says:
    """Every sitemap is an index that names two more, at hosts that nobody has heard of."""
    numbers = count(1)

    def says(asked: Asked) -> Answer:
        domain = asked.host.split(".", 1)[1]
        named = [f"http://h{next(numbers)}.{domain}/map.xml" for _ in range(2)]
        if asked.path == "/robots.txt":
            return Answer("".join(f"Sitemap: {each}\n" for each in named).encode(), TEXT)
        if asked.path != "/map.xml":
            return Answer(b"page")
        locations = "".join(f"<sitemap><loc>{each}</loc></sitemap>" for each in named)
        return Answer(f"<sitemapindex>{locations}</sitemapindex>".encode(), "text/xml")

    return says


def deep_sitemaps() -> Says:
    """Every sitemap is an index that names another one on the same host."""
    numbers = count(1)

    def says(asked: Asked) -> Answer:
        if asked.path == "/robots.txt":
            return Answer(b"Sitemap: /map0.xml", TEXT)
        if not asked.path.startswith("/map"):
            return Answer(b"page")
        body = f"<sitemapindex><sitemap><loc>/map{next(numbers)}.xml</loc></sitemap></sitemapindex>"
        return Answer(body.encode(), "text/xml")

    return says


def many_sitemaps(lines: list[str]) -> Says:
    """A robots.txt that names so many sitemaps, at hosts of its choice."""
    body = "".join(f"Sitemap: {line}\n" for line in lines).encode()
    return lambda asked: Answer(body, TEXT) if asked.path == "/robots.txt" else Answer(b"page")


def endless_imports() -> Says:
    """A page with a style sheet that imports another one from elsewhere, and so on."""
    numbers = count(1)

    def says(asked: Asked) -> Answer:
        if asked.path == "/robots.txt":
            return MISSING
        if asked.path == "/":
            return Answer(b'<link rel="stylesheet" href="/0.css">')
        target = f"http://h{next(numbers)}.{asked.host.split('.', 1)[1]}/x.css"
        return Answer(f'@import "{target}";'.encode(), "text/css")

    return says


def any_name() -> Says:
    """Every page links to ten hosts of the same domain that nobody has heard of, and whose names resolve."""
    numbers = count(1)

    def says(asked: Asked) -> Answer:
        if asked.path == "/robots.txt":
            return MISSING
        domain = asked.host.split(".", 1)[1]
        return Answer(links(*(f"http://n{next(numbers)}.{domain}/" for _ in range(10))))

    return says


def bomb(megabytes: int) -> bytes:
    """A robots.txt that is small on the wire and expands to so many megabytes; its first line forbids /secret."""
    line = b"Disallow: /a-path-that-nobody-has\n"
    return gzip.compress(b"User-agent: *\nDisallow: /secret\n" + line * (megabytes * 1_000_000 // len(line)))
