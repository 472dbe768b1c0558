"""The crawl as a whole: from a command to its result. In: seeds, a directory, settings. Out: a crawl.

Everything that can be wrong with a command is found out before anything is written. Then the global frontier is
made or opened, and workers are started under a watchdog; `work.py` has the wiring of one worker.
"""

from __future__ import annotations

import base64
import dataclasses
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from weft.clock import Clock, SystemClock
from weft.config import Settings
from weft.directory import Plan, check_directory, locked, remove_crawl, secret_of, write_settings
from weft.engine.calls import call_of, forget_harm
from weft.engine.messages import Messages
from weft.engine.progress import Counts, Statistics, most_first, together
from weft.engine.stopping import Stopping
from weft.engine.vitals import forget_left_out, left_out, note_left_out, signs_of
from weft.engine.watchdog import MANY_PER_CORE, MOST_PER_CORE, Watchdog
from weft.errors import UsageError
from weft.examining import examined
from weft.frontier.shared.contract import (
    ALL_AT_ONCE,
    SEEDS_FIRST,
    STOPPED,
    FrontierAwayError,
    Limits,
    Restart,
    SharedFrontier,
)
from weft.frontier.shared.opening import (
    check_frontier,
    create_frontier,
    frontier_exists,
    make_private,
    open_frontier,
)
from weft.handover import Handed, hand_over, hand_over_left
from weft.membership import Membership, come_back, join
from weft.operations.telling import telling
from weft.processes import kept_waiting
from weft.readiness import make_ready
from weft.soundness import check_sound
from weft.store.gathering import waiting_volumes
from weft.store.rotation import Rotation, reopened_on_signal
from weft.store.stored import stored_volumes
from weft.upgrading import bring_up, check_format
from weft.uploading import check_uploading, uploading
from weft.urls import (
    completed,
    credentials_of,
    normal_form,
    site_of,
    without_credentials,
)
from weft.widening import note_rules, widen

Watch = Callable[[Statistics], None]
T = TypeVar("T")
# How workers get memory: Arrow's own pool and an arena a thread keep tens of megabytes that are hardly ever used.
_SPARING = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}

_LONGEST_SHOWN = 80  # characters of a line that is no seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came of a run."""

    out: Path
    why: str  # it stopped: done, page limit, time limit, byte limit, stopped, interrupted, terminated
    counts: Counts  # over all runs
    fetched: int  # in this run, whatever came of it
    reasons: dict[str, int]
    refused: dict[str, int]
    statuses: dict[int, int]
    pending: int
    known: int
    sites: int
    pages_per_second: float
    seeds_refused: dict[str, str]
    restarts: list[Restart]  # of workers, over all runs: the last ones
    restarted: int  # how many there were
    max_bytes_page: int = 0  # where bodies are cut
    out_of_use: dict[str, str] = dataclasses.field(default_factory=dict)  # directories for volumes, with what is wrong
    left_out: dict[int, str] = dataclasses.field(default_factory=dict)  # workers that kept dying in this run, with why
    stored: int = 0  # volumes that moved to a store
    unstored: int = 0  # sealed ones that are still to

    @property
    def failed(self) -> bool:
        """Did not one page come, though nobody stopped the crawl?"""
        return self.counts.good == 0 and self.why not in (STOPPED, "interrupted", "terminated", "cancelled")


def usable_seeds(
    texts: Iterable[str], *, where: str, strict: bool = False, credentials: dict[str, str] | None = None
) -> tuple[list[str], list[str]]:
    """The seeds in normal form, and a line for each one that cannot be used. A host name alone means its home page.

    User names and passwords in them go into `credentials`, by site; without it, such seeds cannot be used.

    >>> usable_seeds(["example.org", "mailto:x"], where="the command line")
    (['http://example.org/'], ["the command line, line 2: scheme: 'mailto:x'"])
    """
    seeds: dict[str, None] = {}
    unusable = []
    for number, text in enumerate(texts, 1):
        written = text.strip()
        if not written or written.startswith("#"):
            continue
        whole = completed(written)
        bare, found = (whole, None) if credentials is None else credentials_of(whole)
        url = normal_form(bare)
        if type(url) is not str:
            shown = without_credentials(written)
            cut = "…" if len(shown) > _LONGEST_SHOWN else ""
            unusable.append(f"{where}, line {number}: {url}: {shown[:_LONGEST_SHOWN]!r}{cut}")
            continue
        seeds[url] = None
        if found is not None and credentials is not None:
            _note_credentials(credentials, site_of(url), ":".join(found))
    if unusable and strict:
        raise UsageError(
            f"{len(unusable)} seeds cannot be used, the first: {unusable[0]}", todo="mend them, or leave --strict out"
        )
    if not seeds:
        what = f"there is no seed that can be used; the first: {unusable[0]}" if unusable else "there is no seed at all"
        raise UsageError(what, where=where, todo="give URLs such as https://example.org/")
    return list(seeds), unusable


def _note_credentials(credentials: dict[str, str], site: str, found: str) -> None:
    if credentials.setdefault(site, found) != found:
        raise UsageError(
            "seeds of one site carry different user names or passwords", where=site, todo="give one of them"
        )


def with_credentials(settings: Settings, credentials: dict[str, str]) -> Settings:
    """The same settings with the user names and passwords of seeds as headers of their sites (RFC 7617)."""
    changed = {}
    for site, found in credentials.items():
        own = settings.overrides.of(site)
        basic = f"Basic {base64.b64encode(found.encode()).decode()}"
        changed[site] = dataclasses.replace(own, headers={**(own.headers or {}), "Authorization": basic})
    if not changed:
        return settings
    overrides = dataclasses.replace(settings.overrides, sites={**settings.overrides.sites, **changed})
    return dataclasses.replace(settings, overrides=overrides)


def run(
    plan: Plan,
    *,
    clock: Clock | None = None,
    watch: Watch | None = None,
    show: Callable[[str], None] | None = None,
    stopping: Stopping | None = None,
) -> Summary:
    """Run a crawl, or go on with the one in its directory, until it is done or stopped.

    `watch` is told how it goes, a few times a second; `show` what there is to say, line by line. No event loop may run
    in the thread. Signals stop the crawl where they come to it; `stopping` does from any thread.
    """
    clock, stopping = clock or SystemClock(), stopping or Stopping()
    plan = _with_whole_paths(plan)
    ordering, refused = examined(plan, clock)
    revealed = plan.settings.revealed()
    check_uploading(plan.settings.storing.store)
    if plan.fresh:
        remove_crawl(plan.out)
    _check_place(plan)
    wanted = _workers(plan)
    with (
        telling(revealed.reporting, clock, revealed.identity.contact) as told,
        locked(plan.out),
        reopened_on_signal(plan.out / "log" / "crawl.log"),
    ):
        messages, storing = _messages(plan, clock, show or _print), plan.settings.storing
        bring_up(plan.out, messages.say)
        come_back(plan.out, messages.say)
        _check_sound(plan.out, clock)
        note_rules(plan.out)
        _begin_anew(plan.out)
        write_settings(plan, clock)
        _warn_of_many(wanted, messages)
        if not plan.joins and not frontier_exists(plan.out):
            create_frontier(plan.out, by_size=ordering.by_size, seeds=plan.seeds, phase=_first_phase(plan))
        if plan.private:  # the cookies of a login may go through it
            make_private(plan.out)
        join(plan)
        _get_ready(plan, messages)  # it may take minutes, and others wait for nobody who is not ready
        shared = open_frontier(plan.out, clock)
        try:
            workers = wanted or _enough(plan, shared)
            shared.prepare(
                workers,
                _limits(plan),
                speed=plan.settings.running.speed or None,
                watched=workers > 1 or plan.watched,
            )
            for handed in hand_over(plan.out, shared, workers, plan.settings, clock):
                messages.say(str(handed))
            member = Membership(plan, shared, clock, messages.say, stopping)
            member.check_rules()
            for widened in widen(plan, shared):
                messages.say(widened)
            before = _together(shared).counts.fetches
            watch = watch or (lambda _statistics: None)
            with told.of(plan.out, messages.say):
                with uploading(plan.out, storing.store, clock, messages) as look, member.watched() as hear:
                    seen = _both(watch, look, hear)
                    if workers == 1 and not plan.watched:
                        why = _worked(plan, clock, seen, messages, stopping)
                    else:
                        why = _watched(plan, workers, shared, clock, seen, messages, stopping)
                total = _together(shared)
                total.pending += shared.waiting()
                shared.end(why)
                member.leave()
            state, lists = shared.state(), shared.lists()
        finally:
            shared.close()
    return Summary(
        out=plan.out,
        why=why,
        counts=total.counts,
        fetched=total.counts.fetches - before,
        reasons=most_first(total.counts.reasons),
        refused=most_first(total.counts.refused),
        statuses=most_first(total.counts.statuses),
        pending=total.pending,
        known=total.known,
        sites=max(total.sites, lists.being_crawled + lists.crawled + lists.set_aside),  # some are with no worker now
        pages_per_second=total.counts.pages / total.counts.seconds if total.counts.seconds else 0.0,
        seeds_refused=refused,
        restarts=state.restarts,
        restarted=state.restarted,
        max_bytes_page=plan.settings.selection.max_bytes_page,
        out_of_use=total.out_of_use,
        left_out=left_out(plan.out),
        stored=len(stored_volumes(plan.out)),
        unstored=len(waiting_volumes(plan.out)) if storing.store else 0,
    )


def begin(plan: Plan, clock: Clock | None = None) -> None:
    """Begin a crawl in a database, for nodes to join: none runs, and this machine keeps nothing."""
    clock = clock or SystemClock()
    plan = _with_whole_paths(plan)
    ordering, _ = examined(plan, clock)
    with tempfile.TemporaryDirectory(prefix="weft-cluster-") as room:
        check_frontier(Path(room), plan.settings.running.frontier)
        write_settings(dataclasses.replace(plan, out=Path(room)), clock)
        create_frontier(Path(room), by_size=ordering.by_size, seeds=plan.seeds, phase=_first_phase(plan))


def _first_phase(plan: Plan) -> int:
    return SEEDS_FIRST if plan.settings.selection.expansion else ALL_AT_ONCE


def _messages(plan: Plan, clock: Clock, show: Callable[[str], None]) -> Messages:
    storing = plan.settings.storing
    rotation = Rotation(storing.log_bytes, storing.log_keep, clock)
    return Messages(plan.out / "log" / "messages.log", clock, show, rotation, storing.log)


def _with_whole_paths(plan: Plan) -> Plan:
    """The same with directories that mean the same for everybody, wherever they are."""
    storing = plan.settings.storing
    given = (part for each in storing.volumes for part in each.split(",") if part)
    whole = dataclasses.replace(
        storing,
        volumes=tuple(str(Path(each).absolute()) for each in given),
        known=tuple(str(Path(each).absolute()) for each in storing.known),
    )
    selection = plan.settings.selection
    if selection.duphosts:
        selection = dataclasses.replace(selection, duphosts=str(Path(selection.duphosts).absolute()))
    return dataclasses.replace(plan, settings=dataclasses.replace(plan.settings, storing=whole, selection=selection))


def _get_ready(plan: Plan, messages: Messages) -> None:
    """Compile what workers need, and have them know the contents of earlier crawls."""
    make_ready("crawl", keep=messages.keep)
    known = plan.settings.storing.known
    if known:
        from weft.store.known import take_in  # compiled code, which most watchdogs do without

        take_in(plan.out / "contents", secret_of(plan.out), known, messages.say)


def _begin_anew(out: Path) -> None:
    """What did harm in the run before may have been mended."""
    for own in (out / "workers").glob("*"):
        forget_harm(own)
        forget_left_out(own)


def _check_place(plan: Plan) -> None:
    """Can this very crawl be begun, or gone on with, where it is to be?"""
    check_format(plan.out)
    check_directory(plan)
    check_frontier(plan.out, plan.settings.running.frontier, plan.joins)


def _both(watch: Watch, *looks: Callable[[], None]) -> Watch:
    def seen(statistics: Statistics) -> None:
        for look in looks:
            look()
        watch(statistics)

    return seen


def _limits(plan: Plan) -> Limits:
    limits = plan.settings.limits
    return Limits(max_pages=limits.max_pages, max_bytes=limits.max_bytes, max_time=limits.max_time)


def _check_sound(out: Path, clock: Clock) -> None:
    """Is everything there that was committed? Nothing is written before that is known."""
    shared = open_frontier(out, clock, read_only=True) if frontier_exists(out) else None
    try:
        check_sound(out, shared)
    finally:
        if shared is not None:
            shared.close()


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _workers(plan: Plan) -> int:
    """How many workers are asked for; 0: as many as are of use."""
    wanted = plan.settings.running.workers
    if plan.application is not None:
        if wanted > 1:
            raise UsageError(
                f"{wanted} workers were asked for, and the application is an object, which has one",
                todo="leave workers out, or name the application as module:Class",
            )
        return 1
    cores = len(os.sched_getaffinity(0))
    if wanted > cores * MOST_PER_CORE:
        raise UsageError(
            f"{wanted} workers were asked for, and there are {cores} cores",
            todo=f"give at most {cores * MOST_PER_CORE}, or leave workers out for one per core: "
            "a worker keeps a core busy and has hundreds of connections",
        )
    return wanted if wanted or plan.watched else 1


def _warn_of_many(workers: int, messages: Messages) -> None:
    cores = len(os.sched_getaffinity(0))
    if workers > cores * MANY_PER_CORE:
        messages.say(f"{workers} workers on {cores} cores: fewer would be faster (one per core is usual)")


def _enough(plan: Plan, shared: SharedFrontier) -> int:
    """One worker per core, but no more than there are groups, where the scope lets no others in: a group has one."""
    cores, selection = len(os.sched_getaffinity(0)), plan.settings.selection
    open_to_others = selection.scope in ("tld", "all") or selection.domains
    return cores if open_to_others else max(1, min(cores, shared.groups()))


def _worked(plan: Plan, clock: Clock, watch: Watch, messages: Messages, stopping: Stopping) -> str:
    """Run the one worker in this process."""
    import uvloop

    from weft.work import TRY, rare_collections, work

    shared = open_frontier(plan.out, clock, patience=TRY)
    try:
        with rare_collections():
            return uvloop.run(work(plan, shared.first, shared, clock, watch, messages.say, stopping))
    finally:
        shared.close()


def _watched(
    plan: Plan,
    workers: int,
    shared: SharedFrontier,
    clock: Clock,
    watch: Watch,
    messages: Messages,
    stopping: Stopping,
) -> str:
    """Run the workers as processes of their own, under a watchdog."""

    def start(number: int) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C is for the watchdog alone, which tells the workers to stop.
        command = [sys.executable, "-m", "weft.work", str(plan.out), str(number), str(os.getpid())]
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=_SPARING | os.environ,
        )

    watchdog = Watchdog(
        workers,
        start=start,
        signs=lambda: signs_of(plan.out / "workers"),
        settings=plan.settings.watching,
        clock=clock,
        messages=messages,
        on_restart=lambda restart: _unless_away(lambda: shared.note_restart(restart), None),
        is_over=lambda: _unless_away(lambda: bool(shared.state().over), False),
        doing=lambda number: call_of(plan.out / "workers" / str(number)),
        waited=kept_waiting,
        crew=_Crew(plan, shared, clock, messages),
        first=shared.first,
    )
    watchdog.run(lambda: _unless_away(lambda: watch(_together(shared)), None), stopping)
    return watchdog.why or shared.state().over


def _unless_away(ask: Callable[[], T], otherwise: T) -> T:
    """What is found out if the global frontier answers: workers live on while it does not, and so do we."""
    try:
        return ask()
    except FrontierAwayError:
        return otherwise


class _Crew:
    """The workers of a run, whose number the operator may change while it runs."""

    def __init__(self, plan: Plan, shared: SharedFrontier, clock: Clock, messages: Messages) -> None:
        self._plan = plan
        self._shared = shared
        self._clock = clock
        self._messages = messages

    def wanted(self) -> int:
        """How many the operator wants; 0: nobody can say."""
        return _unless_away(lambda: self._shared.state().wanted, 0)

    def fewer(self, workers: int) -> None:
        """Those above leave when they are heard of next."""
        self._shared.resize(workers)

    def left(self, workers: int) -> None:
        """What they held can be checked out by the others."""
        self._say(hand_over_left(self._plan.out, self._shared, workers, self._plan.settings, self._clock), workers)

    def leave_out(self, worker: int, why: str) -> None:
        """A worker that does not run is not started again; what it held can be checked out by the others."""
        note_left_out(self._plan.out / "workers" / str(worker), why)
        self._shared.leave_out(worker)
        workers = sum(each.in_run for each in self._shared.workers())
        self._say(hand_over_left(self._plan.out, self._shared, workers, self._plan.settings, self._clock), workers)

    def more(self, workers: int) -> None:
        """Everything can be checked out anew."""
        _begin_anew(self._plan.out)
        self._shared.resize(workers)
        self._say(hand_over(self._plan.out, self._shared, workers, self._plan.settings, self._clock), workers)

    def _say(self, handed: list[Handed], workers: int) -> None:
        for each in handed:
            self._messages.say(str(each))
        self._messages.say(f"the crawl goes on with {workers} workers")


def _together(shared: SharedFrontier) -> Statistics:
    return together(worker.statistics for worker in shared.workers() if worker.statistics)
