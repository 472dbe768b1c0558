"""How well duplicate hosts are found: precision and coverage of five heuristics, as in table 2 of P3, on known mirrors.

    python -m benchmarks.duphosts [seed]...

A web of sites, as a crawl would see it. A tenth of the sites have copies: under `www.`, as mirrors, as further names of
a company. Of a copy, a crawl may have met fewer pages (limits, failures), and pages may have changed between the visits
of both; a home page changes more often than others. Further there are sites under construction, which all show a
hoster's one page and of which most are something else when the next crawl comes, parked names, which stay as they are,
and sites of one system, which share its first pages and are nobody's copies. A pair is right where both still have the
same contents then. The shares are assumptions; what the heuristics make of them is measured.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import numpy as np

from benchmarks.machine import description
from weft.duplicates.hosts import SiteContents, judge

SITES = 20_000
SEEDS = (1, 2, 3)
PAPER = {
    "same-home": (0.68, 6.6, 0.048),
    "same-home-and-1-doc": (0.92, 2.1, 0.039),
    "dups60": (0.90, 2.5, 0.037),
    "dups80": (0.92, 2.0, 0.022),
    "dups100": (0.94, 1.0, 0.004),
}
COPIED, CONSTRUCTION, PARKED, SYSTEM = 0.10, 0.05, 0.01, 0.04  # shares of the sites


class World:
    """Sites and what they serve; `family` says which have the same contents when the next crawl comes."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.sites: list[SiteContents] = []
        self.family: dict[str, int] = {}
        self._contents = 0
        while len(self.sites) < SITES:
            self._grow()

    def _grow(self) -> None:
        draw = self.chance.random()
        if draw < COPIED:
            self._copied()
        elif draw < COPIED + CONSTRUCTION / 8:
            self._of_one_page(self.chance.randint(2, 14), stays=0.25)
        elif draw < COPIED + (CONSTRUCTION + PARKED) / 8:
            self._of_one_page(self.chance.randint(2, 14), stays=1.0)
        elif draw < COPIED + (CONSTRUCTION + PARKED + SYSTEM) / 8:
            self._of_one_system(self.chance.randint(2, 14))
        else:
            self._add(self._new(self._size()))

    def _new(self, many: int) -> list[int]:
        self._contents += many
        return list(range(self._contents - many, self._contents))

    def _size(self) -> int:
        return max(1, min(2_000, round(self.chance.lognormvariate(2.7, 1.4))))

    def _add(self, contents: list[int], family: int = -1) -> None:
        """The first content is the home page."""
        name = f"s{len(self.sites)}.example"
        self.family[name] = len(self.sites) if family < 0 else family
        self.sites.append(SiteContents(name, contents[0], np.unique(np.array(contents, np.int64))))

    def _copied(self) -> None:
        contents, family = self._new(max(2, self._size())), len(self.sites)
        self._add(contents, family)
        for _ in range(self.chance.choices((1, 2, 3), (80, 15, 5))[0]):
            met = self.chance.choices((1.0, self.chance.uniform(0.5, 1.0)), (40, 60))[0]
            changed = self.chance.choices((0.0, self.chance.uniform(0.0, 0.3)), (40, 60))[0]
            copy = [contents[0], *(each for each in contents[1:] if self.chance.random() < met)]
            copy = [self._new(1)[0] if self.chance.random() < changed else each for each in copy]
            if self.chance.random() < 0.2:  # an advertisement, a date
                copy[0] = self._new(1)[0]
            # One in twenty copies is a site of its own when the next crawl comes.
            self._add(copy, family if self.chance.random() > 0.05 else -1)

    def _of_one_page(self, many: int, stays: float) -> None:
        page, family = self._new(1), len(self.sites)
        for number in range(many):
            self._add(page, family if number == 0 or self.chance.random() < stays else -1)

    def _of_one_system(self, many: int) -> None:
        first = self._new(3)
        for _ in range(many):
            own = self._new(self.chance.randint(0, 40))
            home = first[:1] if self.chance.random() < 0.5 else self._new(1)
            self._add([*home, *(each for each in first[1:] if self.chance.random() < 0.6), *own])


def measure(seed: int) -> dict[str, Any]:
    """One web."""
    world = World(seed)
    began = time.process_time()
    found = judge(world.sites)
    seconds = time.process_time() - began
    families: dict[int, int] = {}
    for family in world.family.values():
        families[family] = families.get(family, 0) + 1
    copies = sum(many - 1 for many in families.values())
    least = len(found.replicas["dups100"])
    rows = {}
    for name, pairs in found.replicas.items():
        right = sum(world.family[pair.replica] == world.family[pair.original] for pair in pairs)
        rows[name] = {
            "replicas": len(pairs),
            "of_sites": round(len(pairs) / found.sites, 4),
            "precision": round(right / len(pairs), 4),
            "coverage": round(len(pairs) / least, 2),
            "recall": round(right / copies, 4),
        }
    return {
        "sites": found.sites,
        "contents": found.contents,
        "copies": copies,
        "seconds": round(seconds, 2),
        "heuristics": rows,
    }


def run(seeds: tuple[int, ...] = SEEDS) -> dict[str, Any]:
    """Some webs."""
    return {"machine": description(), "paper": PAPER, "webs": {str(seed): measure(seed) for seed in seeds}}


def show(result: dict[str, Any]) -> None:
    """As tables, beside the paper's."""
    for seed, web in result["webs"].items():
        print(f"seed {seed}: {web['sites']:,} sites, {web['contents']:,} contents, {web['copies']:,} copies; ", end="")
        print(f"{web['seconds']} s")
        print(f"{'heuristic':<22}{'replicas':>9}{'of sites':>10}{'precision':>11}{'coverage':>10}{'recall':>8}", end="")
        print("   paper: of sites, precision, coverage")
        for name, row in web["heuristics"].items():
            precision, coverage, share = result["paper"][name]
            print(
                f"{name:<22}{row['replicas']:>9,}{row['of_sites']:>10.1%}{row['precision']:>11.1%}"
                f"{row['coverage']:>10.1f}{row['recall']:>8.1%}   {share:.1%}, {precision:.0%}, {coverage}"
            )


if __name__ == "__main__":
    show(run(tuple(map(int, sys.argv[1:])) or SEEDS))
