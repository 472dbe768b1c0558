"""A crawl in PostgreSQL, made, looked for, upgraded and removed. In: an address, and which crawl is meant. Out: tables
with the crawl in them, or none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from weft.clock import Clock
from weft.errors import WeftError
from weft.frontier.shared import postgres_nodes
from weft.frontier.shared.address import Address
from weft.frontier.shared.blocks import packed
from weft.frontier.shared.contract import ALL_AT_ONCE, Remains
from weft.frontier.shared.nodes import CONTRACT
from weft.frontier.shared.postgres_base import Base, Made, PostgresBase, do, make_tables, rows, tables_are_there
from weft.frontier.shared.postgres_groups import plant, rebuild

PATIENCE = 60.0  # seconds that a transaction waits for others, and for the database to answer
UPGRADE = "upgrade"  # why a run ends
_LOOK = 0.2  # seconds between two looks at who is still at work
_SILENT = 10.0  # seconds after which a node that is not heard is not at work; it says so every second
_NODES = 2  # the step that made their table


def create(
    address: Address,
    crawl: str,
    *,
    by_size: bool,
    seeds: Iterable[str],
    remains: Remains | None = None,
    node: int = 0,
    settings: str = "",
    phase: int = ALL_AT_ONCE,
) -> None:
    """Begin a crawl, whose tables are made where they are not there. It is there when it is complete. What is there
    of it is replaced, unless other nodes have something of it.
    """
    base, given = PostgresBase(address, PATIENCE), list(seeds)
    kept = {"settings": packed(settings.encode()), "seeds": packed("\n".join(given).encode())}

    def begin(held: Base) -> None:
        do(held, "lock_crawl")
        known = rows(held, "crawl_id")
        if known and known[0][0] != crawl:
            raise _other_crawl(address)
        if known:
            postgres_nodes.check_alone(held, node, address.shown)
            do(held, "remove_crawl")
        do(held, "begin_crawl", id=crawl, by_size=by_size, phase=phase, contract=CONTRACT, **kept)
        if remains is None:
            plant(held, given)
        else:
            rebuild(held, given, remains)

    try:
        if not tables_are_there(base):
            make_tables(base)
        base.in_one_step(begin)
    finally:
        base.close()


def init(address: Address) -> Made:
    """Make the tables, or bring those of an earlier version up to date."""
    base = PostgresBase(address, PATIENCE)
    try:
        return make_tables(base)
    finally:
        base.close()


def check(address: Address, crawl: str) -> None:
    """Does the database answer, and is it free for this crawl? Nothing is changed."""
    base = PostgresBase(address, PATIENCE, read_only=True)
    try:
        if tables_are_there(base):
            known = base.in_one_step(lambda held: rows(held, "crawl_id"))
            if known and known[0][0] != crawl:
                raise _other_crawl(address)
    finally:
        base.close()


def remove(address: Address, crawl: str, node: int = 0) -> None:
    """Remove a crawl, if it is this one, and no other node has something of it; the tables stay, empty."""
    base = PostgresBase(address, PATIENCE)

    def work(held: Base) -> None:
        do(held, "lock_crawl")
        if rows(held, "crawl_id") == [(crawl,)]:
            postgres_nodes.check_alone(held, node, address.shown)
            do(held, "remove_crawl")

    try:
        if tables_are_there(base):
            base.in_one_step(work)
    finally:
        base.close()


def exists(address: Address, crawl: str) -> bool:
    """Was this crawl begun there?"""
    base = PostgresBase(address, PATIENCE)
    try:
        return tables_are_there(base) and base.in_one_step(lambda held: rows(held, "crawl_id")) == [(crawl,)]
    finally:
        base.close()


def upgrade(address: Address, wait: float, clock: Clock, say: Callable[[str], None]) -> list[str]:
    """Have a crawl go on with this version: its nodes are told to end their runs, and when the tables change nobody
    holds a lease or hands over what it holds. The steps that were applied; nodes of the earlier version that come back
    are refused.
    """
    base = PostgresBase(address, PATIENCE)
    base.check = lambda _connection: None  # the tables are those of an earlier version
    try:
        if not tables_are_there(base):
            raise WeftError("there is no global frontier here", where=address.shown, todo="weft cluster init")
        if base.in_one_step(_at_work):
            base.in_one_step(lambda held: do(held, "stop", why=UPGRADE))
            say("all nodes are told to end their runs")
        until = clock.now() + wait
        while found := base.in_one_step(_at_work):
            if clock.now() > until:
                raise WeftError(
                    f"after {wait:.0f} s {found}; nothing was changed",
                    where=address.shown,
                    todo="see to their nodes, and give the same command again",
                )
            time.sleep(_LOOK)
        made = make_tables(base)
        base.in_one_step(_upgraded)
        return made.steps
    finally:
        base.close()


def _at_work(base: Base) -> str:
    """Who is still at work: an earlier version would find other tables than it knows."""
    if found := rows(base, "leases"):
        return f"these workers may still visit: {', '.join(str(number) for (number,) in found)}"
    has_nodes = (_NODES,) in rows(base, "migrations_done")
    if has_nodes and (found := rows(base, "busy_nodes", silent=_SILENT)):
        return f"these nodes have not ended their runs: {', '.join(str(number) for (number,) in found)}"
    return ""


def _upgraded(base: Base) -> None:
    do(base, "set_contract", contract=CONTRACT)
    do(base, "go_on")


def _other_crawl(address: Address) -> WeftError:
    return WeftError(
        "another crawl is in this schema of the database",
        where=address.shown,
        todo="go on with that one in its own directory, or name another schema: postgresql://…?schema=name",
    )
