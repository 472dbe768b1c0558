"""Webs that never change, so that what is measured on one can be compared with what was measured before.

`MIXED` was written down before any defence against hazards was tuned; defences are tried on it, and on the same recipe
with seeds that nobody has tuned with.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from weft.graph import Recipe, generate
from weft.testbed.options import Options
from weft.testbed.web import Web


class Standard(NamedTuple):
    """A web by its recipe."""

    name: str
    about: str
    recipe: Recipe
    options: Options
    seed: int

    def web(self, seed: int | None = None, *, hazards: bool = True) -> Web:
        """The web; with another seed another one of its kind, and without hazards the same sites and pages."""
        options = self.options if hazards else dataclasses.replace(self.options, hazardous=0.0)
        chosen = self.seed if seed is None else seed
        return Web(generate(self.recipe, chosen), options, chosen)


STANDARD_MIXED = Standard(
    name="mixed",
    about="1,275 sites with 30,000 pages; every one of 51 hazards is played by five sites, which are a fifth of them",
    recipe=Recipe(sites=1_275, pages=30_000, largest_site=1_000),
    options=Options(
        hazardous=0.2,
        duplicates=0.02,
        failing=0.05,
        failing_kinds="404=80 410=10 500=5 403=5",
        retry_after_s=1,
        nofollow=0.0,
        meta_robots=0.0,
        x_robots=0.0,
        robots_errors=0.0,
        robots_delays=0.0,
        sitemaps=0.1,
    ),
    seed=2006,
)
"""The web on which the cost of hazards is measured."""
