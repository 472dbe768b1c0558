"""The global frontier as a worker sees it: where sites, seeds and links to sites wait that nobody has checked out.

In: a worker's report, about once a second. Out: its orders. Everything between workers goes this way: sites are
checked out and in, links find the worker that holds their site, addresses are lent, and whoever runs the crawl is
heard. The embedded implementation is `embedded.py`; every implementation must pass `tests/contract`.

The unit of check-out is the *group*: all sites of one registered domain, because they share limits. What a report
says is of two kinds. A *batch* is part of the worker's own commit, is numbered, and is applied exactly once however
often it is sent. The rest is how things stand at the moment, and may be lost. What a worker is given comes as
*messages* in its inbox, which it is given again until it says that they are settled in its own log.
"""

from __future__ import annotations

from typing import Protocol

import msgspec


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link to a page of a site that the worker who found it does not hold."""

    url: str
    kind: int
    depth: int
    via: int  # id of the page where it was found, 0 for a seed
    score: float = 0.0  # of the page where it was found, or NaN: `gain` is all; of its own, where priorities are given
    note: bytes = b""  # of an errand: for whom a robots.txt is asked for, or the file itself
    gain: float = 0.0  # what it, and further links since the last batch, add to the score of their page
    again: bool = False  # to be fetched again, if its page is done: what came of it then is wanted by now
    steps: int = 0  # redirects in a row that led to it; of a sitemap or a part: such as it above it


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    """A group with everything that its last worker knew of it."""

    group: str
    pending: int  # pages
    content: bytes


class Batch(msgspec.Struct, omit_defaults=True):
    """What one commit of a worker means to others."""

    number: int
    links: dict[str, list[Link]] = {}  # by group
    scope: list[str] = []  # what redirected seeds let into the scope
    claimed: list[str] = []  # groups that a worker took which is alone
    lists: dict[str, int] = {}  # sites that changed lists: BEING_CRAWLED, CRAWLED or SET_ASIDE
    moved: list[tuple[str, str]] = []  # groups that were never visited, for the worker to whom an address is lent


# How a crawl ends by itself, or by an order. `done` says that nothing is left: no page is pending anywhere.
DONE, PAGE_LIMIT, TIME_LIMIT, BYTE_LIMIT, STOPPED = "done", "page limit", "time limit", "byte limit", "stopped"

# The lists of P3: where a site stands. What nobody has checked out is to be crawled.
BEING_CRAWLED, CRAWLED, SET_ASIDE = range(1, 4)


class Message(msgspec.Struct, omit_defaults=True):
    """What a worker is given."""

    groups: list[str] = []  # checked out
    links: list[Link] = []
    parcels: list[Parcel] = []  # what is known of groups from before


class Report(msgspec.Struct, omit_defaults=True):
    """How a worker stands."""

    worker: int
    incarnation: int
    batches: list[Batch] = []  # that are not known to have been applied
    number: int = 0  # of the last commit, whether it has a batch or not
    taken: int = 0  # the last message that was taken in
    settled: int = 0  # the last message that need not be kept for it
    wants: int = 0  # groups
    wanted: list[tuple[str, bool]] = []  # addresses that it would visit; and must, since sites there are its own
    released: list[tuple[str, float]] = []  # addresses given back, each with the wall time of its next visit
    idle: bool = False  # it can do nothing by itself, for lack of pages or of leave to fetch more
    starved: bool = False  # it has pages to fetch, and no leave to fetch any more
    aside: int = 0  # sites that were set aside and may be tried once more
    pages: int = 0  # fetched so far
    amount: int = 0  # bytes of contents, so far
    seconds: float = 0.0  # that the crawl has run here
    pending: int = 0  # pages that wait
    rate: tuple[float, float] = (0.0, 0.0)  # pages and bytes a second, of late
    hungry: bool = False  # it would be faster if it were let
    scope: int = 0  # the last entry of the scope that it knows
    rules: int = 0  # the last rule of the blacklist that it knows
    statistics: bytes = b""  # for whoever asks, encoded by the worker


class Orders(msgspec.Struct, omit_defaults=True):
    """What a worker is told."""

    applied: int = 0  # the last commit that was heard of: its batch was applied
    messages: list[Message] = []
    taken: int = 0  # the last of these
    lent: list[tuple[str, float]] = []  # addresses, each with the wall time before which it is not visited
    taken_already: list[str] = []  # addresses it wanted that are lent to others
    recalled: list[str] = []  # addresses that others wait for
    scope: list[str] = []
    scope_at: int = 0
    rules: list[str] = []
    rules_at: int = 0
    allowance: int | None = None  # pages it may have fetched in all; None: no limit
    speed: tuple[float | None, float | None] = (None, None)  # its share of pages and bytes a second
    paused: bool = False
    second_pass: int = 0  # how often sites that were set aside were let in again
    version: int = 0  # how far the global frontier is: it grows with each exchange
    over: str = ""  # why the crawl is over, if it is


class Begun(msgspec.Struct):
    """What a worker must know to begin."""

    incarnation: int
    applied: int  # the last of its commits that was heard of: its batch was applied
    alone: bool  # it is the only worker, and may take every group without asking
    second_pass: int = 0  # how often sites that were set aside have been let in again


class GlobalFrontier(Protocol):
    """What every global frontier can do."""

    def begin(self, worker: int, *, pid: int) -> Begun:
        """A worker starts, or starts again: whoever went by its number before is not listened to any more."""
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
