"""What more robots are worth (P0, table 1). In: crawls of the same pages with other r, bandwidth and k. Out: for each
its speed-up.

A speed-up is the time of one robot divided by that of r robots, both of which fetch the same pages. The time of one
robot is the least r T(r) of the crawls of a table: what is done by r robots in T(r) is work for one robot in r times as
long. As a rule that is the crawl with r = 1 on the widest link, as in P0.

Invariant: no speed-up is above r. The quotient of two simulated times alone does not have this, also where the pages
are the same: one robot may leave the largest sites to the end and wait for them, where with two of them the second has
begun there early. Crawls that stop after as many pages have it still less: they have other pages, on slower or faster
sites (decision 0082).

>>> runs = [Run("length", 1, r, 2e6, time, moved=4e6) for r, time in ((1, 110.0), (4, 30.0), (2, 50.0))]
>>> [(each.run.connections, round(each.speed_up, 2), each.least_time) for each in speed_ups(runs)]
[(1, 0.91, 2.0), (4, 3.33, 2.0), (2, 2.0, 2.0)]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from weft.sim.metrics import bound


@dataclass(frozen=True, slots=True)
class Run:
    """A crawl, as far as its speed-up goes."""

    ordering: str
    per_visit: int
    connections: int
    bandwidth: float
    time: float
    moved: float
    """Bytes."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """A cell of the table."""

    run: Run
    speed_up: float
    least_time: float | None
    """T*, where the bandwidth has an end."""


def speed_ups(runs: Iterable[Run]) -> list[SpeedUp]:
    """The speed-ups of crawls of the same pages; each k of an ordering is a table of its own, as it saves latency."""
    runs = list(runs)
    alone: dict[tuple[str, int], float] = {}
    for run in runs:
        table = run.ordering, run.per_visit
        alone[table] = min(alone.get(table, math.inf), run.connections * run.time)
    return [
        SpeedUp(
            run,
            alone[run.ordering, run.per_visit] / run.time if run.time else 0.0,
            bound(run.moved, run.bandwidth) if math.isfinite(run.bandwidth) and run.moved else None,
        )
        for run in runs
    ]
