"""Between a worker and the global frontier. In: what a worker asks. Out: answers, unless the wire loses them.

A request may be lost before it is heard, or its answer after it was carried out; it may be carried out twice, as by a
driver that asks again; a worker may be cut off for a while. What never happens is that an old request is carried out
behind a newer one: each is a transaction, and the newer one waits for the row that the older one holds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.frontier.shared.contract import Begun, FrontierAwayError, Orders, Report, SharedFrontier

if TYPE_CHECKING:
    from tests.cluster.process import Process


class Wire:
    """How one machine reaches the global frontier."""

    def __init__(self, chance: random.Random, now: Callable[[], float], fired: Callable[[str], None]) -> None:
        self._chance = chance
        self._now = now
        self.fired = fired  # told of what was armed and has come to pass
        self.cut_until = 0.0
        self.armed: list[str] = []  # what becomes of the next exchanges

    def __repr__(self) -> str:
        return f"Wire(cut until {self.cut_until}, {self.armed})"

    def check(self) -> None:
        """Can anybody be heard?"""
        if self._now() < self.cut_until:
            raise _away()


class ProcessWire:
    """The global frontier as one process asks it."""

    def __init__(self, wire: Wire, shared: Callable[[], SharedFrontier], process: Process, lease: float) -> None:
        self._wire = wire
        self._shared = shared
        self._process = process
        self._lease = lease

    def begin(self, worker: int, lease: float = 0.0) -> Begun:
        """A worker starts."""
        self._wire.check()
        begun = self._shared().begin(worker, lease)
        self._process.lease_ends = self._process.now + self._lease
        return begun

    def touch(self, worker: int) -> None:
        """A worker lives."""
        self._wire.check()
        self._shared().touch(worker)

    def held(self, worker: int) -> set[str]:
        """The groups of a worker."""
        self._wire.check()
        return self._shared().held(worker)

    def exchange(self, report: Report) -> Orders:
        """One exchange; it is asked for when the report is made, which is a step before."""
        self._wire.check()
        what = self._wire.armed.pop(0) if self._wire.armed else ""
        if what:
            self._wire.fired(what)
        if what == "lost request":
            raise _away()
        self._process.said("asked", report)
        orders = self._shared().exchange(report)
        if what == "repeated":
            orders = self._shared().exchange(report)
        self._process.said("heard", report)
        if what == "lost answer":
            raise _away()
        self._process.answered_exchange()
        return orders

    def close(self) -> None:
        """Nothing is open."""


def _away() -> FrontierAwayError:
    return FrontierAwayError("the global frontier does not answer", where="the wire")
