"""What became of a published value. In: the value, ours for each seed. Out: a verdict.

>>> verdict(0.64, 0.04, [0.62, 0.66]), verdict(0.64, 0.04, [0.67, 0.70]), verdict(0.50, 0.01, [0.65, 0.66])
('comes out', 'in range', 'does not')
>>> claim_verdict([True, True]), claim_verdict([True, False]), claim_verdict([False])
('comes out', 'on some seeds', 'does not')
"""

from __future__ import annotations

from collections.abc import Sequence

COMES_OUT = "comes out"
"""Every seed is within the tolerance."""
IN_RANGE = "in range"
"""The range over seeds meets that of the tolerance, and not every seed is within."""
ON_SOME = "on some seeds"
"""A claim holds on some seeds only."""
DOES_NOT = "does not"
NOT_DONE = "not done"
"""There is nothing of ours to compare."""

VERDICTS = (COMES_OUT, IN_RANGE, ON_SOME, DOES_NOT, NOT_DONE)

_ROUNDING = 1e-9


def verdict(published: float, tolerance: float, ours: Sequence[float]) -> str:
    """About a number."""
    if not ours:
        return NOT_DONE
    within = [abs(each - published) <= tolerance + _ROUNDING for each in ours]
    if all(within):
        return COMES_OUT
    meets = min(ours) <= published + tolerance + _ROUNDING and max(ours) >= published - tolerance - _ROUNDING
    return IN_RANGE if meets else DOES_NOT


def claim_verdict(holds: Sequence[bool]) -> str:
    """About a sentence."""
    if not holds:
        return NOT_DONE
    if all(holds):
        return COMES_OUT
    return ON_SOME if any(holds) else DOES_NOT


def spread(ours: Sequence[float], digits: int = 3) -> str:
    """The range over seeds, for people.

    >>> spread([0.6401, 0.6532]), spread([0.5]), spread([])
    ('.640-.653', '.500', '-')
    """
    if not ours:
        return "-"
    low, high = (shown(each, digits) for each in (min(ours), max(ours)))
    return low if low == high else f"{low}-{high}" if not low.startswith("-") else f"{low} to {high}"


def shown(value: float, digits: int = 3) -> str:
    """A number as the papers' tables have it.

    >>> shown(0.64), shown(-0.1, 2), shown(54.61), shown(1234.5), shown(40)
    ('.640', '-.10', '54.6', '1,234', '40')
    """
    if abs(value) >= 100 or isinstance(value, int):
        return f"{value:,.0f}"
    if abs(value) >= 1:
        return f"{value:.1f}" if digits == 3 else f"{value:.{digits}f}"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("0.", ".", 1)  # no minus before a zero
