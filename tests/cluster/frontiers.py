"""The one file of the simulator that knows the members of a local frontier. In: settings and a path. Out: a frontier
that is taken up as `weft.work` does it, is watched in what it commits and takes in, and can be dropped as a process
is that was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import msgspec
import numpy as np
from tests.cluster.events import Pool
from tests.cluster.store import LineStore

from weft.clock import Clock
from weft.config import Settings
from weft.engine.progress import Counts, Progress
from weft.frontier.durable.inspect import Ledger
from weft.frontier.durable.log import Commit
from weft.frontier.durable.parcels import pages_of, unpacked
from weft.frontier.local.bounds import Bound
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.local.remembered import Remembered
from weft.frontier.shared.contract import Begun, Exchanging, HandingOver, Orders
from weft.ordering import ordering_named
from weft.store.files import intact

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_CAPACITY = 1 << 12
Watching = Callable[[str, Any], None]
_ordering = cache(ordering_named)  # finding it takes longer than a crawl's beginning


class WatchedFrontier(LocalFrontier):
    """A local frontier that tells what it commits and takes in; it does nothing else than the one it is."""

    tell: Watching

    def watch(self, tell: Watching) -> None:
        """Tell of every step of a commit, and of orders."""
        self.tell = tell
        commits, exchanges = self.commits, self.exchanges
        pack, write, written, obeying = commits.pack, commits.write, commits.written, exchanges.obeying

        def packing(**more: Any) -> None:
            pack(**more)
            tell("packed", number_of(self))

        def writing(*, sync: bool) -> None:
            tell("writing", number_of(self))
            write(sync=sync)
            tell("wrote", (number_of(self), self.pages.log.path.stat().st_size))

        def told() -> None:
            tell("written", number_of(self))
            written()

        def obeyed(orders: Orders) -> Iterator[None]:
            tell("obeying", orders)
            yield from obeying(orders)
            tell("obeyed", orders)

        commits.__dict__.update(pack=packing, write=writing, written=told)
        exchanges.__dict__.update(obeying=obeyed)


def number_of(frontier: LocalFrontier) -> int:
    """The number of a frontier's last commit."""
    return frontier.exchanges.mail.number


def open_frontier(
    path: Path,
    settings: Settings,
    clock: Clock,
    secret: bytes,
    checkpoint_after: int,
    bound: Bound | None,
    tell: Watching,
) -> WatchedFrontier:
    """A worker's own frontier, as it is before its log is read."""
    terms = Terms(
        ordering=_ordering(settings.running.ordering),
        politeness=settings.politeness,
        selection=settings.selection,
        retries=settings.retries,
        overrides=settings.overrides,
        rules=settings.urls,
        agent=settings.identity.product,
        secret=secret,
        seed=settings.running.random_seed,
        capacity=_CAPACITY,
        checkpoint_after=checkpoint_after,
        bound=bound,
    )
    frontier = WatchedFrontier(terms, path=path, clock=clock)
    frontier.watch(tell)
    return frontier


def take_up(
    frontier: WatchedFrontier, begun: Begun, shared: Exchanging, worker: int, out: Path, store: LineStore, clock: Clock
) -> tuple[Commit | None, Progress]:
    """Go on from the last commit: what `weft.work` does between the frontier and the loop."""
    last = frontier.commits.recover(begun, lambda commit: intact(out, commit.marks))
    size = frontier.pages.log.path.stat().st_size
    frontier.tell("recovered", (number_of(frontier) if last is None else last.number, last, size))
    if frontier.exchanges.mail.behind:
        frontier.exchanges.keep(shared.held(worker))
    store.take_up(*(({}, 0) if last is None else (last.marks, last.number)))
    store.before = number_of(frontier)
    progress = Progress(clock, msgspec.msgpack.decode(last.counts, type=Counts) if last is not None else None)
    frontier.pace.spent = progress.counts.pages
    frontier.discovery.restore_refusals(progress.counts.refused)
    frontier.discovery.unwanted = progress.begin(2_000_000, frontier.scope.wanted)
    return last, progress


def abandon(frontier: WatchedFrontier) -> None:
    """The process of a frontier is gone: its files are given back as they are, and whoever still ends a visit there, as
    coroutines do that are dropped, changes nothing.
    """
    frontier.__dict__["leave"] = lambda _visit: None
    frontier.ranking.close()
    frontier._asked._syncing = None
    frontier._asked.close()
    frontier.pages.log.close()


def close(frontier: WatchedFrontier) -> None:
    """The process has ended by itself."""
    frontier.close()


def in_simulation(fold: Any) -> list[AbstractContextManager[Any]]:
    """What stands in the way of one process and one clock: threads become steps, so do the processes that make
    checkpoints; what is waited for longest is waited for less long; and tables that are as large as a crawl of millions
    needs them are so small that they overflow.
    """
    return [
        patch("weft.frontier.local.discovery.Remembered", partial(Remembered, sets=64)),
        patch("weft.frontier.local.holdings._REMEMBERED", 64),
        patch("weft.frontier.durable.pauses.ThreadPoolExecutor", Pool),
        patch("weft.frontier.local.rolling.subprocess", fold),
        patch("weft.frontier.local.schedule._PATIENCE", 8.0),
        patch("weft.frontier.local.throttles._KEPT", 3.0),
        patch("weft.frontier.local.throttles._TURN", 1.0),
    ]


def standings(out: Path, urls: list[str], shared: HandingOver) -> dict[str, list[tuple[int, str, str]]]:
    """Where pages stand by the logs of all workers, and by parcels that nobody has checked out: worker (or -1), state,
    reason; nothing where nobody knows a page.
    """
    found: dict[str, list[tuple[int, str, str]]] = {}
    for path in sorted(out.glob("workers/*/frontier.log")):
        ledger = Ledger(path)
        for url in urls:
            standing = ledger.standing(url)
            if standing is not None:
                found.setdefault(url, []).append((int(path.parent.name), standing.state, standing.reason))
        ledger.close()
    wanted = set(urls)
    for parcel in (parcel for message in shared.remains() for parcel in message.parcels):
        content = unpacked(parcel.content)
        known = pages_of(content).urls
        for reason, places in content.refused.items():
            for place in np.frombuffer(places, np.uint32).tolist():
                if known[place] in wanted:
                    found.setdefault(known[place], []).append((-1, "refused", reason))
    return found
