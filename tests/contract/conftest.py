"""What all tests of global frontiers share: each runs with every implementation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contract import peers
from tests.contract.peers import IMPLEMENTATIONS, Build

from weft.clock import VirtualClock
from weft.frontier.shared.contract import ALL_AT_ONCE, Limits, SharedFrontier


@pytest.fixture
def clock() -> VirtualClock:
    """A clock that stands still until it is told."""
    return VirtualClock(1_800_000_000.0)


@pytest.fixture(params=IMPLEMENTATIONS)
def implementation(request: pytest.FixtureRequest) -> str:
    """The name of an implementation."""
    return str(request.param)


@pytest.fixture
def build(implementation: str, tmp_path_factory: pytest.TempPathFactory, clock: VirtualClock) -> Iterator[Build]:
    """Makes global frontiers, each of a crawl of its own."""
    made: list[tuple[SharedFrontier, str]] = []

    def made_of(
        *seeds: str,
        workers: int = 1,
        by_size: bool = False,
        max_pages: int | None = None,
        phase: int = ALL_AT_ONCE,
    ) -> SharedFrontier:
        folder = tmp_path_factory.mktemp("crawl")
        place = peers.created(implementation, folder, by_size=by_size, seeds=seeds, phase=phase)
        frontier = peers.opened(implementation, place, clock)
        frontier.prepare(workers, Limits(max_pages=max_pages))
        made.append((frontier, place))
        return frontier

    yield made_of
    for frontier, place in made:
        frontier.close()
        peers.released(implementation, place)
