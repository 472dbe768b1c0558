"""A crawl is looked at for as long as somebody watches, and once for all who do."""

from __future__ import annotations

from tests.live import live
from tests.unit.operations.made import snapshot

from weft.clock import SystemClock, VirtualClock
from weft.console.watching import Watching
from weft.operations.status import Status


class Looked:
    """Counts how often a crawl is looked at."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Status:
        """Look."""
        self.times += 1
        return snapshot(100 * self.times).status


def test_look__serves_all_who_ask_within_a_second() -> None:
    """However many have the page open."""
    look, clock = Looked(), VirtualClock()
    watching = Watching(look, clock)
    assert look.times == 0, "nobody watches"
    pages = {watching.now().values["pages"] for _ in range(20)}
    assert (look.times, len(pages)) == (1, 1)
    clock.advance(1.0)
    watching.now()
    assert look.times == 2


def test_rates__of_late_are_remembered() -> None:
    """A line of them is drawn; it has an end."""
    clock = VirtualClock()
    watching = Watching(Looked(), clock)
    for _ in range(400):
        clock.advance(1.0)
        watching.now()
    assert watching.now().rates["pages"] == [12.5] * 300


@live
async def test_stream__ends_with_its_session() -> None:
    """When it is told so, and when its reader has gone; nobody is left watching."""
    look = Looked()
    watching = Watching(look, SystemClock())
    stream = watching.stream(lambda: look.times < 2)
    seen = [overview async for overview in stream]
    assert len(seen) == look.times == 2
    assert watching.watchers == 0
    stream = watching.stream(lambda: True)
    await anext(stream)
    assert watching.watchers == 1
    await stream.aclose()  # type: ignore[attr-defined]
    assert watching.watchers == 0
