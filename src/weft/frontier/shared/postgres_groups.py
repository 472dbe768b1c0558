"""Groups in PostgreSQL, and what is on its way to them. In: seeds, notices, batches. Out: messages, for the inbox of
whoever holds the group.

What nobody holds waits here, as compressed frames: a few in the row of the group, more as blocks of their own. All of
this is called within a transaction. Rows of groups are locked in the order of their names, inboxes in the order of
their workers, so that two who tell of the same are not in each other's way.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import accumulate, islice

from weft.frontier.shared.blocks import Piece, end_of, folded, frame, message_block, message_in, pieces_in
from weft.frontier.shared.contract import SEEDS_FIRST, Batch, Found, Message, Notice, Parcel, Remains
from weft.frontier.shared.postgres_base import Base, asked, copy, do, put, row, rows
from weft.frontier.shared.routing import EARLY, by_group, comes_first
from weft.model import NO_ID, Kind
from weft.urls import registered_domain, site_of

Post = dict[int, list[Message]]  # by worker: what it is sent when all of it is known
_AT_ONCE = 10_000  # links brought in one go
_IN_ROW = 1_200  # bytes of frames in the row of a group
_MOST_PARCELS = 4_000_000  # bytes of them in one message, about
_MANY = 20_000  # groups: whether more than these are free makes no difference


def plant(base: Base, urls: Iterable[str], again: Container[str] = ()) -> None:
    """Put seeds in, in their order, and let them into the scope; some are to be fetched again."""
    rest, post = iter(urls), Post()
    while some := list(islice(rest, _AT_ONCE)):
        groups: dict[str, list[Piece]] = {}
        for url, (place,) in zip(some, rows(base, "places", count=len(some)), strict=True):
            seed = Found(url, Kind.SEED, 0, NO_ID, again=url in again)
            groups.setdefault(registered_domain(site_of(url)), []).append((place, [seed]))
        _bring_pieces(base, groups, post)
        do(base, "admit", urls=some)
    send(base, post)


def bring_again(base: Base, links: Iterable[Found]) -> int:
    """Bring links that were refused before, a part at a time; how many they were."""
    count, rest, post = 0, iter(links), Post()
    while some := list(islice(rest, _AT_ONCE)):
        bring(base, by_group(some), post)
        count += len(some)
    send(base, post)
    return count


def bring(base: Base, notices: dict[str, list[Notice]], post: Post) -> None:
    """Bring notices to whoever holds their group; those of groups that nobody holds wait. Places in the order of
    finding are taken in the order of the notices.
    """
    if notices:
        found, held = asked(base, "places", count=len(notices)), asked(base, "holders", names=list(notices))
        places = zip(notices.items(), found.fetchall(), strict=True)
        _bring_pieces(base, {group: [(place, some)] for (group, some), (place,) in places}, post, held.fetchall())


def _bring_pieces(
    base: Base, pieces: dict[str, list[Piece]], post: Post, held: list[tuple[str, int]] | None = None
) -> None:
    """The same for pieces that have their places; `held` are groups of which the holders are known."""
    rest = dict(pieces)
    holders: dict[str, int] = {}
    while rest:  # who is checked out between the two statements is asked for again
        for name, holder in rows(base, "holders", names=list(rest)) if held is None else held:
            holders[name] = holder
            del rest[name]
        held = None
        if rest:
            for name in _wait(base, rest):
                del rest[name]
    mail: dict[int, list[Notice]] = {}
    for group, some in pieces.items():
        if group in holders:
            mail.setdefault(holders[group], []).extend(notice for _, told in some for notice in told)
    for worker, told in mail.items():
        post.setdefault(worker, []).append(Message(notices=told))


def _wait(base: Base, pieces: dict[str, list[Piece]]) -> list[str]:
    """Have links wait for groups that nobody holds; the names of these."""
    names = sorted(pieces)
    frames = {name: frame(pieces[name]) for name in names}
    taken = rows(
        base,
        "bring",
        names=names,
        seeds=[_is_seed(pieces[name]) for name in names],
        found=[pieces[name][0][0] for name in names],
        counts=[_count(pieces[name]) for name in names],
        frames=[frames[name] if len(frames[name]) <= _IN_ROW else None for name in names],
        most=_IN_ROW,
    )
    _put_aside(base, {name: pieces[name] for name, end in taken if end != end_of(frames[name])})
    return [name for name, _ in taken]


def _put_aside(base: Base, pieces: dict[str, list[Piece]]) -> None:
    """Make blocks of what has no room in the rows of groups, and of what is there."""
    if not pieces:
        return
    blocks, dropped = [], {}
    for name, frames in rows(base, "take_links", names=list(pieces)):
        some = [*pieces_in(frames or b""), *pieces[name]]
        kept = folded(some)
        if fewer := _count(some) - _count(kept):
            dropped[name] = fewer
        blocks.append((name, pieces[name][-1][0], frame(kept)))
    if dropped:
        do(base, "forget_doubles", names=list(dropped), dropped=list(dropped.values()))
    put(base, "waiting", ("text", "int8", "bytea"), blocks)


def _is_seed(pieces: list[Piece]) -> bool:
    return any(comes_first(some) for _, some in pieces)


def _count(pieces: list[Piece]) -> int:
    return sum(len(some) for _, some in pieces)


def send(base: Base, post: Post) -> None:
    """Put messages into inboxes."""
    if not post:
        return
    counts = {worker: len(post[worker]) for worker in sorted(post)}
    sent = dict(rows(base, "number_messages", workers=list(counts), counts=list(counts.values())))
    lines = [
        (worker, sent[worker] + number, len(message.notices), message_block(message))
        for worker in counts
        for number, message in enumerate(post[worker], 1)
    ]
    put(base, "inbox", ("int4", "int8", "int4", "bytea"), lines)


def apply_batch(base: Base, worker: int, batch: Batch, post: Post) -> None:
    """Do what a batch of a worker says."""
    if batch.claimed:
        names = sorted(set(batch.claimed))
        known = {name for name, something in rows(base, "claim", names=names, worker=worker) if something}
        _bring_waiting(base, worker, [group for group in dict.fromkeys(batch.claimed) if group in known], post)
    if batch.lists:
        do(base, "list_sites", names=list(batch.lists), lists=list(batch.lists.values()), worker=worker)
    if batch.scope:
        do(base, "admit", urls=batch.scope)
    for group, address in batch.moved:
        found = rows(base, "holder_of_address", address=address)
        holder = None if not found or found[0][0] == worker else found[0][0]
        do(base, "move", holder=holder, name=group, worker=worker)
        if holder is not None:
            post.setdefault(holder, []).append(Message(groups=[group]))
    bring(base, batch.notices, post)


def check_out(base: Base, worker: int, wants: int, workers: int, post: Post, *, seeds: bool) -> None:
    """Give a worker groups: those of the seeds first, or alone, and no more than its share of what is there."""
    (free,) = row(base, "count_free", most=min(wants * workers, _MANY), seeds=seeds)
    if free == 0:
        return
    groups = rows(base, "check_out", most=min(wants, -(-free // workers)), seeds=seeds)
    before = accumulate((size for _, size in groups), initial=0)  # loading parcels takes time
    some = [group for (group, _), size in zip(groups, before, strict=False) if size < _MOST_PARCELS]
    _bring_waiting(base, worker, some, post)


def _bring_waiting(base: Base, worker: int, groups: list[str], post: Post) -> None:
    """Groups have a worker: it is sent what waited for them, in the order it came, whatever the group."""
    if not groups:
        return
    found = asked(base, "take", names=groups, worker=worker), asked(base, "take_waiting", names=groups)
    known = asked(base, "take_parcels", names=groups)
    pieces = [piece for some in found for (frames,) in some.fetchall() for piece in pieces_in(frames or b"")]
    parcels = {group: Parcel(group, pending, content) for group, pending, content in known.fetchall()}
    pieces.sort(key=lambda piece: piece[0])
    notices = [notice for _, some in pieces for notice in some]
    ours = [parcels[group] for group in groups if group in parcels]
    post.setdefault(worker, []).append(Message(groups=groups, notices=notices, parcels=ours))


def unread(base: Base, worker: int, taken: int) -> list[Message]:
    """The messages to a worker behind the last that it took in."""
    return [message_in(block) for (block,) in rows(base, "unread", worker=worker, taken=taken)]


def rebuild(base: Base, seeds: Iterable[str], remains: Remains) -> None:
    """Put in what is known of a crawl whose frontier was damaged."""
    if remains.state is not None:
        state = remains.state
        do(
            base,
            "restore_state",
            by_size=state.by_size,
            phase=state.phase,
            paused=state.paused,
            speed=state.speed,
            offered_by=state.offered_by,
            restarted=state.restarted,
        )
        for each in state.restarts:
            do(base, "note_restart", worker=each.worker, at=each.at, how=each.how, cause=each.cause)
    parcels = ((p.group, order - EARLY, p.pending, p.content) for order, p in enumerate(remains.parcels))
    copy(base, "copy_parcels", ("text", "int8", "int4", "bytea"), parcels)
    do(base, "put_groups", seed=remains.state is not None and remains.state.phase == SEEDS_FIRST)  # all were begun
    plant(base, seeds)
    do(base, "admit", urls=remains.scope)
    do(base, "restore_rules", new=remains.blacklist)
    do(base, "rules_changed")
    bring_again(base, remains.links)
