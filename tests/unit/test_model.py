"""The values that cross borders, the clocks and the bus."""

from __future__ import annotations

import doctest
from typing import Any

import msgspec
import pytest

import weft.clock
from weft.clock import SystemClock, VirtualClock
from weft.events import Bus, Event, Fault, Stopped
from weft.model import FIRST_REQUISITE, NO_ID, Kind, Page, PageNumber, Parsed, Reason, Turn, UrlId


def test_reasons__are_one_list_with_meanings() -> None:
    """Each has a text of its own, found again by it, and a sentence for the documentation."""
    texts = [str(reason) for reason in Reason]
    assert len(set(texts)) == len(texts) > 30
    for reason in Reason:
        assert Reason.named(str(reason)) is reason
        assert reason.value == str(reason)
        assert reason.doc
        assert reason.retry in (True, False)
        assert str(reason) == str(reason).lower().replace(" ", "-")


def test_reasons__network_faults_are_worth_another_try_and_refusals_are_not() -> None:
    """What may be gone in a minute is tried again."""
    again = {reason for reason in Reason if reason.retry}
    assert {Reason.TIMEOUT, Reason.RESET, Reason.STATUS_5XX, Reason.STATUS_429, Reason.DNS_FAILED} <= again
    assert not {Reason.SCOPE, Reason.ROBOTS, Reason.STATUS_4XX, Reason.TYPE, Reason.NOT_A_URL} & again


def test_reasons__travel_as_their_text() -> None:
    """In JSON and back."""
    assert msgspec.json.encode([Reason.ROBOTS]) == b'["robots"]'
    assert msgspec.json.decode(b'"robots"', type=Reason) is Reason.ROBOTS


def test_kinds__pages_come_before_parts() -> None:
    """One comparison tells a page from a part of one; a kind fits a byte."""
    parts = {Kind.IMAGE, Kind.STYLE, Kind.SCRIPT, Kind.PART}
    assert {kind for kind in Kind if kind >= FIRST_REQUISITE} == parts
    assert all(0 <= kind < 256 for kind in Kind)


PAGE = Page("http://a/", 200, None, b"", b"", {}, b"", "", "", "", 0.0, 0.0, 0.0, closed=False)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (PAGE, "status"),
        (Turn(PageNumber(1), UrlId(2), "http://a/", 0, 0, NO_ID, 1), "url"),
        (Parsed("", "", "", "", "", [], [], follow=True, reason=None), "links"),
        (Stopped("done"), "why"),
    ],
)
def test_values__are_never_edited(value: Any, name: str) -> None:
    """A stage returns a new value; the one that it was given stays as it was."""
    with pytest.raises(AttributeError):
        setattr(value, name, None)


def test_bus__tells_every_listener_in_order() -> None:
    """In the order of events, and for each event in the order of subscription."""
    heard: list[tuple[int, Event]] = []
    bus = Bus()
    bus.emit(Stopped("nobody hears this"))
    bus.subscribe(lambda event: heard.append((1, event)))
    bus.subscribe(lambda event: heard.append((2, event)))
    bus.emit(Stopped("done"))
    error = ZeroDivisionError()
    bus.report(error, "here")
    assert heard == [
        (1, Stopped("done")),
        (2, Stopped("done")),
        (1, Fault(error, "here")),
        (2, Fault(error, "here")),
    ]


def test_virtual_clock__moves_only_when_told() -> None:
    """Forwards, by steps or to an instant, never back; both readings are the same."""
    clock = VirtualClock(10.0)
    assert (clock.now(), clock.wall()) == (10.0, 10.0)
    clock.advance(2.5)
    clock.move_to(20.0)
    clock.move_to(20.0)
    assert (clock.now(), clock.wall()) == (20.0, 20.0)
    with pytest.raises(ValueError, match="back"):
        clock.move_to(19.9)
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1.0)
    assert repr(clock) == "VirtualClock(20.0)"


def test_system_clock__reads_the_machine() -> None:
    """One reading never goes back, the other is of this century."""
    clock = SystemClock()
    readings = [clock.now() for _ in range(100)]
    assert readings == sorted(readings)
    assert 1.6e9 < clock.wall() < 4.2e9


def test_clock_doctest__holds() -> None:
    """The example in the module's docstring is true."""
    failed, tried = doctest.testmod(weft.clock)
    assert tried > 0
    assert failed == 0
