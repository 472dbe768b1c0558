"""Two applications on one system: one collects pages, one only counts hosts, and no site is visited by both at
once.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit

import weft


class Shallow(weft.Application):
    """Everything one link away from the seeds."""

    def visited(self, page: weft.FetchedPage) -> Iterable[str]:
        """Follow the seeds' links, and no others."""
        return page.links if page.depth == 0 else []


class Hosts(weft.Application):
    """The home pages of the hosts that are linked to, and how often they are."""

    def __init__(self) -> None:
        self.hosts: Counter[str] = Counter()

    def visited(self, page: weft.FetchedPage) -> Iterable[weft.Request]:
        """Count hosts, request their home pages."""
        for link in page.links:
            parts = urlsplit(link)
            self.hosts[parts.netloc] += 1
            yield weft.Request(f"{parts.scheme}://{parts.netloc}/", priority=self.hosts[parts.netloc])


if __name__ == "__main__":
    contact, *seeds = sys.argv[1:]
    hosts = Hosts()
    weft.crawl(seeds, out="two", application=weft.Together(Shallow(), hosts), contact=contact, max_pages=500)
    print(hosts.hosts.most_common(20))
