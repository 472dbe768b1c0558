"""Orders by a slow, literal program, from the rules as they are written and from nothing of weft's: a stand-in for
orders that others worked out. One connection, one page a visit, a second a page.

Site and page are looked for by going through all of them at every step. A site's key is that of its best page (score
descending, then first found first), or the number of its pending pages, then its best page's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Weighing(Protocol):
    """Says what links count that do not all count the same."""

    located: set[int]

    def visit(self, source: int, targets: list[int]) -> list[float]:
        """What the links of a page of a site count, by the sites that they lead to."""


class Literal:
    """One crawl of a graph."""

    def __init__(
        self,
        site_of: Sequence[int],
        links: Sequence[Sequence[int]],
        seeds: Sequence[int],
        weighing: Weighing | None = None,
    ) -> None:
        self._weighing = weighing
        self._site_of = site_of
        self._links = links
        self._seeds = seeds

    def order(self, name: str, wait: float, true: Sequence[float]) -> list[int]:
        """The pages in the order in which they are visited."""
        place: dict[int, int] = {}  # by page: when it was found
        score: dict[int, float] = {}
        pending: dict[int, list[int]] = {}  # by site
        free_at: dict[int, float] = {}
        visited: list[int] = []
        started: set[int] = set()

        def find(page: int, *, seed: bool) -> None:
            place[page] = len(place)
            starts = {"opic": 1.0, "opic-seeds": float(seed), "omniscient": true[page]}
            score[page] = starts.get(name, 0.0)
            pending.setdefault(self._site_of[page], []).append(page)

        def best(site: int) -> int:
            return min(pending[site], key=lambda page: (-score[page], place[page]))

        def key(site: int) -> tuple[float, ...]:
            page = best(site)
            return (-len(pending[site]) if name == "larger-sites-first" else -score[page], place[page])

        for page in self._seeds:
            find(page, seed=True)
        now = 0.0
        while any(pending.values()):
            waiting = [site for site, pages in pending.items() if pages]
            ready = [site for site in waiting if free_at.get(site, 0.0) <= now]
            if not ready:
                now = min(free_at[site] for site in waiting)
                continue
            site = min(ready, key=key)
            page = best(site)
            pending[site].remove(page)
            started.add(page)
            now += 1.0
            visited.append(page)
            shares = [1.0] * len(self._links[page])
            if self._weighing is not None:
                self._weighing.located.add(site)
                shares = self._weighing.visit(site, [self._site_of[target] for target in self._links[page]])
            for target, share in zip(self._links[page], shares, strict=True):
                if target not in place:
                    find(target, seed=False)
                if target not in started:
                    score[target] += share * self._gift(name, score[page], len(self._links[page]))
            free_at[site] = now + wait
        return visited

    @staticmethod
    def _gift(name: str, cash: float, links: int) -> float:
        """What a link from a visited page adds to the score of a page that waits."""
        return {"backlink": 1.0, "opic": cash / links, "opic-seeds": cash / links}.get(name, 0.0)
