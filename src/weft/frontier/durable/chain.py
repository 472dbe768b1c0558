"""The files of a local frontier. In: the path of its log. Out: which files count: a checkpoint, logs that were closed
since then, and the log that grows.

A frontier begins with a log of number 0. When a log has grown enough it is closed (`frontier-00003.log`) and the next
one begins, under the same name as ever (`frontier.log`). What was closed is folded into a checkpoint
(`frontier-00004.checkpoint`: everything before log 4), which has all that may still change as tables. What does not
change is in segments that checkpoints share (`frontier-00004.pages`, `.robots`, `.edges`, `.shelf`). A checkpoint has
its name when all of it is on disk; only then may what it stands for be removed. Numpy is not loaded: most need no
tables.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from isal import isal_zlib

from weft.errors import WeftError
from weft.frontier.durable.records import (
    HEAD,
    MAGIC,
    VERSION,
    Commit,
    LogFile,
    LogHead,
    Whole,
    behind,
    check_version,
    read_head,
    records_of,
    whole,
)
from weft.store.files import SETTLED, damaged
from weft.store.sealed import checksum_of

MANIFEST = "manifest"
NOTHING = 3  # the exit code of a process that found nothing to make a checkpoint of
TOLD = 2  # the exit code of a process that could make no checkpoint, and has said why
_MOST = 1 << 30  # bytes that are read in one go
_NUMBERED = re.compile(r"-(\d{5,})\.(log|checkpoint|pages|robots|edges|shelf)(\.new)?$")


class Sum(msgspec.Struct, omit_defaults=True, frozen=True):
    """A file that is whole."""

    length: int
    checksum: int


class Segment(msgspec.Struct, omit_defaults=True, frozen=True):
    """A file that checkpoints share: it is written once."""

    number: int
    kind: str  # pages, robots, edges or shelf
    length: int
    checksum: int
    changed: int  # nanoseconds: when
    pages: int = 0  # in it


class Manifest(msgspec.Struct, omit_defaults=True):
    """What a checkpoint consists of."""

    number: int = 0  # the first log that is not in it
    life: int = 0
    pages: int = 0  # numbers that were given so far
    first: int = 0  # the first page that is in it; what was before is on the shelf
    files: dict[str, Sum] = {}
    segments: list[Segment] = []
    agents: list[str] = []  # whose crawl-delays are known, in the order of their codes
    reasons: list[str] = []  # for which pages were refused, in the order of their codes
    last: Commit = msgspec.field(default_factory=Commit)  # that is in it, as far as it says how things stand
    walls: list[tuple[float, int]] = []  # of its last commits: when each was made, pages that were done with it
    batches: list[bytes] = []  # which the global frontier had not heard of, encoded


class SiteTable(msgspec.Struct, omit_defaults=True):
    """Sites, as a checkpoint has them."""

    names: list[str] = []  # by number
    domains: list[str] = []  # each once
    domain_of: bytes = b""  # by number: which of them, int32
    left: list[int] = []  # numbers of those that went to another worker
    groups: list[str] = []
    scope: list[str] = []
    numbers: bytes = b""  # of those that are remembered, int32
    ends: bytes = b""  # where the memory of each ends, int64
    memories: bytes = b""  # `SiteMemory`, encoded, one after the other


class PageTable(msgspec.Struct, omit_defaults=True):
    """Pages that are not like others, as a checkpoint has them."""

    retries: list[tuple[int, int, float]] = []
    requests: list[tuple[int, bytes]] = []
    sent: list[int] = []
    redirects: bytes = b""


class Chain(NamedTuple):
    """The files that count. They are open: whoever has a chain closes it."""

    base: Base | None
    logs: list[LogFile]
    head: LogHead | None  # of the log that grows; None where there is none yet

    @property
    def grows(self) -> LogFile:
        """The log that grows."""
        return self.logs[-1]

    def close(self) -> None:
        """Give the files back."""
        for log in self.logs:
            os.close(log.file)
        if self.base is not None:
            self.base.close()


class Base:
    """A checkpoint on disk, as it was when it was opened."""

    def __init__(self, log: Path, number: int) -> None:
        self.log = log
        self.path = sibling(log, number, "checkpoint")
        self.manifest = read_manifest(self.path)
        names = [*self.manifest.files, *(_name(segment) for segment in self.manifest.segments)]
        self._open: dict[str, int] = {}
        try:
            for name in names:
                table = name in self.manifest.files
                self._open[name] = os.open(self.path / name if table else self._file(name), os.O_RDONLY)
        except FileNotFoundError as error:
            self.close()
            raise damaged("it is missing, and a checkpoint needs it", Path(error.filename)) from error

    def __repr__(self) -> str:
        return f"Base({self.path.name}, {self.manifest.pages} pages)"

    def _file(self, name: str) -> Path:
        number, _, kind = name.partition(".")
        return sibling(self.log, int(number), kind)

    def has(self, name: str) -> bool:
        """Is this one of its files?"""
        return name in self._open

    def file(self, name: str) -> int:
        """One of its files, open."""
        return self._open[name]

    def segment(self, segment: Segment) -> int:
        """One of its segments, open."""
        return self._open[_name(segment)]

    def read(self, name: str) -> bytes:
        """A table of it, whole."""
        whole_file = self.manifest.files[name]
        data = os.pread(self.file(name), whole_file.length, 0)
        while len(data) < whole_file.length and (more := os.pread(self.file(name), _MOST, len(data))):
            data += more
        if len(data) != whole_file.length or isal_zlib.crc32(data) != whole_file.checksum:
            raise damaged("it is not as it was written", self.path / name)
        return data

    def close(self) -> None:
        """Give the files back."""
        for file in self._open.values():
            os.close(file)
        self._open = {}


def _name(segment: Segment) -> str:
    return f"{segment.number}.{segment.kind}"


def sibling(log: Path, number: int, kind: str) -> Path:
    """A file of the same frontier.

    >>> sibling(Path("workers/0/frontier.log"), 3, "pages").name
    'frontier-00003.pages'
    """
    return log.with_name(f"{log.stem}-{number:05d}.{kind}")


def open_chain(path: Path, *, read_only: bool = True, private: bool = False) -> Chain:
    """Open the files of a frontier; its log is made where there is none, unless it is only read."""
    for _ in range(10):  # beside a crawl that runs, files come and go
        try:
            return _open_chain(path, read_only=read_only, private=private)
        except FileNotFoundError as error:
            missing = error
    raise damaged("it is missing", missing.filename)


def _open_chain(path: Path, *, read_only: bool, private: bool) -> Chain:
    how = os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT | os.O_APPEND
    logs = [LogFile(os.open(path, how, 0o600 if private else 0o644), path, 0)]
    base: Base | None = None
    try:
        if private and not read_only:  # it may be older than what must not be read
            os.fchmod(logs[0].file, 0o600)
        found = read_head(logs[0].file, path)
        head, begin = found or (_head_of(logs[0]), 0)
        if head is None:
            return Chain(None, logs, None)
        logs[0] = LogFile(logs[0].file, path, begin)
        base = _base(path, head)
        first = 0 if base is None else base.manifest.number
        for number in range(head.number - 1, first - 1, -1):
            logs.insert(0, _closed(path, LogHead(number, head.life), read_only=read_only))
        return Chain(base, logs, head)
    except BaseException:
        Chain(base, logs, None).close()
        raise


def _head_of(log: LogFile) -> LogHead | None:
    """What the head of a log said that is not whole: it is the first one, just begun, and had none; or it follows the
    last one that was closed, and a crash has cost it all that it had. No more than two records may be lost like that.
    """
    numbers = [number for number, kind in _numbered(log.path) if kind in ("log", "checkpoint")]
    if not numbers:
        return None
    before = sibling(log.path, max(numbers), "log")
    if not before.exists() or sum(1 for _ in behind(log.file, 0)) >= SETTLED:
        raise damaged("its head is bad", log.path)
    with before.open("rb") as file:
        found = read_head(file.fileno(), before)
    if found is None:
        raise damaged("its head is bad", before)
    return LogHead(found[0].number + 1, found[0].life)


def next_life(path: Path) -> int:
    """The life of a log that takes the place of this one and begins with nothing: another one where there may be closed
    logs and checkpoints, which count no more.
    """
    with path.open("rb") as file:
        found = read_head(file.fileno(), path)
    return 0 if found is None else found[0].life + (found[0].number > 0)


def _closed(path: Path, head: LogHead, *, read_only: bool) -> LogFile:
    """A log that was closed, and is in no checkpoint."""
    closed = sibling(path, head.number, "log")
    try:
        file = os.open(closed, os.O_RDONLY if read_only else os.O_RDWR)
    except FileNotFoundError:
        if read_only and _moved_on(path, head):
            raise
        raise damaged("it is missing, and what it said is in no checkpoint", closed) from None
    found = read_head(file, closed)
    if found is None or found[0] != head:
        os.close(file)
        raise damaged("it is not the log that it was", closed)
    return LogFile(file, closed, found[1])


def _base(path: Path, head: LogHead) -> Base | None:
    """The newest checkpoint that a log goes on from."""
    numbers = sorted(number for number, kind in _numbered(path) if kind == "checkpoint" and 0 < number <= head.number)
    for number in reversed(numbers):
        base = Base(path, number)
        if base.manifest.life == head.life:
            return base
        base.close()  # of a frontier that was handed over
    return None


def _moved_on(path: Path, head: LogHead) -> bool:
    """Is what a closed log said in a checkpoint by now?"""
    return any(kind == "checkpoint" and number > head.number for number, kind in _numbered(path))


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered files of a frontier: number and kind; those that are being written have a kind of their own."""
    for each in path.parent.iterdir():
        found = _NUMBERED.search(each.name)
        if found is not None and each.name.startswith(f"{path.stem}-"):
            yield int(found[1]), found[2] + (found[3] or "")


def read_manifest(folder: Path) -> Manifest:
    """What a checkpoint consists of."""
    version, payload = manifest_as_written(folder / MANIFEST)
    check_version(version, folder / MANIFEST)
    return msgspec.msgpack.decode(payload, type=Manifest)


def manifest_as_written(path: Path) -> tuple[int, bytes]:
    """Its version, and what it says, encoded."""
    data = path.read_bytes()
    if len(data) < HEAD.size + 4:
        raise damaged("it is not whole", path)
    magic, checksum, length = HEAD.unpack_from(data)
    payload = data[HEAD.size :]
    if magic != MAGIC or length != len(payload) or isal_zlib.crc32(payload) != checksum:
        raise damaged("it is not as it was written", path)
    return int.from_bytes(payload[:4], "little"), payload[4:]


def packed_manifest(manifest: Manifest) -> bytes:
    """The same as bytes."""
    return packed_payload(msgspec.msgpack.encode(manifest), VERSION)


def packed_payload(said: bytes, version: int) -> bytes:
    """What the file of a manifest holds, which says this."""
    payload = version.to_bytes(4, "little") + said
    return HEAD.pack(MAGIC, isal_zlib.crc32(payload), len(payload)) + payload


def unsound(path: Path, *, closely: bool) -> Iterator[tuple[Path, str]]:
    """What is wrong with the checkpoint of a frontier: which file, and how. Its tables are read; its segments where
    their time is another than when they were written, as after a copy, or `closely`. Those that are as they were get
    their time back.
    """
    with closing(open_chain(path)) as chain:
        base = chain.base
        if base is None:
            return
        for name, its in base.manifest.files.items():
            file = base.path / name
            if file.stat().st_size != its.length or checksum_of(file) != its.checksum:
                yield file, "it is not as it was written"
        for segment in base.manifest.segments:
            file = sibling(path, segment.number, segment.kind)
            about = file.stat()
            if about.st_size != segment.length:
                yield file, "it is not as long as it was"
            elif closely or about.st_mtime_ns != segment.changed:
                if checksum_of(file) != segment.checksum:
                    yield file, "it is not as it was written"
                elif about.st_mtime_ns != segment.changed:
                    os.utime(file, ns=(about.st_atime_ns, segment.changed))


def as_extent(file: Path) -> str:
    """What extents call a file of a frontier.

    >>> as_extent(Path("workers/0/frontier-00002.robots"))
    '2.robots'
    """
    found = _NUMBERED.search(file.name)
    return f"{int(found[1])}.{found[2]}" if found else file.name


def stale(path: Path, chain: Chain) -> list[Path]:
    """Files of a frontier that do not count: what a crash left, or of one that was handed over."""
    first = 0 if chain.base is None else chain.base.manifest.number
    number = 0 if chain.head is None else chain.head.number
    keep = {path} | {sibling(path, closed, "log") for closed in range(first, number)}
    if chain.base is not None:
        keep.add(chain.base.path)
        keep |= {sibling(path, segment.number, segment.kind) for segment in chain.base.manifest.segments}
    there = [sibling(path, number, kind) for number, kind in _numbered(path)]
    next_log = path.with_name(f"{path.name}.next")
    return [each for each in (*there, next_log) if each not in keep and each.exists()]


def remove_stale(path: Path, chain: Chain) -> None:
    """Remove files of a frontier that do not count."""
    for each in stale(path, chain):
        if each.is_dir():
            shutil.rmtree(each)
        else:
            each.unlink()


def remains(path: Path, kinds: Sequence[str] = ("pages", "log")) -> Iterator[Path]:
    """Every file of a damaged frontier in which pages may be found, the oldest first; or those of other kinds."""
    found = sorted(set(_numbered(path)))
    for kind in kinds:
        yield from (sibling(path, number, each) for number, each in found if each == kind)
    if "log" in kinds:
        yield path


def records_left(path: Path, *, pages: bool = False) -> Iterator[Whole]:
    """Every record that can be read of the logs of a damaged frontier; with `pages` those of its segments, too."""
    for each in remains(path):
        if each.suffix == ".log" or (pages and each.suffix == ".pages"):
            yield from records_of(each, headed=each.suffix == ".log")


def commits_left(path: Path) -> Iterator[Commit]:
    """What can be read of the commits of a damaged frontier: those of its logs, and the last of checkpoints."""
    for number in sorted(number for number, kind in _numbered(path) if kind == "checkpoint"):
        with suppress(WeftError, OSError, msgspec.MsgspecError):
            yield read_manifest(sibling(path, number, "checkpoint")).last
    for record in records_left(path):
        yield record.commit()


def records_behind(log: LogFile) -> int:
    """How many records a log has, but no more than tells whether what was before it is settled."""
    return sum(1 for _ in zip(range(SETTLED), whole(log.file, log.begin), strict=False))
