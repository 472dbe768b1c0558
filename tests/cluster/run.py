"""One seed: a web, a crew of workers, a plan of faults; and whether every promise was kept. In: a seed. Out: a result
with what was broken, and a trace that is the same in every process.

The watchdog, what changes the number of workers and what hands over are the real ones, too: the watchdog looks every
quarter of a second of virtual time, as far as nobody killed it.
"""

from __future__ import annotations

import gc
import hashlib
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from tests.cluster import frontiers
from tests.cluster.clock import MachineClock, Time
from tests.cluster.disk import Disk
from tests.cluster.events import KilledError, Pool, Scheduler
from tests.cluster.invariants import check_end
from tests.cluster.process import Folding, Machine, Process, ScriptedParser
from tests.cluster.servers import PLACES, Servers
from tests.cluster.striking import Striking
from tests.cluster.web import WAIT, Web

from weft.app import _Crew
from weft.config import Running, Settings
from weft.directory import _check_of
from weft.engine.devices import Usage
from weft.engine.gate import Identity
from weft.engine.limits import Limits
from weft.engine.watchdog import Watchdog, Watching
from weft.errors import WeftError
from weft.frontier.local.bounds import Bound
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.frontier.shared import contract
from weft.frontier.shared.contract import ALL_AT_ONCE, SEEDS_FIRST, Batch, Left
from weft.frontier.shared.opening import create_frontier
from weft.frontier.shared.sqlite import SqliteFrontier
from weft.frontier.shared.sqlite_file import FILE
from weft.handover import hand_over
from weft.soundness import check_sound

MOST_STEPS = 40_000
LONGEST = 900.0  # seconds of virtual time
_LOOK = 0.25  # seconds between two looks of the watchdog
_USAGE = Usage(0.0, 0.0, 0.0, 0, 0)  # of the machine: what it really is would be asked for at every commit
OFFSETS = (0.0, 0.4, -0.4, 3.0, -3.0, 40.0, -40.0, 3600.0, -3600.0)  # seconds by which a wall clock is wrong
PHASES = 0.1
ORDERINGS = ("breadth-first", "breadth-first", "opic", "larger-sites-first")


@dataclass(slots=True)
class Result:
    """What came of a seed."""

    seed: int
    broken: list[str]
    trace: str  # the hash of it
    lines: list[str] = field(default_factory=list)  # of it, where they were asked for
    faults: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0  # of virtual time
    steps: int = 0
    requests: int = 0
    pages: int = 0
    sites: int = 0
    workers: int = 0
    checkpoints: int = 0


class WatchedShared(SqliteFrontier):
    """The global frontier, with somebody who writes down what is handed over."""

    run: Run

    def hand_over(self, worker: int, left: Left) -> list[str]:
        """Take back what a worker held."""
        ledger = self.run.machine(worker).ledger
        ledger.read_back(left.number)
        lost = super().hand_over(worker, left)
        ledger.handed_over()
        return lost


class Supervisor:
    """The process that watches workers and hands over: it may die, too."""

    lane: Any = None

    def __init__(self) -> None:
        self.syncs_left: int | None = None
        self.doomed = False

    def dies_at_sync(self) -> bool:
        """Is this the sync that it does not survive?"""
        if self.syncs_left is not None:
            self.syncs_left -= 1
            if self.syncs_left < 0:
                self.syncs_left = None
                return True
        return False


class Run:
    """Everything there is while one seed runs."""

    def __init__(self, seed: int, out: Path, *, keep: bool) -> None:
        self.seed = seed
        self.out = out
        self.chance = random.Random(f"run {seed}")
        self.time = Time()
        self.scheduler = Scheduler(self.time, self.chance)
        self.disk = Disk(self.scheduler)
        self.web = Web(random.Random(f"web {seed}"))
        names = random.Random(f"names {seed}")
        recheck = names.choice((0.0, 0.0, 20.0, 1000.0))  # in half of the runs names are asked for before visits
        if recheck:
            self.web.forget_names(names)
        # In a third of the runs groups go from worker to worker faster than a site's wait is over.
        pace = random.Random(f"pace {seed}").choice((1.0, 1.0, 0.25))
        self.settings = _settings(self.chance.choice(ORDERINGS), networks_of(seed), recheck, pace)
        self.servers = Servers(self.web, self.time, self.chance, self.settings.politeness, self.trace, self.broken)
        self.checkpoint_after = self.chance.choice((1 << 26, 1 << 26, 2_000, 6_000))
        # In a quarter of the runs workers know so little at a time that groups are put away and come back.
        self.bound = random.Random(f"bound {seed}").choice((None, None, None, Bound(40, 12)))
        self.result = Result(seed, [], "")
        self._hash = hashlib.sha256()
        self._keep = keep
        self._machines: dict[int, Machine] = {}
        self.clock = MachineClock(self.time, 0.0)  # of the machine that watches
        self.signs: dict[int, float] = {}
        self.checkpoints = 0
        self.last_words = ""
        self.supervisor = Supervisor()
        self.watchdog: Watchdog | None = None
        self.processes: dict[int, Process] = {}
        self.over = False
        self.again: Counter[str] = Counter()  # pages that were asked for again
        self.first = self.chance.randint(3, 4)
        self._clocks_differ = self.chance.random() < 0.5
        self.parser = ScriptedParser(self)
        self.striking = Striking(self)
        self._shared: WatchedShared | None = None

    def __repr__(self) -> str:
        return f"Run({self.seed}, {self.time.now - 1_000_000.0:.3f} s)"

    # What happens is written down.

    def trace(self, what: str) -> None:
        """Write down what happens."""
        line = f"{self.time.now - 1_000_000.0:.6f} {what}"
        self._hash.update(line.encode())
        if self._keep:
            self.result.lines.append(line)

    def broken(self, what: str) -> None:
        """A promise was broken."""
        self.trace(f"BROKEN: {what}")
        self.result.broken.append(f"at {self.time.now - 1_000_000.0:.3f} s: {what}")

    def fired(self, kind: str) -> None:
        """A fault has come to pass."""
        self.trace(f"fault: {kind}")
        self.result.faults[kind] += 1

    # Who there is.

    def shared(self) -> WatchedShared:
        """The global frontier."""
        assert self._shared is not None
        return self._shared

    def machine(self, number: int) -> Machine:
        """The machine of a worker."""
        if number not in self._machines:
            offset = self.chance.choice(OFFSETS) if self._clocks_differ else 0.0
            self._machines[number] = Machine(self, number, MachineClock(self.time, offset))
        return self._machines[number]

    def start(self, number: int) -> Any:
        """Start a worker, as the watchdog does it."""
        process = self.processes[number] = Process(self, self.machine(number))
        self.trace(f"{process} starts")
        return process

    def killed(self, process: Process, *, power: bool) -> None:
        """A process is gone."""
        ledger = process.machine.ledger
        self.servers.died(process, ledger.durable(), pauses=power)

    def ended(self, process: Process) -> None:
        """A process has ended by itself."""
        self.servers.died(process, 1e18, pauses=False)

    # The run as a whole.

    def begin(self, workers: int) -> None:
        """What `weft crawl` does before it watches."""
        shared = self.shared()
        check_sound(self.out, shared)
        shared.prepare(workers, contract.Limits(), watched=True)
        self._as_supervisor(lambda: hand_over(self.out, shared, workers, self.settings, self.clock))
        messages: Any = SimpleNamespace(say=lambda text: self.trace(f"weft: {text}"), pass_on=self.trace)
        plan: Any = SimpleNamespace(out=self.out, settings=self.settings)
        self.watchdog = Watchdog(
            workers,
            start=self.start,
            signs=lambda: self.signs,
            settings=self.settings.watching,
            clock=self.clock,
            messages=messages,
            on_restart=shared.note_restart,
            is_over=lambda: bool(shared.state().over),
            crew=_Crew(plan, shared, self.clock, messages),
        )

    def _as_supervisor(self, do: Callable[[], object]) -> None:
        supervisor: Any = self.supervisor
        before, self.scheduler.current = self.scheduler.current, supervisor
        try:
            do()
        finally:
            self.scheduler.current = before

    def _look(self) -> None:
        """The watchdog looks."""
        if self.watchdog is None:
            return
        try:
            self._as_supervisor(self.watchdog._look)
        except KilledError:
            self.fired("hand-over killed")
            self.crash(1.0)
            return
        except WeftError as error:
            self.broken(f"the watchdog gives up: {error}; {self.last_words}")
            self.over = True
            return
        if self.watchdog._ended():
            self.over = True
            return
        self.scheduler.at(self.time.now + _LOOK, self._look)

    def crash(self, pause: float) -> None:
        """The watchdog dies, its workers with it; somebody gives the same command again."""
        self.watchdog = None
        self.trace("everything is killed")
        for process in self.processes.values():
            process.kill()
        self.scheduler.at(self.time.now + pause, self._begin_again)

    def _begin_again(self) -> None:
        state = self.shared().state()  # be it over: whoever was killed in its last moments has not put everything away
        try:
            self.begin(max(1, state.wanted))
        except KilledError:
            self.crash(1.0)
        except WeftError as error:
            self.broken(f"the crawl cannot go on: {error}")
            self.over = True
        else:
            self.scheduler.at(self.time.now + _LOOK, self._look)

    def run(self) -> Result:
        """Let the seed happen."""
        (self.out / "hash.key").write_text(_key(self.seed), encoding="ascii")
        by_size = self.settings.running.ordering == "larger-sites-first"
        # In a tenth of the runs the domains of the seeds come first.
        phase = SEEDS_FIRST if random.Random(f"phases {self.seed}").random() < PHASES else ALL_AT_ONCE
        create_frontier(self.out, by_size=by_size, seeds=self.web.seeds, phase=phase)
        with self._simulated():
            self._shared = WatchedShared(self.out / FILE, self.clock)
            self._shared.run = self
            for pragma in ("synchronous = off", "locking_mode = exclusive"):  # nobody else opens it, or loses its power
                self._shared._file.base.execute(f"pragma {pragma}")
            self.begin(self.first)
            self.scheduler.at(self.time.now + _LOOK, self._look)
            self.striking.plan()
            until = self.time.now + LONGEST
            try:
                while not self.over and self.scheduler.step():
                    if self.scheduler.steps > MOST_STEPS or self.time.now > until:
                        self.broken(f"the crawl does not end: {self._standing()}")
                        break
            finally:
                for process in self.processes.values():
                    process.kill()
                self.scheduler.run_as(None)
            check_end(self)
            self._shared.close()
        return self._summed_up()

    def _summed_up(self) -> Result:
        result = self.result
        result.trace = self._hash.hexdigest()
        result.seconds = self.time.now - 1_000_000.0
        result.steps, result.requests = self.scheduler.steps, self.servers.requests
        result.pages, result.sites, result.workers = len(self.web.pages), len(self.web.sites), self.first
        result.checkpoints = self.checkpoints
        return result

    def _standing(self) -> str:
        return "; ".join(f"{process} {process.frontier}" for process in self.processes.values() if process.alive)

    @contextmanager
    def _simulated(self) -> Iterator[None]:
        Pool.scheduler = self.scheduler
        with ExitStack() as changed:
            for each in frontiers.in_simulation(Folding(self)):
                changed.enter_context(each)
            changed.enter_context(patch("weft.engine.worker.ThreadPoolExecutor", Pool))
            changed.enter_context(patch("weft.engine.worker._ended", _ended))
            changed.enter_context(patch("weft.engine.worker._LOOK", 0.2))
            changed.enter_context(patch("weft.engine.worker.resident", lambda: 0))
            changed.enter_context(patch("weft.engine.devices._usage", lambda: _USAGE))
            for where in ("sqlite_exchange", "sqlite_handover"):
                changed.enter_context(patch(f"weft.frontier.shared.{where}.apply_batch", self._applying(where)))
            changed.enter_context(self.disk.watched())
            yield

    def _applying(self, where: str) -> Callable[[Any, int, Batch], None]:
        """Applies a batch, and writes down that it was."""
        from weft.frontier.shared import sqlite_groups

        def apply(base: Any, worker: int, batch: Batch) -> None:
            self.machine(worker).ledger.apply(batch)
            sqlite_groups.apply_batch(base, worker, batch)
            if batch.moved:
                self.striking.moved(worker)

        del where
        return apply


async def _ended(tasks: list[Any]) -> None:
    """What `weft.engine.worker` waits for, unless the process is being dropped."""
    import asyncio

    lane: Any = asyncio.get_running_loop()
    if not lane.dead:
        await asyncio.wait(tasks)


def _key(seed: int) -> str:
    secret = seed.to_bytes(16, "little")
    return f"{secret.hex()} {_check_of(secret)}\n"


def networks_of(seed: int) -> dict[str, Any]:
    """The limits of networks that a seed has: none, mostly."""
    chance = random.Random(f"networks {seed}")
    if chance.random() < 0.7:
        return {}
    return {"per_network": chance.choice((1, 2, 3, None)), "network_gap": chance.choice((0.0, 0.2, 0.5, 1.5))}


def _settings(ordering: str, networks: dict[str, Any], recheck: float, pace: float) -> Settings:
    return Settings(
        identity=Identity(contact="mailto:me@example.org", allow_address=("198.18.0.0/15",)),
        selection=Selection(scope="all", max_depth=1000),
        politeness=Politeness(wait=WAIT, per_visit=5, connections=5, per_domain=PLACES, per_address=PLACES, **networks),
        retries=Retries(retry_pauses=(0.5, 1.5), name_recheck=recheck),
        limits=Limits(grace=2.0, commit_every=pace),
        watching=Watching(hung_after=8.0, most_restarts=30),
        running=Running(ordering=ordering),
    )


def run_seed(seed: int, *, keep: bool = False) -> Result:
    """Run one seed in a directory of its own."""
    place = Path("/dev/shm")  # noqa: S108  a directory of our own is made there
    out = Path(tempfile.mkdtemp(prefix="weft-cluster-", dir=place if place.is_dir() else None))
    gc.disable()  # it would look at all that numba has, over and over
    try:
        return Run(seed, out, keep=keep).run()
    finally:
        shutil.rmtree(out, ignore_errors=True)
        gc.collect()  # frontiers are large, and know each other
        gc.freeze()  # what is left is left for good: the next look is short
        gc.enable()
