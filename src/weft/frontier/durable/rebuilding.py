"""A global frontier made anew, when it or a worker's log is damaged. In: what was fetched, links to what was not, and
whatever can still be read of the old one and of the logs. Out: one from which workers check everything out.

Every page that was fetched is in the parcel of its group as done. What else is known of pages comes as links: workers
take each once, and ask the rules. Of sites that is kept which can be read; somebody may have been there just now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from weft.errors import WeftError
from weft.frontier.durable.chain import as_extent, commits_left, records_left, unsound
from weft.frontier.durable.log import FrontierLog, entries_of
from weft.frontier.durable.on_shelf import links_left, links_of, on_shelf
from weft.frontier.durable.parcels import DONE, Content, SiteParcel, packed, unpacked
from weft.frontier.durable.past import Past
from weft.frontier.durable.records import Commit
from weft.frontier.shared.contract import Found, Message, Parcel, Remains, SharedFrontier
from weft.frontier.shared.opening import create_frontier
from weft.model import KINDS
from weft.urls import registered_domain, site_of

_BAD = (WeftError, msgspec.MsgspecError, TypeError, ValueError)
T = TypeVar("T")


def _texts(found: Iterable[object]) -> list[str]:
    """What can be used of what a damaged database gives: where a page of it is missing, any value may be anything."""
    return [each for each in found if isinstance(each, str)]


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://")) and len(text) > len("https://")


class Rebuilding:
    """What is known of a frontier, beside what the columns say."""

    def __init__(
        self, out: Path, shared: SharedFrontier | None, *, seeds: list[str], admitted: list[str], wall: float
    ) -> None:
        self._out = out
        self._logs = sorted(out.glob("workers/*/frontier.log"))
        self._shared = shared
        self._seeds = seeds
        self._wall = wall
        self._sites: dict[str, SiteParcel] = {}
        self.blacklist = _texts(self._tried(lambda: shared.blacklist() if shared else [], []))
        known = [url for url in _texts(self._tried(lambda: shared.scope() if shared else [], [])) if _is_url(url)]
        self.scope = list(dict.fromkeys([*seeds, *known, *admitted]))
        self._learn_sites()

    def __repr__(self) -> str:
        return f"Rebuilding({len(self._logs)} logs, {len(self._sites)} sites)"

    @staticmethod
    def _tried(what: Callable[[], T], otherwise: T) -> T:
        try:
            return what()
        except _BAD:
            return otherwise

    def _learn_sites(self) -> None:
        """What the good parts of the logs remember of sites."""
        for path in self._logs:
            try:
                log = FrontierLog(path, read_only=True)
            except WeftError:
                continue  # it begins with what is damaged
            try:
                past = Past(log)
                # A robots.txt that may not be what was sent is not obeyed: it is asked for again.
                damaged = {as_extent(file) for file, _ in unsound(path, closely=True)}
                for replayed in log.good_part():
                    past.take(replayed)
                self.scope += [url for url in past.scope if url not in self.scope]
                for number, memory in past.states.items():
                    name = past.names[number]
                    self._sites[name] = SiteParcel(name, memory, past.robots_of(number, without=damaged))
                for _group, content in on_shelf(past, log):
                    self._sites |= {site.name: SiteParcel(site.name, site.memory) for site in content.sites}
            except _BAD:
                continue
            finally:
                log.close()

    def write(self, place: Path, fetched: Iterable[tuple[str, str, int, int]], links: Iterable[Found]) -> None:
        """Make the frontier: `fetched` are URL, kind, depth and via of each page that is done."""
        shared, pages = self._shared, self._by_group(fetched)
        state = self._tried(lambda: shared.state() if shared else None, None)
        done = {row[0] for rows in pages.values() for row in rows}
        fresh = (link for some in (self._remembered(), links) for link in some if link.url not in done)
        remains = Remains(
            state=state,
            scope=self.scope,
            blacklist=self.blacklist,
            parcels=(Parcel(group, 0, packed(self._content(group, rows))) for group, rows in pages.items()),
            links=fresh,
        )
        create_frontier(place, by_size=False, seeds=self._seeds, remains=remains, home=self._out)

    def write_logs(self, folder: Path) -> None:
        """Make a log for each worker whose old one can be read: it holds nothing but what was counted."""
        for path in self._logs:
            counts = b""
            for commit in commits_left(path):
                counts = commit.counts
            if not counts:
                continue
            (folder / path.parent.name).mkdir(parents=True)
            log = FrontierLog(folder / path.parent.name / path.name)
            try:
                log.commit(Commit(counts=counts), sync=True)
            finally:
                log.close()

    def _by_group(self, fetched: Iterable[tuple[str, str, int, int]]) -> dict[str, list[tuple[str, str, int, int]]]:
        """The pages that are done of each group of which something is known."""
        pages: dict[str, list[tuple[str, str, int, int]]] = {}
        for row in fetched:
            pages.setdefault(registered_domain(site_of(row[0])), []).append(row)
        for name in self._sites:
            pages.setdefault(registered_domain(name), [])
        return pages

    def _content(self, group: str, rows: list[tuple[str, str, int, int]]) -> Content:
        own = (name for name in self._sites if registered_domain(name) == group) if not rows else ()
        names = sorted({*(site_of(row[0]) for row in rows), *own})
        places = {name: place for place, name in enumerate(names)}
        return Content(
            [self._sites.get(name, SiteParcel(name)) for name in names],
            clean=False,
            made_at=self._wall,
            urls="\n".join(row[0] for row in rows).encode(),
            site=np.array([places[site_of(row[0])] for row in rows], np.int32).tobytes(),
            via=np.array([row[3] for row in rows], np.int64).view(np.uint64).tobytes(),
            depth=np.array([row[2] for row in rows], np.uint16).tobytes(),
            kind=np.array([KINDS[row[1]] for row in rows], np.uint8).tobytes(),
            state=np.full(len(rows), DONE, np.uint8).tobytes(),
        )

    def _remembered(self) -> Iterator[Found]:
        """Every page that can be read of the logs and of the old global frontier."""
        for path in self._logs:
            for record in records_left(path, pages=True):
                for entry in entries_of(record.payload):
                    yield Found(entry.url, entry.kind, entry.depth, entry.via, steps=entry.steps)
            yield from links_left(path)
        if self._shared is not None:
            for message in self._shared.remains():
                try:
                    yield from _links_of(message)
                except _BAD:
                    continue


def _links_of(message: Message) -> Iterator[Found]:
    yield from (notice for notice in message.notices if isinstance(notice, Found))
    for parcel in message.parcels:
        yield from links_of(unpacked(parcel.content))
