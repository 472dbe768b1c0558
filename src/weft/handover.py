"""Handing over: what workers of earlier runs held goes to those of this one. In: a crawl's directory, and how many
workers there will be. Out: a global frontier from which they can check everything out.

With fewer workers than before, those that are no more are dissolved; with more, all are, so that the load can be
shared. Who is dissolved must not run, the others may. To dissolve a worker is to

1. read its log, cut off what is not intact, and seal what its store left open, as its next start would do;
2. write a new log beside, `frontier.log.new`, that has its totals and holds nothing;
3. in one transaction of the global frontier: apply the batches that were not, take back its unread messages, take in a
   parcel for each of its groups, and note that it was handed over;
4. rename the new log over the old one;
5. remove the note.

A crash is safe wherever it comes. Until 3 the worker is as it was, and can go on: what 1 does is done again without
effect, and the file of 2 is removed, because no note says that it counts. From 3 on the note is there, and `repair`,
with which every run begins, does 4 and 5: as long as the new log is there it was not renamed. A worker never reads
its log between 3 and 5, since workers start only behind `repair`.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.clock import Clock
from weft.config import Settings
from weft.disk import rename, writing
from weft.engine.progress import Counts, Statistics
from weft.frontier.durable.chain import next_life, open_chain, remove_stale
from weft.frontier.durable.memory import SiteMemory, unpacked_robots
from weft.frontier.durable.pauses import noted
from weft.frontier.politeness import lent_as, shortest_wait, wait_after
from weft.frontier.shared.contract import Left, SharedFrontier, WorkerState
from weft.frontier.shared.nodes import PER_NODE
from weft.parse.robots import parse_robots
from weft.store.files import intact

if TYPE_CHECKING:  # large, and loaded only when a worker is dissolved
    from weft.frontier.durable.log import Commit
    from weft.frontier.durable.parcels import Estate

_memory = msgspec.msgpack.Decoder(SiteMemory).decode


@dataclass(slots=True, kw_only=True)
class Handed:
    """What a worker that was dissolved has handed over; for the message that says so."""

    worker: int
    groups: int
    lost: list[str] = field(default_factory=list)  # groups of which its log knew nothing: they start over

    def __str__(self) -> str:
        text = f"what worker {self.worker} held was handed over: {self.groups} groups"
        if self.lost:
            text += f"; nothing is known any more of these, which start over: {', '.join(self.lost)}"
        return text


def hand_over(out: Path, shared: SharedFrontier, workers: int, settings: Settings, clock: Clock) -> list[Handed]:
    """Before so many workers start: finish what a crash interrupted, and dissolve the workers that must be; those
    that had something.
    """
    repair(out, shared)
    numbers = [number for number in numbers_of(out) if 0 <= number - shared.first < PER_NODE]
    before = shared.state().shared_among or max(numbers, default=shared.first + workers - 1) - shared.first + 1
    gone = set(shared.surplus())
    if workers > before:
        gone |= set(numbers)
    handed = [dissolve(out, shared, number, settings, clock) for number in sorted(gone)]
    if shared.state().shared_among != workers:
        shared.note_shared(workers)
    return [each for each in handed if each.groups or each.lost]


def hand_over_left(out: Path, shared: SharedFrontier, workers: int, settings: Settings, clock: Clock) -> list[Handed]:
    """While so many workers run: dissolve those that have left; those that had something."""
    handed = [dissolve(out, shared, number, settings, clock) for number in shared.surplus()]
    shared.note_shared(workers)
    return [each for each in handed if each.groups or each.lost]


def numbers_of(out: Path) -> list[int]:
    """The workers that have a log."""
    return sorted(int(path.parent.name) for path in out.glob("workers/*/frontier.log") if path.parent.name.isdigit())


def repair(out: Path, shared: SharedFrontier) -> list[Path]:
    """Finish what a crash interrupted; the files that were removed."""
    for number in shared.handed_over():
        _put_in_place(out, shared, number)
    stale = sorted(out.glob("workers/*/frontier.log.new"))
    for path in stale:
        path.unlink()
    return stale


def dissolve(out: Path, shared: SharedFrontier, number: int, settings: Settings, clock: Clock) -> Handed:
    """Take back everything that a worker held."""
    from weft.frontier.durable.log import Commit
    from weft.frontier.durable.parcels import Estate
    from weft.store.sealing import seal_leftovers

    log = _log_of(out, number)
    with writing(log):
        log.parent.mkdir(parents=True, exist_ok=True)
    stood: WorkerState = next(each for each in shared.workers() if each.number == number)
    estate = Estate(log, lambda commit: intact(out, commit.marks), applied=stood.applied)
    try:
        last = estate.last or Commit()
        _take_pauses(estate, noted(log, clock.wall()), clock.wall())
        seal_leftovers(out, last.marks, number, number=last.number)
        statistics = _totals(stood.statistics, last.counts)
        counts = msgspec.msgpack.encode(statistics.counts)
        batch_number = max(stood.applied, last.number)
        stub = Commit(counts=counts, number=batch_number, taken=last.taken, scope=estate.scope, clean=estate.clean)
        _write_beside(log, stub)
        now = clock.wall()
        left = Left(
            batches=estate.batches,
            number=batch_number,
            taken=last.taken,
            parcels=estate.parcels(made_at=now),
            clean=estate.clean,
            at=now,
            rests=_rests(estate, settings, now),
            unwritten=0.0 if estate.clean else _unwritten(settings),
            pages=statistics.counts.pages,
            statistics=msgspec.msgpack.encode(statistics),
        )
        lost = shared.hand_over(number, left)
    finally:
        estate.close()
    _put_in_place(out, shared, number)
    return Handed(worker=number, groups=estate.held, lost=lost)


def end_worker(out: Path, number: int) -> None:
    """Have nothing open of a worker that does not run and is no more: seal what it left, up to its last commit."""
    from weft.frontier.durable.log import Commit
    from weft.frontier.durable.parcels import Estate
    from weft.store.sealing import seal_leftovers

    estate = Estate(_log_of(out, number), lambda commit: intact(out, commit.marks))
    try:
        last = estate.last or Commit()
        seal_leftovers(out, last.marks, number, number=last.number)
    finally:
        estate.close()


def put_aside(out: Path, number: int) -> None:
    """Have nobody go on from the log of a worker: its folder has another name."""
    folder = _log_of(out, number).parent
    with writing(folder):
        rename(folder, folder.with_name(f"{number}.lost"))


def _log_of(out: Path, number: int) -> Path:
    return out / "workers" / str(number) / "frontier.log"


def _beside(log: Path) -> Path:
    return log.with_name(log.name + ".new")


def _write_beside(log: Path, stub: Commit) -> None:
    from weft.frontier.durable.log import FrontierLog

    beside = _beside(log)
    beside.unlink(missing_ok=True)
    new = FrontierLog(beside, life=next_life(log))
    try:
        new.commit(stub, sync=True)
    finally:
        new.close()


def _put_in_place(out: Path, shared: SharedFrontier, number: int) -> None:
    log = _log_of(out, number)
    with writing(log):
        if _beside(log).exists():
            rename(_beside(log), log)
    shared.end_hand_over(number)
    if log.exists():  # checkpoints and closed logs of what was handed over count no more
        with writing(log), closing(open_chain(log)) as chain:
            remove_stale(log, chain)


def _totals(reported: bytes, committed: bytes) -> Statistics:
    """What remains of a worker's statistics: what it did, and not how it stands."""
    known = msgspec.msgpack.decode(reported, type=Statistics) if reported else Statistics()
    counts = msgspec.msgpack.decode(committed, type=Counts) if committed else known.counts
    return Statistics(counts=counts)


def _take_pauses(estate: Estate, pauses: dict[str, float], now: float) -> None:
    """Have sites left alone as long as they asked for after the last commit; `now` is wall time."""
    for number, name in enumerate(estate.names):
        data = estate.states.get(number)
        if name in pauses and data is not None:
            memory = _memory(data)
            memory.rest = max(memory.left(now), pauses[name] - now)
            memory.next_visit = now + memory.rest
            estate.states[number] = msgspec.msgpack.encode(memory)


def _rests(estate: Estate, settings: Settings, now: float) -> dict[str, float]:
    """How long each address, or network, is to be left alone: w/4 behind the last opening; a network for its own gap,
    too.

    When that was is not known. Of a visit that ended, `next_visit` is w behind its end. The opening was before that
    and before now, so that w/4 behind it is at most a quarter of the way from now to `next_visit`, whatever w is. A
    worker that died may have been there just now. The gap of a network is known, and was begun no later than
    `next_visit`.
    """
    rests: dict[str, float] = {}
    gap = settings.politeness.network_gap
    for site, data, robots in estate.memories():
        memory = _memory(data)
        if not memory.address:
            continue
        rest = memory.left(now) / 4
        rest = max(rest, gap if not estate.clean else min(gap, memory.next_visit + gap - now))
        if not estate.clean:
            files = [unpacked_robots(each).body for each in robots().values()]
            asked = [parse_robots(body or b"", settings.identity.product).crawl_delay or 0.0 for body in files]
            fixed = settings.overrides.of(site).wait
            rest = max(
                rest, wait_after(settings.politeness, memory.took, max(asked, default=0.0) or None, fixed, 0) / 4
            )
        if rest:
            seconds, name = rest + settings.politeness.margin, lent_as(settings.politeness, memory.address)
            rests[name] = max(rests.get(name, 0.0), seconds)
    return rests


def _unwritten(settings: Settings) -> float:
    """How long what was lent to a worker that died is left alone, where its log does not say that it was there."""
    politeness = settings.politeness
    rest = max(shortest_wait(politeness) / 4, politeness.network_gap)
    return rest + politeness.margin if rest else 0.0
