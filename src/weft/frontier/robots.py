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

from weft.clock import Clock
from weft.frontier.discovery import Discovery
from weft.frontier.local_sites import LocalSites
from weft.frontier.log import Commit
from weft.frontier.politeness import Politeness
from weft.frontier.scope import Selection
from weft.frontier.sites import RobotsRecord, Site, packed_robots, unpacked_robots
from weft.parse.robots import ALLOW_ALL, Robots, parse_robots

MOST_READ = 256 << 20  # bytes that the files take which are kept ready: of some 25,000 sites
Place = tuple[int, int]  # where a file stands in the log: its first byte, its length


class RobotsFiles:
    """What is known of robots.txt, for all sites of one local frontier."""

    def __init__(
        self,
        *,
        clock: Clock,
        politeness: Politeness,
        selection: Selection,
        agent: str,
        sites: LocalSites,
        found: Discovery,
        written: Callable[[int, int], bytes],
    ) -> None:
        self._clock = clock
        self._age = politeness.robots_age
        self._policy = selection.robots
        self._agent = agent
        self._sites = sites
        self._found = found
        self._written = written  # so many bytes of the log from a place on
        self._new: list[tuple[int, str, bytes]] = []  # since the last commit: site, scheme, encoded record
        # By number and scheme: encoded where it is not in the log yet, else where it is there.
        self._files: dict[tuple[int, str], bytes | Place] = {}
        self._delays: dict[tuple[int, str], float] = {}  # that files ask for
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

    def learn(self, site: Site, scheme: str, record: RobotsRecord) -> None:
        """Take in a robots.txt, and offer the sitemaps that it names."""
        robots = self._parsed(record)
        record = RobotsRecord(record.fetched_at, record.body, robots.crawl_delay or 0.0, self._agent)
        data = packed_robots(record)
        self._new.append((site.number, scheme, data))
        self._note(site, scheme, record, data)
        self._keep(site, scheme, robots)
        self._found.offer_sitemaps(robots.sitemaps, f"{scheme}://{site.name}/robots.txt")

    def offer_sitemaps(self, site: Site) -> None:
        """Offer the sitemaps of a site once more: it was not in the scope so far."""
        for scheme in list(site.robots_at):
            robots = self.of(site, scheme)
            if robots is not None:
                self._found.offer_sitemaps(robots.sitemaps, f"{scheme}://{site.name}/robots.txt")

    def load(self, site: Site, files: dict[str, bytes]) -> None:
        """Take in what another worker had: by scheme, encoded."""
        for scheme, data in files.items():
            self._new.append((site.number, scheme, data))
            self._note(site, scheme, unpacked_robots(data), data)

    def pack(self, commit: Commit) -> None:
        """Write down what was had since the last commit."""
        commit.robots, self._new = self._new, []

    def placed(self, commit: Commit, places: list[int]) -> None:
        """The files of a commit stand at these places of the log."""
        for (number, scheme, data), at in zip(commit.robots, places, strict=True):
            self._files[number, scheme] = (at, len(data))

    def restore(self, left: set[int]) -> None:
        """Go on with what commits wrote down, but for sites that left."""
        for number, scheme in list(self._files):
            if number in left:
                del self._files[number, scheme]
            else:
                data = self._bytes(number, scheme)
                self._note(self._sites.site(number), scheme, unpacked_robots(data), self._files[number, scheme])

    def _note(self, site: Site, scheme: str, record: RobotsRecord, where: bytes | Place) -> None:
        """A robots.txt is known: when it was had, what delay it asks for, and where it is."""
        key = site.number, scheme
        delay = record.delay if record.agent == self._agent else self._parsed(record).crawl_delay or 0.0
        self._delays.pop(key, None)
        if delay:
            self._delays[key] = delay
        self._files[key] = where
        self._drop(site, scheme)
        site.robots_at[scheme] = record.fetched_at
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
            self._drop(self._sites.site(number), other)

    def _drop(self, site: Site, scheme: str) -> None:
        site.robots.pop(scheme, None)
        self._taken -= self._ready.pop((site.number, scheme), 0)

    def _bytes(self, number: int, scheme: str) -> bytes:
        where = self._files[number, scheme]
        return where if isinstance(where, bytes) else self._written(*where)

    def _parsed(self, record: RobotsRecord) -> Robots:
        return ALLOW_ALL if record.body is None else parse_robots(record.body, self._agent)
