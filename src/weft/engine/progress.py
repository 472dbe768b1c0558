"""How far a crawl is. In: events. Out: counts and rates, for the display, the summary and the next run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

import msgspec

from weft.clock import Clock
from weft.engine.devices import Usage
from weft.events import Event, Fault, Fetched, OutageBegan, OutageEnded
from weft.model import FIRST_REQUISITE, Kind, Outcome, Reason
from weft.parse.media import Wanted, plain_type

Key = TypeVar("Key")
T = TypeVar("T")
P = ParamSpec("P")

_ROBOTS = int(Kind.ROBOTS)
_ASIDE = (_ROBOTS, int(Kind.CHECK))
_WINDOW = 10.0  # seconds over which a rate is taken
_OF_ALL = (
    "seconds",
    "cut_at",
    "outage_seconds",
    "stalled_seconds",
)  # workers run at the same time: the longest time counts


class Counts(msgspec.Struct):
    """Totals of a crawl, over all its runs."""

    pages: int = 0  # fetched and done, whatever came; robots.txt and the parts of pages not counted
    good: int = 0  # of these, with a content that can be used
    parts: int = 0  # images, style sheets, scripts: fetched and done, whatever came
    parts_good: int = 0  # of these, with a content that can be used
    parts_failed: int = 0
    parts_duplicates: int = 0
    robots: int = 0
    checks: int = 0  # requests that only looked what a site answers
    fetches: int = 0  # tried in all
    bytes: int = 0
    duplicates: int = 0
    copies: int = 0  # contents that two workers stored, because neither knew yet of the other's
    unremembered: int = 0  # contents that are stored whenever they come: there is no room to remember more
    redirects: int = 0
    faults: int = 0  # of weft itself
    application_faults: int = 0
    outages: int = 0  # times when nobody could be reached, which was no site's fault
    outage_seconds: float = 0.0  # that those took, as far as they have ended or the run has
    stalls: int = 0  # times when a worker waited for a disk, or for the store of volumes
    stalled_seconds: float = 0.0  # that those took, as far as they have ended
    seconds: float = 0.0  # that the crawl has run
    visits: int = 0  # connections that were closed
    # Seconds spent on pages, by what was done (P3, figure 7); several pages are downloaded, and wait, at once.
    downloading: float = 0.0
    parsing: float = 0.0
    storing: float = 0.0
    resting: float = 0.0  # courtesy waits that sites were given
    # The same for what is not done page by page. Names, downloads, commits, exchanges and sealing go on beside pages.
    names: int = 0  # that were asked for
    resolving: float = 0.0
    commits: int = 0
    packing: float = 0.0  # that the loop stood still for commits
    committing: float = 0.0  # until they were on disk
    sealings: int = 0  # looks at whether files are full, and what followed
    sealing: float = 0.0
    exchanges: int = 0  # with the global frontier
    exchanging: float = 0.0
    looks: int = 0  # of the loop at the time, twenty times a second
    lagging: float = 0.0  # that it came to them late
    # What the worker had of its machine.
    cpu_user: float = 0.0  # seconds, all threads together
    cpu_system: float = 0.0
    cpu_queued: float = 0.0  # in which the loop could run, and no processor was free
    disk_read: int = 0  # bytes
    disk_written: int = 0
    reasons: dict[str, int] = {}  # failures, by reason; those of robots.txt that keep a site from being visited, too
    refused: dict[str, int] = {}  # by rule
    stopped: dict[str, str] = {}  # sites and domains that are followed no further, with the reason; a thousand a worker
    statuses: dict[int, int] = {}
    truncated: dict[
        str, int
    ] = {}  # pages whose content was cut by a limit of ours: length or time; or whose coding breaks off
    parts_truncated: dict[str, int] = {}
    robots_truncated: dict[str, int] = {}  # robots.txt files: by what RFC 9309 wants to be read at least
    cut_at: int = 0  # bytes: the limit of the last run
    unwanted: dict[str, int] = {}  # by media type: answers, and links by their file name, that are not collected

    def count(self, reason: Reason) -> None:
        """Count a failure."""
        self.reasons[reason.value] = self.reasons.get(reason.value, 0) + 1

    # What took how long. Each is called by one thread alone.

    def resolved(self, seconds: float) -> None:
        """A name was asked for, and an answer came."""
        self.names += 1
        self.resolving += seconds

    def committed(self, seconds: float) -> None:
        """A commit is on disk."""
        self.commits += 1
        self.committing += seconds

    def sealed(self, seconds: float) -> None:
        """What was full was sealed."""
        self.sealings += 1
        self.sealing += seconds

    def exchanged(self, seconds: float) -> None:
        """The global frontier has answered, or has not."""
        self.exchanges += 1
        self.exchanging += seconds

    def late(self, seconds: float) -> None:
        """The loop came so much later to something than it should have."""
        self.looks += 1
        self.lagging += max(0.0, seconds)

    def use(self, usage: Usage) -> None:
        """Count in what the worker had of its machine."""
        self.cpu_user += usage.user
        self.cpu_system += usage.system
        self.cpu_queued += usage.queued
        self.disk_read += usage.read
        self.disk_written += usage.written

    def add(self, other: Counts) -> None:
        """Count in what another worker did; workers run at the same time, so the longest time counts."""
        for name in self.__struct_fields__:
            mine, more = getattr(self, name), getattr(other, name)
            if name == "stopped":
                mine.update(more)
            elif isinstance(mine, dict):
                for key, count in more.items():
                    mine[key] = mine.get(key, 0) + count
            else:
                setattr(self, name, max(mine, more) if name in _OF_ALL else mine + more)


def timed(clock: Clock, note: Callable[[float], None], work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do something, and note how long it took, whatever came of it."""
    began = clock.now()
    try:
        return work(*args, **kwargs)
    finally:
        note(clock.now() - began)


class Statistics(msgspec.Struct):
    """How a worker stands, or all of them together."""

    counts: Counts = msgspec.field(default_factory=Counts)
    pages_rate: float = 0.0  # a second, recently
    bytes_rate: float = 0.0
    active: int = 0  # sites that are being visited
    ready: int = 0
    waiting: int = 0
    aside: int = 0
    pending: int = 0  # pages
    known: int = 0  # URLs
    sites: int = 0
    memory: int = 0  # bytes
    shelved: int = 0  # groups that are put away
    moved: int = 0  # groups that went to another worker while the crawl ran
    paused: bool = False  # by the operator
    outage: str = ""  # why nobody can be reached at the moment
    outage_seconds: float = 0.0  # for how long
    stalled: str = ""  # why what was fetched cannot be put away at the moment
    stalled_seconds: float = 0.0  # for how long
    out_of_use: dict[str, str] = {}  # directories for volumes whose disk is full or fails, with what it said

    def add(self, other: Statistics) -> None:
        """Count in another worker."""
        for name in self.__struct_fields__:
            mine, more = getattr(self, name), getattr(other, name)
            if isinstance(mine, Counts):
                mine.add(more)
            elif isinstance(mine, dict):
                setattr(self, name, mine | more)
            else:
                either = isinstance(mine, bool | str)
                setattr(self, name, mine or more if either else max(mine, more) if name in _OF_ALL else mine + more)


def together(reports: Iterable[bytes]) -> Statistics:
    """What several workers report, as one."""
    total = Statistics()
    for report in reports:
        if report:
            total.add(msgspec.msgpack.decode(report, type=Statistics))
    return total


def most_first(counts: dict[Key, int]) -> dict[Key, int]:
    """Counts, the largest first."""
    return dict(sorted(counts.items(), key=lambda each: -each[1]))


class Progress:
    """Counts what happens."""

    def __init__(self, clock: Clock, counts: Counts | None = None) -> None:
        self._clock = clock
        self.counts = counts or Counts()
        self._began = clock.now()
        self._before = self.counts.seconds
        self._samples: deque[tuple[float, int, int]] = deque([(self._began, self.counts.pages, self.counts.bytes)])

    def __repr__(self) -> str:
        return f"Progress({self.counts.pages} pages, {self.counts.bytes} bytes)"

    def begin(self, max_bytes: int, wanted: Wanted) -> dict[str, int]:
        """A run begins. What the rules take by now comes in again and is no longer left out; where to count what is."""
        counts = self.counts
        if max_bytes > counts.cut_at:
            counts.truncated.pop("length", None)
            counts.parts_truncated.pop("length", None)
        counts.cut_at = max_bytes
        for name in [name for name in counts.unwanted if wanted.names(name)]:
            del counts.unwanted[name]
        return counts.unwanted

    def on_event(self, event: Event) -> None:
        """Take an event."""
        counts = self.counts
        if isinstance(event, Fetched):
            outcome = event.outcome
            kind, page, reason = outcome.turn.kind, outcome.page, outcome.reason
            counts.fetches += 1
            counts.bytes += len(page.body)
            counts.downloading += page.took
            if event.rest is not None:
                counts.visits += 1
                counts.resting += event.rest
            if kind in _ASIDE:
                self._aside(kind, reason)
                return
            if reason is not None or page.truncated or not (outcome.parsed is None or outcome.parsed.whole):
                self._not_whole(outcome)
            if kind >= FIRST_REQUISITE:
                self._part(event)
            elif outcome.final:
                counts.pages += 1
                status = page.status
                counts.statuses[status] = counts.statuses.get(status, 0) + 1
                if reason is None:
                    counts.good += status < 300
                    counts.duplicates += event.duplicate and status < 300
                    counts.redirects += 300 <= status < 400
        elif isinstance(event, Fault):
            if event.of_application:
                counts.application_faults += 1
            else:
                counts.faults += 1
        elif isinstance(event, OutageBegan):
            counts.outages += 1
        elif isinstance(event, OutageEnded):
            counts.outage_seconds += event.seconds

    def _aside(self, kind: int, reason: Reason | None) -> None:
        """A robots.txt was asked for, or a site was only looked at."""
        if kind != _ROBOTS:
            self.counts.checks += 1
            return
        self.counts.robots += 1
        if reason is not None and reason is not Reason.STATUS_4XX:
            self.counts.count(reason)  # the site cannot be visited, and its pages wait

    def _not_whole(self, outcome: Outcome) -> None:
        """A fetch failed, or its content was cut."""
        counts, page, cut = self.counts, outcome.page, outcome.page.truncated
        if not cut and outcome.parsed is not None and not outcome.parsed.whole:
            cut = "coding"
        if outcome.reason is not None:
            counts.count(outcome.reason)
            if outcome.reason is Reason.TYPE:
                said = plain_type(page.headers.get("content-type", ""))
                counts.unwanted[said] = counts.unwanted.get(said, 0) + 1
        if outcome.final and cut:
            cuts = counts.truncated if outcome.turn.kind < FIRST_REQUISITE else counts.parts_truncated
            cuts[cut] = cuts.get(cut, 0) + 1

    def _part(self, event: Fetched) -> None:
        """A part of a page was fetched."""
        outcome = event.outcome
        if outcome.final:
            counts, good = self.counts, outcome.reason is None and outcome.page.status < 300
            counts.parts += 1
            counts.parts_failed += outcome.reason is not None
            counts.parts_good += good
            counts.parts_duplicates += event.duplicate and outcome.page.status < 300

    def sample(self) -> None:
        """Look at the clock, about once a second."""
        now = self._clock.now()
        self.counts.seconds = self._before + now - self._began
        self._samples.append((now, self.counts.pages, self.counts.bytes))
        while len(self._samples) > 2 and now - self._samples[0][0] > _WINDOW:
            self._samples.popleft()

    def rates(self) -> tuple[float, float]:
        """Pages and bytes a second, recently."""
        (then, pages, amount), now = self._samples[0], self._clock.now()
        passed = now - then
        if passed <= 0:
            return 0.0, 0.0
        return (self.counts.pages - pages) / passed, (self.counts.bytes - amount) / passed
