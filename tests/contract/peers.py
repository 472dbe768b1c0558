"""Workers as a global frontier sees them, without anything behind them; also as processes of their own.

`python -m tests.contract.peers IMPLEMENTATION PLACE NUMBER` is a worker that crawls a web made of numbers: when it is
told to, by a line, it follows the links of what it is given until the crawl is over, and prints what it was given.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from tests.database import database
from tests.patience import PATIENCE

from weft.clock import Clock, SystemClock
from weft.frontier.shared import postgres_making
from weft.frontier.shared.address import address_in
from weft.frontier.shared.contract import (
    ALL_AT_ONCE,
    Batch,
    Exchanging,
    Found,
    Message,
    Notice,
    Orders,
    Parcel,
    Report,
    SharedFrontier,
)
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.frontier.shared.postgres import PostgresFrontier
from weft.model import Kind, UrlId

IMPLEMENTATIONS = ("sqlite", "postgres")


_spare: list[str] = []  # schemas that no test uses any more: tables take their time to be made
CRAWL = "test"  # the crawl in each of them


def created(implementation: str, folder: Path, *, by_size: bool, seeds: Iterable[str], phase: int = ALL_AT_ONCE) -> str:
    """Make a global frontier; where it is."""
    if implementation == "postgres":
        place = _spare.pop() if _spare else database().schema()
        postgres_making.create(address_in(place), CRAWL, by_size=by_size, seeds=seeds, phase=phase)
        return place
    create_frontier(folder, by_size=by_size, seeds=seeds, phase=phase)
    return str(folder)


def released(implementation: str, place: str) -> None:
    """A global frontier is not used any more."""
    if implementation == "postgres":
        _spare.append(place)
    else:
        shutil.rmtree(place)


def opened(implementation: str, place: str, clock: Clock) -> SharedFrontier:
    """Open a global frontier, as each process does."""
    if implementation == "postgres":
        return PostgresFrontier(address_in(place), CRAWL)
    return open_frontier(Path(place), clock)


def group_of(url: str) -> str:
    """The group of a URL whose site is a registered domain itself."""
    return url.split("/")[2]


def to(url: str, via: int = 1, depth: int = 1) -> Found:
    """A link as a worker finds it."""
    return Found(url, Kind.A, depth, UrlId(via))


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


Build = Callable[..., SharedFrontier]


def crew(frontier: SharedFrontier, workers: int) -> list[Peer]:
    """So many workers, all begun."""
    return [Peer(frontier, number) for number in range(workers)]


def seeds_of(*names: str) -> list[str]:
    """One seed for each site."""
    return [f"http://{name}.example/" for name in names]


def domains(*names: str) -> list[str]:
    """Groups by their short names."""
    return [f"{name}.example" for name in names]


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
    print(json.dumps(crawl(peer, PATIENCE)))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
