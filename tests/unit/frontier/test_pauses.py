"""Pauses that servers asked for are on disk soon, and the loop waits for none of that."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from weft.errors import WeftError
from weft.frontier.durable.pauses import Pauses, noted

Synced = list[tuple[str, bytes]]  # by which thread, and what was in the file


@pytest.fixture
def syncing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Callable[[], None]], Synced]:
    """Look at what is synced, after something else."""

    def begin(before: Callable[[], None] = lambda: None) -> Synced:
        synced: Synced = []

        def sync(_file: int) -> None:
            before()
            synced.append((threading.current_thread().name, (tmp_path / "frontier.pauses0").read_bytes()))

        monkeypatch.setattr(os, "fdatasync", sync)
        return synced

    return begin


def test_pause__is_synced_at_once_and_not_by_the_loop(tmp_path: Path, syncing: Callable[..., Synced]) -> None:
    """A power failure in the second before the next commit does not lose it."""
    synced = syncing()
    pauses = Pauses(tmp_path / "frontier.log")
    pauses.sync = True
    pauses.note("a.example", 1e9, 60.0)
    pauses.close()
    assert noted(tmp_path / "frontier.log", 1e9) == {"a.example": 1e9 + 60.0}
    [(thread, content)] = synced
    assert b"a.example" in content
    assert thread != threading.current_thread().name


def test_pauses__that_come_while_one_is_synced_share_the_next_sync(
    tmp_path: Path, syncing: Callable[..., Synced]
) -> None:
    """When a thousand sites fail at once that is two syncs, and the last has them all."""
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    synced = syncing(wait)
    pauses = Pauses(tmp_path / "frontier.log")
    pauses.sync = True
    pauses.note("first.example", 1e9, 60.0)
    assert begun.wait(PATIENCE)
    for number in range(1000):
        pauses.note(f"s{number}.example", 1e9, 60.0)
    go_on.set()
    pauses.close()
    assert len(synced) == 2
    assert synced[-1][1].count(b"\n") == 1001


def test_sync__that_fails_is_told(tmp_path: Path, syncing: Callable[..., Synced]) -> None:
    """The disk's failure ends the crawl, wherever it is seen."""

    def fail() -> None:
        raise OSError(5, "Input/output error")

    syncing(fail)
    pauses = Pauses(tmp_path / "frontier.log")
    pauses.sync = True
    pauses.note("a.example", 1e9, 60.0)
    pauses.close()
    with pytest.raises(WeftError, match="Input/output error"):
        pauses.note("b.example", 1e9, 60.0)
    pauses.close()


def test_pauses__are_not_synced_where_commits_are_not(tmp_path: Path, syncing: Callable[..., Synced]) -> None:
    """Who asks for no durability has none, and no thread for it."""
    synced = syncing()
    pauses = Pauses(tmp_path / "frontier.log")
    pauses.note("a.example", 1e9, 60.0)
    pauses.close()
    assert not synced


def test_pause__is_noted_no_shorter_than_it_was_asked_for(tmp_path: Path) -> None:
    """A file has milliseconds, a clock has more: a site must not be visited a fraction of one too early."""
    pauses = Pauses(tmp_path / "frontier.log")
    until = 1_700_000_000.0001
    pauses.note("a.example", until - 60.0, 60.0)
    pauses.close()
    assert until <= noted(tmp_path / "frontier.log", until - 60.0)["a.example"] < until + 0.002
