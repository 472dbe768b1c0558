"""Pages read apart. In: a page that may be hostile, or a stage that must not run in the worker. Out: the same `Parsed`
as from `Parser.parse`, or what the stage found out; or that it took too long, too much memory, or ended its process.

What happens in the event loop can be neither timed out nor survived. So large pages, and what was being read when a
worker died, go to a child process with limits (`python -m weft.parse.apart`). The child reads one page at a time, and
answers come in the order of the requests. It is started when first needed and kept; after a page that
ended it, the next page gets a new one. It ends with its parent, whatever ends that.

Both directions carry frames (`children`). To the child go its `_Orders`, then tasks: a page to be read, or a page and
the stage that is to look at it. Back come one empty frame, when it is ready, and for each task what it comes to.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from weft.children import Child, limit, next_message, send, serve
from weft.model import Filled, Page, Parsed, Reason, Turn
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.parse.stage import ReadPage, Run, filled, stage_named
from weft.parse.tags import read_tags

_START: Final = 30.0  # seconds that a child has until it is ready: its imports, on a busy machine


class _Orders(msgspec.Struct, frozen=True):
    """What a child is told first."""

    settings: Reading
    agent: str
    memory: int
    stages: list[tuple[str, bytes]] = []  # module:NAME of each, and its settings, encoded


class _Read(msgspec.Struct, frozen=True, tag="read"):
    """A page is to be read by the child."""

    page: Page
    kind: int


class _Stage(msgspec.Struct, frozen=True, tag="stage"):
    """A stage is to look at a page that was read."""

    stage: int
    turn: Turn
    page: Page
    parsed: Parsed
    columns: dict[str, Any]  # what stages before it said


_Task = _Read | _Stage
_TASKS: Final = msgspec.msgpack.Decoder(_Task)
_ORDERS: Final = msgspec.msgpack.Decoder(_Orders)


class Failed(msgspec.Struct, frozen=True):
    """A stage failed on a page."""

    error: str  # in one line
    trace: str = ""
    ended: bool = False  # it took too long or too much memory, or ended its process


class _Looked(msgspec.Struct, frozen=True):
    """What came of it."""

    filled: Filled = Filled()
    failed: Failed | None = None


class _Waiting(msgspec.Struct, frozen=True):
    """A task as it goes to the child, and who waits for what comes of it."""

    task: _Task
    done: Callable[[Any], None]


class Apart:
    """Reads pages in a child process with limits. Belongs to one event loop, and to its thread."""

    def __init__(
        self,
        settings: Reading,
        agent: str,
        *,
        seconds: float = 10.0,
        memory: int = 1_000_000_000,
        stages: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        self._orders = _Orders(settings, agent, memory, list(stages))
        self._seconds = seconds  # that a page may take
        self._waiting: deque[_Waiting] = deque()  # the first is with the child, if there is one
        self._child: Child | None = None
        self._ended: list[Child] = []  # killed, but perhaps not gone yet; nobody waits for that
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
        self._do(_Read(page, kind), done)

    def run(
        self,
        stage: int,
        turn: Turn,
        page: Page,
        parsed: Parsed,
        columns: dict[str, Any],
        done: Callable[[Filled | Failed], None],
    ) -> None:
        """Have a stage look at a page that was read; `done` is called likewise."""
        self._do(_Stage(stage, turn, page, parsed, columns), done)

    def _do(self, task: _Task, done: Callable[[Any], None]) -> None:
        self._waiting.append(_Waiting(task, done))
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
                self._child = Child("weft.parse.apart", events, self._on_frame, self._on_end)
            except OSError:  # no memory or no process to be had
                events.call_soon(self._on_end)
                return
            self._child.send(msgspec.msgpack.encode(self._orders))
            self._timer = events.call_later(_START, self._on_end)
        elif self._ready:
            first = self._waiting[0]  # encoded one at a time: a copy of each that waits would be too much
            self._child.send(msgspec.msgpack.encode(first.task, enc_hook=list))
            self._timer = events.call_later(self._seconds, self._on_end)

    def _on_frame(self, frame: bytes) -> None:
        """The child is ready, or has read the page."""
        if not self._ready:
            self._ready = True
            self._stop_timer()
            self._begin()
            return
        try:
            found: Any = Parsed
            if isinstance(self._waiting[0].task, _Stage):
                found = _Looked
            answer = msgspec.msgpack.decode(frame, type=found)
        except (msgspec.MsgspecError, IndexError):  # what is left of its memory cannot be trusted
            self._on_end()
        else:
            self._answer(answer.failed or answer.filled if isinstance(answer, _Looked) else answer)

    def _on_end(self) -> None:
        """The child died or ran out of time. If it was ready, that was the page's doing."""
        reason = Reason.HOSTILE if self._ready else Reason.INTERNAL
        self._drop()
        if not self._waiting:  # it died while it had nothing to do
            return
        task = self._waiting[0].task
        if isinstance(task, _Stage):
            said = f"it took more than {self._seconds:g} s, too much memory, or ended its process"
            self._answer(Failed(said, ended=True))
        else:
            self._answer(Parsed("", "", "", "", task.page.url, [], [], follow=False, reason=reason))

    def _answer(self, answer: Any) -> None:
        self._stop_timer()
        first = self._waiting.popleft()
        if self._waiting:  # before the answer: that may ask for another page
            self._begin()
        first.done(answer)

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


# From here on: the child.


def main() -> None:
    """Read pages as they come, until there are no more."""
    asked, answers = serve()
    orders = next_message(asked, _ORDERS)
    if orders is None:
        return
    parser = Parser(orders.settings, orders.agent)
    runs = [_runner(*each) for each in orders.stages]
    read_tags(b"")  # brings in what is compiled, before there are limits
    limit(orders.memory)
    send(answers, b"")
    # Whatever goes wrong with a page ends the process: after a lack of memory nothing in it is sure.
    while (task := next_message(asked, _TASKS)) is not None:
        if isinstance(task, _Read):
            send(answers, msgspec.msgpack.encode(parser.parse(task.page, task.kind), enc_hook=list))  # links
        else:
            send(answers, _looked(runs[task.stage], task, parser))


def _runner(name: str, settings: bytes) -> Run:
    """What looks at a page, by the name of its stage."""
    stage = stage_named(name)
    made = msgspec.msgpack.decode(settings, type=stage.settings) if settings and stage.settings is not None else None
    return stage.runner(made)


def _looked(run: Run, task: _Stage, parser: Parser) -> bytes:
    try:
        found = filled(run(ReadPage(task.turn, task.page, task.parsed, parser, task.columns)))
        return msgspec.msgpack.encode(_Looked(found))
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  it is told where the page is concluded
        said = "".join(traceback.format_exception_only(error)).strip().replace("\n", " ")
        return msgspec.msgpack.encode(_Looked(failed=Failed(said, "".join(traceback.format_exception(error)))))


if __name__ == "__main__":
    main()
