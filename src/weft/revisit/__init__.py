"""When to come again. The same code decides in the simulator and in a crawl.

The life of a decision: every fetch of a known page says *changed* or *not* (`evidence`); what is known of its
neighbours (`priors`) and of itself gives its rate (`rates`); a policy says how often it is worth a fetch at a price;
`planning` finds the price that the budget, the bounds (`bounds`) and the waits of sites allow; `deciding` says when.
What sites themselves say is a hint whose worth is measured first (`hints`). Pure: arrays, no URL text, no sockets, no
clock.
"""

from __future__ import annotations

from typing import Final

from weft.errors import UsageError
from weft.revisit.contract import Pages, Policy
from weft.revisit.filling import Filling
from weft.revisit.freshest import Freshest, FreshestAtRandom
from weft.revisit.proportional import Proportional
from weft.revisit.quality import Quality
from weft.revisit.square_root import SquareRoot
from weft.revisit.uniform import Uniform
from weft.revisit.youngest import Youngest, YoungestAtRandom

__all__ = ["Pages", "Policy", "policy_named", "policy_names"]

POLICIES: Final[tuple[type[Policy], ...]] = (
    Uniform,
    Proportional,
    SquareRoot,
    Filling,
    Quality,
    Freshest,
    FreshestAtRandom,
    Youngest,
    YoungestAtRandom,
)


def policy_names() -> list[str]:
    """All policies."""
    return [each.name for each in POLICIES]


def policy_named(name: str) -> Policy:
    """The policy of a name."""
    found = {each.name: each for each in POLICIES}
    if name not in found:
        raise UsageError(f"there is no revisit policy called '{name}'", todo=f"choose one of: {', '.join(found)}")
    return found[name]()
