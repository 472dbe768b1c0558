"""Files that only grow. In: bytes. Out: how far a file is valid, and a checksum of what was added since last asked.

A commit names the valid length of every such file. What lies behind it was never promised; what lies before it must
be there after a power failure. Each mark carries the checksum of the bytes since the mark before, because a file
system may keep the length of a file and lose its last blocks.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec
from isal import isal_zlib

from weft.disk import disk_fault, sync_folder, write_all, writing
from weft.errors import WeftError
from weft.store.places import places_of
from weft.store.stored import stored_names

_OWNED = re.compile(r"-(\d+)-(\d+)\.(?:warc\.gz|cdxj|arrow|parquet)(?:\.\w+)*$")
OPEN = ".open"  # behind the name of a file that still grows
_HOW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_COPIED = 1 << 20  # bytes at a time
SETTLED = 2  # commits after which one is taken to be there for good


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far a file is valid."""

    length: int
    since: int  # where the mark before stood
    checksum: int  # of the file up to the length, or, where `before` is not known, of the bytes between the two
    before: int = 0  # the checksum that the mark before had


class Growing:
    """A file that is written at its end only, and has its final name when it is sealed.

    What a full or failing disk does not take is kept in memory, and so is what is not synced yet: `sync` writes it
    again, and `move` writes the whole file to another directory, under the same name and with every byte in its place.
    So what a commit says of the file stays true wherever it is. Where a disk is full, or fails, writing is no error;
    syncing is.
    """

    def __init__(self, path: Path, name: str = "", *, left: Mark | None = None) -> None:
        """Begin a file; or, by the mark up to which an earlier run `left` it, know one that is written no more."""
        self.path = path.with_name(path.name + OPEN)
        self.name = name or f"{path.parent.name}/{path.name}"  # by which a commit knows it
        self.length = self._marked = 0 if left is None else left.length
        self.checksum = self._before = 0 if left is None else _whole_checksum(self.path, left)  # of everything
        self._sure = (self.length, self.checksum)  # how far it is on disk for good, and the checksum up to there
        self._tail: deque[bytes] = deque()  # what lies behind that
        self._named = left is not None  # its name is on disk, too
        self._adding = threading.Lock()  # who writes, and who writes again
        self._disk = threading.RLock()  # who syncs, moves and closes
        self.fault: OSError | None = None  # what the disk said; nothing is written until that is over
        self._file = -1
        if left is not None:
            return
        with writing(self.path):
            try:
                self._open()
            except OSError as error:
                self._note(error)

    def __repr__(self) -> str:
        return f"Growing({self.name}, {self.length} bytes)"

    def write(self, data: bytes) -> None:
        """Add bytes at the end."""
        with self._adding:
            self._tail.append(data)
            self.length += len(data)
            self.checksum = isal_zlib.crc32(data, self.checksum)
            if self.fault is None:
                with writing(self.path):
                    try:
                        write_all(self._file, data)
                    except OSError as error:
                        self._note(error)

    def mark(self) -> Mark:
        """How far the file is valid now."""
        mark = Mark(self.length, self._marked, self.checksum, self._before)
        self._marked, self._before = self.length, self.checksum
        return mark

    @property
    def waits(self) -> bool:
        """Is not all of it on disk for good?"""
        return self.fault is not None or self._sure[0] < self.length

    def sync(self, *, durable: bool = True) -> None:
        """Have what was written survive a power failure, or with `durable` off the end of the process; may be called
        from another thread than the rest. Where the disk does not take it this is an error, and can be tried again.
        """
        with self._disk, writing(self.path):
            if not self.waits:
                return
            if self.fault is not None:
                self._write_again()
            with self._adding:
                sure = (self.length, self.checksum)
            if durable:
                try:
                    os.fdatasync(self._file)
                    if not self._named:
                        sync_folder(self.path.parent)
                except OSError as error:
                    self._note(error)
                    raise
            self._named = self._named or durable
            self._forget(sure)

    def move(self, folder: Path, *, durable: bool = True) -> Path:
        """Write the whole file to another directory, and sync it there; where it was before. Where the other disk does
        not take it, it stays where it is.
        """
        new, old = folder / self.path.name, self.path
        with self._disk, writing(new):
            folder.mkdir(parents=True, exist_ok=True)
            file = os.open(new, _HOW, 0o644)
            try:
                self._copy_sure(file)
                with self._adding:
                    tail, sure = list(self._tail), (self.length, self.checksum)
                for data in tail:
                    write_all(file, data)
                if durable:
                    os.fdatasync(file)
                    sync_folder(folder)
                with self._adding:
                    for data in islice(self._tail, len(tail), None):  # what has come meanwhile
                        write_all(file, data)
                    self._file, file = file, self._file
                    self.path, self.fault = new, None
            except BaseException:
                os.close(file)
                with suppress(OSError):
                    new.unlink()
                raise
            self._named = durable
            self._forget(sure)
            if file >= 0:
                os.close(file)
        return old

    def close(self) -> None:
        """Write no more."""
        with self._disk:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, _HOW, 0o644)

    def _note(self, error: OSError) -> None:
        """Keep in mind what a full or failing disk said; anything else is an error."""
        if disk_fault(error) is None:
            raise error
        self.fault = error

    def _write_again(self) -> None:
        """Cut off what may not have been written, and write it."""
        if self._file < 0:
            self._open()
        if os.fstat(self._file).st_size > self._sure[0]:
            os.ftruncate(self._file, self._sure[0])
        with self._adding:
            for data in self._tail:
                write_all(self._file, data)
            self.fault = None

    def _forget(self, sure: tuple[int, int]) -> None:
        """What is on disk for good need not be kept."""
        left = sure[0] - self._sure[0]
        while left:
            left -= len(self._tail.popleft())
        self._sure = sure

    def _copy_sure(self, file: int) -> None:
        """Copy what is on disk for good; it must be what was written."""
        length = checksum = 0
        for data in self._read_sure():
            length += len(data)
            checksum = isal_zlib.crc32(data, checksum)
            write_all(file, data)
        if (length, checksum) != self._sure:
            raise damaged("what was committed of it is not there as it was", self.path)

    def _read_sure(self) -> Iterator[bytes]:
        left = self._sure[0]
        try:
            if left:
                with self.path.open("rb", buffering=0) as old:
                    while left and (data := old.read(min(left, _COPIED))):
                        left -= len(data)
                        yield data
        except OSError as error:  # of the disk that fails, and not of the one that is written
            raise damaged(f"what was committed of it cannot be read: {error.strerror}", self.path) from None


def damaged(what: str, where: Path | str) -> WeftError:
    """What was committed is not there, or not as it was: nothing is changed before somebody says so."""
    return WeftError(
        what,
        where=str(where),
        todo="nothing was changed; put the file back from a copy, or see what `weft repair CRAWL` can do",
    )


def other_format(what: str, form: int, reads: int, where: Path | str) -> WeftError:
    """Another version of weft wrote this, in another format."""
    if form > reads:
        which, todo = "a newer", "go on with that one"
    else:
        which = "an older"
        todo = "go on with the crawl: what can be brought to the format of this version is so; or use the older one"
    return WeftError(
        f"{which} weft wrote {what} (format {form}, and this one reads {reads})", where=str(where), todo=todo
    )


def _whole_checksum(path: Path, mark: Mark) -> int:
    """Of a file from its beginning to its mark."""
    if mark.before or not mark.since:
        return mark.checksum
    return isal_zlib.crc32(path.read_bytes()[: mark.length])  # the mark is of an older version


def intact(root: Path, marks: dict[str, Mark]) -> bool:
    """Is everything there that a commit promises? A file that has been sealed since then was whole."""
    return all(_is_there(root, name, mark) for name, mark in marks.items())


def wholly_intact(root: Path, name: str, mark: Mark) -> bool:
    """Is an open file as it was committed, from its beginning to its mark? One that has been sealed was whole."""
    if mark.since and not mark.before:  # of an older version: what is known is checked
        return _is_there(root, name, mark)
    return _is_there(root, name, Mark(mark.length, 0, mark.checksum))


def _is_there(root: Path, name: str, mark: Mark) -> bool:
    return any(intact_at(path, mark) for path in places_of(root, name)) or name in stored_names(root)


def intact_at(path: Path, mark: Mark) -> bool:
    """Is a file, in this place, as a mark promises?"""
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


def final_name(name: str) -> str:
    """The name that a file has when it is sealed, by any of its names.

    >>> final_name("urls/part-0-00001.arrow.open"), final_name("volumes/x-0-00001.warc.gz")
    ('urls/part-0-00001.parquet', 'volumes/x-0-00001.warc.gz')
    """
    return str(sealed_as(Path(name.removesuffix(OPEN))))


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
