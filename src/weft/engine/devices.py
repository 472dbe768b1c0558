"""What a process has had of its machine (P3, section 6.1 and table 5). In: what the kernel counts for it. Out: how much
that grew since it was last looked at.

It is looked at once a commit. What the kernel does not say, or there is no descriptor left to ask by, counts as
nothing.
"""

from __future__ import annotations

import os
from typing import NamedTuple


class Usage(NamedTuple):
    """What was had, since the process began or since a moment."""

    user: float = 0.0  # seconds of processors, all threads together
    system: float = 0.0  # the same in the kernel
    queued: float = 0.0  # seconds in which the event loop's thread could run, and no processor was free
    read: int = 0  # bytes from disks
    written: int = 0  # bytes to disks; what is overwritten before it gets there counts


class Devices:
    """What this process had since it was last asked; the worker owns it, and asks in the thread of its loop."""

    def __init__(self) -> None:
        self._last = _usage()

    def __repr__(self) -> str:
        return f"Devices({self._last})"

    def grown(self) -> Usage:
        """What was had since the last time."""
        now, last = _latest(_usage(), self._last), self._last
        self._last = now
        return Usage(
            now.user - last.user,
            now.system - last.system,
            now.queued - last.queued,
            now.read - last.read,
            now.written - last.written,
        )


def _latest(now: Usage, last: Usage) -> Usage:
    """Two looks as one, where what cannot be seen for once has not changed."""
    return Usage(
        max(now.user, last.user),
        max(now.system, last.system),
        max(now.queued, last.queued),
        max(now.read, last.read),
        max(now.written, last.written),
    )


def _usage() -> Usage:
    times = os.times()
    counted = dict(line.split(": ") for line in _text("io").splitlines())
    waited = _text("schedstat").split()[1:2]  # of the first thread, whose loop it is
    return Usage(
        times.user,
        times.system,
        int(waited[0]) / 1e9 if waited else 0.0,
        int(counted.get("read_bytes", 0)),
        int(counted.get("write_bytes", 0)),
    )


def _text(name: str) -> str:
    try:
        with open(f"/proc/self/{name}", encoding="ascii") as file:  # noqa: PTH123  called often
            return file.read()
    except OSError:
        return ""
