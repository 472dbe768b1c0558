"""Nodes: machines that crawl one web together. In: who joins, is heard, leaves or is silent. Out: who counts as what.

A node is a directory with workers of its own. Ten thousand numbers of workers belong to each node, so that a worker's
number says whose it is, and one that is started anew can be given without asking others. A global frontier that is a
file has one node, number 0, and none can join.

A node *leaves* when it hands everything over. One that is silent is waited for: its groups stay its own. When it was
silent for too long it is *lost*: its groups are given to others as they were when its workers last sent parcels of them
(`Keep`), under a number that fences it off. It never comes back under its number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import msgspec

from weft.errors import WeftError
from weft.frontier.shared.contract import Batch, Parcel, SharedFrontier

PER_NODE = 10_000  # numbers of workers that belong to a node
# What is in reports, batches, messages and parcels, as bytes. It changes where one version could not read what another
# has written; what has a key and a default is no change.
CONTRACT = 2


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """How a node stands. Times are seconds ago, by the frontier's clock."""

    number: int
    name: str  # for people: its machine and directory
    version: str  # of weft, there
    workers: int  # that it has, or had
    joined: float | None
    heard: float | None  # None: never
    left: float | None  # None: it has not
    lost: float | None  # None: it is not
    pages: int
    groups: int  # that its workers hold
    alive: bool  # one of its workers may visit at this moment

    @property
    def state(self) -> str:
        """In a word: alive, silent, left or lost."""
        if self.lost is not None:
            return "lost"
        return "left" if self.left is not None else "alive" if self.alive else "silent"


class Summons(NamedTuple):
    """What a node is told when it is heard."""

    leave: bool = False
    lost: bool = False


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """What a running worker knows of the groups that it holds, as of one of its commits that is settled."""

    worker: int
    number: int  # of the commit
    since: int  # the commit of the last such; parcels of groups that did not change since are not among these
    taken: int  # how far its inbox was read
    pages: int  # fetched
    statistics: bytes
    batches: list[Batch]  # up to the commit, that the global frontier has not heard of
    parcels: Iterable[Parcel]


class Lost(NamedTuple):
    """A node that was given up."""

    node: int
    name: str
    groups: int  # that others can check out now


class LostNodeError(WeftError):
    """A node counts as lost: others have its groups."""


class NodesFrontier(SharedFrontier, Protocol):
    """A global frontier that several nodes share, as one of them has it open; `node` is None for who is none."""

    node: int | None

    @property
    def first(self) -> int:
        """The number of the node's first worker."""
        ...

    def settings(self) -> tuple[str, str, list[str]]:
        """Which crawl this is, its settings without secrets as `crawl.toml` has them, and its seeds."""
        ...

    def note_settings(self, settings: str, seeds: list[str]) -> None:
        """The settings of the crawl are others from now on."""
        ...

    def join(self, name: str) -> int:
        """A node joins; its number."""
        ...

    def nodes(self) -> list[NodeState]:
        """How every node stands, by number."""
        ...

    def hear_node(self) -> Summons:
        """The node is alive."""
        ...

    def node_stands(self) -> Summons:
        """How this node stands; it is not heard by that."""
        ...

    def ask_to_leave(self, node: int) -> bool:
        """Have a node leave; False where there is none of this number."""
        ...

    def leave(self) -> None:
        """The node has left: it has handed everything over."""
        ...

    def kept(self, worker: int) -> int:
        """As of which commit of a worker parcels are kept; 0: none are."""
        ...

    def keep(self, keep: Keep) -> bool:
        """Keep what a worker knows, as one step; False where something was kept meanwhile, and nothing was done."""
        ...

    def lose(self, after: float, *, beyond: float, rest: float) -> list[Lost]:
        """Give up other nodes that were silent for so many seconds, and whose leases ended so many seconds ago;
        addresses that they may have visited rest for some. What they held can be checked out.
        """
        ...


def other_contract(known: int, where: str) -> WeftError:
    """What to say where another version talks by another contract."""
    if known > CONTRACT:
        what, todo = "a later", "go on here with that version of weft, which the other nodes have"
    else:
        what, todo = "an earlier", f"have the crawl go on with this version: weft cluster upgrade '{where}'"
    return WeftError(
        f"this crawl is run by {what} version of weft (contract {known}, and this one has {CONTRACT})",
        where=where,
        todo=todo,
    )


def lost_node(node: int, where: str) -> LostNodeError:
    """What to say to a node that counts as lost."""
    return LostNodeError(
        f"node {node} was silent for so long that others have its groups by now",
        where=where,
        todo="run the same command again: what it fetched since is kept and marked as superseded, and it joins as a "
        "new node",
    )
