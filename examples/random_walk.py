"""Sample a web by random walk (P4): many walkers, each going to a random link of where it stands, or back to a seed
now and then.

A page that was fetched before is not fetched again: the walker goes on from what is remembered of it. The pages
where walkers stood, with how often, are the sample.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable

import weft


class RandomWalk(weft.Application):
    """Walkers that share one system and its politeness."""

    def __init__(self, seeds: list[str], steps: int, *, restart: float = 0.15, seed: int = 0) -> None:
        self.seeds = seeds
        self.steps = steps
        self.restart = restart
        self.chance = random.Random(seed)
        self.links: dict[str, list[str]] = {}  # of pages that were fetched
        self.asked = set(seeds)
        self.visits: Counter[str] = Counter()

    def visited(self, page: weft.FetchedPage) -> Iterable[weft.Request]:
        """A walker has come to a new page."""
        self.links[page.url] = page.links
        return self.walk(page.url)

    def failed(self, url: str, reason: str) -> Iterable[weft.Request]:
        """A walker has come to a page that cannot be had: it begins anew."""
        del reason
        self.links[url] = []
        return self.walk(url)

    def redirected(self, url: str, target: str) -> Iterable[weft.Request]:
        """A walker is led on. Where nobody was before it comes by itself, as the system follows; else it goes on."""
        self.links[url] = [target]
        if target not in self.asked:
            self.asked.add(target)
            return []
        return self.walk(target if target in self.links else self.chance.choice(list(self.links)))

    def walk(self, place: str) -> Iterable[weft.Request]:
        """Walk on over known pages, until a page must be fetched or the steps are used up."""
        while self.steps > 0:
            self.steps -= 1
            self.visits[place] += 1
            links = self.links[place]
            home = not links or self.chance.random() < self.restart
            place = self.chance.choice(self.seeds if home else links)
            if place not in self.asked:
                self.asked.add(place)
                return [weft.Request(place)]
            if place not in self.links:  # another walker is on its way there
                place = self.chance.choice(list(self.links))
        return []


if __name__ == "__main__":
    contact, *seeds = sys.argv[1:]
    walk = RandomWalk(seeds, steps=1000)
    weft.crawl(seeds, out="walk", application=walk, contact=contact)
    for url, count in walk.visits.most_common(50):
        print(count, url)
