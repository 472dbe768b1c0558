"""Nodes, as PostgreSQL has them. In: who joins, is heard, sends parcels of what it holds, or is silent. Out: whose
groups are whose.

Parcels of held groups come in *rounds*, one a worker every few minutes: large, and in the way of nobody. A round is
sent in several transactions, that lock nothing, under the number of its commit; the last one, which is small, has it
count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from weft.errors import WeftError
from weft.frontier.shared.blocks import packed, unpacked
from weft.frontier.shared.contract import Batch, Left, Parcel
from weft.frontier.shared.nodes import Keep, Lost, lost_node
from weft.frontier.shared.postgres_base import Base, do, row, rows
from weft.frontier.shared.postgres_handover import hand_over
from weft.version import __version__

_AT_ONCE = 4_000_000  # bytes of parcels that are sent in one go, about
_batches = msgspec.msgpack.Decoder(list[Batch]).decode


def join(base: Base, name: str) -> int:
    """A node that was not there before; its number."""
    return int(row(base, "join", name=name, version=__version__)[0])


def enter(base: Base, node: int, where: str, *, watched: bool) -> None:
    """A node's run begins."""
    check_found(base, node, where)
    known = {number: name for number, name, *_ in rows(base, "nodes")}
    do(base, "enter", node=node, name=known.get(node, ""), version=__version__, watched=watched)


def check_found(base: Base, node: int, where: str) -> None:
    """Refuse a node that counts as lost."""
    found = rows(base, "node_stands", node=node)
    if found and found[0][1]:
        raise lost_node(node, where)


def check_alone(base: Base, node: int, where: str) -> None:
    """Refuse to replace or remove a crawl of which other nodes have something."""
    if others := [number for (number,) in rows(base, "others", node=node)]:
        raise WeftError(
            f"other nodes have groups of this crawl: {', '.join(map(str, others))}",
            where=where,
            todo="have them leave first (weft node stop), or wait until they count as lost",
        )


# Parcels of groups that are held.


def keep(step: Callable[[Callable[[Base], bool]], bool], given: Keep) -> bool:
    """Send a round; False where another one came between, or the node is lost. `step` makes a transaction."""
    step(lambda base: _done(base, "drop_kept", worker=given.worker))
    for some in _pieces(given):
        step(partial(_put, given=given, some=some))
    if not step(partial(_end_round, given=given)):
        step(lambda base: _done(base, "drop_round", worker=given.worker, number=given.number))
        return False
    return step(lambda base: _done(base, "drop_kept", worker=given.worker))


def _put(base: Base, given: Keep, some: dict[str, list[object]]) -> bool:
    return _done(base, "put_kept", worker=given.worker, number=given.number, since=given.since, **some)


def _end_round(base: Base, given: Keep) -> bool:
    found = rows(
        base,
        "end_round",
        worker=given.worker,
        number=given.number,
        since=given.since,
        taken=given.taken,
        pages=given.pages,
        statistics=packed(given.statistics),
        batches=packed(msgspec.msgpack.encode(given.batches)),
    )
    return bool(found)


def _done(base: Base, name: str, **values: object) -> bool:
    do(base, name, **values)
    return True


def _pieces(given: Keep) -> Iterator[dict[str, list[object]]]:
    """Parcels as columns, some megabytes at a time."""
    some, size = list[Parcel](), 0
    for parcel in given.parcels:
        some.append(parcel)
        size += len(parcel.content)
        if size >= _AT_ONCE:
            yield _columns(some)
            some, size = [], 0
    if some:
        yield _columns(some)


def _columns(some: list[Parcel]) -> dict[str, list[object]]:
    return {
        "groups": [each.group for each in some],
        "pending": [each.pending for each in some],
        "contents": [each.content for each in some],
    }


# Nodes that are silent.


class Silence(NamedTuple):
    """For how long another node must be silent."""

    node: int | None  # which is not looked at
    after: float  # seconds since it was heard
    beyond: float  # seconds since its last lease ended


def lose(base: Base, silence: Silence, rest: float) -> list[Lost]:
    """Give up other nodes that were silent for too long; whoever does this is alone with the crawl."""
    found = []
    for silent, name in rows(base, "silent", **silence._asdict()):
        groups = 0
        for each in rows(base, "workers_of", node=silent):
            stood = _Stood(*each)
            groups += row(base, "count_held", worker=stood.worker)[0]
            do(base, "rest_all", worker=stood.worker, rest=rest)
            hand_over(base, stood.worker, _left(base, stood), lost=True)
        do(base, "lose", node=silent)
        found.append(Lost(silent, name, groups))
    return found


class _Stood(NamedTuple):
    """What is kept of a worker."""

    worker: int
    applied: int
    number: int
    taken: int
    pages: int
    statistics: bytes
    batches: bytes
    now: float


def _left(base: Base, stood: _Stood) -> Left:
    """What is kept of a worker, in the words of one that left: what it read since is in its inbox."""
    from weft.frontier.durable.parcels import disturbed  # large, and loaded where something is handed over only

    kept = rows(base, "kept", worker=stood.worker, number=stood.number)
    return Left(
        batches=_batches(unpacked(stood.batches)) if stood.batches else [],
        number=stood.applied,
        taken=stood.taken,
        parcels=(disturbed(Parcel(*each), stood.now) for each in kept),  # as they are sent: it may take long
        clean=False,
        at=stood.now,
        rests={},
        pages=stood.pages,
        statistics=unpacked(stood.statistics),
    )
