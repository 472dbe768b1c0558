"""The global frontier in PostgreSQL (15 or later), thin as yet: what a worker does, and most of what the operator does.

In: reports. Out: orders. An exchange is one transaction at READ COMMITTED; where two are in each other's way one of
them begins anew. Its clock is the database's. Several workers exchange at once: they lock the rows of the groups that
they tell of and of the workers whom they tell, and share the crawl's row. Who must look at all workers in one step (it
is idle, or pages are limited) locks that row, and so waits for all others.

The statements are in `postgres.sql`, each with its purpose. Handing over is not here yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

import msgspec
import psycopg
from psycopg import errors, sql

from weft.errors import WeftError
from weft.frontier.pace import Speed, shares
from weft.frontier.shared.contract import (
    BEING_CRAWLED,
    BYTE_LIMIT,
    CRAWLED,
    DONE,
    PAGE_LIMIT,
    SET_ASIDE,
    TIME_LIMIT,
    Batch,
    Begun,
    Found,
    FrontierAwayError,
    Limits,
    Lists,
    Message,
    Notice,
    Orders,
    Parcel,
    Report,
    WorkerState,
)
from weft.model import Kind
from weft.urls import registered_domain, site_of

_MOST_NOTICES = 20_000  # in the messages of one exchange
_TRIES = 20  # of a transaction that others were in the way of
_IN_THE_WAY = (errors.DeadlockDetected, errors.SerializationFailure, errors.UniqueViolation)
T = TypeVar("T")
_Base = psycopg.Connection[tuple[Any, ...]]
_Post = dict[int, list[Message]]  # by worker: what it is sent when all of it is known

_encode = msgspec.msgpack.Encoder().encode
_notices = msgspec.msgpack.Decoder(list[Notice]).decode
_message = msgspec.msgpack.Decoder(Message).decode
_parcel = msgspec.msgpack.Decoder(Parcel).decode


class _Crawl(NamedTuple):
    """What a report is answered by."""

    by_size: bool
    paused: bool
    over: str
    stop: str
    speed: str
    max_pages: int | None
    max_bytes: int | None
    max_time: float | None
    rules_at: int
    second_pass: int


class _AlonePleaseError(Exception):
    """The crawl's row must be locked for what came up: the exchange begins anew."""


@cache
def statements() -> dict[str, str]:
    """The statements, by name."""
    text = files(__package__).joinpath("postgres.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (part.strip().rstrip(";") for part in parts[1::2]), strict=True))


class PostgresFrontier:
    """The global frontier of a crawl, whose tables are in one schema of a database; one connection."""

    def __init__(self, address: str, schema: str = "weft") -> None:
        self._address = address
        self._schema = schema
        self._open: _Base | None = None

    def __repr__(self) -> str:
        return f"PostgresFrontier({self._schema})"  # an address may have a password in it

    @classmethod
    def create(cls, address: str, schema: str, *, by_size: bool, seeds: Iterable[str]) -> None:
        """Make the tables, and put the seeds in."""
        frontier = cls(address, schema)
        made = files(__package__).joinpath("postgres_schema.sql").read_text(encoding="utf-8")
        given = list(seeds)

        def make(base: _Base) -> None:
            base.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
            base.execute(made.encode())
            base.execute("insert into crawl(by_size) values(%s)", (by_size,))
            _plant(base, given, ())

        try:
            frontier._in_one_step(make)
        finally:
            frontier.close()

    def close(self) -> None:
        """Give the connection back."""
        if self._open is not None:
            self._open.close()
            self._open = None

    # What a worker does.

    def begin(self, worker: int) -> Begun:
        """A worker starts, or starts again."""

        def work(base: _Base) -> Begun:
            crawl = _Crawl(*_row(base, "lock_crawl"))
            found = base.execute(_said("begin_worker"), {"worker": worker}).fetchone()
            if found is None:
                raise WeftError(f"there is no worker {worker} in this crawl", where=self._schema)
            (count,), (parcels,) = _row(base, "count_in_run"), _row(base, "parcels_left")
            sent = any(_message(data).parcels for _, data in _rows(base, "inbox", worker=worker, taken=0))
            return Begun(found[0], found[1], count == 1 and not parcels and not sent, crawl.second_pass)

        return self._in_one_step(work)

    def touch(self, worker: int) -> None:
        """A worker that is not yet exchanging is alive."""
        self._do("update workers set heard_at = clock_timestamp() where number = %s", worker)

    def held(self, worker: int) -> set[str]:
        """The groups of a worker."""
        return {name for (name,) in self._ask("select name from groups where holder = %s", worker)}

    def exchange(self, report: Report) -> Orders:
        """Take a worker's report and give it its orders, as one step."""
        alone = report.idle or any(batch.scope for batch in report.batches)
        try:
            return self._in_one_step(lambda base: self._exchanged(base, report, alone=alone))
        except _AlonePleaseError:
            return self._in_one_step(lambda base: self._exchanged(base, report, alone=True))

    def _exchanged(self, base: _Base, report: Report, *, alone: bool) -> Orders:
        me = report.worker
        crawl = _Crawl(*_row(base, "lock_crawl" if alone else "share_crawl"))
        found = base.execute(_said("worker"), {"worker": me}).fetchone()
        if found is None or found[0] != report.incarnation:
            raise WeftError(
                f"another process goes by the number of worker {me}",
                where=self._schema,
                todo="nothing: this one gives way",
            )
        if crawl.max_pages is not None and not alone:
            raise _AlonePleaseError
        _, applied, in_run = found
        post: _Post = {}
        for batch in report.batches:
            if batch.number > applied:
                _apply(base, me, batch, post)
                applied = batch.number
        applied = max(applied, report.number)
        base.execute(_said("settle"), {"worker": me, "settled": report.settled})
        lent, taken_already = _lend(base, report)
        if report.wants > 0 and in_run:
            _check_out(base, me, report.wants, post, by_size=crawl.by_size)
        _send(base, post)
        messages, taken = _deliver(base, report)
        allowance, allowed = _allow(base, report, crawl)
        idle = report.idle and not messages and not allowed
        standing = _standing(report, applied, idle=idle)
        (version,) = _row(base, "report", **standing)
        over = crawl.over or crawl.stop or (_end_of(base, crawl) if idle else "") or _limit(base, crawl)
        if over != crawl.over:
            if not alone:
                raise _AlonePleaseError
            base.execute(_said("end"), {"why": over})
        scope = _rows(base, "scope_behind", known=report.scope)
        return Orders(
            applied=applied,
            messages=messages,
            taken=taken,
            lent=lent,
            taken_already=taken_already,
            recalled=[address for (address,) in _rows(base, "recalled", worker=me)],
            scope=[url for _, url in scope],
            scope_at=scope[-1][0] if scope else 0,
            rules=[rule for (rule,) in _rows(base, "rules")] if crawl.rules_at != report.rules else [],
            rules_at=crawl.rules_at,
            allowance=allowance,
            speed=_speed(base, me, crawl.speed),
            paused=crawl.paused,
            leave=not in_run,
            second_pass=_one(base, "select second_pass from crawl"),
            version=version,
            over=over,
        )

    # What the operator does.

    def prepare(self, workers: int, limits: Limits, *, speed: str | None = None, watched: bool = False) -> None:
        """A run begins with so many workers."""

        def work(base: _Base) -> None:
            _row(base, "lock_crawl")
            _resize(base, workers)
            base.execute("update workers set idle = false, starved = false, allowance = null, hungry = true")
            base.execute("update addresses set wanted = null")
            base.execute("update addresses set holder = null where holder >= %s", (workers,))
            base.execute(
                "update crawl set over = '', stop = '', max_pages = %s, max_bytes = %s, max_time = %s, watched = %s",
                (limits.max_pages, limits.max_bytes, limits.max_time, watched),
            )
            if speed is not None:
                base.execute("update crawl set speed = %s, given_speed = %s where given_speed <> %s", (speed,) * 3)

        self._in_one_step(work)

    def want_workers(self, count: int) -> None:
        """Have so many workers."""
        self._do("update crawl set wanted = %s", count)

    def resize(self, workers: int) -> None:
        """So many workers belong to the run from now on; those above are told to leave."""

        def work(base: _Base) -> None:
            _row(base, "lock_crawl")
            _resize(base, workers)
            base.execute(_said("nobody_idle"))

        self._in_one_step(work)

    def add(self, urls: Iterable[str], again: Container[str] = ()) -> None:
        """Add seeds to a crawl; some of them are to be fetched again."""
        given = list(urls)

        def work(base: _Base) -> None:
            _row(base, "lock_crawl")
            _plant(base, given, again)
            base.execute(_said("nobody_idle"))

        self._in_one_step(work)

    def blacklist(self) -> list[str]:
        """The rules of the blacklist."""
        return [rule for (rule,) in self._ask(_said("rules"))]

    def change_blacklist(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Change the rules; workers hear of it with their next exchange."""
        new, gone = list(add), list(remove)

        def work(base: _Base) -> None:
            base.execute("update crawl set rules_at = rules_at + 1")
            base.execute("delete from rules where rule = any(%s)", (gone,))
            for rule in new:
                base.execute("insert into rules(rule) values(%s) on conflict do nothing", (rule,))

        self._in_one_step(work)

    def set_speed(self, speed: str) -> None:
        """Set the target, for all workers together."""
        self._do("update crawl set speed = %s", speed)

    def pause(self, *, paused: bool) -> None:
        """Have no more pages fetched, or go on."""
        self._do("update crawl set paused = %s", paused)

    def stop(self, why: str) -> None:
        """End the run, as if by a limit."""
        self._do("update crawl set stop = %s", why)

    def end(self, why: str) -> None:
        """The run has ended."""
        self._do("update crawl set over = %s", why)

    def workers(self) -> list[WorkerState]:
        """How every worker stands, by number."""
        rows = self._ask(
            "select number, in_run, applied, version, pages, pending, "
            "extract(epoch from clock_timestamp() - heard_at)::float8, statistics from workers order by number"
        )
        names = ("number", "in_run", "applied", "version", "pages", "pending", "heard", "statistics")
        return [WorkerState(**dict(zip(names, row, strict=True))) for row in rows]

    def lists(self) -> Lists:
        """How many sites are in which list."""
        counts = dict(self._ask("select list, count(*) from sites group by list"))
        ((free,),) = self._ask(_said("free_groups"))
        return Lists(
            to_crawl=free,
            being_crawled=counts.get(BEING_CRAWLED, 0),
            crawled=counts.get(CRAWLED, 0),
            set_aside=counts.get(SET_ASIDE, 0),
        )

    def scope(self) -> list[str]:
        """What is in the scope."""
        return [url for (url,) in self._ask("select url from scope order by number")]

    def surplus(self) -> list[int]:
        """Workers that belong to no run and still hold something."""
        rows = self._ask(
            "select number from workers where not in_run and (exists (select 1 from groups where holder = number) "
            "or exists (select 1 from inbox where worker = workers.number)) order by number"
        )
        return [number for (number,) in rows]

    # Transactions.

    def _base(self) -> _Base:
        if self._open is None or self._open.closed:
            self._open = psycopg.connect(self._address, autocommit=True)
            self._open.execute(sql.SQL("set search_path to {}").format(sql.Identifier(self._schema)))
        return self._open

    def _in_one_step(self, work: Callable[[_Base], T]) -> T:
        """Do several things as one step; if others were in the way, anew."""
        try:
            for attempt in range(_TRIES):
                base = self._base()
                try:
                    with base.transaction():
                        return work(base)
                except _IN_THE_WAY:
                    if attempt + 1 == _TRIES:
                        raise
        except psycopg.OperationalError as error:
            self.close()
            raise FrontierAwayError(
                f"the global frontier does not answer: {str(error).strip()}",
                where=self._schema,
                todo="see to the database; nothing is lost",
            ) from error
        raise AssertionError("the last attempt is raised or returned")

    def _do(self, statement: str, *values: Any) -> None:
        self._in_one_step(lambda base: base.execute(statement.encode(), values))

    def _ask(self, statement: str | bytes, *values: Any) -> list[Any]:
        said = statement.encode() if isinstance(statement, str) else statement
        return self._in_one_step(lambda base: base.execute(said, values).fetchall())


# Statements.


def _said(name: str) -> bytes:
    return statements()[name].encode()


def _rows(base: _Base, name: str, **values: Any) -> list[Any]:
    return base.execute(_said(name), values).fetchall()


def _row(base: _Base, name: str, **values: Any) -> Any:
    found = base.execute(_said(name), values).fetchone()
    assert found is not None
    return found


def _one(base: _Base, statement: str) -> Any:
    found = base.execute(statement.encode()).fetchone()
    assert found is not None
    return found[0]


# What comes, and where it goes.


def _plant(base: _Base, urls: Iterable[str], again: Container[str]) -> None:
    """Put seeds in, in their order, and let them into the scope; some are to be fetched again."""
    post: _Post = {}
    for url in urls:
        seed = Found(url, Kind.SEED, 0, 0, again=url in again)
        _bring(base, {registered_domain(site_of(url)): [seed]}, post)
        base.execute(_said("admit"), {"url": url})
    _send(base, post)


def _bring(base: _Base, notices: dict[str, list[Notice]], post: _Post) -> None:
    """Bring notices to whoever holds their group; those of groups that nobody holds wait.

    Places in the order of finding are taken in the order of the notices; rows are locked in the order of their names,
    so that two who tell of the same groups are not in each other's way.
    """
    places = {group: _row(base, "next_found")[0] for group in notices}
    mail: dict[int, list[Notice]] = {}
    for group in sorted(notices):
        found, some = places[group], notices[group]
        seed = any(isinstance(notice, Found) and notice.kind == Kind.SEED for notice in some)
        (holder,) = _row(base, "bring", group=group, seed=seed, found=found, count=len(some))
        if holder is None:
            base.execute(_said("wait"), {"found": found, "group": group, "notices": _encode(some)})
        else:
            mail.setdefault(holder, []).extend(some)
    for worker, told in mail.items():
        post.setdefault(worker, []).append(Message(notices=told))


def _send(base: _Base, post: _Post) -> None:
    """Put messages into inboxes; these are locked in their order, too."""
    for worker in sorted(post):
        for message in post[worker]:
            (number,) = _row(base, "number_message", worker=worker)
            base.execute(_said("send"), {"worker": worker, "number": number, "message": _encode(message)})


def _apply(base: _Base, worker: int, batch: Batch, post: _Post) -> None:
    """Do what a batch of a worker says."""
    known = [group for group in batch.claimed if _row(base, "claim", group=group, worker=worker)[0]]
    _bring_waiting(base, worker, known, post)
    for site, place in batch.lists.items():
        base.execute(_said("list_site"), {"site": site, "list": place, "worker": worker})
    for url in batch.scope:
        base.execute(_said("admit"), {"url": url})
    for group, address in batch.moved:
        found = base.execute(_said("holder_of_address"), {"address": address}).fetchone()
        holder = None if found is None or found[0] == worker else found[0]
        base.execute(_said("move"), {"holder": holder, "group": group, "worker": worker})
        if holder is not None:
            post.setdefault(holder, []).append(Message(groups=[group]))
    _bring(base, batch.notices, post)


def _check_out(base: _Base, worker: int, wants: int, post: _Post, *, by_size: bool) -> None:
    """Give a worker groups: those of the seeds first, and no more than its share of what is there."""
    (free,), (workers,) = _row(base, "free_groups"), _row(base, "count_in_run")
    if free:
        name = "check_out_by_size" if by_size else "check_out"
        most = min(wants, -(-free // workers))
        _bring_waiting(base, worker, [group for (group,) in _rows(base, name, most=most)], post)


def _bring_waiting(base: _Base, worker: int, groups: list[str], post: _Post) -> None:
    """Groups have a worker: it is sent what waited for them, in the order it came, whatever the group."""
    if not groups:
        return
    parcels: list[Parcel] = []
    found: list[tuple[int, bytes]] = []
    for group in groups:
        (parcel,) = _row(base, "take", group=group, worker=worker)
        if parcel is not None:
            parcels.append(_parcel(parcel))
        found += _rows(base, "take_waiting", group=group)
    found.sort()
    notices = [notice for _, some in found for notice in _notices(some)]
    post.setdefault(worker, []).append(Message(groups=groups, notices=notices, parcels=parcels))


# What a worker is told.


def _lend(base: _Base, report: Report) -> tuple[list[tuple[str, float]], list[str]]:
    """Addresses are lent to one worker at a time; those that are, and those that others have."""
    me, lent, taken_already = report.worker, [], []
    for address, seconds in report.released:
        base.execute(_said("release"), {"address": address, "seconds": seconds, "worker": me})
    for address, insists in report.wanted:
        holder, seconds = _row(base, "lend", address=address, worker=me)
        if holder == me:
            lent.append((address, seconds))
        elif not insists:
            taken_already.append(address)
        else:
            base.execute(_said("want"), {"address": address, "worker": me})
    return lent, taken_already


def _deliver(base: _Base, report: Report) -> tuple[list[Message], int]:
    """The messages behind the last that was taken in, as many as fit; the number of the last."""
    messages, taken, notices = [], report.taken, 0
    for number, data in _rows(base, "inbox", worker=report.worker, taken=report.taken):
        messages.append(_message(data))
        taken = number
        notices += len(messages[-1].notices)
        if notices > _MOST_NOTICES:
            break
    return messages, taken


def _allow(base: _Base, report: Report, crawl: _Crawl) -> tuple[int | None, bool]:
    """Divide the pages that the crawl may fetch: how many this worker may have fetched in all, and is that more?"""
    most = crawl.max_pages
    if most is None:
        return None, False
    mine, others = _row(base, "allowances", worker=report.worker)
    (workers,) = _row(base, "count_in_run")
    before, others = mine or 0, int(others)
    if report.starved or mine is None:  # none: it has not yet been asked what it can use
        mine = report.pages + max(0, -(-(most - others - report.pages) // max(1, workers)))
    elif report.idle:
        mine = report.pages
    mine = max(min(mine, most - others), report.pages)
    base.execute(_said("allow"), {"allowance": mine, "worker": report.worker})
    return mine, bool(mine > max(before, report.pages))


def _standing(report: Report, applied: int, *, idle: bool) -> dict[str, Any]:
    return {
        "worker": report.worker,
        "applied": applied,
        "taken": report.taken,
        "idle": idle,
        "starved": report.starved,
        "aside": report.aside,
        "pages": report.pages,
        "amount": report.amount,
        "seconds": report.seconds,
        "pending": report.pending,
        "pages_rate": report.rate[0],
        "bytes_rate": report.rate[1],
        "hungry": report.hungry,
        "statistics": report.statistics,
    }


def _end_of(base: _Base, crawl: _Crawl) -> str:
    """A worker has nothing to do: is it the end? The crawl's row is locked, so nothing is on its way elsewhere."""
    busy, aside, pending, starved = _row(base, "all_idle")
    unread, free, leaving, pages = _row(base, "on_its_way")
    if busy:
        return ""
    if crawl.max_pages is not None and pages >= crawl.max_pages:
        return PAGE_LIMIT if pending or free or unread or leaving else DONE
    if unread or free or starved or leaving:
        return ""
    if aside:
        base.execute(_said("second_pass"))
        base.execute(_said("nobody_idle"))
        return ""
    return DONE


def _limit(base: _Base, crawl: _Crawl) -> str:
    """Have all workers together come to a limit of the crawl?"""
    amount, seconds = _row(base, "totals")
    if crawl.max_bytes is not None and amount >= crawl.max_bytes:
        return BYTE_LIMIT
    return TIME_LIMIT if crawl.max_time is not None and seconds >= crawl.max_time else ""


def _speed(base: _Base, worker: int, target: str) -> tuple[float | None, float | None]:
    """A worker's share of what all may fetch in a second, by what each of them fetches now."""
    if not target:
        return None, None
    now = float(_one(base, "select extract(epoch from clock_timestamp())"))
    rows = _rows(base, "rates", worker=worker)
    pages, amount = Speed.parse(target).at(now)
    by_pages = {number: (rate, hungry) for number, rate, _, hungry in rows}
    by_bytes = {number: (rate, hungry) for number, _, rate, hungry in rows}
    return (
        None if pages is None else shares(pages, by_pages)[worker],
        None if amount is None else shares(amount, by_bytes)[worker],
    )


def _resize(base: _Base, workers: int) -> None:
    """So many workers belong to the run."""
    for table in (b"workers(number)", b"inboxes(worker)"):
        base.execute(b"insert into " + table + b" select generate_series(0, %s) on conflict do nothing", (workers - 1,))
    base.execute("update workers set in_run = number < %s", (workers,))
    base.execute("update crawl set workers = %s, wanted = %s", (workers, workers))
