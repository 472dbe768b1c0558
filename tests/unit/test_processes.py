"""Processes that do not outlive their parents."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE

from weft.processes import kept_waiting

# A parent that starts a child, says its number, and waits to be ended. Its child sleeps.
CHILD = "import os, sys, time; from weft.processes import die_with_parent; "
ASKING = CHILD + "die_with_parent(os.getppid()); print('ready', flush=True); time.sleep(60)"
PARENT = (
    "import subprocess, sys; "
    "child = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdout=subprocess.PIPE); "
    "child.stdout.readline(); "
    "print(child.pid, flush=True); "
    "sys.stdin.readline()"
)


def gone(pid: int) -> bool:
    """Is nothing left of a process? What nobody has waited for does not run any more, either."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def gone_within(pid: int, seconds: float) -> bool:
    """Does a process end before a deadline?"""
    deadline = time.monotonic() + seconds
    while not gone(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def family() -> tuple[Any, int]:
    """A parent, and the number of a child that has asked to die with it."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    parent: Any = subprocess.Popen([sys.executable, "-c", PARENT, ASKING], **pipes)
    return parent, int(parent.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, None])
def test_child__vanishes_with_its_parent(number: signal.Signals | None) -> None:
    """Killed, terminated or at its end: the child is gone at once, and not before."""
    parent, child = family()
    try:
        assert not gone_within(child, 0.2)
        if number is None:
            parent.stdin.write(b"end\n")
        else:
            parent.send_signal(number)
        parent.communicate(timeout=PATIENCE)
        assert gone_within(child, PATIENCE)
    finally:
        parent.kill()
        parent.communicate()


def test_child__whose_parent_was_gone_before_it_asked_ends_itself() -> None:
    """The kernel would send nothing any more: its parent is another by then."""
    script = CHILD + "die_with_parent(int(sys.argv[1])); print('still here')"
    ended = subprocess.run([sys.executable, "-c", script, "1"], check=False, capture_output=True, timeout=PATIENCE)
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout == b""


def test_kept_waiting__grows_while_another_has_the_processor() -> None:
    """Of two processes that want the same processor, one waits; one that sleeps waits for nobody."""
    core = min(os.sched_getaffinity(0))
    script = f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    spinning = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        deadline = time.monotonic() + PATIENCE
        while min(kept_waiting(each.pid) for each in spinning) < 1.0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert min(kept_waiting(each.pid) for each in spinning) >= 1.0
        asleep = kept_waiting(sleeping.pid)
    finally:
        for each in (*spinning, sleeping):
            each.kill()
            each.wait()
    assert asleep >= 0.0
    assert kept_waiting(sleeping.pid) == 0.0  # there is no such process
