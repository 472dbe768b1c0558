"""Logs that do not grow for ever. In: a log that several processes append to. Out: the same, put aside under another
name when it is full; and all of its files again, in the order in which they were written.

Putting aside is one rename under a lock, so that of several processes one does it. Whoever still has the old file open
may add lines to it; they are in the right file by a second or so.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from weft.clock import Clock
from weft.disk import rename, writing

_TIME = '{"time":"'  # what a line begins with where it is JSON; otherwise it begins with the time itself


class Rotation:
    """When logs are put aside, and how many are kept."""

    def __init__(self, most: int, keep: int, clock: Clock) -> None:
        self._most = most  # bytes; 0: never
        self._keep = keep  # files; 0: all
        self._clock = clock

    def __repr__(self) -> str:
        return f"Rotation({self._most} bytes, {self._keep or 'all'} kept)"

    def put_aside(self, path: Path) -> bool:
        """Give a log another name if it is full; is the name free now?"""
        if self._most <= 0 or _size(path) < self._most:
            return False
        with writing(path), _alone(path):
            if _size(path) < self._most:  # another process was faster
                return False
            rename(path, self._name(path), durable=False)
            old = sorted(path.parent.glob(f"{path.name}.[0-9]*.[0-9]*Z*"))
            for each in old[: -self._keep] if self._keep else ():
                each.unlink(missing_ok=True)
        return True

    def _name(self, path: Path) -> Path:
        """By the time, so that names are in the order of what they hold."""
        seconds, fraction = divmod(round(self._clock.wall() * 1e6), 1_000_000)
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds))
        while (free := path.with_name(f"{path.name}.{stamp}.{fraction:06d}Z")).exists():
            fraction += 1
        return free


def log_files(path: Path) -> list[Path]:
    """A log and what was put aside of it, by whomever, in the order in which it was written; compressed files too."""
    found = []
    for each in path.parent.glob(f"{path.name}*") if path.parent.exists() else ():
        try:
            with opened(each) as file:
                found.append((each == path, file.readline().removeprefix(_TIME), each))
        except OSError:  # it was moved in this moment, or is no log
            continue
    return [each for *_, each in sorted(found)]


def opened(path: Path) -> IO[str]:
    """A log to be read."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


@contextmanager
def reopened_on_signal(path: Path) -> Iterator[None]:
    """Have SIGUSR1 begin a new log where the old one was moved, rather than end the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def begin(_number: int, _frame: Any) -> None:
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644))

    before = signal.signal(signal.SIGUSR1, begin)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from putting logs aside meanwhile."""
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
