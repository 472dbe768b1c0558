"""A crawl managed from outside, while it runs or before it goes on. In: its directory, or the address of its database,
and what is wanted. Out: how it stands.

Everything that is said goes into the global frontier, where workers hear of it with their next exchange, within a
second or two. When the crawl is not running, what was said holds for its next run.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.clock import Clock, SystemClock
from weft.engine.watchdog import most_workers
from weft.errors import UsageError, no_crawl
from weft.frontier.blacklist import usable_rule
from weft.frontier.pace import Speed
from weft.frontier.shared.address import is_address, without_password
from weft.frontier.shared.contract import STOPPED, SharedFrontier
from weft.frontier.shared.nodes import NodeState
from weft.frontier.shared.opening import nodes_of, open_cluster, open_frontier
from weft.model import Reason
from weft.operations.status import Status, look_at
from weft.store.reading import CrawlFiles

_LOOK = 0.1  # seconds between two looks at whether a crawl has ended


class Managed:
    """A crawl that can be told something."""

    def __init__(self, out: Path | None, shared: SharedFrontier, clock: Clock, name: str = "") -> None:
        self.out = out  # None: it is managed by its address, and no files are looked at
        self._name = name or str(out)
        self._shared = shared
        self._clock = clock

    def __repr__(self) -> str:
        return f"Managed({self._name})"

    @property
    def running(self) -> bool:
        """Is it run by a process at this moment, or by one of its nodes?"""
        if self.out is not None:
            return is_running(self.out)
        return any(node.alive for node in self.nodes())

    def nodes(self) -> list[NodeState]:
        """Its nodes; none where the global frontier is a file."""
        nodes = nodes_of(self._shared)
        return [] if nodes is None else nodes.nodes()

    @property
    def over(self) -> str:
        """Why the run that is ending, or has ended, is over; "" where nobody said so."""
        return self._shared.state().over

    def in_force(self) -> str:
        """From when on holds what was said?"""
        if not self.running:
            return "The crawl is not running: this holds when it is run again."
        if self.over:
            return f"The crawl is about to end ({self.over}): this holds when it is run again."
        return "In force within seconds."

    # Pausing and ending.

    def pause(self) -> None:
        """Have no more pages fetched; those under way come to their end."""
        self._shared.pause(paused=True)

    def resume(self) -> None:
        """Go on after a pause."""
        self._shared.pause(paused=False)

    def stop(self) -> None:
        """End the run as if by a limit: pages under way are finished, everything is committed and sealed."""
        self._shared.stop(STOPPED)

    def wait(self, seconds: float) -> bool:
        """Wait until the crawl does not run any more; False when it still does after so many seconds."""
        deadline = self._clock.now() + seconds
        while self.running:
            if self._clock.now() >= deadline:
                return False
            time.sleep(_LOOK)
        return True

    # Speed.

    @property
    def speed(self) -> str:
        """The target as it was said; "none" for none."""
        return self._shared.state().speed or "none"

    def target(self) -> tuple[float | None, float | None]:
        """Pages and bytes a second that are aimed at now."""
        return Speed.parse(self.speed).at(self._clock.wall())

    def set_speed(self, text: str) -> None:
        """Set the target; a text that is none changes nothing."""
        if not Speed.parse(text).rules:
            raise UsageError("not a valid speed", todo="write such as '200 pages/s', or none for no limit")
        self._shared.set_speed(text.strip())

    # Workers.

    @property
    def workers(self) -> int:
        """How many workers the run has, or is about to have."""
        return self._shared.state().wanted

    def set_workers(self, count: int) -> None:
        """Have the run go on with so many workers; the next run has as many as its command says."""
        state = self._shared.state()
        if self.out is None:
            raise UsageError(
                "each node has workers of its own", where=self._name, todo="give the directory of the node, there"
            )
        if not self.running:
            raise UsageError("the crawl does not run", where=str(self.out), todo="give --workers when it goes on")
        if not state.watched:
            raise UsageError(
                "the crawl runs in the process of who started it, which has one worker",
                where=str(self.out),
                todo="start it with weft crawl, or with more than one worker",
            )
        most = most_workers()
        if not 1 <= count <= most:
            raise UsageError(f"{count} workers were asked for", todo=f"give 1 to {most}")
        self._shared.want_workers(count)

    # Blacklist.

    def blacklist(self) -> list[str]:
        """Its rules, in the order they were given."""
        return self._shared.blacklist()

    def change_blacklist(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[list[str], list[str]]:
        """Add and remove rules, all of them or none; those that were new, and those that were there."""
        known = set(self.blacklist())
        new = [rule for rule in dict.fromkeys(map(usable_rule, add)) if rule not in known]
        gone = list(dict.fromkeys(map(usable_rule, remove)))
        for rule in gone:
            if rule not in known:
                raise UsageError(
                    f"'{rule}' is not on the blacklist", where=self._name, todo="list its rules without --remove"
                )
        if new or gone:
            self._shared.change_blacklist(add=new, remove=gone)
        return new, gone

    # Seeds.

    def add(self, urls: Iterable[str]) -> None:
        """Add seeds, in normal form. Those that are known already change nothing, but what was fetched and not kept
        because of its type is fetched again. Which that is, is found in the files of a directory.
        """
        seeds = list(urls)
        self._shared.add(seeds, self._refused_by_type(seeds))

    def _refused_by_type(self, urls: list[str]) -> set[str]:
        if self.out is None:
            return set()
        wanted = set(urls)
        reasons: dict[str, str | None] = {}
        for batch in CrawlFiles(self.out).batches("pages", ["url", "final", "reason"]):
            rows = zip(*batch.to_pydict().values(), strict=True)
            reasons |= {url: reason for url, final, reason in rows if final and url in wanted}
        return {url for url, reason in reasons.items() if reason == Reason.TYPE.value}

    # How it stands.

    def status(self) -> Status:
        """Everything there is to say, at this moment."""
        running = self.running or any(node.alive for node in self.nodes())
        return look_at(self.out, self._shared, self._clock, running=running, everywhere=True, name=self._name).status

    def leave(self, node: int | None) -> int:
        """Have a node leave: the one in the directory, or another; which one it is."""
        nodes = nodes_of(self._shared)
        if nodes is None:
            raise UsageError(
                "this crawl has no nodes: its global frontier is a file", where=self._name, todo="weft stop ends it"
            )
        number = nodes.node if node is None else node
        if number is None:
            raise UsageError("which node is to leave?", where=self._name, todo="give --node, as weft status shows it")
        if not nodes.ask_to_leave(number):
            raise UsageError(
                f"there is no node {number} that could leave", where=self._name, todo="weft status shows the nodes"
            )
        return number


@contextmanager
def managing(crawl: Path | str, clock: Clock | None = None) -> Iterator[Managed]:
    """Open a crawl to be managed: the one in a directory, or in a database."""
    clock = clock or SystemClock()
    if isinstance(crawl, str) and is_address(crawl):
        place = without_password(crawl, where="the command line")
        cluster = open_cluster(place)
        try:
            yield Managed(None, cluster, clock, place)
        finally:
            cluster.close()
        return
    out = Path(crawl)
    if not (out / "crawl.toml").exists():
        raise no_crawl(str(out))
    shared = open_frontier(out, clock)
    try:
        yield Managed(out, shared, clock)
    finally:
        shared.close()


def is_running(out: Path) -> bool:
    """Does a process run the crawl in a directory? Its lock is tried, and let go of at once."""
    try:
        handle = os.open(out / ".lock", os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who look at once do not see each other
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
