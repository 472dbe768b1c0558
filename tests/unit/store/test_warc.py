"""WARC records as bytes."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import hashlib
import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.store.warc import RecordIds, base32, member, record, sha1, stored_head, warc_date


@given(st.binary(min_size=20, max_size=20))
def test_base32__is_what_the_standard_says(digest: bytes) -> None:
    """Every digest, also one that begins with zeros, is written as any base32 encoder writes it."""
    assert base32(digest) == "sha1:" + base64.b32encode(digest).decode()


@given(st.lists(st.binary(max_size=50), max_size=4))
def test_sha1__of_pieces_is_that_of_the_whole(parts: list[bytes]) -> None:
    """A block that lies in pieces has the digest of the block."""
    assert sha1(*parts) == base32(hashlib.sha1(b"".join(parts), usedforsecurity=False).digest())


@given(st.integers(0, 4_102_444_800_000_000))
def test_warc_date__is_wall_time_to_the_microsecond(microseconds: int) -> None:
    """Rounded to where a float of today still tells the microseconds."""
    expected = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=microseconds)
    assert warc_date(microseconds / 1e6) == expected.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_warc_date__rounds_into_the_next_second() -> None:
    """The last half microsecond of a year belongs to the next one."""
    assert warc_date(31_535_999.9999999) == "1971-01-01T00:00:00.000000Z"


def test_record__has_header_block_and_end() -> None:
    """The length is that of all pieces together, text is UTF-8."""
    made = record("WARC-Type: resource\r\nX: é\r\n", b"ab", b"c")
    assert made == "WARC/1.1\r\nWARC-Type: resource\r\nX: é\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n".encode()


def test_member__is_gzip_on_its_own() -> None:
    """Members can be read one by one, and one after the other."""
    assert gzip.decompress(member(b"one") + member(b"two")) == b"onetwo"


def test_ids__are_uuids_that_follow_from_the_seed() -> None:
    """Of version 8 and of the right variant, all different, the same for the same seed and no other."""
    ids = RecordIds(random.Random(1))
    made = [ids.next() for _ in range(1000)]
    parsed = [uuid.UUID(text.removeprefix("<").removesuffix(">")) for text in made]
    assert {value.version for value in parsed} == {8}
    assert {value.variant for value in parsed} == {uuid.RFC_4122}
    assert len(set(parsed)) == 1000
    assert made[0] == RecordIds(random.Random(1)).next()
    assert made[0] != RecordIds(random.Random(2)).next()


@pytest.mark.parametrize(
    ("head", "stored"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\nA: b\r\n\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\ntRANSFER-eNCODING : x\r\nTRANSFER-ENCODING: y\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX-Archive-Orig-tRANSFER-eNCODING : x\r\nX-Archive-Orig-TRANSFER-ENCODING: y\r\n\r\n",
        ),
        (b"HTTP/1.1 200 OK\r\nA: Transfer-Encoding: x\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: Transfer-Encoding: x\r\n\r\n"),
        (b"HTTP/1.1 200 OK\nA: b\nB: c\r\n\n", b"HTTP/1.1 200 OK\r\nA: b\r\nB: c\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA: \xe9\x00\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: \xe9\x00\r\n\r\n"),
    ],
)
def test_head__is_stored_so_that_readers_find_the_content(head: bytes, stored: bytes) -> None:
    """A transfer coding that is undone is renamed, line ends and a missing end are mended, all else stays."""
    assert stored_head(head) == stored
