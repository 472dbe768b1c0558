"""The request log."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.clock import VirtualClock
from weft.errors import WeftError
from weft.testbed.log import Entry, LogReader, RequestLog, Stopwatch, cleaned, read_log

LINE = b"request\ta.test\t127.1.0.1\thttp\t7\t10.000000\t11.000000\t12.500000\tGET\t200\t99\tpage\t/x\tbot/1 (+a b)\n"


def test_log__what_is_written_is_read_back(tmp_path: Path) -> None:
    """Lines come back as values, in order; a second server appends to the same file."""
    path = tmp_path / "log.tsv"
    for _ in range(2):
        log = RequestLog(path)
        log.add(LINE)
        log.close()
    entry = Entry(
        "request", "a.test", "127.1.0.1", "http", 7, 10.0, 11.0, 12.5, "GET", 200, 99, "page", "/x", "bot/1 (+a b)"
    )
    assert read_log(path) == [entry, entry]


def test_log__nothing_is_written_before_a_flush(tmp_path: Path) -> None:
    """Lines wait for a large write; half a line at the end is not read."""
    path = tmp_path / "log.tsv"
    log = RequestLog(path)
    log.add(LINE)
    assert read_log(path) == []
    log.flush()
    assert len(read_log(path)) == 1
    with path.open("ab") as file:
        file.write(LINE[:40])
    assert len(read_log(path)) == 1
    log.close()


def test_log__that_grows_is_read_on(tmp_path: Path) -> None:
    """What one reader was given before stays, and comes again with what is new; a line that was half comes whole."""
    path = tmp_path / "log.tsv"
    log, reader = RequestLog(path), LogReader(path)
    assert reader.entries() == []
    log.add(LINE)
    log.flush()
    first = reader.entries()
    with path.open("ab") as file:
        file.write(LINE[:40])
        file.flush()
        assert reader.entries() == first
        file.write(LINE[40:])
    assert reader.entries() == read_log(path) == [*first, *first]
    assert len(first) == 1
    log.close()


def test_log__without_a_file_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without a log runs the same, and writes nothing anywhere."""
    monkeypatch.chdir(tmp_path)
    log = RequestLog(None)
    log.add(LINE)
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_log__a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The message says which file."""
    with pytest.raises(WeftError, match="cannot write the request log"):
        RequestLog(tmp_path / "nowhere" / "log.tsv")


@pytest.mark.parametrize(
    ("text", "written"),
    [(b"/a b", b"/a b"), (b"", b"-"), (b"a\tb\nc", b"a?b?c"), (b"\xe9\x7f", b"\\xe9?"), (b"/\xc3\xa9", b"/\\xc3\\xa9")],
)
def test_log__texts_from_outside_break_no_line(text: bytes, written: bytes) -> None:
    """Tabs, line feeds and letters outside ASCII are replaced."""
    assert cleaned(text) == written


def test_stopwatch__counts_on_from_the_wall_clock() -> None:
    """Times are wall time at the start and monotonic from there."""
    clock = VirtualClock(100.0)
    watch = Stopwatch(clock)
    clock.advance(1.5)
    assert watch.read() == 101.5
