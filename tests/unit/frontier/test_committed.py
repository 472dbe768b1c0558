"""How far files are committed, as somebody beside a crawl finds out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.frontier.durable.committed import committed_marks
from weft.frontier.durable.log import Commit, FrontierLog
from weft.model import NO_ID, SiteNumber
from weft.store.files import Mark


def committed(log: FrontierLog, number: int, *, roll: bool = False) -> int:
    """Commit a page, and a mark of this number; how long the log is then."""
    log.append(number + 1, f"http://a.example/{number}", NO_ID, SiteNumber(0), 0, 0)
    log.pack(Commit(marks={"pages/x": Mark(number, 0, 0)}), roll=roll)
    log.write(sync=False)
    log.written()
    return log.size


def test_marks__are_those_of_the_last_commit(tmp_path: Path) -> None:
    """Of each commit, as soon as it is written; none where there is no log, or nothing in it."""
    path = tmp_path / "frontier.log"
    assert committed_marks(path) == {}
    log = FrontierLog(path)
    assert committed_marks(path) == {}
    for number in range(6):
        committed(log, number)
        assert committed_marks(path) == {"pages/x": Mark(number, 0, 0)}
    log.close()


def test_marks__are_found_when_a_log_was_just_closed(tmp_path: Path) -> None:
    """The new one has no record yet: the last commit is in the one before."""
    path = tmp_path / "frontier.log"
    log = FrontierLog(path)
    for number in range(4):
        committed(log, number, roll=number == 2)
        assert committed_marks(path) == {"pages/x": Mark(number, 0, 0)}
    log.close()


@given(cut=st.integers(1, 120), garbled=st.booleans())
def test_marks__of_a_torn_record_do_not_count(
    cut: int, garbled: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One that is being written, or was when the crawl was killed: the last whole one counts."""
    path = tmp_path_factory.mktemp("log") / "frontier.log"
    log = FrontierLog(path)
    sizes = [committed(log, number) for number in range(3)]
    log.close()
    with path.open("r+b") as file:
        length = max(sizes[2] - cut, sizes[1] + 1)
        if garbled:
            file.seek(length)
            file.write(b"\xff")
        else:
            file.truncate(length)
    assert committed_marks(path) in ({"pages/x": Mark(1, 0, 0)}, {"pages/x": Mark(2, 0, 0)})
    if not garbled:
        assert committed_marks(path) == {"pages/x": Mark(1, 0, 0)}
