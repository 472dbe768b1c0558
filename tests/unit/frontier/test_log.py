"""The frontier's log: what was committed is there, what was not is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.frontier.log import Commit, Entry, FrontierLog


def filled(path: Path, commits: int, pages: int) -> FrontierLog:
    """A log with so many commits of so many pages."""
    log = FrontierLog(path)
    for commit in range(commits):
        for number in range(pages):
            page = commit * pages + number
            log.append(page + 1, f"http://a.example/{'é' * (page % 5)}{page}", page - 1, page % 7, page % 16, 1)
        log.commit(Commit(sites=[f"s{commit}"], lengths={"x": commit}))
    return log


def expected(page: int) -> Entry:
    """What `filled` wrote of a page."""
    return Entry(f"http://a.example/{'é' * (page % 5)}{page}", page - 1, page % 7, page % 16, 1)


def test_log__gives_every_page_back_by_its_number(tmp_path: Path) -> None:
    """Committed or not, in this process or the next."""
    log = filled(tmp_path / "log", 4, 5)
    log.append(99, "http://b.example/", 3, 1, 2, 0)
    assert [log.entry(page) for page in range(20)] == [expected(page) for page in range(20)]
    assert log.entry(20) == Entry("http://b.example/", 3, 1, 2, 0)
    log.close()
    again = FrontierLog(tmp_path / "log")
    records = list(again.replay())
    assert [record.commit.sites for record in records] == [["s0"], ["s1"], ["s2"], ["s3"]]
    assert [int(number) for record in records for number in record.fingerprints] == list(range(1, 21))
    assert [again.entry(page) for page in range(20)] == [expected(page) for page in range(20)]
    again.close()


@given(cut=st.integers(1, 400))
def test_log__a_torn_end_is_cut_off(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever is lost of the end, the records before it stand, and the log goes on from there."""
    path = tmp_path_factory.mktemp("log") / "log"
    filled(path, 3, 4).close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(max(0, size - cut))
    log = FrontierLog(path)
    whole = len(list(log.replay()))
    assert whole < 3
    assert log.pages == 4 * whole
    log.append(1000, "http://new.example/", -1, 0, 0, 0)
    log.commit(Commit())
    log.close()
    again = FrontierLog(path)
    assert len(list(again.replay())) == whole + 1
    assert again.entry(4 * whole).url == "http://new.example/"
    again.close()


@given(place=st.floats(0, 1, exclude_max=True), bits=st.integers(1, 255))
def test_log__a_damaged_record_ends_it(place: float, bits: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A flipped bit is found by the checksum; nothing damaged is ever read as if it were whole."""
    path = tmp_path_factory.mktemp("log") / "log"
    filled(path, 3, 4).close()
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= bits
    path.write_bytes(data)
    log = FrontierLog(path)
    for number, record in enumerate(log.replay()):
        assert record.commit.sites == [f"s{number}"]
    assert [log.entry(page) for page in range(log.pages)] == [expected(page) for page in range(log.pages)]
    log.close()


def test_log__read_only_changes_nothing(tmp_path: Path) -> None:
    """A reader beside a running crawl leaves a half-written end alone."""
    filled(tmp_path / "log", 2, 3).close()
    with (tmp_path / "log").open("ab") as file:
        file.write(b"weft half a record")
    before = (tmp_path / "log").read_bytes()
    log = FrontierLog(tmp_path / "log", read_only=True)
    assert len(list(log.replay())) == 2
    log.close()
    assert (tmp_path / "log").read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
def test_log__on_a_full_disk_says_what_to_do() -> None:
    """A commit that cannot be written is an error with a way out, not one of the operating system's."""
    log = FrontierLog(Path("/dev/full"))
    log.append(1, "http://a.example/", -1, 0, 0, 0)
    with pytest.raises(WeftError) as caught:
        log.commit(Commit())
    assert "No space left" in caught.value.what
    assert "make room" in (caught.value.todo or "")
    log.close()
