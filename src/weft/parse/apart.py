"""Pages read apart. In: a page that may be hostile. Out: the same `Parsed` as from `Parser.parse`, or the reason that
reading it took too long, too much memory, or ended the process that read it.

A C parser in the event loop can be neither timed out nor survived. So what `suspicious` points out, and what was being
read when a worker died, goes to a child process with limits (`python -m weft.parse.apart`). The child reads one page
at a time, and answers come in the order of the requests. It is started when first needed and kept; after a page that
ended it, the next page gets a new one. It ends with its parent, whatever ends that.

Both directions carry frames: four bytes of length, then msgpack. To the child go its `_Orders`, then `_Task`s; back
come one empty frame, when it is ready, and a `Parsed` for each task.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.model import Page, Parsed, Reason
from weft.parse.page import Parser, Reading
from weft.processes import die_with_parent

T = TypeVar("T")

_LENGTH: Final = 4  # bytes that say how long a frame is
_AT_ONCE: Final = 1 << 18  # bytes read from the child in one go
_START: Final = 30.0  # seconds that a child has until it is ready: its imports, on a busy machine

# What the look below lets pass takes lexbor less than a second at worst, most of it far less than half of one.
_LARGE: Final = 2_000_000  # bytes; at this size text and entities alone take so long, whatever is in them
_MOST_TAGS: Final = 10_000  # half of them nested, the other half each a walk through all that are open
_MOST_COPIES: Final = 1_000_000  # elements that are made out of formatting elements left open; 400 bytes each
_MOST_PAIRS: Final = 100_000_000  # attributes compared with others of their tag
_ROOMY: Final = 64_000  # bytes; the attributes that fit in here are not too many
_STRIDE: Final = 2048
_TAG: Final = re.compile(rb"<[a-zA-Z]")
_BETWEEN_ATTRIBUTES: Final = re.compile(rb"\"[^\"]*+\"?|'[^']*+'?|[\s/]+")  # a value in quotes counts once
# The elements that are opened again in every paragraph until they are closed. Without attributes no more than three
# of each are, so those with attributes count. (<a> and <nobr> close the one before.)
_FORMATTING: Final = re.compile(rb"<(?:b|big|code|em|font|i|s|small|strike|strong|tt|u)[\s/]", re.IGNORECASE)


def _beginnings() -> NDArray[np.bool_]:
    """Which two bytes, with bit 32 set, may begin a formatting element: all of these, and a few others (<form>)."""
    table = np.zeros(1 << 16, np.bool_)
    pairs = [name + blank for name in "bisu" for blank in " \t\n\f\r\v/"]
    for pair in [*pairs, "bi", "co", "em", "fo", "sm", "st", "tt"]:
        table[ord(pair[0]) << 8 | ord(pair[1]) | 32] = True
    return table


_MAY_FORMAT: Final = _beginnings()


def suspicious(body: bytes) -> bool:
    """Whether a page, its content coding undone, may keep an HTML parser busy for half a second or more.

    The tree of HTML is quadratic in three ways: a tag may be a walk through all open elements; a paragraph may open
    all formatting elements again that an earlier one left open; an attribute is compared with the others of its tag.
    The first two are bounded by counts that no page can talk its way out of. The third is a guess: a page made to
    deceive this very look, by a ">" in its attributes here and there, passes.

    >>> suspicious(b"<p>hello" * 100), suspicious(b"<div>" * 20_000)
    (False, True)
    """
    if len(body) > _LARGE:
        return True
    signs = np.frombuffer(body, np.uint8)
    tags = _count(signs)
    if tags > _MOST_TAGS:
        return True
    if tags * tags > 4 * _MOST_COPIES and _copies(body, tags) > _MOST_COPIES:
        return True
    return len(body) > _ROOMY and _pairs(body) > _MOST_PAIRS


@compiled
def _count(signs: NDArray[np.uint8]) -> int:
    """How many "<" there are."""
    found = 0
    for sign in signs:
        found += sign == ord("<")
    return found


@compiled
def _count_formatting(signs: NDArray[np.uint8], may_format: NDArray[np.bool_]) -> int:
    """How many tags may be formatting elements."""
    found = 0
    for at in range(signs.size - 2):
        if signs[at] == ord("<"):
            found += may_format[np.int64(signs[at + 1] | 32) << 8 | signs[at + 2] | 32]
    return found


def _copies(body: bytes, tags: int) -> int:
    """At most how many elements are made by opening formatting elements again: a quick count, and where that is too
    many, a closer one.
    """
    if b"\0" in body:  # UTF-16, perhaps
        body = body.replace(b"\0", b"")
    if _count_formatting(np.frombuffer(body, np.uint8), _MAY_FORMAT) * tags <= _MOST_COPIES:
        return 0
    return len(_FORMATTING.findall(body)) * tags


def _pairs(body: bytes) -> int:
    """About how many pairs of attributes are compared, in tags so long that they fill a whole stride."""
    pairs = at = 0
    while at + _STRIDE <= len(body):
        if body.find(b">", at, at + _STRIDE) >= 0:
            at += _STRIDE
            continue
        begin = body.rfind(b">", 0, at) + 1
        end = body.find(b">", at)
        end = len(body) if end < 0 else end
        if tag := _TAG.search(body, begin, end):  # else it is a long text, or a script
            pairs += len(_BETWEEN_ATTRIBUTES.findall(body, tag.end(), end)) ** 2
        at = end
    return pairs


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

    url: str
    message: bytes
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
        self._waiting.append(_Waiting(page.url, msgspec.msgpack.encode(_Task(page, kind)), done))
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
            self._child.send(self._waiting[0].message)
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
            self._answer(Parsed("", "", "", "", self._waiting[0].url, [], [], follow=False, reason=reason))

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
