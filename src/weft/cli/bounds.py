"""Bounds of options that are no settings. In: a number. Out: nothing, or what is allowed.

>>> within(at_least=1)(int, 0)
Traceback (most recent call last):
ValueError: give a number, at least 1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.settings import Rule


def within(
    *, at_least: float | None = None, above: float | None = None, at_most: float | None = None
) -> Callable[[Any, Any], None]:
    """A validator for `cyclopts.Parameter`: the same bounds, and the same words, as those of settings."""
    rule = Rule(at_least=at_least, above=above, at_most=at_most)

    def check(_kind: Any, number: float | None) -> None:
        if number is not None and not rule.holds(number):
            raise ValueError(f"give a number, {rule.bounds}")

    return check
