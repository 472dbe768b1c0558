"""The global frontier of one machine: one SQLite file in the crawl's directory, shared by its workers.

In: reports. Out: orders. One transaction an exchange, which takes a millisecond or two; the workers' exchanges and
the commands that manage a crawl all wait for each other, and nothing is kept in memory between them. Its clock is the
machine's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from weft.clock import Clock, SystemClock
from weft.errors import WeftError
from weft.frontier.shared import sqlite_handover
from weft.frontier.shared.contract import (
    ALL_AT_ONCE,
    BEING_CRAWLED,
    CRAWLED,
    SEEDS_FIRST,
    SET_ASIDE,
    Begun,
    Blacklisted,
    CrawlState,
    Found,
    Left,
    Limits,
    Lists,
    Message,
    Orders,
    Remains,
    Report,
    Restart,
    WorkerState,
)
from weft.frontier.shared.sqlite_exchange import exchanged
from weft.frontier.shared.sqlite_file import (
    PATIENCE,
    SqliteFile,
    message_in,
    new_file,
    notices_in,
    parcel_in,
    unguarded,
)
from weft.frontier.shared.sqlite_groups import bring_again, inbox, known_elsewhere, plant, rebuild
from weft.urls import registered_domain, site_of

_RESTARTS_KEPT = 20


class SqliteFrontier:
    """The global frontier of a crawl on one machine, as one process has it open."""

    def __init__(
        self, path: Path, clock: Clock | None = None, *, patience: float = PATIENCE, read_only: bool = False
    ) -> None:
        self._clock = clock or SystemClock()
        self._file = SqliteFile(path, patience, read_only=read_only)
        self._base = self._file.base

    def __repr__(self) -> str:
        return f"SqliteFrontier({self._file.path})"

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        by_size: bool,
        seeds: Iterable[str],
        remains: Remains | None = None,
        phase: int = ALL_AT_ONCE,
    ) -> None:
        """Make the file: before any worker starts, since two that make it at once are in each other's way."""
        with new_file(path) as base:
            base.execute("insert into crawl(by_size, phase) values(?, ?)", (by_size, phase))
            if remains is None:
                plant(base, seeds)
            else:
                rebuild(base, seeds, remains)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    @property
    def first(self) -> int:
        """The number of the first worker."""
        return 0

    # What a worker does.

    def begin(self, worker: int, lease: float = 0.0) -> Begun:  # noqa: ARG002  nobody asks for it on one machine
        """A worker starts, or starts again."""
        with self._file.transaction() as base:
            row = base.execute(
                "update workers set incarnation = incarnation + 1, idle = 0, resting = 0, hungry = 1, heard_at = ? "
                "where number = ? returning incarnation, applied",
                (self._clock.wall(), worker),
            ).fetchone()
            if row is None:
                raise WeftError(f"there is no worker {worker} in this crawl", where=str(self._file.path))
            (count,) = base.execute("select count(*) from workers where in_run").fetchone()
            second_pass, phase = base.execute("select second_pass, phase from crawl").fetchone()
            alone = count == 1 and phase != SEEDS_FIRST and not known_elsewhere(base, worker)
            return Begun(row[0], row[1], alone, second_pass)

    def touch(self, worker: int) -> None:
        """A worker that is not yet exchanging is alive."""
        with self._file.transaction() as base:
            base.execute("update workers set heard_at = ? where number = ?", (self._clock.wall(), worker))

    def held(self, worker: int) -> set[str]:
        """The groups of a worker."""
        return {name for (name,) in self._file.rows("select name from groups where holder = ?", (worker,))}

    def exchange(self, report: Report) -> Orders:
        """Take a worker's report and give it its orders, as one step."""
        with self._file.transaction() as base:
            return exchanged(base, report, self._clock.wall(), self._file.path)

    # What the operator does.

    def prepare(self, workers: int, limits: Limits, *, speed: str | None = None, watched: bool = False) -> None:
        """A run begins with so many workers; a speed that was set before holds unless another is given than to the
        last run.
        """
        with self._file.transaction() as base:
            _resize(base, workers)
            base.execute("update workers set idle = 0, resting = 0, starved = 0, allowance = null, hungry = 1")
            base.execute("update addresses set wanted = 0")
            base.execute("update addresses set holder = null where holder >= ?", (workers,))
            base.execute(
                "update crawl set over = '', stop = '', max_pages = ?, max_bytes = ?, max_time = ?, watched = ?",
                (limits.max_pages, limits.max_bytes, limits.max_time, watched),
            )
            if speed is not None:
                base.execute("update crawl set speed = ?1, given_speed = ?1 where given_speed <> ?1", (speed,))

    def want_workers(self, count: int) -> None:
        """Have so many workers; whoever watches them starts or ends some."""
        with self._file.transaction() as base:
            base.execute("update crawl set wanted = ?", (count,))

    def resize(self, workers: int) -> None:
        """So many workers belong to the run from now on; those above are told to leave."""
        with self._file.transaction() as base:
            _resize(base, workers)
            base.execute("update workers set idle = 0")

    def leave_out(self, worker: int) -> None:
        """A worker that does not run, and is not started again, belongs to the run no more."""
        with self._file.transaction() as base:
            base.execute("update workers set in_run = 0, incarnation = incarnation + 1 where number = ?", (worker,))
            base.execute("update workers set idle = 0")

    def add(self, urls: Iterable[str], again: Container[str] = ()) -> None:
        """Add seeds to a crawl; some of them are to be fetched again."""
        with self._file.transaction() as base:
            plant(base, urls, again)
            base.execute("update workers set idle = 0")

    def offer_again(self, links: Iterable[Found], *, scope: Iterable[str] = (), rules: str | None = None) -> int:
        """Bring links that were refused before, and note the rules by which they are offered, as one step; how many
        they were.
        """
        with self._file.transaction() as base:
            base.executemany("insert or ignore into scope(url) values(?)", ((url,) for url in scope))
            count = bring_again(base, links)
            base.execute("update workers set idle = 0")
            if rules is not None:
                base.execute("update crawl set offered_by = ?", (rules,))
        return count

    def note_rules(self, rules: str) -> None:
        """Note the rules by which links have been offered."""
        with self._file.transaction() as base:
            base.execute("update crawl set offered_by = ?", (rules,))

    def blacklist(self) -> list[str]:
        """The rules of the blacklist."""
        return [rule for (rule,) in self._file.rows("select rule from rules where until is null order by id")]

    def blacklist_history(self) -> list[Blacklisted]:
        """Every rule that is, or was, on the blacklist."""
        return [Blacklisted(*row) for row in self._file.rows("select rule, since, until from rules order by id")]

    def change_blacklist(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Change the rules; workers hear of it with their next exchange."""
        with self._file.transaction() as base:
            now = self._clock.wall()
            gone, new = ((now, rule) for rule in remove), ((rule, now) for rule in add)
            base.executemany("update rules set until = ? where rule = ? and until is null", gone)
            base.executemany("insert or ignore into rules(rule, since) values(?, ?)", new)
            base.execute("update crawl set rules_at = rules_at + 1")

    def set_speed(self, speed: str) -> None:
        """Set the target, for all workers together."""
        with self._file.transaction() as base:
            base.execute("update crawl set speed = ?", (speed,))

    def pause(self, *, paused: bool) -> None:
        """Have no more pages fetched, or go on."""
        with self._file.transaction() as base:
            base.execute("update crawl set paused = ?", (paused,))

    def stop(self, why: str) -> None:
        """End the run, as if by a limit."""
        with self._file.transaction() as base:
            base.execute("update crawl set stop = ?", (why,))

    def end(self, why: str) -> None:
        """The run has ended."""
        with self._file.transaction() as base:
            base.execute("update crawl set over = ?", (why,))

    def note_restart(self, restart: Restart) -> None:
        """Write down that a worker was started again, and why."""
        with self._file.transaction() as base:
            base.execute(
                "insert into restarts(worker, at, how, cause) values(?, ?, ?, ?)",
                (restart.worker, restart.at, restart.how, restart.cause),
            )
            base.execute("delete from restarts where id <= (select max(id) - ? from restarts)", (_RESTARTS_KEPT,))
            base.execute("update crawl set restarted = restarted + 1")

    def state(self) -> CrawlState:
        """How the crawl stands."""
        row = self._file.row(
            "select by_size, phase, over, paused, speed, workers, wanted, watched, shared_among, offered_by, restarted "
            "from crawl"
        )
        restarts = self._file.rows("select worker, at, how, cause from restarts order by id")
        return CrawlState(
            by_size=bool(row[0]),
            phase=row[1],
            over=row[2],
            paused=bool(row[3]),
            speed=row[4],
            workers=row[5],
            wanted=row[6],
            watched=bool(row[7]),
            shared_among=row[8],
            offered_by=row[9],
            restarted=row[10],
            restarts=[Restart(*each) for each in restarts],
        )

    def workers(self, *, everywhere: bool = False) -> list[WorkerState]:  # noqa: ARG002  there is one node
        """How every worker stands, by number."""
        now = self._clock.wall()
        rows = self._file.rows(
            "select number, in_run, applied, version, pages, pending, heard_at, statistics from workers order by number"
        )
        return [
            WorkerState(
                number=number,
                in_run=bool(in_run),
                applied=applied,
                version=version,
                pages=pages,
                pending=pending,
                heard=None if heard_at is None else max(0.0, now - heard_at),
                statistics=unguarded(statistics) if statistics else b"",
            )
            for number, in_run, applied, version, pages, pending, heard_at, statistics in rows
        ]

    def lists(self) -> Lists:
        """How many sites are in which list; those that nobody has checked out count by groups."""
        counts = dict(self._file.rows("select list, count(*) from sites group by list"))
        return Lists(
            to_crawl=self._count("groups where holder is null and waiting > 0"),
            being_crawled=counts.get(BEING_CRAWLED, 0),
            crawled=counts.get(CRAWLED, 0),
            set_aside=counts.get(SET_ASIDE, 0),
        )

    def groups(self) -> int:
        """How many groups are known."""
        return self._count("groups")

    def waiting(self) -> int:
        """How many pages wait at groups that nobody has checked out."""
        return int(self._file.row("select coalesce(sum(waiting), 0) from groups where holder is null")[0])

    def waits(self, url: str) -> bool:
        """Is a page here: with a group that nobody has checked out, or on its way to a worker?"""
        group = registered_domain(site_of(url))
        for (notices,) in self._file.rows("select notices from waiting where grp = ?", (group,)):
            if _tells_of(url, Message(notices=notices_in(notices))):
                return True
        row = self._file.row("select parcel from groups where name = ?", (group,))
        if row is not None and row[0] is not None:
            from weft.frontier.durable.parcels import unpacked

            content = unpacked(parcel_in(row[0]).content)
            if url in content.urls.decode().split("\n"):
                return True
        return any(_tells_of(url, message_in(data)) for (data,) in self._file.rows("select message from inbox"))

    def scope(self) -> list[str]:
        """What is in the scope."""
        return [url for (url,) in self._file.rows("select url from scope order by id")]

    def _count(self, what: str) -> int:
        return int(self._file.row(f"select count(*) from {what}")[0])  # noqa: S608  names of our own

    # What hands over.

    def surplus(self) -> list[int]:
        """Workers that belong to no run and still hold something."""
        rows = self._file.rows(
            "select number from workers where not in_run and (exists (select 1 from groups where holder = number) "
            "or exists (select 1 from inbox where worker = workers.number) or exists (select 1 from addresses "
            "where holder = workers.number or wanted = workers.number + 1)) order by number"
        )
        return [number for (number,) in rows]

    def hand_over(self, worker: int, left: Left) -> list[str]:
        """Take back what a worker held, with what it knew, as one step; groups of which nothing is known any more."""
        with self._file.transaction() as base:
            return sqlite_handover.hand_over(base, worker, left, self._clock.wall())

    def handed_over(self) -> list[int]:
        """Workers whose groups were taken back, and whose logs may still have them."""
        return [number for (number,) in self._file.rows("select number from workers where handed_over order by number")]

    def end_hand_over(self, worker: int) -> None:
        """The worker's log has them no more."""
        with self._file.transaction() as base:
            base.execute("update workers set handed_over = 0 where number = ?", (worker,))

    def note_shared(self, workers: int) -> None:
        """Everything was handed over for so many workers."""
        with self._file.transaction() as base:
            base.execute("update crawl set shared_among = ?", (workers,))

    def missing(self, worker: int, known: Iterable[str], taken: int) -> list[str]:
        """Groups that a worker holds, beside those it knows of and those in messages that it has not read."""
        held = self.held(worker) - set(known)
        for _, message in inbox(self._base, worker, taken):
            held.difference_update(message.groups)
        return sorted(held)

    def unsound(self) -> list[str]:
        """What is wrong with the file, as far as it shows."""
        return self._file.unsound()

    def remains(self) -> Iterator[Message]:
        """Everything that is on its way, as far as it can be read."""
        return self._file.remains()


def _resize(base: sqlite3.Connection, workers: int) -> None:
    """So many workers belong to the run."""
    base.executemany("insert or ignore into workers(number) values(?)", ((number,) for number in range(workers)))
    base.execute("update workers set in_run = number < ?", (workers,))
    base.execute("update crawl set workers = ?1, wanted = ?1", (workers,))


def _tells_of(url: str, message: Message) -> bool:
    return any(isinstance(notice, Found) and notice.url == url for notice in message.notices)
