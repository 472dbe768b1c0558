"""Writing files safely: the one room where files are renamed. In: what to write, and where. Out: a file or a directory
that is whole under its name at any moment, also after a power failure.

The rule is always the same: write beside, sync, rename, sync the folder. A name that is there stands for a whole file;
a crash in the middle leaves what was there before, and something beside it that the next one removes.

Only what grows at its end (`store/files.py`, the frontier's log) syncs itself: it is never renamed before it is whole.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from weft.errors import UsageError, WeftError

Writer = Callable[[IO[bytes]], Any]
"""Writes what a file is to hold."""


_FULL = frozenset((errno.ENOSPC, errno.EDQUOT))
_FAULTS = _FULL | {errno.EIO, errno.EROFS}
_SQLITE_FULL = 13  # as SQLite calls a full disk


def disk_fault(error: BaseException | None) -> OSError | None:
    """What a full or a failing disk said, if that is behind an error; None where something else is."""
    for each in _behind(error):
        if isinstance(each, OSError) and each.errno in _FAULTS:
            return each
    return None


def is_full(error: BaseException | None) -> bool:
    """Is it a full disk, or a quota that is used up: can the same be tried again when there is room?

    >>> is_full(OSError(errno.ENOSPC, "No space left on device")), is_full(OSError(errno.EIO, "Input/output error"))
    (True, False)
    """
    return any(
        (isinstance(each, OSError) and each.errno in _FULL) or getattr(each, "sqlite_errorcode", 0) == _SQLITE_FULL
        for each in _behind(error)
    )


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


class writing:  # noqa: N801
    """Turns what the disk says into a message for a person."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Say what happened, where, and what to do."""
        if isinstance(error, OSError):
            todo = {
                errno.ENOSPC: "make room and run the same command again; nothing that was committed is lost",
                errno.EDQUOT: "raise the quota and run the same command again; nothing that was committed is lost",
                errno.EROFS: "the file system is read-only: choose another --out",
                errno.ENOTDIR: "a part of the path is a file: choose another --out",
                errno.EACCES: "the directory cannot be written: choose another --out, or change its permissions",
            }.get(error.errno or 0, "run the same command again when it is mended")
            what = os.strerror(error.errno) if error.errno else str(error)
            raise WeftError(f"cannot write: {what}", where=str(self._path), todo=todo) from error


def write_all(file: int, data: bytes) -> None:
    """Write to a descriptor, in as many steps as it takes."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


def append_lines(path: Path, lines: bytes) -> None:
    """Add lines to a list, for good; what a crash left behind its last line is ended first, and is no line."""
    with writing(path):
        new = not path.exists()
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(file).st_size
            cut = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            write_all(file, b"\n" * cut + lines)
            os.fdatasync(file)
        finally:
            os.close(file)
        if new:
            sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Have the content of a file survive a power failure, whoever wrote it."""
    _sync(path)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a power failure."""
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def rename(path: Path, final: Path, *, durable: bool = True) -> None:
    """Give a file or directory, whose content is synced already, its final name; what had that name is gone.

    With `durable` the new name survives a power failure when this returns. Else either name may be there afterwards.
    """
    path.rename(final)
    if durable:
        sync_folder(final.parent)


def write_new(path: Path, write: Writer) -> None:
    """Write a file that was not there, and sync its content; for folders that get their name when they are whole."""
    _write(path, write, 0o666)
    sync_file(path)


def _write(path: Path, write: Writer, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        write(file)


def replace_file(path: Path, content: bytes | Writer, *, mode: int = 0o666) -> None:
    """Write a file, or write it anew: what had its name is there until the new content is whole.

    At no moment can it be read by more people than `mode` says.
    """
    with beside(path) as new:
        _write(new, content if callable(content) else lambda file: file.write(content), mode)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A free name beside a file, for whoever writes it by name; when all went well, what was written there is synced
    and takes the file's place. Otherwise it is removed.
    """
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        yield new
        sync_file(new)
        rename(new, path)
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def replacing(out: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """A new directory beside a place, which takes the place when everything went well and is removed otherwise.

    `check` refuses a place where something else is than what may be replaced; it is asked before the work and after.
    """
    out = out.absolute()
    new, old = out.with_name(f".{out.name}.new"), out.with_name(f".{out.name}.old")
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        if old.exists() and not out.exists():  # the power failed between the two renames
            rename(old, out)
        check(out)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
    try:
        yield new
        with writing(out):
            check(out)
            if out.exists():
                shutil.rmtree(old, ignore_errors=True)
                rename(out, old, durable=False)
            rename(new, out)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def check_replaceable(
    out: Path, what: str, *, is_one: Callable[[Path], bool], is_ours: Callable[[str], bool] = lambda _name: True
) -> None:
    """Refuse a place where something else is than an earlier one of `what`; to be asked before the work is done.

    `is_one` says whether a directory with something in it is one, `is_ours` whether a name in it is one of ours.
    """
    todo = "give another directory, or move this one away"
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir() or out.is_symlink():
        raise UsageError(f"the {what} needs a directory of its own, and this is none", where=str(out), todo=todo)
    names = sorted(each.name for each in out.iterdir())
    if names and not is_one(out):
        raise UsageError(f"the directory exists and holds no earlier {what}", where=str(out), todo=todo)
    others = [name for name in names if not is_ours(name)]
    if others:
        raise UsageError(f"the earlier {what} has a foreign file in it, {others[0]}", where=str(out), todo=todo)
