"""The global frontier in PostgreSQL (15 or later): for several machines, or for more sites than one file should hold.

In: reports. Out: orders. An exchange is one transaction at READ COMMITTED, of which many run at once
(`postgres_exchange.py` says what they wait for). Its clock is the database's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from weft.errors import WeftError
from weft.frontier.shared import postgres_handover, postgres_nodes
from weft.frontier.shared.address import Address
from weft.frontier.shared.blocks import message_in, packed, pieces_in, unpacked
from weft.frontier.shared.contract import (
    BEING_CRAWLED,
    CRAWLED,
    SET_ASIDE,
    Begun,
    Blacklisted,
    CrawlState,
    Found,
    FrontierAwayError,
    Left,
    Limits,
    Lists,
    Message,
    Orders,
    Parcel,
    Report,
    Restart,
    WorkerState,
)
from weft.frontier.shared.nodes import CONTRACT, PER_NODE, Keep, Lost, NodeState, Summons, other_contract
from weft.frontier.shared.postgres_base import (
    Base,
    PostgresBase,
    do,
    row,
    rows,
    tables_fit,
)
from weft.frontier.shared.postgres_exchange import AlonePleaseError, exchanged
from weft.frontier.shared.postgres_groups import bring_again, plant, unread
from weft.frontier.shared.postgres_making import PATIENCE
from weft.urls import registered_domain, site_of

_RESTARTS_KEPT = 20
_BAD = (WeftError, msgspec.MsgspecError, struct.error)  # what is said of bytes that cannot be read
T = TypeVar("T")


class PostgresFrontier:
    """The global frontier of a crawl, whose tables are in one schema of a database, as one process has it open: for a
    node, whose workers are meant where workers are spoken of, or for nobody in particular.
    """

    def __init__(
        self,
        address: Address,
        crawl: str,
        *,
        node: int | None = 0,
        patience: float = PATIENCE,
        read_only: bool = False,
    ) -> None:
        self._base = PostgresBase(address, patience, read_only=read_only)
        self._where = address.shown
        self._crawl = crawl  # which one it must be; "": whichever is there
        self.node = node
        self._base.check = self._check

    def __repr__(self) -> str:
        return f"PostgresFrontier({self._where})"

    def close(self) -> None:
        """Give the connection back."""
        self._base.close()

    @property
    def first(self) -> int:
        """The number of the node's first worker."""
        return (self.node or 0) * PER_NODE

    # What a worker does.

    def begin(self, worker: int, lease: float = 0.0) -> Begun:
        """A worker starts, or starts again. It is never alone: others may join at any time."""

        def work(base: Base) -> Begun:
            do(base, "lock_crawl")
            postgres_nodes.check_found(base, worker // PER_NODE, self._where)
            found = rows(base, "begin_worker", worker=worker, lease=lease)
            if not found:
                raise WeftError(f"there is no worker {worker} in this crawl", where=self._where)
            ((incarnation, applied),) = found
            return Begun(incarnation, applied, alone=False, second_pass=row(base, "second_pass_now")[0])

        return self._base.in_one_step(work)

    def touch(self, worker: int) -> None:
        """A worker that is not yet exchanging is alive."""
        self._do("touch", worker=worker)

    def held(self, worker: int) -> set[str]:
        """The groups of a worker."""
        return {name for (name,) in self._rows("held", worker=worker)}

    def exchange(self, report: Report) -> Orders:
        """Take a worker's report and give it its orders, as one step."""
        alone = report.idle or report.resting or any(batch.scope for batch in report.batches)
        try:
            return self._exchanged(report, alone=alone)
        except AlonePleaseError:
            return self._exchanged(report, alone=True)

    def _exchanged(self, report: Report, *, alone: bool) -> Orders:
        return self._base.in_one_step(lambda base: exchanged(base, report, self._where, alone=alone), piped=True)

    # What the operator does.

    def prepare(self, workers: int, limits: Limits, *, speed: str | None = None, watched: bool = False) -> None:
        """A run of this node begins with so many workers. Where another node crawls it is part of that run, whose
        limits and speed hold; else a speed that was set before holds unless another is given than to the last run.
        """

        def work(base: Base) -> None:
            postgres_nodes.enter(base, self._own, self._where, watched=watched)
            self._resize(base, workers)
            do(base, "begin_run", node=self._own)
            do(base, "free_addresses", node=self._own, last=self.first + workers - 1)
            if row(base, "others_run", node=self._own)[0]:
                return
            do(base, "set_limits", **msgspec.structs.asdict(limits))
            if speed is not None:
                do(base, "give_speed", speed=speed)

        self._alone(work)

    def want_workers(self, count: int) -> None:
        """Have so many workers; whoever watches them starts or ends some."""
        self._do("want_workers", count=count, node=self._own)

    def resize(self, workers: int) -> None:
        """So many workers belong to the run from now on; those above are told to leave."""

        def work(base: Base) -> None:
            self._resize(base, workers)
            do(base, "nobody_idle")

        self._alone(work)

    def leave_out(self, worker: int) -> None:
        """A worker that does not run, and is not started again, belongs to the run no more."""

        def work(base: Base) -> None:
            do(base, "leave_out", worker=worker)
            do(base, "nobody_idle")

        self._alone(work)

    def add(self, urls: Iterable[str], again: Container[str] = ()) -> None:
        """Add seeds to a crawl; some of them are to be fetched again."""
        given = list(urls)

        def work(base: Base) -> None:
            plant(base, given, again)
            do(base, "nobody_idle")

        self._alone(work)

    def offer_again(self, links: Iterable[Found], *, scope: Iterable[str] = (), rules: str | None = None) -> int:
        """Bring links that were refused before, and note the rules by which they are offered, as one step; how many
        they were. They are asked for once: where another is in the way, the whole command is to be given again.
        """
        places, some = list(scope), iter(links)

        def work(base: Base) -> int:
            do(base, "admit", urls=places)
            count = bring_again(base, some)
            do(base, "nobody_idle")
            if rules is not None:
                do(base, "note_rules", rules=rules)
            return count

        return self._alone(work)

    def note_rules(self, rules: str) -> None:
        """Note the rules by which links have been offered."""
        self._do("note_rules", rules=rules)

    def blacklist(self) -> list[str]:
        """The rules of the blacklist."""
        return [rule for (rule,) in self._rows("rules")]

    def blacklist_history(self) -> list[Blacklisted]:
        """Every rule that is, or was, on the blacklist."""
        return [Blacklisted(*each) for each in self._rows("rules_ever")]

    def change_blacklist(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Change the rules; workers hear of it with their next exchange."""
        new, gone = list(add), list(remove)

        def work(base: Base) -> None:
            do(base, "remove_rules", gone=gone)
            do(base, "add_rules", new=new)
            do(base, "rules_changed")

        self._base.in_one_step(work)

    def set_speed(self, speed: str) -> None:
        """Set the target, for all workers together."""
        self._do("set_speed", speed=speed)

    def pause(self, *, paused: bool) -> None:
        """Have no more pages fetched, or go on."""
        self._do("pause", paused=paused)

    def stop(self, why: str) -> None:
        """End the run, as if by a limit."""
        self._do("stop", why=why)

    def end(self, why: str) -> None:
        """The run of this node has ended, and the crawl's where no other node crawls."""
        self._do("end_run", why=why, node=self._own)

    def note_restart(self, restart: Restart) -> None:
        """Write down that a worker was started again, and why."""

        def work(base: Base) -> None:
            do(base, "note_restart", **msgspec.structs.asdict(restart))
            do(base, "forget_restarts", kept=_RESTARTS_KEPT)
            do(base, "count_restart")

        self._base.in_one_step(work)

    def state(self) -> CrawlState:
        """How the crawl stands."""
        names = (
            *("by_size", "phase", "over", "paused", "speed", "workers", "wanted", "watched", "shared_among"),
            *("offered_by", "restarted"),
        )
        (found,) = self._rows("state", node=self.node)
        restarts = [Restart(*each) for each in self._rows("restarts")]
        return CrawlState(**dict(zip(names, found, strict=True)), restarts=restarts)

    def workers(self, *, everywhere: bool = False) -> list[WorkerState]:
        """How every worker of this node stands, by number; `everywhere`: those of all nodes."""
        found = self._rows("workers", node=None if everywhere else self.node)
        return [
            WorkerState(
                number=number,
                in_run=in_run,
                applied=applied,
                version=version,
                pages=pages,
                pending=pending,
                heard=heard,
                statistics=unpacked(statistics),
                lease=lease,
            )
            for number, in_run, applied, version, pages, pending, heard, statistics, lease in found
        ]

    def lists(self) -> Lists:
        """How many sites are in which list; those that nobody has checked out count by groups."""
        counts = dict(self._rows("lists"))
        return Lists(
            to_crawl=self._row("free_groups")[0],
            being_crawled=counts.get(BEING_CRAWLED, 0),
            crawled=counts.get(CRAWLED, 0),
            set_aside=counts.get(SET_ASIDE, 0),
        )

    def groups(self) -> int:
        """How many groups are known."""
        return int(self._row("groups")[0])

    def waiting(self) -> int:
        """How many pages wait at groups that nobody has checked out."""
        return int(self._row("pages_waiting")[0])

    def waits(self, url: str) -> bool:
        """Is a page here: with a group that nobody has checked out, or on its way to a worker?"""
        group = registered_domain(site_of(url))
        for holder, links, parcel in self._rows("group", name=group):
            if holder is not None:
                (taken,) = self._row("taken", worker=holder)
                if any(_tells_of(url, message) for message in self._unread(holder, taken)):
                    return True
            frames = [links or b"", *(block for (block,) in self._rows("waits_for", name=group))]
            if any(_tells_of(url, Message(notices=some)) for each in frames for _, some in pieces_in(each)):
                return True
            if parcel is not None:
                from weft.frontier.durable.parcels import unpacked as content_of

                if url in content_of(parcel).urls.decode().split("\n"):
                    return True
        return False

    def scope(self) -> list[str]:
        """What is in the scope."""
        return [url for (url,) in self._rows("scope")]

    # What hands over.

    def surplus(self) -> list[int]:
        """Workers that belong to no run and still hold something."""
        return [number for (number,) in self._rows("surplus", node=self._own)]

    def hand_over(self, worker: int, left: Left) -> list[str]:
        """Take back what a worker held, with what it knew, as one step; groups of which nothing is known any more."""
        return self._alone(lambda base: postgres_handover.hand_over(base, worker, left))

    def handed_over(self) -> list[int]:
        """Workers whose groups were taken back, and whose logs may still have them."""
        return [number for (number,) in self._rows("handed_over", node=self._own)]

    def end_hand_over(self, worker: int) -> None:
        """The worker's log has them no more."""
        self._do("end_hand_over", worker=worker)

    def note_shared(self, workers: int) -> None:
        """Everything was handed over for so many workers."""
        self._do("note_shared", workers=workers, node=self._own)

    def missing(self, worker: int, known: Iterable[str], taken: int) -> list[str]:
        """Groups that a worker holds, beside those it knows of and those in messages that it has not read."""
        held = self.held(worker) - set(known)
        for message in self._unread(worker, taken):
            held.difference_update(message.groups)
        return sorted(held)

    def unsound(self) -> list[str]:
        """What is wrong with what is stored, as far as it shows. That the database is away is no damage."""
        try:
            (count,) = self._row("strays")
        except FrontierAwayError:
            raise
        except WeftError as error:
            return [str(error)]
        return [f"{count} groups or more, and what waits for them, do not agree"] if count else []

    def remains(self) -> Iterator[Message]:
        """Everything that is on its way, as far as it can be read."""
        try:
            parcels, links, blocks = (self._rows(name) for name in ("all_parcels", "all_links", "all_messages"))
        except FrontierAwayError:
            raise
        except WeftError:  # there is nothing, or nothing of ours
            return
        yield from (Message(parcels=[Parcel(*parcel)]) for parcel in parcels)
        for (frames,) in links:
            with suppress(*_BAD):
                yield Message(notices=[notice for _, some in pieces_in(frames) for notice in some])
        for (block,) in blocks:
            with suppress(*_BAD):
                yield message_in(block)

    # Nodes.

    def settings(self) -> tuple[str, str, list[str]]:
        """Which crawl this is, its settings without secrets as `crawl.toml` has them, and its seeds."""
        crawl, settings, seeds = self._row("settings")
        return crawl, unpacked(settings).decode(), unpacked(seeds).decode().split()

    def note_settings(self, settings: str, seeds: list[str]) -> None:
        """The settings of the crawl are others from now on."""
        self._do("note_settings", settings=packed(settings.encode()), seeds=packed("\n".join(seeds).encode()))

    def join(self, name: str) -> int:
        """A node joins; its number."""
        self.node = self._alone(lambda base: postgres_nodes.join(base, name))
        return self.node

    def nodes(self) -> list[NodeState]:
        """How every node stands, by number."""
        return [NodeState(**dict(zip(NodeState.__struct_fields__, each, strict=True))) for each in self._rows("nodes")]

    def hear_node(self) -> Summons:
        """The node is alive."""
        found = self._rows("hear_node", node=self._own)
        return Summons(*found[0]) if found else Summons()

    def node_stands(self) -> Summons:
        """How this node stands; it is not heard by that."""
        found = self._rows("node_stands", node=self._own)
        return Summons(*found[0]) if found else Summons()

    def ask_to_leave(self, node: int) -> bool:
        """Have a node leave; False where there is none of this number."""
        return bool(self._rows("ask_to_leave", node=node))

    def leave(self) -> None:
        """The node has left: it has handed everything over."""
        self._do("leave", node=self._own)

    def kept(self, worker: int) -> int:
        """As of which commit of a worker parcels are kept; 0: none are."""
        return int(self._row("kept_number", worker=worker)[0])

    def keep(self, keep: Keep) -> bool:
        """Keep what a worker knows; False where something was kept meanwhile, or the node is lost: then it does not
        count.
        """
        return postgres_nodes.keep(self._base.in_one_step, keep)

    def lose(self, after: float, *, beyond: float, rest: float) -> list[Lost]:
        """Give up other nodes that were silent for so many seconds. What they held can be checked out."""
        silence = postgres_nodes.Silence(self.node, after, beyond)
        if not self._rows("silent_now", **silence._asdict()):
            return []
        return self._alone(lambda base: postgres_nodes.lose(base, silence, rest))

    # Transactions.

    @property
    def _own(self) -> int:
        if self.node is None:
            raise WeftError(
                "this is done for one node, and none is named", where=self._where, todo="give a node's directory"
            )
        return self.node

    def _resize(self, base: Base, workers: int) -> None:
        """So many workers of this node belong to the run."""
        last = self.first + workers - 1
        do(base, "add_workers", first=self.first, last=last)
        do(base, "belong", node=self._own, workers=workers, last=last)

    def _check(self, base: Base) -> None:
        """Is it our crawl, in tables of this version?"""
        tables_fit(base, self._where)
        known = rows(base, "crawl_id")
        for (contract,) in rows(base, "contract"):
            if contract != CONTRACT:
                raise other_contract(contract, self._where)
        if not known or self._crawl not in ("", known[0][0]):
            raise WeftError(
                "the database has no such crawl, or another one",
                where=self._where,
                todo="put the database back as it was, or have `weft repair` make the frontier anew from the directory",
            )

    def _alone(self, work: Callable[[Base], T]) -> T:
        """Do several things as one step, while nobody exchanges."""

        def locked(base: Base) -> T:
            do(base, "lock_crawl")
            return work(base)

        return self._base.in_one_step(locked)

    def _unread(self, worker: int, taken: int) -> list[Message]:
        return self._base.in_one_step(lambda base: unread(base, worker, taken))

    def _do(self, name: str, /, **values: Any) -> None:
        self._base.in_one_step(lambda base: do(base, name, **values))

    def _rows(self, name: str, /, **values: Any) -> list[Any]:
        return self._base.in_one_step(lambda base: rows(base, name, **values))

    def _row(self, name: str, /, **values: Any) -> Any:
        return self._base.in_one_step(lambda base: row(base, name, **values))


def _tells_of(url: str, message: Message) -> bool:
    return any(isinstance(notice, Found) and notice.url == url for notice in message.notices)
