"""Domains whose name servers know any name (P3 4.1). In: how many sites a domain has, and what came of asking for a
sister name that nobody can have given. Out: whether a site of it is one of those without end.

A page on such a domain can link to names without end, each a site with pages, a robots.txt and a wait of its own. The
question is asked by whoever runs the loop, since the frontier never waits: until the answer is there, sites come in.

>>> wildcards = Wildcards(4)
>>> [wildcards.is_wild("a.wild.example", "wild.example", sites) for sites in range(6)], wildcards.suspects
([False, False, False, False, False, False], ['wild.example'])
>>> wildcards.answered("wild.example", wild=True)
>>> wildcards.is_wild("b.wild.example", "wild.example", 4), wildcards.is_wild("b.c.example", "c.example", 9)
(True, False)
>>> [wildcards.note_door("wild.example", 5, size) for size in (900, 910, 905)], wildcards.doorways["wild.example"]
([False, True, True], 2)
"""

from __future__ import annotations

from collections import Counter

from weft.urls import host_of

_ASKED = 10  # sites of a domain before anybody asks
_QUESTIONS = 20  # about a domain


class Wildcards:
    """What is known of domains with many sites."""

    def __init__(self, most: int) -> None:
        self._most = most  # sites of a domain that knows any name
        self._asked: dict[str, str] = {}  # names below which an absurd one was asked for, and their domains
        self._questions: Counter[str] = Counter()  # by domain
        self._known: set[str] = set()  # names below which there is any
        self.wild: set[str] = set()  # domains of these
        self.doorways: Counter[str] = Counter()  # sites of these whose first pages looked as that of another
        self._doors: dict[str, tuple[int, int]] = {}  # of these: links and bytes of the last first page
        self.suspects: list[str] = []  # names below which an absurd one is to be asked for

    def __repr__(self) -> str:
        return f"Wildcards({len(self.wild)} of {len(self._asked)} domains)"

    def is_wild(self, site: str, domain: str, sites: int) -> bool:
        """Is a site one of those without end, as far as is known? It is where anything below a name can be had that is
        its domain's, or between the two. They are asked for when the domain has some sites, at the latest half as many
        as such a domain may have.
        """
        if sites < min(_ASKED, self._most // 2):
            return False
        above = host_of(site).partition(".")[2]
        while above.endswith(domain):
            if above in self._asked:
                if above in self._known:
                    return True
            elif self._questions[domain] < _QUESTIONS:
                self._questions[domain] += 1
                self._asked[above] = domain
                self.suspects.append(above)
            above = above.partition(".")[2]
        return False

    def answered(self, name: str, *, wild: bool) -> None:
        """The name servers know an absurd name below one that they were asked about, or do not."""
        if wild:
            self._known.add(name)
            self.wild.add(self._asked[name])

    def note_door(self, domain: str, links: int, size: int) -> bool:
        """The first page of a site of such a domain: does it look as that of the one before?"""
        before = self._doors.get(domain, (-1, -1))
        self._doors[domain] = links, size
        same = links == before[0] and abs(size - before[1]) <= 64 + (size >> 5)
        self.doorways[domain] += same
        return same
