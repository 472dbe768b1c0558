"""A global frontier made anew, when it or a worker's log is damaged. In: what was fetched, links to what was not, and
whatever can still be read of the old one and of the logs. Out: a file from which workers check everything out.

Every page that was fetched is in the parcel of its group as done. What else is known of pages comes as links: workers
take each once, and ask the rules. Of sites that is kept which can be read; somebody may have been there just now.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from weft.errors import WeftError
from weft.frontier.contract import Link, Parcel
from weft.frontier.embedded import EmbeddedFrontier
from weft.frontier.embedded_file import encoded, links_in, message_in, new_file, parcel_in
from weft.frontier.embedded_groups import bring_again, plant
from weft.frontier.log import FrontierLog, entries_of
from weft.frontier.parcels import DONE, Content, SiteParcel, packed, pages_of, unpacked
from weft.frontier.past import Past
from weft.frontier.records import Commit, records_of
from weft.model import KINDS
from weft.urls import registered_domain, site_of

_KEPT = ("by_size", "rules", "speed", "speed of a run", "paused", "restarts")  # what was said to the old one
_BAD = (sqlite3.Error, WeftError, msgspec.MsgspecError, TypeError, ValueError)


class Rebuilding:
    """What is known of a frontier, beside what the columns say."""

    def __init__(
        self, out: Path, hub: EmbeddedFrontier | None, *, seeds: list[str], admitted: list[str], wall: float
    ) -> None:
        self._logs = sorted(out.glob("workers/*/frontier.log"))
        self._hub = hub
        self._seeds = seeds
        self._wall = wall
        self._sites: dict[str, SiteParcel] = {}
        self.blacklist: list[str] = self._tried(lambda: hub.blacklist() if hub else [])
        self.scope = list(dict.fromkeys([*seeds, *self._tried(lambda: hub.scope() if hub else []), *admitted]))
        self._learn_sites()

    def __repr__(self) -> str:
        return f"Rebuilding({len(self._logs)} logs, {len(self._sites)} sites)"

    @staticmethod
    def _tried(what: Any) -> list[str]:
        try:
            return list(what())
        except _BAD:
            return []

    def _learn_sites(self) -> None:
        """What the good parts of the logs remember of sites."""
        for path in self._logs:
            log, past = FrontierLog(path, read_only=True), Past()
            try:
                for replayed in log.good_part():
                    past.take(replayed)
            finally:
                log.close()
            self.scope += [url for url in past.scope if url not in self.scope]
            for number, memory in past.states.items():
                name = past.names[number]
                self._sites[name] = SiteParcel(name, memory, past.robots.get(number, {}))

    def write(self, path: Path, fetched: Iterable[tuple[str, str, int, int]], links: Iterable[Link]) -> None:
        """Make the file: `fetched` are URL, kind, depth and via of each page that is done."""
        with new_file(path) as base:
            base.executemany("insert into about values(?, ?)", self._about().items())
            done = self._write_parcels(base, fetched)
            plant(base, self._seeds)
            base.executemany("insert or ignore into scope(url) values(?)", ((url,) for url in self.scope))
            base.executemany("insert into rules(rule) values(?)", ((rule,) for rule in self.blacklist))
            fresh = (link for some in (self._remembered(), links) for link in some if link.url not in done)
            bring_again(base, fresh)

    def write_logs(self, folder: Path) -> None:
        """Make a log for each worker whose old one can be read: it holds nothing but what was counted."""
        for path in self._logs:
            counts = b""
            for record in records_of(path):
                counts = record.commit().counts
            if not counts:
                continue
            (folder / path.parent.name).mkdir(parents=True)
            log = FrontierLog(folder / path.parent.name / path.name)
            try:
                log.commit(Commit(counts=counts), sync=True)
            finally:
                log.close()

    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] = {"by_size": 0, "pass": 0, "over": "", "paused": 0}
        for name in _KEPT:
            try:
                value = None if self._hub is None else self._hub.get(name)
            except _BAD:
                value = None
            if value is not None:
                about[name] = value
        return about

    def _write_parcels(self, base: sqlite3.Connection, fetched: Iterable[tuple[str, str, int, int]]) -> set[str]:
        """A parcel for each group of which something is known; the pages that are done."""
        pages: dict[str, list[tuple[str, str, int, int]]] = {}
        for row in fetched:
            pages.setdefault(registered_domain(site_of(row[0])), []).append(row)
        for name in self._sites:
            pages.setdefault(registered_domain(name), [])
        for order, (group, rows) in enumerate(pages.items()):
            parcel = Parcel(group, 0, packed(self._content(group, rows)))
            values = (group, order - (1 << 40), encoded(parcel))
            base.execute("insert into groups values(?, null, 0, ?, 0, ?)", values)
        return {row[0] for rows in pages.values() for row in rows}

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

    def _remembered(self) -> Iterator[Link]:
        """Every page that can be read of the logs and of the old global frontier."""
        for path in self._logs:
            for record in records_of(path):
                for entry in entries_of(record.payload):
                    yield Link(entry.url, entry.kind, entry.depth, entry.via, steps=entry.steps)
        if self._hub is not None:
            for read, data in self._hub.blobs():
                try:
                    yield from _links_of(read, data)
                except _BAD:
                    continue


def _links_of(what: str, data: bytes) -> Iterator[Link]:
    if what == "links":
        yield from links_in(data)
        return
    message = message_in(data) if what == "message" else None
    yield from message.links if message is not None else ()
    for parcel in message.parcels if message is not None else (parcel_in(data),):
        urls, _site, via, depth, kind, _state, _scores, steps = pages_of(unpacked(parcel.content))
        columns = (via.tolist(), depth.tolist(), kind.tolist(), steps.tolist())
        for url, source, deep, how, far in zip(urls, *columns, strict=True):
            yield Link(url, how, deep, source, steps=far)
