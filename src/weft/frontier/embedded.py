"""The embedded global frontier: one SQLite file in the crawl's directory, shared by the workers of one machine.

In: reports. Out: orders. One transaction an exchange, which takes a millisecond or two; the workers' exchanges and
the commands that manage a crawl all wait for each other, and nothing is kept in memory between them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from weft.clock import Clock, SystemClock
from weft.errors import WeftError
from weft.frontier.contract import (
    BEING_CRAWLED,
    CRAWLED,
    SET_ASIDE,
    Batch,
    Begun,
    Link,
    Message,
    Orders,
    Parcel,
    Report,
)
from weft.frontier.pace import Speed, shares
from weft.frontier.parcels import disturbed, unpacked
from weft.model import Kind
from weft.urls import registered_domain, site_of

_FORMAT = 1
_MOST_LINKS = 20_000  # in the messages of one exchange
_MOST_PARCELS = 4_000_000  # bytes of them in one message, about
_PATIENCE = 60.0  # seconds that a transaction waits for others

_TABLES = """
create table about(name text primary key, value) without rowid;
create table groups(
    name text primary key, holder int, seed int not null, found integer not null,
    waiting int not null default 0, parcel blob) without rowid;
create index to_crawl on groups(seed desc, found) where holder is null and waiting > 0;
create index to_crawl_by_size on groups(seed desc, waiting desc) where holder is null and waiting > 0;
create table sites(name text primary key, list int not null, worker int not null) without rowid;
create table waiting(id integer primary key autoincrement, grp text not null, links blob not null);
create index waiting_by_group on waiting(grp);
create table inbox(id integer primary key autoincrement, worker int not null, message blob not null);
create index inbox_by_worker on inbox(worker, id);
create table workers(
    number integer primary key, incarnation int not null default 0, pid int, applied int not null default 0,
    taken int not null default 0, idle int not null default 0, aside int not null default 0,
    pages int not null default 0, bytes int not null default 0, pending int not null default 0, allowance int,
    pages_rate real not null default 0, bytes_rate real not null default 0, hungry int not null default 1,
    seen_at real, active int not null default 1, statistics blob);
create table addresses(  -- `wanted` is the number of the worker who gets it next, plus one
    address text primary key, holder int, not_before real not null default 0, wanted int not null default 0
    ) without rowid;
create index lent on addresses(holder) where wanted > 0;
create table scope(id integer primary key, url text not null unique);
create table rules(id integer primary key, rule text not null, gone int not null default 0);
"""

_HANDED_OVER = "handed over "  # in `about`, before the number of a worker

_links = msgspec.msgpack.Decoder(list[Link]).decode
_message = msgspec.msgpack.Decoder(Message).decode
_encode = msgspec.msgpack.Encoder().encode


class Left(NamedTuple):
    """What a worker that does not run left to others, by its log."""

    batches: list[Batch]
    number: int  # of the last
    taken: int  # how far its inbox was read
    parcels: Iterable[Parcel]
    clean: bool  # it had stopped by itself
    at: float  # wall time: it does not run since this
    rests: dict[str, float]  # addresses, each with the wall time before which it is not visited
    pages: int  # fetched
    statistics: bytes


class EmbeddedFrontier:
    """The global frontier of a crawl on one machine."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._path = path
        self._clock = clock or SystemClock()
        if not path.exists():
            raise WeftError("the global frontier is missing", where=str(path), todo="begin the crawl anew")
        with _sqlite(path):
            self._base = _connect(path)
            form = self._about("format")
        if form != _FORMAT:
            raise WeftError(
                f"the global frontier was written by another version of weft (format {form}, this one reads {_FORMAT})",
                where=str(path),
                todo="go on with the version that began the crawl",
            )
        self._by_size = bool(self._about("by_size"))

    def __repr__(self) -> str:
        return f"EmbeddedFrontier({self._path})"

    @classmethod
    def create(cls, path: Path, *, by_size: bool, seeds: Iterable[str]) -> None:
        """Make the file: before any worker starts, since two that make it at once are in each other's way."""
        beside = path.with_name(path.name + ".new")
        beside.unlink(missing_ok=True)
        with _sqlite(path):
            base = sqlite3.connect(beside, isolation_level=None)
            base.executescript(_TABLES)
            base.execute("begin")
            about = {"format": _FORMAT, "by_size": int(by_size), "pass": 0, "over": "", "paused": 0}
            base.executemany("insert into about values(?, ?)", about.items())
            _plant(base, seeds)
            base.execute("commit")
            base.close()
        beside.rename(path)

    def close(self) -> None:
        """Give the file back."""
        self._base.close()

    # What a worker does.

    def begin(self, worker: int, *, pid: int) -> Begun:
        """A worker starts, or starts again."""
        with self._transaction() as base:
            row = base.execute(
                "update workers set incarnation = incarnation + 1, pid = ?, idle = 0, hungry = 1, seen_at = ? "
                "where number = ? returning incarnation, applied",
                (pid, self._clock.wall(), worker),
            ).fetchone()
            if row is None:
                raise WeftError(f"there is no worker {worker} in this crawl", where=str(self._path))
            count = base.execute("select count(*) from workers where active").fetchone()[0]
            alone = count == 1 and not self._parcels_left(base, worker)
            return Begun(row[0], row[1], alone, self._about("pass"))

    def touch(self, worker: int) -> None:
        """A worker that is not yet exchanging is alive."""
        with self._transaction() as base:
            base.execute("update workers set seen_at = ? where number = ?", (self._clock.wall(), worker))

    def held(self, worker: int) -> set[str]:
        """The groups of a worker."""
        rows = self._base.execute("select name from groups where holder = ?", (worker,))
        return {name for (name,) in rows}

    def exchange(self, report: Report) -> Orders:
        """Take a worker's report and give it its orders, as one step."""
        with self._transaction() as base:
            row = base.execute("select incarnation, applied from workers where number = ?", (report.worker,)).fetchone()
            if row is None or row[0] != report.incarnation:
                raise WeftError(
                    f"another process goes by the number of worker {report.worker}",
                    where=str(self._path),
                    todo="nothing: this one gives way",
                )
            orders = Orders(applied=row[1])
            for batch in report.batches:
                if batch.number > orders.applied:
                    self._apply(base, report.worker, batch)
                    orders.applied = batch.number
            base.execute("delete from inbox where worker = ? and id <= ?", (report.worker, report.settled))
            self._lend(base, report, orders)
            if report.wants > 0:
                self._check_out(base, report.worker, report.wants)
            self._deliver(base, report, orders)
            self._instruct(base, report, orders)
            allowed = self._allow(base, report, orders)
            idle = report.idle and not orders.messages and not allowed
            base.execute(
                "update workers set applied = ?, taken = ?, idle = ?, aside = ?, pages = ?, bytes = ?, pending = ?, "
                "pages_rate = ?, bytes_rate = ?, hungry = ?, seen_at = ?, statistics = ? where number = ?",
                (
                    orders.applied,
                    report.taken,
                    idle,
                    report.aside,
                    report.pages,
                    report.amount,
                    report.pending,
                    *report.rate,
                    report.hungry,
                    self._clock.wall(),
                    report.statistics,
                    report.worker,
                ),
            )
            if idle:
                self._look_around(base)
            most = self._about("max_bytes")
            if most is not None and base.execute("select sum(bytes) from workers").fetchone()[0] >= most:
                self._set("over", self._about("over") or "byte limit")
            orders.second_pass = self._about("pass")
            orders.over = self._about("over")
        return orders

    def _apply(self, base: sqlite3.Connection, worker: int, batch: Batch) -> None:
        """Do what a batch says."""
        base.executemany(
            "insert into groups values(?, ?, 0, 0, 0, null) on conflict(name) do update set holder = excluded.holder",
            ((group, worker) for group in batch.claimed),
        )
        known = "select 1 from groups where name = ? and (waiting > 0 or parcel is not null)"
        waited = [group for group in batch.claimed if base.execute(known, (group,)).fetchone()]
        self._bring_waiting(base, worker, waited)
        base.executemany(
            "insert or replace into sites values(?, ?, ?)",
            ((site, where, worker) for site, where in batch.lists.items()),
        )
        base.executemany("insert or ignore into scope(url) values(?)", ((url,) for url in batch.scope))
        for group, address in batch.moved:
            row = base.execute("select holder from addresses where address = ?", (address,)).fetchone()
            holder = None if row is None or row[0] == worker else row[0]
            base.execute("update groups set holder = ? where name = ? and holder = ?", (holder, group, worker))
            if holder is not None:
                message = Message(groups=[group])
                base.execute("insert into inbox(worker, message) values(?, ?)", (holder, _encode(message)))
        _bring(base, batch.links)

    def _check_out(self, base: sqlite3.Connection, worker: int, wants: int) -> None:
        """Give a worker groups: those of the seeds first, and no more than its share of what is there."""
        free = base.execute("select count(*) from groups where holder is null and waiting > 0").fetchone()[0]
        if free == 0:
            return
        workers = base.execute("select count(*) from workers where active").fetchone()[0]
        best = "waiting desc" if self._by_size else "found"
        groups = base.execute(
            f"select name, length(parcel) from groups where holder is null and waiting > 0 order by seed desc, {best} "  # noqa: S608
            "limit ?",
            (min(wants, -(-free // workers)),),
        ).fetchall()
        before = accumulate((size or 0 for _, size in groups), initial=0)  # loading parcels takes time
        some = [group for (group, _), size in zip(groups, before, strict=False) if size < _MOST_PARCELS]
        self._bring_waiting(base, worker, some)

    def _bring_waiting(self, base: sqlite3.Connection, worker: int, groups: list[str]) -> None:
        """Groups have a worker: it is sent what waited for them, in the order it came, whatever the group."""
        message = Message(groups=groups)
        found: list[tuple[int, list[Link]]] = []
        for group in groups:
            (parcel,) = base.execute("select parcel from groups where name = ?", (group,)).fetchone()
            base.execute("update groups set holder = ?, waiting = 0, parcel = null where name = ?", (worker, group))
            if parcel is not None:
                message.parcels.append(msgspec.msgpack.decode(parcel, type=Parcel))
            found += ((number, _links(links)) for number, links in _waiting(base, group))
        found.sort(key=lambda each: each[0])
        message.links = [link for _, links in found for link in links]
        if groups:
            base.execute("insert into inbox(worker, message) values(?, ?)", (worker, _encode(message)))

    def _deliver(self, base: sqlite3.Connection, report: Report, orders: Orders) -> None:
        orders.taken = report.taken
        links = 0
        for number, data in base.execute(
            "select id, message from inbox where worker = ? and id > ? order by id", (report.worker, report.taken)
        ):
            message = _message(data)
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
            orders.rules = self.blacklist(base)
        orders.paused = bool(self._about("paused"))
        speed = Speed.parse(self._about("speed") or "")
        limits = speed.at(self._clock.wall())
        for place, column in enumerate(("pages_rate", "bytes_rate")):
            limit = limits[place]
            if limit is not None:
                rates = base.execute(f"select number, {column}, hungry from workers where active").fetchall()  # noqa: S608
                share = shares(limit, {number: (rate, bool(hungry)) for number, rate, hungry in rates})[report.worker]
                orders.speed = (share, orders.speed[1]) if place == 0 else (orders.speed[0], share)
        if self._about("stop") and not self._about("over"):
            self._set("over", self._about("stop"))

    def _allow(self, base: sqlite3.Connection, report: Report, orders: Orders) -> bool:
        """Divide the pages that the crawl may fetch: was this worker given more?

        Who has none left and could use some gets a share of what nobody has; who can use none gives back what it has.
        """
        most = self._about("max_pages")
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
        busy, aside, pending = base.execute(
            "select sum(not idle), sum(aside), sum(pending) from workers where active"
        ).fetchone()
        pages = base.execute("select sum(pages) from workers").fetchone()[0]
        if busy or self._about("over"):
            return
        unread = base.execute(
            "select 1 from inbox join workers on inbox.worker = workers.number where inbox.id > workers.taken limit 1"
        ).fetchone()
        free = base.execute("select 1 from groups where holder is null and waiting > 0 limit 1").fetchone()
        most = self._about("max_pages")
        if most is not None and pages >= most:
            self._set("over", "page limit" if pending or free or unread else "done")
        elif unread or free:
            return
        elif aside:
            self._set("pass", self._about("pass") + 1)
            base.execute("update workers set idle = 0")
        else:
            self._set("over", "done")

    # What whoever runs the crawl does.

    def prepare(
        self, workers: int, *, max_pages: int | None, max_bytes: int | None = None, speed: str | None = None
    ) -> None:
        """A run begins with so many workers; a speed that was set before holds unless another is given than to the
        last run.
        """
        with self._transaction() as base:
            base.executemany("insert or ignore into workers(number) values(?)", ((n,) for n in range(workers)))
            base.execute("update workers set active = number < ?, idle = 0, allowance = null, hungry = 1", (workers,))
            base.execute("update addresses set wanted = 0")
            base.execute("update addresses set holder = null where holder >= ?", (workers,))
            for name in ("over", "stop"):
                self._set(name, "")
            self._set("max_pages", max_pages)
            self._set("max_bytes", max_bytes)
            if speed is not None and speed != self._about("speed of a run"):
                self._set("speed", speed)
                self._set("speed of a run", speed)

    def surplus(self) -> list[int]:
        """Workers of earlier runs that still hold something."""
        rows = self._base.execute(
            "select number from workers where not active and (exists (select 1 from groups where holder = number) "
            "or exists (select 1 from inbox where worker = number)) order by number"
        )
        return [number for (number,) in rows]

    # Handing over: what a worker left goes to others. `weft.handover` says in which steps, and why they are safe.

    def hand_over(self, worker: int, left: Left) -> list[str]:
        """Take back what a worker held, with what it knew, as one step; groups of which nothing is known any more.

        These start over, with the seeds and links that are known here.
        """
        with self._transaction() as base:
            (applied,) = base.execute("select applied from workers where number = ?", (worker,)).fetchone()
            for batch in left.batches:
                if batch.number > applied:
                    self._apply(base, worker, batch)
            unread = base.execute(
                "select message from inbox where worker = ? and id > ? order by id", (worker, left.taken)
            ).fetchall()
            base.execute("delete from inbox where worker = ?", (worker,))
            for order, parcel in enumerate(left.parcels):
                base.execute(  # groups that were claimed have no place in the order of finding: before all others
                    "update groups set holder = null, parcel = ?, waiting = ?, "
                    "found = case when found = 0 then ? else found end where name = ? and holder = ?",
                    (_encode(parcel), parcel.pending, order - (1 << 40), parcel.group, worker),
                )
            messages = [_message(data) for (data,) in unread]
            for message in messages:
                self._return_unread(base, worker, message, left)
            rows = base.execute("update groups set holder = null where holder = ? returning name", (worker,))
            lost = sorted(name for (name,) in rows.fetchall())
            for message in messages:
                _bring(base, _by_group(message.links))
            if lost:
                gone = set(lost)
                seeds = [url for url in self.scope() if registered_domain(site_of(url)) in gone]
                _plant(base, seeds)
            base.execute("delete from sites where worker = ? and list <> ?", (worker, CRAWLED))
            base.execute("update addresses set holder = null, wanted = 0 where holder = ?", (worker,))
            base.executemany(
                "insert into addresses(address, not_before) values(?, ?) "
                "on conflict do update set not_before = max(not_before, excluded.not_before)",
                left.rests.items(),
            )
            base.execute(
                "update workers set incarnation = incarnation + 1, applied = ?, taken = ?, pages = ?, statistics = ?, "
                "idle = 0, aside = 0, pending = 0, pages_rate = 0, bytes_rate = 0 where number = ?",
                (left.number, left.taken, left.pages, left.statistics, worker),
            )
            self._set(f"{_HANDED_OVER}{worker}", 1)
        return lost

    def _return_unread(self, base: sqlite3.Connection, worker: int, message: Message, left: Left) -> None:
        """Groups that its log does not have: the worker may still have visited them, if it died."""
        parcels = {parcel.group: parcel for parcel in message.parcels}
        for group in message.groups:
            parcel = parcels.get(group)
            if not left.clean:
                parcel = disturbed(parcel or Parcel(group, 0, b""), left.at)
            base.execute(
                "update groups set holder = null, parcel = ?, waiting = waiting + ? where name = ? and holder = ?",
                (parcel and _encode(parcel), parcel.pending if parcel else 0, group, worker),
            )

    def handed_over(self) -> list[int]:
        """Workers whose groups were taken back, and whose logs may still have them."""
        rows = self._base.execute("select name from about where name glob ?", (f"{_HANDED_OVER}*",))
        return sorted(int(name.removeprefix(_HANDED_OVER)) for (name,) in rows)

    def end_hand_over(self, worker: int) -> None:
        """The worker's log has them no more."""
        with self._transaction() as base:
            base.execute("delete from about where name = ?", (f"{_HANDED_OVER}{worker}",))

    def missing(self, worker: int, known: Iterable[str], taken: int) -> list[str]:
        """Groups that a worker holds, beside those it knows of and those in messages that it has not read."""
        held = self.held(worker) - set(known)
        for (data,) in self._base.execute("select message from inbox where worker = ? and id > ?", (worker, taken)):
            held.difference_update(_message(data).groups)
        return sorted(held)

    def _parcels_left(self, base: sqlite3.Connection, worker: int) -> bool:
        """Is something known of groups that has not reached this worker? Then it must not take them by itself."""
        if base.execute("select 1 from groups where parcel is not null limit 1").fetchone():
            return True
        unread = base.execute("select message from inbox where worker = ?", (worker,))
        return any(_message(data).parcels for (data,) in unread)

    def add(self, urls: Iterable[str]) -> None:
        """Add seeds to a crawl."""
        with self._transaction() as base:
            _plant(base, urls)
            base.execute("update workers set idle = 0")

    def blacklist(self, base: sqlite3.Connection | None = None) -> list[str]:
        """The rules of the blacklist."""
        rows = (base or self._base).execute("select rule from rules where not gone and rule <> '' order by id")
        return [rule for (rule,) in rows]

    def change_blacklist(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Change the rules; workers hear of it with their next exchange."""
        with self._transaction() as base:
            known = set(self.blacklist(base))
            for rule in remove:
                base.execute("update rules set gone = 1 where rule = ?", (rule,))
            base.executemany("insert into rules(rule) values(?)", ((rule,) for rule in add if rule not in known))
            base.execute("insert into rules(rule) values('')")  # that something changed

    def set(self, name: str, value: Any) -> None:
        """Say something to all workers: paused, speed, stop."""
        with self._transaction():
            self._set(name, value)

    def get(self, name: str) -> Any:
        """What was said."""
        return self._about(name)

    def workers(self) -> list[dict[str, Any]]:
        """How every worker stands."""
        cursor = self._base.execute("select * from workers order by number")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def lists(self) -> dict[str, int]:
        """How many sites are in which list; those that nobody has checked out count by groups."""
        counts = dict(self._base.execute("select list, count(*) from sites group by list").fetchall())
        free = self._base.execute("select count(*) from groups where holder is null and waiting > 0").fetchone()[0]
        names = {BEING_CRAWLED: "being crawled", CRAWLED: "crawled", SET_ASIDE: "set aside"}
        return {"to crawl": free, **{name: counts.get(number, 0) for number, name in names.items()}}

    def waiting(self) -> int:
        """How many pages wait at groups that nobody has checked out."""
        count = self._base.execute("select coalesce(sum(waiting), 0) from groups where holder is null").fetchone()[0]
        return int(count)

    def waits(self, url: str) -> bool:
        """Is a page here: with a group that nobody has checked out, or on its way to a worker?"""
        group = registered_domain(site_of(url))
        queued = self._base.execute("select links from waiting where grp = ?", (group,)).fetchall()
        if any(link.url == url for (links,) in queued for link in _links(links)):
            return True
        row = self._base.execute("select parcel from groups where name = ?", (group,)).fetchone()
        if row is not None and row[0] is not None:
            content = unpacked(msgspec.msgpack.decode(row[0], type=Parcel).content)
            if url in content.urls.decode().split("\n"):
                return True
        sent = (_message(data) for (data,) in self._base.execute("select message from inbox"))
        return any(link.url == url for message in sent for link in message.links)

    def scope(self) -> list[str]:
        """What is in the scope."""
        return [url for (url,) in self._base.execute("select url from scope order by id")]

    # Inside.

    def _about(self, name: str) -> Any:
        row = self._base.execute("select value from about where name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def _set(self, name: str, value: Any) -> None:
        self._base.execute("insert or replace into about values(?, ?)", (name, value))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with _sqlite(self._path):
            self._base.execute("begin immediate")
            try:
                yield self._base
            except BaseException:
                self._base.execute("rollback")
                raise
            self._base.execute("commit")


def _connect(path: Path) -> sqlite3.Connection:
    base = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
    base.execute("pragma journal_mode = wal")
    base.execute("pragma synchronous = full")
    return base


@contextmanager
def _sqlite(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise WeftError(
            f"the global frontier cannot be used: {error}",
            where=str(path),
            todo="is the disk full, or the directory read-only? Mend it and run the same command again",
        ) from error


def _plant(base: sqlite3.Connection, urls: Iterable[str]) -> None:
    """Put seeds in, in their order, and let them into the scope."""
    for url in urls:
        _bring(base, {registered_domain(site_of(url)): [Link(url, Kind.SEED, 0, 0)]})
        base.execute("insert or ignore into scope(url) values(?)", (url,))


def _bring(base: sqlite3.Connection, links: dict[str, list[Link]]) -> None:
    """Bring links to whoever holds their group; those of groups that nobody holds wait."""
    mail: dict[int, list[Link]] = {}
    for group, some in links.items():
        row = base.execute("select holder from groups where name = ?", (group,)).fetchone()
        if row is not None and row[0] is not None:
            mail.setdefault(row[0], []).extend(some)
            continue
        found = base.execute("insert into waiting(grp, links) values(?, ?)", (group, _encode(some))).lastrowid
        seed = any(link.kind == Kind.SEED for link in some)
        base.execute(
            "insert into groups values(?, null, ?, ?, ?, null) on conflict(name) do update set "
            "waiting = waiting + excluded.waiting, seed = max(seed, excluded.seed)",
            (group, seed, found, len(some)),
        )
    for worker, some in mail.items():
        base.execute("insert into inbox(worker, message) values(?, ?)", (worker, _encode(Message(links=some))))


def _by_group(links: Iterable[Link]) -> dict[str, list[Link]]:
    groups: dict[str, list[Link]] = {}
    for link in links:
        groups.setdefault(registered_domain(site_of(link.url)), []).append(link)
    return groups


def _waiting(base: sqlite3.Connection, group: str) -> list[tuple[int, bytes]]:
    """Take the links that wait for a group."""
    return base.execute("delete from waiting where grp = ? returning id, links", (group,)).fetchall()
