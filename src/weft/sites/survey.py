"""All sites of a crawl at one moment. In: the logs of its workers. Out: columns, and pages of rows out of them.

A hundred thousand sites are a few arrays: a page of fifty is sorted, found and cut out in milliseconds. What is slow is
to read the logs, and whoever shows many pages does it once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.config import Settings
from weft.errors import UsageError, no_crawl
from weft.frontier.durable.log import FrontierLog
from weft.frontier.durable.memory import SiteMemory, decoded
from weft.frontier.durable.past import DONE, GONE, PENDING, REFUSED, REPLACED, Past
from weft.frontier.local.names import is_dead

TURN, REST, RETRY, ASIDE, SHELF, DEAD, NOTHING = range(7)
WAITS = {
    "turn": "it may be visited, as soon as a connection and a place at its domain and address are free",
    "wait": "it rests between two visits",
    "retry": "all its pages failed and are tried again later",
    "set aside": "it kept failing, and is tried once more when nothing else is left",
    "shelf": "its group is being put away to save memory",
    "dead": "there is no such name; it is asked for again later",
    "nothing": "all its pages are done or refused",
}
"""What a site can wait for, in the order of the constants above."""
_NAMES = tuple(WAITS)
COLUMNS = ("site", "waits_for", "until", "pending", "known", "fetched", "refused", "failures", "worker")


class SiteRow(NamedTuple):
    """One site."""

    site: str
    waits_for: str  # one of WAITS
    until: float | None  # wall time, where there is one
    pending: int  # pages
    known: int  # pages, their parts not counted
    fetched: int  # pages
    refused: int  # pages, when their turn came
    failures: int  # visits in a row that failed
    address: str  # where it was visited last; "" where it was not
    worker: int


class Page(NamedTuple):
    """Some of the sites that were asked for."""

    rows: list[SiteRow]
    found: int  # how many there are in all


class Survey:
    """The sites of all workers, as of one moment."""

    def __init__(self, parts: list[_Part], at: float) -> None:
        self.at = at  # wall time
        self.names = [name for part in parts for name in part.names]
        self._addresses = [address for part in parts for address in part.addresses]
        empty = _Part([], [], np.empty((0, len(_NUMBERS))))
        numbers = np.concatenate([part.numbers for part in (*parts, empty)])
        self._numbers = {name: numbers[:, place] for place, name in enumerate(_NUMBERS)}
        self._folded: list[str] | None = None

    def __repr__(self) -> str:
        return f"Survey({len(self.names)} sites)"

    def __len__(self) -> int:
        return len(self.names)

    def waiting(self) -> dict[str, int]:
        """How many sites wait for what."""
        counts = np.bincount(self._numbers["waits_for"].astype(np.int64), minlength=len(_NAMES))
        return dict(zip(_NAMES, counts.tolist(), strict=True))

    def page(
        self,
        *,
        waits_for: str = "",
        text: str = "",
        by: str = "pending",
        rising: bool = False,
        first: int = 0,
        most: int = 50,
    ) -> Page:
        """Some of the sites that wait for something and have a text in their names, sorted by a column."""
        places = self._chosen(waits_for, text)
        ordered = self._sorted(places, by, rising=rising)
        return Page([self.row(int(place)) for place in ordered[first : first + most]], len(places))

    def row(self, place: int) -> SiteRow:
        """One site, by its place."""
        number = {name: float(column[place]) for name, column in self._numbers.items()}
        return SiteRow(
            site=self.names[place],
            waits_for=_NAMES[int(number["waits_for"])],
            until=number["until"] or None,
            pending=int(number["pending"]),
            known=int(number["known"]),
            fetched=int(number["fetched"]),
            refused=int(number["refused"]),
            failures=int(number["failures"]),
            address=self._addresses[place],
            worker=int(number["worker"]),
        )

    def __iter__(self) -> Iterator[SiteRow]:
        return map(self.row, range(len(self)))

    def _chosen(self, waits_for: str, text: str) -> NDArray[np.int64]:
        chosen = np.ones(len(self), np.bool_)
        if waits_for:
            if waits_for not in WAITS:
                raise UsageError(f"no site waits for {waits_for!r}", todo=f"choose one of: {', '.join(WAITS)}")
            chosen &= self._numbers["waits_for"] == _NAMES.index(waits_for)
        if text:
            if self._folded is None:
                self._folded = [name.casefold() for name in self.names]
            wanted = text.casefold()
            chosen &= np.fromiter((wanted in name for name in self._folded), np.bool_, len(self))
        return np.flatnonzero(chosen)

    def _sorted(self, places: NDArray[np.int64], by: str, *, rising: bool) -> NDArray[np.int64]:
        if by not in COLUMNS:
            raise UsageError(f"sites have no column {by!r}", todo=f"choose one of: {', '.join(COLUMNS)}")
        if by == "site":
            ordered = sorted(places.tolist(), key=self.names.__getitem__, reverse=not rising)
            return np.array(ordered, np.int64)
        values = self._numbers[by][places]
        if by == "until":  # who waits for no time comes last
            values = np.where(values == 0, np.inf if rising else -np.inf, values)
        order = np.argsort(values if rising else -values, kind="stable")
        return places[order]


_NUMBERS = ("waits_for", "until", "pending", "known", "fetched", "refused", "failures", "worker")


class _Part(NamedTuple):
    """The sites of one worker."""

    names: list[str]
    addresses: list[str]
    numbers: NDArray[np.float64]  # by site: a column for each of _NUMBERS


def survey(out: Path, now: float, only: str = "") -> Survey:
    """The sites of a crawl, or `only` one of them, as of its last commits; `now` in wall time."""
    if not (out / "crawl.toml").exists():
        raise no_crawl(str(out))
    recheck = Settings().with_file(out / "crawl.toml").retries.name_recheck
    logs = sorted(out.glob("workers/*/frontier.log"))
    return Survey([_read(path, now, recheck, only) for path in logs], now)


def _read(path: Path, now: float, recheck: float, only: str) -> _Part:
    log = FrontierLog(path, read_only=True)
    try:
        past = Past(log)
        for replayed in log.replay():
            past.take(replayed)
        here = [number for number, name in enumerate(past.names) if name and number not in past.left]
        if only:
            here = [number for number in here if past.names[number] == only]
        return _part(past, here, int(path.parent.name), now, recheck)
    finally:
        log.close()


def _part(past: Past, here: list[int], worker: int, now: float, recheck: float) -> _Part:
    sites, states, whole = past.sites(leaving=True), past.page_states(), ~past.parts()
    ours = sites != GONE

    def count(of: NDArray[np.bool_]) -> NDArray[Any]:
        return np.bincount(sites[ours & of], minlength=len(past.names))[here]

    pending = count(states == PENDING)
    numbers = np.zeros((len(here), len(_NUMBERS)))
    numbers[:, 2] = pending
    numbers[:, 3] = count(whole & (states != REPLACED))
    numbers[:, 4] = count(whole & (states == DONE))
    numbers[:, 5] = count(states >= REFUSED)
    numbers[:, 7] = worker
    later, soonest = _later(past, sites, now)
    leaving = {number for group in past.leaving for number in group.sites}
    memories, addresses = past.states, []
    for place, number in enumerate(here):
        memory = decoded(memories[number]) if number in memories else SiteMemory()
        addresses.append(memory.address)
        numbers[place, 6] = memory.failures
        due = soonest.get(number, 0.0) if later.get(number, 0) >= pending[place] else 0.0
        aside = number in leaving
        numbers[place, 0:2] = _waits_for(
            memory, int(pending[place]), due, now, shelved=aside, dead=is_dead(memory.denied_at, now, recheck)
        )
    return _Part([past.names[number] for number in here], addresses, numbers)


def _later(past: Past, sites: NDArray[np.int32], now: float) -> tuple[dict[int, int], dict[int, float]]:
    """By site: how many of its pages are to be tried again at a later time, and the first of these times."""
    many, soonest = dict[int, int](), dict[int, float]()
    for page, (_tries, due) in past.waiting().items():
        if due > now:
            site = int(sites[page - past.first])
            many[site] = many.get(site, 0) + 1
            soonest[site] = min(due, soonest.get(site, due))
    return many, soonest


def _waits_for(
    memory: SiteMemory, pending: int, due: float, now: float, *, shelved: bool, dead: bool
) -> tuple[int, float]:
    """What a site waits for, and until when; 0 for no time. `due`: when the first of its pages is tried again, where
    all of them are to be.

    >>> _waits_for(SiteMemory(next_visit=60.0), 3, 0.0, 50.0, shelved=False, dead=False) == (REST, 60.0)
    True
    """
    if dead:
        return DEAD, 0.0
    if memory.set_aside:
        return ASIDE, 0.0
    if not pending:
        return NOTHING, 0.0
    if shelved:
        return SHELF, 0.0
    if due:
        return RETRY, max(due, memory.next_visit)
    return (REST, memory.next_visit) if memory.next_visit > now else (TURN, 0.0)
