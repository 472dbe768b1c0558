"""Processes and their parents. In: who started this process. Out: a process that does not outlive it."""

from __future__ import annotations

import ctypes
import os
import signal

_PDEATHSIG = 1  # Linux's number for "send me this signal when my parent dies"


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the one that started it ends, however that comes about.

    The kernel looks at the thread that started it: that must be one which lives as long as its process.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:  # it was gone before we asked
        os.kill(os.getpid(), signal.SIGKILL)
