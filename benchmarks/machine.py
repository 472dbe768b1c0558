"""What a figure was seen on, and how a process is measured from outside."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import psutil


def description() -> dict[str, Any]:
    """The machine, for the record."""
    model = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "processor": model[0] if model else platform.processor(),
        "processors": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
    }


def peak_mb() -> float:
    """The most memory that this process has had. What `getrusage` says begins with that of the process it came from."""
    return next(int(line.split()[1]) for line in _lines("/proc/self/status") if line.startswith("VmHWM")) / 1024


def family(pid: int) -> list[int]:
    """A process, its children and theirs."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def cpu_of(pid: int) -> float:
    """Processor time of a process, user and system; what its children have used is not in it."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and its children, user and system."""
    return sum(map(cpu_of, family(pid)))


def stolen() -> float:
    """Processor time that the machine under this one has kept for others, since the start."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def peak_megabytes(pid: int) -> float:
    """The most memory that a process has had resident."""
    for line in _lines(f"/proc/{pid}/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()
