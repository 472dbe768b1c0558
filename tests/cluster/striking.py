"""Faults as they happen. In: a plan. Out: processes that are killed, wires that lose things, clocks that are set."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.cluster import faults as plan_of
from tests.cluster.disk import files_of
from tests.cluster.faults import Fault
from tests.cluster.process import Process
from tests.cluster.store import lines_of

from weft.errors import WeftError
from weft.store.files import owner_of

if TYPE_CHECKING:
    from tests.cluster.run import Run

_MOST = 5  # workers


class Striking:
    """Has the faults of one run happen."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __repr__(self) -> str:
        return f"Striking({self._run})"

    def plan(self) -> None:
        """Draw what happens, and when."""
        run = self._run
        for fault in plan_of.draw(run.chance, run.first):
            run.scheduler.at(run.time.now + fault.at, partial(self.happens, fault))
        run.scheduler.at(run.time.now + run.chance.uniform(3.0, 7.0), self.ask_again)
        run.scheduler.at(run.time.now + 7.5, self.top_up)

    def ask_again(self) -> None:
        """The operator wants some pages again that were stored long ago: once more, and no more."""
        if self._run.over or self._run.watchdog is None or self._run.shared().state().over:
            return
        settled = self._settled()
        chosen = self._run.chance.sample(settled, min(3, len(settled)))
        self._run.trace(f"the operator wants again: {chosen}")
        self._run.again.update(chosen)
        self._run.shared().add(chosen, set(chosen))

    def _settled(self) -> list[str]:
        """Pages whose lines cannot be lost any more: their volumes are sealed."""
        must, _ = self._run.web.closure()
        return sorted({line.url for line in lines_of(self._run.out) if line.stored and line.url in must})

    def happens(self, fault: Fault) -> None:
        """A fault happens, or is tried again soon."""
        if self._run.over:
            return
        try:
            done = self._strike(fault)
        except WeftError as error:
            self._run.broken(f"{fault.kind}: {error}")
            return
        if not done:
            self._run.scheduler.at(self._run.time.now + 0.3, partial(self.happens, fault))

    def top_up(self) -> None:
        """Some faults find nobody, or wait for a moment that does not come: others make up for them."""
        fired = self._run.result.faults
        if self._run.over or (fired.total() >= plan_of.LEAST and len(fired) >= plan_of.LEAST_KINDS):
            return
        kind = next(kind for kind in plan_of.ALWAYS if not fired[kind] or fired.total() >= len(plan_of.ALWAYS))
        self.happens(Fault(0.0, kind, self._run.chance.randrange(self._run.first), amount=1.0))
        self._run.scheduler.at(self._run.time.now + 0.8, self.top_up)

    def _strike(self, fault: Fault) -> bool:
        """Do what a fault does; False where it finds nobody."""
        kind = fault.kind
        if self._run.watchdog is None:
            return False
        if kind in ("crash", "fewer workers", "more workers", "hand-over killed"):
            return self._strike_all(fault)
        able = [each for each in self._run.processes.values() if each.alive and each.frontier is not None]
        if not able:
            return False
        process = next((each for each in able if each.machine.number == fault.worker), able[0])
        machine = process.machine
        if self._waits(fault, process):
            return True  # it counts when it comes to pass
        self._run.fired(kind)
        self._run.trace(f"{kind} {process} {fault.amount:.3f}")
        if kind == "kill":
            process.kill()
        elif kind in ("power", "lying disk"):
            self._lose_power(process, lying=kind == "lying disk")
        elif kind == "cut off":
            machine.wire.cut_until = self._run.time.now + fault.amount
        elif kind == "wall clock":
            machine.clock.set_wall(fault.amount)
        elif kind == "slow disk":
            machine.slow_until = self._run.time.now + fault.amount
        elif kind == "slow processor":
            machine.clock.cost = 0.001
            self._run.scheduler.at(self._run.time.now + fault.amount, partial(setattr, machine.clock, "cost", 0.0))
        else:
            if kind == "sleep":
                machine.clock.slept += fault.amount
            process.lane.freeze(self._run.time.now + fault.amount)
        return True

    @staticmethod
    def _waits(fault: Fault, process: Process) -> bool:
        """Does a fault wait for a moment of its own? It is armed then."""
        if fault.kind in ("lost request", "lost answer", "repeated"):
            process.machine.wire.armed += [fault.kind] * int(fault.amount)
        elif fault.kind in ("kill at a moment", "kill by a sync"):
            process.arm(fault.kind, fault.how, int(fault.amount))
        elif fault.how == "moved":
            process.machine.lies_when_moved = True
        else:
            return False
        return True

    def _strike_all(self, fault: Fault) -> bool:
        kind, shared = fault.kind, self._run.shared()
        assert self._run.watchdog is not None
        if kind == "crash":
            self._run.fired(kind)
            self._run.crash(fault.amount)
            return True
        if self._run.watchdog._change is not None or shared.state().over:
            return False
        workers = shared.state().wanted
        fewer = kind == "fewer workers" or (kind == "hand-over killed" and fault.worker % 2 == 0)
        wanted = workers - 1 if (fewer and workers > 1) or workers >= _MOST else workers + 1
        if kind == "hand-over killed":
            self._run.supervisor.syncs_left = int(fault.amount)
        else:
            self._run.fired(kind)
        shared.want_workers(wanted)
        return True

    def moved(self, number: int) -> None:
        """A worker has given groups away, and that was heard of: its disk may lose the commit that says so."""
        run, machine = self._run, self._run.machine(number)
        if machine.lies_when_moved:
            machine.lies_when_moved = False
            fault = Fault(0.0, "lying disk", number)
            run.scheduler.at(run.time.now + run.chance.uniform(0.0, 0.8), partial(self.happens, fault))

    def _lose_power(self, process: Process, *, lying: bool) -> None:
        machine = process.machine
        process.kill(power=True)
        log = self._run.out / "workers" / str(machine.number) / "frontier.log"
        said = self._run.disk.lose_power(files_of(self._run.out, machine.number, owner_of), self._run.chance)
        if lying and log.exists() and machine.ledger.may_lose():
            machine.ledger.lost()
            said.append(self._run.disk.lose_synced(log, machine.ledger.ends, self._run.chance))
            self._run.servers.died(process, machine.ledger.durable(lost=2), pauses=True)
        self._run.trace(f"{machine}: {', '.join(said)}")
        machine.clock.boot()
