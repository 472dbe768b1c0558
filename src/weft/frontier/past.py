"""What the records of a frontier's log say together. In: records, in order. Out: sites, groups and pages as they stand
at the last of them.

A worker that goes on, one that hands over and whoever asks about a URL all read a log; this is the one place that
knows what its records mean for each other.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from weft.frontier.log import Commit, Replayed
from weft.frontier.sites import with_cookies
from weft.urls import registered_domain

GONE = -1  # the site of a page whose site went to another worker


class Past:
    """A log, record by record."""

    def __init__(self) -> None:
        self.clean = False  # the worker had stopped by itself
        self.names: list[str] = []  # of sites, by number; a site that left and came again has two
        self.left: set[int] = set()  # numbers of sites that went to another worker
        self.groups: dict[str, None] = {}  # that are held, in the order in which they came
        self.scope: list[str] = []
        self._states: dict[int, bytes] = {}  # by site: `SiteMemory`, encoded, and its cookies where these changed last
        self._jars: dict[int, bytes] = {}
        self.robots: dict[int, dict[str, bytes]] = {}  # by site and scheme: `RobotsRecord`, encoded
        self.retries: dict[int, tuple[int, float]] = {}  # pages to be tried again: tries so far, wall time
        self.requests: dict[int, bytes] = {}  # by page: `Special`, encoded
        self.sent: set[int] = set()  # pages that are sent once, and may have been
        self._sites: list[NDArray[np.int32]] = []
        self._redirects: list[bytes] = []
        self._settled: list[bytes] = []
        self._refused: dict[str, list[bytes]] = {}  # by reason
        self._replaced: list[bytes] = []

    def __repr__(self) -> str:
        return f"Past({len(self.names)} sites, {len(self.groups)} groups)"

    def take(self, replayed: Replayed) -> None:
        """The next record."""
        commit, rows, _prints, _places = replayed
        self.clean = commit.clean
        self.names += commit.sites
        self.scope += commit.scope
        self.groups.update(dict.fromkeys(commit.groups))
        self._states.update(commit.states)
        self._jars.update(commit.jars)
        for number, scheme, record in commit.robots:
            self.robots.setdefault(number, {})[scheme] = record
        self.retries.update({page: (tries, wall) for page, tries, wall in commit.delayed})
        self.requests.update(commit.requests)
        for page, sent in commit.sent:
            (self.sent.add if sent else self.sent.discard)(page)
        self._sites.append(rows["site"].copy())
        self._redirects.append(commit.redirects)
        self._settled.append(commit.settled)
        for reason, pages in commit.refused.items():
            self._refused.setdefault(reason, []).append(pages)
        self._replaced.append(commit.replaced)
        if commit.left:
            self._leave(commit.left)

    @property
    def states(self) -> dict[int, bytes]:
        """By site: `SiteMemory`, encoded."""
        for number, cookies in self._jars.items():
            self._states[number] = with_cookies(self._states[number], cookies)
        self._jars = {}
        return self._states

    def sites(self) -> NDArray[np.int32]:
        """By page: the number of its site, or `GONE`."""
        return np.concatenate(self._sites) if self._sites else np.empty(0, np.int32)

    def settled(self) -> NDArray[np.uint32]:
        """Pages that are done."""
        return np.frombuffer(b"".join(self._settled), np.uint32)

    def unknown(self) -> list[int]:
        """Pages that were sent for once and whose outcome is not known. From here on they count as done."""
        pages = self._open(self.sent)
        self._settled.append(np.array(pages, np.uint32).tobytes())
        return pages

    def special(self) -> dict[int, bytes]:
        """The requests of pages that are not done, encoded."""
        return {page: self.requests[page] for page in self._open(self.requests)}

    def _open(self, pages: Collection[int]) -> list[int]:
        """Those of some pages that are neither done nor refused."""
        if not pages:
            return []
        found = np.array(sorted(pages), np.uint32)
        left: list[int] = found[~np.isin(found, self.settled()) & ~np.isin(found, self.refused())].tolist()
        return left

    def redirects(self) -> NDArray[np.uint32]:
        """Pages that were found by a redirect, each with the page that it was on."""
        return np.frombuffer(b"".join(self._redirects), np.uint32).reshape(-1, 2)

    def refused(self) -> NDArray[np.uint32]:
        """Pages that were refused when their turn came."""
        return np.frombuffer(b"".join(part for parts in self._refused.values() for part in parts), np.uint32)

    def refusals(self) -> dict[str, NDArray[np.uint32]]:
        """The same, by the reason."""
        return {reason: np.frombuffer(b"".join(parts), np.uint32) for reason, parts in self._refused.items()}

    def replaced(self) -> NDArray[np.uint32]:
        """Pages whose URLs have other numbers by now."""
        return np.frombuffer(b"".join(self._replaced), np.uint32)

    def _leave(self, numbers: list[int]) -> None:
        """Sites went to another worker: what was known of them until then is not ours."""
        self.left.update(numbers)
        for number in numbers:
            self.groups.pop(registered_domain(self.names[number]), None)
            self._states.pop(number, None)
            self._jars.pop(number, None)
            self.robots.pop(number, None)
        for part in self._sites:
            part[np.isin(part, numbers)] = GONE


class Scores:
    """The scores of a log's pages, record by record. Kept apart: who goes on has them in the heaps already."""

    def __init__(self) -> None:
        self._new: list[NDArray[np.float64]] = []
        self._changes: list[tuple[NDArray[np.uint32], NDArray[np.float64]]] = []

    def __repr__(self) -> str:
        return f"Scores({len(self._new)} records)"

    def take(self, commit: Commit) -> None:
        """The next record."""
        self._new.append(np.frombuffer(commit.scores))
        self._changes.append((np.frombuffer(commit.rescored, np.uint32), np.frombuffer(commit.rescores)))

    def all(self) -> NDArray[np.float64]:
        """By page: its score; of none, where the ordering does not score."""
        scores: NDArray[np.float64] = np.concatenate([np.empty(0), *self._new])
        for pages, now in self._changes:
            scores[pages] = now
        return scores
