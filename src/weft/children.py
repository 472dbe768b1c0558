"""Child processes that are given frames and answer with frames. In: the module that the child runs. Out: what it
answers, in order; or its end.

A frame is four bytes of length, then msgpack. The parent's pipes never block its event loop. A child ends with its
parent, whatever ends that (`processes`), and ends by itself when there is nothing more to read.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import msgspec

from weft.processes import die_with_parent

T = TypeVar("T")

_LENGTH: Final = 4  # bytes that say how long a frame is
_AT_ONCE: Final = 1 << 18  # bytes read from the child in one go


class Child:
    """The process and its two pipes, which never block: frames go in, frames come out, or the end."""

    def __init__(
        self,
        module: str,
        events: asyncio.AbstractEventLoop,
        on_frame: Callable[[bytes], None],
        on_end: Callable[[], None],
        *,
        heard: bool = False,
    ) -> None:
        self._events = events
        self._on_frame = on_frame
        self._on_end = on_end
        # A session of its own: Ctrl-C is for the crawl, which then finishes its pages.
        self._process = subprocess.Popen(  # noqa: S603  a module of ours
            [sys.executable, "-m", module],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if heard else subprocess.DEVNULL,  # what it says is what its parent says
            close_fds=True,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._into, self._out_of = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._into, False)
        os.set_blocking(self._out_of, False)
        self._unsent = memoryview(b"")
        self._come = bytearray()
        self._open = True
        events.add_reader(self._out_of, self._read)

    @property
    def pid(self) -> int:
        """Which process it is."""
        return self._process.pid

    def send(self, message: bytes) -> None:
        """Send a frame as the pipe takes it. The one before is through: the child has answered it."""
        self._unsent = memoryview(_framed(message))
        self._events.add_writer(self._into, self._write)

    def kill(self) -> None:
        """End it at once, and hear no more of it."""
        self._open = False
        self._events.remove_reader(self._out_of)
        self._events.remove_writer(self._into)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.stdin.close()
        self._process.stdout.close()

    def code(self) -> int | None:
        """Its exit code, where it is ending, or less than 0: the signal that ended it; None where it goes on."""
        try:
            return self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return None

    def gone(self) -> bool:
        """Whether nothing is left of it."""
        return self._process.poll() is not None

    def wait(self) -> None:
        """Until nothing is left of it."""
        self._process.wait()

    def _write(self) -> None:
        try:
            sent = os.write(self._into, self._unsent)
        except BlockingIOError:
            return
        except BrokenPipeError:  # the other pipe says it too
            self._unsent = memoryview(b"")
        else:
            self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._events.remove_writer(self._into)

    def _read(self) -> None:
        try:
            part = os.read(self._out_of, _AT_ONCE)
        except BlockingIOError:
            return
        if not part:
            self._on_end()
            return
        self._come += part
        while self._open and len(self._come) >= _LENGTH:
            end = _LENGTH + int.from_bytes(self._come[:_LENGTH], "big")
            if len(self._come) < end:
                return
            frame = bytes(self._come[_LENGTH:end])
            del self._come[:end]
            self._on_frame(frame)


def _framed(message: bytes) -> bytes:
    return len(message).to_bytes(_LENGTH, "big") + message


# From here on: the child.


def serve() -> tuple[BinaryIO, BinaryIO]:
    """Begin as a child: where frames come from, and where answers go."""
    # The kernel ends it when its parent ends, even in the middle of a call; between two the end of its input does.
    die_with_parent(os.getppid())
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a service manager tells all processes; the crawl ends this one
    asked = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed must not get between the answers
    return asked, answers


def limit(memory: int) -> None:
    """Let the process grow by so much, and leave no image of it on the disk when it crashes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def next_message(asked: BinaryIO, decoder: msgspec.msgpack.Decoder[T]) -> T | None:
    """The next frame; None where there are no more."""
    length = asked.read(_LENGTH)
    if len(length) < _LENGTH:
        return None
    return decoder.decode(asked.read(int.from_bytes(length, "big")))


def send(answers: BinaryIO, message: bytes) -> None:
    """Answer with a frame."""
    answers.write(_framed(message))
    answers.flush()
