"""Content codings and charsets. In: bytes as they came, with what the header says of them. Out: bytes to be read,
and their charset.

Everything is tolerated: a stream that breaks off gives what could be decoded, as browsers show it, and is told. The
expanded size is bounded, because a small answer can expand a thousandfold; the time is linear in what comes in and
goes out, whatever is in it.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import brotli
import zstandard
from isal import isal_zlib
from resiliparse.parse.encoding import detect_encoding

from weft.model import Reason
from weft.parse.prescan import charset_named, prescan

_BROKEN: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub says it is an instance
_MOST_CODINGS = 8  # nobody means more; each could expand what the one before gave
_MOST_MEMBERS = 2048  # of a gzip stream; each costs microseconds, whatever is in it (frames of zstd a tenth of one)
_PIECE = 16_384  # bytes that are given to a decoder at once; what is behind the end of a member is copied


def decode_content(body: bytes, coding: str, limit: int) -> tuple[bytes, Reason | None]:
    """Undo the content codings, at most `limit` bytes of result; the reason says what went wrong, if anything.

    >>> decode_content(isal_zlib.compress(b"hello"), "deflate", 100)
    (b'hello', None)
    """
    return undo_codings(body, coding, limit)[:2]


def undo_codings(body: bytes, coding: str, limit: int) -> tuple[bytes, Reason | None, bool]:
    """The same, and whether the stream came to its end; it may break off although every byte came that was promised."""
    whole = True
    names = [part.strip().lower() for part in coding.split(",")]
    if len(names) > _MOST_CODINGS:
        return b"", Reason.ENCODING, True
    for name in reversed(names):
        if name in ("", "identity", "utf-8", "none"):  # the last two are common mistakes and mean nothing
            continue
        decoder = _DECODERS.get(name)
        if decoder is None:
            return b"", Reason.ENCODING, True
        try:
            body, end = decoder(body, limit)
        except (_BROKEN, brotli.error, zstandard.ZstdError, MemoryError):
            return b"", Reason.ENCODING, True
        if end == _FULL:
            return body, Reason.EXPANSION, True
        whole = whole and end == _WHOLE
    return body, None, whole


_WHOLE, _FULL, _BROKEN_OFF = range(3)  # how decoding ended: with the stream, at the limit, or before either


def _gzip(body: bytes, limit: int) -> tuple[bytes, int]:
    """gzip, several members too; a stream that breaks off gives what there is of it."""
    parts: list[bytes] = []
    room, at, members = limit, 0, 0
    given = memoryview(body)
    while at < len(body) and room > 0 and members < _MOST_MEMBERS:
        decoder = isal_zlib.decompressobj(wbits=31)
        members += 1
        try:
            while at < len(body) and room > 0 and not decoder.eof:
                # The first member is nearly always the only one.
                end = len(body) if members == 1 and len(body) <= 4 * _PIECE else min(at + _PIECE, len(body))
                part = decoder.decompress(given[at:end], room)
                parts.append(part)
                room -= len(part)
                at = end
        except _BROKEN:
            if members > 1:  # rubbish after the last member
                break
            raise
        if not decoder.eof:  # broken off, or out of room
            return b"".join(parts), _BROKEN_OFF if room > 0 else _FULL
        at -= len(decoder.unused_data)
    if members >= _MOST_MEMBERS and at < len(body):
        raise _BROKEN("more members than anybody means")
    return b"".join(parts), _WHOLE if room > 0 or at >= len(body) else _FULL


def _deflate(body: bytes, limit: int) -> tuple[bytes, int]:
    """Deflate as the standard has it, with a zlib header, or raw as many servers send it."""
    for wbits in (15, -15):
        decoder = isal_zlib.decompressobj(wbits=wbits)
        try:
            result = decoder.decompress(body, limit)
        except _BROKEN:
            if wbits < 0:
                raise
            continue
        return result, _WHOLE if decoder.eof else _BROKEN_OFF if len(result) < limit else _FULL
    raise AssertionError("one of the two forms returns or raises")


def _brotli(body: bytes, limit: int) -> tuple[bytes, int]:
    decoder = brotli.Decompressor()
    result = decoder.process(body, output_buffer_limit=limit)
    while len(result) < limit and not decoder.is_finished() and not decoder.can_accept_more_data():
        result += decoder.process(b"", output_buffer_limit=limit - len(result))
    # It may give a little more than it was asked for.
    if len(result) > limit or (len(result) == limit and not decoder.is_finished()):
        return result[:limit], _FULL
    return result, _WHOLE if decoder.is_finished() else _BROKEN_OFF


def _zstd(body: bytes, limit: int) -> tuple[bytes, int]:
    """Of zstd it is not told whether it breaks off: its reader does not say."""
    with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(body, read_across_frames=True) as reader:
        result = reader.read(limit)
        return result, _WHOLE if len(result) < limit or not reader.read(1) else _FULL


_DECODERS = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_BOM_STARTS = (b"\xef", b"\xff", b"\xfe")
_LONGEST_LABEL = 40
_ASCII = bytes(range(128))
_FEW = 6
# The standard would look through 1024 bytes, and go back when a <meta> that comes later says otherwise (section
# 13.2.3.4); real pages have it later at times.
_LOOKED_AT = 4096
_MOSTLY, _SOME = 1 / 4, 1 / 64  # shares of zeros that make UTF-16 of a text by themselves, and where the header says so
_ORDERED = re.compile("le|be|fffe", re.IGNORECASE)  # in the labels that say in which order the bytes are


@lru_cache(maxsize=1024)
def known_charset(label: str) -> str:
    """The Python codec that a charset label of a header means on the web, however it is quoted, or "".

    >>> known_charset("'ISO-8859-1'"), known_charset("nonsense")
    ('cp1252', '')
    """
    return charset_named(label.strip().strip("\"'"))


def charset_of(body: bytes, declared: str) -> str:
    """The charset of a text: by byte order mark, header, meta or XML declaration, else by looking at the bytes."""
    if body[:1] in _BOM_STARTS:
        for mark, name in _BOMS:
            if body.startswith(mark):
                return name
    start = body[:_LOOKED_AT]
    if declared and (name := known_charset(declared[:_LONGEST_LABEL])):
        if not name.startswith("utf-16"):
            return name
        if found := _declared_wide(start, declared, name):
            return found
    if found := (b"\x00" in start and _wide(start, _MOSTLY)) or prescan(start):
        return found
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end >= len(body) and error.reason == "unexpected end of data":
            return "utf-8"  # cut in the middle of a character
        seen = body[:65_536]
        if len(seen.translate(None, _ASCII)) < _FEW:  # a letter or two say nothing
            return "cp1252"
        return known_charset(detect_encoding(seen) or "") or "cp1252"
    return "utf-8"


def _declared_wide(start: bytes, declared: str, name: str) -> str:
    """The byte order of a text that its header says is UTF-16; "" where it cannot be, for want of zeros.

    The label "utf-16" stands for little-endian on the web, but big-endian texts are sent under it, too.
    """
    wide = _wide(start, _SOME)
    return name if wide and _ORDERED.search(declared) else wide


def _wide(start: bytes, least: float) -> str:
    """UTF-16 without a mark: every other byte of its markup is zero, and at least this share of all on that side."""
    even, odd = start[0::2].count(0), start[1::2].count(0)
    if max(even, odd) <= least * (len(start) // 2) or 4 * min(even, odd) > max(even, odd):
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"
