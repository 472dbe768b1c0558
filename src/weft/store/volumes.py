"""Volumes: WARC files, written sequentially in large blocks and rolled by size. In: exchanges. Out: where each
record lies.

An open volume ends in `.open` and loses that when it is full and sealed. A volume begins with a warcinfo record;
each exchange is a request record and a response record, or a revisit record where the same content is stored
already.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from weft.errors import WeftError
from weft.model import Page
from weft.settings import setting
from weft.store.warc import REVISIT_PROFILE, RecordIds, base32, member, record, sha1, stored_head, warc_date

_BLOCK = 1 << 20  # bytes gathered before they are written


@dataclass(frozen=True, slots=True, kw_only=True)
class Storing:
    """What is written where."""

    volume_bytes: int = setting(1_000_000_000, "a WARC volume is sealed when it has grown to so many bytes")
    prefix: str = setting("weft", "what the names of volumes begin with")


class Stored(msgspec.Struct, frozen=True, gc=False):
    """Where a page lies."""

    volume: str
    offset: int
    length: int
    digest: str  # of the payload
    duplicate_of: int  # the id of the URL under which the same content was stored first, or 0


class Original(msgspec.Struct, frozen=True, gc=False):
    """Where a content was stored first."""

    id: int
    url: str
    wall: float


class Volumes:
    """The WARC files of one worker."""

    def __init__(self, folder: Path, settings: Storing, info: dict[str, str], chance: random.Random) -> None:
        self._folder = folder
        self._settings = settings
        self._info = info
        self._ids = RecordIds(chance)
        self._number = 0
        self._file = -1
        self._path = folder
        self.name = ""  # of the open volume, once it is sealed
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._offset = 0

    def __repr__(self) -> str:
        return f"Volumes({self._path.name}, {self._offset} bytes)"

    @property
    def length(self) -> int:
        """How long the open volume is on disk, when flushed."""
        return self._offset

    def store(self, page: Page, payload_digest: bytes, original: Original | None, *, cut: str) -> Stored:
        """Write an exchange; `original` where its content is stored already, `cut` where it is not whole."""
        if self._file < 0 or self._offset >= self._settings.volume_bytes:
            self.roll(page.fetched_at)
        digest = base32(payload_digest)
        request_id, response_id = self._ids.next(), self._ids.next()
        what = f"WARC-Target-URI: {page.url}\r\nWARC-Date: {warc_date(page.fetched_at)}\r\n"
        if page.address:
            what += f"WARC-IP-Address: {page.address}\r\n"
        head = stored_head(page.head)
        block: tuple[bytes, ...] = (head, page.body)
        kind, refers = "response", ""
        if original is not None:
            block = (head,)
            kind = "revisit"
            refers = (
                f"WARC-Profile: {REVISIT_PROFILE}\r\nWARC-Refers-To-Target-URI: {original.url}\r\n"
                f"WARC-Refers-To-Date: {warc_date(original.wall)}\r\n"
            )
        if cut:
            refers += f"WARC-Truncated: {cut}\r\n"
        response = record(
            f"WARC-Type: {kind}\r\nWARC-Record-ID: {response_id}\r\n{what}{refers}"
            f"WARC-Block-Digest: {sha1(*block)}\r\nWARC-Payload-Digest: {digest}\r\n"
            "Content-Type: application/http; msgtype=response\r\n",
            *block,
        )
        request = record(
            f"WARC-Type: request\r\nWARC-Record-ID: {request_id}\r\n{what}WARC-Concurrent-To: {response_id}\r\n"
            f"WARC-Block-Digest: {sha1(page.request)}\r\nContent-Type: application/http; msgtype=request\r\n",
            page.request,
        )
        offset = self._offset
        length = self._append(member(response))
        self._append(member(request, 0))
        return Stored(self.name, offset, length, digest, 0 if original is None else original.id)

    def flush(self) -> None:
        """Write what is gathered."""
        if self._buffer:
            data = b"".join(self._buffer)
            self._buffer = []
            self._buffered = 0
            with writing(self._path):
                write_all(self._file, data)

    def roll(self, wall: float) -> None:
        """Seal the open volume, if there is one, and begin the next."""
        self.seal()
        self._number = max(self._number, last_number(self._folder, "*.warc.gz*")) + 1
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(wall))
        self.name = f"{self._settings.prefix}-{stamp}-{self._number:05d}.warc.gz"
        self._path = self._folder / f"{self.name}.open"
        with writing(self._path):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        self._offset = 0
        fields = "".join(f"{name}: {value}\r\n" for name, value in self._info.items()).encode()
        lines = (
            f"WARC-Type: warcinfo\r\nWARC-Record-ID: {self._ids.next()}\r\nWARC-Date: {warc_date(wall)}\r\n"
            f"WARC-Filename: {self.name}\r\nWARC-Block-Digest: {sha1(fields)}\r\n"
            "Content-Type: application/warc-fields\r\n"
        )
        self._append(member(record(lines, fields)))

    def seal(self) -> None:
        """Close the open volume and give it its final name."""
        if self._file >= 0:
            self.flush()
            os.close(self._file)
            self._file = -1
            with writing(self._path):
                self._path.rename(self._path.with_suffix(""))

    def _append(self, data: bytes) -> int:
        self._buffer.append(data)
        self._buffered += len(data)
        self._offset += len(data)
        if self._buffered >= _BLOCK:
            self.flush()
        return len(data)


def payload_digest(body: bytes) -> bytes:
    """The digest by which contents are compared."""
    return hashlib.sha1(body, usedforsecurity=False).digest()


def last_number(folder: Path, pattern: str) -> int:
    """The highest number of the files there are, those of earlier runs included."""
    names = (path.name.partition(".")[0].rpartition("-")[2] for path in folder.glob(pattern))
    return max((int(digits) for digits in names if digits.isdigit()), default=0)


def write_all(file: int, data: bytes) -> None:
    """Write to a descriptor, in as many steps as it takes."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


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
