"""A target that fails in every way: shows that failures are found, and how they are told."""

from __future__ import annotations

import os

from hypothesis import strategies as st
from tests.fuzz.target import Target


def check(data: bytes) -> None:
    """Do what the input says."""
    if data.endswith(b"raise"):
        raise ZeroDivisionError("as asked")
    if data.endswith(b"abort"):
        os.abort()
    if data.endswith(b"grow"):
        bytearray(os.urandom(1 << 20) * 100)
    while data.endswith(b"hang"):
        pass


TARGET = Target(
    check,
    own=(b"harmless",),
    real=lambda _data: [],
    words=(b"raise",),
    grammar=lambda: st.sampled_from([b"harmless", b"raise"]),
    memory=50,
)
