"""Where the values of metrics come from. In: a snapshot of a crawl. Out: samples, each with the values of its labels.

Labels have few values each: what comes from servers (statuses, media types) is put into classes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from weft.engine.progress import Counts, Statistics
from weft.operations.status import Snapshot, Status, WorkerStatus, stages_of

Kind = Literal["counter", "gauge"]
Sample = tuple[tuple[str, ...], float]
"""The values of a metric's labels, and its own."""
Read = Callable[[Snapshot], Iterable[Sample]]

# The top-level media types that are registered; a server may say anything.
_MEDIA = frozenset(
    "application audio font haptics image message model multipart text video".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    doc: str
    read: Read


# Where values come from.


def whole(read: Callable[[Status], float | None]) -> Read:
    """A value of the crawl as a whole; no sample where there is none."""

    def samples(snapshot: Snapshot) -> list[Sample]:
        value = read(snapshot.status)
        return [] if value is None else [((), float(value))]

    return samples


def whole_by(read: Callable[[Status], dict[str, int]]) -> Read:
    """Values of the crawl as a whole, by what they are of."""
    return lambda snapshot: [((name,), float(value)) for name, value in read(snapshot.status).items()]


def each_worker(read: Callable[[WorkerStatus], float | None]) -> Read:
    """A value of each worker as it stands."""

    def samples(snapshot: Snapshot) -> list[Sample]:
        values = ((worker.number, read(worker)) for worker in snapshot.status.workers)
        return [((str(number),), float(value)) for number, value in values if value is not None]

    return samples


def told(read: Callable[[Statistics], float]) -> Read:
    """A value that each worker has told, be it alive or not."""
    return lambda snapshot: [((str(number),), float(read(report))) for number, report in snapshot.reports.items()]


def count(read: Callable[[Counts], float]) -> Read:
    """A count of each worker."""
    return told(lambda report: read(report.counts))


def count_by(read: Callable[[Counts], dict[str, int]]) -> Read:
    """Counts of each worker, by what they are of."""
    return lambda snapshot: [
        ((str(number), name), float(count))
        for number, report in snapshot.reports.items()
        for name, count in read(report.counts).items()
    ]


def media_classes(counts: dict[str, int]) -> dict[str, int]:
    """Media types by their top level.

    >>> media_classes({"image/png": 2, "image/webp": 1, "x-evil/1": 4, "": 1})
    {'image': 3, 'other': 5}
    """
    found: dict[str, int] = {}
    for name, count in counts.items():
        top = name.partition("/")[0].lower()
        group = top if top in _MEDIA else "other"
        found[group] = found.get(group, 0) + count
    return found


def status_classes(statuses: dict[int, int]) -> dict[str, int]:
    """Statuses by their class; 0 is no answer.

    >>> status_classes({200: 5, 204: 1, 404: 2, 0: 3, 999: 1})
    {'2xx': 6, '4xx': 2, 'none': 3, 'other': 1}
    """
    found: dict[str, int] = {}
    for status, count in statuses.items():
        group = "none" if status == 0 else f"{status // 100}xx" if 100 <= status < 600 else "other"
        found[group] = found.get(group, 0) + count
    return found


def cut_contents(snapshot: Snapshot) -> Iterable[Sample]:
    """Contents that are not whole, by what they are and by what cut them."""
    for number, report in snapshot.reports.items():
        counts = report.counts
        for of, cuts in (
            ("page", counts.truncated),
            ("requisite", counts.parts_truncated),
            ("robots", counts.robots_truncated),
        ):
            for cut, count in cuts.items():
                yield (str(number), of, cut), float(count)


def sites_of_workers(snapshot: Snapshot) -> Iterable[Sample]:
    """The sites of workers that live, by what they wait for."""
    alive = {worker.number for worker in snapshot.status.workers if worker.alive}
    for number, report in snapshot.reports.items():
        if number in alive:
            states = {
                "visited": report.active,
                "ready": report.ready,
                "waiting": report.waiting,
                "set_aside": report.aside,
            }
            for state, sites in states.items():
                yield (str(number), state), float(sites)


def operations(snapshot: Snapshot) -> Iterable[Sample]:
    """How often what was done."""
    for number, report in snapshot.reports.items():
        for name, stage in stages_of(report.counts).items():
            yield (str(number), name, stage.device), float(stage.operations)


def operation_seconds(snapshot: Snapshot) -> Iterable[Sample]:
    """How long it took."""
    for number, report in snapshot.reports.items():
        for name, stage in stages_of(report.counts).items():
            yield (str(number), name, stage.device), stage.seconds


def cpu_seconds(snapshot: Snapshot) -> Iterable[Sample]:
    """Processor time of workers, by who used it."""
    for number, report in snapshot.reports.items():
        yield (str(number), "user"), report.counts.cpu_user
        yield (str(number), "system"), report.counts.cpu_system


def own_time(_snapshot: Snapshot) -> Iterable[Sample]:
    """Processor time of this process."""
    spent = os.times()
    return [((), spent.user + spent.system)]
