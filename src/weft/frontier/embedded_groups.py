"""Groups of the embedded global frontier, and what is on its way to them. In: seeds, links, batches. Out: messages, in
the inbox of whoever holds the group.

What nobody holds waits here, and goes to the worker that checks the group out, in the order in which it came. All of
this is called within a transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Iterator
from itertools import accumulate, islice

from weft.frontier.contract import Batch, Link, Message
from weft.frontier.embedded_file import encoded, links_in, message_in, parcel_in
from weft.model import Kind
from weft.urls import registered_domain, site_of

_AT_ONCE = 10_000  # links brought in one go
_MOST_PARCELS = 4_000_000  # bytes of them in one message, about


def plant(base: sqlite3.Connection, urls: Iterable[str], again: Container[str] = ()) -> None:
    """Put seeds in, in their order, and let them into the scope; some are to be fetched again."""
    for url in urls:
        bring(base, {registered_domain(site_of(url)): [Link(url, Kind.SEED, 0, 0, again=url in again)]})
        base.execute("insert or ignore into scope(url) values(?)", (url,))


def bring(base: sqlite3.Connection, links: dict[str, list[Link]]) -> None:
    """Bring links to whoever holds their group; those of groups that nobody holds wait."""
    mail: dict[int, list[Link]] = {}
    for group, some in links.items():
        row = base.execute("select holder from groups where name = ?", (group,)).fetchone()
        if row is not None and row[0] is not None:
            mail.setdefault(row[0], []).extend(some)
            continue
        found = base.execute("insert into waiting(grp, links) values(?, ?)", (group, encoded(some))).lastrowid
        seed = any(link.kind == Kind.SEED for link in some)
        base.execute(
            "insert into groups values(?, null, ?, ?, ?, null) on conflict(name) do update set "
            "waiting = waiting + excluded.waiting, seed = max(seed, excluded.seed)",
            (group, seed, found, len(some)),
        )
    for worker, some in mail.items():
        _send(base, worker, Message(links=some))


def bring_again(base: sqlite3.Connection, links: Iterable[Link]) -> int:
    """Bring links that were refused before, a part at a time; how many they were."""
    count, rest = 0, iter(links)
    while some := list(islice(rest, _AT_ONCE)):
        bring(base, by_group(some))
        count += len(some)
    return count


def by_group(links: Iterable[Link]) -> dict[str, list[Link]]:
    """Links by the group that they lead to."""
    groups: dict[str, list[Link]] = {}
    for link in links:
        groups.setdefault(registered_domain(site_of(link.url)), []).append(link)
    return groups


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
    bring(base, batch.links)


def check_out(base: sqlite3.Connection, worker: int, wants: int, *, by_size: bool) -> None:
    """Give a worker groups: those of the seeds first, and no more than its share of what is there."""
    free = base.execute("select count(*) from groups where holder is null and waiting > 0").fetchone()[0]
    if free == 0:
        return
    workers = base.execute("select count(*) from workers where active").fetchone()[0]
    best = "waiting desc" if by_size else "found"
    groups = base.execute(
        f"select name, length(parcel) from groups where holder is null and waiting > 0 order by seed desc, {best} "  # noqa: S608
        "limit ?",
        (min(wants, -(-free // workers)),),
    ).fetchall()
    before = accumulate((size or 0 for _, size in groups), initial=0)  # loading parcels takes time
    some = [group for (group, _), size in zip(groups, before, strict=False) if size < _MOST_PARCELS]
    _bring_waiting(base, worker, some)


def inbox(base: sqlite3.Connection, worker: int, taken: int) -> Iterator[tuple[int, Message]]:
    """The messages to a worker behind the last that it took in, each with its number."""
    rows = base.execute("select id, message from inbox where worker = ? and id > ? order by id", (worker, taken))
    return ((number, message_in(data)) for number, data in rows)


def parcels_left(base: sqlite3.Connection, worker: int) -> bool:
    """Is something known of groups that has not reached this worker? Then it must not take them by itself."""
    if base.execute("select 1 from groups where parcel is not null limit 1").fetchone():
        return True
    return any(message.parcels for _, message in inbox(base, worker, 0))


def _bring_waiting(base: sqlite3.Connection, worker: int, groups: list[str]) -> None:
    """Groups have a worker: it is sent what waited for them, in the order it came, whatever the group."""
    if not groups:
        return
    message = Message(groups=groups)
    found: list[tuple[int, list[Link]]] = []
    for group in groups:
        (parcel,) = base.execute("select parcel from groups where name = ?", (group,)).fetchone()
        base.execute("update groups set holder = ?, waiting = 0, parcel = null where name = ?", (worker, group))
        if parcel is not None:
            message.parcels.append(parcel_in(parcel))
        waited = base.execute("delete from waiting where grp = ? returning id, links", (group,)).fetchall()
        found += ((number, links_in(links)) for number, links in waited)
    found.sort(key=lambda each: each[0])
    message.links = [link for _, links in found for link in links]
    _send(base, worker, message)


def _send(base: sqlite3.Connection, worker: int, message: Message) -> None:
    base.execute("insert into inbox(worker, message) values(?, ?)", (worker, encoded(message)))
