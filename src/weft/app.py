"""The wiring: the only file that names the concrete classes of several rooms. In: seeds, a directory, settings.
Out: a crawl.

Everything that can be wrong with a command is found out before anything is written.
"""

from __future__ import annotations

import asyncio
import dataclasses
import fcntl
import gc
import hashlib
import os
import platform
import random
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from weft.clock import Clock, SystemClock
from weft.config import SECTIONS, Settings
from weft.engine.application import Application, Together
from weft.engine.exchange import Asker
from weft.engine.gate import Gate
from weft.engine.network import LiveNetwork
from weft.engine.progress import Counts, Progress
from weft.engine.wires import Wires
from weft.engine.worker import Worker
from weft.errors import UsageError, WeftError
from weft.events import Bus, Event, Fault
from weft.fetch.dns import Resolver
from weft.fetch.transport import Transport
from weft.frontier.local import LocalFrontier
from weft.frontier.log import DEEPEST
from weft.frontier.scope import Scope
from weft.model import Kind
from weft.ordering import Ordering, ordering_named
from weft.ordering.priority import Priority
from weft.parse.page import Parser
from weft.settings import load_toml
from weft.store.log import CrawlLog
from weft.store.recover import known_contents, seal_leftovers
from weft.store.store import Store
from weft.store.volumes import writing
from weft.urls import host_of, is_loopback, is_loopback_name, literal_address, normal_form, site_of
from weft.version import __version__

# Settings that make a crawl what it is: another run in the same directory must have the same.
_FIXED = ("selection", "urls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A crawl to be run."""

    seeds: list[str]  # in normal form
    out: Path
    settings: Settings
    application: Application | Together | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came of a run."""

    out: Path
    why: str  # it stopped: done, interrupted, page limit …
    counts: Counts
    reasons: dict[str, int]
    refused: dict[str, int]
    statuses: dict[int, int]
    pending: int
    known: int
    sites: int
    pages_per_second: float
    seeds_refused: dict[str, str]


Watch = Callable[[Progress, LocalFrontier], None]


def usable_seeds(texts: Iterable[str], *, where: str, strict: bool = False) -> tuple[list[str], list[str]]:
    """The seeds in normal form, and a line for each one that cannot be used. A host name alone means its home page.

    >>> usable_seeds(["example.org", "mailto:x"], where="the command line")
    (['http://example.org/'], ["the command line, line 2: scheme: 'mailto:x'"])
    """
    seeds: dict[str, None] = {}
    unusable = []
    for number, text in enumerate(texts, 1):
        written = text.strip()
        if not written or written.startswith("#"):
            continue
        url = normal_form(written if ":" in written.partition("/")[0] else f"http://{written}")
        if type(url) is str:
            seeds[url] = None
        else:
            unusable.append(f"{where}, line {number}: {url}: {written!r}")
    if unusable and strict:
        raise UsageError(
            f"{len(unusable)} seeds cannot be used, the first: {unusable[0]}", todo="mend them, or leave --strict out"
        )
    if not seeds:
        first = f"; the first: {unusable[0]}" if unusable else ""
        raise UsageError(
            f"there is no seed that can be used{first}", where=where, todo="give URLs such as https://example.org/"
        )
    return list(seeds), unusable


def crawl(
    seeds: Iterable[str],
    out: str | Path,
    *,
    application: Application | Together | None = None,
    watch: Watch | None = None,
    **settings: Any,
) -> Summary:
    """Crawl from Python: the same as `weft crawl`, each setting by its name. An application chooses what to request.

    With an application the scope is `all` and the depth has no limit unless they are given: what is crawled is the
    application's choice.
    """
    usable, _ = usable_seeds(seeds, where="the seeds", strict=True)
    if application is not None:
        settings = {"scope": "all", "max_depth": DEEPEST, "max_depth_dynamic": DEEPEST} | settings
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
    chosen = Settings().with_values(plain, where="weft.crawl")
    return run(Plan(seeds=usable, out=Path(out), settings=chosen, application=application), watch=watch)


def run(plan: Plan, *, clock: Clock | None = None, watch: Watch | None = None) -> Summary:
    """Run a crawl, or go on with the one in its directory, until it is done or stopped."""
    clock = clock or SystemClock()
    settings = plan.settings
    if settings.running.workers != 1:
        raise UsageError(f"{settings.running.workers} workers were asked for", todo="this release has one: --workers 1")
    ordering: Ordering = Priority() if plan.application is not None else ordering_named(settings.running.ordering)
    gate = Gate(settings.identity, [host_of(site_of(url)) for url in plan.seeds])
    refused = _refused_seeds(plan)
    uvloop.run(_check_network(plan, clock))
    _check_directory(plan)
    with _locked(plan.out), _rare_collections():
        _write_settings(plan)
        summary = uvloop.run(_run(plan, ordering, gate, clock, watch or (lambda _progress, _frontier: None)))
    return dataclasses.replace(summary, seeds_refused=refused)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Have Python look for cycles seldom, and not in what is loaded: pages hold none, each look costs caches."""
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


async def _run(plan: Plan, ordering: Ordering, gate: Gate, clock: Clock, watch: Watch) -> Summary:
    settings, out = plan.settings, plan.out
    loop = asyncio.get_running_loop()
    own = out / "workers" / "0"
    own.mkdir(parents=True, exist_ok=True)
    chance = random.Random(f"{settings.running.random_seed} {clock.wall()}")
    store = Store(
        out,
        settings.storing,
        info=_warcinfo(settings),
        chance=chance,
        url_of=lambda url_id: frontier.url_of(url_id),  # noqa: PLW0108  it is made below
    )
    frontier = LocalFrontier(
        path=own / "frontier.log",
        clock=clock,
        ordering=ordering,
        politeness=settings.politeness,
        selection=settings.selection,
        retries=settings.retries,
        overrides=settings.overrides,
        rules=settings.urls,
        agent=settings.identity.product,
        note=store.note_url,
    )
    last = frontier.recover()
    seal_leftovers(out, last.lengths if last is not None else {})
    known_contents(out, store.digests)
    progress = Progress(clock, msgspec.msgpack.decode(last.counts, type=Counts) if last is not None else None)
    if last is None:
        for seed in plan.seeds:  # all of them first: together they make the scope
            frontier.admit(seed)
        for seed in plan.seeds:
            frontier.add_seed(seed)
    bus = Bus()
    log = CrawlLog(out / "log" / "crawl.log")
    bus.subscribe(progress.on_event)
    bus.subscribe(log.on_event)
    bus.subscribe(_Faults(out / "log" / "faults.log", clock).on_event)
    resolver = Resolver(loop, clock, settings.naming)
    transport = Transport(loop, clock, settings.fetching)
    wires = Wires(
        clock=clock,
        network=LiveNetwork(transport, resolver, settings.fetching),
        frontier=frontier,
        parser=Parser(settings.reading, settings.identity.product),
        store=store,
        asker=Asker(
            settings.identity.user_agent,
            frontier.scope.wanted,
            max_bytes=settings.selection.max_bytes_page,
            encodings=settings.fetching.accept_encoding,
        ),
        gate=gate,
        bus=bus,
        politeness=settings.politeness,
        application=plan.application,
        verify_tls=settings.fetching.verify_tls,
        sitemaps=settings.selection.sitemaps,
    )
    worker = Worker(wires, progress, settings.limits)

    def tick() -> None:
        log.flush()
        watch(progress, frontier)

    try:
        await worker.run(tick)
        store.seal()
    finally:
        transport.stop()
        await resolver.stop()
        log.close()
        frontier.close()
    return Summary(
        out=out,
        why=worker.why,
        counts=progress.counts,
        reasons={reason.value: count for reason, count in progress.reasons.most_common()},
        refused={reason.value: count for reason, count in (frontier.found.refused + frontier.refused).most_common()},
        statuses=dict(progress.statuses.most_common()),
        pending=frontier.schedule.pending,
        known=frontier.known,
        sites=len(frontier.found.names),
        pages_per_second=progress.overall_rate(),
        seeds_refused={},
    )


def _refused_seeds(plan: Plan) -> dict[str, str]:
    """The seeds that a rule refuses, with the reason; that all of them are is an error."""
    scope = Scope(plan.settings.selection)
    answers = {seed: scope.refusal(seed, site_of(seed), Kind.SEED, 0) for seed in plan.seeds}
    refused = {seed: reason.value for seed, reason in answers.items() if reason is not None}
    if len(refused) == len(plan.seeds):
        first, reason = next(iter(refused.items()))
        raise UsageError(
            f"every seed is refused by a rule, the first ({first}): {reason}", todo="change the rules or the seeds"
        )
    return refused


def _warcinfo(settings: Settings) -> dict[str, str]:
    info = {
        "software": f"weft/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "http-header-user-agent": settings.identity.user_agent,
        "robots": settings.selection.robots,
        "hostname": platform.node(),
    }
    if settings.identity.contact:
        info["operator"] = settings.identity.contact
    return info


class _Faults:
    """Writes down where weft itself failed, with the traceback."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def on_event(self, event: Event) -> None:
        if isinstance(event, Fault):
            with self._path.open("a", encoding="utf-8") as file:
                file.write(
                    f"{self._clock.wall():.3f} {event.where}\n{''.join(traceback.format_exception(event.error))}\n"
                )


async def _check_network(plan: Plan, clock: Clock) -> None:
    """Can the name servers be used? And without a contact nothing but this machine may be crawled: say so first."""
    resolver = Resolver(asyncio.get_running_loop(), clock, plan.settings.naming)
    identity = plan.settings.identity
    try:
        if identity.contact or identity.agent:
            return
        for host in {host_of(site_of(url)) for url in plan.seeds}:
            literal = literal_address(host)
            if (literal is not None and is_loopback(literal)) or is_loopback_name(host):
                continue
            answer = None
            if literal is None:
                future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                resolver.resolve(host, future.set_result)
                answer = await future
            if answer is None or not answer.addresses or not all(map(is_loopback, answer.addresses)):
                known = answer is None or answer.addresses
                raise UsageError(
                    f"no contact is given, and {host} {'is not on this machine' if known else 'cannot be resolved'}",
                    todo="give --contact with a URL or mail address where webmasters can reach you",
                )
    finally:
        await resolver.stop()


# The crawl's directory.


def _check_directory(plan: Plan) -> None:
    """Is the directory new, or does it hold this very crawl?"""
    out = plan.out
    record = out / "crawl.toml"
    if not record.exists():
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError("this is not empty, and no crawl of ours", where=str(out), todo="choose another --out")
        return
    known = load_toml(record)
    mine = {"ordering": _ordering_name(plan), "seeds": _digest(plan.seeds)}
    for name, value in mine.items():
        was = known.get("crawl", {}).get(name)
        if was != value:
            said = f"its {name} was {was}, and is now {value}" if name != "seeds" else "its seeds are others"
            raise _foreign(out, said)
    before = Settings().with_file(record)
    for section in _FIXED:
        for name in SECTIONS[section]:
            was, value = (getattr(getattr(held, section), name) for held in (before, plan.settings))
            if was != value:
                raise _foreign(out, f"its {name} was {was!r}, and is now {value!r}")


def _foreign(out: Path, difference: str) -> UsageError:
    return UsageError(
        f"this directory belongs to another crawl: {difference}",
        where=str(out),
        todo="choose another --out, or repeat the command it was begun with",
    )


def stored_plan(out: Path) -> Plan:
    """The crawl in a directory, as it was begun."""
    record = out / "crawl.toml"
    if not record.exists():
        raise UsageError(
            "there is no crawl here", where=str(out), todo="give seeds to begin one, or the right directory"
        )
    seeds = (out / "seeds.txt").read_text(encoding="utf-8").split()
    return Plan(seeds=seeds, out=out, settings=Settings().with_file(record))


def _ordering_name(plan: Plan) -> str:
    return "priority" if plan.application is not None else plan.settings.running.ordering


def _digest(seeds: list[str]) -> str:
    return hashlib.sha256("\n".join(sorted(seeds)).encode()).hexdigest()[:16]


def _write_settings(plan: Plan) -> None:
    """Write the settings as resolved, beside and then in place."""
    head = (
        f"# A crawl by weft {__version__}. The settings as they were resolved; run the same command again to go on.\n\n"
        f'[crawl]\nversion = "{__version__}"\nordering = "{_ordering_name(plan)}"\nseeds = "{_digest(plan.seeds)}"\n\n'
    )
    for name, text in (("seeds.txt", "\n".join(plan.seeds) + "\n"), ("crawl.toml", head + plan.settings.to_toml())):
        path = plan.out / name
        with writing(path):
            beside = path.with_suffix(path.suffix + ".new")
            beside.write_text(text, encoding="utf-8")
            beside.rename(path)


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Keep a second crawl out of the directory."""
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(out / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise WeftError(
                "another weft crawl is running in this directory", where=str(out), todo="wait for it, or stop it first"
            ) from error
        yield
    finally:
        os.close(handle)
