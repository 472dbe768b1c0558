"""What a status says, in words. In: a status. Out: sentences, the same on the command line and in the console."""

from __future__ import annotations

from weft.operations.left_out import left_out, stored_again
from weft.operations.status import Status, WorkerStatus


def state_of(found: Status) -> str:
    """Does it run, and if not, why?"""
    if found.running and found.over:
        return f"ending ({found.over})"
    if found.running:
        outage = f", but nobody can be reached for {short(found.outage_seconds)}: {found.outage}"
        stall = f", but waits for {short(found.stalled_seconds)}: {found.stalled}" if found.stalled else ""
        return f"running{', paused' if found.paused else ''}{outage if found.outage else ''}{stall}"
    paused = ", paused" if found.paused else ""
    return f"not running{paused} (the last run ended: {found.over or 'interrupted or killed'})"


def troubles_of(found: Status) -> list[str]:
    """What whoever runs it should know of."""
    lines = stored_again(found.copies, found.unremembered)
    if found.outages:
        times = "once" if found.outages == 1 else f"{found.outages} times"
        lines.append(f"nobody could be reached {times}, which was no site's fault (log/messages.log)")
    if found.stalls:
        times = "once" if found.stalls == 1 else f"{found.stalls} times"
        lines.append(f"the crawl waited {times} for a disk or for its store (log/messages.log)")
    lines += [f"out of use: {folder}: {said}" for folder, said in found.out_of_use.items()]
    lines += [f"worker {each.number} is left out: {each.left_out}" for each in found.workers if each.left_out]
    if found.stored:
        lines.append(f"{found.stored:,} of {found.volumes:,} sealed volumes are in the store")
    if found.restarted:
        last = found.restarts[-1]
        cause = f": {last.cause}" if last.cause else ""
        lines.append(
            f"workers were started again {found.restarted} times, last worker {last.worker} by {last.how}{cause}"
        )
    if found.application_faults:
        lines.append(f"the application failed {found.application_faults} times (log/faults.log)")
    if found.faults:
        lines.append(f"weft itself failed {found.faults} times (log/faults.log)")
    return lines


def left_out_of(found: Status) -> list[str]:
    """What was cut or left out, with the option that changes it."""
    return left_out(found.requisites, found.truncated, found.not_collected, found.max_bytes_page)


def target_of(found: Status) -> str:
    """The speed that is aimed at now."""
    parts = [
        f"{limit:,.0f} {unit}"
        for limit, unit in ((found.pages_target, "pages/s"), (found.bytes_target, "bytes/s"))
        if limit is not None
    ]
    now = " and ".join(parts) or "none"
    return f"{now} at this hour ({found.speed})" if ":" in found.speed else now


def worker_state(worker: WorkerStatus) -> str:
    """How a worker stands, in a word or two."""
    if worker.alive:
        return "alive"
    return "ended" if worker.in_run else "left out" if worker.left_out else "earlier"


_EACH = {"courtesy": "visit", "resolve": "name", "pack": "commit", "commit": "commit", "exchange": "exchange"}
_EACH |= {"seal": "look", "lag": "look"}  # what an operation is, where it is no page


def stage_rows(found: Status) -> list[tuple[str, str, str, str, str]]:
    """What was spent on what: the operation, its device, how many there were, seconds, and the mean."""
    rows = []
    for name, stage in found.stages.items():
        mean = f"{stage.mean:,.2f} s" if name == "courtesy" else f"{stage.mean * 1000:,.2f} ms"
        label = "courtesy wait" if name == "courtesy" else name
        what = _EACH.get(name, "page")
        each = f"{mean} {'an' if what[0] in 'aeiou' else 'a'} {what}"
        rows.append((label, stage.device, f"{stage.operations:,}", f"{stage.seconds:,.1f}", each))
    return rows


def short(seconds: float | None) -> str:
    """A time in a few characters; of None, that it never was.

    >>> short(2.0), short(1051.0), short(90_000.0), short(None)
    ('2 s', '18 min', '25 h', 'never')
    """
    if seconds is None:
        return "never"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:,.0f} h"
