"""Pages read apart. In: a page that may be hostile. Out: the same `Parsed` as from `Parser.parse`, or the reason that
reading it took too long, too much memory, or ended the process that read it.

What happens in the event loop can be neither timed out nor survived. So large pages, and what was being read when a
worker died, go to a child process with limits (`python -m weft.parse.apart`). The child reads one page at a time, and
answers come in the order of the requests. It is started when first needed and kept; after a page that
ended it, the next page gets a new one. It ends with its parent, whatever ends that.

Both directions carry frames: four bytes of length, then msgpack. To the child go its `_Orders`, then `_Task`s; back
come one empty frame, when it is ready, and a `Parsed` for each task.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import msgspec

from weft.model import Page, Parsed, Reason
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.parse.tags import read_tags
from weft.processes import die_with_parent

T = TypeVar("T")

_LENGTH: Final = 4  # bytes that say how long a frame is
_AT_ONCE: Final = 1 << 18  # bytes read from the child in one go
_START: Final = 30.0  # seconds that a child has until it is ready: its imports, on a busy machine


class _Orders(msgspec.Struct, frozen=True):
    """What a child is told first."""

    settings: Reading
    agent: str
    memory: int


class _Task(msgspec.Struct, frozen=True):
    """A page to be read by the child."""

    page: Page
    kind: int


class _Waiting(msgspec.Struct, frozen=True):
    """A page as it goes to the child, and who waits for what is in it."""

    page: Page
    kind: int
    done: Callable[[Parsed], None]


class Apart:
    """Reads pages in a child process with limits. Belongs to one event loop, and to its thread."""

    def __init__(self, settings: Reading, agent: str, *, seconds: float = 10.0, memory: int = 1_000_000_000) -> None:
        self._orders = _Orders(settings, agent, memory)
        self._seconds = seconds  # that a page may take
        self._waiting: deque[_Waiting] = deque()  # the first is with the child, if there is one
        self._child: _Child | None = None
        self._ended: list[_Child] = []  # killed, but perhaps not gone yet; nobody waits for that
        self._ready = False  # the child has started
        self._timer: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"Apart({len(self._waiting)} pages, {'no' if self._child is None else 'a'} child)"

    @property
    def pid(self) -> int | None:
        """The process that reads the pages, if there is one."""
        return None if self._child is None else self._child.pid

    def parse(self, page: Page, kind: int, done: Callable[[Parsed], None]) -> None:
        """Read a page; `done` is called later, from the event loop."""
        self._waiting.append(_Waiting(page, kind, done))
        if len(self._waiting) == 1:
            self._begin()

    def stop(self) -> None:
        """End the child, and wait until it is gone. Pages that are not read yet get no answer."""
        self._waiting.clear()
        self._drop()
        for child in self._ended:
            child.wait()
        self._ended.clear()

    def _begin(self) -> None:
        """Hand the first page to the child; a child that is not ready gets it when it is."""
        events = asyncio.get_running_loop()
        if self._child is None:
            self._ended = [child for child in self._ended if not child.gone()]
            try:
                self._child = _Child(events, self._on_frame, self._on_end)
            except OSError:  # no memory or no process to be had
                events.call_soon(self._on_end)
                return
            self._child.send(msgspec.msgpack.encode(self._orders))
            self._timer = events.call_later(_START, self._on_end)
        elif self._ready:
            first = self._waiting[0]  # encoded one at a time: a copy of each that waits would be too much
            self._child.send(msgspec.msgpack.encode(_Task(first.page, first.kind)))
            self._timer = events.call_later(self._seconds, self._on_end)

    def _on_frame(self, frame: bytes) -> None:
        """The child is ready, or has read the page."""
        if not self._ready:
            self._ready = True
            self._stop_timer()
            self._begin()
            return
        try:
            parsed = msgspec.msgpack.decode(frame, type=Parsed)
        except msgspec.MsgspecError:  # what is left of its memory cannot be trusted
            self._on_end()
        else:
            self._answer(parsed)

    def _on_end(self) -> None:
        """The child died or ran out of time. If it was ready, that was the page's doing."""
        reason = Reason.HOSTILE if self._ready else Reason.INTERNAL
        self._drop()
        if self._waiting:  # else it died while it had nothing to do
            self._answer(Parsed("", "", "", "", self._waiting[0].page.url, [], [], follow=False, reason=reason))

    def _answer(self, parsed: Parsed) -> None:
        self._stop_timer()
        first = self._waiting.popleft()
        if self._waiting:  # before the answer: that may ask for another page
            self._begin()
        first.done(parsed)

    def _drop(self) -> None:
        """Be rid of the child."""
        self._stop_timer()
        self._ready = False
        if self._child is not None:
            self._child.kill()
            self._ended.append(self._child)
            self._child = None

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Child:
    """The process and its two pipes, which never block: frames go in, frames come out, or the end."""

    def __init__(
        self, events: asyncio.AbstractEventLoop, on_frame: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> None:
        self._events = events
        self._on_frame = on_frame
        self._on_end = on_end
        # A session of its own: Ctrl-C is for the crawl, which then finishes its pages.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "weft.parse.apart"],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
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


def main() -> None:
    """Read pages as they come, until there are no more."""
    # The kernel ends it when its parent ends, even in the middle of a page; between pages the end of its input does.
    die_with_parent(os.getppid())
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a service manager tells all processes; the crawl ends this one
    asked = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed must not get between the answers
    orders = _next_message(asked, _Orders)
    if orders is None:
        return
    parser = Parser(orders.settings, orders.agent)
    read_tags(b"")  # brings in what is compiled, before there are limits
    _limit(orders.memory)
    _send(answers, b"")
    # Whatever goes wrong with a page ends the process: after a lack of memory nothing in it is sure.
    while (task := _next_message(asked, _Task)) is not None:
        _send(answers, msgspec.msgpack.encode(parser.parse(task.page, task.kind)))


def _limit(memory: int) -> None:
    """Let the process grow by so much, and leave no image of it on the disk when it crashes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _next_message(asked: BinaryIO, kind: type[T]) -> T | None:
    length = asked.read(_LENGTH)
    if len(length) < _LENGTH:
        return None
    return msgspec.msgpack.decode(asked.read(int.from_bytes(length, "big")), type=kind)


def _send(answers: BinaryIO, message: bytes) -> None:
    answers.write(_framed(message))
    answers.flush()


if __name__ == "__main__":
    main()
