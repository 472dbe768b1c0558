"""Results as numbers. In: simulations, PageRank by page. Out: of each the measures and some thousand points of curves.

Crawls that differ by their seed alone are one entry: the curves are those of the first, and `repeats` has the mean and
Student's 95 % interval of every measure that chance moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.sim import metrics
from weft.sim.repeats import CONFIDENCE, interval
from weft.sim.result import Simulated
from weft.sim.speedup import Run, SpeedUp, speed_ups
from weft.sim.usage import Usage, usage

SHARES = (0.01, 0.1, 0.2)
TAU_SEED = 1  # the same pages are drawn in every report, whatever the simulation's own seed was
_REPEATED = ("average", "tau", "downloads", "pagerank", "time", "active", "least_time", "wasted_bandwidth")


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What is kept of a crawl when its order has been written: some thousand numbers."""

    name: str
    ordering: str
    measures: dict[str, Any]
    curve: metrics.Curve
    by_time: metrics.ByTime
    usage: Usage
    again: list[dict[str, Any]] = field(default_factory=list)
    """The measures of the same with other seeds."""

    @property
    def terms(self) -> tuple[int, float, int]:
        """k, bandwidth and r."""
        found = self.measures["parameters"]
        bandwidth = found.get("bandwidth") or math.inf
        return int(found.get("per_visit", 1)), float(bandwidth), int(found.get("connections", 1))


def measured(result: Simulated, scores: NDArray[np.float64]) -> Measured:
    """What is kept of a result."""
    return Measured(
        name=result.name,
        ordering=result.ordering,
        measures=measure(result, scores),
        curve=metrics.curve(result.order, scores, result.finished),
        by_time=metrics.by_time(result.finished, result.order, scores),
        usage=usage(result),
    )


def repeated(kept: Measured, result: Simulated, scores: NDArray[np.float64]) -> None:
    """Count a result of the same name, with a seed of its own, as a repeat."""
    found = measure(result, scores)
    seeds = [each["parameters"].get("seed") for each in (kept.measures, *kept.again)]
    if found["parameters"].get("seed") in seeds:
        raise UsageError(f"the ordering {kept.name} was simulated twice", todo="name each ordering once")
    kept.again.append(found)


def measure(result: Simulated, scores: NDArray[np.float64]) -> dict[str, Any]:
    """All measures of a result, as they stand in the summary."""
    order, finished = result.order, result.finished
    taken = float(finished[-1]) if len(finished) else 0.0
    lengths = {f"{share:.0%}": asdict(metrics.search_length(order, scores, share)) for share in SHARES}
    measures: dict[str, Any] = {
        "downloads": len(order),
        "sites": len(np.unique(result.site)),
        "pagerank": float(scores[order].sum()),
        "average": metrics.average(order, scores),
        "tau": metrics.kendall(order, scores, TAU_SEED),
        "search_length": lengths,
        "time": taken,
        "active": float((finished - result.started).sum()) / taken if taken else 0.0,
        "parameters": plain(result.parameters),
        "took": {"seconds": result.seconds, "cpu": result.cpu},
    }
    bandwidth = float(result.parameters.get("bandwidth") or math.inf)
    if result.bytes_moved:
        measures["bytes"] = result.bytes_moved
        if math.isfinite(bandwidth):
            least = metrics.bound(result.bytes_moved, bandwidth)
            measures |= {"least_time": least, "wasted_bandwidth": metrics.wasted(least, taken)}
    return measures


def with_repeats(each: Measured) -> dict[str, Any]:
    """The measures of the first seed, and, where there are others, means and intervals over all."""
    if not each.again:
        return each.measures
    every = [each.measures, *each.again]
    found: dict[str, Any] = {
        name: interval_of([float(one[name]) for one in every]) for name in _REPEATED if name in each.measures
    }
    seeds = [one["parameters"].get("seed") for one in every]
    return {**each.measures, "repeats": {"seeds": seeds, "confidence": CONFIDENCE, **found}}


def interval_of(values: Sequence[float]) -> dict[str, Any]:
    """An interval as the summary has it."""
    found = interval(values)
    return {"mean": found.mean, "half": found.half, "values": list(found.values)}


def speed_up_table(kept: Iterable[Measured]) -> list[dict[str, Any]]:
    """P0's table 1 of crawls of the same pages: a row for each of them, in their order."""
    kept = [each for each in kept if "connections" in each.measures["parameters"]]
    rounds = min((len(each.again) for each in kept), default=-1) + 1
    by_seed = [speed_ups(_run(each, number) for each in kept) for number in range(rounds)]
    return [_row(each, [found[at] for found in by_seed]) for at, each in enumerate(kept)]


def _run(each: Measured, number: int) -> Run:
    found = (each.measures, *each.again)[number]
    per_visit, bandwidth, connections = each.terms
    return Run(each.ordering, per_visit, connections, bandwidth, found["time"], float(found.get("bytes", 0.0)))


def _row(each: Measured, found: Sequence[SpeedUp]) -> dict[str, Any]:
    per_visit, bandwidth, connections = each.terms
    least = [one.least_time for one in found if one.least_time is not None]
    row: dict[str, Any] = {
        "name": each.name,
        "ordering": each.ordering,
        "per_visit": per_visit,
        "bandwidth": bandwidth if math.isfinite(bandwidth) else None,
        "connections": connections,
        "pages": each.measures["downloads"],
        "least_time": float(np.mean(least)) if least else None,
        "time": float(np.mean([one.run.time for one in found])),
        "speed_up": float(np.mean([one.speed_up for one in found])),
    }
    if len(found) > 1:
        row["interval"] = interval_of([one.speed_up for one in found])
    return row


def plain(value: Any) -> Any:
    """A value as JSON has it: no NumPy, no infinity (null), paths as text."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
