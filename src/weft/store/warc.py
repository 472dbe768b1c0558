r"""WARC 1.1 records as bytes. In: a request and its answer. Out: gzip members, one a record.

The payload is the content without its transfer coding, as it is after any HTTP/2 hop too: chunk boundaries are no
part of the page, and readers verify digests on the stored bytes. Where the answer came in chunks its header line is
kept under another name; a header that broke off, or whose lines end in a line feed alone, is mended so that readers
find the content behind it.

>>> print(record("WARC-Type: metadata\r\n", b"x").decode().replace("\r", ""))
WARC/1.1
WARC-Type: metadata
Content-Length: 1
<BLANKLINE>
x
<BLANKLINE>
<BLANKLINE>
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from functools import lru_cache

from isal import isal_zlib

_TRANSFER_CODING = re.compile(rb"(?im)^(transfer-encoding[ \t]*:)")
_LINE_END = re.compile(rb"\r?\n")
END = b"\r\n\r\n"  # of a record
REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
# To write 160 bits in groups of five, one a byte, they are halved five times: the upper halves move up by so much.
_REPEATED = 1 | 1 << 256 | 1 << 512
_HALVINGS = tuple(
    (lower, lower << width, 8 * width // 5 - width)
    for width in (80, 40, 20, 10, 5)
    for lower in [sum(((1 << width) - 1) << (start * (16 * width // 5)) for start in range(80 // width))]
)
_ROOM = bytes(12)  # between digests side by side, which take 32 bytes each when they are written
_THREE_HALVINGS = tuple((lower * _REPEATED, upper * _REPEATED, shift) for lower, upper, shift in _HALVINGS)


def sha1(*parts: bytes) -> str:
    """The digest of bytes, which may lie in several pieces, as WARC writes it.

    >>> sha1(b"")
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return base32(digest.digest())


def base32(digest: bytes) -> str:
    """Twenty bytes as WARC writes them."""
    bits = int.from_bytes(digest)
    for lower, upper, shift in _HALVINGS:
        bits = bits & lower | (bits & upper) << shift
    return "sha1:" + bits.to_bytes(32).translate(_LETTERS).decode()


# WARC writes digests in the letters of RFC 4648, Python reads numbers of base 32 in others.
_DIGITS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuv")


def digest_bytes(text: str) -> bytes:
    """A digest as WARC writes it, in bytes.

    >>> digest_bytes(base32(bytes(range(20)))) == bytes(range(20))
    True
    """
    return int(text[5:].translate(_DIGITS), 32).to_bytes(20)


def three_base32(first: bytes, second: bytes, third: bytes) -> tuple[str, str, str]:
    """Three digests as WARC writes them, side by side in one number: half the time of one by one.

    >>> digests = bytes(20), bytes(range(20)), bytes([255] * 20)
    >>> three_base32(*digests) == tuple(map(base32, digests))
    True
    """
    bits = int.from_bytes(_ROOM.join((first, second, third)))
    for lower, upper, shift in _THREE_HALVINGS:
        bits = bits & lower | (bits & upper) << shift
    text = bits.to_bytes(96).translate(_LETTERS).decode()
    return f"sha1:{text[:32]}", f"sha1:{text[32:64]}", f"sha1:{text[64:]}"


@lru_cache(maxsize=64)  # a moment is written into several places
def warc_date(wall: float) -> str:
    """Wall time to the microsecond, as WARC 1.1 allows.

    >>> warc_date(1.5)
    '1970-01-01T00:00:01.500000Z'
    """
    seconds, microseconds = divmod(round(wall * 1e6), 1_000_000)
    return f"{_second(seconds)}.{microseconds:06d}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def record(fields: str, *block: bytes) -> bytes:
    """One record, not compressed. Its block may lie in several pieces: a page is copied once, not at every step."""
    head = f"WARC/1.1\r\n{fields}Content-Length: {sum(map(len, block))}\r\n\r\n".encode()
    return b"".join((head, *block, END))


def member(data: bytes, level: int = 1) -> bytes:
    """A record as a gzip member of its own, by ISA-L: level 1 is smaller than zlib's level 1, and takes 0.4 of its
    time. Level 0 is for records so short that preparing the tables of level 1 is most of its cost.
    """
    packed: bytes = isal_zlib.compress(data, level, 31)
    return packed


def converted(record_id: str, url: str, wall: float, refers_to: str, text: str) -> bytes:
    """A conversion record (WARC 1.1, 6.8), not compressed: the text of a content, which another record holds."""
    block = text.encode()
    return record(
        f"WARC-Type: conversion\r\nWARC-Record-ID: {record_id}\r\nWARC-Target-URI: {url}\r\n"
        f"WARC-Date: {warc_date(wall)}\r\nWARC-Refers-To: {refers_to}\r\nWARC-Block-Digest: {sha1(block)}\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n",
        block,
    )


class RecordIds:
    """Record ids: random for each run, counted within it, as UUIDs of version 8 (RFC 9562) may be made."""

    def __init__(self, chance: random.Random) -> None:
        text = f"{chance.getrandbits(80):020x}"
        variant = "89ab"[int(text[15], 16) & 3]
        self._run = f"<urn:uuid:{text[:8]}-{text[8:12]}-8{text[12:15]}-{variant}{text[16:19]}-"
        self._made = 0

    def next(self) -> str:
        """A new urn:uuid."""
        self._made += 1
        return f"{self._run}{self._made:012x}>"

    def next_two(self) -> tuple[str, str]:
        """Two new ones, for a request and its answer."""
        run, made = self._run, self._made + 2
        self._made = made
        return f"{run}{made - 1:012x}>", f"{run}{made:012x}>"


def stored_head(head: bytes) -> bytes:
    r"""The answer's header as it is stored: its lines end as readers expect, and so does it.

    >>> stored_head(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n")
    b'HTTP/1.1 200 OK\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\n\r\n'
    """
    if head.count(b"\n") != head.count(b"\r\n"):
        head = _LINE_END.sub(b"\r\n", head)
    if not head.endswith(b"\r\n\r\n"):
        head += b"\r\n" if head.endswith(b"\r\n") else b"\r\n\r\n"
    if b"transfer-" in head.lower():
        return _TRANSFER_CODING.sub(rb"X-Archive-Orig-\1", head)
    return head
