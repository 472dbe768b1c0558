"""Processes that start at once, for tests whose point is not how they start: `python -m tests.nursery` loads what a
worker, a crawl or a testbed needs, and forks. Loading takes more than a second of a core, and a worker of a small web
works for less.

In: the command of a worker, as the watchdog gives it, that of a testbed, or `weft` and its arguments. Out: a process
like any other, with the same arguments, its own session, its own input and output. It ends with the nursery, which ends
with the tests. A command has a nursery of its own for its workers, which ends with the command, as its workers do.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any
from unittest import mock

from weft import app
from weft.processes import die_with_parent
from weft.testbed import bed

_LONGEST = 1 << 16  # bytes of a request
_NAME = 15  # Linux's number for "call me this"
NURSERY, WORKER = "weft.nursery", "weft.work"  # what processes are called that have no command line of their own


class Nursed:
    """A process from the nursery, in the words of `subprocess.Popen`."""

    def __init__(
        self,
        pid: int,
        ended: int,
        *,
        stdin: IO[bytes] | None = None,
        stdout: IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
    ) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
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
        """Send it a signal, if it has not ended; it may be doing so just now, as `subprocess` has it, too."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill -9."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
            self.returncode = int(os.read(self._ended, 20) or b"-9")
            os.close(self._ended)
        return self.returncode


class Nursery:
    """The process that forks, and the socket by which it is asked to."""

    def __init__(self, wishes: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._socket = wishes
        self._process = process  # for as long as it is asked
        self._asking = threading.Lock()  # crawls may run in threads

    def popen(self, command: list[str], *, stderr: int | None = None, **_usual: Any) -> Nursed:
        """Start a worker: `python -m MODULE ARGUMENTS`."""
        heard, said = os.pipe() if stderr == subprocess.PIPE else (None, os.dup(2))
        born = self._born(command, (0, 1, said), {})
        os.close(said)
        return Nursed(*born, stderr=None if heard is None else os.fdopen(heard, "rb"))

    def bed(self, command: list[str], **_usual: Any) -> Nursed:
        """Start a testbed, which is spoken with by pipes."""
        (asked, asks), (heard, said) = os.pipe(), os.pipe()
        born = self._born(command, (asked, said, 2), {})
        os.close(asked)
        os.close(said)
        return Nursed(*born, stdin=os.fdopen(asks, "wb"), stdout=os.fdopen(heard, "rb"))

    def command(
        self, command: list[str], output: IO[bytes], environment: Mapping[str, str] | None = None, folder: str = ""
    ) -> Nursed:
        """Start `python -m weft ARGUMENTS`, with the environment that is now, and here, unless others are given."""
        out = output.fileno()
        return Nursed(*self._born(command, (0, out, out), environment or os.environ, folder))

    def _born(
        self, command: list[str], streams: tuple[int, int, int], environment: Mapping[str, str], folder: str = ""
    ) -> tuple[int, int]:
        """The number of a process that was forked, and where its exit code will be."""
        assert command[1] == "-m", command
        ended, ends = os.pipe()
        wish = json.dumps([command[2:], dict(environment), folder or str(Path.cwd())])
        with self._asking:
            socket.send_fds(self._socket, [wish.encode()], [*streams, ends])
            os.close(ends)
            return int(self._socket.recv(_LONGEST)), ended


@cache
def nursery() -> Nursery:
    """The nursery of this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.nursery", str(theirs.fileno()), str(os.getpid())]
        return Nursery(ours, subprocess.Popen(command, pass_fds=[theirs.fileno()]))


@contextmanager
def quick_workers(given: Nursery | None = None) -> Iterator[None]:
    """Crawls that are run in this block have their workers from the nursery."""
    popen = (given or nursery()).popen
    starting = SimpleNamespace(Popen=popen, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
    with mock.patch.object(app, "subprocess", starting):
        yield


@contextmanager
def quick_beds() -> Iterator[None]:
    """Testbeds that are started in this block come from the nursery."""

    def popen(command: list[str], **usual: Any) -> Nursed:
        return nursery().bed(command, **usual)

    starting = SimpleNamespace(Popen=popen, PIPE=subprocess.PIPE, TimeoutExpired=subprocess.TimeoutExpired)
    with mock.patch.object(bed, "subprocess", starting):
        yield


def main(wishes: socket.socket) -> Callable[[], int]:
    """Fork what is asked for until nobody is there to ask; returns in each child, with what it is to do."""
    mother = os.getpid()
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
            wish, given, _, _ = socket.recv_fds(wishes, _LONGEST, 4)
            if not wish:
                return lambda: 0
            *streams, end = given
            there, comes = os.pipe()
            pid = os.fork()
            if not pid:
                os.setsid()
                for number, stream in enumerate(streams):
                    os.dup2(stream, number)
                for each in (there, comes, *given, *ends, *(other for _, other in ends.values())):
                    os.close(each)
                wishes.close()
                return lambda: _be(mother, *json.loads(wish))
            os.close(comes)
            os.read(there, 1)  # until it has a session of its own: whoever is told its number may stop it at once
            os.close(there)
            for stream in streams:
                os.close(stream)
            ends[os.pidfd_open(pid)] = (pid, end)
            wishes.send(str(pid).encode())


def _be(mother: int, command: list[str], environment: dict[str, str], folder: str) -> int:
    """Be the process that was asked for; the parent that it ends with is the nursery, which may have ended already."""
    module, *arguments = command
    if module == "weft":
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        import_module("tests.confined.sitecustomize")  # as every Python does that starts in this environment
        return _crawl(mother, arguments)
    if module == "weft.testbed":
        os.chdir(folder)
        with mock.patch.object(bed, "die_with_parent", lambda _tests, by: die_with_parent(mother, by)):
            bed.child_main()
        return 0
    _call_me(WORKER)
    *rest, out, number, _parent = arguments
    if module == "tests.doomed":
        doom(rest[0], int(rest[1]), rest[2])
    return work.main([out, number, str(mother)])


def _crawl(mother: int, arguments: list[str]) -> int:
    """Be a command, with a nursery of its own; returns in its workers, too."""
    die_with_parent(mother)
    parent = os.getpid()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        ours.close()
        die_with_parent(parent)
        _call_me(NURSERY)
        return main(theirs)()
    theirs.close()
    with quick_workers(Nursery(ours)):
        weft(arguments)
    return 0


def finish(code: int) -> None:
    """End as Python does, but for taking everything down that was loaded: that copies the nursery's memory first."""
    threading._shutdown()  # type: ignore[attr-defined]  # threads of pools are told to end, and waited for
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more, or it was closed
            stream.flush()
    os._exit(code)


def _call_me(name: str) -> None:
    """Have a name by which this process is known from outside."""
    ctypes.CDLL(None).prctl(_NAME, name.encode())


if __name__ == "__main__":
    from tests.doomed import doom

    from weft import work
    from weft.cli import main as weft
    from weft.ordering import ordering_names
    from weft.testbed.warm import warm
    from weft.warming import warm_crawl

    die_with_parent(int(sys.argv[2]))
    import_module("weft.cli.crawl")  # else each command would
    ordering_names()  # looked for once
    warm_crawl()
    warm()
    gc.collect()
    gc.freeze()
    try:
        code = main(socket.socket(fileno=int(sys.argv[1])))()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except Exception:  # noqa: BLE001  as Python does it
        traceback.print_exc()
        code = 1
    finish(code)
