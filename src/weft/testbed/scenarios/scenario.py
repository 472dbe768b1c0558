"""What a scenario is. In: a site and a request for it. Out: an answer that is a hazard, or none.

A scenario is one value: its name, a line about it, who describes it, the links by which a crawler comes to it, and what
is answered. A site that plays one keeps its own pages, which are good and must be found; the hazard lies under a path
of its own (`prefix`), or under further names of the site (`names`, `below`, `twin`).

Invariant: what is answered follows from the seed, the site, the path and the request's header, and from nothing that
happened before; so any process can answer, and what a request was for can be told afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from weft.testbed.answers import HTML, Answer, Asked

Family = Literal["pages", "names", "time", "bytes", "contents", "protocol"]
"""What a hazard costs a crawler first: pages that are nothing new, sites that are none, time, bytes, pages that are
misread, connections.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The site that a scenario is played on, as far as it may know it."""

    site: int
    host: str
    base: str
    """`http://host:port`."""
    tld: str
    port: int
    tls_port: int | None
    seed: int
    retry_after_s: int
    titles: list[bytes]
    """256 short texts, in UTF-8."""
    pages: Sequence[int]
    """The site's own pages, its home page first."""
    path: Callable[[int], bytes]
    find: Callable[[bytes], int]
    """The site's page that has a path; -1 if there is none."""
    usual: Callable[[bytes, Asked], Answer]
    """What the site would answer if it played nothing."""
    homes: Callable[[int], str]
    """The home page of any site, by a draw."""

    def draw(self, *words: object) -> int:
        """64 bits that follow from the seed, the site and these words."""
        text = "/".join(map(str, (self.seed, self.site, *words)))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")

    def url(self, label: str, path: str = "/", *, secure: bool = False) -> str:
        """An address under one of the site's further names."""
        port = self.tls_port if secure else self.port
        usual = 443 if secure else 80
        end = "" if port == usual else f":{port}"
        return f"{'https' if secure else 'http'}://{label}-of-{self.site}.{self.tld}{end}{path}"

    def words(self, draw: int, texts: int = 6) -> bytes:
        """Some texts, by a draw."""
        titles = self.titles
        return b". ".join(titles[(draw >> (8 * (i % 8)) ^ i) & 255] for i in range(texts)) + b"."

    def copied(self, draw: int) -> bytes:
        """The path of one of the site's own pages, by a draw."""
        return self.path(self.pages[draw % len(self.pages)])


class Ask(NamedTuple):
    """One request to a site that plays a scenario."""

    place: Place
    label: str
    """Which of the site's further names was asked (`mirror-2`, or what stands before its own); empty for its own."""
    path: bytes
    asked: Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A hazard that a site can play."""

    name: str
    about: str
    """What it serves, in one line."""
    source: str
    """Who describes it."""
    family: Family
    answer: Callable[[Ask], Answer | None]
    """What is answered; None: what the site usually would, under whichever name."""
    links: Callable[[Place], Iterable[str]]
    """The addresses on each of the site's own pages by which a crawler comes to it."""
    prefix: bytes = b""
    """Paths that begin like this are the hazard's; empty: it has no path of its own."""
    everywhere: bool = False
    """The site's own pages are the hazard's to answer, too."""
    names: Mapping[str, int] = field(default_factory=dict)
    """Further domains: so many of each kind, `mirror-1-of-7.test`."""
    below: bool = False
    """Every name below the site's own exists."""
    twin: bool = False
    """The site's name with www. exists if it has none, and the other way round."""
    literal: bool = False
    """It is served at the address ::1, too."""
    dead_first: bool = False
    """The first address of the site's name is dead."""
    own_robots: bool = False
    """It answers for robots.txt of its further names, too."""
    flaw: str = ""
    """What is wrong with the certificates of its further names."""
    copied: Callable[[Ask], int] = lambda ask: -1  # noqa: ARG005
    """The page of the site whose content a hazard's address shows once more; -1 if it is none."""

    @property
    def needs_names(self) -> bool:
        """Whether it cannot be played where sites are called by their addresses."""
        return bool(self.names or self.below or self.twin or self.dead_first)


def sheet(place: Place, title: object, links: Iterable[str] = (), *, draw: int = 0, texts: int = 12) -> bytes:
    """A page with a title, some text by a draw, and links."""
    said = str(title).encode()
    rows = "".join(f'<li><a href="{escaped(link)}">{number}</a></li>\n' for number, link in enumerate(links)).encode()
    return (
        b'<!DOCTYPE html>\n<html lang="es"><head><meta charset="utf-8"><title>%b</title></head>\n'
        b'<body><h1>%b</h1>\n<p>%b</p>\n<ul class="more">\n%b</ul></body></html>\n'
    ) % (said, said, place.words(draw, texts), rows)


def escaped(address: str) -> str:
    """An address as it stands in an attribute."""
    return address.replace("&", "&amp;").replace('"', "%22").replace("<", "%3C")


def page(kind: str, body: bytes, headers: bytes = HTML, status: int = 200) -> Answer:
    """A hazard's answer that is sent whole."""
    return Answer(status, kind, headers, body)


def number_in(path: bytes, prefix: bytes, suffix: bytes = b"") -> int:
    """The number between two texts; -1 if there is none."""
    digits = path[len(prefix) : len(path) - len(suffix)]
    fits = path.startswith(prefix) and path.endswith(suffix) and digits.isdigit() and len(digits) < 10
    return int(digits) if fits else -1
