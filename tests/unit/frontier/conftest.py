"""A local frontier on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from weft.clock import VirtualClock
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.overrides import Overrides
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.model import Kind, Parsed
from weft.ordering.breadth_first import BreadthFirst
from weft.urls import UrlRules

Make = Callable[..., LocalFrontier]


class SetClock(VirtualClock):
    """A clock whose wall time can be set, as a machine's can."""

    ahead = 0.0

    def wall(self) -> float:
        """The time of day, as the machine believes."""
        return self.now() + self.ahead


@pytest.fixture
def clock() -> VirtualClock:
    """A clock that stands still until it is told."""
    return VirtualClock(1000.0)


@pytest.fixture
def make(tmp_path: Path, clock: VirtualClock) -> Iterator[Make]:
    """Makes frontiers over the same log."""
    made: list[LocalFrontier] = []

    def build(**changes: Any) -> LocalFrontier:
        options: dict[str, Any] = {
            "path": tmp_path / "frontier.log",
            "clock": clock,
            "ordering": BreadthFirst(),
            "politeness": Politeness(wait=2.0, connections=100, margin=0.0),
            "selection": Selection(scope="all"),
            "retries": Retries(),
            "overrides": Overrides(),
            "rules": UrlRules(),
            "agent": "weft",
            "secret": bytes(range(16)),
            "capacity": 1 << 14,
        }
        given = options | changes
        of_worker = {name: given.pop(name) for name in ("path", "clock", "note", "say") if name in given}
        frontier = LocalFrontier(Terms(**given), **of_worker)
        made.append(frontier)
        return frontier

    yield build
    for frontier in made:
        frontier.close()


def parsed(base: str, *links: str, kind: Kind = Kind.A) -> Parsed:
    """A page with these links."""
    return Parsed("text/html", "utf-8", "", "", base, [(link, kind) for link in links], [], follow=True, reason=None)
