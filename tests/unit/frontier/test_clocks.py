"""Wall clocks that are wrong, or set: no site rests longer than it was to, and none is visited too early by who cannot
know how long ago it was.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontier.conftest import Make, SetClock
from tests.unit.frontier.test_parcels import send
from tests.unit.frontier.test_shelving import Folding

from weft.frontier.durable.parcels import disturbed, parcels_of
from weft.frontier.local import rolling
from weft.frontier.local.bounds import Bound
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.shared.contract import Begun, Found, Message, Orders, Parcel
from weft.model import Kind, Reason, UrlId

WAIT, HOUR = 2.0, 3600.0
POLITE = Politeness(wait=WAIT, margin=0.0)
RETRIES = Retries(retry_pauses=(5.0,))


@pytest.fixture
def clock() -> SetClock:
    """A clock that stands still until it is told, and can be set."""
    return SetClock(100_000.0)


@pytest.fixture
def options() -> dict[str, object]:
    """How frontiers are made here."""
    return {"politeness": POLITE, "retries": RETRIES}


def crawl(frontier: LocalFrontier, reason: Reason | None = None, pause: float = 0.0) -> None:
    """Two pages of a site are known, one is fetched."""
    for path in ("1", "2"):
        frontier.add_seed(f"http://a.example/{path}")
    visit = frontier.visit()
    assert visit is not None
    frontier.enter(visit, "192.0.2.1")
    turn = frontier.turn(visit)
    assert turn is not None
    frontier.settle(visit, turn, reason)
    visit.pause = pause
    frontier.leave(visit)


def waited(frontier: LocalFrontier, clock: SetClock) -> float:
    """Seconds until the next visit."""
    begun = clock.now()
    while frontier.visit() is None:
        clock.advance(0.125)
        assert clock.now() - begun < 2 * HOUR, "it rests and rests"
    return clock.now() - begun


@pytest.mark.parametrize("later", [0.0, 600.0], ids=["in its wait", "long after it"])
@pytest.mark.parametrize("folded", [False, True], ids=["log", "checkpoint"])
def test_clock__that_was_set_back_in_a_run_makes_no_site_rest_for_it(
    make: Make, clock: SetClock, options: dict[str, object], tmp_path: Path, later: float, *, folded: bool
) -> None:
    """The commits behind the setting say that all is well; what a site was told to wait is in one before."""
    from weft.frontier.durable.checkpoint import fold

    frontier = make(checkpoint_after=1 if folded else 1 << 40, **options)
    crawl(frontier)
    frontier.commits.commit(marks={})
    clock.advance(later)
    clock.ahead = -HOUR
    for _ in range(5):
        clock.advance(1.0)
        frontier.commits.commit(marks={})
    frontier.close()
    assert not folded or fold(tmp_path / "frontier.log") is not None
    again = make(**options)
    again.commits.recover()
    assert again.commits.set_back == 0.0
    assert waited(again, clock) <= WAIT


def test_retry__comes_in_its_time_though_the_clock_was_set_back(
    make: Make, clock: SetClock, options: dict[str, object]
) -> None:
    """No later than its pause from the restart on."""
    frontier = make(**options)
    crawl(frontier, Reason.STATUS_5XX)
    frontier.commits.commit(marks={})
    clock.ahead = -HOUR
    clock.advance(1.0)
    frontier.commits.commit(marks={})
    again = make(**options)
    again.commits.recover()
    [(at, tries)] = again.pages.due.times().values()
    assert tries == 1
    assert at <= clock.now() + 5.0


@pytest.mark.parametrize("committed", [False, True])
def test_pause__lasts_no_longer_than_it_was_asked_for(
    make: Make, clock: SetClock, options: dict[str, object], *, committed: bool
) -> None:
    """And no shorter, where the clock was set back; noted beside the log, or in a commit."""
    frontier = make(**options)
    frontier.commits.commit(marks={})
    crawl(frontier, pause=20.0)
    clock.ahead = -HOUR
    if committed:
        frontier.commits.commit(marks={})
        frontier.commits.commit(marks={})
    again = make(**options)
    again.commits.recover()
    for path in ("1", "2"):
        again.add_seed(f"http://a.example/{path}")
    assert waited(again, clock) == pytest.approx(20.0, abs=0.2)


@pytest.mark.parametrize("restarted", [False, True])
def test_shelf__gives_a_group_back_in_its_time_though_the_clock_was_set_back(
    make: Make, clock: SetClock, options: dict[str, object], monkeypatch: pytest.MonkeyPatch, *, restarted: bool
) -> None:
    """Its site rests no longer, in that run or the next."""
    monkeypatch.setattr(rolling, "subprocess", Folding)
    bounded = {**options, "bound": Bound(1, 60), "checkpoint_after": 1}
    frontier = make(**bounded)
    crawl(frontier)
    frontier.commits.commit(marks={})
    shelving = frontier.exchanges.shelving
    assert shelving is not None
    assert shelving.has("a.example")
    clock.ahead = -HOUR
    for _ in range(4):
        frontier.commits.commit(marks={})
    if restarted:
        frontier.close()
        frontier = make(**bounded)
        frontier.commits.recover()
        assert frontier.commits.set_back == 0.0
    begun = clock.now()
    while frontier.visit() is None:
        clock.advance(0.25)
        frontier.commits.commit(marks={})
        assert clock.now() - begun < 60.0, "it rests and rests"
    assert clock.now() - begun >= WAIT / 2


def handed_on(make: Make, clock: SetClock, tmp_path: Path, options: dict[str, object]) -> list[Parcel]:
    """What a worker left that died in the middle of a visit."""
    first = make(**options)
    crawl(first, Reason.STATUS_5XX)
    first.commits.commit(marks={})
    return [disturbed(parcel, clock.wall()) for parcel in parcels_of(tmp_path / "frontier.log")]


@pytest.mark.parametrize("ahead", [-HOUR, -60.0, 0.0, 60.0, HOUR])
def test_parcel__of_a_worker_that_died_is_held_back_by_any_clock(
    make: Make, clock: SetClock, options: dict[str, object], tmp_path: Path, ahead: float
) -> None:
    """A site that nobody wrote down may have been visited just now, whatever the receiver's clock makes of that; nor is
    anything put off for as long as clocks differ.
    """
    parcels = handed_on(make, clock, tmp_path, options)
    clock.ahead = ahead
    second = make(path=tmp_path / "second.log", **options)
    send(parcels, second)
    new = Message(["new.example"], [Found("http://new.example/", Kind.A, 1, UrlId(1))])
    second.exchanges.obey(Orders(messages=[new]))
    clock.advance(WAIT - 0.125)
    assert second.visit() is None
    assert waited(second, clock) <= 0.25
    assert all(at <= clock.now() + 5.0 for at, _ in second.pages.due.times().values())


def test_parcel__of_one_hand_over_holds_back_once(
    make: Make, clock: SetClock, options: dict[str, object], tmp_path: Path
) -> None:
    """Thousands of groups may come of it, one after the other: the crawl does not stand still for each."""
    [parcel] = handed_on(make, clock, tmp_path, options)
    second = make(path=tmp_path / "second.log", **options)
    send([parcel], second)
    clock.advance(WAIT)
    second.add_seed("http://b.example/")
    send([disturbed(Parcel("c.example", 0, b""), clock.wall() - WAIT)], second)
    assert second.visit() is not None


@pytest.mark.parametrize(("incarnation", "held"), [(1, False), (2, True)])
def test_log__that_is_empty_though_there_was_a_life_before_holds_back(
    make: Make, clock: SetClock, options: dict[str, object], incarnation: int, *, held: bool
) -> None:
    """It came to no commit, or lost them: any site may have been visited just now."""
    frontier = make(**options)
    assert frontier.commits.recover(Begun(incarnation, 0, alone=True)) is None
    frontier.add_seed("http://a.example/")
    assert (frontier.visit() is None) is held
    clock.advance(WAIT)
    assert not held or frontier.visit() is not None
