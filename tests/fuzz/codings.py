"""Content codings: what comes out is bounded, and what comes out under a smaller bound is the beginning of it.

The first byte of an input says which codings, the second how much may come out; the rest is the content.
"""

from __future__ import annotations

import gzip
import zlib
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import brotli
import zstandard
from tests.fuzz.corpora import answers
from tests.fuzz.target import Target

from weft.model import Reason
from weft.parse.decode import undo_codings

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

CODINGS = (
    "gzip",
    "deflate",
    "br",
    "zstd",
    "gzip, br",
    "zstd, gzip",
    "deflate, deflate",
    "x-gzip,identity",
    "x",
    ",",
    "gzip," * 9,
)
LIMITS = (1, 7, 100, 65_536, 4_000_000)


def check(data: bytes) -> None:
    """Undo them, under several bounds; and undo what was done."""
    coding, limit = CODINGS[data[0] % len(CODINGS)] if data else "", LIMITS[data[1] % len(LIMITS)] if data[1:] else 100
    body = data[2:]
    result, reason, whole = undo_codings(body, coding, limit)
    assert len(result) <= limit or not coding.strip("x,- identy"), "more than may come out"
    assert reason in (None, Reason.ENCODING, Reason.EXPANSION)
    assert reason is not Reason.ENCODING or (result == b"" and whole)
    assert reason is not Reason.EXPANSION or len(result) == limit
    if "," not in coding:
        more, further, _ = undo_codings(body, coding, 2 * limit + 1)
        assert further is Reason.ENCODING or more.startswith(result), "another beginning under another bound"
    if coding in ("gzip", "deflate") and reason is None and whole and body:
        _check_as_zlib(body, coding, result)
    for name, packed in _packed(body[:2_000]):
        assert undo_codings(packed, name, 4_000) == (body[:2_000], None, True), name


def _check_as_zlib(body: bytes, coding: str, result: bytes) -> None:
    """The first stream is what another library makes of it."""
    for wbits in (31,) if coding == "gzip" else (15, -15):
        decoder = zlib.decompressobj(wbits)
        try:
            first = decoder.decompress(body, len(result) + 1)
        except zlib.error:
            continue
        if decoder.eof:
            assert result.startswith(first)
            return


def _packed(body: bytes) -> list[tuple[str, bytes]]:
    """A content in every coding."""
    raw = zlib.compressobj(wbits=-15)
    return [
        ("gzip", gzip.compress(body, 1, mtime=0)),
        ("gzip", gzip.compress(body[:7], 1, mtime=0) + gzip.compress(body[7:], 1, mtime=0)),
        ("deflate", zlib.compress(body, 1)),
        ("deflate", raw.compress(body) + raw.flush()),
        ("br", brotli.compress(body, quality=1)),
        ("zstd", zstandard.compress(body, 1)),
        ("gzip, zstd", zstandard.compress(gzip.compress(body, 1, mtime=0), 1)),
    ]


def _inputs(body: bytes) -> list[bytes]:
    """A content as inputs, coded as they say or not."""
    places = {name: number for number, name in enumerate(CODINGS)}
    return [
        bytes([places.get(name, 0), len(body) % len(LIMITS)]) + packed
        for name, packed in _packed(body)
        if name in places
    ]


def real(data: Path) -> list[bytes]:
    """Real contents, coded here."""
    bodies = answers(data / "warc-samples")
    return [each for body in bodies[:: max(1, len(bodies) // 60)] for each in _inputs(body[:20_000])]


def grammar() -> SearchStrategy[bytes]:
    """Contents in a coding, of which some bytes are others."""
    from hypothesis import strategies as st

    content = st.binary(max_size=200) | st.tuples(st.binary(max_size=5), st.integers(1, 20_000)).map(
        lambda two: two[0] * two[1]
    )
    coded = st.tuples(content, st.integers(0, 6)).map(lambda two: _inputs(two[0])[two[1] % len(_inputs(b""))])
    change = st.tuples(st.integers(0, 400), st.binary(max_size=3))

    def changed(two: tuple[bytes, list[tuple[int, bytes]]]) -> bytes:
        data, changes = two
        for at, other in changes:
            data = data[:at] + other + data[at + len(other) :] if other else data[: at + 2]
        return data

    head = st.tuples(st.integers(0, 255), st.integers(0, 255)).map(bytes)
    return st.tuples(head, st.tuples(coded, st.lists(change, max_size=3)).map(changed)).map(
        lambda two: two[0][:1] + two[1][1:] if two[0][1] % 4 == 0 else two[1]
    )


TARGET = Target(
    check,
    own=tuple(
        bytes([number, limit]) + packed
        for (number, limit), (_, packed) in zip(
            product(range(len(CODINGS)), range(len(LIMITS))),
            _packed(b"hello, hello, hello") * 8,
            strict=False,
        )
    ),
    real=real,
    words=(
        b"\x1f\x8b\x08\0",
        b"\x78\x9c",
        b"\x28\xb5\x2f\xfd",
        b"\x50\x2a\x4d\x18",
        b"\x03\0",
        b"\xff\xff\xff\xff",
        b"\0\0\xff\xff",
        gzip.compress(b"", 1, mtime=0),
        zstandard.compress(b""),
        brotli.compress(b""),
    ),
    grammar=grammar,
    memory=512,  # the window of a zstd frame may be 128 MB
)
