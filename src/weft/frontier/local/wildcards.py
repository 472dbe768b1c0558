"""Domains whose name servers know any name (P3 4.1). In: how many sites a domain has, and what came of asking for a
name that nobody can have given. Out: whether the domain has any name.

A page on such a domain can link to names without end, each a site with pages, a robots.txt and a wait of its own. The
question is asked by whoever runs the loop, since the frontier never waits: until the answer is there, sites come in.

>>> wildcards = Wildcards(4)
>>> [wildcards.is_wild("wild.example", sites) for sites in range(6)], wildcards.suspects
([False, False, False, False, False, False], ['wild.example'])
>>> wildcards.answered("wild.example", wild=True)
>>> wildcards.is_wild("wild.example", 4), wildcards.is_wild("b.example", 9)
(True, False)
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

    def is_wild(self, domain: str, sites: int) -> bool:
        """Does a domain with so many sites have any name, as far as is known? It is asked when it has half as many as
        such a domain may have.
        """
        if sites >= self._most // 2 and domain not in self._asked:
            self._asked.add(domain)
            self.suspects.append(domain)
        return domain in self._wild

    def answered(self, domain: str, *, wild: bool) -> None:
        """Its name servers know an absurd name, or do not."""
        if wild:
            self._wild.add(domain)
