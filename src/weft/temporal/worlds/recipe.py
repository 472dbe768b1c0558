"""What a world is made from. In: settings. Out: seeded chance for every step, so that a recipe is a world.

>>> Recipe(seed=3).span, Recipe(seed=3, days=30, after=14).last
(100, 44)
>>> int(Recipe(seed=3).dice("births").integers(1000)) == int(Recipe(seed=3).dice("births").integers(1000))
True
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import date

import numpy as np

from weft.errors import UsageError
from weft.settings import setting

BEFORE = 40  # days before the window in which pages of every kind were published: the left edge cuts their lives


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of a world; the defaults give one like the world that the definitions were tried on."""

    seed: int = setting(1, "number that decides about everything that is left to chance", at_least=0)
    first: date = setting(date(2026, 3, 2), "the first day of the window")
    days: int = setting(60, "days of the window that is analysed", at_least=1)
    after: int = setting(0, "days behind it that go on: for pages that no analysis has seen", at_least=0)
    sites: int = setting(
        90, "number of sites: some 120 pages each in 100 days, of which half reach 60 views", at_least=1
    )
    news: float = setting(
        0.17,
        "share of the sites that are news sites and portals: most temporal pages are theirs",
        at_least=0,
        at_most=1,
    )
    mixed: float = setting(
        0.11, "share of the sites with as many temporal as untemporal sections", at_least=0, at_most=1
    )
    tiny_hosts: int = setting(0, "hosts of one to three pages each, beside the sites", at_least=0)
    event_sites: int = setting(3, "sites that publish while an event lasts and not before or after", at_least=0)
    event_day: int = setting(25, "the day on which they switch on", at_least=0)
    event_days: int = setting(14, "how long they are on", at_least=1)
    event_pages: int = setting(10, "what one of them publishes in that time, in the middle", at_least=0)
    misfiled: float = setting(
        0.05, "share of the pages that stand in a section of the other sort", at_least=0, at_most=1
    )
    sessions: float = setting(
        0.08, "share of the sites with session and tracking parameters on half their addresses", at_least=0, at_most=1
    )
    strays: float = setting(
        0.025, "share of new pages that one user saw some days before they were published", at_least=0, at_most=1
    )
    bursts: float = setting(
        0.007, "share of untemporal pages that get a day's views of many users at once", at_least=0, at_most=1
    )
    spam: float = setting(
        0.0045, "share of pages that one user asks for hundreds of times on one day", at_least=0, at_most=1
    )
    users: int = setting(200_000, "how many users there are", at_least=1)
    size: float = setting(1.0, "factor on everybody's views", at_least=0)

    def __post_init__(self) -> None:
        shares = (self.news, self.mixed, self.misfiled, self.sessions, self.strays, self.bursts, self.spam)
        if not all(0 <= share <= 1 for share in shares) or self.news + self.mixed > 1:
            raise UsageError("a share of the recipe lies outside 0 to 1", todo="give shares, not percentages")
        if min(self.days, self.sites, self.event_days, self.users) < 1 or min(self.after, self.tiny_hosts) < 0:
            raise UsageError("a number of the recipe is too small", todo="give at least one day, one site and one user")
        if not 0 <= self.event_sites <= self.sites:
            raise UsageError("the recipe has more event sites than sites", todo="they are a part of all sites")

    @property
    def last(self) -> int:
        """The first day that nothing is known of."""
        return self.days + self.after

    @property
    def span(self) -> int:
        """Days on which pages of every kind are published."""
        return BEFORE + self.last

    def dice(self, purpose: str, part: int = 0) -> np.random.Generator:
        """Chance for one purpose and one part of it: no step depends on how much another step drew."""
        return np.random.default_rng([self.seed, zlib.crc32(purpose.encode()), part])
