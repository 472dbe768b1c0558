"""An application in a process of its own, as in P4. In: pages, failures and redirects, in the order in which they came.
Out: what it asks for, in the same order, while its worker goes on.

The worker has a queue; its first entry is with the application. A page is concluded when the application has said what
it wants, so a page that it was not shown is fetched again after a crash. Failures and redirects are concluded before it
hears of them: those that it has not answered are part of each commit, and told again. Its state is asked for between
two calls, and packed at the moment when it comes, before the next answer: so a commit has exactly what was concluded.

User code that ends its process, or does not come to an end in time, ends the worker, which goes on from its last
commit.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from weft.children import Child, next_message, send, serve
from weft.engine.application import FetchedPage
from weft.engine.calls import ApplicationEndedError, Calls, call_as_told
from weft.engine.hosting import (
    Caller,
    FailedNotice,
    Faults,
    Notice,
    OnWanted,
    RedirectedNotice,
    RemoteError,
    Told,
    Wish,
    described,
    nobody,
)
from weft.engine.making import made
from weft.errors import WeftError
from weft.events import Bus
from weft.frontier.special import Special
from weft.model import NO_ID, Page, Parsed, Turn, UrlId
from weft.parse.options import Reading
from weft.parse.page import Parser

_START = 60.0  # seconds that it has until it is made: its imports, on a busy machine


class Orders(msgspec.Struct, frozen=True):
    """What the process is told first."""

    name: str  # module:Class
    options: list[str]  # name=value
    reading: Reading
    agent: str
    state: bytes = b""  # to be taken back


class _Made(msgspec.Struct, frozen=True):
    stateful: bool = False
    error: str = ""  # why it could not be made


class _Begin(msgspec.Struct, frozen=True, tag="begin"):
    pass


class _Page(msgspec.Struct, frozen=True, tag="page"):
    turn: Turn
    page: Page
    parsed: Parsed
    special: Special | None
    columns: dict[str, Any]


class _State(msgspec.Struct, frozen=True, tag="state"):
    pass


class _End(msgspec.Struct, frozen=True, tag="end"):
    pass


_Message = _Begin | _Page | FailedNotice | RedirectedNotice | _State | _End
_MESSAGES: Any = msgspec.msgpack.Decoder(_Message)
_ORDERS = msgspec.msgpack.Decoder(Orders)


class _Answer(msgspec.Struct, frozen=True):
    wanted: list[Wish] = []
    kept: bool = True
    state: bytes = b""
    error: str = ""  # what it raised, in one line
    trace: str = ""


_ANSWERS = msgspec.msgpack.Decoder(_Answer)


class _Call(msgspec.Struct, frozen=True):
    """A call that waits, or is under way."""

    message: _Message
    method: str
    url: str
    done: Callable[[_Answer], None]


class HostedApart:
    """An application in a process of its own. Belongs to one event loop."""

    def __init__(self, orders: Orders, bus: Bus, *, strict: bool, seconds: float, calls: Calls) -> None:
        self._orders = orders
        self._faults = Faults(bus, orders.name, strict=strict)
        self._seconds = seconds  # that a call may take
        self._calls = calls
        self.on_wanted: OnWanted = nobody
        self.on_end: Callable[[BaseException], None] = lambda _error: None  # it ended its process, or hangs
        self._waiting: deque[_Call] = deque()
        self._under_way: _Call | None = None
        self._child: Child | None = None
        self._ready = False
        self._stateful = False
        self._closing = False  # nothing more is told
        self._state = b""  # that came since the last commit
        self._timer: asyncio.TimerHandle | None = None
        self._asking: list[asyncio.Future[None]] = []  # who waits for an answer of their own

    def __repr__(self) -> str:
        return f"HostedApart({self._orders.name}, {len(self._waiting)} calls wait)"

    @property
    def pid(self) -> int | None:
        """Its process, if there is one."""
        return None if self._child is None else self._child.pid

    @property
    def busy(self) -> bool:
        """Has it something to say, perhaps?"""
        return not self._closing and (self._under_way is not None or bool(self._waiting))

    # What it is told.

    def begin(self, state: bytes) -> list[Wish]:
        """Start its process, give it its state back; what it wants first comes later."""
        self._orders = msgspec.structs.replace(self._orders, state=state)
        events = asyncio.get_running_loop()
        self._child = Child("weft.engine.hosting_apart", events, self._on_frame, self._on_end, heard=True)
        self._child.send(msgspec.msgpack.encode(self._orders))
        self._timer = events.call_later(_START, self._on_time)
        self._tell(_Call(_Begin(), "begin", "", lambda answer: self.on_wanted("", -1, NO_ID, answer.wanted)))
        return []

    def show(
        self,
        turn: Turn,
        page: Page,
        parsed: Parsed,
        special: Special | None,
        columns: dict[str, Any],
        done: Callable[[Told], None],
    ) -> None:
        """A page has come; `done` is called with what it says, from the event loop."""
        if self._is_harmful("visited", turn.url):
            done(Told([]))
            return
        self._tell(
            _Call(
                _Page(turn, page, parsed, special, columns),
                "visited",
                turn.url,
                lambda answer: done(Told(answer.wanted, answer.kept)),
            )
        )

    def failed(self, url: str, reason: str, special: Special | None, depth: int, via: UrlId) -> list[Wish]:
        """A page could not be had; what it wants instead comes later."""
        if not self._is_harmful("failed", url):
            notice = FailedNotice(url, reason, special, depth, via)
            self._tell(_Call(notice, "failed", url, lambda answer: self.on_wanted(url, depth, via, answer.wanted)))
        return []

    def redirected(self, url: str, target: str, special: Special | None, depth: int, via: UrlId) -> list[Wish]:
        """A page redirects; what it wants comes later."""
        if not self._is_harmful("redirected", url):
            notice = RedirectedNotice(url, target, special, depth, via)
            self._tell(_Call(notice, "redirected", url, lambda answer: self.on_wanted(url, depth, via, answer.wanted)))
        return []

    # Commits.

    def state(self) -> tuple[bytes, bytes]:
        """What a commit keeps of it: its state, where that changed, and what it has not been told."""
        state, self._state = self._state, b""
        calls = ([] if self._under_way is None else [self._under_way]) + list(self._waiting)
        untold: list[Notice] = [call.message for call in calls if isinstance(call.message, Notice)]
        return state, msgspec.msgpack.encode(untold) if untold else b""

    async def between(self, pack: Callable[[], None]) -> None:
        """Pack a commit between two of its calls, with its state as it is then."""
        if not (self._ready and self._stateful):
            pack()
            return

        def on_state(answer: _Answer) -> None:
            self._state = answer.state
            pack()

        await self._ask(_State(), "state", on_state)

    async def settle(self, seconds: float) -> None:
        """The worker stops: let the call that is under way come to its end, and make no more but the last ones. They
        have so long; then the worker ends without a last commit.
        """
        self._closing = True
        if self._child is None:
            return
        try:
            await asyncio.wait_for(self._last_calls(), seconds)
        except TimeoutError:
            self._end_with(f"it did not come to an end in {seconds:g} s, when the crawl stopped")
        except (ApplicationEndedError, WeftError):
            return  # it was told
        self.stop()

    async def _last_calls(self) -> None:
        if self._under_way is not None:
            over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._asking.append(over)
            await over
        if self._ready:
            await self._ask(_End(), "end", lambda _answer: None)
        if self._ready and self._stateful:
            await self._ask(_State(), "state", self._take_state)

    def _take_state(self, answer: _Answer) -> None:
        self._state = answer.state

    def end(self) -> None:
        """It was told when the worker settled."""

    def stop(self) -> None:
        """End its process."""
        self._stop_timer()
        child, self._child, self._ready = self._child, None, False
        if child is not None:
            child.kill()
            child.wait()

    # Inside.

    async def _ask(self, message: _Message, method: str, done: Callable[[_Answer], None]) -> None:
        """Make a call ahead of those that wait."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def answered(answer: _Answer) -> None:
            try:
                done(answer)
            except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
                over.set_exception(error)
            else:
                over.set_result(None)

        self._asking.append(over)
        self._waiting.appendleft(_Call(message, method, "", answered))
        self._next(own=True)
        try:
            await over
        finally:
            if over in self._asking:
                self._asking.remove(over)

    def _tell(self, call: _Call) -> None:
        self._waiting.append(call)
        self._next()

    def _next(self, *, own: bool = False) -> None:
        """Make the next call, if none is under way."""
        if self._under_way is not None or not self._ready or not self._waiting or self._child is None:
            return
        if self._closing and not own:
            return
        call = self._under_way = self._waiting.popleft()
        self._calls.set(call_as_told(self._orders.name, call.method, call.url))
        self._child.send(msgspec.msgpack.encode(call.message, enc_hook=list))
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._on_time)

    def _on_frame(self, frame: bytes) -> None:
        self._stop_timer()
        if not self._ready:
            made_it = msgspec.msgpack.decode(frame, type=_Made)
            if made_it.error:
                self._give_up(WeftError(made_it.error, todo="mend it, and run the same command again"))
                return
            self._ready, self._stateful = True, made_it.stateful
            self._next()
            return
        call, self._under_way = self._under_way, None
        self._calls.set(b"")
        assert call is not None
        try:
            answer = _ANSWERS.decode(frame)
            if answer.error:
                self._faults.report(RemoteError(answer.error, answer.trace), call.url or call.method)
            call.done(answer)
        except WeftError as error:
            self._give_up(error)
            return
        if self._closing:
            for over in self._asking:
                if not over.done():
                    over.set_result(None)
        self._next()

    def _on_end(self) -> None:
        """Its process ended."""
        code = None if self._child is None else self._child.code()
        self._end_with("its process ended" if code is None else f"it ended its process ({_how(code)})")

    def _on_time(self) -> None:
        """The time of a call is up."""
        self._end_with(f"it did not come to an end in {self._seconds if self._ready else _START:g} s")

    def _end_with(self, how: str) -> None:
        call, name = self._under_way, self._orders.name
        where = name if call is None else call_as_told(name, call.method, call.url).decode()
        self._give_up(ApplicationEndedError(f"the application failed: {where}: {how}"))

    def _give_up(self, error: BaseException) -> None:
        self.stop()
        asking, self._asking = self._asking, []
        for over in asking:
            if not over.done():
                over.set_exception(error)
        self.on_end(error)

    def _is_harmful(self, method: str, url: str) -> bool:
        if not self._calls.harmful or not self._calls.is_harmful(self._orders.name, method, url):
            return False
        self._faults.report(self._calls.harm(self._orders.name, method, url), url)
        return True

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


# From here on: the process of the application.


def main() -> None:
    """Call the application as it is asked, until nothing is asked any more."""
    asked, answers = serve()
    orders = next_message(asked, _ORDERS)
    if orders is None:
        return
    try:
        caller = Caller(made(orders.name, orders.options), orders.name, time.time)  # noqa: TID251  there is no clock here
        if orders.state:
            caller.restore(orders.state)
    except WeftError as error:
        send(answers, msgspec.msgpack.encode(_Made(error=str(error))))
        return
    send(answers, msgspec.msgpack.encode(_Made(stateful=caller.stateful)))
    parser = Parser(orders.reading, orders.agent)
    while (message := next_message(asked, _MESSAGES)) is not None:
        send(answers, msgspec.msgpack.encode(_answer(caller, parser, message)))


def _answer(caller: Caller, parser: Parser, message: _Message) -> _Answer:
    wanted: list[Wish] = []
    error: BaseException | None = None
    kept, state = True, b""
    if isinstance(message, _Page):
        page = FetchedPage(message.turn, message.page, message.parsed, parser, message.special, message.columns)
        wanted, error = caller.visited(page)
        kept = page.kept
    elif isinstance(message, FailedNotice):
        wanted, error = caller.failed(message.url, message.reason, message.special)
    elif isinstance(message, RedirectedNotice):
        wanted, error = caller.redirected(message.url, message.target, message.special)
    elif isinstance(message, _State):
        state, error = caller.state()
    elif isinstance(message, _Begin):
        wanted, error = caller.begin()
    else:
        error = caller.end()
    if error is None:
        return _Answer(wanted, kept, state)
    return _Answer(wanted, kept, state, described(error), "".join(traceback.format_exception(error)))


if __name__ == "__main__":
    main()
