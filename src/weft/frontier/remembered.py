"""Links that were followed before. In: a link as it is written, and where. Out: what is to be known of where it leads.

Most links of a page were on an earlier page of the same site, written the same way: they are answered here, without
parsing or hashing anything; URL-seen was asked about them then. When too many are remembered, all are forgotten; what
is in use fills up again at once.
"""

from __future__ import annotations

_MOST = 200_000  # links remembered over all sites
_AT_ONCE = 1000  # links let go with a page: freeing all of them would hold everything up for a tenth of a second

Caches = tuple[dict[str, int], dict[str, int], dict[str, int], dict[str, int], dict[str, int]]
"""Links relative to the origin and absolute ones, of pages, then of the parts of pages; and those that ask not to be
followed, of whatever kind.
"""


class Remembered:
    """The links of one worker's pages."""

    def __init__(self, *, shared: bool) -> None:
        self._shared = shared  # an absolute link means the same on every site
        self._absolute: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._sites: dict[int, dict[str, Caches]] = {}
        self._count = 0
        self._old: list[dict[str, int]] = []  # to be let go

    def __repr__(self) -> str:
        return f"Remembered({self._count} links of {len(self._sites)} sites)"

    def of(self, site: int, origin: str) -> Caches:
        """What is remembered of a site's pages with this origin."""
        found = self._sites.setdefault(site, {}).get(origin)
        if found is None:
            pages, parts = self._absolute if self._shared else ({}, {})
            found = self._sites[site][origin] = ({}, pages, {}, parts, {})
        return found

    def forget(self, site: int) -> None:
        """A site has no more pages."""
        for relative, absolute, parts, absolute_parts, unfollowed in self._sites.pop(site, {}).values():
            self._old += (relative, parts, unfollowed)
            self._old += () if self._shared else (absolute, absolute_parts)

    def added(self, links: int) -> None:
        """So many more are remembered: make room, a little at a time."""
        self._count += links
        if self._count > _MOST:
            for site in list(self._sites):
                self.forget(site)
            self._old += self._absolute
            self._absolute = ({}, {})
            self._count = 0
        if self._old:
            self._let_go()

    def _let_go(self) -> None:
        left = _AT_ONCE
        while self._old and left > 0:
            left -= 1
            if self._old[-1]:
                self._old[-1].popitem()
            else:
                self._old.pop()
