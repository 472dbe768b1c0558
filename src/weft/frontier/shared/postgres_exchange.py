"""One exchange, as PostgreSQL does it. In: a worker's report. Out: its orders. All of it is one transaction.

Several workers exchange at once. They share the crawl, and lock rows: their own, those of groups that they tell of or
check out, and the inboxes that they write to. Who must look at all workers in one step (it is idle, or pages are
limited, or the scope grows) is alone with the crawl: it waits for those under way, and others wait for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.errors import WeftError
from weft.frontier.pace import Speed, shares
from weft.frontier.shared.blocks import message_in, packed
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
from weft.frontier.shared.nodes import PER_NODE
from weft.frontier.shared.postgres_base import Base, asked, do, row, rows
from weft.frontier.shared.postgres_groups import Post, apply_batch, check_out, send
from weft.frontier.shared.postgres_nodes import check_found
from weft.frontier.shared.routing import of_holder

_MOST_NOTICES = 20_000  # in the messages of one exchange


class AlonePleaseError(Exception):
    """What came up must be decided alone: the exchange begins anew."""


class _Who(NamedTuple):
    """Who reports, and what a report is answered by."""

    incarnation: int
    applied: int
    in_run: bool
    version: int
    by_size: bool
    phase: int
    paused: bool
    over: str
    stop: str
    speed: str
    max_pages: int | None
    max_bytes: int | None
    max_time: float | None
    rules_at: int
    second_pass: int
    now: float
    workers: int  # that belong to the run


def exchanged(base: Base, report: Report, where: str, *, alone: bool) -> Orders:
    """Take a worker's report and give it its orders."""
    me = report.worker
    do(base, "lock_crawl" if alone else "share_crawl")
    found = rows(base, "who", worker=me)
    if not found or found[0][0] != report.incarnation:
        check_found(base, me // PER_NODE, where)
        raise WeftError(
            f"another process goes by the number of worker {me}", where=where, todo="nothing: this one gives way"
        )
    who = _Who(*found[0])
    if report.version > who.version:
        raise too_old(me, report.version, who.version, where)
    if who.max_pages is not None and not alone:
        raise AlonePleaseError
    applied, post = who.applied, Post()
    for batch in report.batches:
        if batch.number > applied:
            apply_batch(base, me, batch, post)
            applied = batch.number
    applied = max(applied, report.number)
    if report.settled:
        do(base, "settle", worker=me, settled=report.settled)
    lent, taken_already = _lend(base, report)
    if report.wants > 0 and who.in_run:
        check_out(base, me, report.wants, who.workers, post, seeds=who.phase == SEEDS_FIRST)
    send(base, post)
    recalled, scope = asked(base, "recalled", worker=me), asked(base, "scope_behind", known=report.scope)
    inbox = asked(base, "inbox", worker=me, taken=report.taken, most=_MOST_NOTICES)
    # Who is busy is, whatever comes: it need not wait for that before it says how it stands.
    waits = report.idle or report.resting
    told = None if waits else asked(base, "report", **_standing(report, applied, idle=False, resting=False))
    admitted, unread = scope.fetchall(), inbox.fetchall()
    allowance, allowed = _allow(base, report, who)
    idle = report.idle and not unread and not allowed
    resting = report.resting and not unread
    told = told or asked(base, "report", **_standing(report, applied, idle=idle, resting=resting))
    (version,) = told.fetchone() or (0,)
    if who.phase == SEEDS_FIRST and (idle or resting):
        _expand(base)
    over = who.over or who.stop or (_end_of(base, who.max_pages) if idle else "") or _limit(base, who)
    if over != who.over:
        if not alone:
            raise AlonePleaseError
        do(base, "end", why=over)
    return Orders(
        applied=applied,
        messages=_messages(base, me, [message_in(block) for _, block in unread]),
        taken=unread[-1][0] if unread else report.taken,
        lent=lent,
        taken_already=taken_already,
        recalled=[address for (address,) in recalled.fetchall()],
        scope=[url for _, url in admitted],
        scope_at=admitted[-1][0] if admitted else 0,
        rules=[rule for (rule,) in rows(base, "rules")] if who.rules_at != report.rules else [],
        rules_at=who.rules_at,
        allowance=allowance,
        speed=_speed(base, me, who),
        paused=who.paused,
        leave=not who.in_run,
        second_pass=row(base, "second_pass_now")[0] if idle else who.second_pass,
        phase=who.phase,
        version=version,
        over=over,
    )


def _messages(base: Base, worker: int, messages: list[Message]) -> list[Message]:
    """Messages without groups that the worker does not hold any more."""
    groups = [group for message in messages for group in message.groups]
    if not groups:
        return messages
    held = {name for name, holder in rows(base, "holders", names=groups) if holder == worker}
    return [of_holder(message, held) for message in messages]


def _lend(base: Base, report: Report) -> tuple[list[tuple[str, float]], list[str]]:
    """Addresses are lent to one worker at a time; those that are, and those that others have."""
    me = report.worker
    if report.released:
        released = dict(report.released)
        do(base, "release", addresses=list(released), seconds=list(released.values()), worker=me)
    if not report.wanted:
        return [], []
    insists = dict(report.wanted)
    answers = {address: rest for address, *rest in rows(base, "lend", addresses=list(insists), worker=me)}
    lent = [(address, answers[address][1]) for address in insists if answers[address][0] == me]
    elsewhere = [address for address in insists if answers[address][0] != me]
    if others := [address for address in elsewhere if insists[address]]:
        do(base, "want", addresses=others, worker=me)
    return lent, [address for address in elsewhere if not insists[address]]


def _allow(base: Base, report: Report, who: _Who) -> tuple[int | None, bool]:
    """Divide the pages that the crawl may fetch: how many this worker may have fetched in all, and is that more?

    Who has none left and could use some gets a share of what nobody has; who can use none gives back what it has.
    """
    most, workers = who.max_pages, who.workers
    if most is None:
        return None, False
    mine, others = row(base, "allowances", worker=report.worker)
    before = mine or 0
    if report.starved or mine is None:  # none: it has not yet been asked what it can use
        mine = report.pages + max(0, -(-(most - others - report.pages) // max(1, workers)))
    elif report.idle:
        mine = report.pages
    mine = max(min(mine, most - others), report.pages)
    do(base, "allow", allowance=mine, worker=report.worker)
    return mine, bool(mine > max(before, report.pages))


def _standing(report: Report, applied: int, *, idle: bool, resting: bool) -> dict[str, Any]:
    return {
        "worker": report.worker,
        "applied": applied,
        "taken": report.taken,
        "settled": report.settled,
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
        "lease": report.lease,
        "statistics": packed(report.statistics),
    }


def _expand(base: Base) -> None:
    """A worker has nothing to fetch: are the sites of the seeds done, and wait others? Then these have their turn."""
    (done,) = row(base, "seeds_done")
    unread, free, leaving, _ = row(base, "on_its_way")
    if done and free and not (unread or leaving):
        do(base, "expand", phase=EXPANSION)
        do(base, "nobody_idle")


def _end_of(base: Base, most: int | None) -> str:
    """A worker has nothing to do: is it the end? It is alone with the crawl, so nothing is on its way elsewhere."""
    busy, aside, pending, starved = row(base, "all_idle")
    if busy:
        return ""
    unread, free, leaving, pages = row(base, "on_its_way")
    if most is not None and pages >= most:
        return PAGE_LIMIT if pending or free or unread or leaving else DONE
    if unread or free or starved or leaving:  # who is starved gets, with its next report, what others could not use
        return ""
    if aside:
        do(base, "second_pass")
        do(base, "nobody_idle")
        return ""
    return DONE


def _limit(base: Base, who: _Who) -> str:
    """Have all workers together come to a limit of the crawl?"""
    if who.max_bytes is None and who.max_time is None:
        return ""
    amount, seconds = row(base, "totals")
    if who.max_bytes is not None and amount >= who.max_bytes:
        return BYTE_LIMIT
    return TIME_LIMIT if who.max_time is not None and seconds >= who.max_time else ""


def _speed(base: Base, worker: int, who: _Who) -> tuple[float | None, float | None]:
    """A worker's share of what all may fetch in a second, by what each of them fetches now."""
    pages, amount = Speed.parse(who.speed).at(who.now)
    if pages is None and amount is None:
        return None, None
    rates = rows(base, "rates", worker=worker)
    by_pages = {number: (rate, hungry) for number, rate, _, hungry in rates}
    by_bytes = {number: (rate, hungry) for number, _, rate, hungry in rates}
    return (
        None if pages is None else shares(pages, by_pages)[worker],
        None if amount is None else shares(amount, by_bytes)[worker],
    )
