"""What a process has had of its machine, and how long operations took."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from weft.clock import VirtualClock
from weft.engine import devices
from weft.engine.devices import Devices, Usage
from weft.engine.progress import Counts, timed


def test_devices__see_what_was_used_since_the_last_look() -> None:
    """Processor time that is spent is counted once."""
    seen = Devices()
    began = time.process_time()
    while time.process_time() - began < 0.2:
        pass
    first = seen.grown()
    assert 0.1 < first.user + first.system < 10
    assert min(first) >= 0
    spent = os.times()
    second = seen.grown()
    assert second.user + second.system <= first.user + first.system + spent.user + spent.system
    assert min(second) >= 0


def test_devices__that_cannot_be_seen_for_once_count_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker without a descriptor left goes on, and later counts what came meanwhile."""
    looks = iter([Usage(1.0, 1.0, 5.0, 100, 200), Usage(2.0, 1.0), Usage(3.0, 1.0, 6.0, 110, 200)])
    monkeypatch.setattr(devices, "_usage", lambda: next(looks))
    seen = Devices()
    assert seen.grown() == Usage(1.0, 0.0, 0.0, 0, 0)
    assert seen.grown() == Usage(1.0, 0.0, 1.0, 10, 0)


def test_devices__are_nothing_where_the_kernel_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor time is always known."""

    def no_descriptor(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("builtins.open", no_descriptor)
    assert Devices().grown()[2:] == (0.0, 0, 0)


def test_devices__count_what_is_written(tmp_path: Path) -> None:
    """As far as the file system has a disk."""
    seen = Devices()
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.write(bytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    if "write_bytes" not in Path("/proc/self/io").read_text():
        pytest.skip("this kernel does not count what processes write")
    assert seen.grown().written in (0, *range(1 << 20, 1 << 24))


def test_timed__counts_what_fails_as_well() -> None:
    """An exchange that nobody answers has taken its time."""
    clock, counts = VirtualClock(), Counts()

    def work(seconds: float, *, fails: bool = False) -> str:
        clock.advance(seconds)
        if fails:
            raise OSError
        return "done"

    assert timed(clock, counts.exchanged, work, 2.0) == "done"
    with pytest.raises(OSError, match=r"^$"):
        timed(clock, counts.exchanged, work, 3.0, fails=True)
    assert (counts.exchanges, counts.exchanging) == (2, 5.0)
    timed(clock, counts.committed, work, 1.0)
    timed(clock, counts.sealed, work, 0.5)
    counts.resolved(0.25)
    counts.late(-0.1)
    counts.late(0.1)
    assert (counts.commits, counts.committing, counts.sealings, counts.sealing) == (1, 1.0, 1, 0.5)
    assert (counts.names, counts.resolving, counts.looks, counts.lagging) == (1, 0.25, 2, 0.1)
