"""The robots.txt files of a local frontier's sites. In: files as they come. Out: what they say, when they must be
asked for again, and the sitemaps that they name.

A file is kept as far as it was read and is part of the next commit; whether it is obeyed is a setting of the crawl or
of the site. How one is fetched is `engine.robots`, what it says `parse.robots`.

Read, a file takes ten thousand bytes of memory, and some ten million. So no more than `MOST_READ` bytes of them are
kept so; the file that was not asked for longest is read again from the log when it is needed, which takes 0.2 ms for
the usual one and less than 30 ms for any. What must be known without that is its crawl-delay.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.clock import Clock
from weft.frontier.durable.log import Commit, Extent
from weft.frontier.durable.memory import RobotsRecord, packed_robots, unpacked_robots
from weft.frontier.durable.past import ROBOTS, SCHEMES, Past, RobotsFile
from weft.frontier.local.discovery import Discovery
from weft.frontier.local.site import Site
from weft.frontier.local.sites import Sites
from weft.frontier.politeness import Politeness
from weft.frontier.scope import Selection
from weft.model import SiteNumber
from weft.parse.robots import ALLOW_ALL, Robots, parse_robots

MOST_READ = 256 << 20  # bytes that the files take which are kept ready: of some 25,000 sites


class RobotsFiles:
    """What is known of robots.txt, for all sites of one local frontier."""

    def __init__(
        self,
        *,
        clock: Clock,
        politeness: Politeness,
        selection: Selection,
        agent: str,
        sites: Sites,
        discovery: Discovery,
        written: Callable[[Extent], bytes],
    ) -> None:
        self._clock = clock
        self._age = politeness.robots_age
        self._policy = selection.robots
        self._agent = agent
        self._sites = sites
        self._discovery = discovery
        self._written = written  # what stands at an extent of the log
        self._new: list[tuple[int, str, bytes]] = []  # since the last commit: site, scheme, encoded record
        # By number and scheme: encoded where it is not in the log yet, else where it is there.
        self._files: dict[tuple[int, str], bytes | Extent] = {}
        self._delays: dict[tuple[int, str], float] = {}  # that files ask for
        # Of sites that are not made yet: files of a checkpoint, sorted by site, and those since then.
        self._base = np.empty(0, ROBOTS)
        self._sites_of_base = np.empty(0, np.int32)
        self._agents: list[str] = []
        self._since: dict[int, dict[str, RobotsFile]] = {}
        self._ready: OrderedDict[tuple[int, str], int] = OrderedDict()  # files that are read: how much memory each has
        self._taken = 0  # by all of them
        self.most = MOST_READ

    def __repr__(self) -> str:
        return f"RobotsFiles({self._policy}, {len(self._files)}, {len(self._ready)} of them read)"

    def obeys(self, site: Site) -> bool:
        """Is the site's robots.txt obeyed?"""
        return (site.settings.robots or self._policy) == "obey"

    def due(self, site: Site, scheme: str) -> bool:
        """Must robots.txt be asked for before anything else?"""
        if not self.obeys(site):
            return False
        had = site.robots_at.get(scheme)
        if had is None:
            return True
        age = self._clock.wall() - had
        return age >= self._age or age < 0  # a clock that was set back knows no age

    def of(self, site: Site, scheme: str) -> Robots | None:
        """What a site's robots.txt says, if it is known."""
        robots = site.robots.get(scheme)
        if robots is None:
            return self._read(site, scheme) if scheme in site.robots_at else None
        if 2 * self._taken > self.most and (site.number, scheme) in self._ready:
            self._ready.move_to_end((site.number, scheme))
        return robots

    def learn(self, site: Site, scheme: str, body: bytes | None, fetched_at: float | None = None) -> None:
        """Take in a robots.txt that was had at this wall time, or now; None where there is none. Offer the sitemaps
        that it names.
        """
        robots = ALLOW_ALL if body is None else parse_robots(body, self._agent)
        now = self._clock.wall()
        at = (
            now if fetched_at is None else min(fetched_at, now)
        )  # who brought it may have a clock that is ahead of ours
        record = RobotsRecord(at, body, robots.crawl_delay or 0.0, self._agent)
        data = packed_robots(record)
        self._new.append((site.number, scheme, data))
        self._note(site, scheme, record.fetched_at, record.delay, data)
        self._keep(site, scheme, robots)
        self._discovery.offer_sitemaps(robots.sitemaps, f"{scheme}://{site.name}/robots.txt")

    def offer_sitemaps(self, site: Site) -> None:
        """Offer the sitemaps of a site once more: it was not in the scope so far."""
        for scheme in list(site.robots_at):
            robots = self.of(site, scheme)
            if robots is not None:
                self._discovery.offer_sitemaps(robots.sitemaps, f"{scheme}://{site.name}/robots.txt")

    def load(self, site: Site, files: dict[str, bytes]) -> None:
        """Take in what another worker had: by scheme, encoded."""
        for scheme, data in files.items():
            self._new.append((site.number, scheme, data))
            record = unpacked_robots(data)
            delay = record.delay if record.agent == self._agent else self._parsed(record).crawl_delay or 0.0
            self._note(site, scheme, record.fetched_at, delay, data)

    def pack(self, commit: Commit) -> None:
        """Write down what was had since the last commit."""
        commit.robots, self._new = self._new, []

    def placed(self, commit: Commit, extents: list[Extent]) -> None:
        """The files of a commit stand at these extents of the log."""
        for (number, scheme, _data), extent in zip(commit.robots, extents, strict=True):
            self._files[number, scheme] = extent

    def moved(self, number: int, scheme: str, extent: Extent) -> None:
        """A checkpoint has a file elsewhere; what came since then is newer."""
        where = self._files.get((number, scheme))
        if where is not None and not isinstance(where, bytes) and _age(where) < _age(extent):
            self._files[number, scheme] = extent
        files = self._since.get(number, {})  # of a site that is not made yet
        if scheme in files and _age(files[scheme].extent) < _age(extent):
            files[scheme] = files[scheme]._replace(extent=extent)

    def rebase(self, table: NDArray[Any], agents: list[str]) -> None:
        """A checkpoint has these files: of sites that are not made yet they are known from there."""
        self._base = table[np.argsort(table["site"], kind="stable")]
        self._sites_of_base = self._base["site"].copy()
        self._agents = agents

    def restore(self, past: Past) -> None:
        """Go on with what was written down. Of each site it is taken up when the site is made."""
        robots, since = past.robots_base, past.robots_since
        changed = robots["site"][:0] if not since else np.fromiter(since, np.int32, len(since))
        left = past.gone()
        gone = np.fromiter(left, np.int32, len(left))
        self.rebase(robots[~np.isin(robots["site"], np.concatenate([changed, gone]))], past.agents)
        known = past.robots() if len(changed) else {}
        self._since = {number: known[number] for number in since if number not in left}

    def put_away(self, site: SiteNumber) -> None:
        """Forget the files of a site that is here no more."""
        self._since.pop(site, None)
        for scheme in SCHEMES:
            self._files.pop((site, scheme), None)
            self._delays.pop((site, scheme), None)
            self._taken -= self._ready.pop((site, scheme), 0)

    def delays(self) -> dict[int, float]:
        """By site that is not made yet: the crawl-delay that its robots.txt asks for, where it does."""
        found: dict[int, float] = {}
        ours = [extent for extent, agent in enumerate(self._agents) if agent == self._agent]
        other = ~np.isin(self._base["agent"], ours)
        for row in self._base[(self._base["delay"] > 0) | other]:
            number, file = int(row["site"]), self._file_of(row)
            found[number] = max(found.get(number, 0.0), self._delay(file))
        for number, files in self._since.items():
            found[number] = max(map(self._delay, files.values()), default=0.0)
        return found

    def take_up(self, site: Site) -> None:
        """A site is made: what is written down of it counts from now on."""
        files = self._since.pop(site.number, None)
        if files is None:
            first, end = np.searchsorted(self._sites_of_base, (site.number, site.number + 1)).tolist()
            files = {SCHEMES[row["scheme"]]: self._file_of(row) for row in self._base[first:end]}
        for scheme, file in files.items():
            if (site.number, scheme) not in self._files:
                self._note(site, scheme, file.fetched_at, self._delay(file), file.extent)

    def _file_of(self, row: Any) -> RobotsFile:
        extent = Extent(f"{row['file']}.robots", int(row["at"]), int(row["length"]))
        return RobotsFile(extent, float(row["fetched_at"]), float(row["delay"]), self._agents[row["agent"]])

    def _delay(self, file: RobotsFile) -> float:
        """The crawl-delay that a file asks of us."""
        if file.agent == self._agent:
            return file.delay
        return self._parsed(unpacked_robots(self._written(file.extent))).crawl_delay or 0.0

    def _note(self, site: Site, scheme: str, fetched_at: float, delay: float, where: bytes | Extent) -> None:
        """A robots.txt is known: when it was had, what delay it asks for, and where it is."""
        key = site.number, scheme
        self._delays.pop(key, None)
        if delay:
            self._delays[key] = delay
        self._files[key] = where
        self._drop(site, scheme)
        site.robots_at[scheme] = fetched_at
        asked = max((self._delays.get((site.number, each), 0.0) for each in site.robots_at), default=0.0)
        site.crawl_delay = asked if asked and self.obeys(site) else None

    def _read(self, site: Site, scheme: str) -> Robots:
        """Read a file again."""
        robots = self._parsed(unpacked_robots(self._bytes(site.number, scheme)))
        self._keep(site, scheme, robots)
        return robots

    def _keep(self, site: Site, scheme: str, robots: Robots) -> None:
        """Keep what was read, for so long as there is room."""
        site.robots[scheme] = robots
        if robots is ALLOW_ALL:
            return
        size = robots.size
        self._ready[site.number, scheme] = size
        self._taken += size
        while self._taken > self.most and len(self._ready) > 1:
            number, other = next(iter(self._ready))
            self._drop(self._sites[SiteNumber(number)], other)

    def _drop(self, site: Site, scheme: str) -> None:
        site.robots.pop(scheme, None)
        self._taken -= self._ready.pop((site.number, scheme), 0)

    def _bytes(self, number: int, scheme: str) -> bytes:
        where = self._files[number, scheme]
        return where if isinstance(where, bytes) else self._written(where)

    def _parsed(self, record: RobotsRecord) -> Robots:
        return ALLOW_ALL if record.body is None else parse_robots(record.body, self._agent)


def _age(extent: Extent) -> int:
    """The number of the log or segment where something stands."""
    return int(extent.file.partition(".")[0])
