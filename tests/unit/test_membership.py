"""When the silence of other nodes tells anything."""

from __future__ import annotations

import pytest

from weft.clock import VirtualClock
from weft.membership import Hearing


@pytest.mark.parametrize(("after", "grace"), [(21.0, 21.0), (3600.0, 30.0)])
@pytest.mark.parametrize("away", [6.0, 60.0, 86_400.0])
def test_hearing__begins_anew_behind_a_time_without_answers(after: float, grace: float, away: float) -> None:
    """The database was away for us, and perhaps for everybody: none is given up before all had time to come back."""
    clock = VirtualClock(1000.0)
    hearing = Hearing(clock)
    _answered(hearing, clock, grace)
    assert hearing.tells(after)
    clock.advance(away)
    hearing.answered()
    assert not hearing.tells(after)
    _answered(hearing, clock, grace - 1)
    assert not hearing.tells(after)
    _answered(hearing, clock, 1)
    assert hearing.tells(after)


def test_hearing__of_a_node_that_starts_tells_nothing_yet() -> None:
    """All machines may have been off."""
    clock = VirtualClock(1000.0)
    assert not Hearing(clock).tells(3600.0)


def _answered(hearing: Hearing, clock: VirtualClock, seconds: float) -> None:
    """An answer a second."""
    until = clock.now() + seconds
    while clock.now() < until:
        clock.advance(1.0)
        hearing.answered()
