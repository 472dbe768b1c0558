"""Which sites play which scenario. In: the number of sites, options, a seed. Out: the scenario of each hazardous site.

Sites are drawn by lot, just as many as the share asks for, and the scenarios dealt to them in just the shares that
their weights ask for, so that a web with five sites for each scenario can be had.
"""

from __future__ import annotations

import numpy as np

from weft.errors import UsageError
from weft.testbed.dice import Dice
from weft.testbed.options import Options, shares_of
from weft.testbed.scenarios import SCENARIOS, Scenario


def chosen(options: Options) -> list[tuple[Scenario, float]]:
    """The scenarios that a web plays, with cumulative shares that end at 1."""
    known = {scenario.name: scenario for scenario in SCENARIOS}
    literals = options.naming == "literals"
    if not options.scenarios.strip():
        fit = [scenario for scenario in SCENARIOS if not (literals and scenario.needs_names)]
        return [(scenario, (place + 1) / len(fit)) for place, scenario in enumerate(fit)]
    shares = shares_of(options.scenarios, tuple(known), "scenario")
    found = [(known[name], reached) for name, reached in shares]
    for scenario, _ in found:
        if literals and scenario.needs_names:
            raise UsageError(
                f"{scenario.name} cannot be played where sites are called by their addresses",
                todo="serve names, or leave this scenario out",
            )
    return found


def deal(sites: int, options: Options, seed: int) -> dict[int, Scenario]:
    """The scenario of each site that plays one."""
    count = round(sites * options.hazardous)
    if not count:
        return {}
    shares = chosen(options)
    lots = np.argsort(Dice(seed, "hazardous").many(np.arange(sites)), kind="stable")[:count]
    dealt: dict[int, Scenario] = {}
    at = 0
    for number, site in enumerate(lots.tolist()):
        while shares[at][1] * count <= number + 0.5 and at < len(shares) - 1:
            at += 1
        dealt[site] = shares[at][0]
    return dealt
