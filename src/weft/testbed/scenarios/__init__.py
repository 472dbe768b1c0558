"""Hazards as scenarios: what sites of a web can play to harm a crawler, one value each, in one table.

A scenario is a `Scenario` (`scenario.py`) in one of the families' files; `dealing` says which site plays which, and
`playing` is one on its site. To add one is to write its value into a tuple here.
"""

from __future__ import annotations

from weft.testbed.scenarios.bombs import BOMBS
from weft.testbed.scenarios.contents import CONTENTS
from weft.testbed.scenarios.names import NAMES
from weft.testbed.scenarios.redirects import REDIRECTS
from weft.testbed.scenarios.robots import ROBOTS
from weft.testbed.scenarios.scenario import Scenario
from weft.testbed.scenarios.secure import SECURE
from weft.testbed.scenarios.slow import SLOW
from weft.testbed.scenarios.spaces import SPACES
from weft.testbed.scenarios.wire import WIRE

__all__ = ["SCENARIOS", "Scenario"]

SCENARIOS: tuple[Scenario, ...] = (
    *SPACES,
    *NAMES,
    *REDIRECTS,
    *SLOW,
    *BOMBS,
    *CONTENTS,
    *ROBOTS,
    *WIRE,
    *SECURE,
)
"""Every hazard there is, in the order in which it is listed."""
