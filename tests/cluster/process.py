"""Machines, and the processes on them. In: a worker's number. Out: a worker that runs as it does in a process of its
own: `Worker`, `Loop` and everything below them are the real ones.

What `weft.work` wires is wired here with a scripted web, a store of lines, a wire that loses things and threads that
are steps. A process ends by itself, or is killed: then nothing of it runs any more, not even what Python would run when
a coroutine is dropped.
"""

from __future__ import annotations

import asyncio
import random
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.cluster import frontiers
from tests.cluster.clock import MachineClock
from tests.cluster.events import KilledError, Lane
from tests.cluster.ledger import WorkerLedger
from tests.cluster.servers import ScriptedNames, ScriptedTransport
from tests.cluster.store import LineStore
from tests.cluster.wire import ProcessWire, Wire

from weft.directory import secret_of
from weft.engine.asker import Asker
from weft.engine.gate import Gate
from weft.engine.marker import Marker
from weft.engine.network import LiveNetwork
from weft.engine.wires import Wires
from weft.engine.worker import Worker
from weft.errors import WeftError
from weft.events import Bus, Event, Fault
from weft.frontier.durable.checkpoint import fold
from weft.frontier.shared.contract import FrontierAwayError
from weft.parse.options import Reading
from weft.parse.page import Parser

if TYPE_CHECKING:
    from tests.cluster.run import Run

LEASE = 4.0  # seconds; half of what a worker may be silent for


class Machine:
    """Where one worker runs, however often it is started again."""

    def __init__(self, run: Run, number: int, clock: MachineClock) -> None:
        self.number = number
        self.clock = clock
        self.wire = Wire(run.chance, lambda: run.time.now, run.fired)
        self.ledger = WorkerLedger(number, run.broken)
        self.slow_until = 0.0  # true time: until then the disk takes seconds for a commit
        self.lies_when_moved = False  # its disk loses commits when it has given groups away
        self.processes = 0
        self.next_armed = ("", "")  # at which moment the next process is killed, and by which kind of fault

    def __repr__(self) -> str:
        return f"Machine({self.number})"


class ScriptedParser(Parser):
    """Knows the links of every page."""

    def __init__(self, run: Run) -> None:
        super().__init__(Reading(), "weft")
        self._web = run.web

    def parse(self, page: Any, kind: int) -> Any:
        """The links of the script."""
        del kind
        from weft.model import Kind, Parsed

        links = [(url, int(Kind.A)) for url in self._web.pages[page.url].links]
        return Parsed("text/html", "utf-8", "", "", page.url, links, [], follow=True, reason=None)


class Process:
    """One life of a worker, as a watchdog sees it: it can be asked whether it has ended, told to stop, and killed."""

    stderr = None
    pid = 0

    def __init__(self, run: Run, machine: Machine) -> None:
        self._run = run
        self.machine = machine
        machine.processes += 1
        self.name = f"w{machine.number}.{machine.processes}"
        self.lane = Lane(run.scheduler, machine.clock, self)
        self.lane.apart = self._apart
        self.handlers: dict[int, tuple[Callable[..., object], tuple[Any, ...]]] = {}
        self.doomed = False  # it is killed when the step that runs is over
        self._armed, self._armed_for = machine.next_armed  # it is killed at the next moment of this kind
        machine.next_armed = ("", "")
        self._syncs_left = 0  # or by a sync: so many from now on
        self.gone = False
        self.code: int | None = None
        self.lease_ends = 0.0
        self._asked_at = 0.0
        self.frontier: frontiers.WatchedFrontier | None = None
        self._store: LineStore | None = None
        self._marker: Marker | None = None
        machine.clock.most_offset = machine.clock.offset
        self.lane.create_task(self._live(), name="life")

    def __repr__(self) -> str:
        return self.name

    @property
    def now(self) -> float:
        """The true time."""
        return self._run.time.now

    @property
    def alive(self) -> bool:
        """Does it run?"""
        return self.code is None

    # As a watchdog sees it.

    def poll(self) -> int | None:
        """Its exit code, when it has ended."""
        return self.code

    def wait(self) -> None:
        """It has ended when it is killed."""

    def send_signal(self, number: int) -> None:
        """Tell it to stop."""
        if self.alive and number in self.handlers:
            callback, arguments = self.handlers[number]
            self.lane.call_soon(callback, *arguments)
        elif self.alive:
            self.kill(code=-number)

    def kill(self, *, power: bool = False, code: int = -signal.SIGKILL) -> None:
        """End it where it stands; with its machine where the power fails."""
        if not self.alive:
            return
        run = self._run
        self.gone, self.code = True, code
        run.trace(f"{self} {'loses its power' if power else 'is killed'}")
        tasks = self.lane.tasks
        self.lane.die()
        if self.frontier is not None:
            frontiers.abandon(self.frontier)
        if self._store is not None:
            self._store.abandon()
        run.killed(self, power=power)
        self._drop(tasks)
        self.frontier = self._store = self._marker = None

    def _drop(self, tasks: list[asyncio.Task[Any]]) -> None:
        """Let nothing of it run any more: what its coroutines do when they end changes nothing by now."""
        self._run.scheduler.run_as(self.lane.loop)
        try:
            for task in reversed(tasks):
                task._log_destroy_pending = False
                if not task.done():
                    coroutine: Any = task.get_coro()
                    try:
                        coroutine.throw(KilledError())
                    except (KilledError, StopIteration):
                        continue
                    self._run.broken(f"{task} lives on when its process is killed")
        finally:
            self._run.scheduler.run_as(None)

    # Dying at a moment of its own.

    def arm(self, kind: str, moment: str, syncs: int) -> None:
        """Kill it at the next moment of a kind, or by its n-th sync. Who is to die when it has recovered dies twice."""
        self._armed, self._armed_for, self._syncs_left = moment or "sync", kind, syncs
        if moment == "recovered":
            self.machine.next_armed = (moment, kind)
            self.kill()

    def _moment(self, what: str) -> None:
        if self._armed == what:
            self._armed, self.doomed = "", True
            self._run.fired(self._armed_for)
            self._run.trace(f"{self} has come to the moment {what}")

    def dies_at_sync(self) -> bool:
        """Is this the sync that it does not survive? Asked before each and behind it."""
        if self._armed == "sync":
            self._syncs_left -= 1
            if self._syncs_left < 0:
                self._armed, self.doomed = "", True
                self._run.fired(self._armed_for)
                return True
        return False

    def said(self, what: str, value: Any) -> None:
        """Something happened between it and the global frontier."""
        if what == "asked":
            self.machine.ledger.asked(value)
        elif what == "heard":
            self._run.trace(f"{self} is heard: commit {value.number}, message {value.taken}")
        self._moment(what)

    def answered_exchange(self) -> None:
        """An exchange is answered."""
        self.lease_ends = max(self.lease_ends, self._asked_at + LEASE)

    def tell(self, what: str, value: Any) -> None:
        """Its frontier tells what it does."""
        if self.gone:
            return
        self.machine.ledger.tell(what, value, self.now)
        if what in ("packed", "recovered"):
            self._run.trace(f"{self} {what} {value if what == 'packed' else value[0]}")
        if what == "written":
            self._run.signs[self.machine.number] = self.now
        self._moment(what)

    # Its life.

    def _apart(self, name: str) -> tuple[float, float]:
        """How long a thread takes: until what it does is done, and until that is heard of."""
        chance = self._run.chance
        if name == "exchange":
            self._asked_at = self.now + self.machine.clock.spent  # as the worker reckons it
            longest = 0.1 if self.now >= self.machine.slow_until else 0.8  # so that it ends while a commit is written
            return chance.uniform(0.001, longest), chance.uniform(0.001, longest)
        slow = chance.uniform(1.0, 4.0) if self.now < self.machine.slow_until else 1.0
        if name == "commit":
            return slow * chance.uniform(0.001, 0.05) * (20 if slow > 1 else 1), slow * chance.uniform(0.001, 0.02)
        return slow * chance.uniform(0.001, 0.02), 0.001

    async def _live(self) -> None:
        """What `weft.work` does."""
        run = self._run
        try:
            await asyncio.sleep(run.chance.uniform(0.02, 0.1))
            why = await self._work()
        except WeftError as error:
            run.trace(f"{self} says: {error}")
            run.last_words = f"{self}: {error}"
            self._end(1)
        except Exception:  # noqa: BLE001  as `weft.work` does
            run.broken(f"{self} failed inside: {traceback.format_exc()}")
            self._end(70)
        else:
            run.trace(f"{self} ends: {why}")
            self._end(0)

    async def _work(self) -> str:
        run, clock, number = self._run, self.machine.clock, self.machine.number
        wire = ProcessWire(self.machine.wire, run.shared, self, LEASE)
        own = run.out / "workers" / str(number)
        own.mkdir(parents=True, exist_ok=True)
        while True:
            begun_at = clock.elapsed()
            try:
                begun = wire.begin(number, LEASE)
                break
            except FrontierAwayError:
                run.signs[number] = self.now
                await asyncio.sleep(1.0)
        settings = run.settings
        store = self._store = LineStore(run.out, number)
        frontier = self.frontier = frontiers.open_frontier(
            own / "frontier.log", settings, clock, secret_of(run.out), run.checkpoint_after, run.bound, self.tell
        )
        bus = Bus()
        bus.subscribe(self._on_fault, Fault)
        _, progress = frontiers.take_up(frontier, begun, wire, number, run.out, store, clock)
        bus.subscribe(progress.on_event)
        marker = self._marker = Marker(own / "reading")
        chance = random.Random(f"{run.seed} {self}")
        transport: Any = ScriptedTransport(run.servers, self, run.chance)
        names: Any = ScriptedNames(run.web, self, run.chance)
        lines: Any = store
        apart: Any = None
        wires = Wires(
            clock=clock,
            network=LiveNetwork(transport, names, settings.fetching, chance, clock),
            frontier=frontier,
            parser=run.parser,
            apart=apart,
            marker=marker,
            store=lines,
            asker=Asker("weft", frontier.scope.wanted, max_bytes=10**6, encodings=""),
            gate=Gate(settings.identity, ()),
            bus=bus,
            progress=progress,
            politeness=settings.politeness,
            application=None,
            verify_tls=False,
        )
        worker = Worker(
            number,
            wires,
            progress,
            settings.limits,
            wire,
            sync=True,
            lease=LEASE,
            begun_at=begun_at,
            beat=self._beat,
            say=lambda text: run.trace(f"{self} says: {text}"),
        )
        await worker.run(lambda _statistics: None)
        frontiers.close(frontier)
        marker.close()
        return worker.why

    def _beat(self) -> None:
        self._run.signs[self.machine.number] = self.now

    def _end(self, code: int) -> None:
        """It has ended by itself."""
        if code and self.frontier is not None:
            frontiers.abandon(self.frontier)
        if code and self._store is not None:
            self._store.abandon()
        self.code, self.gone = code, True
        self.lane.die()
        self._run.ended(self)

    def _on_fault(self, event: Event) -> None:
        assert isinstance(event, Fault)
        said = "".join(traceback.format_exception(event.error))
        self._run.broken(f"{self} reports a fault in {event.where}: {said}")

    def failed(self, error: BaseException) -> None:
        """Something was raised that nobody caught."""
        self._run.broken(f"{self} raised: {''.join(traceback.format_exception(error))}")


class Folding:
    """Stands for the module `subprocess` where checkpoints are made: the process beside a worker is a step of it."""

    DEVNULL = PIPE = -1

    def __init__(self, run: Run) -> None:
        self._run = run

    def Popen(self, command: list[str], **_more: Any) -> FoldingProcess:  # noqa: N802  as it is called there
        """Begin to make a checkpoint."""
        ready = self._run.time.now + self._run.chance.uniform(0.0, 2.0)
        return FoldingProcess(self._run, Path(command[3]), int(command[4]), ready)


class FoldingProcess:
    """A process that makes a checkpoint; it is there when somebody asks and its time has come."""

    stdout = None

    def __init__(self, run: Run, log: Path, applied: int, ready: float) -> None:
        self._run = run
        self._log = log
        self._applied = applied
        self._ready = ready
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Is it done?"""
        if self.returncode is None and self._run.time.now >= self._ready:
            made = fold(self._log, applied=self._applied)
            self.returncode = 3 if made is None else 0
            self._run.trace(f"checkpoint {made} of {self._log.parent.name}")
            self._run.checkpoints += made is not None
        return self.returncode

    def kill(self) -> None:
        """It ends with its worker."""

    def wait(self) -> None:
        """It has."""
