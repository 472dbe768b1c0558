"""Processes and their parents. In: who started this process. Out: a process that does not outlive it, and what the
kernel says of one.
"""

from __future__ import annotations

import ctypes
import os
import signal

_PDEATHSIG = 1  # Linux's number for "send me this signal when my parent dies"


def die_with_parent(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when the one that started it ends, however that comes about.

    The kernel looks at the thread that started it: that must be one which lives as long as its process.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PDEATHSIG, by) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:  # it was gone before we asked
        os.kill(os.getpid(), by)


def resident() -> int:
    """Bytes of memory that this process uses; 0 where that cannot be seen, for lack of descriptors if nothing else."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  called often
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def kept_waiting(pid: int) -> float:
    """Seconds that a process was ready to run so far while others had the processors; 0 where that cannot be seen."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:  # noqa: PTH123  called often
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
