"""The process in which a target runs, with limits. In: a target, an engine and how long. Out: how many inputs it was
given; or an end that tells which of them it failed on, and how.

Compiled code checks its bounds here (NUMBA_BOUNDSCHECK), which `watching` sees to; that it does is tried first. Each
input stands in a file that others can read before it is tried, so that nothing is lost when the process ends. An input
may take so much processor time: behind that the system ends the process by a signal, also inside of compiled code.
"""

from __future__ import annotations

import argparse
import faulthandler
import mmap
import os
import random
import signal
import struct
import sys
import time
import traceback
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.fuzz.target import Target, load

SLOW = 2.0  # seconds of processor time that an input may take, at the third try too
_HEAD = struct.Struct("=qq")  # inputs so far, and the length of this one
_ROOM = 64 * 1024 * 1024
_MB = 1024  # in kilobytes


class Failure(Exception):  # noqa: N818  it is found on purpose
    """An input breaks a limit."""


class Guard:
    """Gives inputs to a target, one after the other, within limits."""

    def __init__(self, target: Target, state: Path, most_cpu: float, most_memory: int) -> None:
        self._target = target
        self._most_cpu = most_cpu
        self._slow = min(SLOW, most_cpu)
        self._most_memory = most_memory
        with state.open("r+b") as file:
            file.truncate(_ROOM)
            self._state = mmap.mmap(file.fileno(), _ROOM)
        self._taken = _memory()
        self.tried = 0
        self.failing: bytes | None = None  # the shortest so far

    def __call__(self, data: bytes) -> None:
        """Try one; what goes wrong with it is raised."""
        self.tried += 1
        _HEAD.pack_into(self._state, 0, self.tried, len(data))
        self._state[_HEAD.size : _HEAD.size + len(data)] = data
        try:
            self._check(data)
        except Exception:
            if self.failing is None or len(data) < len(self.failing):
                self.failing = data
            raise

    def _check(self, data: bytes) -> None:
        taken = self._timed(data)
        if taken > self._slow:
            taken = min(taken, self._timed(data), self._timed(data))
            if taken > self._slow:
                raise Failure(f"it takes {taken:.1f} s of processor time for {len(data):,} bytes")
        if _memory() - self._taken > self._most_memory * _MB:
            raise Failure(f"the process has grown by more than {self._most_memory} MB")

    def last(self) -> bytes:
        """The input that was tried last, also by a process that came from this one."""
        self.tried, length = _HEAD.unpack_from(self._state, 0)
        return self._state[_HEAD.size : _HEAD.size + length]

    def _timed(self, data: bytes) -> float:
        signal.setitimer(signal.ITIMER_PROF, self._most_cpu)
        began = time.thread_time()
        try:
            self._target.check(data)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return time.thread_time() - began


def last_input(state: Path) -> tuple[int, bytes]:
    """How many inputs a process was given, and the last of them."""
    with state.open("rb") as file:
        tried, length = _HEAD.unpack(file.read(_HEAD.size) or bytes(_HEAD.size))
        return tried, file.read(length)


def _memory() -> int:
    """Kilobytes of memory that this process had at most; what `getrusage` says begins with that of its parent."""
    said = Path("/proc/self/status").read_bytes()
    return int(said[said.index(b"VmHWM:") + 6 :].split(None, 1)[0])


def check_that_bounds_are_checked() -> None:
    """Compiled code that reads behind an array must say so here."""
    from weft.compiled import uncounted

    def behind(array: NDArray[np.uint8], at: int) -> int:
        return int(array[at])

    try:
        uncounted(behind)(np.zeros(3, np.uint8), 7)
    except IndexError:
        return
    raise Failure("compiled code does not check its bounds: NUMBA_BOUNDSCHECK")


def main() -> int:
    """Run what is asked for, and say what came of it."""
    parser = argparse.ArgumentParser()
    for name in ("target", "engine", "state", "failing", "data"):
        parser.add_argument(name)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--inputs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most-cpu", type=float, default=30.0)
    parser.add_argument("--memory", type=int)
    given = parser.parse_args()
    from tests.fuzz.engines import ENGINES, instrumented

    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    check_that_bounds_are_checked()
    with instrumented(given.engine):
        target = load(given.target)
    corpus = [*target.own, *target.real(Path(given.data))]
    target.check(b"")  # what is loaded once is loaded
    guard = Guard(target, Path(given.state), given.most_cpu, given.memory or target.memory)
    print(f"{len(corpus)} inputs to begin with, {len(corpus) - len(target.own)} of them real", flush=True)  # noqa: T201
    try:
        run = ENGINES[given.engine]
        run(target, guard, corpus, seconds=given.seconds, inputs=given.inputs, chance=random.Random(given.seed))
    except BaseException:  # noqa: BLE001  whatever it is, it is told with its input
        traceback.print_exc()
        if guard.failing is not None:
            Path(given.failing).write_bytes(guard.failing)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)  # a fuzzer may have hooks of its own
    return 0


if __name__ == "__main__":
    sys.exit(main())
