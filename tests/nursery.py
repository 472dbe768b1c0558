"""Workers that start at once, for tests whose point is not how a process starts: `python -m tests.nursery` loads what a
worker needs, and forks. Loading takes more than a second of a core, and a worker of a small web works for less.

In: the command of a worker, as the watchdog gives it. Out: a process like any other, with the same arguments, its own
session and its own standard error. It ends with the nursery, which ends with the tests.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import IO, Any
from unittest import mock

from weft import app
from weft.processes import die_with_parent

_LONGEST = 1 << 16  # bytes of a request


class Nursed:
    """A worker from the nursery, in the words of `subprocess.Popen`."""

    def __init__(self, pid: int, ended: int, stderr: IO[bytes] | None) -> None:
        self.pid = pid
        self.stderr = stderr
        self.returncode: int | None = None
        self._ended = ended  # a pipe from which the exit code is read

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        return self._look(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended."""
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill -9."""
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
            self.returncode = int(os.read(self._ended, 20) or b"-9")
            os.close(self._ended)
        return self.returncode


class Nursery:
    """The process that forks."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "tests.nursery", str(theirs.fileno()), str(os.getpid())]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])

    def popen(self, command: list[str], *, stderr: int | None = None, **_usual: Any) -> Nursed:
        """Start `python -m MODULE ARGUMENTS`."""
        assert command[1] == "-m", command
        heard, said = os.pipe() if stderr == subprocess.PIPE else (None, os.dup(2))
        ended, ends = os.pipe()
        socket.send_fds(self._socket, [json.dumps(command[2:]).encode()], [said, ends])
        os.close(said)
        os.close(ends)
        pid = int(self._socket.recv(_LONGEST))
        return Nursed(pid, ended, None if heard is None else os.fdopen(heard, "rb"))


@cache
def nursery() -> Nursery:
    """The nursery of this process."""
    return Nursery()


@contextmanager
def quick_workers() -> Iterator[None]:
    """Crawls that are run in this block have their workers from the nursery."""
    starting = SimpleNamespace(Popen=nursery().popen, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
    with mock.patch.object(app, "subprocess", starting):
        yield


def main(wishes: socket.socket) -> Callable[[], int]:
    """Fork what is asked for until nobody is there to ask; returns in each child, with what it is to do."""
    ends: dict[int, tuple[int, int]] = {}  # by what can be waited for: the process, and the pipe for its exit code
    while True:
        waited: list[Any] = [wishes, *ends]
        ready: list[Any] = select.select(waited, [], [])[0]
        for handle in ready:
            if handle is not wishes:
                pid, end = ends.pop(handle)
                os.write(end, str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
                os.close(end)
                os.close(handle)
                continue
            wish, given, _, _ = socket.recv_fds(wishes, _LONGEST, 2)
            if not wish:
                return lambda: 0
            there, comes = os.pipe()
            pid = os.fork()
            if not pid:
                os.setsid()
                os.dup2(given[0], 2)
                for each in (there, comes, *given, *ends, *(end for _, end in ends.values())):
                    os.close(each)
                wishes.close()
                return lambda: _work(*json.loads(wish))
            os.close(comes)
            os.read(there, 1)  # until it has a session of its own: whoever is told its number may stop it at once
            os.close(there)
            os.close(given[0])
            ends[os.pidfd_open(pid)] = (pid, given[1])
            wishes.send(str(pid).encode())


def _work(module: str, *arguments: str) -> int:
    """Be the worker; the parent that it ends with is the nursery."""
    *rest, out, number, _parent = arguments
    if module == "tests.doomed":
        doom(rest[0], int(rest[1]), rest[2])
    return work.main([out, number, str(os.getppid())])


if __name__ == "__main__":
    from tests.doomed import doom

    from weft import work
    from weft.warming import warm_crawl

    die_with_parent(int(sys.argv[2]))
    warm_crawl()
    gc.collect()
    gc.freeze()
    try:
        code = main(socket.socket(fileno=int(sys.argv[1])))()
    except Exception:  # noqa: BLE001  as Python does it
        traceback.print_exc()
        code = 1
    sys.exit(code)
