"""One worker, wired: the only file that names the concrete classes a worker is made of. In: a plan and a number. Out:
a worker that has done its part.

`python -m weft.work DIRECTORY NUMBER PARENT` is what the watchdog starts; a crawl with an application runs its one
worker in the caller's own process.
"""

from __future__ import annotations

import asyncio
import gc
import platform
import random
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import uvloop

from weft.clock import Clock, SystemClock
from weft.compiled import AddressSpaceError, give_back_compiler, loading
from weft.config import Settings
from weft.directory import Plan, secret_of, stored_plan
from weft.disk import writing
from weft.engine.asker import Asker
from weft.engine.calls import ApplicationEndedError, Calls
from weft.engine.descriptors import room_for
from weft.engine.hosting import Caller, Hosted, described
from weft.engine.hosting_apart import HostedApart, Orders
from weft.engine.making import made
from weft.engine.marker import Marker
from weft.engine.network import LiveNetwork
from weft.engine.progress import Counts, Progress, Statistics
from weft.engine.stopping import Stopping
from weft.engine.vitals import Vitals
from weft.engine.wires import Wires
from weft.engine.worker import Worker
from weft.errors import WeftError
from weft.events import Bus, Event, Fault, Fetched, OutageBegan, OutageEnded
from weft.fetch.dns import Resolver
from weft.fetch.transport import Transport
from weft.frontier.local.bounds import Bound, bound_of
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import CAPACITY, Terms
from weft.frontier.politeness import Politeness
from weft.frontier.scope import limits_of
from weft.frontier.shared.contract import Begun, Exchanging, FrontierAwayError
from weft.frontier.shared.opening import open_frontier
from weft.ordering.reranking import Reranking
from weft.parse.apart import Apart
from weft.parse.page import LARGE, Parser
from weft.parse.robots_table import load
from weft.parts import gate_of, oracle_of, ordering_of, stages_of
from weft.processes import die_with_parent
from weft.stages.digest import DIGEST
from weft.store.columns import without_pandas
from weft.store.files import intact
from weft.store.gathering import gathering
from weft.store.log import CrawlLog
from weft.store.rotation import Rotation
from weft.store.sealing import known_contents
from weft.store.store import Store
from weft.version import __version__

TRY = 5.0  # seconds for which a worker waits for the global frontier at a time
_BEAT = 5.0  # seconds between two signs of life
_LONGEST = 60.0  # seconds that a worker waits for the global frontier to begin, at least
_LOADED = 1000  # pages after which every compiled function has been called
_FAULT = 70  # the exit code of a worker that failed by our fault, as sysexits.h has it
Watch = Callable[[Statistics], None]


async def work(
    plan: Plan,
    number: int,
    shared: Exchanging,
    clock: Clock,
    watch: Watch,
    say: Callable[[str], None],
    stopping: Stopping | None = None,
) -> str:
    """Do a worker's part of a crawl; why it stopped. What there is to tell is said as it happens."""
    try:
        load()
        return await _work(plan, number, shared, clock, watch, say, stopping)
    except AddressSpaceError as error:
        raise WeftError(
            str(error),
            todo="raise `ulimit -v` (mostly it is unlimited): little of what is reserved is ever used; a cgroup limits "
            "what is, such as systemd-run --user --scope -p MemoryMax=4G weft crawl …",
        ) from error


async def _work(  # noqa: PLR0915  one line a part
    plan: Plan,
    number: int,
    shared: Exchanging,
    clock: Clock,
    watch: Watch,
    say: Callable[[str], None],
    stopping: Stopping | None,
) -> str:
    settings, out = plan.settings.revealed(), plan.out
    politeness = replace(settings.politeness, connections=room_for(settings.politeness.connections, say))
    loop = asyncio.get_running_loop()
    secret = secret_of(out)
    own = out / "workers" / str(number)
    own.mkdir(parents=True, exist_ok=True)
    vitals = Vitals(own)
    # Who takes over from a hung worker can be sure that it visits nobody any more.
    lease = max(settings.watching.hung_after / 2, 3 * settings.limits.commit_every)
    begun_at, begun = _begun(shared, number, vitals, clock, max(_LONGEST, 2 * settings.watching.hung_after), lease)
    chance = random.Random(f"{settings.running.random_seed} {number} {clock.wall()}")
    stages = stages_of(plan)
    store = Store(
        out,
        settings.storing,
        info=_warcinfo(settings, out),
        chance=chance,
        secret=secret,
        worker=number,
        pulse=vitals.beat,
        clock=clock,
        digest=DIGEST.called,
        stages=[stage.fills for stage in stages.stages],
        say=say,
    )
    frontier = _local_frontier(plan, settings, politeness, own / "frontier.log", secret, clock, store.note_url, say)
    bus = Bus()
    rotation = Rotation(settings.storing.log_bytes, settings.storing.log_keep, clock)
    bus.subscribe(_Faults(out / "log" / "faults.log", clock, say, rotation).on_event, Fault)
    last = frontier.commits.recover(
        begun, lambda commit: intact(out, commit.marks), _Pulse(shared, number, vitals, clock).beat
    )
    if frontier.exchanges.mail.behind:
        frontier.exchanges.keep(shared.held(number))
    _tell_of_losses(frontier, bus)
    known_contents(out, store.contents, number)
    store.take_up(*(({}, 0) if last is None else (last.marks, last.number)))
    store.before = frontier.exchanges.mail.number
    progress = Progress(clock, msgspec.msgpack.decode(last.counts, type=Counts) if last is not None else None)
    frontier.pace.spent = progress.counts.pages
    frontier.discovery.restore_refusals(progress.counts.refused)
    frontier.discovery.stopped = progress.counts.stopped
    frontier.discovery.unwanted = progress.begin(settings.selection.max_bytes_page, frontier.scope.wanted)
    # Of all workers: a write at the end of a file is whole.
    log = CrawlLog(out / "log" / "crawl.log", rotation, settings.storing.log)
    bus.subscribe(progress.on_event)
    bus.subscribe(log.on_event, Fetched)
    bus.subscribe(lambda event: _tell_of_outages(event, say), OutageBegan, OutageEnded)
    apart = Apart(settings.reading, settings.identity.product, stages=stages.orders)
    marker = Marker(own / "reading")
    resolver = Resolver(loop, clock, settings.naming, on_answer=progress.counts.resolved)
    transport = Transport(loop, clock, settings.fetching)
    calls = Calls(own) if plan.chosen else None
    application = None if calls is None else _application(plan, settings, bus, clock, calls)
    wires = Wires(
        clock=clock,
        network=LiveNetwork(transport, resolver, settings.fetching, chance, clock),
        frontier=frontier,
        parser=Parser(settings.reading, settings.identity.product, largest=LARGE),
        apart=apart,
        marker=marker,
        store=store,
        asker=Asker(
            settings.identity.user_agent,
            frontier.scope.wanted,
            max_bytes=settings.selection.max_bytes_page,
            limits=limits_of(settings.selection.max_bytes_type),
            encodings=settings.fetching.accept_encoding,
            headers=settings.fetching.headers,
            keeps=settings.storing.store_credentials,
            guarded=settings.secret or frontier.specials.ever,
        ),
        gate=gate_of(plan),
        bus=bus,
        progress=progress,
        politeness=politeness,
        application=application,
        stages=stages,
        cloaking=settings.stages.cloaking_sample,
        verify_tls=settings.fetching.verify_tls,
        obey_noarchive=settings.storing.obey_noarchive,
    )
    worker = Worker(
        number,
        wires,
        progress,
        settings.limits,
        shared,
        sync=settings.storing.sync,
        lease=lease,
        begun_at=begun_at,
        beat=vitals.beat,
        say=say,
        tell=vitals.tell,
        gathered=partial(gathering, out, settings.storing) if settings.storing.store else None,
    )

    def tick(statistics: Statistics) -> None:
        log.flush()
        watch(statistics)
        if statistics.counts.pages >= _LOADED:
            give_back_compiler()

    with ExitStack() as left:
        left.callback(frontier.close)
        left.callback(log.close)
        left.callback(transport.stop)
        left.callback(marker.close)
        if calls is not None:
            left.callback(calls.close)
        if isinstance(application, HostedApart):
            left.callback(application.stop)
        left.callback(apart.stop)
        try:
            await worker.run(tick, stopping)
        finally:
            await resolver.stop()
    return worker.why


def _application(plan: Plan, settings: Settings, bus: Bus, clock: Clock, calls: Calls) -> Hosted | HostedApart:
    """The application of a worker: the object that was given, or one that is made, here or in a process of its own."""
    running = settings.running
    if plan.application is None and running.application_apart:
        options = list(running.application_options)
        orders = Orders(running.application, options, settings.reading, settings.identity.product)
        seconds = running.application_seconds
        return HostedApart(orders, bus, strict=running.strict_application, seconds=seconds, calls=calls)
    application, name = plan.application, type(plan.application).__name__
    if application is None:
        application, name = made(running.application, running.application_options), running.application
    return Hosted(Caller(application, name, clock.wall), bus, strict=running.strict_application, calls=calls)


def _local_frontier(
    plan: Plan,
    settings: Settings,
    politeness: Politeness,
    path: Path,
    secret: bytes,
    clock: Clock,
    note: Callable[[int, str], None],
    say: Callable[[str], None],
) -> LocalFrontier:
    """A worker's own frontier, as it is before its log is read."""
    return LocalFrontier(
        Terms(
            ordering=ordering_of(plan),
            politeness=politeness,
            selection=settings.selection,
            retries=settings.retries,
            overrides=settings.overrides,
            rules=settings.urls,
            agent=settings.identity.product,
            secret=secret,
            reranking=Reranking(
                pages=settings.running.rerank,
                delay=settings.running.rerank_delay,
                iterations=settings.running.rerank_iterations,
            ),
            weights=settings.weights,
            size_copies=settings.running.size_copies,
            oracle=oracle_of(plan, secret),
            seed=settings.running.random_seed,
            private=plan.private,
            checkpoint_after=settings.limits.checkpoint_bytes,
            bound=_bound(settings, scored=ordering_of(plan).scored),
        ),
        path=path,
        clock=clock,
        note=note,
        say=say,
    )


def _bound(settings: Settings, *, scored: bool) -> Bound | None:
    """How much a worker knows at a time, if that is bounded."""
    memory, known = settings.running.memory, settings.running.most_known
    if memory is None and known is None:
        return None
    bound = bound_of(memory or 0, known=known, most=CAPACITY, scored=scored)
    return bound if memory is not None else bound._replace(memory=0)


def _tell_of_outages(event: Event, say: Callable[[str], None]) -> None:
    """Say when nobody can be reached, and when somebody is again."""
    if isinstance(event, OutageBegan):
        say(f"nobody can be reached: {event.cause}; sites wait, nothing counts against them, and weft tries again")
    elif isinstance(event, OutageEnded):
        say(f"somebody was reached after {event.seconds:.0f} s; the crawl goes on")


def _tell_of_losses(frontier: LocalFrontier, bus: Bus) -> None:
    """Say what was found amiss when the log was read back."""
    if frontier.commits.lost:
        said = f"commits were lost; these sites are visited again: {', '.join(frontier.commits.lost)}"
        bus.report(WeftError(said), "after a crash")
    if set_back := frontier.commits.set_back:
        said = f"the machine's clock went back by {set_back:.0f} s; waits are counted as if no time had passed"
        bus.report(WeftError(said), "the clock")


_collecting = threading.Lock()
_seldom: list[tuple[int, int, int]] = []  # for each crawl in this process: what was usual before


@contextmanager
def rare_collections() -> Iterator[None]:
    """Have Python look for cycles seldom, and not in what is loaded: pages hold none, each look costs caches.

    Two crawls may run in two threads: the first to begin changes it, and the last to end changes it back.
    """
    with _collecting:
        _seldom.append(_seldom[0] if _seldom else gc.get_threshold())
        if len(_seldom) == 1:
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        with _collecting:
            usual = _seldom.pop()
            if not _seldom:
                gc.set_threshold(*usual)
                gc.unfreeze()


def _warcinfo(settings: Settings, out: Path) -> dict[str, str]:
    """What a volume says of itself: the names that WARC 1.1 takes from DCMI, as other crawlers write them."""
    identity = settings.identity
    info = {
        "software": f"weft/{__version__}",
        "hostname": platform.node(),
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "operator": identity.operator or identity.contact,
        "isPartOf": identity.collection or out.resolve().name,
        "description": identity.description,
        "robots": settings.selection.robots,
        "http-header-user-agent": identity.user_agent,
    }
    return {name: " ".join(value.split()) for name, value in info.items() if value}


def _begun(
    shared: Exchanging, number: int, vitals: Vitals, clock: Clock, longest: float, lease: float
) -> tuple[float, Begun]:
    """Begin, as soon as the global frontier answers; it is waited for so long. When it was asked, and its answer."""
    until = clock.now() + longest
    while True:
        asked = clock.elapsed()
        try:
            return asked, shared.begin(number, lease)
        except FrontierAwayError:
            if clock.now() > until:
                raise
        vitals.beat()


class _Pulse:
    """Signs of life while a long log is read back: for this machine, and for the global frontier."""

    def __init__(self, shared: Exchanging, worker: int, vitals: Vitals, clock: Clock) -> None:
        self._shared = shared
        self._worker = worker
        self._vitals = vitals
        self._clock = clock
        self._last = clock.now()

    def beat(self) -> None:
        """Still alive."""
        now = self._clock.now()
        if now - self._last > _BEAT:
            self._last = now
            self._vitals.beat()
            with suppress(FrontierAwayError):  # its own signs are for others, and it is asked again
                self._shared.touch(self._worker)


class _Faults:
    """Writes down what went wrong inside, with the traceback; the first of each kind is said at once."""

    def __init__(self, path: Path, clock: Clock, say: Callable[[str], None], rotation: Rotation) -> None:
        self._path = path
        self._clock = clock
        self._rotation = rotation
        self._say = say
        self._said: set[str] = set()

    def on_event(self, event: Event) -> None:
        if not isinstance(event, Fault):
            return
        self._rotation.put_aside(self._path)
        with writing(self._path), self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{self._clock.wall():.3f} {event.where}\n{''.join(traceback.format_exception(event.error))}\n")
        if isinstance(event.error, WeftError):
            self._say(f"{event.where}: {event.error}")
            return
        what = described(event.error)
        kind = f"{type(event.error).__name__} {what.rpartition(' (')[2]}"  # its class and its line
        if kind not in self._said:
            self._said.add(kind)
            who = "the application" if event.of_application else "weft itself"
            self._say(f"{who} failed on {event.where}: {what}; the traceback, and further ones, are in {self._path}")


def main(arguments: list[str]) -> int:
    """Run as a process of its own, which ends with the one that started it."""
    out, number, parent = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    die_with_parent(parent)
    without_pandas()

    def say(text: str) -> None:
        print(f"weft: worker {number}: {text}", file=sys.stderr, flush=True)

    loading.missing = lambda name: say(f"{name} is compiled in the middle of a crawl, which stands still meanwhile")
    try:
        plan = stored_plan(out)
        shared = open_frontier(out, patience=TRY)
        try:
            with rare_collections():
                uvloop.run(work(plan, number, shared, SystemClock(), lambda _statistics: None, say))
        finally:
            shared.close()
    except WeftError as error:
        say(str(error))
        return error.exit_code
    except ApplicationEndedError as error:  # the watchdog starts another
        say(str(error))
        return _FAULT
    except Exception as error:  # noqa: BLE001  an internal error: the watchdog starts another
        traceback.print_exc()
        say(described(error))
        return _FAULT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
