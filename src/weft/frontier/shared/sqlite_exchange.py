"""One exchange, as SQLite does it. In: a worker's report. Out: its orders. All of it is one transaction.

What is decided here (who gets which groups, addresses and pages, and whether it is the end) is decided from the rows
alone; time comes in.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

from weft.errors import WeftError
from weft.frontier.pace import Speed, shares
from weft.frontier.shared.contract import (
    BYTE_LIMIT,
    DONE,
    EXPANSION,
    PAGE_LIMIT,
    SEEDS_FIRST,
    TIME_LIMIT,
    Message,
    Orders,
    Report,
    too_old,
)
from weft.frontier.shared.routing import of_holder
from weft.frontier.shared.sqlite_file import guarded
from weft.frontier.shared.sqlite_groups import FREE, FREE_SEEDS, apply_batch, check_out, inbox, leaving

_MOST_NOTICES = 20_000  # in the messages of one exchange

_REPORTED = """
update workers set applied = :applied, taken = :taken, version = version + 1, idle = :idle,
    resting = :resting, starved = :starved, aside = :aside, pages = :pages, bytes = :amount, seconds = :seconds,
    pending = :pending, pages_rate = :pages_rate, bytes_rate = :bytes_rate, hungry = :hungry, heard_at = :heard_at,
    statistics = :statistics
where number = :worker returning version
"""


class _Crawl(NamedTuple):
    """What a report is answered by."""

    by_size: bool
    paused: bool
    phase: int
    over: str
    stop: str
    speed: str
    max_pages: int | None
    max_bytes: int | None
    max_time: float | None
    rules_at: int


class _Lent(NamedTuple):
    """What is said about addresses."""

    lent: list[tuple[str, float]]
    taken_already: list[str]
    recalled: list[str]


def exchanged(base: sqlite3.Connection, report: Report, now: float, where: Path) -> Orders:
    """Take a worker's report and give it its orders."""
    me = report.worker
    row = base.execute("select incarnation, applied, in_run, version from workers where number = ?", (me,)).fetchone()
    if row is None or row[0] != report.incarnation:
        raise WeftError(
            f"another process goes by the number of worker {me}",
            where=str(where),
            todo="nothing: this one gives way",
        )
    if report.version > row[3]:
        raise too_old(me, report.version, row[3], str(where))
    applied = row[1]
    for batch in report.batches:
        if batch.number > applied:
            apply_batch(base, me, batch)
            applied = batch.number
    applied = max(applied, report.number)
    base.execute("delete from inbox where worker = ? and number <= ?", (me, report.settled))
    crawl = _crawl(base)
    lent = _lend(base, report, now)
    if report.wants > 0 and row[2]:
        check_out(base, me, report.wants, by_size=crawl.by_size, phase=crawl.phase)
    messages, taken = _deliver(base, report)
    allowance, allowed = _allow(base, report, crawl)
    idle = report.idle and not messages and not allowed
    resting = report.resting and not messages
    (version,) = base.execute(_REPORTED, _reported(report, applied, now, idle=idle, resting=resting)).fetchone()
    if crawl.phase == SEEDS_FIRST and (idle or resting):
        _expand(base)
    over = crawl.over or crawl.stop or (_end_of(base, crawl.max_pages) if idle else "") or _limit(base, crawl)
    if over != crawl.over:
        base.execute("update crawl set over = ?", (over,))
    scope = base.execute("select id, url from scope where id > ? order by id", (report.scope,)).fetchall()
    pages, amount = Speed.parse(crawl.speed).at(now)
    return Orders(
        applied=applied,
        messages=messages,
        taken=taken,
        lent=lent.lent,
        taken_already=lent.taken_already,
        recalled=lent.recalled,
        scope=[url for _, url in scope],
        scope_at=scope[-1][0] if scope else 0,
        rules=_rules(base) if crawl.rules_at != report.rules else [],
        rules_at=crawl.rules_at,
        allowance=allowance,
        speed=(_share(base, me, pages, "pages_rate"), _share(base, me, amount, "bytes_rate")),
        paused=crawl.paused,
        leave=not row[2],
        second_pass=base.execute("select second_pass from crawl").fetchone()[0],
        phase=crawl.phase,
        version=version,
        over=over,
    )


def _crawl(base: sqlite3.Connection) -> _Crawl:
    row = base.execute(f"select {', '.join(_Crawl._fields)} from crawl").fetchone()  # noqa: S608
    return _Crawl(bool(row[0]), bool(row[1]), *row[2:])


def _reported(report: Report, applied: int, now: float, *, idle: bool, resting: bool) -> dict[str, Any]:
    return {
        "worker": report.worker,
        "applied": applied,
        "taken": report.taken,
        "idle": idle,
        "resting": resting,
        "starved": report.starved,
        "aside": report.aside,
        "pages": report.pages,
        "amount": report.amount,
        "seconds": report.seconds,
        "pending": report.pending,
        "pages_rate": report.rate[0],
        "bytes_rate": report.rate[1],
        "hungry": report.hungry,
        "heard_at": now,
        "statistics": guarded(report.statistics),
    }


def _rules(base: sqlite3.Connection) -> list[str]:
    return [rule for (rule,) in base.execute("select rule from rules where until is null order by id")]


def _deliver(base: sqlite3.Connection, report: Report) -> tuple[list[Message], int]:
    """The messages behind the last that was taken in, as many as fit; the number of the last."""
    messages, taken, notices = [], report.taken, 0
    for number, message in inbox(base, report.worker, report.taken):
        messages.append(of_holder(message, _held(base, report.worker, message.groups)))
        taken = number
        notices += len(message.notices)
        if notices > _MOST_NOTICES:
            break
    return messages, taken


def _held(base: sqlite3.Connection, worker: int, groups: list[str]) -> set[str]:
    """Those of some groups that a worker holds."""
    held = "select 1 from groups where name = ? and holder = ?"
    return {group for group in groups if base.execute(held, (group, worker)).fetchone()}


def _lend(base: sqlite3.Connection, report: Report, now: float) -> _Lent:
    """Addresses are lent to one worker at a time, so that their limits hold over all of them."""
    me = report.worker
    found = _Lent([], [], [])
    for address, seconds in report.released:
        base.execute(
            "update addresses set holder = nullif(wanted, 0) - 1, wanted = 0, not_before = ? "
            "where address = ? and holder = ?",
            (now + seconds, address, me),
        )
    for address, insists in report.wanted:
        row = base.execute("select holder, not_before from addresses where address = ?", (address,)).fetchone()
        if row is None or row[0] is None or row[0] == me:
            found.lent.append((address, 0.0 if row is None else max(0.0, row[1] - now)))
            base.execute(
                "insert into addresses(address, holder) values(?, ?) on conflict do update set holder = ?",
                (address, me, me),
            )
        elif not insists:
            found.taken_already.append(address)
        else:
            base.execute("update addresses set wanted = ? where address = ? and wanted = 0", (me + 1, address))
    wanted = base.execute("select address from addresses where holder = ? and wanted > 0", (me,))
    found.recalled.extend(address for (address,) in wanted)
    return found


def _allow(base: sqlite3.Connection, report: Report, crawl: _Crawl) -> tuple[int | None, bool]:
    """Divide the pages that the crawl may fetch: how many this worker may have fetched in all, and is that more?

    Who has none left and could use some gets a share of what nobody has; who can use none gives back what it has.
    """
    most = crawl.max_pages
    if most is None:
        return None, False
    mine, others = base.execute(
        "select sum(case when number = ?1 then allowance end), "
        "sum(case when number = ?1 then 0 else max(coalesce(allowance, 0), pages) end) from workers",
        (report.worker,),
    ).fetchone()
    workers = base.execute("select count(*) from workers where in_run").fetchone()[0]
    before = mine or 0
    if report.starved or mine is None:  # none: it has not yet been asked what it can use
        mine = report.pages + max(0, -(-(most - others - report.pages) // max(1, workers)))
    elif report.idle:
        mine = report.pages
    mine = max(min(mine, most - others), report.pages)
    base.execute("update workers set allowance = ? where number = ?", (mine, report.worker))
    return mine, bool(mine > max(before, report.pages))


def _expand(base: sqlite3.Connection) -> None:
    """A worker has nothing to fetch: are the sites of the seeds done, and wait others? Then these have their turn."""
    (busy,) = base.execute("select sum(starved or not (idle or resting)) from workers where in_run").fetchone()
    if busy or _unread(base) or leaving(base) or _free(base, FREE_SEEDS) or not _free(base, FREE):
        return
    base.execute("update crawl set phase = ?", (EXPANSION,))
    base.execute("update workers set idle = 0, resting = 0")


def _unread(base: sqlite3.Connection) -> bool:
    """Is something on its way to a worker?"""
    query = (
        "select 1 from inbox join workers on inbox.worker = workers.number where inbox.number > workers.taken limit 1"
    )
    return base.execute(query).fetchone() is not None


def _free(base: sqlite3.Connection, which: str) -> bool:
    """Can a group be checked out?"""
    return base.execute(f"select 1 from groups where {which} limit 1").fetchone() is not None  # noqa: S608


def _end_of(base: sqlite3.Connection, most: int | None) -> str:
    """A worker has nothing to do: is it the end? Everything is looked at in one step, so nothing is on its way."""
    busy, aside, pending, starved = base.execute(
        "select sum(not idle), sum(aside), sum(pending), sum(starved) from workers where in_run"
    ).fetchone()
    pages = base.execute("select sum(pages) from workers").fetchone()[0]
    if busy:
        return ""
    unread, free = _unread(base), _free(base, FREE)
    if most is not None and pages >= most:
        return PAGE_LIMIT if pending or free or unread or leaving(base) else DONE
    if unread or free or starved or leaving(base):  # who is starved gets with its next report what others could not use
        return ""
    if aside:
        base.execute("update crawl set second_pass = second_pass + 1")
        base.execute("update workers set idle = 0")
        return ""
    return DONE


def _limit(base: sqlite3.Connection, crawl: _Crawl) -> str:
    """Have all workers together come to a limit of the crawl?"""
    amount, seconds = base.execute("select sum(bytes), max(seconds) from workers").fetchone()
    if crawl.max_bytes is not None and amount >= crawl.max_bytes:
        return BYTE_LIMIT
    return TIME_LIMIT if crawl.max_time is not None and seconds >= crawl.max_time else ""


def _share(base: sqlite3.Connection, worker: int, limit: float | None, column: str) -> float | None:
    """A worker's share of what all may fetch in a second, by what each of them fetches now."""
    if limit is None:
        return None
    rates = base.execute(
        f"select number, {column}, hungry from workers where in_run or number = ?",  # noqa: S608
        (worker,),
    ).fetchall()
    return shares(limit, {number: (rate, bool(hungry)) for number, rate, hungry in rates})[worker]
