"""Parcels: groups on their way from one worker to another. In: a worker's log. Out: a parcel for each group that it
held, with everything that it knew of it; and, where a parcel arrives, what is in it.

A parcel is made from the log alone, when its worker does not run. It holds the sites of the group with what they are
remembered by, their robots.txt files, and their pages as columns in the order of their discovery: so the pages of a
site come in the same order wherever they go. Fingerprints are not in it: they are made of the texts again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from weft.frontier.durable import past
from weft.frontier.durable.log import Commit, FrontierLog
from weft.frontier.durable.past import GONE, Past, Scores
from weft.frontier.durable.shelved import AWAY
from weft.frontier.shared.contract import Batch, Notice, Parcel
from weft.store.files import other_format
from weft.urls import registered_domain

PENDING, DONE, REFUSED, RETRY = range(4)  # where a page stands
FORMAT = 2
_LEVEL = 3  # of compression


class SiteParcel(msgspec.Struct, omit_defaults=True):
    """What is known of a site."""

    name: str
    memory: bytes = b""  # `SiteMemory`, encoded; none where it was never visited
    robots: dict[str, bytes] = {}  # by scheme: `RobotsRecord`, encoded


class Content(msgspec.Struct, omit_defaults=True):
    """What is in a parcel. The columns have an entry a page, in the order of discovery."""

    sites: list[SiteParcel] = []
    clean: bool = True  # the worker had stopped; if not, any of the sites may have been visited until `made_at`
    made_at: float = 0.0  # wall time
    urls: bytes = b""  # texts, one a line
    site: bytes = b""  # which of the sites, int32
    via: bytes = b""  # id of the page where it was found first, uint64
    depth: bytes = b""  # uint16
    kind: bytes = b""  # uint8
    state: bytes = b""  # uint8
    retries: list[tuple[int, int, float]] = []  # pages to be tried again: which, tries so far, wall time
    scores: bytes = b""  # float64, where the ordering scores
    format: int = 0
    steps: bytes = b""  # uint8; none where all are 0
    refused: dict[str, bytes] = {}  # by reason: which pages were refused when their turn came, uint32
    requests: list[tuple[int, bytes]] = []  # pages that are asked for in a way of their own: which, `Special` encoded


class Pages(NamedTuple):
    """The pages of a parcel, as columns."""

    urls: list[str]
    site: NDArray[np.int32]
    via: NDArray[np.uint64]
    depth: NDArray[np.uint16]
    kind: NDArray[np.uint8]
    state: NDArray[np.uint8]
    scores: NDArray[np.float64]  # none, or one a page
    steps: NDArray[np.uint8]


class _Format(msgspec.Struct):
    """What is looked at first."""

    format: int = 0


LIFTS: dict[int, Callable[[dict[str, Any]], None]] = {}  # by format: how its content becomes that of the next
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Content).decode
_decode_format = msgspec.msgpack.Decoder(_Format).decode


def packed(content: Content) -> bytes:
    """A parcel's content as bytes.

    >>> unpacked(packed(Content([SiteParcel("a.example")], clean=False))).sites[0].name
    'a.example'
    """
    content.format = FORMAT
    return zstandard.ZstdCompressor(_LEVEL).compress(_encode(content))


def unpacked(data: bytes) -> Content:
    """What is in a parcel."""
    said = zstandard.ZstdDecompressor().decompress(data)
    form = _decode_format(said).format
    if form != FORMAT:
        said = _lifted(said, form)
    return _decode(said)


def _lifted(said: bytes, form: int) -> bytes:
    """What a parcel of an earlier format says, in this one. Parcels lie with others: who reads one lifts it."""
    if any(each not in LIFTS for each in range(form, FORMAT)) or form > FORMAT:
        raise other_format("this parcel", form, FORMAT, "")
    content = msgspec.msgpack.decode(said)
    for each in range(form, FORMAT):
        LIFTS[each](content)
    return _encode(content | {"format": FORMAT})


def disturbed(parcel: Parcel, at: float) -> Parcel:
    """The parcel of a worker that may have been visiting the group's sites until this wall time."""
    content = unpacked(parcel.content) if parcel.content else Content()
    content.clean, content.made_at = False, at
    return Parcel(parcel.group, parcel.pending, packed(content))


def pages_of(content: Content) -> Pages:
    """The pages in a parcel."""
    return Pages(
        content.urls.decode().split("\n") if content.site else [],
        np.frombuffer(content.site, np.int32),
        np.frombuffer(content.via, np.uint64),
        np.frombuffer(content.depth, np.uint16),
        np.frombuffer(content.kind, np.uint8),
        np.frombuffer(content.state, np.uint8),
        np.frombuffer(content.scores, np.float64),
        np.frombuffer(content.steps or bytes(len(content.kind)), np.uint8),
    )


def parcels_of(path: Path, intact: Callable[[Commit], bool] = lambda _commit: True) -> Iterator[Parcel]:
    """A parcel for each group that the worker with this log held; the log is only read."""
    estate = Estate(path, intact, read_only=True)
    try:
        yield from estate.parcels(made_at=0.0)
    finally:
        estate.close()


class _Touched:
    """What some records of a log are about. A score that changed alone does not count: it changes all the time."""

    def __init__(self) -> None:
        self._pages: list[NDArray[Any]] = [np.empty(0, np.uint32)]
        self._sites: set[int] = set()
        self._groups: set[str] = set()  # that came, be it from the shelf, or were put away
        self.mailed: set[int] = set()  # keys of groups on the shelf that have new mail

    def take(self, commit: Commit, first: int, end: int) -> None:
        """The next record, with the numbers of its new pages."""
        told = (commit.settled, commit.replaced, *commit.refused.values())
        self._pages += [np.arange(first, end, dtype=np.uint32), *(np.frombuffer(each, np.uint32) for each in told)]
        single = [each[0] for some in (commit.delayed, commit.requests, commit.sent) for each in some]
        self._pages.append(np.array(single, np.uint32))
        self._sites.update(each[0] for some in (commit.states, commit.jars, commit.robots) for each in some)
        self._groups.update(commit.groups)
        self._groups.update(group.group for group in commit.shelved)
        self.mailed.update(key for key, _, _, _ in commit.mail)

    def groups(self, past: Past) -> set[str]:
        """The groups of all of it that are still held, but for those in runs of the shelf: these have new mail, or
        nothing new.
        """
        pages = np.concatenate(self._pages).astype(np.int64) - past.first
        sites = np.unique(past.sites(leaving=True)[pages[pages >= 0]]).tolist()
        found = {past.domains[site] for site in {*sites, *self._sites} if site != GONE and site not in past.left}
        found |= self._groups | {group.group for group in past.leaving if group.key in self.mailed}
        return found & {*past.groups, *(group.group for group in past.leaving)}


class Estate(Past):
    """What a worker left: its log, read once.

    Records at the end whose outputs are not `intact` do not count. Unless the log is only read they are cut off, as
    a worker that goes on does it: later, when the outputs are sealed, they could not be told from intact ones.
    `changed` are the groups of which the log says something behind the commit `since`; beside them there are those in
    runs of the shelf that have new mail.
    """

    def __init__(
        self,
        path: Path,
        intact: Callable[[Commit], bool] = lambda _commit: True,
        *,
        applied: int = 0,
        read_only: bool = False,
        since: int = 0,
    ) -> None:
        log = FrontierLog(path, read_only=read_only)
        super().__init__(log)
        told = [] if log.base is None else log.base.manifest.batches
        scores = Scores(log.base)
        recent = None if log.base is not None and log.base.manifest.last.number > since else _Touched()
        for replayed in log.replay(intact, applied=applied):
            first = self.first + self.page_count
            self.take(replayed)
            scores.take(replayed.commit)
            told.append(replayed.commit.batch)
            if recent is not None and replayed.commit.number > since:
                recent.take(replayed.commit, first, self.first + self.page_count)
        batches = (msgspec.msgpack.decode(each, type=Batch) for each in told if each)
        self.batches = [batch for batch in batches if batch.number > applied]
        self._site_of = self.sites(leaving=True)
        self._scores = scores.all()
        self.unknown()  # what was sent once, and nobody knows what came of it, is not sent again
        self._special = self.special()
        self._states_of = self.page_states()
        self._where = np.full(len(self._site_of), PENDING, np.uint8)
        self._where[[page - self.first for page in self.retries if page >= self.first]] = RETRY
        self._where[self._states_of == past.DONE] = DONE
        self._where[self._states_of >= past.REFUSED] = REFUSED
        everything = {*self.groups, *(group.group for group in self.leaving)}
        self.changed = everything if recent is None else recent.groups(self)
        self._mailed = None if recent is None else recent.mailed  # None: any group in a run may be another one

    def __repr__(self) -> str:
        return f"Estate({len(self.groups)} groups, {len(self._site_of)} pages)"

    @property
    def held(self) -> int:
        """How many groups it held, here and on the shelf."""
        return len(self.groups) + int(np.count_nonzero(self.shelved.rows()["flags"] & AWAY))

    @classmethod
    def of_running(cls, path: Path, *, applied: int, since: int) -> Estate:
        """What a worker that runs has on disk for good: as of the last commit that has two further ones behind it,
        which a crash cannot take back.
        """
        asked = iter((False,))  # of the two that are not settled: they are left out whatever their outputs are
        return cls(path, lambda _commit: next(asked, True), applied=applied, read_only=True, since=since)

    def parcels(self, *, made_at: float, changed_only: bool = False) -> Iterator[Parcel]:
        """A parcel for each group, those included that are on the shelf; or for those that changed."""
        from weft.frontier.durable.on_shelf import on_shelf, with_mail  # which makes parcels of what is there

        rest: dict[str, list[Notice]] = {}
        for group, content in on_shelf(self, self._log, self._keys_changed() if changed_only else None, rest=rest):
            content.clean, content.made_at = self.clean, made_at
            yield Parcel(group, _pending(content), packed(content))
        leaving = {group.group: group.key for group in self.leaving}
        mail = self.letters({*leaving.values()})
        # A group with mail that it has not read changed when that came; it is read soon.
        wanted = self.changed | rest.keys() if changed_only else None
        for parcel in self._here([*self.groups, *leaving], made_at, wanted):
            letters = [*rest.pop(parcel.group, []), *mail.get(leaving.get(parcel.group, -1), [])]
            if not letters:
                yield parcel
            else:
                content = with_mail(unpacked(parcel.content), letters)
                yield Parcel(parcel.group, _pending(content), packed(content))

    def _keys_changed(self) -> set[int] | None:
        """The keys of groups in runs that changed, and of those of which a run may have mail alone; None: of all."""
        if self._mailed is None:
            return None
        rows = self.shelved.rows()
        back = rows["key"][(rows["flags"] & AWAY) == 0].tolist()
        return {*self._mailed, *back, *(group.key for group in self.leaving)}  # who leaves may have come back before

    def memories(self) -> Iterator[tuple[str, bytes, Callable[[], dict[str, bytes]]]]:
        """Of each site that was visited, here or on the shelf: its name, `SiteMemory` encoded, and, for who asks, its
        robots.txt files by scheme.
        """
        from weft.frontier.durable.on_shelf import on_shelf

        for number, data in self.states.items():
            yield self.names[number], data, partial(self.robots_of, number)
        for _group, content in on_shelf(self, self._log):
            yield from ((site.name, site.memory, partial(dict, site.robots)) for site in content.sites if site.memory)

    def _here(self, groups: list[str], made_at: float, only: Container[str] | None) -> Iterator[Parcel]:
        """A parcel for each of some groups whose pages are in logs and segments; for all or for some of these."""
        places = {group: place for place, group in enumerate(groups)}
        owners = np.array([places.get(registered_domain(name), -1) for name in self.names] or [-1], np.int32)
        sites: dict[int, list[int]] = {}
        for number, place in enumerate(owners[: len(self.names)].tolist()):
            if number not in self.left:
                sites.setdefault(place, []).append(number)
        owner = np.where(self._site_of != GONE, owners[self._site_of], -1)
        owner[self._states_of == past.REPLACED] = -1
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(len(places) + 1)).tolist()
        for group, (start, end) in zip(places, pairwise(bounds), strict=True):
            if only is None or group in only:
                yield self._parcel(group, sites.get(places[group], []), order[start:end], made_at)

    def close(self) -> None:
        """Give the log back."""
        self._log.close()

    def _parcel(self, group: str, sites: list[int], pages: NDArray[np.int64], made_at: float) -> Parcel:
        entries: list[Any] = [self._log.entry(page) for page in (pages + self.first).tolist()]
        urls, vias, _sites, depths, kinds, steps = zip(*entries, strict=True) if entries else ((),) * 6
        state = self._where[pages]
        retries = [
            (place, *self.retries[self.first + int(pages[place])]) for place in np.flatnonzero(state == RETRY).tolist()
        ]
        content = Content(
            [SiteParcel(self.names[site], self.states.get(site, b""), self.robots_of(site)) for site in sites],
            clean=self.clean,
            made_at=made_at,
            urls="\n".join(urls).encode(),
            site=np.searchsorted(sites, self._site_of[pages]).astype(np.int32).tobytes(),
            via=np.array(vias, np.uint64).tobytes(),
            depth=np.array(depths, np.uint16).tobytes(),
            kind=np.array(kinds, np.uint8).tobytes(),
            state=state.tobytes(),
            retries=retries,
            scores=self._scores[pages].tobytes() if len(self._scores) else b"",
            steps=bytes(steps) if any(steps) else b"",
            refused=self._refused_of(pages) if np.any(state == REFUSED) else {},
            requests=self._requests_of((pages + self.first).tolist()) if self._special else [],
        )
        return Parcel(group, _pending(content), packed(content))

    def _requests_of(self, pages: list[int]) -> list[tuple[int, bytes]]:
        """The places of those of some pages that are asked for in a way of their own, and how."""
        return [(place, self._special[page]) for place, page in enumerate(pages) if page in self._special]

    def _refused_of(self, pages: NDArray[np.int64]) -> dict[str, bytes]:
        """The places of those of some pages that were refused, by reason."""
        states = self._states_of[pages]
        found = {reason: np.flatnonzero(states == past.REFUSED + code) for code, reason in enumerate(self.reasons)}
        return {reason: places.astype(np.uint32).tobytes() for reason, places in found.items() if len(places)}


def _pending(content: Content) -> int:
    state = np.frombuffer(content.state, np.uint8)
    return int(np.count_nonzero((state == PENDING) | (state == RETRY)))
