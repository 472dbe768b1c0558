"""What was asked of the crawl, and when: its settings, in their order of time. In: a crawl's directory. Out: the
settings that held at a time, for all sites or for one.

A crawl may go on with other waits and limits than before. Those of every run are kept (`directory.kept_settings`); of
a crawl that was begun by a release that did not, only the present ones are known, and times before the first that were
kept are judged by those, less strictly: what the crawl wrote down at the time counts where it is less.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.config import Settings
from weft.directory import kept_settings

NEVER = np.iinfo(np.int64).max  # the time of what did not happen


class Terms:
    """The settings of a crawl by time, in microseconds."""

    def __init__(self, settings: list[Settings], begins: list[int], *, known_from: int) -> None:
        self.settings = settings
        self._agents = [each.identity.product for each in settings]
        self._begins = begins  # of all but the first
        self.known_from = known_from  # before this the settings may have been others

    def __repr__(self) -> str:
        return f"Terms({len(self.settings)} settings)"

    @classmethod
    def read(cls, out: Path) -> Terms:
        """Those of a crawl."""
        kept = kept_settings(out)
        if not kept:
            return cls([Settings().with_file(out / "crawl.toml")], [], known_from=NEVER)
        begins = [int(since * 1e6) for since, _ in kept]
        return cls([Settings().with_file(path) for _, path in kept], begins[1:], known_from=begins[0])

    def number(self, time: int) -> int:
        """The number of the settings that held at a time."""
        return bisect_right(self._begins, time)

    def numbers(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for many times."""
        found: NDArray[np.int64] = np.searchsorted(np.array(self._begins, np.int64), times, "right")
        return found

    def at(self, time: int) -> Settings:
        """The settings that held at a time."""
        return self.settings[self.number(time)]

    def obeys(self, site: str, time: int) -> bool:
        """Was robots.txt to be obeyed, of this site at this time?"""
        settings = self.at(time)
        own = settings.overrides.of(site).robots if settings.overrides.sites else None
        return (own or settings.selection.robots) == "obey"

    def agent(self, time: int) -> str:
        """The name by which robots.txt addressed the crawl at a time."""
        return self._agents[self.number(time)]
