"""The directories where a worker writes its volumes. In: what their disks say. Out: volumes that are whole, in one that
has room.

A full disk (ENOSPC, EDQUOT) or a failing one (EIO, EROFS) takes its directory out of use. The open volume and its index
move to the next one in use, byte for byte: what commits, columns and the index say of them stays true. The old copy is
removed when two further commits are on disk. Where no directory is in use the files wait where they are, with what is
not on disk yet in memory, and whoever commits waits with them.

A directory comes back into use when it has room for two volumes again, or, where there is no other, as soon as its disk
takes what waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from weft.clock import Clock
from weft.disk import disk_fault, write_all
from weft.errors import WeftError
from weft.store.files import Growing

_LOOK = 30.0  # seconds between two looks at a directory that is out of use
_PROBE = ".weft-room"
_PROBED = 1 << 16  # bytes


class Shelves:
    """Which directories are in use, and what waits to be removed; owned by a worker's store. `first` is called by the
    thread that writes, the rest by those beside it.
    """

    def __init__(self, folders: Sequence[Path], clock: Clock, *, volume_bytes: int, say: Callable[[str], None]) -> None:
        self._folders = tuple(folders)
        self._clock = clock
        self._need = 2 * volume_bytes
        self._say = say
        self._looked = clock.now()
        self._left: list[tuple[int, Path]] = []  # old copies, each with the commit that made them old
        self.out_of_use: dict[Path, str] = {}  # with what their disks said

    def __repr__(self) -> str:
        return f"Shelves({len(self._folders)} directories, {len(self.out_of_use)} out of use)"

    def first(self) -> Path:
        """Where the next volume goes."""
        return next(iter(self._in_use()), self._folders[0])

    def _in_use(self) -> list[Path]:
        return [folder for folder in self._folders if folder not in self.out_of_use]

    def sync(self, files: Sequence[Growing], commit: int, *, durable: bool) -> None:
        """Have open files on a disk; an error where no directory takes them."""
        waiting = [growing for growing in files if growing.waits]
        self._look(sum(growing.length for growing in waiting))
        failed = any(growing.fault is not None for growing in waiting)
        for growing in waiting:
            if growing.path.parent in self.out_of_use and self._move(growing, commit, durable=durable):
                continue
            try:
                growing.sync(durable=durable)
            except WeftError as error:
                self._failed(growing, error)
                if not self._move(growing, commit, durable=durable):
                    raise
        if failed and not self._in_use():  # the only one took what waited
            for growing in waiting:
                self._back(growing.path.parent)

    def save(self, growing: Growing, error: WeftError, commit: int) -> None:
        """A file could not be sealed where it is: move it to where it can be."""
        self._failed(growing, error)
        if not self._move(growing, commit, durable=True):
            raise error

    def remove_old(self, commit: int) -> None:
        """Remove old copies of files whose new ones this commit, and those before it, have."""
        due = [each for each in self._left if each[0] <= commit]
        for each in due:
            with suppress(OSError):  # of a disk that fails: nobody looks at it
                each[1].unlink(missing_ok=True)
            self._left.remove(each)

    def _failed(self, growing: Growing, error: WeftError) -> None:
        """Take the directory of a file out of use, if it is its disk that failed."""
        fault = disk_fault(error)
        if fault is None:
            raise error
        self._take_out(growing.path.parent, fault)

    def _take_out(self, folder: Path, fault: OSError) -> None:
        if folder in self._folders and folder not in self.out_of_use:
            self.out_of_use[folder] = what = fault.strerror or str(fault)
            left = self._in_use()
            where = f"volumes go to {left[0]}" if left else "no directory for volumes is left"
            self._say(f"{folder} is out of use: {what}; {where}")

    def _move(self, growing: Growing, commit: int, *, durable: bool) -> bool:
        """Move a file to the first directory in use that takes it, if one does."""
        for folder in self._in_use():
            try:
                self._left.append((commit, growing.move(folder, durable=durable)))
            except WeftError as error:
                fault = disk_fault(error)
                if fault is None:
                    raise
                self._take_out(folder, fault)
            else:
                return True
        return False

    def _look(self, waiting: int) -> None:
        """See whether a directory that is out of use can be used again: for two volumes, or for what waits."""
        now = self._clock.now()
        if not self.out_of_use or now - self._looked < _LOOK:
            return
        self._looked = now
        need = self._need if self._in_use() else waiting
        for folder in list(self.out_of_use):
            if _has_room(folder, need):
                self._back(folder)

    def _back(self, folder: Path) -> None:
        if self.out_of_use.pop(folder, None) is not None:
            self._say(f"{folder} is in use again")


def _has_room(folder: Path, need: int) -> bool:
    """Has a directory so much room, and can be written?"""
    probe = folder / _PROBE
    try:
        about = os.statvfs(folder)
        if about.f_bavail * about.f_frsize < need:
            return False
        file = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            write_all(file, bytes(_PROBED))
            os.fsync(file)
        finally:
            os.close(file)
            probe.unlink(missing_ok=True)
    except OSError:
        return False
    return True
