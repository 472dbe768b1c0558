"""A crawl managed from outside, while it runs or before it goes on. In: its directory and what is wanted. Out: how it
stands.

Everything that is said goes into the global frontier, where workers hear of it with their next exchange, within a
second or two. When the crawl is not running, what was said holds for its next run.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from weft.clock import Clock, SystemClock
from weft.engine.progress import Counts, Statistics
from weft.engine.vitals import lives, process_of
from weft.engine.watchdog import most_workers
from weft.errors import UsageError
from weft.frontier.blacklist import usable_rule
from weft.frontier.pace import Speed
from weft.frontier.shared.contract import STOPPED, Restart, SharedFrontier, WorkerState
from weft.frontier.shared.opening import open_frontier
from weft.model import Reason
from weft.settings import load_toml
from weft.store.reading import CrawlFiles

_LOOK = 0.1  # seconds between two looks at whether a crawl has ended


class WorkerStatus(msgspec.Struct, kw_only=True):
    """How one worker stands; what only a process can have is 0 where there is none."""

    number: int
    pid: int | None
    alive: bool
    in_run: bool  # it belongs to the present run, or to the last one
    pages: int
    pages_rate: float  # a second, of late
    pending: int  # pages
    memory: int  # bytes
    heard: float | None  # seconds since it was heard of


class Stage(msgspec.Struct, kw_only=True):
    """What was spent on one kind of work (P3, figure 7)."""

    operations: int
    seconds: float
    mean: float  # seconds an operation


class Status(msgspec.Struct, kw_only=True):
    """How a crawl stands."""

    crawl: str
    running: bool
    paused: bool
    over: str  # why the run is over; "" where nobody said so
    seconds: float  # that the crawl has run
    pages: int
    pages_rate: float
    bytes: int
    bytes_rate: float
    lists: dict[str, int]  # sites to_crawl, being_crawled, crawled, set_aside
    pending: int  # pages, those of sites included that nobody has checked out
    known: int  # URLs
    errors: dict[str, int]  # by reason, the most frequent first
    refused: dict[str, int]  # by rule
    faults: int  # internal errors; log/faults.log has them
    application_faults: int  # exceptions of the application
    outage: str  # why nobody can be reached at the moment; "" where somebody can
    outage_seconds: float  # for how long
    outages: int  # how often that was so, with this one
    restarted: int  # how often a worker was started again
    restarts: list[Restart]  # the last of these, with their causes
    moved: int  # groups that went from worker to worker while the crawl runs
    time: float  # of this status: wall time
    volumes: int  # WARC files that are sealed
    disk_free: int  # bytes
    requisites: dict[str, int]  # parts of pages: fetched, good, failed, duplicates
    truncated: dict[str, dict[str, int]]  # cut by a limit, of pages, requisites and robots.txt: by length or time
    not_collected: dict[str, int]  # by media type, the most frequent first: what --types would take
    duplicates: int  # pages whose content was stored before
    copies: int  # contents that two workers stored at the same time, before either knew of the other's
    unremembered: int  # contents that are stored whenever they come: there is no room to remember more
    max_bytes_page: int  # where bodies are cut
    speed: str  # as it was said
    pages_target: float | None  # a second, at this moment
    bytes_target: float | None
    blacklist: int  # rules
    stages: dict[str, Stage]
    workers: list[WorkerStatus]


class Managed:
    """A crawl that can be told something."""

    def __init__(self, out: Path, shared: SharedFrontier, clock: Clock) -> None:
        self.out = out
        self._shared = shared
        self._clock = clock

    def __repr__(self) -> str:
        return f"Managed({self.out})"

    @property
    def running(self) -> bool:
        """Is it run by a process at this moment?"""
        return is_running(self.out)

    @property
    def over(self) -> str:
        """Why the run that is ending, or has ended, is over; "" where nobody said so."""
        return self._shared.state().over

    # Pausing and ending.

    def pause(self) -> None:
        """Have no more pages fetched; those under way come to their end."""
        self._shared.pause(paused=True)

    def resume(self) -> None:
        """Go on after a pause."""
        self._shared.pause(paused=False)

    def stop(self) -> None:
        """End the run as if by a limit: pages under way are finished, everything is committed and sealed."""
        self._shared.stop(STOPPED)

    def wait(self, seconds: float) -> bool:
        """Wait until the crawl does not run any more; False when it still does after so many seconds."""
        deadline = self._clock.now() + seconds
        while self.running:
            if self._clock.now() >= deadline:
                return False
            time.sleep(_LOOK)
        return True

    # Speed.

    @property
    def speed(self) -> str:
        """The target as it was said; "none" for none."""
        return self._shared.state().speed or "none"

    def target(self) -> tuple[float | None, float | None]:
        """Pages and bytes a second that are aimed at now."""
        return Speed.parse(self.speed).at(self._clock.wall())

    def set_speed(self, text: str) -> None:
        """Set the target; a text that is none changes nothing."""
        if not Speed.parse(text).rules:
            raise UsageError("this is no speed", todo="write such as '200 pages/s', or none for no limit")
        self._shared.set_speed(text.strip())

    # Workers.

    @property
    def workers(self) -> int:
        """How many workers the run has, or is about to have."""
        return self._shared.state().wanted

    def set_workers(self, count: int) -> None:
        """Have the run go on with so many workers; the next run has as many as its command says."""
        state = self._shared.state()
        if not self.running:
            raise UsageError("the crawl does not run", where=str(self.out), todo="give --workers when it goes on")
        if not state.watched:
            raise UsageError(
                "the crawl runs in the process of who started it, which has one worker",
                where=str(self.out),
                todo="start it with weft crawl, or with more than one worker",
            )
        most = most_workers()
        if not 1 <= count <= most:
            raise UsageError(f"{count} workers were asked for", todo=f"give 1 to {most}")
        self._shared.want_workers(count)

    # Blacklist.

    def blacklist(self) -> list[str]:
        """Its rules, in the order they were given."""
        return self._shared.blacklist()

    def change_blacklist(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[list[str], list[str]]:
        """Add and remove rules, all of them or none; those that were new, and those that were there."""
        known = set(self.blacklist())
        new = [rule for rule in dict.fromkeys(map(usable_rule, add)) if rule not in known]
        gone = list(dict.fromkeys(map(usable_rule, remove)))
        for rule in gone:
            if rule not in known:
                raise UsageError(
                    f"'{rule}' is not on the blacklist", where=str(self.out), todo="list its rules without --remove"
                )
        if new or gone:
            self._shared.change_blacklist(add=new, remove=gone)
        return new, gone

    # Seeds.

    def add(self, urls: Iterable[str]) -> None:
        """Add seeds, in normal form. Those that are known already change nothing, but what was fetched and not kept
        because of its type is fetched again.
        """
        seeds = list(urls)
        self._shared.add(seeds, self._refused_by_type(seeds))

    def _refused_by_type(self, urls: list[str]) -> set[str]:
        wanted = set(urls)
        reasons: dict[str, str | None] = {}
        for batch in CrawlFiles(self.out).batches("pages", ["url", "final", "reason"]):
            rows = zip(*batch.to_pydict().values(), strict=True)
            reasons |= {url: reason for url, final, reason in rows if final and url in wanted}
        return {url for url, reason in reasons.items() if reason == Reason.TYPE.value}

    # How it stands.

    def status(self) -> Status:
        """Everything there is to say, at this moment."""
        shared, running = self._shared, self.running
        state, stood = shared.state(), shared.workers()
        reports = [_statistics(each) for each in stood]
        workers = [self._worker(each, report, running) for each, report in zip(stood, reports, strict=True)]
        total, now = Statistics(), Statistics()
        for report, worker in zip(reports, workers, strict=True):
            total.add(report)
            if worker.alive:
                now.add(report)
        counts = total.counts
        pages, amount = self.target()
        return Status(
            crawl=str(self.out),
            running=running,
            paused=state.paused,
            over=state.over,
            seconds=counts.seconds,
            pages=counts.pages,
            pages_rate=now.pages_rate,
            bytes=counts.bytes,
            bytes_rate=now.bytes_rate,
            lists=msgspec.structs.asdict(shared.lists()),
            pending=sum(worker.pending for worker in workers) + shared.waiting(),
            known=total.known,
            errors=_most_first(counts.reasons),
            refused=_most_first(counts.refused),
            faults=counts.faults,
            application_faults=counts.application_faults,
            outage=now.outage,
            outage_seconds=now.outage_seconds,
            outages=counts.outages,
            restarted=state.restarted,
            restarts=state.restarts,
            moved=total.moved,
            time=self._clock.wall(),
            volumes=len(list(self.out.glob("volumes/*.warc.gz"))),
            disk_free=shutil.disk_usage(self.out).free,
            requisites={
                "fetched": counts.parts,
                "good": counts.parts_good,
                "failed": counts.parts_failed,
                "duplicates": counts.parts_duplicates,
            },
            truncated={
                "pages": counts.truncated,
                "requisites": counts.parts_truncated,
                "robots": counts.robots_truncated,
            },
            not_collected=_most_first(counts.unwanted),
            duplicates=counts.duplicates,
            copies=counts.copies,
            unremembered=counts.unremembered,
            max_bytes_page=load_toml(self.out / "crawl.toml").get("selection", {}).get("max_bytes_page", 0),
            speed=self.speed,
            pages_target=pages,
            bytes_target=amount,
            blacklist=len(self.blacklist()),
            stages=_stages(counts),
            workers=workers,
        )

    def _worker(self, stood: WorkerState, report: Statistics, running: bool) -> WorkerStatus:
        pid = process_of(self.out / "workers" / str(stood.number))
        alive = running and stood.in_run and lives(pid)
        return WorkerStatus(
            number=stood.number,
            pid=pid,
            alive=alive,
            in_run=stood.in_run,
            pages=stood.pages,
            pages_rate=report.pages_rate if alive else 0.0,
            pending=stood.pending,
            memory=report.memory if alive else 0,
            heard=stood.heard,
        )


@contextmanager
def managing(out: Path, clock: Clock | None = None) -> Iterator[Managed]:
    """Open the crawl in a directory to be managed."""
    if not (out / "crawl.toml").exists():
        raise UsageError("there is no crawl here", where=str(out), todo="give the directory of a crawl (its --out)")
    clock = clock or SystemClock()
    shared = open_frontier(out, clock)
    try:
        yield Managed(out, shared, clock)
    finally:
        shared.close()


def is_running(out: Path) -> bool:
    """Does a process run the crawl in a directory? Its lock is tried, and let go of at once."""
    try:
        handle = os.open(out / ".lock", os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who look at once do not see each other
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _statistics(stood: WorkerState) -> Statistics:
    return msgspec.msgpack.decode(stood.statistics, type=Statistics) if stood.statistics else Statistics()


def _stages(counts: Counts) -> dict[str, Stage]:
    spent = {
        "download": (counts.fetches, counts.downloading),
        "parse": (counts.good + counts.parts, counts.parsing),
        "store": (counts.fetches, counts.storing),
        "courtesy": (counts.visits, counts.resting),
    }
    return {
        name: Stage(operations=operations, seconds=seconds, mean=seconds / operations if operations else 0.0)
        for name, (operations, seconds) in spent.items()
    }


def _most_first(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda each: -each[1]))
