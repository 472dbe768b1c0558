"""Quantities are read as people write them."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.units import Unit, quantity, rates


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("2 GB", "bytes", 2_000_000_000),
        ("500kB", "bytes", 500_000),
        ("500 KB", "bytes", 500_000),
        ("2 MiB", "bytes", 2 << 20),
        ("1.5 gb", "bytes", 1_500_000_000),
        ("7 bytes", "bytes", 7),
        ("7", "bytes", 7),
        ("1_000", "bytes", 1000),
        ("90 s", "seconds", 90),
        ("10 min", "seconds", 600),
        ("2h", "seconds", 7200),
        ("1 d", "seconds", 86_400),
        ("250 ms", "seconds", 0.25),
        ("0.1", "seconds", 0.1),
        ("-5", "seconds", -5),
        (" 1e3 s ", "seconds", 1000),
    ],
)
def test_quantity__is_the_number_that_is_meant(text: str, unit: Unit, number: float) -> None:
    """SI and IEC units, with and without a blank, whole numbers exactly."""
    found = quantity(text, unit)
    assert found == number
    assert type(found) is type(number)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("", "bytes"),
        ("GB", "bytes"),
        ("2 parsecs", "bytes"),
        ("2 min", "bytes"),
        ("2 GB", "seconds"),
        ("1,5 GB", "bytes"),
        ("2 GB 3", "bytes"),
        ("٣", "bytes"),
        ("0x10", "bytes"),
        ("5 s 3", "seconds"),
        ("1__0", "bytes"),
    ],
)
def test_quantity__that_is_none_says_how_to_write_one(text: str, unit: Unit) -> None:
    """The message has examples."""
    with pytest.raises(ValueError, match="such as"):
        quantity(text, unit)


@given(st.text() | st.from_regex(r"[0-9.e+_-]{1,12} ?[a-zA-Z]{0,4}"))
def test_quantity__of_any_text_is_a_number_or_a_message(text: str) -> None:
    """Nothing else is raised, and no text takes long, however large its number would be."""
    for unit in ("bytes", "seconds"):
        with contextlib.suppress(ValueError):
            assert isinstance(quantity(text, unit), (int, float))
    with contextlib.suppress(ValueError):
        assert all(0 < rate < math.inf for rate in rates(text).values())
