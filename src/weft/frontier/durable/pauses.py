"""Pauses that servers asked for, written down at once. In: a site, and until when it is left alone. Out: the same, for
the next run.

A commit comes once a second, and a worker may be killed in between: it must not forget that it was asked to wait for an
hour. So a pause is one short write to a file beside the log, of which there are two. The commit after it has the pause,
too; then the file is emptied. The end of the process loses nothing. Where commits are synced, so is the file, by a
thread beside the loop and as soon as something stands in it: a power failure may lose what was noted milliseconds ago,
and nobody is asked again within these.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from isal import isal_zlib

from weft.disk import sync_folder, write_all, writing

_FILES = (".pauses0", ".pauses1")  # instead of the log's suffix


class Pauses:
    """Notes the pauses of one worker's sites on disk; its local frontier owns it.

    Whatever a server asked for stands in a commit or in one of the two files, at any moment.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._turn = 0
        self._opened: list[int | None] = [None, None]
        self._syncing: ThreadPoolExecutor | None = None
        self._queued = False  # a sync will begin that has what is noted now
        self._named = False  # the names of both files are on disk
        self._failure: Exception | None = None  # of the last one
        self.sync = False  # is what is noted synced?
        self.unclaimed: dict[str, float] = {}  # of sites that the log does not know: name, wall time

    def __repr__(self) -> str:
        return f"Pauses({self._log})"

    def note(self, site: str, wall: float, seconds: float) -> None:
        """A site is to be left alone for so long from this wall time on."""
        until, rest = (math.ceil(each * 1000) / 1000 for each in (wall + seconds, seconds))  # none is visited too early
        text = f"{until:.3f} {rest:.3f} {site}".encode()
        with writing(self._log.with_suffix(_FILES[self._turn])):
            write_all(self._file(), b"%08x %s\n" % (isal_zlib.crc32(text), text))
        if self.sync:
            self._sync_soon()

    def turn(self, wall: float) -> None:
        """A commit that is made at this wall time takes in what was noted so far. What the commit before has is not
        needed any more.
        """
        self._turn ^= 1
        path = self._log.with_suffix(_FILES[self._turn])
        if self._opened[self._turn] is not None or path.exists():
            with writing(path):
                os.ftruncate(self._file(), 0)
        for site, until in self.unclaimed.items():
            self.note(site, wall, max(0.0, until - wall))

    def close(self) -> None:
        """Give the files back."""
        if self._syncing is not None:
            self._syncing.shutdown()
            self._syncing = None
        for file in self._opened:
            if file is not None:
                os.close(file)
        self._opened = [None, None]

    def _sync_soon(self) -> None:
        """Have what was noted on disk; a sync that has not begun yet sees to it."""
        if self._failure is not None:
            raise self._failure
        if not self._queued:
            self._queued = True
            self._syncing = self._syncing or ThreadPoolExecutor(1, thread_name_prefix="pauses")
            self._syncing.submit(self._sync)

    def _sync(self) -> None:
        """In a thread of its own: put the files, and their names, on disk."""
        self._queued = False  # what is noted from here on may come too late
        try:
            with writing(self._log):
                for file in filter(None, self._opened):
                    os.fdatasync(file)
                if not self._named:
                    sync_folder(self._log.parent)
                    self._named = all(self._opened)
        except Exception as error:  # noqa: BLE001  it is raised where the next pause is noted
            self._failure = error

    def _file(self) -> int:
        file = self._opened[self._turn]
        if file is None:
            how = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            file = self._opened[self._turn] = os.open(self._log.with_suffix(_FILES[self._turn]), how, 0o644)
        return file


def noted(log: Path, wall: float) -> dict[str, float]:
    """What was noted beside a worker's log, by site: until when it is left alone, where it is this wall time now, and
    never for longer than it asked for. Lines that were cut count as none.
    """
    found: dict[str, float] = {}
    for suffix in _FILES:
        path = log.with_suffix(suffix)
        for line in path.read_bytes().splitlines() if path.exists() else ():
            checksum, _, text = line.partition(b" ")
            if checksum == b"%08x" % isal_zlib.crc32(text):
                until, rest, site = text.decode().split(" ", 2)
                found[site] = max(found.get(site, 0.0), min(float(until), wall + float(rest)))
    return found
