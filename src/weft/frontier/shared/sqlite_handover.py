"""Handing over, as SQLite does it. In: what a worker left that does not run. Out: groups that
others can check out, with everything that was known of them.

`weft.handover` says in which steps a worker is handed over, and why they are safe. What is here is one of them, in a
transaction after which the global frontier has all of it, or none.
"""

from __future__ import annotations

import sqlite3

from weft.frontier.shared.contract import CRAWLED, Left, Message, Parcel
from weft.frontier.shared.routing import EARLY, by_group
from weft.frontier.shared.sqlite_file import encoded, guarded
from weft.frontier.shared.sqlite_groups import apply_batch, bring, inbox, plant
from weft.urls import registered_domain, site_of


def hand_over(base: sqlite3.Connection, worker: int, left: Left, now: float) -> list[str]:
    """Take back what a worker held, with what it knew; groups of which nothing is known any more."""
    (applied,) = base.execute("select applied from workers where number = ?", (worker,)).fetchone()
    for batch in left.batches:
        if batch.number > applied:
            apply_batch(base, worker, batch)
    unread = [message for _, message in inbox(base, worker, left.taken)]
    base.execute("delete from inbox where worker = ?", (worker,))
    lost = _return_groups(base, worker, left, unread)
    for message in unread:
        bring(base, by_group(message.notices))
    if lost:
        gone = set(lost)
        scope = base.execute("select url from scope order by id").fetchall()
        plant(base, [url for (url,) in scope if registered_domain(site_of(url)) in gone])
    base.execute("delete from sites where worker = ? and list <> ?", (worker, CRAWLED))
    base.execute("update addresses set wanted = 0 where holder = ?1 or wanted = ?1 + 1", (worker,))
    base.execute(
        "update addresses set holder = null, not_before = max(not_before, ?) where holder = ?",
        (now + left.unwritten if left.unwritten else 0.0, worker),
    )
    base.executemany(
        "insert into addresses(address, not_before) values(?, ?) "
        "on conflict do update set not_before = max(not_before, excluded.not_before)",
        ((address, now + seconds) for address, seconds in left.rests.items()),
    )
    base.execute(
        "update workers set incarnation = incarnation + 1, applied = ?, taken = ?, pages = ?, statistics = ?, "
        "idle = 0, resting = 0, aside = 0, pending = 0, pages_rate = 0, bytes_rate = 0, allowance = null, "
        "handed_over = 1 where number = ?",
        (left.number, left.taken, left.pages, guarded(left.statistics), worker),
    )
    base.execute("update workers set idle = 0")
    return lost


def _return_groups(base: sqlite3.Connection, worker: int, left: Left, unread: list[Message]) -> list[str]:
    """Nobody holds the worker's groups any more; those of which nothing is known."""
    for order, parcel in enumerate(left.parcels):
        base.execute(  # groups that were claimed have no place in the order of finding: before all others
            "update groups set holder = null, parcel = ?, waiting = ?, "
            "found = case when found = 0 then ? else found end where name = ? and holder = ?",
            (encoded(parcel), parcel.pending, order - EARLY, parcel.group, worker),
        )
    for message in unread:
        _return_unread(base, worker, message, left)
    rows = base.execute("update groups set holder = null where holder = ? returning name", (worker,))
    return sorted(name for (name,) in rows.fetchall())


def _return_unread(base: sqlite3.Connection, worker: int, message: Message, left: Left) -> None:
    """Groups that its log does not have: the worker may still have visited them, if it died."""
    from weft.frontier.durable.parcels import disturbed  # large, and loaded where something is handed over only

    parcels = {parcel.group: parcel for parcel in message.parcels}
    for group in message.groups:
        parcel = parcels.get(group)
        if not left.clean:
            parcel = disturbed(parcel or Parcel(group, 0, b""), left.at)
        base.execute(
            "update groups set holder = null, parcel = ?, waiting = waiting + ? where name = ? and holder = ?",
            (parcel and encoded(parcel), parcel.pending if parcel else 0, group, worker),
        )
