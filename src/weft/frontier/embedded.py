"""The embedded global frontier: one SQLite file in the crawl's directory, shared by the workers of one machine.

In: reports. Out: orders. One transaction an exchange, which takes a millisecond or two; the workers' exchanges and
the commands that manage a crawl all wait for each other, and nothing is kept in memory between them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

from weft.clock import Clock, SystemClock
from weft.errors import WeftError
from weft.frontier import embedded_handover
from weft.frontier.contract import (
    BEING_CRAWLED,
    BYTE_LIMIT,
    CRAWLED,
    DONE,
    PAGE_LIMIT,
    SET_ASIDE,
    TIME_LIMIT,
    Begun,
    Link,
    Orders,
    Report,
)
from weft.frontier.embedded_file import (
    PATIENCE,
    EmbeddedFile,
    guarded,
    links_in,
    message_in,
    new_file,
    parcel_in,
    unguarded,
)
from weft.frontier.embedded_groups import apply_batch, bring_again, check_out, inbox, parcels_left, plant
from weft.frontier.embedded_handover import Left
from weft.frontier.pace import Speed, shares
from weft.urls import registered_domain, site_of

__all__ = ["EmbeddedFrontier", "Left"]

_MOST_LINKS = 20_000  # in the messages of one exchange
_RESTARTS_KEPT = 20


def patience(hung_after: float) -> float:
    """How long a worker waits for others: by then the watchdog has ended one that hangs and holds the file."""
    return max(PATIENCE, 2 * hung_after)


class EmbeddedFrontier:
    """The global frontier of a crawl on one machine."""

    def __init__(
        self, path: Path, clock: Clock | None = None, *, patience: float = PATIENCE, read_only: bool = False
    ) -> None:
        self._clock = clock or SystemClock()
        self._file = EmbeddedFile(path, patience, read_only=read_only)
        self._base = self._file.base
        self._by_size = bool(self._file.get("by_size"))

    def __repr__(self) -> str:
        return f"EmbeddedFrontier({self._file.path})"

    @classmethod
    def create(cls, path: Path, *, by_size: bool, seeds: Iterable[str]) -> None:
        """Make the file: before any worker starts, since two that make it at once are in each other's way."""
        with new_file(path) as base:
            about = {"by_size": int(by_size), "pass": 0, "over": "", "paused": 0}
            base.executemany("insert into about values(?, ?)", about.items())
            plant(base, seeds)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    # What a worker does.

    def begin(self, worker: int, *, pid: int) -> Begun:
        """A worker starts, or starts again."""
        with self._file.transaction() as base:
            row = base.execute(
                "update workers set incarnation = incarnation + 1, pid = ?, idle = 0, hungry = 1, seen_at = ? "
                "where number = ? returning incarnation, applied",
                (pid, self._clock.wall(), worker),
            ).fetchone()
            if row is None:
                raise WeftError(f"there is no worker {worker} in this crawl", where=str(self._file.path))
            count = base.execute("select count(*) from workers where active").fetchone()[0]
            alone = count == 1 and not parcels_left(base, worker)
            return Begun(row[0], row[1], alone, self._file.get("pass"))

    def touch(self, worker: int) -> None:
        """A worker that is not yet exchanging is alive."""
        with self._file.transaction() as base:
            base.execute("update workers set seen_at = ? where number = ?", (self._clock.wall(), worker))

    def held(self, worker: int) -> set[str]:
        """The groups of a worker."""
        rows = self._base.execute("select name from groups where holder = ?", (worker,))
        return {name for (name,) in rows}

    def exchange(self, report: Report) -> Orders:
        """Take a worker's report and give it its orders, as one step."""
        with self._file.transaction() as base:
            row = base.execute("select incarnation, applied from workers where number = ?", (report.worker,)).fetchone()
            if row is None or row[0] != report.incarnation:
                raise WeftError(
                    f"another process goes by the number of worker {report.worker}",
                    where=str(self._file.path),
                    todo="nothing: this one gives way",
                )
            orders = Orders(applied=row[1])
            for batch in report.batches:
                if batch.number > orders.applied:
                    apply_batch(base, report.worker, batch)
                    orders.applied = batch.number
            orders.applied = max(orders.applied, report.number)
            orders.version = (self._file.get("version") or 0) + 1
            self._file.set("version", orders.version)
            base.execute("delete from inbox where worker = ? and id <= ?", (report.worker, report.settled))
            self._lend(base, report, orders)
            if report.wants > 0:
                check_out(base, report.worker, report.wants, by_size=self._by_size)
            self._deliver(base, report, orders)
            self._instruct(base, report, orders)
            allowed = self._allow(base, report, orders)
            idle = report.idle and not orders.messages and not allowed
            base.execute(
                "update workers set applied = ?, taken = ?, idle = ?, starved = ?, aside = ?, pages = ?, bytes = ?, "
                "seconds = ?, pending = ?, pages_rate = ?, bytes_rate = ?, hungry = ?, seen_at = ?, statistics = ? "
                "where number = ?",
                (
                    orders.applied,
                    report.taken,
                    idle,
                    report.starved,
                    report.aside,
                    report.pages,
                    report.amount,
                    report.seconds,
                    report.pending,
                    *report.rate,
                    report.hungry,
                    self._clock.wall(),
                    guarded(report.statistics),
                    report.worker,
                ),
            )
            if idle:
                self._look_around(base)
            self._look_at_limits(base)
            orders.second_pass = self._file.get("pass")
            orders.over = self._file.get("over")
        return orders

    def _deliver(self, base: sqlite3.Connection, report: Report, orders: Orders) -> None:
        orders.taken = report.taken
        links = 0
        for number, message in inbox(base, report.worker, report.taken):
            orders.messages.append(message)
            orders.taken = number
            links += len(message.links)
            if links > _MOST_LINKS:
                break

    def _lend(self, base: sqlite3.Connection, report: Report, orders: Orders) -> None:
        """Addresses are lent to one worker at a time, so that their limits hold over all of them."""
        me = report.worker
        for address, not_before in report.released:
            base.execute(
                "update addresses set holder = nullif(wanted, 0) - 1, wanted = 0, not_before = ? "
                "where address = ? and holder = ?",
                (not_before, address, me),
            )
        for address, insists in report.wanted:
            row = base.execute("select holder, not_before from addresses where address = ?", (address,)).fetchone()
            if row is None or row[0] is None or row[0] == me:
                orders.lent.append((address, 0.0 if row is None else row[1]))
                base.execute(
                    "insert into addresses(address, holder) values(?, ?) on conflict do update set holder = ?",
                    (address, me, me),
                )
            elif not insists:
                orders.taken_already.append(address)
            else:
                base.execute("update addresses set wanted = ? where address = ? and wanted = 0", (me + 1, address))
        wanted = base.execute("select address from addresses where holder = ? and wanted > 0", (me,))
        orders.recalled = [address for (address,) in wanted]

    def _instruct(self, base: sqlite3.Connection, report: Report, orders: Orders) -> None:
        """What whoever runs the crawl has said since."""
        for number, url in base.execute("select id, url from scope where id > ? order by id", (report.scope,)):
            orders.scope.append(url)
            orders.scope_at = number
        newest = base.execute("select coalesce(max(id), 0) from rules").fetchone()[0]
        orders.rules_at = newest
        if newest != report.rules:
            orders.rules = self.blacklist()
        orders.paused = bool(self._file.get("paused"))
        pages, amount = Speed.parse(self._file.get("speed") or "").at(self._clock.wall())
        me = report.worker
        orders.speed = (_share(base, me, pages, "pages_rate"), _share(base, me, amount, "bytes_rate"))
        if self._file.get("stop") and not self._file.get("over"):
            self._file.set("over", self._file.get("stop"))

    def _allow(self, base: sqlite3.Connection, report: Report, orders: Orders) -> bool:
        """Divide the pages that the crawl may fetch: was this worker given more?

        Who has none left and could use some gets a share of what nobody has; who can use none gives back what it has.
        """
        most = self._file.get("max_pages")
        if most is None:
            return False
        mine, others = base.execute(
            "select sum(case when number = ?1 then allowance end), "
            "sum(case when number = ?1 then 0 else max(coalesce(allowance, 0), pages) end) from workers",
            (report.worker,),
        ).fetchone()
        workers = base.execute("select count(*) from workers where active").fetchone()[0]
        before = mine or 0
        if report.starved or mine is None:  # none: it has not yet been asked what it can use
            mine = report.pages + max(0, -(-(most - others - report.pages) // workers))
        elif report.idle:
            mine = report.pages
        mine = max(min(mine, most - others), report.pages)
        base.execute("update workers set allowance = ? where number = ?", (mine, report.worker))
        orders.allowance = mine
        return bool(mine > max(before, report.pages))

    def _look_around(self, base: sqlite3.Connection) -> None:
        """A worker has nothing to do: is it the end? Everything is looked at in one step, so nothing is on its way."""
        busy, aside, pending, starved = base.execute(
            "select sum(not idle), sum(aside), sum(pending), sum(starved) from workers where active"
        ).fetchone()
        pages = base.execute("select sum(pages) from workers").fetchone()[0]
        if busy or self._file.get("over"):
            return
        unread = base.execute(
            "select 1 from inbox join workers on inbox.worker = workers.number where inbox.id > workers.taken limit 1"
        ).fetchone()
        free = base.execute("select 1 from groups where holder is null and waiting > 0 limit 1").fetchone()
        most = self._file.get("max_pages")
        if most is not None and pages >= most:
            self._file.set("over", PAGE_LIMIT if pending or free or unread else DONE)
        elif unread or free or starved:  # who is starved gets, with its next report, what others could not use
            return
        elif aside:
            self._file.set("pass", self._file.get("pass") + 1)
            base.execute("update workers set idle = 0")
        else:
            self._file.set("over", DONE)

    def _look_at_limits(self, base: sqlite3.Connection) -> None:
        """Have all workers together come to a limit of the crawl?"""
        amount, seconds = base.execute("select sum(bytes), max(seconds) from workers").fetchone()
        for reached, name, ending in ((amount, "max_bytes", BYTE_LIMIT), (seconds, "max_time", TIME_LIMIT)):
            most = self._file.get(name)
            if most is not None and reached >= most and not self._file.get("over"):
                self._file.set("over", ending)

    # What whoever runs the crawl does.

    def prepare(
        self,
        workers: int,
        *,
        max_pages: int | None,
        max_bytes: int | None = None,
        max_time: float | None = None,
        speed: str | None = None,
    ) -> None:
        """A run begins with so many workers; a speed that was set before holds unless another is given than to the
        last run.
        """
        with self._file.transaction() as base:
            base.executemany("insert or ignore into workers(number) values(?)", ((n,) for n in range(workers)))
            base.execute(
                "update workers set active = number < ?, idle = 0, starved = 0, allowance = null, hungry = 1",
                (workers,),
            )
            base.execute("update addresses set wanted = 0")
            base.execute("update addresses set holder = null where holder >= ?", (workers,))
            for name in ("over", "stop"):
                self._file.set(name, "")
            self._file.set("max_pages", max_pages)
            self._file.set("max_bytes", max_bytes)
            self._file.set("max_time", max_time)
            if speed is not None and speed != self._file.get("speed of a run"):
                self._file.set("speed", speed)
                self._file.set("speed of a run", speed)

    def surplus(self) -> list[int]:
        """Workers of earlier runs that still hold something."""
        rows = self._base.execute(
            "select number from workers where not active and (exists (select 1 from groups where holder = number) "
            "or exists (select 1 from inbox where worker = number)) order by number"
        )
        return [number for (number,) in rows]

    def add(self, urls: Iterable[str], again: Container[str] = ()) -> None:
        """Add seeds to a crawl; some of them are to be fetched again."""
        with self._file.transaction() as base:
            plant(base, urls, again)
            base.execute("update workers set idle = 0")

    def offer_again(self, links: Iterable[Link], *, scope: Iterable[str], name: str, value: Any) -> int:
        """Bring links that were refused before, and say something, as one step; how many they were."""
        with self._file.transaction() as base:
            base.executemany("insert or ignore into scope(url) values(?)", ((url,) for url in scope))
            count = bring_again(base, links)
            base.execute("update workers set idle = 0")
            self._file.set(name, value)
        return count

    def blacklist(self) -> list[str]:
        """The rules of the blacklist."""
        rows = self._base.execute("select rule from rules where not gone and rule <> '' order by id")
        return [rule for (rule,) in rows]

    def change_blacklist(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Change the rules; workers hear of it with their next exchange."""
        with self._file.transaction() as base:
            known = set(self.blacklist())
            for rule in remove:
                base.execute("update rules set gone = 1 where rule = ?", (rule,))
            base.executemany("insert into rules(rule) values(?)", ((rule,) for rule in add if rule not in known))
            base.execute("insert into rules(rule) values('')")  # that something changed

    def set(self, name: str, value: Any) -> None:
        """Say something to all workers: paused, speed, stop."""
        with self._file.transaction():
            self._file.set(name, value)

    def get(self, name: str) -> Any:
        """What was said."""
        return self._file.get(name)

    def note_restart(self, restart: dict[str, Any]) -> None:
        """Write down that a worker was started again, and why."""
        with self._file.transaction():
            count, last = self.restarts()
            last = [*last, restart][-_RESTARTS_KEPT:]
            self._file.set("restarts", json.dumps({"count": count + 1, "last": last}))

    def restarts(self) -> tuple[int, list[dict[str, Any]]]:
        """How often workers were started again, and the last of these restarts."""
        found = json.loads(self._file.get("restarts") or '{"count": 0, "last": []}')
        return found["count"], found["last"]

    def workers(self) -> list[dict[str, Any]]:
        """How every worker stands."""
        cursor = self._base.execute("select * from workers order by number")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        for row in rows:
            row["statistics"] = row["statistics"] and unguarded(row["statistics"])
        return rows

    def lists(self) -> dict[str, int]:
        """How many sites are in which list; those that nobody has checked out count by groups."""
        counts = dict(self._base.execute("select list, count(*) from sites group by list").fetchall())
        free = self._base.execute("select count(*) from groups where holder is null and waiting > 0").fetchone()[0]
        names = {BEING_CRAWLED: "being crawled", CRAWLED: "crawled", SET_ASIDE: "set aside"}
        return {"to crawl": free, **{name: counts.get(number, 0) for number, name in names.items()}}

    def groups(self) -> int:
        """How many groups are known."""
        return int(self._base.execute("select count(*) from groups").fetchone()[0])

    def waiting(self) -> int:
        """How many pages wait at groups that nobody has checked out."""
        count = self._base.execute("select coalesce(sum(waiting), 0) from groups where holder is null").fetchone()[0]
        return int(count)

    def waits(self, url: str) -> bool:
        """Is a page here: with a group that nobody has checked out, or on its way to a worker?"""
        group = registered_domain(site_of(url))
        queued = self._base.execute("select links from waiting where grp = ?", (group,)).fetchall()
        if any(link.url == url for (links,) in queued for link in links_in(links)):
            return True
        row = self._base.execute("select parcel from groups where name = ?", (group,)).fetchone()
        if row is not None and row[0] is not None:
            from weft.frontier.parcels import unpacked

            content = unpacked(parcel_in(row[0]).content)
            if url in content.urls.decode().split("\n"):
                return True
        sent = (message_in(data) for (data,) in self._base.execute("select message from inbox"))
        return any(link.url == url for message in sent for link in message.links)

    def scope(self) -> list[str]:
        """What is in the scope."""
        return [url for (url,) in self._base.execute("select url from scope order by id")]

    # Handing over: what a worker left goes to others. `weft.handover` says in which steps, and why they are safe.

    def hand_over(self, worker: int, left: Left) -> list[str]:
        """Take back what a worker held, with what it knew, as one step; groups of which nothing is known any more.

        These start over, with the seeds and links that are known here.
        """
        return embedded_handover.hand_over(self._file, worker, left)

    def handed_over(self) -> list[int]:
        """Workers whose groups were taken back, and whose logs may still have them."""
        return embedded_handover.handed_over(self._file)

    def end_hand_over(self, worker: int) -> None:
        """The worker's log has them no more."""
        embedded_handover.end_hand_over(self._file, worker)

    def version(self) -> int:
        """How far it is: it grows with each exchange."""
        return int(self._file.get("version") or 0)

    def unsound(self) -> list[str]:
        """What is wrong with the file, as far as it shows."""
        return self._file.unsound()

    def blobs(self) -> list[tuple[str, bytes]]:
        """Everything that is on its way, encoded, as far as it can be read: what it is, and it."""
        return self._file.blobs()

    def locked_by(self) -> int | None:
        """The process that keeps all others from writing, or None."""
        return self._file.locked_by()

    def missing(self, worker: int, known: Iterable[str], taken: int) -> list[str]:
        """Groups that a worker holds, beside those it knows of and those in messages that it has not read."""
        held = self.held(worker) - set(known)
        for _, message in inbox(self._base, worker, taken):
            held.difference_update(message.groups)
        return sorted(held)


def _share(base: sqlite3.Connection, worker: int, limit: float | None, column: str) -> float | None:
    """A worker's share of what all may fetch in a second, by what each of them fetches now."""
    if limit is None:
        return None
    rates = base.execute(f"select number, {column}, hungry from workers where active").fetchall()  # noqa: S608
    return shares(limit, {number: (rate, bool(hungry)) for number, rate, hungry in rates})[worker]
