"""The one place that knows which global frontiers there are. In: a place. Out: a global frontier, made or opened.

A *place* is the directory of a crawl on one machine, or the address of a database that several machines share.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from weft.clock import Clock
from weft.frontier.shared.contract import Remains, SharedFrontier
from weft.frontier.shared.sqlite import SqliteFrontier
from weft.frontier.shared.sqlite_file import FILE, PATIENCE, files_of

__all__ = ["FILE", "create_frontier", "files_of", "frontier_exists", "make_private", "open_frontier"]


def create_frontier(place: Path, *, by_size: bool, seeds: Iterable[str], remains: Remains | None = None) -> None:
    """Make a global frontier: before any worker starts. It is there when it is complete."""
    SqliteFrontier.create(place / FILE, by_size=by_size, seeds=seeds, remains=remains)


def frontier_exists(place: Path) -> bool:
    """Is there a global frontier?"""
    return (place / FILE).exists()


def open_frontier(
    place: Path, clock: Clock | None = None, *, patience: float = PATIENCE, read_only: bool = False
) -> SharedFrontier:
    """Open a global frontier, as each process does; it is waited for so many seconds before it counts as away."""
    return SqliteFrontier(place / FILE, clock, patience=patience, read_only=read_only)


def make_private(place: Path) -> None:
    """Let nobody but its owner read what is stored."""
    for path in files_of(place):
        path.chmod(0o600)
