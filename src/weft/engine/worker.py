"""A worker: one process, one event loop, one local frontier. Runs the loop, commits once a second and tells the global
frontier, stops when told or done.

A commit has two halves. On the loop, at one moment: everything is written to the outputs, and what changed is packed
as one record. In a thread beside it: the outputs are synced, then the record is written and synced. Only then does
the global frontier hear of it, and only when two further commits are there is a full file sealed.

Commits and exchanges are two loops. An exchange follows a commit, in a thread of its own, and no commit waits for it:
while the global frontier is slow or away, pages are fetched and kept, and what was to be told is told with the first
exchange that comes to pass. That lasts as long as the lease, which is counted from before the last report that was
answered: then no visit begins, until the next answer.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import msgspec

from weft.disk import is_full
from weft.engine.devices import Devices
from weft.engine.hosting_apart import HostedApart
from weft.engine.limits import Limits
from weft.engine.loop import Loop
from weft.engine.progress import Progress, Statistics, timed
from weft.engine.stalling import AGAIN, COMMIT, GATHER, LOG, SEAL, Stalls
from weft.engine.stopping import Stopping, is_main_thread
from weft.engine.wires import Wires
from weft.errors import WeftError
from weft.events import Stopped
from weft.frontier.shared.contract import Exchanging, FrontierAwayError, Orders, Report
from weft.processes import resident
from weft.store.files import SETTLED

_TICK = 0.01  # seconds: timers that are due closer together than this are served together
_BIT = 0.01  # seconds of what comes from others that are taken in before visits have their turn
_SHOWN = 0.5  # seconds between two looks of the display
_IMPATIENT = ("interrupted", "terminated", "cancelled")  # who stops the crawl so does not wait for room
_HURRY = 0.1  # seconds after which an exchange is made ahead of time at the earliest
_LOOK = 0.05  # seconds between two looks at whether something is to be done


class Worker:
    """Runs a crawl on an event loop until it is done or told to stop."""

    def __init__(  # noqa: PLR0913
        self,
        number: int,
        wires: Wires,
        progress: Progress,
        limits: Limits,
        shared: Exchanging,
        *,
        sync: bool,
        lease: float,
        begun_at: float | None = None,
        beat: Callable[[], None] = lambda: None,
        say: Callable[[str], None] = lambda _text: None,
        tell: Callable[[str], None] = lambda _text: None,
        gathered: Callable[[], str] | None = None,
    ) -> None:
        self._number = number
        self._wires = wires
        self._progress = progress
        self._limits = limits
        self._shared = shared
        self._sync = sync
        self._lease = lease  # seconds for which what it holds is its own, from its last report on
        self._begun_at = wires.clock.elapsed() if begun_at is None else begun_at  # before it said so
        self._beat = beat  # called with each commit, as a sign of life
        self._say = say
        self._tell = tell  # where everybody can read it that it stalls, be the disk full
        self._gathered = gathered  # why no more sealed volumes can be kept here, where they move to a store
        self._loop = Loop(wires, self._on_failure, self._after_pump)
        can_wait, changed = wires.store.can_wait, self._stall_changed
        self._stalls = Stalls(wires.clock, progress.counts, say, can_wait=can_wait, changed=changed)
        self._on_tick: Callable[[Statistics], None] = lambda _statistics: None
        self._committing = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._exchanging = ThreadPoolExecutor(1, thread_name_prefix="exchange")
        self._sealing = ThreadPoolExecutor(1, thread_name_prefix="seal")
        self._sealed: Future[None] | None = None
        self._devices = Devices()
        self._commits = 0
        self._committed = asyncio.Event()  # since the last exchange began
        self._in_exchange = False
        self._obeying = asyncio.Lock()  # a message is taken in: nothing is committed before all of it is
        self._away_since: float | None = None  # the global frontier does not answer
        self._hurry = _HURRY  # seconds after which an exchange is made ahead of time; longer while none helps
        self._events: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._fatal: BaseException | None = None
        self.why = ""  # it stopped

    def __repr__(self) -> str:
        return f"Worker({self._number}, {self._loop}, {self._progress})"

    async def run(self, on_tick: Callable[[Statistics], None], stopping: Stopping | None = None) -> None:
        """Crawl. `on_tick` is called a few times a second, for the display; `stopping` is a way to end it from
        another thread.
        """
        self._on_tick = on_tick
        events = self._events = asyncio.get_running_loop()
        self._over = events.create_future()
        self._loop.lease = self._begun_at + self._lease
        if isinstance(self._wires.application, HostedApart):
            self._wires.application.on_end = self._fail
        self._loop.begin()
        tasks = [
            asyncio.create_task(self._tick(), name="commits"),
            asyncio.create_task(self._talk(), name="exchanges"),
        ]
        try:
            with self._told_to_stop(events, stopping or Stopping()):
                await self._over
        finally:
            self._loop.stopping = True
            self._committed.set()
            await _ended(tasks)
            if self._timer is not None:
                self._timer.cancel()
            if isinstance(self._wires.application, HostedApart) and self._fatal is None:
                await self._wires.application.settle(max(1.0, self._limits.grace))
            self._loop.drop()
            self._exchanging.shutdown()
            self._sealing.shutdown()
        try:
            if self._fatal is not None:
                raise self._fatal
            self.finish()
        finally:  # not before: the kernel ends the process of a checkpoint with the thread that started it
            self._committing.shutdown()
        self._show()  # how it ended, also where all of it was over between two looks
        self._wires.bus.emit(Stopped(self.why))

    def stop(self, why: str) -> None:
        """Begin no more visits; those under way may finish their page."""
        if self._loop.stopping:
            return
        self.why = why
        self._loop.stop()
        if self._events is not None:
            self._events.call_later(self._limits.grace, self._end)
        self._after_pump()

    def finish(self) -> None:
        """The last commit, with what settles it; tell the global frontier and seal everything."""
        wires = self._wires
        if wires.outage.cause:  # the run ends before it does
            self._progress.counts.outage_seconds += wires.clock.now() - wires.outage.since
        if wires.application is not None:
            wires.application.end()
        self._pack(clean=True)
        wires.store.roll(all_of_them=True)
        self._insist(COMMIT, self._write)
        wires.frontier.commits.written()
        for _ in range(SETTLED):
            self._pack(clean=True)
            self._insist(COMMIT, self._write)
            wires.frontier.commits.written()
        self._insist(SEAL, lambda: wires.store.contents.settle(self._commits - SETTLED))
        self._count_contents()
        try:
            wires.frontier.exchanges.obey(self._ask(self._report(wants=0, lease=0.0)))
        except WeftError as error:
            if not _is_away(error):
                raise
            self._say(f"{error.what}; what it was to be told is on disk, and is told when the crawl goes on")
        self._insist(SEAL, lambda: wires.store.seal(self._commits))

    def _insist(self, what: str, do: Callable[[], None]) -> None:
        """Do one of the last things, as soon as there is room; who was interrupted does not wait for that."""
        if self.why in _IMPATIENT:
            do()
        else:
            self._stalls.insist(what, do, self._beat)

    # Commits and exchanges.

    async def _tick(self) -> None:
        """Every half a second: the display; every second, or when there is need: a commit."""
        clock = self._wires.clock
        shown = last = clock.now() - 1e9
        try:
            while not self._over_now():
                now = clock.now()
                passed = now - last
                due = passed >= self._limits.commit_every or (passed >= self._hurry and self._in_need())
                if due and not self._obeying.locked():
                    last = now
                    await self._commit()
                if now - shown >= _SHOWN:
                    shown = now
                    self._show()
                if not self._over_now():
                    until = clock.now() + _LOOK
                    await asyncio.sleep(_LOOK)
                    self._progress.counts.late(clock.now() - until)
        except Exception as error:  # noqa: BLE001  a crawl that cannot commit must not go on
            self._fail(error)

    async def _talk(self) -> None:
        """After a commit: an exchange. Commits go on meanwhile; the next exchange tells of all of them."""
        try:
            while not self._over_now():
                await self._committed.wait()
                self._committed.clear()
                if not self._over_now():
                    await self._exchange()
        except Exception as error:  # noqa: BLE001  who may not report must not go on
            self._fail(error)

    async def _exchange(self) -> None:
        """Report, and do as the global frontier says; if it does not answer, the next commit has it asked again."""
        frontier, clock = self._wires.frontier, self._wires.clock
        self._in_exchange = True
        report, asked = self._report(wants=frontier.exchanges.wants), clock.elapsed()
        try:
            orders = await asyncio.get_running_loop().run_in_executor(self._exchanging, self._ask, report)
        except WeftError as error:
            if not _is_away(error):
                raise
            self._note_away(error, asked)
            return
        finally:
            self._in_exchange = False
        if self._away_since is not None:
            self._say(f"the global frontier answers again after {clock.elapsed() - self._away_since:.0f} s")
            self._away_since = None
        self._loop.lease = asked + self._lease
        await self._obey(orders)
        self._hurry = min(self._hurry * 2, self._limits.commit_every) if self._wants_more() else _HURRY

    def _ask(self, report: Report) -> Orders:
        return timed(self._wires.clock, self._progress.counts.exchanged, self._shared.exchange, report)

    def _note_away(self, error: WeftError, since: float) -> None:
        """Say it once."""
        if self._away_since is None:
            self._away_since = since
            left = max(0.0, self._loop.lease - self._wires.clock.elapsed())
            self._say(f"{error.what}; visits begin for {left:.0f} s more, then they wait for it; nothing is lost")

    async def _commit(self) -> None:
        """One commit."""
        wires = self._wires
        if isinstance(wires.application, HostedApart):
            await wires.application.between(self._pack)
        else:
            self._pack()
        wires.store.roll()
        await self._put_on_disk()
        wires.frontier.commits.written()
        self._beat()
        self._committed.set()
        if self._sealed is not None and self._sealed.done():
            sealed, self._sealed = self._sealed, None
            self._stalls.attempt(SEAL, sealed.result)
        if self._sealed is None:
            self._sealed = self._sealing.submit(
                timed, wires.clock, self._progress.counts.sealed, wires.store.seal, self._commits
            )
        if self._gathered is not None:
            why = await asyncio.get_running_loop().run_in_executor(self._committing, self._gathered)
            self._stalls.note(GATHER, why)

    async def _put_on_disk(self) -> None:
        """Write the commit that is packed; where a disk is full, as soon as there is room. Told to stop, it ends."""
        while True:
            try:
                await asyncio.get_running_loop().run_in_executor(self._committing, self._write)
            except WeftError as error:
                if not self._stalls.can_wait(error) or self._over_now():
                    raise
                self._stalls.note_error(COMMIT, error)
            else:
                self._stalls.note(COMMIT, "")
                return
            until = self._wires.clock.now() + AGAIN
            while self._wires.clock.now() < until and not self._over_now():
                self._beat()
                self._committed.set()  # others hear why
                self._show()
                await asyncio.sleep(_SHOWN)

    def _show(self) -> None:
        """Have the state shown, and the crawl log written."""
        self._stalls.attempt(LOG, lambda: self._on_tick(self.statistics()))

    def _stall_changed(self, over: bool) -> None:
        """What was fetched cannot be put away for now, or can be again: visits begin, or do not."""
        self._loop.stalled, self._loop.unwritten = bool(self._stalls), COMMIT in self._stalls
        self._tell(self._stalls.why)
        if over:
            self._loop.pump()

    def _pack(self, *, clean: bool = False) -> None:
        began = self._wires.clock.now()
        self._progress.sample()
        self._progress.counts.use(self._devices.grown())
        self._progress.counts.refused = self._wires.frontier.discovery.refusals()
        self._progress.counts.stopped = self._wires.frontier.discovery.stopped
        self._count_contents()
        marks, application = self._wires.store.mark(), self._wires.application
        kept = (b"", b"") if application is None else application.state()
        counts = msgspec.msgpack.encode(self._progress.counts)
        self._wires.frontier.commits.pack(marks=marks, counts=counts, clean=clean, application=kept)
        self._progress.counts.packing += self._wires.clock.now() - began

    def _count_contents(self) -> None:
        counts, contents = self._progress.counts, self._wires.store.contents
        counts.copies, counts.unremembered = contents.copies, contents.unremembered

    def _write(self) -> None:
        timed(self._wires.clock, self._progress.counts.committed, self._write_all)
        self._commits += 1

    def _write_all(self) -> None:
        self._wires.store.sync(durable=self._sync)
        self._wires.frontier.commits.write(sync=self._sync)

    def _report(self, *, wants: int, lease: float | None = None) -> Report:
        report, counts = self._wires.frontier.exchanges.report(self._number, wants=wants), self._progress.counts
        return msgspec.structs.replace(
            report,
            idle=report.idle and self._loop.idle,
            pages=counts.pages,
            amount=counts.bytes,
            seconds=counts.seconds,
            rate=self._progress.rates(),
            lease=self._lease if lease is None else lease,
            statistics=msgspec.msgpack.encode(self.statistics()),
        )

    async def _obey(self, orders: Orders) -> None:
        frontier, clock = self._wires.frontier, self._wires.clock
        async with self._obeying:
            until = clock.now() + _BIT
            for _ in frontier.exchanges.obeying(orders):  # a message may have a hundred thousand links
                if clock.now() > until:
                    await asyncio.sleep(0)
                    until = clock.now() + _BIT
        self._wires.gate.forbid(frontier.scope.blacklist.ranges)
        frontier.pace.allowance = orders.allowance
        if orders.over or orders.leave:
            if not self._loop.stopping:
                self.stop(orders.over or "taken away")
        else:
            self._loop.pump()

    def _in_need(self) -> bool:
        """Would a commit help? There is nothing to do here, an address must be lent to us first, or a request waits."""
        frontier = self._wires.frontier
        if frontier.specials.waiting:
            return True
        return not self._in_exchange and self._wants_more()  # what it brings may help

    def _wants_more(self) -> bool:
        """Is there less to do here than could be done?"""
        schedule, exchanges = self._wires.frontier.schedule, self._wires.frontier.exchanges
        return exchanges.idle or (schedule.ready == 0 and bool(schedule.throttles.wanted() or exchanges.wants))

    def statistics(self) -> Statistics:
        """How things stand, for whoever asks."""
        frontier, schedule = self._wires.frontier, self._wires.frontier.schedule
        pages, amount = self._progress.rates()
        outage = self._wires.outage
        return Statistics(
            counts=self._progress.counts,
            pages_rate=pages,
            bytes_rate=amount,
            active=schedule.busy,
            ready=schedule.ready,
            waiting=schedule.waiting,
            aside=frontier.exchanges.aside,
            pending=frontier.exchanges.pending,
            known=frontier.exchanges.known,
            shelved=0 if (shelving := frontier.exchanges.shelving) is None else shelving.groups,
            sites=len(frontier.sites),
            memory=resident(),
            moved=frontier.exchanges.moved,
            paused=frontier.pace.paused,
            outage=outage.cause,
            outage_seconds=self._wires.clock.now() - outage.since if outage.cause else 0.0,
            stalled=self._stalls.why,
            stalled_seconds=self._stalls.seconds,
            out_of_use={str(folder): said for folder, said in self._wires.store.shelves.out_of_use.items()},
        )

    # Beginning and ending.

    @contextmanager
    def _told_to_stop(self, events: asyncio.AbstractEventLoop, stopping: Stopping) -> Iterator[None]:
        """Listen to whoever may end the crawl: signals, where they come to this thread, and other threads."""
        signals = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"} if is_main_thread() else {}
        for number, why in signals.items():
            events.add_signal_handler(number, self._on_signal, why)
        try:
            with stopping.heard_by(lambda why: events.call_soon_threadsafe(self._on_signal, why)):
                yield
        finally:
            for number in signals:
                events.remove_signal_handler(number)

    def _on_signal(self, why: str) -> None:
        """The first Ctrl-C lets pages under way finish, the second does not."""
        if self._loop.stopping:
            self._end()
        else:
            self.stop(why)

    def _over_now(self) -> bool:
        return self._over is None or self._over.done()

    def _end(self) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _after_pump(self) -> None:
        """Every visit that may begin has begun: when to look again?"""
        if self._loop.stopping:
            if self._loop.active == 0:
                self._end()
            return
        at = self._loop.next_event()
        if at is not None and (self._timer is None or at < self._timer_at) and self._events is not None:
            if self._timer is not None:
                self._timer.cancel()
            now = self._wires.clock.now()
            self._timer_at = max(at, now + _TICK)
            self._timer = self._events.call_later(self._timer_at - now, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._loop.pump()

    def _fail(self, error: BaseException) -> None:
        """End the crawl with an error; what was committed is whole."""
        self._fatal = error
        self._loop.stopping = True
        self._end()

    def _on_failure(self, error: BaseException) -> None:
        """A visit failed. The disk's failure ends the crawl; an internal error is reported and the crawl goes on."""
        if isinstance(error, WeftError):
            self._fail(error)
        else:
            self._wires.bus.report(error, "a visit")


def _is_away(error: WeftError) -> bool:
    """Does the global frontier not answer for now? One whose disk is full answers when there is room."""
    return isinstance(error, FrontierAwayError) or is_full(error)


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    """Let the commit and the exchange that are under way come to their end: a thread cannot be interrupted."""
    await asyncio.wait(tasks)
