"""Text files by the line, however they are packed. In: a file, plain, gzip or zstd. Out: its bytes, in whole lines.

How a file is packed is told by its first bytes, not by its name. What the disk or the unpacker says becomes a
`UsageError` with the file's name.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import zstandard
from isal import igzip
from isal.igzip_lib import IsalError
from numpy.typing import NDArray

from weft.errors import UsageError

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
CHUNK = 1 << 24
PACKED_CHUNK = 1 << 20

_unpack: Any = igzip.open  # no types are published for it
_isal_error: Any = IsalError  # nor for this
_BROKEN: tuple[type[Exception], ...] = (_isal_error, zlib.error, gzip.BadGzipFile, EOFError, zstandard.ZstdError)


def read_all(path: Path) -> bytes:
    """The whole file, its last line ended."""
    return b"".join(chunks(path))


def chunks(path: Path, size: int = CHUNK) -> Iterator[bytes]:
    """The file in pieces of about this size that each hold whole lines; the last one ends with a line end, too."""
    rest = b""
    for piece in _pieces(path, size):
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        else:
            rest += piece
    if rest:
        yield rest + b"\n"


def _pieces(path: Path, size: int) -> Iterator[bytes]:
    """The file's bytes, unpacked while they are read."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            if magic.startswith(GZIP):
                with _unpack(file) as unpacked:
                    while piece := unpacked.read(size):
                        yield piece
            elif magic == ZSTD:
                yield from _frames(file)
            else:
                while piece := file.read(size):
                    yield piece
    except _BROKEN as error:
        raise UsageError(f"the file cannot be unpacked: {error}", where=str(path), todo="is it whole?") from error
    except OSError as error:
        raise UsageError(f"cannot read the file: {error.strerror or error}", where=str(path)) from error


def _frames(file: BinaryIO) -> Iterator[bytes]:
    """What zstd has packed, frame by frame; the library's own reader takes a file that is cut off for a whole one."""
    frame = None
    while data := file.read(PACKED_CHUNK):
        while data:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(data)
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("it ends in the middle of a frame")


def packed(path: Path) -> bool:
    """Does the file hold more than its size says?"""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UsageError(f"cannot read the file: {error.strerror or error}", where=str(path)) from error
    return magic.startswith(GZIP) or magic == ZSTD


def at_line(path: Path, line: int) -> str:
    """A place in a file for a message; lines are counted from 0 here, and from 1 by people."""
    return f"{path}, line {line + 1}"


def shown_line(text: NDArray[np.uint8], number: int) -> str:
    """A line for a message, its tabs and other oddities shown."""
    ends = np.flatnonzero(text == ord("\n"))
    begin = int(ends[number - 1]) + 1 if number else 0
    return ascii(text[begin : min(int(ends[number]), begin + 200)].tobytes().decode(errors="replace"))
