"""Signs of life of a worker, for other processes of its machine. In: the worker's folder. Out: which process it is, and
when it last gave a sign.

It is one small file: its text is the process, its time of change is the last sign. It says nothing about whether the
global frontier hears the worker: one that waits for that lives.
"""

from __future__ import annotations

import os
from pathlib import Path

from weft.store.files import writing

_FILE = "alive"


class Vitals:
    """The signs that a worker gives."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        with writing(self._path):
            self._path.write_text(f"{os.getpid()}\n", encoding="ascii")

    def __repr__(self) -> str:
        return f"Vitals({self._path})"

    def beat(self) -> None:
        """Still alive."""
        with writing(self._path):
            os.utime(self._path)


def last_sign(folder: Path) -> float:
    """When the worker of a folder gave its last sign, by the clock of the file system; 0.0: never."""
    try:
        return (folder / _FILE).stat().st_mtime
    except OSError:
        return 0.0


def signs_of(folder: Path) -> dict[int, float]:
    """The last signs of all workers whose folders are in this one, by their numbers."""
    return {int(own.name): last_sign(own) for own in folder.glob("*") if own.name.isdigit()}


def process_of(folder: Path) -> int | None:
    """The process of the worker of a folder, be it alive or not; None where there was none."""
    try:
        return int((folder / _FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def lives(pid: int | None) -> bool:
    """Is there a process? One that has ended, and that nobody has waited for yet, is none."""
    if pid is None:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
