"""Handing over, as PostgreSQL does it. In: what a worker left that does not run. Out: groups that others can check out,
with everything that was known of them.

`weft.handover` says in which steps a worker is handed over, and why they are safe. What is here is one of them, in a
transaction that is alone with the crawl, and after which the global frontier has all of it, or none.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.frontier.shared.blocks import packed
from weft.frontier.shared.contract import Left, Message, Parcel
from weft.frontier.shared.postgres_base import Base, copy, do, row, rows
from weft.frontier.shared.postgres_groups import Post, apply_batch, bring, plant, send, unread
from weft.frontier.shared.routing import EARLY, by_group
from weft.urls import registered_domain, site_of


def hand_over(base: Base, worker: int, left: Left, *, lost: bool = False) -> list[str]:
    """Take back what a worker held, with what it knew; groups of which nothing is known any more. What is kept of one
    that is lost stays noted: its node asks for it if it comes back.
    """
    (applied,) = row(base, "applied", worker=worker)
    post: Post = {}
    for batch in left.batches:
        if batch.number > applied:
            apply_batch(base, worker, batch, post)
    send(base, post)
    messages = unread(base, worker, left.taken)
    do(base, "clear_inbox", worker=worker)
    unknown = _return_groups(base, worker, left, messages)
    post = {}
    for message in messages:
        bring(base, by_group(message.notices), post)
    send(base, post)
    if unknown:
        gone = set(unknown)
        plant(base, [url for (url,) in rows(base, "scope") if registered_domain(site_of(url)) in gone])
    do(base, "forget_sites", worker=worker)
    do(base, "return_addresses", worker=worker, unwritten=left.unwritten)
    do(base, "rest", addresses=list(left.rests), seconds=list(left.rests.values()))
    stands = {"worker": worker, "taken": left.taken, "pages": left.pages, "statistics": packed(left.statistics)}
    do(base, "handed", applied=left.number, **stands)
    if lost:
        do(base, "forget_parcels", worker=worker)
    else:
        do(base, "forget_kept", number=left.number, **stands)
    do(base, "nobody_idle")
    return unknown


def _return_groups(base: Base, worker: int, left: Left, messages: list[Message]) -> list[str]:
    """Nobody holds the worker's groups any more; those of which nothing is known."""
    held = {name for (name,) in rows(base, "held", worker=worker)}

    def lines() -> Iterator[tuple[str, int, int, bytes]]:
        for order, parcel in enumerate(left.parcels):
            if parcel.group in held:
                yield parcel.group, order - EARLY, parcel.pending, parcel.content

    copy(base, "copy_parcels", ("text", "int8", "int4", "bytea"), lines())
    do(base, "check_in", worker=worker)
    for message in messages:
        _return_unread(base, worker, message, left)
    return sorted(name for (name,) in rows(base, "check_in_rest", worker=worker))


def _return_unread(base: Base, worker: int, message: Message, left: Left) -> None:
    """Groups that its log does not have: the worker may still have visited them, if it died."""
    from weft.frontier.durable.parcels import disturbed  # large, and loaded where something is handed over only

    parcels = {parcel.group: parcel for parcel in message.parcels}
    for group in message.groups:
        parcel = parcels.get(group)
        if not left.clean:
            parcel = disturbed(parcel or Parcel(group, 0, b""), left.at)
        size = None if parcel is None else max(1, len(parcel.content))
        pending = 0 if parcel is None else parcel.pending
        if rows(base, "check_in_unread", name=group, worker=worker, pending=pending, size=size) and parcel is not None:
            do(base, "put_parcel", name=group, pending=pending, content=parcel.content)
