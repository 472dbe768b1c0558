"""The table of contents already stored, against a plain dictionary."""

from __future__ import annotations

import hashlib
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.store.digests import Digests
from weft.store.warc import base32


def digest(number: int) -> bytes:
    """A digest."""
    return hashlib.sha1(str(number).encode(), usedforsecurity=False).digest()


def crowded(number: int) -> bytes:
    """A digest that begins like most others: they all want the same few places of the table."""
    return bytes(7) + bytes([number % 3]) + number.to_bytes(8) + bytes(4)


@settings(max_examples=200)
@given(st.sampled_from([digest, crowded]), st.sampled_from([1, 2, 4, 16]), st.lists(st.integers(0, 60), max_size=200))
def test_digests__are_a_dictionary_that_forgets_the_oldest(make: object, most: int, numbers: list[int]) -> None:
    """What was added is found under its first page, until so many others came behind it."""
    assert callable(make)
    table = Digests(most)
    model: dict[bytes, tuple[int, float, int]] = {}
    for step, number in enumerate(numbers):
        content = make(number)
        assert table.find(content) == model.get(content)
        assert table.first(content, 2**64 - 1 - step, step / 8, step) == model.get(content)
        if content not in model:
            if len(model) == most:
                del model[next(iter(model))]
            model[content] = (2**64 - 1 - step, step / 8, step)
        assert len(table) == len(model)
    for number in range(61):
        assert table.find(make(number)) == model.get(make(number))


def test_digests__hold_many() -> None:
    """Tens of thousands are found, and as many others are not."""
    table = Digests(1 << 15)
    for number in range(40_000):
        table.first(digest(number), number, float(number), 2 * number)
    assert len(table) == 1 << 15
    chance = random.Random(1)
    for number in chance.sample(range(40_000), 2000):
        expected = (number, float(number), 2 * number) if number >= 40_000 - (1 << 15) else None
        assert table.find(digest(number)) == expected
    assert all(table.find(digest(number)) is None for number in range(50_000, 52_000))


def test_digests__are_told_apart_by_sixteen_bytes() -> None:
    """Two contents whose digests share eight bytes are not the same."""
    table = Digests(8)
    table.first(b"a" * 8 + b"b" * 12, 1, 1.0, 4)
    assert table.find(b"a" * 8 + b"c" * 12) is None
    assert table.find(b"a" * 8 + b"b" * 12) == (1, 1.0, 4)


def test_digests__can_be_learned_from_what_was_written() -> None:
    """As the columns have it; the first page that is named keeps a content, and so does one that was there before."""
    table = Digests(8)
    table.first(digest(3), 9, 9.5, 6)
    written = [base32(digest(number)) for number in (1, 2, 1, 3)]
    ids = np.array([5, 2**64 - 1, 7, 8], dtype=np.uint64)
    table.learn(written, ids, np.array([0.5, 1.5, 2.5, 3.5]), np.arange(1, 5))
    table.learn([], ids[:0], np.array([], dtype=np.float64), np.array([], dtype=np.int64))
    assert [table.find(digest(number)) for number in (1, 2, 3)] == [(5, 0.5, 1), (2**64 - 1, 1.5, 2), (9, 9.5, 6)]
    assert len(table) == 3
