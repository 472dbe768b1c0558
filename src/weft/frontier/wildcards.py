"""Domains whose name servers know any name (P3 4.1). In: how many sites a domain has, and what came of asking for a
name that nobody can have given. Out: whether a further site of it is taken in.

A page on such a domain can link to names without end, each a site with pages, a robots.txt and a wait of its own. The
question is asked by whoever runs the loop, since the frontier never waits: until the answer is there, sites come in.

>>> wildcards = Wildcards(4)
>>> [wildcards.refuses("wild.example", sites) for sites in range(6)], wildcards.suspects
([False, False, False, False, False, False], ['wild.example'])
>>> wildcards.answered("wild.example", wild=True)
>>> wildcards.refuses("wild.example", 3), wildcards.refuses("wild.example", 4), wildcards.refuses("b.example", 9)
(False, True, False)
"""

from __future__ import annotations


class Wildcards:
    """What is known of domains with many sites."""

    def __init__(self, most: int) -> None:
        self._most = most  # sites of a domain that knows any name
        self._asked: set[str] = set()
        self._wild: set[str] = set()
        self.suspects: list[str] = []  # domains that are to be asked for an absurd name

    def __repr__(self) -> str:
        return f"Wildcards({len(self._wild)} of {len(self._asked)} domains)"

    def refuses(self, domain: str, sites: int) -> bool:
        """Is there no room for another site of a domain that has so many?"""
        if sites >= self._most // 2 and domain not in self._asked:
            self._asked.add(domain)
            self.suspects.append(domain)
        return sites >= self._most and domain in self._wild

    def answered(self, domain: str, *, wild: bool) -> None:
        """Its name servers know an absurd name, or do not."""
        if wild:
            self._wild.add(domain)
