"""What is expensive is found out seldom, however often it is asked for."""

from __future__ import annotations

import threading

import pytest

from weft.clock import VirtualClock
from weft.console.kept import SHARE, Kept


def test_value__is_kept_fifty_times_as_long_as_it_took() -> None:
    """So nobody who asks, however often, has more than a fiftieth of the time spent on it."""
    clock, asked = VirtualClock(), list[float]()

    def find() -> int:
        asked.append(clock.now())
        clock.advance(2.0)
        return len(asked)

    kept = Kept(find, clock, least=1.0)
    for _ in range(1000):
        kept.get()
        clock.advance(0.5)
    assert asked[:3] == [0.0, 2.0 + SHARE * 2.0, 2 * (2.0 + SHARE * 2.0)]


def test_value__is_found_out_by_one_while_others_have_the_old() -> None:
    """A page does not wait for what is only being made newer."""
    clock = VirtualClock()
    finding, go_on = threading.Event(), threading.Event()
    values = iter(("old", "new"))

    def find() -> str:
        value = next(values)
        if value == "new":
            finding.set()
            assert go_on.wait(60)
        return value

    kept = Kept(find, clock, least=1.0)
    assert kept.get() == "old"
    clock.advance(2.0)
    other = threading.Thread(target=kept.get)
    other.start()
    assert finding.wait(60)
    assert kept.get() == "old"
    go_on.set()
    other.join(60)
    assert kept.get() == "new"


def test_failure__is_told_and_not_kept() -> None:
    """The next who asks has it tried again."""
    clock, tries = VirtualClock(), list[int]()

    def find() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("away")
        return "there"

    kept = Kept(find, clock, least=1.0)
    with pytest.raises(OSError, match="away"):
        kept.get()
    assert kept.get() == "there"
