"""Volumes: WARC files, written sequentially in large blocks and rolled by size. In: requests and their answers. Out:
where each record lies.

An open volume ends in `.open` and loses that when it is full and sealed. A volume begins with a warcinfo record;
each of them is a request record and a response record, or a revisit record where the same content is stored
already; behind a response may stand the text that was made of it, as a conversion record. Beside it grows its index, a
line of CDXJ a page, which is sorted when the volume is sealed.
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from weft.model import Page
from weft.settings import setting
from weft.store.cdxj import cdxj_line
from weft.store.files import Growing, last_number
from weft.store.places import VOLUMES
from weft.store.shelves import Shelves
from weft.store.warc import (
    END,
    REVISIT_PROFILE,
    RecordIds,
    converted,
    member,
    record,
    sha1,
    stored_head,
    three_base32,
    warc_date,
)

_BLOCK = 1 << 20  # bytes gathered before they are written


def _prefix_complaint(prefix: str) -> str:
    if re.fullmatch(r"\w[\w.-]{0,99}", prefix) is None:
        return "give letters, digits, '-', '_' and '.', at most 100: it is the beginning of a file's name"
    return ""


def _folder_complaint(folder: str) -> str:
    return "" if folder.strip() else "give the names of directories"


def _known_complaint(name: str) -> str:
    return "" if name.strip() else "give the directory of a crawl, or a file in the form CDXJ"


def _store_complaint(url: str) -> str:
    """What is wrong with the address of a store.

    >>> _store_complaint("s3://bucket/crawls/first"), _store_complaint("s3://key:secret@bucket/")
    ('', 'write s3://bucket/prefix; credentials come from the environment')
    """
    if url and re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w.=-]+)*/?", url) is None:
        return "write s3://bucket/prefix; credentials come from the environment"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storing:
    """Settings: what is written, under what names, and when files are sealed."""

    volume_bytes: int = setting(
        1_000_000_000, "a WARC volume is sealed when it has grown to so many bytes", at_least=1, unit="bytes"
    )
    prefix: str = setting("weft", "what the names of volumes begin with", check=_prefix_complaint)
    volumes: tuple[str, ...] = setting(
        (),
        "directories where volumes are written, on other disks perhaps, separated by commas; when one is full or "
        "fails the next is used, and when none is left the crawl pauses until there is room; empty: `volumes/` of the "
        "crawl's directory",
        check=_folder_complaint,
    )
    known: tuple[str, ...] = setting(
        (),
        "earlier crawls, by their directories, or indexes of archives (CDXJ): a page whose content one of them has is "
        "kept as a revisit record that refers to it, and both are needed for its replay; each is read once, when the "
        "crawl begins or goes on with it, and stays known",
        check=_known_complaint,
    )
    store: str = setting(
        "",
        "where sealed volumes move to, such as s3://bucket/prefix; endpoint, region and credentials come from the "
        "environment (AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY …); empty: they stay",
        check=_store_complaint,
    )
    store_gathers: int = setting(
        10_000_000_000,
        "while the store is away or slow, sealed volumes gather locally up to so many bytes; then the crawl pauses "
        "until some have moved",
        at_least=1,
        unit="bytes",
    )
    part_bytes: int = setting(
        32_000_000,
        "a part of the columns is sealed when its journal has grown to so many bytes",
        at_least=1,
        unit="bytes",
    )
    part_seconds: float = setting(
        60.0,
        "a part of the columns is also sealed when it is so old, so that other programs see a crawl that runs; in a "
        "long run when it is a twentieth of the run's age, so that parts do not pile up; 0: never",
        at_least=0,
        unit="seconds",
    )
    store_credentials: bool = setting(
        False,
        "keep in the archive what was sent in confidence: values of headers that are settings or an application's, "
        "cookies of a crawl that sends such headers, bodies of POST; otherwise a mark stands in their place",
    )
    obey_noarchive: bool = setting(
        False,
        "keep no record of pages that ask for it (`noarchive`, in a meta tag or in X-Robots-Tag): they are fetched and "
        "followed, and have their row; robots.txt files are kept. `noindex` changes nothing; what a page asks is in "
        "the column `robots`",
    )
    log: Literal["text", "json"] = setting(
        "text", "how crawl.log and messages.log in log/ are written: text, or json, an object a line"
    )
    log_bytes: int = setting(
        100_000_000,
        "crawl.log, faults.log and messages.log in log/ are put aside when they have so many bytes; 0: never",
        at_least=0,
        unit="bytes",
    )
    log_keep: int = setting(0, "how many logs that were put aside are kept; 0: all of them", at_least=0)
    sync: bool = setting(True, "have every commit survive a power failure, not only the end of the process")


class Stored(msgspec.Struct, frozen=True, gc=False):
    """Where a page lies."""

    volume: str
    offset: int
    length: int
    digest: str  # of the payload
    duplicate_of: int  # the id of the URL under which the same content was stored first, or 0
    duplicate_in: str = ""  # where that is, if it is not in this crawl


class Original(msgspec.Struct, frozen=True, gc=False):
    """Where a content was stored."""

    id: int  # of the URL
    url: str
    wall: float
    source: str = ""  # where it is, if it is not in this crawl: as `known` names it
    by_second: bool = False  # its time is known to the second

    @property
    def date(self) -> str:
        """Its time, as WARC has it."""
        date = warc_date(self.wall)
        return f"{date[:19]}Z" if self.by_second else date


class Volumes:
    """The WARC files of one worker; its store owns it.

    One volume is open at a time, and its index beside it has a line for each of its pages.
    """

    def __init__(
        self,
        folder: Path,
        settings: Storing,
        info: dict[str, str],
        chance: random.Random,
        *,
        worker: int = 0,
        shelves: Shelves | None = None,
        known: Sequence[Path] = (),
    ) -> None:
        self._folder = folder
        self._shelves = shelves  # where volumes are begun, if not in the folder
        self._known = {folder, *known}  # every directory where volumes may be
        self._settings = settings
        self._info = info
        self._worker = worker
        self._ids = RecordIds(chance)
        self._number = 0
        self._file: Growing | None = None
        self._index: Growing | None = None
        self._name = ""  # of the open volume, once it is sealed
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._lines: list[str] = []
        self._offset = 0

    def __repr__(self) -> str:
        return f"Volumes({self._name}, {self._offset} bytes)"

    @property
    def growing(self) -> tuple[Growing, ...]:
        """The files that are open: the index comes first, it is sealed before its volume."""
        return () if self._file is None or self._index is None else (self._index, self._file)

    def store(
        self, page: Page, payload_digest: bytes, original: Original | None, *, cut: str, conversion: str = ""
    ) -> Stored:
        """Write a request and its answer; `original` where its content is stored already, `cut` if it is not whole. A
        text that was made of it is a record behind them, which the index does not name; that of a content that is
        stored already stands behind the first.
        """
        if self._file is None:
            self._begin(page.fetched_at)
        head = stored_head(page.head)
        block = hashlib.sha1(head, usedforsecurity=False)
        body = b"" if original is not None else page.body
        if body:
            block.update(body)
        digest, block_digest, request_digest = three_base32(
            payload_digest, block.digest(), hashlib.sha1(page.request, usedforsecurity=False).digest()
        )
        request_id, response_id = self._ids.next_two()
        what = f"WARC-Target-URI: {page.url}\r\nWARC-Date: {warc_date(page.fetched_at)}\r\n"
        if page.address:
            what += f"WARC-IP-Address: {page.address}\r\n"
        kind, refers = "response", ""
        if original is not None:
            kind = "revisit"
            refers = (
                f"WARC-Profile: {REVISIT_PROFILE}\r\nWARC-Refers-To-Target-URI: {original.url}\r\n"
                f"WARC-Refers-To-Date: {original.date}\r\n"
            )
        if cut:
            refers += f"WARC-Truncated: {cut}\r\n"
        # As `record` has it, in one step: a page is copied once, with all that stands around it.
        response = (
            f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {response_id}\r\n{what}{refers}"
            f"WARC-Block-Digest: {block_digest}\r\nWARC-Payload-Digest: {digest}\r\n"
            "Content-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(head) + len(body)}\r\n\r\n"
        ).encode()
        request = (
            f"WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: {request_id}\r\n{what}"
            f"WARC-Concurrent-To: {response_id}\r\nWARC-Block-Digest: {request_digest}\r\n"
            f"Content-Type: application/http; msgtype=request\r\nContent-Length: {len(page.request)}\r\n\r\n"
        ).encode()
        packed = member(b"".join((response, head, body, END)))
        offset, length = self._offset, len(packed)
        self._append(packed, member(b"".join((request, page.request, END)), 0))
        if conversion and original is None:
            self._append(member(converted(self._ids.next(), page.url, page.fetched_at, response_id, conversion)))
        self._lines.append(
            cdxj_line(
                page.url,
                page.fetched_at,
                page.status,
                page.headers.get("content-type", ""),
                digest,
                offset,
                length,
                self._name,
                revisit=original is not None,
            )
        )
        if original is None:
            return Stored(self._name, offset, length, digest, 0)
        return Stored(self._name, offset, length, digest, original.id, original.source)

    def flush(self) -> None:
        """Write what is gathered."""
        if self._buffer and self._file is not None:
            data = b"".join(self._buffer)
            self._buffer = []
            self._buffered = 0
            self._file.write(data)
        if self._lines and self._index is not None:
            lines, self._lines = self._lines, []
            self._index.write("".join(lines).encode())

    def roll(self, most: int | None = None) -> tuple[Growing, ...]:
        """Close the open volume if it has grown beyond `most` (its setting); its files, to be sealed."""
        if self._offset < (self._settings.volume_bytes if most is None else most):
            return ()
        self.flush()
        full = self.growing
        self._file = self._index = None
        self._offset = 0
        return full

    def _begin(self, wall: float) -> None:
        numbers = (last_number(folder, self._worker) for folder in self._known)
        self._number = max(self._number, *numbers, 0) + 1
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(wall))
        stem = f"{self._settings.prefix}-{stamp}-{self._worker}-{self._number:05d}"
        self._name = f"{stem}.warc.gz"
        folder = self._folder if self._shelves is None else self._shelves.first()
        self._file = Growing(folder / self._name, f"{VOLUMES}/{self._name}")
        self._index = Growing(folder / f"{stem}.cdxj", f"{VOLUMES}/{stem}.cdxj")
        self._offset = 0
        fields = "".join(f"{name}: {value}\r\n" for name, value in self._info.items()).encode()
        lines = (
            f"WARC-Type: warcinfo\r\nWARC-Record-ID: {self._ids.next()}\r\nWARC-Date: {warc_date(wall)}\r\n"
            f"WARC-Filename: {self._name}\r\nWARC-Block-Digest: {sha1(fields)}\r\n"
            "Content-Type: application/warc-fields\r\n"
        )
        self._append(member(record(lines, fields)))

    def _append(self, *members: bytes) -> None:
        self._buffer += members
        size = sum(map(len, members))
        self._offset += size
        self._buffered += size
        if self._buffered >= _BLOCK:
            self.flush()


def payload_digest(body: bytes) -> bytes:
    """The digest by which contents are compared."""
    return hashlib.sha1(body, usedforsecurity=False).digest()
