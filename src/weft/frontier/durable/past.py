"""What a frontier's files say. In: a checkpoint, and the records of logs since then, in their order. Out: what is known
of sites and pages when all of them are taken together.

Used by whoever stands where a log ends: the local frontier that goes on, the one that hands its groups over, the reader
beside a running crawl, and who makes the next checkpoint of it.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.frontier.durable.chain import Base, PageTable, SiteTable
from weft.frontier.durable.log import Commit, Extent, FrontierLog, Replayed
from weft.frontier.durable.memory import unpacked_robots, with_cookies
from weft.frontier.durable.records import Shelved as ShelvedGroup
from weft.frontier.durable.shelved import ROW as SHELVED
from weft.frontier.durable.shelved import Shelved
from weft.frontier.shared.contract import Notice
from weft.model import FIRST_REQUISITE
from weft.urls import registered_domain

MOST_REDIRECTS = 8  # of a chain that is looked at
GONE = -1  # the site of a page whose site went to another worker

# Where a page stands, in one byte.
PENDING = 0
DONE = 1
REPLACED = 2  # it is fetched again, under another number
REFUSED = 8  # and so on: for the first reason there was, the second …
PART = 0x80  # added to it: an image, say, that belongs to another page
STATE = 0x7F

SCHEMES = ("http", "https")
_MOST_AGENTS = 200
# A robots.txt: whose, where it stands, when it was had (wall time), and the crawl-delay that it asks of an agent.
ROBOTS = np.dtype(
    [
        ("site", "<i4"),
        ("scheme", "u1"),
        ("agent", "u1"),
        ("file", "<u4"),
        ("at", "<u8"),
        ("length", "<u4"),
        ("fetched_at", "<f8"),
        ("delay", "<f8"),
    ]
)


class RobotsFile(NamedTuple):
    """A robots.txt that was written down."""

    extent: Extent
    fetched_at: float
    delay: float  # that it asks of
    agent: str  # the one with this product token


class Past:
    """A checkpoint and logs, record by record."""

    def __init__(self, log: FrontierLog) -> None:
        self.clean = False  # the worker had stopped by itself
        self.names: list[str] = []  # of sites, by number; a site that left and came again has two
        self.domains: list[str] = []  # of the same
        self.left: set[int] = set()  # numbers of sites that went to another worker
        self.groups: dict[str, None] = {}  # that are held, in the order in which they came; not those on the shelf
        self.shelved = Shelved()  # these
        self.leaving: list[ShelvedGroup] = []  # of them, those whose pages are not in a run yet
        self.mail: list[tuple[int, bytes]] = []  # for groups on the shelf, since the checkpoint: key, encoded notices
        self.returned: list[tuple[int, int]] = []  # that came back since: key, the checkpoint where they were read
        self.first = log.first  # the first page that is known; arrays by page begin with it
        self.scope: list[str] = []
        self._states: dict[int, bytes] = {}  # by site: `SiteMemory`, encoded, and its cookies where these changed last
        self._jars: dict[int, bytes] = {}
        self.agents: list[str] = []
        self.robots_base = np.empty(0, ROBOTS)  # robots.txt files of the checkpoint
        self.robots_since: dict[int, dict[str, RobotsFile]] = {}  # … and since then, by site and scheme
        self.retries: dict[int, tuple[int, float]] = {}  # pages to be tried again: tries so far, wall time
        self.requests: dict[int, bytes] = {}  # by page: `Special`, encoded
        self.sent: set[int] = set()  # pages that are sent once, and may have been
        self.application = b""  # the state of the worker's application
        self.untold = b""  # what it had not been told
        self.reasons: list[str] = []  # for which pages were refused
        self.last: Commit | None = None
        self.walls: list[tuple[float, int]] = []  # by record: when it was made, pages that were done since the last
        self._log = log
        self._state = np.empty(0, np.uint8)  # by page; there is room behind its end
        self._pages = 0
        self._sites: NDArray[np.int32] | None = None  # by page, once they are read; there is room behind its end
        self._with_sites = 0  # so many pages
        self._base_pages = base_pages(log)
        self._sites_since: list[NDArray[np.int32]] = []  # of further pages
        self._redirects: list[bytes] = []
        if log.base is not None:
            self._load(log.base)

    def __repr__(self) -> str:
        return f"Past({len(self.names)} sites, {len(self.groups)} groups)"

    def _load(self, base: Base) -> None:
        manifest = base.manifest
        self.clean, self.last, self.walls = manifest.last.clean, manifest.last, list(manifest.walls)
        self.reasons = list(manifest.reasons)
        self.application, self.untold = manifest.last.application, manifest.last.untold
        sites = msgspec.msgpack.decode(base.read("sites"), type=SiteTable)
        self.names, self.left, self.scope = sites.names, set(sites.left), sites.scope
        self.domains = [sites.domains[each] for each in np.frombuffer(sites.domain_of, np.int32).tolist()]
        self.groups = dict.fromkeys(sites.groups)
        ends = np.frombuffer(sites.ends, np.int64).tolist()
        begins = [0, *ends]
        self._states = {
            number: sites.memories[begin:end]
            for number, begin, end in zip(np.frombuffer(sites.numbers, np.int32).tolist(), begins, ends, strict=False)
        }
        pages = msgspec.msgpack.decode(base.read("pages"), type=PageTable)
        self.retries = {page: (tries, wall) for page, tries, wall in pages.retries}
        self.requests, self.sent = dict(pages.requests), set(pages.sent)
        self._redirects = [pages.redirects]
        self.agents = list(manifest.agents)
        self.robots_base = np.frombuffer(base.read("robots"), ROBOTS)
        self._pages = manifest.pages - manifest.first
        self._state = np.zeros(self._pages + self._pages // 8, np.uint8)  # with room for those of the log
        self._state[: self._pages] = np.frombuffer(base.read("state"), np.uint8)
        if "shelf" in manifest.files:
            self.shelved = Shelved(np.frombuffer(base.read("shelf"), SHELVED))

    def take(self, replayed: Replayed) -> None:
        """The next record."""
        commit, rows = replayed.commit, replayed.rows
        self.last = commit
        self.clean = commit.clean
        self.names += commit.sites
        self.domains += map(registered_domain, commit.sites)
        self.scope += commit.scope
        self.groups.update(dict.fromkeys(commit.groups))
        self._states.update(commit.states)
        self._jars.update(commit.jars)
        for (number, scheme, data), extent in zip(commit.robots, replayed.robots_at, strict=True):
            record = unpacked_robots(data)
            file = RobotsFile(extent, record.fetched_at, record.delay, record.agent)
            self.robots_since.setdefault(number, {})[scheme] = file
        self.retries.update({page: (tries, wall) for page, tries, wall in commit.delayed})
        self.requests.update(commit.requests)
        for page, sent in commit.sent:
            (self.sent.add if sent else self.sent.discard)(page)
        self.application = commit.application or self.application
        self.untold = commit.untold
        self.walls.append((commit.wall, len(commit.settled) // 4))
        self._sites_since.append(replayed.sites.copy())
        self._redirects.append(commit.redirects)
        self._grow(len(rows))
        self._state[self._pages : self._pages + len(rows)] = np.where(rows["kind"] >= FIRST_REQUISITE, PART, 0)
        self._pages += len(rows)
        self._set(np.frombuffer(commit.settled, np.uint32), DONE)
        for reason, pages in commit.refused.items():
            if reason not in self.reasons:
                self.reasons.append(reason)
            self._set(np.frombuffer(pages, np.uint32), REFUSED + self.reasons.index(reason))
        self._set(np.frombuffer(commit.replaced, np.uint32), REPLACED)
        if commit.left:
            self._leave(commit.left)
        if commit.shelved or commit.mail or commit.unshelved:
            self._shelve(commit, replayed.log)

    def _shelve(self, commit: Commit, log: int) -> None:
        self.shelved.take(commit, log)
        self.mail += [(key, data) for key, _, _, data in commit.mail]
        self.returned += commit.unshelved
        self.leaving += commit.shelved
        for group in commit.shelved:
            self.groups.pop(group.group, None)

    def _grow(self, pages: int) -> None:
        if self._pages + pages > len(self._state):
            state = np.zeros(max(4096, 2 * len(self._state), self._pages + pages), np.uint8)
            state[: self._pages] = self._state[: self._pages]
            self._state = state

    def _set(self, pages: NDArray[Any], state: int) -> None:
        if self.first:
            pages = pages[pages >= self.first] - self.first
        self._state[pages] = (self._state[pages] & PART) | state

    @property
    def states(self) -> dict[int, bytes]:
        """By site: `SiteMemory`, encoded."""
        for number, cookies in self._jars.items():
            self._states[number] = with_cookies(self._states[number], cookies)
        self._jars = {}
        return self._states

    def robots(self) -> dict[int, dict[str, RobotsFile]]:
        """By site and scheme: its robots.txt."""
        found: dict[int, dict[str, RobotsFile]] = {}
        for number, scheme, agent, file, at, length, fetched_at, delay in self.robots_base.tolist():
            if number not in self.left:
                extent = Extent(f"{file}.robots", at, length)
                found.setdefault(number, {})[SCHEMES[scheme]] = RobotsFile(
                    extent, fetched_at, delay, self.agents[agent]
                )
        for number, files in self.robots_since.items():
            found.setdefault(number, {}).update(files)
        return found

    def robots_of(self, site: int, *, without: Container[str] = ()) -> dict[str, bytes]:
        """By scheme: `RobotsRecord`, encoded; but for those in some files."""
        base = self.robots_base[self.robots_base["site"] == site] if site not in self.left else self.robots_base[:0]
        extents = {
            SCHEMES[row["scheme"]]: Extent(f"{row['file']}.robots", int(row["at"]), int(row["length"])) for row in base
        }
        extents |= {scheme: file.extent for scheme, file in self.robots_since.get(site, {}).items()}
        return {scheme: self._log.read(extent) for scheme, extent in extents.items() if extent.file not in without}

    # Pages. Arrays begin with the first page that is known.

    @property
    def page_count(self) -> int:
        """How many pages are known."""
        return self._pages

    def take_sites(self, sites: NDArray[np.int32]) -> None:
        """These are the sites of the pages of the checkpoint, with room behind (`room_for_sites`)."""
        self._sites, self._with_sites = sites, self._base_pages

    def sites(self, *, leaving: bool = False) -> NDArray[np.int32]:
        """By page: the number of its site, or `GONE`. Those of groups that are being put away have theirs if they are
        asked for.
        """
        every = self._sites
        if every is None:
            room = room_for_sites(self._log)
            self._log.read_columns(None, room[: self._base_pages])
            self.take_sites(room)
            return self.sites(leaving=leaving)
        begin, since = self._with_sites, self._sites_since
        if since:
            self._with_sites += sum(map(len, since))
            if self._with_sites > len(every):
                every = self._sites = np.concatenate([every[:begin], np.empty(self._with_sites - begin, np.int32)])
            every[begin : self._with_sites] = np.concatenate(since)
            self._sites_since = []
        gone = self.left if leaving else self.gone()
        found = every[: self._with_sites].copy() if gone else every[: self._with_sites]
        if gone:
            table = np.zeros(len(self.names), np.bool_)
            table[list(gone)] = True
            found[table[found]] = GONE
        return found

    def gone(self) -> set[int]:
        """Numbers of sites that are with another worker, or on the shelf."""
        return self.left.union(*(group.sites for group in self.leaving)) if self.leaving else self.left

    def raw_states(self) -> NDArray[np.uint8]:
        """By page: where it stands, and whether it is a part."""
        return self._state[: self._pages]

    def page_states(self) -> NDArray[np.uint8]:
        """By page: where it stands."""
        return self.raw_states() & np.uint8(STATE)

    def parts(self) -> NDArray[np.bool_]:
        """By page: is it a part of another?"""
        return self.raw_states() >= PART

    def reason(self, page: int) -> str:
        """Why a page was refused; "" if it was not."""
        state = int(self._state[page - self.first]) & STATE
        return self.reasons[state - REFUSED] if state >= REFUSED else ""

    def unknown(self) -> list[int]:
        """Pages that were sent for once and whose outcome is not known. From here on they count as done."""
        pages = self._open(self.sent)
        self._set(np.array(pages, np.uint32), DONE)
        return pages

    def special(self) -> dict[int, bytes]:
        """The requests of pages that are not done, encoded."""
        return {page: self.requests[page] for page in self._open(self.requests)}

    def waiting(self) -> dict[int, tuple[int, float]]:
        """Pages that are to be tried again, and have not been since: tries so far, wall time."""
        return {page: self.retries[page] for page in self._open(self.retries)}

    def _open(self, pages: Collection[int]) -> list[int]:
        """Those of some pages that are neither done nor refused."""
        first = self.first
        return [page for page in sorted(pages) if page >= first and self._state[page - first] & STATE == PENDING]

    def redirects(self) -> NDArray[np.uint32]:
        """Pages that were found by a redirect, each with the page that it was on."""
        return np.frombuffer(b"".join(self._redirects), np.uint32).reshape(-1, 2)

    def _leave(self, numbers: list[int]) -> None:
        """Sites went to another worker: what was known of them until then is not ours."""
        self.left.update(numbers)
        for number in numbers:
            self.groups.pop(self.domains[number], None)
            self._states.pop(number, None)
            self._jars.pop(number, None)
            self.robots_since.pop(number, None)

    def letters(self, keys: Collection[int] | None = None) -> dict[int, list[Notice]]:
        """Mail that is in no run yet, by the keys of groups: of all, or of some."""
        found: dict[int, list[Notice]] = {}
        for key, data in self.mail:
            if keys is None or key in keys:
                found.setdefault(key, []).extend(msgspec.msgpack.decode(data, type=list[Notice]))
        return found

    def forget(self, number: int) -> None:
        """A site is on the shelf with all that is known of it: its number stands for it no more."""
        self.left.add(number)
        self.names[number] = self.domains[number] = ""
        self._states.pop(number, None)
        self._jars.pop(number, None)
        self.robots_since.pop(number, None)

    # As a checkpoint has them.

    def site_table(self) -> SiteTable:
        """What is known of sites."""
        states = self.states
        domains = {domain: place for place, domain in enumerate(dict.fromkeys(self.domains))}
        ends = np.cumsum(np.fromiter((len(each) for each in states.values()), np.int64, len(states)))
        return SiteTable(
            names=self.names,
            domains=list(domains),
            domain_of=np.fromiter((domains[each] for each in self.domains), np.int32, len(self.domains)).tobytes(),
            left=sorted(self.left),
            groups=list(self.groups),
            scope=self.scope,
            numbers=np.fromiter(states, np.int32, len(states)).tobytes(),
            ends=ends.tobytes(),
            memories=b"".join(states.values()),
        )

    def page_table(self) -> PageTable:
        """What is known of single pages."""
        return PageTable(
            retries=[(page, *known) for page, known in self.waiting().items()],
            requests=list(self.requests.items()),
            sent=sorted(self.sent),
            redirects=self.redirects().tobytes(),
        )

    def drop_gone(self) -> None:
        """Forget what is known of single pages whose sites are here no more."""
        if not self.left:
            return
        sites, first = self.sites(), self.first
        for known in (self.retries, self.requests):
            for page in [page for page in known if page < first or sites[page - first] == GONE]:
                del known[page]
        self.sent = {page for page in self.sent if page >= first and sites[page - first] != GONE}

    def robots_table(self, robots: dict[int, dict[str, RobotsFile]]) -> NDArray[Any]:
        """Robots.txt files that are all in segments."""
        rows = [
            (number, SCHEMES.index(scheme), self._agent(file.agent), _number(file.extent), *file.extent[1:], *file[1:3])
            for number, files in robots.items()
            for scheme, file in files.items()
        ]
        return np.array(rows, ROBOTS)

    def _agent(self, agent: str) -> int:
        """The code of an agent. There are few: what is one too many is read again."""
        if agent not in self.agents:
            if len(self.agents) > _MOST_AGENTS:
                return self._agent("")
            self.agents.append(agent)
        return self.agents.index(agent)


def base_pages(log: FrontierLog) -> int:
    """How many pages the checkpoint has."""
    return 0 if log.base is None else log.base.manifest.pages - log.base.manifest.first


def room_for_sites(log: FrontierLog) -> NDArray[np.int32]:
    """Where the sites of the pages of the checkpoint are to be read to, with room behind for those of the log: what is
    large is not copied.
    """
    pages = base_pages(log)
    return np.empty(pages + pages // 8, np.int32)


def _number(extent: Extent) -> int:
    return int(extent.file.partition(".")[0])


class Scores:
    """The scores of a frontier's pages. Kept apart: who goes on has them in the heaps already."""

    def __init__(self, base: Base | None) -> None:
        scored = base is not None and "scores" in base.manifest.files
        self._first = 0 if base is None else base.manifest.first
        self._before = np.frombuffer(bytearray(base.read("scores"))) if base is not None and scored else np.empty(0)
        self._new: list[NDArray[np.float64]] = []
        self._changes: list[tuple[NDArray[np.uint32], NDArray[np.float64]]] = []

    def __repr__(self) -> str:
        return f"Scores({len(self._new)} records)"

    def take(self, commit: Commit) -> None:
        """The next record."""
        self._new.append(np.frombuffer(commit.scores))
        self._changes.append((np.frombuffer(commit.rescored, np.uint32), np.frombuffer(commit.rescores)))

    def all(self) -> NDArray[np.float64]:
        """By page: its score, beginning with the first that is known; of none, where the ordering does not score."""
        scores: NDArray[np.float64] = np.concatenate([self._before, *self._new])
        for pages, now in self._changes:
            ours = pages >= self._first
            scores[pages[ours] - self._first] = now[ours]
        return scores


def still_needed(redirects: NDArray[np.uint32], pending: NDArray[np.bool_], first: int = 0) -> NDArray[np.uint32]:
    """Those of some redirects by which pending pages were found, or what led to these; in their order. `pending` begins
    with the first page that is known.
    """
    redirects = redirects[(redirects >= first).all(axis=1)]
    needed = np.zeros(len(redirects), np.bool_)
    wanted: NDArray[Any] = np.flatnonzero(pending[redirects[:, 0] - np.uint32(first)])
    for _ in range(MOST_REDIRECTS):
        wanted = wanted[~needed[wanted]]
        if not len(wanted):
            break
        needed[wanted] = True
        wanted = np.flatnonzero(np.isin(redirects[:, 0], redirects[wanted, 1]))
    return redirects[needed]
