"""Fingerprints of texts: as they are documented, and as far apart as the texts are."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text.simhash import distance, simhash

_ALL = 2**64 - 1
_WORDS = re.compile("[\u3040-\u9fff]|[0-9A-Za-z\u00c0-\u1fff\u2c00-\u2fff\ua000-\U0010ffff]+")


def documented(text: str) -> tuple[int, int]:
    """A SimHash by what the documentation says, step by step."""
    numbers = []
    for word in _WORDS.findall(text.lower()):
        number = 0xCBF29CE484222325
        for byte in word.encode("utf-8", "surrogatepass"):
            number = (number ^ byte) * 0x100000001B3 & _ALL
        numbers.append(number)
    shingles = []
    for a, b, c in zip(numbers, numbers[1:], numbers[2:], strict=False):
        mixed = ((a * 5 + b) * 5 + c) & _ALL
        mixed = (mixed ^ mixed >> 33) * 0xFF51AFD7ED558CCD & _ALL
        mixed = (mixed ^ mixed >> 33) * 0xC4CEB9FE1A85EC53 & _ALL
        shingles.append(mixed ^ mixed >> 33)
    bits = sum(1 << bit for bit in range(64) if 2 * sum(each >> bit & 1 for each in shingles) > len(shingles))
    return bits, len(numbers)


@given(st.text(alphabet=st.sampled_from("aB9 .é\u00a0\u2014字かไ\u3002한\U0001f600ß"), max_size=60))
def test_simhash__is_what_the_documentation_says(text: str) -> None:
    """Other programs can compute the same: letters of all kinds, blanks and signs of all kinds, kana and the like."""
    assert simhash(text) == documented(text)


@given(st.text(max_size=40))
def test_simhash__takes_any_text(text: str) -> None:
    """Also what no page has."""
    assert simhash(text) == documented(text)


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("one two three", 0x27D106E5092EC140),
        ("The quick brown fox jumps over the lazy dog", 0x5E9B93A53F4AB275),
        ("吾輩は猫である", 0x7D619A187D062625),
    ],
)
def test_simhash__of_these_texts_never_changes(text: str, bits: int) -> None:
    """What is in columns must mean the same in the next version."""
    assert simhash(text)[0] == bits


def test_distance__grows_with_what_was_edited() -> None:
    """One word of 400 is a few bits, half of them is many, another text is about 32; case and signs are none."""
    chance = random.Random(1)
    words = [f"w{chance.randrange(3000)}" for _ in range(400)]
    own = simhash(" ".join(words))[0]

    def edited(many: int) -> int:
        changed = list(words)
        for place in chance.sample(range(400), many):
            changed[place] = f"x{chance.randrange(3000)}"
        return distance(own, simhash(" ".join(changed))[0])

    assert simhash(", ".join(words).upper())[0] == own
    assert edited(1) <= 5 < edited(40) < edited(400)
    assert 20 < edited(400) < 44
