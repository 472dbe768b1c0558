"""What the overview shows. In: a status. Out: values and tables of texts, for the page as it is made and, by
server-sent events, for the page as it lives: both show the same.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft.frontier.shared.contract import ALL_AT_ONCE, PHASES
from weft.model import Reason
from weft.operations.status import Status, WorkerStatus
from weft.operations.words import left_out_of, short, stage_rows, state_of, target_of, troubles_of, worker_state
from weft.units import size, span

_MOST_REASONS = 12
_MOST_STOPPED = 20
_MEANINGS = {reason.value: reason.doc for reason in Reason}
_TIGHT = 0.1  # the share of a disk below which what is free is worth a look


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """A cell of a table."""

    text: str
    bar: float = -1.0  # a share, drawn behind; below 0: none is
    tone: str = ""  # good, bad, faint
    title: str = ""  # what it means


class Overview(msgspec.Struct, frozen=True):
    """Everything on the page that changes."""

    tone: str  # of the state: good, bad, faint
    values: dict[str, str]
    tables: dict[str, list[list[Cell]]]
    rates: dict[str, list[float]]  # recently, the oldest first


def overview_of(found: Status, rates: dict[str, list[float]]) -> Overview:
    """What there is to show of a status."""
    alive = [worker for worker in found.workers if worker.alive]
    values = {
        "state": state_of(found),
        "pages": f"{found.pages:,}",
        "pages_rate": f"{found.pages_rate:,.1f}",
        "bytes": size(found.bytes),
        "bytes_rate": f"{size(found.bytes_rate)}/s",
        "pending": f"{found.pending:,}",
        "unassigned": f"{found.unassigned:,}",
        "known": f"{found.known:,}",
        "active": f"{found.active:,}",
        "memory": size(sum(worker.memory for worker in alive)),
        "disk": size(found.disk_free) if found.disk_size else "not known",
        "seconds": span(found.seconds),
        "target": target_of(found),
        "blacklist": f"{found.blacklist:,}",
        "workers": f"{len(alive):,} alive",
        "volumes": f"{found.volumes:,}" + (f", {found.stored:,} in the store" if found.stored else ""),
        "duplicates": f"{found.duplicates:,}",
        "phase": "" if found.phase == PHASES[ALL_AT_ONCE] else found.phase,
        "shelved": f"{found.shelved:,}",
        "cpu": f"{span(found.machine.cpu_user + found.machine.cpu_system)}, "
        f"queued for {span(found.machine.cpu_queued)}",
        "written": f"{size(found.machine.disk_written)} written, {size(found.machine.disk_read)} read",
    }
    tables = {
        "lists": _bars({name.replace("_", " "): count for name, count in found.lists.items()}),
        "errors": _bars(_cut(found.errors), tone="bad"),
        "refused": _bars(_cut(found.refused)),
        "troubles": [[Cell(line, tone="bad")] for line in troubles_of(found)] + _disk(found),
        "left_out": [[Cell(line)] for line in left_out_of(found)],
        "stopped": [[Cell(name), Cell(reason, title=_MEANINGS.get(reason, ""))] for name, reason in _some(found)],
        "stages": [[Cell(text) for text in row] for row in stage_rows(found)],
        "workers": [_worker(worker) for worker in found.workers],
        "nodes": [
            [
                *(Cell(text) for text in (str(node.number), node.name)),
                Cell(node.state, tone={"alive": "good", "left": "faint"}.get(node.state, "bad")),
                *(Cell(f"{number:,}") for number in (node.workers, node.groups, node.pages)),
                Cell(short(node.heard)),
                Cell(node.version, tone="faint"),
            ]
            for node in found.nodes
        ],
    }
    return Overview(_tone(found), values, tables, rates)


def _tone(found: Status) -> str:
    if found.running and (found.outage or found.stalled):
        return "bad"
    return "good" if found.running and not found.paused and not found.over else "faint"


def _worker(worker: WorkerStatus) -> list[Cell]:
    tone = "good" if worker.alive else "bad" if worker.left_out else "faint"
    return [
        Cell(str(worker.number)),
        Cell(str(worker.pid or "-")),
        Cell(worker_state(worker), tone=tone),
        Cell(f"{worker.pages:,}"),
        Cell(f"{worker.pages_rate:,.1f}"),
        Cell(f"{size(worker.bytes_rate)}/s"),
        Cell(f"{worker.active:,}"),
        Cell(f"{worker.pending:,}"),
        Cell(size(worker.memory) if worker.memory else "-"),
        Cell(short(worker.heard)),
    ]


def _disk(found: Status) -> list[list[Cell]]:
    if not found.disk_size or found.disk_free >= _TIGHT * found.disk_size:
        return []
    return [[Cell(f"the disk of the crawl is nearly full: {size(found.disk_free)} are free", tone="bad")]]


def _some(found: Status) -> Iterable[tuple[str, str]]:
    """Sites that are followed no further, and how many others there are."""
    named = list(found.stopped.items())
    more = len(named) - _MOST_STOPPED
    return [*named[:_MOST_STOPPED], *([(f"and {more:,} others", "")] if more > 0 else [])]


def _cut(counts: dict[str, int]) -> dict[str, int]:
    """The most frequent, and the others together."""
    first = dict(list(counts.items())[:_MOST_REASONS])
    more = sum(counts.values()) - sum(first.values())
    return first | ({"others": more} if more else {})


def _bars(counts: dict[str, int], tone: str = "") -> list[list[Cell]]:
    """Counts, each with its share of the largest."""
    most = max(counts.values(), default=0)
    return [
        [Cell(name, title=_MEANINGS.get(name, "")), Cell(f"{count:,}", bar=count / most if most else 0.0, tone=tone)]
        for name, count in counts.items()
    ]
