"""A report on a crawl, in words. In: how it stands, and how it stood at the last report. Out: a subject, a short plain
text, and the same for programs.

>>> print(signed_count(1234), signed_count(-5), signed_count(0))
+1,234 -5 ±0
"""

from __future__ import annotations

from typing import Any

import msgspec

from weft.operations.status import Status
from weft.units import size, span

_MOST_REASONS = 8
_NAME = 15  # characters of the first column


class Remembered(msgspec.Struct, frozen=True):
    """What a report said, as far as the next one compares with it."""

    time: float  # wall time
    pages: int
    bytes: int
    pending: int
    known: int
    disk_free: int
    restarted: int
    faults: int
    application_faults: int
    errors: dict[str, int]
    refused: dict[str, int]


class Report(msgspec.Struct, frozen=True):
    """What is sent."""

    subject: str
    text: str
    status: Status
    changes: dict[str, Any]  # since the last report; nothing where there was none

    def payload(self) -> bytes:
        """For a webhook: JSON, with the text as such services show it."""
        return msgspec.json.encode(
            {"text": f"{self.subject}\n{self.text}", "subject": self.subject, "changes": self.changes}
            | {"status": self.status}
        )


def remembered(status: Status) -> Remembered:
    """What of a status the next report compares with."""
    return Remembered(**{name: getattr(status, name) for name in Remembered.__struct_fields__})


def compose(status: Status, before: Remembered | None, *, ended: str = "") -> Report:
    """The report on a crawl as it stands; `ended` says why the run did, where it has."""
    changes = _changes(status, before)
    new = f" ({signed_count(changes['pages'])})" if changes else ""
    state = f"ended ({ended})" if ended else _state(status)
    subject = f"weft: {status.crawl}: {state}, {status.pages:,} pages{new}"
    lines = [f"{status.crawl}: {state}", "", *_figures(status, changes), ""]
    if changes:
        lines += _counts(f"failures in {span(changes['seconds'])}", changes["errors"])
    lines += _counts("failures in all", status.errors)
    lines += _counts("refused by a rule", status.refused)
    lines += _troubles(status, changes)
    return Report(subject, "\n".join(lines).rstrip() + "\n", status, changes)


def signed_count(number: float) -> str:
    """A difference, for a person."""
    return "±0" if number == 0 else f"{number:+,.0f}"


def _changes(status: Status, before: Remembered | None) -> dict[str, Any]:
    if before is None:
        return {}
    numbers = ("pages", "bytes", "pending", "known", "disk_free", "restarted", "faults", "application_faults")
    found: dict[str, Any] = {name: getattr(status, name) - getattr(before, name) for name in numbers}
    for name in ("errors", "refused"):
        then, now = getattr(before, name), getattr(status, name)
        found[name] = {key: count - then.get(key, 0) for key, count in now.items() if count != then.get(key, 0)}
    return {"seconds": max(0.0, status.time - before.time), **found}


def _state(status: Status) -> str:
    if status.over:
        return f"ending ({status.over})"
    if status.outage:
        return f"nobody can be reached for {span(status.outage_seconds)}"
    return "paused" if status.paused else "running"


def _figures(status: Status, changes: dict[str, Any]) -> list[str]:
    """The table: a name and what there is to say, a line each."""

    def new(name: str, show: Any = signed_count) -> str:
        return f" ({show(changes[name])})" if changes else ""

    alive = sum(worker.alive for worker in status.workers)
    in_run = sum(worker.in_run for worker in status.workers)
    free = f"{size(status.disk_free)} free of {size(status.disk_size)}{new('disk_free', _signed_size)}"
    rows = {
        "pages": f"{status.pages:,}{new('pages')}",
        "content": f"{size(status.bytes)}{new('bytes', _signed_size)}",
        "speed": f"{status.pages_rate:,.1f} pages/s, {size(status.bytes_rate)}/s; target: {status.speed}",
        "pages pending": f"{status.pending:,}{new('pending')}",
        "URLs known": f"{status.known:,}{new('known')}",
        "sites": ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in status.lists.items()),
        "workers": f"{alive} of {in_run} alive, {status.active:,} connections busy",
        "disk": f"{free}{_full(status, changes)}",
        "volumes": f"{status.volumes:,} sealed",
        "run for": span(status.seconds),
    }
    return [f"{name:{_NAME}}{value}" for name, value in rows.items()]


def _full(status: Status, changes: dict[str, Any]) -> str:
    """When the disk is full, if it goes on like this."""
    used = -changes.get("disk_free", 0)
    if used <= 0 or changes["seconds"] <= 0:
        return ""
    return f"; full in {span(status.disk_free / used * changes['seconds'])} at this pace"


def _signed_size(amount: float) -> str:
    return f"{'-' if amount < 0 else '+'}{size(abs(amount))}"


def _counts(title: str, counts: dict[str, int]) -> list[str]:
    if not counts:
        return []
    ordered = sorted(counts.items(), key=lambda each: -each[1])
    shown = [f"{name} {count:,}" for name, count in ordered[:_MOST_REASONS]]
    more = sum(count for _, count in ordered[_MOST_REASONS:])
    return [f"{title}: {', '.join([*shown, *([f'others {more:,}'] if more else [])])}"]


def _troubles(status: Status, changes: dict[str, Any]) -> list[str]:
    def new(name: str) -> str:
        return f" ({signed_count(changes[name])})" if changes else ""

    lines = []
    if status.restarted:
        last = status.restarts[-1] if status.restarts else None
        cause = f", last worker {last.worker} by {last.how}" if last is not None else ""
        lines.append(f"workers were started again {status.restarted} times{new('restarted')}{cause}")
    if status.application_faults:
        lines.append(f"the application failed {status.application_faults} times{new('application_faults')}")
    if status.faults:
        lines.append(f"weft itself failed {status.faults} times{new('faults')} (log/faults.log)")
    return lines
