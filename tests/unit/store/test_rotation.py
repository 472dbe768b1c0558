"""Logs that are put aside: by size, by somebody else, with several who write."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.siege import wait_until

from weft.clock import SystemClock
from weft.events import Fetched
from weft.model import NO_ID, Kind, Outcome, Page, PageNumber, Turn, UrlId
from weft.store.log import FIELDS, CrawlLog
from weft.store.rotation import Rotation, log_files, opened, reopened_on_signal


def fetched(number: int) -> Fetched:
    """A fetch that can be told from others, a second later each."""
    url = f"http://a.test/{number}"
    turn = Turn(PageNumber(number), UrlId(number), url, 1, Kind.A, NO_ID, 1)
    page = Page(url, 200, None, b"", b"", {}, b"", "", "", "", 0.0, 1e9 + number, 0.0, closed=False)
    return Fetched(Outcome(turn, page, None, None), "a.test", 1, "", duplicate=False)


def write(log: CrawlLog, numbers: range) -> None:
    """Have fetches in the log, each by a write of its own."""
    for number in numbers:
        log.on_event(fetched(number))
        log.flush()


def numbers_in(path: Path) -> list[int]:
    """The fetches in all files of a log."""
    found = []
    for each in log_files(path):
        with opened(each) as file:
            found += [int(line.split("\t")[FIELDS.index("url")].rpartition("/")[2]) for line in file]
    return found


def test_rotation__loses_no_line_and_keeps_the_order(tmp_path: Path) -> None:
    """A small limit: many files, all lines once, the live one last."""
    path = tmp_path / "log" / "crawl.log"
    log = CrawlLog(path, Rotation(300, 0, SystemClock()))
    write(log, range(40))
    log.close()
    files = log_files(path)
    assert len(files) > 3
    assert numbers_in(path) == list(range(40))
    assert all(each.stat().st_size < 1000 for each in files)


def test_rotation__of_two_who_write_to_one_file(tmp_path: Path) -> None:
    """One puts it aside, the other follows with its next line, and between them nothing is lost or doubled."""
    path = tmp_path / "crawl.log"
    first, second = (CrawlLog(path, Rotation(2000, 0, SystemClock())) for _ in range(2))
    threads = [
        threading.Thread(target=write, args=(log, range(start, start + 300)))
        for log, start in ((first, 0), (second, 300))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first.close()
    second.close()
    assert sorted(numbers_in(path)) == list(range(600))
    assert len(log_files(path)) > 10


def test_rotation__keeps_as_many_as_are_wanted(tmp_path: Path) -> None:
    """The newest of them."""
    path = tmp_path / "crawl.log"
    log = CrawlLog(path, Rotation(500, 3, SystemClock()))
    write(log, range(60))
    log.close()
    found = numbers_in(path)
    assert len(log_files(path)) <= 4
    assert found == list(range(found[0], 60))


def test_log__that_is_moved_is_begun_anew(tmp_path: Path) -> None:
    """As logrotate does it; what was moved, and what was compressed, is read in its order."""
    path = tmp_path / "crawl.log"
    log = CrawlLog(path)
    write(log, range(3))
    path.rename(tmp_path / "crawl.log.2")
    write(log, range(3, 6))
    path.rename(tmp_path / "crawl.log-20261116")
    write(log, range(6, 9))
    log.close()
    with (tmp_path / "crawl.log.2").open("rb") as plain, gzip.open(tmp_path / "crawl.log.2.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    (tmp_path / "crawl.log.2").unlink()
    assert [each.name for each in log_files(path)] == ["crawl.log.2.gz", "crawl.log-20261116", "crawl.log"]
    assert numbers_in(path) == list(range(9))


def test_signal__begins_a_new_log(tmp_path: Path) -> None:
    """SIGUSR1 ends nobody; the log is there again at once."""
    path = tmp_path / "crawl.log"
    with reopened_on_signal(path):
        os.kill(os.getpid(), signal.SIGUSR1)
    assert path.exists()


@pytest.mark.parametrize("moved", [True, False], ids=["moved", "put-aside"])
def test_follow__goes_over_to_the_new_log(tmp_path: Path, moved: bool) -> None:
    """`weft log --follow` shows every line, once."""
    path = tmp_path / "log" / "crawl.log"
    (tmp_path / "crawl.toml").write_text("", encoding="utf-8")
    log = CrawlLog(path, None if moved else Rotation(700, 0, SystemClock()))
    write(log, range(3))
    output = tmp_path / "followed"
    with output.open("wb") as file:
        command = [sys.executable, "-m", "weft", "log", str(tmp_path), "--follow"]
        following = subprocess.Popen(command, stdout=file)
        try:
            wait_until(lambda: output.read_text().count("\n") == 3, "nothing was shown")
            if moved:
                path.rename(path.with_name("crawl.log.1"))
            write(log, range(3, 30))
            wait_until(lambda: output.read_text().count("\n") >= 30, "lines are missing")
        finally:
            following.kill()
            following.wait()
            log.close()
    shown = [int(line.split("\t")[FIELDS.index("url")].rpartition("/")[2]) for line in output.read_text().splitlines()]
    assert shown == list(range(30))
