"""Groups in SQLite, and what is on its way to them. In: seeds, notices, batches. Out: messages, in the inbox of whoever
holds the group.

What nobody holds waits here, and goes to the worker that checks the group out, in the order in which it came. All of
this is called within a transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Iterator
from itertools import accumulate, islice

from weft.frontier.shared.contract import SEEDS_FIRST, Batch, Found, Message, Notice, Parcel, Remains
from weft.frontier.shared.routing import EARLY, by_group, comes_first
from weft.frontier.shared.sqlite_file import encoded, message_in, notices_in, parcel_in
from weft.model import NO_ID, Kind
from weft.urls import registered_domain, site_of

FREE = "holder is null and waiting > 0"
FREE_SEEDS = f"{FREE} and seed = 1"
_AT_ONCE = 10_000  # links brought in one go
_MANY = 20_000  # groups: whether more than these are free makes no difference
_MOST_PARCELS = 4_000_000  # bytes of them in one message, about


def plant(base: sqlite3.Connection, urls: Iterable[str], again: Container[str] = ()) -> None:
    """Put seeds in, in their order, and let them into the scope; some are to be fetched again."""
    for url in urls:
        bring(base, {registered_domain(site_of(url)): [Found(url, Kind.SEED, 0, NO_ID, again=url in again)]})
        base.execute("insert or ignore into scope(url) values(?)", (url,))


def bring(base: sqlite3.Connection, notices: dict[str, list[Notice]]) -> None:
    """Bring notices to whoever holds their group; those of groups that nobody holds wait."""
    mail: dict[int, list[Notice]] = {}
    for group, some in notices.items():
        row = base.execute("select holder from groups where name = ?", (group,)).fetchone()
        if row is not None and row[0] is not None:
            mail.setdefault(row[0], []).extend(some)
            continue
        found = base.execute("insert into waiting(grp, notices) values(?, ?)", (group, encoded(some))).lastrowid
        seed = comes_first(some)
        base.execute(
            "insert into groups values(?, null, ?, ?, ?, null) on conflict(name) do update set "
            "waiting = waiting + excluded.waiting, seed = max(seed, excluded.seed)",
            (group, seed, found, len(some)),
        )
    for worker, some in mail.items():
        _send(base, worker, Message(notices=some))


def bring_again(base: sqlite3.Connection, links: Iterable[Found]) -> int:
    """Bring links that were refused before, a part at a time; how many they were."""
    count, rest = 0, iter(links)
    while some := list(islice(rest, _AT_ONCE)):
        bring(base, by_group(some))
        count += len(some)
    return count


def rebuild(base: sqlite3.Connection, seeds: Iterable[str], remains: Remains) -> None:
    """Put in what is known of a crawl whose frontier was damaged."""
    if remains.state is not None:
        state = remains.state
        base.execute(
            "update crawl set by_size = ?, phase = ?, paused = ?, speed = ?, given_speed = ?, offered_by = ?, "
            "restarted = ?",
            (state.by_size, state.phase, state.paused, state.speed, state.speed, state.offered_by, state.restarted),
        )
        base.executemany(
            "insert into restarts(worker, at, how, cause) values(?, ?, ?, ?)",
            ((each.worker, each.at, each.how, each.cause) for each in state.restarts),
        )
    (first,) = base.execute("select phase = ? from crawl", (SEEDS_FIRST,)).fetchone()  # then all of these were begun
    for order, parcel in enumerate(remains.parcels):
        values = (parcel.group, first, order - EARLY, parcel.pending, encoded(parcel))
        base.execute("insert into groups values(?, null, ?, ?, ?, ?)", values)
    plant(base, seeds)
    base.executemany("insert or ignore into scope(url) values(?)", ((url,) for url in remains.scope))
    base.executemany("insert or ignore into rules(rule) values(?)", ((rule,) for rule in remains.blacklist))
    base.execute("update crawl set rules_at = 1")
    bring_again(base, remains.links)


def apply_batch(base: sqlite3.Connection, worker: int, batch: Batch) -> None:
    """Do what a batch of a worker says."""
    base.executemany(
        "insert into groups values(?, ?, 0, 0, 0, null) on conflict(name) do update set holder = excluded.holder",
        ((group, worker) for group in batch.claimed),
    )
    known = "select 1 from groups where name = ? and (waiting > 0 or parcel is not null)"
    _bring_waiting(base, worker, [group for group in batch.claimed if base.execute(known, (group,)).fetchone()])
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
            _send(base, holder, Message(groups=[group]))
    bring(base, batch.notices)


def check_out(base: sqlite3.Connection, worker: int, wants: int, *, by_size: bool, phase: int) -> None:
    """Give a worker groups: those of the seeds first, or alone, and no more than its share of what is there."""
    workers = base.execute("select count(*) from workers where in_run").fetchone()[0]
    which = FREE_SEEDS if phase == SEEDS_FIRST else FREE
    counted = f"select count(*) from (select 1 from groups where {which} limit ?)"  # noqa: S608
    free = base.execute(counted, (min(wants * workers, _MANY),)).fetchone()[0]
    if free == 0:
        return
    best = "waiting desc" if by_size else "found"
    groups = base.execute(
        f"select name, length(parcel) from groups where {which} order by seed desc, {best} limit ?",  # noqa: S608
        (min(wants, -(-free // workers)),),
    ).fetchall()
    before = accumulate((size or 0 for _, size in groups), initial=0)  # loading parcels takes time
    some = [group for (group, _), size in zip(groups, before, strict=False) if size < _MOST_PARCELS]
    _bring_waiting(base, worker, some)


def inbox(base: sqlite3.Connection, worker: int, taken: int) -> Iterator[tuple[int, Message]]:
    """The messages to a worker behind the last that it took in, each with its number."""
    rows = base.execute(
        "select number, message from inbox where worker = ? and number > ? order by number", (worker, taken)
    )
    return ((number, message_in(data)) for number, data in rows)


def leaving(base: sqlite3.Connection) -> bool:
    """Does somebody hold groups who belongs to no run?"""
    if not base.execute("select 1 from workers where not in_run limit 1").fetchone():
        return False
    held = "select 1 from groups join workers on holder = number where not in_run limit 1"
    return base.execute(held).fetchone() is not None


def known_elsewhere(base: sqlite3.Connection, worker: int) -> bool:
    """Is something known of groups that has not reached this worker? Then it must not take them by itself. A worker
    that was taken away has them until it has handed over.
    """
    if leaving(base) or base.execute("select 1 from groups where parcel is not null limit 1").fetchone():
        return True
    return any(message.parcels for _, message in inbox(base, worker, 0))


def _bring_waiting(base: sqlite3.Connection, worker: int, groups: list[str]) -> None:
    """Groups have a worker: it is sent what waited for them, in the order it came, whatever the group."""
    if not groups:
        return
    parcels: list[Parcel] = []
    found: list[tuple[int, list[Notice]]] = []
    for group in groups:
        (parcel,) = base.execute("select parcel from groups where name = ?", (group,)).fetchone()
        base.execute("update groups set holder = ?, waiting = 0, parcel = null where name = ?", (worker, group))
        if parcel is not None:
            parcels.append(parcel_in(parcel))
        waited = base.execute("delete from waiting where grp = ? returning id, notices", (group,)).fetchall()
        found += ((number, notices_in(notices)) for number, notices in waited)
    found.sort(key=lambda each: each[0])
    notices = [notice for _, some in found for notice in some]
    _send(base, worker, Message(groups=groups, notices=notices, parcels=parcels))


def _send(base: sqlite3.Connection, worker: int, message: Message) -> None:
    (number,) = base.execute("update workers set sent = sent + 1 where number = ? returning sent", (worker,)).fetchone()
    base.execute("insert into inbox values(?, ?, ?)", (worker, number, encoded(message)))
