"""The global frontier as others see it: where sites, seeds and links to sites wait that nobody has checked out.

Three protocols say all that it can do: what a worker does (`Exchanging`), what the operator does (`Operating`), and
what hands over (`HandingOver`). Every implementation must pass `tests/contract`; `opening.py` opens them.

A worker sends a report about once a second, and gets its orders. Everything between workers goes this way: sites are
checked out and in, links find the worker that holds their site, addresses are lent, and the operator is heard. The
unit of check-out is the *group*: all sites of one registered domain, because they share limits. Where networks have
limits, what is lent is a network: it comes and goes by the same words, under its own name (`politeness.lent_as`).

What a report says is of two kinds. A *batch* is part of the worker's own commit, is numbered, and is applied exactly
once however often it is sent. The rest is how things stand at the moment, and may be lost. What a worker is given comes
as *messages* in its inbox, numbered for each worker from 1 without a gap, which it is given again until it says that
they are settled in its own log.

Time is the frontier's own: its clock says when a worker was heard. What crosses is seconds from now, so that the clocks
of two machines are never compared; on its way it can only become longer, which is the polite side.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Protocol

import msgspec

from weft.errors import WeftError
from weft.model import UrlId

# --- notices: what workers tell each other ---


class Found(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="found"):
    """A link to a page of a site that the worker who found it does not hold; or a page that comes back as one."""

    url: str
    kind: int
    depth: int
    via: UrlId  # the page where it was found, `NO_ID` for a seed
    score: float | None = None  # with which the page starts, if it is new; None: as one that was found on no page
    gain: float = 0.0  # what this link, and further ones of the same commit, add to the score of the page
    again: bool = False  # to be fetched again, if its page is done: what came of it then is wanted by now
    steps: int = 0  # redirects in a row that led to it; of a sitemap or a part: such as it above it
    special: bytes = b""  # how it is asked for, `Special` encoded, where that is not just by its URL


class Gain(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="gain"):
    """Further links add to the score of a page that was told of before."""

    url: str
    amount: float


class RobotsWanted(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="wanted"):
    """The robots.txt of a site lives elsewhere, at a site of the one who is told: have it fetched."""

    url: str
    hops: int  # redirects that led there
    owner: str  # the site for which it speaks
    scheme: str  # and the scheme, there


class RobotsBrought(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="brought"):
    """A robots.txt that was wanted."""

    owner: str  # the site for which it speaks
    scheme: str
    record: bytes | None  # `RobotsRecord`, encoded; None: it could not be had


Notice = Found | Gain | RobotsWanted | RobotsBrought


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    """A group with everything that its last worker knew of it."""

    group: str
    pending: int  # pages
    content: bytes


class Batch(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one commit of a worker means to others."""

    number: int
    notices: dict[str, list[Notice]] = {}  # by group
    scope: list[str] = []  # what redirected seeds let into the scope
    claimed: list[str] = []  # groups that a worker took which is alone
    lists: dict[str, int] = {}  # sites that changed lists: BEING_CRAWLED, CRAWLED or SET_ASIDE
    moved: list[tuple[str, str]] = []  # groups that were never visited, for the worker to whom an address is lent


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker is given."""

    groups: list[str] = []  # checked out
    notices: list[Notice] = []
    parcels: list[Parcel] = []  # what is known of groups from before


# How a crawl ends by itself, or by an order. `done` says that nothing is left: no page is pending anywhere.
DONE, PAGE_LIMIT, TIME_LIMIT, BYTE_LIMIT, STOPPED = "done", "page limit", "time limit", "byte limit", "stopped"

# The lists of P3: where a site stands. What nobody has checked out is to be crawled.
BEING_CRAWLED, CRAWLED, SET_ASIDE = range(1, 4)

# The phases of a crawl (P3): all groups at once; or those of the seeds first, and when these are done the others.
ALL_AT_ONCE, SEEDS_FIRST, EXPANSION = range(3)
PHASES = ("all at once", "seeds first", "expansion")

# --- what a worker says and is told ---


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a worker stands."""

    worker: int
    incarnation: int
    batches: list[Batch] = []  # on disk, and not known to have been applied
    number: int = 0  # of the last commit that is on disk, whether it has a batch or not
    taken: int = 0  # the last message that was taken in
    settled: int = 0  # the last message that need not be kept for it
    wants: int = 0  # groups
    wanted: list[tuple[str, bool]] = []  # addresses that it would visit; and must, since sites there are its own
    released: list[tuple[str, float]] = []  # addresses given back, each with the seconds until its next visit
    idle: bool = False  # it can do nothing by itself, for lack of pages or of leave to fetch more
    starved: bool = False  # it has pages to fetch, and no leave to fetch any more
    resting: bool = False  # while seeds come first: it has none to fetch but what waits for a time of its own
    aside: int = 0  # sites that were set aside and may be tried once more
    pages: int = 0  # fetched so far
    amount: int = 0  # bytes of contents, so far
    seconds: float = 0.0  # that the crawl has run here
    pending: int = 0  # pages that wait
    rate: tuple[float, float] = (0.0, 0.0)  # pages and bytes a second, recently
    hungry: bool = False  # it would be faster if it were let
    scope: int = 0  # how many entries of the scope it knows
    rules: int = 0  # the last change of the blacklist that it knows
    version: int = 0  # how often it was heard, as far as it knows: a frontier that knows less is an old copy
    lease: float = 0.0  # seconds from now until which it visits what it holds, if it hears nothing
    statistics: bytes = b""  # for whoever asks, encoded by the worker


class Orders(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker is told."""

    applied: int = 0  # the last commit that was heard of: its batch was applied
    messages: list[Message] = []
    taken: int = 0  # the number of the last of these
    lent: list[tuple[str, float]] = []  # addresses, each with the seconds until it may be visited
    taken_already: list[str] = []  # addresses it wanted that are lent to others
    recalled: list[str] = []  # addresses that others wait for
    scope: list[str] = []  # entries behind those that it knows
    scope_at: int = 0  # how many it knows with these
    rules: list[str] = []
    rules_at: int = 0
    allowance: int | None = None  # pages it may have fetched in all; None: no limit
    speed: tuple[float | None, float | None] = (None, None)  # its share of pages and bytes a second
    paused: bool = False
    leave: bool = False  # it is taken away: finish, commit and end
    second_pass: int = 0  # how often sites that were set aside were let in again
    phase: int = ALL_AT_ONCE
    version: int = 0  # how often this worker was heard: it grows with each exchange
    over: str = ""  # why the crawl is over, if it is


class Begun(msgspec.Struct, frozen=True):
    """What a worker must know to begin."""

    incarnation: int
    applied: int  # the last of its commits that was heard of: its batch was applied
    alone: bool  # it is the only worker, and may take every group without asking
    second_pass: int = 0  # how often sites that were set aside have been let in again


# --- what the operator says and is told ---


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run ends, for all workers together; None: nowhere."""

    max_pages: int | None = None
    max_bytes: int | None = None
    max_time: float | None = None


class Restart(msgspec.Struct, frozen=True):
    """A worker that was started again."""

    worker: int
    at: float  # wall time, for people
    how: str  # it died: by which signal or exit code
    cause: str  # what it said last, or that it hung; "" where nobody knows


class CrawlState(msgspec.Struct, frozen=True, kw_only=True):
    """How a crawl stands as a whole."""

    by_size: bool  # groups are given out by the links that wait for them
    phase: int  # ALL_AT_ONCE, SEEDS_FIRST or EXPANSION
    over: str  # why the run is over; "" where nobody said so
    paused: bool
    speed: str  # the target as the operator said it; "" for none
    workers: int  # that the present run has, or the last one had
    wanted: int  # that it is to have
    watched: bool  # somebody can start and end workers while it runs
    shared_among: int | None  # for so many workers everything was handed over last
    offered_by: str | None  # the rules by which links have been offered, as `weft.widening` writes them
    restarted: int  # how often workers were started again
    restarts: list[Restart]  # the last of these


class Blacklisted(msgspec.Struct, frozen=True):
    """A rule of the blacklist, and when it held, by the frontier's clock."""

    rule: str
    since: float | None  # None where that is not known
    until: float | None  # None: it still holds


class WorkerState(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker stands, by its last report."""

    number: int
    in_run: bool  # it belongs to the present run, or to the last one
    applied: int  # the last of its commits that was heard of
    version: int  # how often it was heard
    pages: int
    pending: int
    heard: float | None  # seconds ago, by the frontier's clock; None: never
    statistics: bytes  # as it sent them
    lease: float | None = None  # seconds for which it may still visit what it holds; None where that is not kept


class Lists(msgspec.Struct, frozen=True, kw_only=True):
    """How many sites are in which list; those that nobody has checked out count by groups."""

    to_crawl: int
    being_crawled: int
    crawled: int
    set_aside: int


# --- what hands over ---


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker that does not run left to others, by its log."""

    batches: list[Batch]
    number: int  # of the last commit
    taken: int  # how far its inbox was read
    parcels: Iterable[Parcel]
    clean: bool  # it had stopped by itself
    at: float  # wall time of the machine that made the parcels: it does not run since this
    rests: dict[str, float]  # addresses, each with the seconds until it may be visited
    unwritten: float = 0.0  # the same for every other that is lent to it: it may have been there, and not written so
    pages: int  # fetched
    statistics: bytes


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """What a frontier is made of anew, when the old one is damaged."""

    state: CrawlState | None  # of the old one, as far as it can be read
    scope: list[str]
    blacklist: list[str]
    parcels: Iterable[Parcel]  # of groups, in the order of their discovery
    links: Iterable[Found]  # behind the seeds


class FrontierAwayError(WeftError):
    """The global frontier does not answer for now. Nothing was changed, or everything that was asked for: whoever
    asked asks again.
    """


def too_old(worker: int, heard: int, known: int, where: str) -> WeftError:
    """What to say of a frontier that knows less than it has confirmed."""
    return WeftError(
        f"the global frontier is older than what it has confirmed: it heard worker {worker} {heard} times, and knows "
        f"of {known}; it was put back from a copy, or lost transactions",
        where=where,
        todo="stop the crawl; put the newer database back, or have `weft repair` make the frontier anew from the "
        "crawl's directory",
    )


class Exchanging(Protocol):
    """What a worker does."""

    def begin(self, worker: int, lease: float = 0.0) -> Begun:
        """A worker starts, or starts again: whoever went by its number before is not listened to any more. It may visit
        what it holds for so many seconds before it is heard again.
        """
        ...

    def touch(self, worker: int) -> None:
        """A worker that is not yet exchanging is alive."""
        ...

    def held(self, worker: int) -> set[str]:
        """The groups of a worker."""
        ...

    def exchange(self, report: Report) -> Orders:
        """Take a worker's report and give it its orders, as one step."""
        ...

    def close(self) -> None:
        """Give back what is open."""
        ...


class Operating(Protocol):
    """What the operator does, by commands. Who runs workers is a node (`nodes.py`): where workers are spoken of, those
    of this node are meant.
    """

    @property
    def first(self) -> int:
        """The number of this node's first worker; the others follow."""
        ...

    def prepare(self, workers: int, limits: Limits, *, speed: str | None = None, watched: bool = False) -> None:
        """A run begins with so many workers; a speed that was set before holds unless another is given than to the
        last run.
        """
        ...

    def want_workers(self, count: int) -> None:
        """Have so many workers; whoever watches them starts or ends some."""
        ...

    def resize(self, workers: int) -> None:
        """So many workers belong to the run from now on; those above are told to leave."""
        ...

    def leave_out(self, worker: int) -> None:
        """A worker that does not run, and is not started again, belongs to the run no more."""
        ...

    def add(self, urls: Iterable[str], again: Container[str] = ()) -> None:
        """Add seeds to a crawl; some of them are to be fetched again."""
        ...

    def offer_again(self, links: Iterable[Found], *, scope: Iterable[str] = (), rules: str | None = None) -> int:
        """Bring links that were refused before, and note the rules by which they are offered, as one step; how many
        they were.
        """
        ...

    def note_rules(self, rules: str) -> None:
        """Note the rules by which links have been offered."""
        ...

    def blacklist(self) -> list[str]:
        """The rules of the blacklist."""
        ...

    def blacklist_history(self) -> list[Blacklisted]:
        """Every rule that is, or was, on the blacklist."""
        ...

    def change_blacklist(self, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Change the rules; workers hear of it with their next exchange."""
        ...

    def set_speed(self, speed: str) -> None:
        """Set the target, for all workers together."""
        ...

    def pause(self, *, paused: bool) -> None:
        """Have no more pages fetched, or go on."""
        ...

    def stop(self, why: str) -> None:
        """End the run, as if by a limit."""
        ...

    def end(self, why: str) -> None:
        """The run has ended."""
        ...

    def note_restart(self, restart: Restart) -> None:
        """Write down that a worker was started again, and why."""
        ...

    def state(self) -> CrawlState:
        """How the crawl stands."""
        ...

    def workers(self, *, everywhere: bool = False) -> list[WorkerState]:
        """How every worker of this node stands, by number; `everywhere`: those of all nodes."""
        ...

    def lists(self) -> Lists:
        """How many sites are in which list."""
        ...

    def groups(self) -> int:
        """How many groups are known."""
        ...

    def waiting(self) -> int:
        """How many pages wait at groups that nobody has checked out."""
        ...

    def waits(self, url: str) -> bool:
        """Is a page here: with a group that nobody has checked out, or on its way to a worker?"""
        ...

    def scope(self) -> list[str]:
        """What is in the scope."""
        ...

    def close(self) -> None:
        """Give back what is open."""
        ...


class HandingOver(Protocol):
    """What goes from one worker to others. `weft.handover` says in which steps, and why they are safe."""

    def surplus(self) -> list[int]:
        """Workers that belong to no run and still hold something."""
        ...

    def hand_over(self, worker: int, left: Left) -> list[str]:
        """Take back what a worker held, with what it knew, as one step; groups of which nothing is known any more.

        These start over, with the seeds and links that are known here.
        """
        ...

    def handed_over(self) -> list[int]:
        """Workers whose groups were taken back, and whose logs may still have them."""
        ...

    def end_hand_over(self, worker: int) -> None:
        """The worker's log has them no more."""
        ...

    def note_shared(self, workers: int) -> None:
        """Everything was handed over for so many workers."""
        ...

    def missing(self, worker: int, known: Iterable[str], taken: int) -> list[str]:
        """Groups that a worker holds, beside those it knows of and those in messages that it has not read."""
        ...

    def unsound(self) -> list[str]:
        """What is wrong with what is stored, as far as it shows."""
        ...

    def remains(self) -> Iterator[Message]:
        """Everything that is on its way, as far as it can be read."""
        ...


class SharedFrontier(Exchanging, Operating, HandingOver, Protocol):
    """All that a global frontier can do."""
