"""A node among others. In: a directory, and a global frontier that several nodes share. Out: a node that has joined, is
heard, and has left; and what is done about others that are silent.

Where the global frontier is a file there is one node, and nothing is to be done. A node owns its directory: it seals,
dissolves and cleans its own workers, and reads no other's. It leaves by handing everything over. One that ends without
leaving is waited for, and goes on from its own log when it comes back in time (`frontier/shared/nodes.py`).
"""

from __future__ import annotations

import platform
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from weft.clock import Clock
from weft.config import Settings
from weft.directory import SECRETS, Plan
from weft.engine.stopping import Stopping
from weft.errors import UsageError, WeftError
from weft.frontier.shared.contract import FrontierAwayError, SharedFrontier
from weft.frontier.shared.nodes import PER_NODE, NodesFrontier, lost_node
from weft.frontier.shared.opening import (
    frontier_exists,
    node_of,
    nodes_of,
    note_node,
    open_cluster,
    open_frontier,
)
from weft.handover import end_worker, hand_over_left, numbers_of, put_aside
from weft.keeping import Keeping
from weft.settings import flag_of, load_toml
from weft.store.superseded import SUPERSEDED, Line, supersede
from weft.widening import is_wider

LEFT = "left"  # why a node ends that was asked to leave
_HEAR = 1.0  # seconds between two signs of life of a node
_LOOK = 5.0  # seconds between two looks at whether others are silent
_DEAF = 5.0  # seconds without an answer of the database, after which others may have had none either
_GRACE = 30.0  # seconds that others have then to be heard again: each tries every second


def node_plan(address: str, out: Path, config: Path | None, flags: dict[str, Any]) -> Plan:
    """What a node does that joins the crawl at an address: settings and seeds are those of the crawl, and what belongs
    to a machine is given.
    """
    shared = open_cluster(address)
    try:
        crawl, text, seeds = shared.settings()
    finally:
        shared.close()
    if not text:
        raise UsageError(
            "the database does not know the settings of its crawl: an earlier version began it",
            where=address,
            todo="run `weft crawl --out DIRECTORY` once where it was begun",
        )
    with tempfile.TemporaryDirectory(prefix="weft-node-") as room:
        file = Path(room) / "crawl.toml"
        file.write_text(text, encoding="utf-8")
        settings, ordering = Settings().with_file(file), load_toml(file).get("crawl", {}).get("ordering")
    settings = settings.with_values({"volumes": [], "workers": 0, "frontier": address}, where="")
    for given in (out / SECRETS, config):
        if given is not None and given.exists():
            settings = settings.with_file(given)
    settings = settings.with_values(flags, where="", spell=flag_of)
    if settings.incomplete:
        raise UsageError(
            "this crawl has secrets, which the database does not",
            where=address,
            todo="give --config with the headers, or the proxy, that the crawl was begun with",
        )
    plan = Plan(seeds=seeds, out=out, settings=settings, watched=True, joins=crawl)
    if plan.ordering != ordering:
        raise UsageError(
            f"the ordering of this crawl is {ordering}, and {plan.ordering} here: an application that is an object of "
            "the program that began it chooses what is fetched",
            where=address,
            todo="name the application as module:Class where the crawl is begun: then every node has it",
        )
    return plan


def join(plan: Plan) -> None:
    """Have a directory be a node of its crawl, if it is not and there are nodes."""
    out, address = plan.out, plan.settings.running.frontier
    if not address:
        return
    shared = open_cluster(address, plan.joins)
    try:
        crawl, text, _ = shared.settings()
        if node_of(out) is None:
            # One that an earlier version began has workers already: it was the only node.
            node = 0 if numbers_of(out) else shared.join(_name(out))
            note_node(out, crawl, node)
        ours = (out / "crawl.toml").read_text(encoding="utf-8")
        if not plan.joins and text != ours:
            shared.note_settings(ours, plan.seeds)
    finally:
        shared.close()


def _name(out: Path) -> str:
    """What a node is called, for people."""
    return f"{platform.node()}:{out.resolve()}"


def come_back(out: Path, say: Callable[[str], None]) -> None:
    """Before anything is looked at: a node that counts as lost begins anew, as another one.

    1. Its workers' files are sealed, up to their last commits, as their next start would do.
    2. `superseded.log` says which of their rows count: those that others took over from.
    3. Their logs are put aside: nobody goes on from them.
    4. The directory joins as a new node.

    A crash anywhere is safe: the next run does all of it again.
    """
    if node_of(out) is None or not frontier_exists(out):
        return
    shared = open_frontier(out)
    try:
        nodes = nodes_of(shared)
        if nodes is None or not nodes.node_stands().lost:
            return
        numbers = [number for number in numbers_of(out) if number // PER_NODE == nodes.node]
        for number in numbers:
            end_worker(out, number)
            supersede(out, [Line(number, nodes.kept(number))])
            put_aside(out, number)
        old, crawl = nodes.node, nodes.settings()[0]
        note_node(out, crawl, nodes.join(_name(out)))
        say(
            f"node {old} was silent for too long, and others have its groups: what it fetched since they took "
            f"over is kept, marked as superseded ({SUPERSEDED}), and fetched again by them; it is node {nodes.node} now"
        )
    finally:
        shared.close()


class Hearing:
    """Whether the silence of others tells anything. A database that was away, or machines that all were off, made
    everybody silent: who comes back first gives the others time to be heard again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answered = self._since = clock.elapsed()  # the last answer of the database, the first without a gap

    def __repr__(self) -> str:
        return f"Hearing(since={self._since})"

    def answered(self) -> None:
        """The database answered us."""
        now = self._clock.elapsed()
        if now - self._answered > _DEAF:
            self._since = now
        self._answered = now

    def tells(self, after: float) -> bool:
        """Would others that are alive have been heard by now? For those who count as lost after so many seconds."""
        return self._clock.elapsed() - self._since >= min(after, _GRACE)


class Membership:
    """A node that runs. A thread has it heard and looks at others, so that nobody who crawls waits for the database;
    what there is to say, and what went wrong there, is told to whoever looks now and then.
    """

    def __init__(
        self, plan: Plan, shared: SharedFrontier, clock: Clock, say: Callable[[str], None], stopping: Stopping
    ) -> None:
        self._plan = plan
        self._shared = shared
        self._nodes = nodes_of(shared)
        self._clock = clock
        self._say = say
        self._stopping = stopping
        self._looked = clock.now()
        self._hearing = Hearing(clock)
        self._told = False  # to leave
        self._to_say: deque[str] = deque()
        self._failed: Exception | None = None
        self._keeping = Keeping(plan.out, clock, plan.settings.watching.parcel_every, self._to_say.append)

    def __repr__(self) -> str:
        return f"Membership({self._nodes})"

    def check_rules(self) -> None:
        """Refuse to make a crawl wider of which others have a part: what was refused there is in their files."""
        nodes = self._nodes
        if nodes is not None and is_wider(self._plan.settings, nodes.state().offered_by) and self._others(nodes):
            raise UsageError(
                "the rules are others than the crawl's, and other nodes take part in it",
                where=str(self._plan.out),
                todo="give no settings that change what is collected, or have the other nodes leave first",
            )

    @contextmanager
    def watched(self) -> Iterator[Callable[[], None]]:
        """Have the node heard meanwhile; what is to be called now and then."""
        if self._nodes is None:
            yield lambda: None
            return
        try:
            try:
                with self._beside(self._look):
                    yield self._hear
            finally:
                self._keeping.end()
        except WeftError:
            self._withdraw()
            raise

    def _hear(self) -> None:
        while self._to_say:
            self._say(self._to_say.popleft())
        if self._failed is not None:
            raise self._failed

    @contextmanager
    def _beside(self, look: Callable[[NodesFrontier], object]) -> Iterator[None]:
        """Have something looked at every second meanwhile."""
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(over, look), name="node", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    # In a thread, with a connection of its own.

    def _watch(self, over: threading.Event, look: Callable[[NodesFrontier], object]) -> None:
        shared = open_frontier(self._plan.out, self._clock)
        nodes = nodes_of(shared)
        assert nodes is not None
        try:
            while not over.wait(_HEAR):
                with suppress(FrontierAwayError):  # workers say it
                    look(nodes)
        except Exception as error:  # noqa: BLE001  it is raised where the node runs
            self._failed = error
        finally:
            shared.close()

    def _look(self, nodes: NodesFrontier) -> None:
        self._be_heard(nodes)
        self._keeping.look(range(nodes.first, nodes.first + nodes.state().workers))
        now = self._clock.now()
        if now - self._looked >= _LOOK:
            self._looked = now
            self._look_at_others(nodes)

    def _be_heard(self, nodes: NodesFrontier) -> None:
        summons = nodes.hear_node()
        self._hearing.answered()
        if summons.lost:
            raise lost_node(nodes.node or 0, str(self._plan.out))
        if summons.leave and not self._told:
            self._told = True
            self._to_say.append("this node is asked to leave; it finishes its pages and hands over what it holds")
            self._stopping.tell(LEFT)

    def _look_at_others(self, nodes: NodesFrontier) -> None:
        """Give up those that were silent for too long: when nobody of them can be visiting any more."""
        settings = self._plan.settings
        after, timeout = settings.watching.node_lost_after, settings.fetching.timeout
        if not self._hearing.tells(after):
            return
        rest = max(settings.politeness.crawl_delay_most / 4, settings.politeness.network_gap)
        for lost in nodes.lose(after, beyond=timeout, rest=rest):
            self._to_say.append(
                f"node {lost.node} ({lost.name}) was silent for {after:.0f} s and counts as lost: {lost.groups} groups "
                "of it can be checked out, as they were when it last sent them"
            )

    # Behind it.

    def leave(self) -> None:
        """When no worker runs: hand everything over. A node that others know of always does; where it is the only one
        it may keep what it has, and go on with it faster.
        """
        nodes = self._nodes
        if nodes is None or not (self._plan.joins or self._told or self._others(nodes)):
            return
        self._shared.resize(0)
        plan = self._plan
        with self._beside(lambda nodes: nodes.hear_node()):  # it may take minutes
            for handed in hand_over_left(plan.out, self._shared, 0, plan.settings, self._clock):
                self._say(str(handed))
        nodes.leave()
        self._say(f"node {nodes.node} has left the crawl, and holds nothing of it")

    def _withdraw(self) -> None:
        """When the node cannot go on, and no worker runs: one that holds nothing is not waited for."""
        nodes = self._nodes
        with suppress(WeftError):  # what it cannot go on for is told already
            if nodes is None or nodes.node_stands().lost or any(nodes.held(each.number) for each in nodes.workers()):
                return
            nodes.resize(0)
            nodes.leave()

    def _others(self, nodes: NodesFrontier) -> bool:
        """Are there other nodes, be they silent?"""
        return any(each.number != nodes.node and each.left is None and each.lost is None for each in nodes.nodes())
