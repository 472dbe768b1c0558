"""The robots.txt files of a local frontier's sites. In: files as they come. Out: what they say, when they must be
asked for again, and the sitemaps that they name.

A file is kept as far as it was read and is part of the next commit; whether it is obeyed is a setting of the crawl or
of the site. How one is fetched is `engine.robots`, what it says `parse.robots`.
"""

from __future__ import annotations

from weft.clock import Clock
from weft.frontier.discovery import Discovery
from weft.frontier.local_sites import LocalSites
from weft.frontier.log import Commit
from weft.frontier.politeness import Politeness
from weft.frontier.scope import Selection
from weft.frontier.sites import RobotsRecord, Site, packed_robots, unpacked_robots


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
    ) -> None:
        self._clock = clock
        self._age = politeness.robots_age
        self._policy = selection.robots
        self._agent = agent
        self._sites = sites
        self._found = found
        self._new: list[tuple[int, str, bytes]] = []  # since the last commit: site, scheme, encoded record

    def __repr__(self) -> str:
        return f"RobotsFiles({self._policy}, {len(self._new)} new)"

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

    def learn(self, site: Site, scheme: str, record: RobotsRecord) -> None:
        """Take in a robots.txt, and offer the sitemaps that it names."""
        self._new.append((site.number, scheme, packed_robots(record)))
        named = self._take(site, scheme, record)
        self._found.offer_sitemaps(named, f"{scheme}://{site.name}/robots.txt")

    def load(self, site: Site, files: dict[str, bytes]) -> None:
        """Take in what another worker had: by scheme, encoded."""
        for scheme, data in files.items():
            self._new.append((site.number, scheme, data))
            self._take(site, scheme, unpacked_robots(data))

    def pack(self, commit: Commit) -> None:
        """Write down what was had since the last commit."""
        commit.robots, self._new = self._new, []

    def restore(self, files: dict[int, dict[str, bytes]]) -> None:
        """Put back what commits wrote down: by site and scheme, encoded."""
        for number, by_scheme in files.items():
            for scheme, data in by_scheme.items():
                self._take(self._sites.site(number), scheme, unpacked_robots(data))

    def _take(self, site: Site, scheme: str, record: RobotsRecord) -> tuple[str, ...]:
        robots = site.learn_robots(scheme, record, self._agent)
        delays = [known.crawl_delay for known in site.robots.values() if known.crawl_delay]
        site.crawl_delay = max(delays) if delays and self.obeys(site) else None
        return robots.sitemaps
