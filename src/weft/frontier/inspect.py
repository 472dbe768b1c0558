"""What the frontier knows of one URL, read from its log beside a running crawl or after it. In: a URL. Out: where it
stands.

It is looked for by its text: no other URL is taken for it, and the crawl's secret is not needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from weft.frontier.log import Entry, FrontierLog
from weft.frontier.past import GONE, Past
from weft.frontier.sites import RobotsRecord, SiteMemory, unpacked_robots
from weft.frontier.special import Special

State = Literal["done", "refused", "retry", "pending"]


class Standing(NamedTuple):
    """Where a page stands in the frontier."""

    entry: Entry
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
        for replayed in self._log.replay():
            self._past.take(replayed)
        self.names = self._past.names
        self.scope = self._past.scope
        self._sites = self._past.sites()
        self._settled = self._past.settled()
        self._refused = self._past.refused()

    def robots(self, site: str, scheme: str) -> RobotsRecord | None:
        """The robots.txt that was had of a site."""
        numbers = [number for number, name in enumerate(self.names) if name == site]
        data = self._past.robots.get(numbers[-1], {}).get(scheme) if numbers else None
        return None if data is None else unpacked_robots(data)

    def standing(self, url: str) -> Standing | None:
        """Where the page of a URL stands, or None when it is not known."""
        pages = [page for page in self._log.pages_of(url) if self._is_plain(page)]
        if not pages:
            return None
        page = pages[0]
        entry = self._log.entry(page)
        gone = np.zeros(len(self._sites), dtype=np.bool_)
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
            state=state,
            tries=tries,
            due=due,
            ahead=int(np.count_nonzero(same[:page] & ~gone[:page])),
            site_pages=int(np.count_nonzero(same)),
            memory=None if memory is None else msgspec.msgpack.decode(memory, type=SiteMemory),
        )

    def _is_plain(self, page: int) -> bool:
        """Is a page of this worker asked for by its URL alone? A POST, or what one led to, is another page."""
        if self._sites[page] == GONE or page in self._past.replaced():
            return False
        request = self._past.requests.get(page)
        special = None if request is None else msgspec.msgpack.decode(request, type=Special)
        return special is None or special.name(self._log.entry(page).url) == self._log.entry(page).url.encode()

    def close(self) -> None:
        """Give the file back."""
        self._log.close()
