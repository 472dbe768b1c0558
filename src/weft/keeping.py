"""Parcels of groups that are held: what a node's workers know goes to where all nodes reach it, every few minutes. In:
the log of a worker that runs. Out: a round of parcels in the database, as of a commit that no crash takes back.

A process beside the crawl reads the log, as one that makes a checkpoint does, and sends what changed since the last
round: neither the worker nor the watchdog waits for it. `python -m weft.keeping DIRECTORY NUMBER PARENT` is one round.
If the node is lost, others go on from there; what its worker fetched later is fetched again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.clock import Clock, SystemClock
from weft.engine.messages import Ear
from weft.engine.progress import Counts, Statistics
from weft.errors import WeftError
from weft.frontier.shared.contract import FrontierAwayError
from weft.frontier.shared.nodes import Keep
from weft.frontier.shared.opening import nodes_of, open_frontier
from weft.processes import die_with_parent

if TYPE_CHECKING:
    from weft.frontier.durable.parcels import Estate

_NICE = 5  # how much the crawl itself comes first
_TRIES = 10  # to read a log that grows


class Keeping:
    """Has rounds made for the workers of a node, one worker after the other."""

    def __init__(self, out: Path, clock: Clock, every: float, say: Callable[[str], None]) -> None:
        self._out = out
        self._clock = clock
        self._every = every
        self._say = say
        self._last: dict[int, float] = {}  # by worker: when its last round began
        self._process: subprocess.Popen[bytes] | None = None
        self._ear = Ear(None, say)

    def __repr__(self) -> str:
        return f"Keeping({self._out}, every {self._every} s)"

    def look(self, workers: range) -> None:
        """Begin the next round that is due, if none is under way."""
        if self._process is not None:
            self._ear.listen()
            if self._process.poll() is None:
                return
            self._ear.close()
            self._process = None
        now = self._clock.now()
        begun = {number: self._last.setdefault(number, now) for number in workers}
        due = [number for number, last in begun.items() if now - last >= self._every]
        if due:
            number = min(due, key=begun.__getitem__)
            self._last[number] = now
            command = [sys.executable, "-m", "weft.keeping", str(self._out), str(number), str(os.getpid())]
            self._process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
            )
            self._ear = Ear(self._process.stderr, self._say)

    def end(self) -> None:
        """Make no more rounds."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._ear.close()
            self._process = None


def keep(out: Path, number: int, clock: Clock) -> bool:
    """One round for a worker; False where there is nothing new, or it does not count."""
    log = out / "workers" / str(number) / "frontier.log"
    shared = open_frontier(out)
    try:
        nodes = nodes_of(shared)
        stood = next((each for each in shared.workers() if each.number == number), None)
        if nodes is None or stood is None or not log.exists():
            return False
        since = nodes.kept(number)
        estate = _read(log, applied=stood.applied, since=since)
        try:
            last = estate.last
            if last is None or last.number <= since:
                return False
            counts = msgspec.msgpack.decode(last.counts, type=Counts) if last.counts else Counts()
            round_of = Keep(
                worker=number,
                number=last.number,
                since=since,
                taken=last.taken,
                pages=counts.pages,
                statistics=msgspec.msgpack.encode(Statistics(counts=counts)),
                batches=estate.batches,
                parcels=estate.parcels(made_at=clock.wall(), changed_only=True),
            )
            return nodes.keep(round_of)
        finally:
            estate.close()
    finally:
        shared.close()


def _read(log: Path, *, applied: int, since: int) -> Estate:
    """What a worker that runs has on disk; one that writes just now looks as if a record of it were bad."""
    from weft.frontier.durable.parcels import Estate  # large, and most who load this room do not make a round

    for _ in range(_TRIES):
        try:
            return Estate.of_running(log, applied=applied, since=since)
        except WeftError as error:
            said = error
    raise said


def main(arguments: list[str]) -> int:
    """One round, in a process that ends with the one that started it."""
    out, number, parent = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    die_with_parent(parent)
    os.nice(_NICE)
    try:
        keep(out, number, SystemClock())
    except FrontierAwayError:
        return 0  # workers say it, and the next round has all of it
    except WeftError as error:
        print(f"parcels of worker {number} could not be kept: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
