"""Blocks: what the global frontier keeps as bytes. In: links that wait, messages, parcels. Out: compressed bytes, each
with a checksum, and back.

Links that wait are *pieces*: a place in the order of finding, and what came at that place. A *frame* is some pieces of
one group, compressed together, and ends with the place of its last one. Frames stand one behind the other, so that a
database can append one to others without reading them, and the last eight bytes say which came last.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterable
from typing import Any

import msgspec
import zstandard

from weft.errors import WeftError
from weft.frontier.shared.contract import Found, Message, Notice

Piece = tuple[int, list[Notice]]  # a place in the order of finding, and what came there
_LENGTH = struct.Struct(">I")
_PLACE = struct.Struct(">q")
_LEVEL = 3
_LARGEST = 1 << 31  # bytes of a block, unpacked

_encode = msgspec.msgpack.Encoder().encode
_pieces = msgspec.msgpack.Decoder(list[Piece]).decode
_message = msgspec.msgpack.Decoder(Message).decode


class _Machines(threading.local):
    """What compresses, one for each thread."""

    def __init__(self) -> None:
        self.press = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True, write_content_size=True)
        self.unpress = zstandard.ZstdDecompressor()


_machines = _Machines()


def packed(data: bytes) -> bytes:
    """Compressed, with a checksum.

    >>> unpacked(packed(b"x")), unpacked(b"")
    (b'x', b'')
    """
    return _machines.press.compress(data)


def unpacked(data: bytes) -> bytes:
    """As it was; what is not whole is an error."""
    if not data:
        return b""
    try:
        return _machines.unpress.decompress(data, max_output_size=_LARGEST)
    except zstandard.ZstdError as error:
        raise WeftError(
            f"what the global frontier holds is not what was written: {error}",
            todo="put the database back from a copy, or have `weft repair` make the frontier anew",
        ) from error


def frame(pieces: list[Piece]) -> bytes:
    """Some pieces of a group, in their order."""
    content = packed(_encode(pieces))
    return b"".join((_LENGTH.pack(len(content)), content, _PLACE.pack(pieces[-1][0])))


def end_of(frames: bytes) -> bytes:
    """By what a frame is known again: its last eight bytes."""
    return frames[-_PLACE.size :]


def pieces_in(frames: bytes) -> list[Piece]:
    """The pieces of all frames.

    >>> pieces_in(frame([(1, [Found("http://a.example/", 1, 0, 0)])]) + frame([(7, [])]))[1]
    (7, [])
    """
    found: list[Piece] = []
    at = 0
    while at < len(frames):
        (length,) = _LENGTH.unpack_from(frames, at)
        at += _LENGTH.size
        found += _pieces(unpacked(frames[at : at + length]))
        at += length + _PLACE.size
    return found


def folded(pieces: Iterable[Piece]) -> list[Piece]:
    """The same pieces in the order of their places, without links that say nothing new: they are another's in all but
    the page where they were found, add nothing to a score, and are asked for just by their URLs.

    >>> link, more = Found("http://a.example/", 1, 2, 77), Found("http://a.example/", 1, 2, 78)
    >>> folded([(2, [more]), (1, [link])]) == [(1, [link])]
    True
    """
    known: set[tuple[Any, ...]] = set()
    found: list[Piece] = []
    for place, notices in sorted(pieces, key=lambda piece: piece[0]):
        kept: list[Notice] = []
        for notice in notices:
            if isinstance(notice, Found) and not (notice.gain or notice.again or notice.special):
                said = (notice.url, notice.kind, notice.depth, notice.score, notice.steps)
                if said in known:
                    continue
                known.add(said)
            kept.append(notice)
        if kept:
            found.append((place, kept))
    return found


def message_block(message: Message) -> bytes:
    """A message as it stands in an inbox."""
    return packed(_encode(message))


def message_in(block: bytes) -> Message:
    """A message out of an inbox."""
    return _message(unpacked(block))
