"""What the frontier knows of one URL, read from its log beside a running crawl or after it. In: an id. Out: where
it stands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.frontier.log import Entry, FrontierLog
from weft.frontier.past import GONE, Past
from weft.frontier.sites import RobotsRecord, SiteMemory

State = Literal["done", "refused", "retry", "pending"]


class Standing(NamedTuple):
    """Where a page stands in the frontier."""

    entry: Entry
    found_on: str | None  # URL of the page where it was found first
    state: State
    tries: int
    due: float | None  # wall time before which it is not tried again
    ahead: int  # pending pages of its site that were found before it
    site_pages: int  # pages known of its site
    memory: SiteMemory | None  # of its site


class Ledger:
    """A frontier's log, read once."""

    def __init__(self, path: Path) -> None:
        self._log = FrontierLog(path, read_only=True)
        self._past = Past()
        prints: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
        for replayed in self._log.replay():
            self._past.take(replayed)
            prints.append(replayed.fingerprints.copy())
        self.names = self._past.names
        self.scope = self._past.scope
        self._sites = self._past.sites()
        self._prints = np.where(self._sites == GONE, np.uint64(0), np.concatenate(prints))
        self._prints[self._past.replaced()] = 0
        self._settled = self._past.settled()
        self._refused = self._past.refused()

    def robots(self, site: str, scheme: str) -> RobotsRecord | None:
        """The robots.txt that was had of a site."""
        numbers = [number for number, name in enumerate(self.names) if name == site]
        data = self._past.robots.get(numbers[-1], {}).get(scheme) if numbers else None
        return None if data is None else msgspec.msgpack.decode(data, type=RobotsRecord)

    def standing(self, url_id: int) -> Standing | None:
        """Where the page with this id stands, or None when it is not known."""
        places = np.flatnonzero(self._prints == np.uint64(url_id))
        if len(places) == 0:
            return None
        page = int(places[0])
        entry = self._log.entry(page)
        gone = np.zeros(len(self._prints), dtype=np.bool_)
        gone[self._settled] = True
        gone[self._refused] = True
        tries, due = self._past.retries.get(page, (0, None))
        state: State = "pending"
        if page in self._refused:
            state = "refused"
        elif gone[page]:
            state = "done"
        elif due is not None:
            state = "retry"
        same = self._sites == entry.site
        memory = self._past.states.get(entry.site)
        return Standing(
            entry=entry,
            found_on=self._url(entry.via),
            state=state,
            tries=tries,
            due=due,
            ahead=int(np.count_nonzero(same[:page] & ~gone[:page])),
            site_pages=int(np.count_nonzero(same)),
            memory=None if memory is None else msgspec.msgpack.decode(memory, type=SiteMemory),
        )

    def _url(self, url_id: int) -> str | None:
        """The URL of an id, as far as this worker knows it."""
        places = np.flatnonzero(self._prints == np.uint64(url_id))
        return self._log.entry(int(places[0])).url if url_id and len(places) else None

    def close(self) -> None:
        """Give the file back."""
        self._log.close()
