"""Files that only grow. In: bytes. Out: how far a file is valid, and a checksum of what was added since last asked.

A commit names the valid length of every such file. What lies behind it was never promised; what lies before it must
be there after a power failure. Each mark carries the checksum of the bytes since the mark before, because a file
system may keep the length of a file and lose its last blocks.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from isal import isal_zlib

from weft.errors import WeftError

_OWNED = re.compile(r"-(\d+)-(\d+)\.(?:warc\.gz|cdxj|arrow|parquet)(?:\.\w+)*$")
OPEN = ".open"  # behind the name of a file that still grows
SETTLED = 2  # commits after which one is taken to be there for good


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a file is valid."""

    length: int
    since: int  # where the mark before stood
    checksum: int  # of the file up to the length, or, where `before` is not known, of the bytes between the two
    before: int = 0  # the checksum that the mark before had


class Growing:
    """A file that is written at its end only, and has its final name when it is sealed."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + OPEN)
        self.name = f"{path.parent.name}/{path.name}"  # by which a commit knows it
        with writing(self.path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        self.length = 0
        self._marked = 0
        self._synced = 0
        self.checksum = 0  # of everything
        self._before = 0

    def __repr__(self) -> str:
        return f"Growing({self.name}, {self.length} bytes)"

    def write(self, data: bytes) -> None:
        """Add bytes at the end."""
        with writing(self.path):
            write_all(self._file, data)
        self.length += len(data)
        self.checksum = isal_zlib.crc32(data, self.checksum)

    def mark(self) -> Mark:
        """How far the file is valid now."""
        mark = Mark(self.length, self._marked, self.checksum, self._before)
        self._marked, self._before = self.length, self.checksum
        return mark

    def sync(self) -> None:
        """Have what was written survive a power failure; may be called from another thread than the rest."""
        length = self.length
        if self._synced < length:
            with writing(self.path):
                os.fdatasync(self._file)
            if self._synced == 0:
                sync_folder(self.path.parent)
            self._synced = length

    def close(self) -> None:
        """Write no more."""
        os.close(self._file)


def damaged(what: str, where: Path | str) -> WeftError:
    """What was committed is not there, or not as it was: nothing is changed before somebody says so."""
    return WeftError(
        what,
        where=str(where),
        todo="nothing was changed; put the file back from a copy, or see what `weft repair CRAWL` can do",
    )


def intact(folder: Path, marks: dict[str, Mark]) -> bool:
    """Is everything there that a commit promises? A file that has been sealed since then was whole."""
    return all(_intact(folder / name, mark) for name, mark in marks.items())


def wholly_intact(folder: Path, name: str, mark: Mark) -> bool:
    """Is an open file as it was committed, from its beginning to its mark? One that has been sealed was whole."""
    if mark.since and not mark.before:  # of an older version: what is known is checked
        return _intact(folder / name, mark)
    return _intact(folder / name, Mark(mark.length, 0, mark.checksum))


def _intact(path: Path, mark: Mark) -> bool:
    growing = path.with_name(path.name + OPEN)
    try:
        if growing.stat().st_size < mark.length:
            return sealed_as(path).exists()
        with growing.open("rb") as file:
            file.seek(mark.since)
            checksum = mark.before
            left = mark.length - mark.since
            while left and (data := file.read(min(left, 1 << 20))):
                checksum = isal_zlib.crc32(data, checksum)
                left -= len(data)
    except FileNotFoundError:
        return sealed_as(path).exists()
    return left == 0 and checksum == mark.checksum


def sealed_as(path: Path) -> Path:
    """What a file is called when it is sealed: a journal becomes Parquet, the others keep their name."""
    return path.with_suffix(".parquet") if path.suffix == ".arrow" else path


def owner_of(path: Path) -> int | None:
    """The worker that a file belongs to, by its name.

    >>> owner_of(Path("part-3-00012.arrow.open")), owner_of(Path("nl-1-x-20260101000000-0-00001.warc.gz"))
    (3, 0)
    """
    found = _OWNED.search(path.name)
    return None if found is None else int(found[1])


def last_number(folder: Path, worker: int) -> int:
    """The highest number of a worker's files, those of earlier runs included."""
    with writing(folder):
        found = [_OWNED.search(path.name) for path in folder.iterdir()] if folder.exists() else []
    return max((int(each[2]) for each in found if each is not None and int(each[1]) == worker), default=0)


def write_all(file: int, data: bytes) -> None:
    """Write to a descriptor, in as many steps as it takes."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


def sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
            old.rename(out)
        check(out)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
    try:
        yield new
        with writing(out):
            check(out)
            if out.exists():
                shutil.rmtree(old, ignore_errors=True)
                out.rename(old)
            new.rename(out)
            sync_folder(out.parent)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
