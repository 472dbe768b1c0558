"""How a crawler treats sites, domains and addresses. In: what the servers saw. Out: how much at once, how soon again.

A connection is open from when the server accepts it until it has ended; a request lasts from its first byte to the last
byte of its answer. A gap is from the end of all that went before to the beginning of the next, so that what overlaps
has a gap of 0.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from weft.testbed.judge.evidence import Evidence
from weft.testbed.log import Entry
from weft.urls import registered_domain

_Span = tuple[float, float]

GROUPS: dict[str, Callable[[Entry], str]] = {
    "site": lambda entry: entry.site,
    "domain": lambda entry: registered_domain(entry.site),
    "address": lambda entry: entry.address,
}
"""What limits can be for."""


def manners(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """For each kind of group, how its groups were treated; the worst of them by name."""
    return {kind: _treated(evidence, group_of) for kind, group_of in GROUPS.items()}


def _treated(evidence: Evidence, group_of: Callable[[Entry], str]) -> dict[str, Any]:
    names: dict[str, str] = {}
    requests: dict[str, list[_Span]] = defaultdict(list)
    connections: dict[str, dict[int, _Span]] = defaultdict(dict)
    for request in evidence.requests:
        entry = request.entry
        name = names.get(entry.site + entry.address)
        if name is None:
            name = names[entry.site + entry.address] = group_of(entry)
        requests[name].append((entry.first_byte, entry.last_byte))
        ended = evidence.closed.get(entry.connection)
        last = connections[name].get(entry.connection, (0.0, 0.0))[1]
        connections[name][entry.connection] = (entry.opened, max(last, entry.last_byte) if ended is None else ended)
    spans = {name: sorted(found.values()) for name, found in connections.items()}
    at_once = {name: most_at_once(found) for name, found in spans.items()}
    busiest = {name: most_at_once((begin, begin + 1.0) for begin, _ in found) for name, found in requests.items()}
    gaps = [gap for found in requests.values() for gap in gaps_of(found)]
    pauses = [gap for found in spans.values() for gap in gaps_of(found)]
    worst = max(at_once, key=lambda name: (at_once[name], busiest[name]))
    return {
        "groups": len(at_once),
        "connections": sum(map(len, spans.values())),
        "most_connections": at_once[worst],
        "worst": worst,
        "with_several": sum(most > 1 for most in at_once.values()),
        "most_requests": max(most_at_once(found) for found in requests.values()),
        "most_in_a_second": max(busiest.values()),
        "gap_between_requests": _middle(gaps),
        "gap_between_connections": _middle(pauses),
    }


def most_at_once(spans: Iterable[_Span]) -> int:
    """The most spans that hold at one moment.

    >>> most_at_once([(0.0, 2.0), (1.0, 3.0), (2.0, 4.0)]), most_at_once([])
    (2, 0)
    """
    steps = sorted(step for begin, end in spans for step in ((begin, 1), (end, -1)))  # who ends goes first
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def gaps_of(spans: Iterable[_Span]) -> list[float]:
    """The times between spans, in the order of their beginnings; 0 where they overlap.

    >>> gaps_of([(0.0, 2.0), (1.0, 1.5), (3.0, 4.0)])
    [0.0, 1.0]
    """
    found = []
    busy_until = None
    for begin, end in sorted(spans):
        if busy_until is not None:
            found.append(max(0.0, begin - busy_until))
        busy_until = end if busy_until is None else max(busy_until, end)
    return found


def _middle(gaps: list[float]) -> dict[str, float] | None:
    """The least of them, the median, and the share under a second; None if there is no second request anywhere."""
    if not gaps:
        return None
    short = sum(gap < 1.0 for gap in gaps) / len(gaps)
    return {"least": round(min(gaps), 4), "median": round(statistics.median(gaps), 4), "under_1s": round(short, 4)}
