"""Sites that have a page for any URL (P3 4.1; Bar-Yossef et al. 2004), and names that are all one site. In: what pages
look like. Out: which site is asked for a URL that cannot exist, and which pages say what it said then.

A page looks like the one before where it has as many links and about as many bytes. That costs next to nothing and
proves nothing: it only makes sure that a site is asked. What is said of a URL that cannot exist is its apology, and a
page with the same words is one more of them; its links lead to others. A site that has an honest 404 is not asked
again.

>>> words_of(b"<h1>Sorry, there is no /a/b12.html</h1><p>Try <b>again</b>, please.</p>") == {
...     "sorry", "there", "is", "no", "try", "again", "please"}
True
>>> words_of(b"one<STYLE>p {x}</STYLE> two <script>three <p>four</script>five <script> six") == {"one", "two", "five"}
True
"""

from __future__ import annotations

import re

from weft.frontier.local.site import Signs, Site
from weft.frontier.local.sites import Sites
from weft.frontier.local.wildcards import Wildcards
from weft.frontier.scope import Scope
from weft.model import Parsed, Turn

FIRST = 20  # pages of a site before anybody looks
_SURE = 20  # pages that looked as the one before, until the site is asked
_SAME = 0.9  # of all words of two pages, those that both have
_LEAST = 4  # words by which an apology can be known
_READ = 50_000  # bytes of a page that are looked at
_HTML = frozenset(("text/html", "application/xhtml+xml"))
_tag = re.compile(rb"<[^<>]*>")
_hidden = re.compile(rb"<(script|style)\b", re.IGNORECASE)


def words_of(body: bytes) -> frozenset[str]:
    """The words of a page, those with digits or strokes in them left out: they are what apologies differ in."""
    text = _tag.sub(b" ", _shown(body[:_READ].lower())).decode("latin-1")
    return frozenset(word for each in text.split() if (word := each.strip(".,;:!?()\"'")).isalpha())


def _shown(body: bytes) -> bytes:
    """A page without its scripts and styles, in linear time whatever it is: what is not closed goes on to the end."""
    kept, at = [], 0
    while (hidden := _hidden.search(body, at)) is not None:
        kept.append(body[at : hidden.start()])
        at = body.find(b"</" + hidden[1], hidden.end())
        if at < 0:
            return b" ".join(kept)
    return b" ".join((*kept, body[at:]))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the words of two pages that both have."""
    return len(one & other) / len(one | other) if one or other else 1.0


class Apologies:
    """Knows the apologies of one local frontier's sites."""

    def __init__(self, scope: Scope, sites: Sites, wildcards: Wildcards) -> None:
        self._on = scope.selection.soft_404
        self._sites = sites
        self._wildcards = wildcards

    def __repr__(self) -> str:
        return f"Apologies({'on' if self._on else 'off'})"

    def suspects(self, site: Site, turn: Turn, size: int, parsed: Parsed) -> bool:
        """A page was read, so many bytes of it: may it be an apology of its site? Called for every page: that of most
        sites ends in the first line.
        """
        if site.fetched < FIRST:
            if not site.fetched and site.domain in self._wildcards.wild:
                self._note_door(site, size, parsed)
            return False
        if not self._on or parsed.type not in _HTML:
            return False
        signs = site.signs
        if signs is None:
            signs = site.signs = Signs()
        if signs.apology is not None:
            return bool(signs.apology) and turn.depth > 0
        links = len(parsed.links)
        if links == signs.links and abs(size - signs.size) <= 64 + (size >> 5):
            signs.alike += 1
            if signs.alike >= _SURE:
                signs.unsure = turn.url
        elif signs.alike:
            signs.alike -= 1
        signs.links, signs.size = links, size
        return False

    def confirms(self, site: Site, body: bytes) -> bool:
        """Does a page say what its site says of a URL that cannot exist?"""
        assert site.signs is not None
        assert site.signs.apology is not None
        return likeness(site.signs.apology, words_of(body)) >= _SAME

    def learn(self, site: Site, body: bytes | None) -> None:
        """What a site said of a URL that cannot exist; None where that was no page."""
        assert site.signs is not None
        words = frozenset[str]() if body is None else words_of(body)
        site.signs.unsure = ""
        site.signs.apology = words if len(words) >= _LEAST else frozenset()

    def _note_door(self, site: Site, size: int, parsed: Parsed) -> None:
        """The first page of a site whose domain has any name."""
        if self._wildcards.note_door(site.domain, len(parsed.links), size) and not site.doorway:
            site.doorway = True
            self._sites.changed.add(site.number)
