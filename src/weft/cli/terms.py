"""Terms of which several can be given to `weft simulate`. In: r, bandwidth and k, each a list, and orderings. Out: the
crawls to simulate, one for each of all combinations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from weft.errors import UsageError
from weft.settings import flag_of, read, setting
from weft.sim.pictures import short_rate
from weft.sim.run import Conditions
from weft.sim.several import Job, Order, by_chance

_SEVERAL = "; several with commas between them: a crawl for each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """Settings of `Conditions` that may be lists."""

    connections: str = setting("1", f"connections at once, each to a site of its own (r){_SEVERAL}")
    bandwidth: str = setting(
        "inf", f"bytes a second that the link moves; pages have latencies and sizes then{_SEVERAL}"
    )
    per_visit: str = setting("1", f"pages fetched on one connection (k){_SEVERAL}")


LISTS = tuple(known.name for known in fields(Lists))
_SHORT = {"connections": "r={:g}".format, "bandwidth": short_rate, "per_visit": "k={:g}".format}
_WHOLE = ("connections", "per_visit")


def lists_of(flags: Any) -> dict[str, list[Any]]:
    """The values of each list that was given, checked as the settings they are."""
    found = {}
    for name in LISTS:
        text = getattr(flags, name)
        if text is None:
            continue
        parts = [each.strip() for each in text.split(",") if each.strip()]
        if not parts or len(set(parts)) < len(parts):
            todo = "give a number, or several with commas between them, each once"
            raise UsageError(f"{flag_of(name)} cannot be '{text}'", todo=todo)
        values = [int(each) if name in _WHOLE and each.lstrip("-").isdigit() else each for each in parts]
        found[name] = [read(Conditions, {name: each}, where="", spell=flag_of)[name] for each in values]
    return found


def compared(lists: dict[str, list[Any]]) -> bool:
    """Are there several terms, so that crawls are compared with each other?"""
    return any(len(values) > 1 for values in lists.values())


def with_one_robot(lists: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The lists of crawls that are compared: one robot, by which the others are measured, is always among them."""
    robots = lists.get("connections", [1])
    return {**lists, "connections": sorted({1, *robots})} if compared(lists) else lists


def single(flags: Any) -> Any:
    """The same flags for whoever takes one value of each alone."""
    lists = lists_of(flags)
    for name, values in lists.items():
        if len(values) > 1:
            raise UsageError(f"{flag_of(name)} has several values", todo="give one with --continuous")
    return replace(flags, **{name: values[0] for name, values in lists.items()})


def jobs_of(
    orderings: list[str], conditions: Conditions, lists: dict[str, list[Any]], repeats: int, wanted: Order
) -> list[Job]:
    """A crawl for each ordering and each combination of terms; and so many, one after the other, with seeds of their
    own, where something is left to chance.
    """
    varied = [name for name, values in lists.items() if len(values) > 1]
    lists = {name: lists[name] for name in LISTS if name in lists}
    first = replace(conditions, **{name: values[0] for name, values in lists.items()})
    found = []
    for ordering in orderings:
        times = repeats if by_chance(wanted, ordering) else 1
        for values in product(*lists.values()):
            terms = dict(zip(lists, values, strict=True))
            told = ",".join(_SHORT[name](terms[name]) for name in varied)
            for number in range(times):
                seed = conditions.seed + number
                found.append(
                    Job(
                        ordering,
                        replace(conditions, **terms, seed=seed),
                        label=f"{ordering},{told}" if told else "",
                        until=first,
                    )
                )
    return found
