"""Disks that lose what was not synced. In: real files in a directory in memory. Out, when the power fails: what a file
system may leave of them.

Files are real: the code under test opens, maps, links and renames them as it always does. Only syncs are seen here: how
long each file was when it was last synced, and which names its folder had when that was. When a machine loses its
power, what its files have beyond that is lost, cut at any byte, or there in length and zero in content; a file whose
name was never synced may be gone. What is renamed is taken to be renamed for good: `weft.disk` syncs the folder in the
same step.

A process may also be killed by its n-th sync from now on, in the middle of whatever it does.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from tests.cluster.events import KilledError, Scheduler


class Disk:
    """What is known of all files of a run."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._synced: dict[int, int] = {}  # by file: how long it was
        self._named: dict[int, set[str]] = {}  # by folder: the names that are there for good
        self.syncs = 0

    def __repr__(self) -> str:
        return f"Disk({self.syncs} syncs)"

    @contextmanager
    def watched(self) -> Iterator[None]:
        """See every sync of this process."""
        before = os.fsync, os.fdatasync
        sync: Any = self._sync
        os.fsync = os.fdatasync = sync
        try:
            yield
        finally:
            os.fsync, os.fdatasync = before

    def _sync(self, file: int) -> None:
        process = self._scheduler.current
        if process is not None and process.dies_at_sync():
            raise KilledError
        self.syncs += 1
        about = os.fstat(file)
        if S_ISDIR(about.st_mode):
            self._named[about.st_ino] = set(os.listdir(file))
        else:
            self._synced[about.st_ino] = about.st_size
        if process is not None and process.dies_at_sync():
            raise KilledError

    def lose_power(self, files: list[Path], chance: random.Random) -> list[str]:
        """Leave of some files what a machine without power leaves; what became of each that lost something."""
        said = []
        for path in files:
            about = path.stat()
            named = self._named.get(path.parent.stat().st_ino, set())
            kept = min(self._synced.get(about.st_ino, 0), about.st_size)
            if path.name not in named and chance.random() < 0.5:
                path.unlink()
                said.append(f"{path.name} gone")
            elif about.st_size > kept:
                said.append(f"{path.name} {_tear(path, kept, about.st_size, chance)}")
        return said

    def lose_synced(self, path: Path, ends: list[int], chance: random.Random) -> str:
        """A disk that said it had synced loses the last of what was: the file is cut behind the last but two of these
        ends, or later.
        """
        size = path.stat().st_size
        least = ends[-3] if len(ends) > 2 else ends[0]
        return f"{path.name} {_tear(path, least, size, chance)} though it was synced"


def _tear(path: Path, least: int, size: int, chance: random.Random) -> str:
    """Cut a file at any byte behind `least`, or keep its length with zeros behind there."""
    at = least if chance.random() < 0.3 else chance.randint(least, size)
    os.truncate(path, at)
    if chance.random() < 0.3:
        os.truncate(path, size)
        return f"zeros from {at} to {size}"
    return f"cut from {size} to {at}"


def files_of(out: Path, worker: int, owner_of: Callable[[Path], int | None]) -> list[Path]:
    """The files of one worker."""
    own = [path for path in (out / "workers" / str(worker)).rglob("*") if path.is_file()]
    volumes = out / "volumes"
    if volumes.exists():
        own += [path for path in volumes.iterdir() if owner_of(path) == worker]
    return sorted(own)
