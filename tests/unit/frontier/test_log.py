"""The frontier's log: what was committed is there, what was not is not."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.frontier.durable.log import DEEPEST, Commit, Entry, FrontierLog
from weft.model import NO_ID, SiteNumber, UrlId
from weft.store.files import SETTLED, Mark


def filled(path: Path, commits: int, pages: int) -> FrontierLog:
    """A log with so many commits of so many pages."""
    log = FrontierLog(path)
    for commit in range(commits):
        for number in range(pages):
            page = commit * pages + number
            log.append(
                page + 1,
                f"http://a.example/{'é' * (page % 5)}{page}",
                UrlId(page + 9),
                SiteNumber(page % 7),
                page % 16,
                1,
            )
        log.commit(Commit(sites=[f"s{commit}"], marks={"x": Mark(commit, 0, 0)}))
    return log


def expected(page: int) -> Entry:
    """What `filled` wrote of a page."""
    return Entry(f"http://a.example/{'é' * (page % 5)}{page}", UrlId(page + 9), SiteNumber(page % 7), page % 16, 1)


def test_log__gives_every_page_back_by_its_number(tmp_path: Path) -> None:
    """Committed or not, in this process or the next."""
    log = filled(tmp_path / "log", 4, 5)
    log.append(99, "http://b.example/", UrlId(3), SiteNumber(1), 2, 0)
    assert [log.entry(page) for page in range(20)] == [expected(page) for page in range(20)]
    assert log.entry(20) == Entry("http://b.example/", UrlId(3), SiteNumber(1), 2, 0)
    log.close()
    again = FrontierLog(tmp_path / "log")
    records = list(again.replay())
    assert [record.commit.sites for record in records] == [["s0"], ["s1"], ["s2"], ["s3"]]
    assert [int(number) for record in records for number in record.keys] == list(range(1, 21))
    assert [again.entry(page) for page in range(20)] == [expected(page) for page in range(20)]
    again.close()


@pytest.mark.parametrize("commits", [0, 1, 3])
def test_log__finds_pages_by_their_text(tmp_path: Path, commits: int) -> None:
    """In every record; in a log without pages, such as that of a worker that got none, there is nothing to be found."""
    filled(tmp_path / "log", commits, 5).close()
    with closing(FrontierLog(tmp_path / "log")) as log:
        list(log.replay())
        assert [log.pages_of(expected(page).url) for page in range(5 * commits)] == [[p] for p in range(5 * commits)]
        assert log.pages_of("http://a.example/unknown") == []


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
    log.append(1000, "http://new.example/", NO_ID, SiteNumber(0), 0, 0)
    log.commit(Commit())
    log.close()
    again = FrontierLog(path)
    assert len(list(again.replay())) == whole + 1
    assert again.entry(4 * whole).url == "http://new.example/"
    again.close()


@given(place=st.floats(0, 1, exclude_max=True), bits=st.integers(1, 255))
def test_log__a_damaged_record_is_never_read(place: float, bits: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A flipped bit is found by the checksum. In the last two records it ends the log; before them it is an error, and
    nothing is cut.
    """
    path = tmp_path_factory.mktemp("log") / "log"
    ends = [0]
    for records in range(1, 6):
        filled(path, records, 4).close()
        ends.append(path.stat().st_size)
        if records < 5:
            path.unlink()
    data = bytearray(path.read_bytes())
    at = int(place * len(data))
    data[at] ^= bits
    path.write_bytes(data)
    read = 0
    try:
        log = FrontierLog(path)
    except WeftError:  # its head says so
        assert at < ends[1]
        assert path.read_bytes() == data
        return
    try:
        for number, record in enumerate(log.replay()):
            assert record.commit.sites == [f"s{number}"]
            read += 1
    except WeftError:
        assert at < ends[5 - SETTLED]
        assert path.read_bytes() == data
    else:
        assert at >= ends[5 - SETTLED]
        assert path.stat().st_size == ends[read]
    assert [log.entry(page) for page in range(log.pages)] == [expected(page) for page in range(log.pages)]
    log.close()


def test_log__that_ends_too_early_is_an_error(tmp_path: Path) -> None:
    """The global frontier knows of commits that are not there: up to two may be lost, and more is damage."""
    appended(tmp_path / "log", 8)
    before = (tmp_path / "log").read_bytes()
    with closing(FrontierLog(tmp_path / "log")) as log:
        assert len(list(log.replay(applied=7 + SETTLED))) == 8
    with closing(FrontierLog(tmp_path / "log")) as log, pytest.raises(WeftError, match="commits are missing"):
        list(log.replay(applied=8 + SETTLED))
    assert (tmp_path / "log").read_bytes() == before


def test_log__of_which_outputs_are_gone_is_not_cut(tmp_path: Path) -> None:
    """Where the outputs of more than the last two records are not there, dropping these would not help."""
    appended(tmp_path / "log", 8)
    before = (tmp_path / "log").read_bytes()
    with closing(FrontierLog(tmp_path / "log")) as log, pytest.raises(WeftError, match="committed long ago"):
        list(log.replay(lambda commit: commit.number < 5))
    assert (tmp_path / "log").read_bytes() == before


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
    log.append(1, "http://a.example/", NO_ID, SiteNumber(0), 0, 0)
    with pytest.raises(WeftError) as caught:
        log.commit(Commit())
    assert "No space left" in caught.value.what
    assert "make room" in (caught.value.todo or "")
    log.close()


# --- records whose outputs are not there ---


def appended(path: Path, records: int) -> None:
    """A log of records with one page each."""
    log = FrontierLog(path)
    for number in range(records):
        log.append(number + 1, f"http://a.example/{number}", NO_ID, SiteNumber(0), 0, 1)
        log.commit(Commit(number=number, sites=[f"s{number}"]))
    log.close()


@pytest.mark.parametrize("damaged", range(SETTLED + 1))
def test_replay__drops_records_at_the_end_whose_outputs_are_not_there(tmp_path: Path, damaged: int) -> None:
    """They are listed, oldest first, their pages are gone, and the log goes on in their place."""
    appended(tmp_path / "log", 8)
    log = FrontierLog(tmp_path / "log")
    records = list(log.replay(lambda commit: commit.number < 8 - damaged))
    assert [record.commit.number for record in records] == list(range(8 - damaged))
    assert [commit.number for commit in log.dropped] == list(range(8 - damaged, 8))
    assert [commit.sites for commit in log.dropped] == [[f"s{number}"] for number in range(8 - damaged, 8)]
    assert log.pages == 8 - damaged
    log.append(99, "http://b.example/", NO_ID, SiteNumber(0), 0, 1)
    log.commit(Commit(number=99))
    log.close()
    again = FrontierLog(tmp_path / "log")
    numbers = [record.commit.number for record in again.replay()]
    assert numbers == [*range(8 - damaged), 99]
    assert again.entry(8 - damaged).url == "http://b.example/"
    assert again.dropped == []
    again.close()


@pytest.mark.parametrize("records", [0, 1, 2, 3, 4, 9])
def test_replay__looks_at_the_last_few_records_only(tmp_path: Path, records: int) -> None:
    """What is older is settled; where all of these go, it is seen to that dropping them was enough."""
    appended(tmp_path / "log", records)
    asked: list[int] = []

    def gone(commit: Commit) -> bool:
        asked.append(commit.number)
        return commit.number < records - SETTLED

    log = FrontierLog(tmp_path / "log")
    kept = [record.commit.number for record in log.replay(gone)]
    oldest = max(0, records - SETTLED)
    assert asked == [oldest, oldest - 1][: min(records, 1) + (oldest > 0)], "the others go with it"
    assert kept == list(range(oldest))
    log.close()


@pytest.mark.parametrize("records", [0, 1, 2, 3, 4, 9])
def test_replay__asks_for_each_of_the_last_records_once(tmp_path: Path, records: int) -> None:
    """The oldest first, as long as all is there."""
    appended(tmp_path / "log", records)
    asked: list[int] = []

    def there(commit: Commit) -> bool:
        asked.append(commit.number)
        return True

    log = FrontierLog(tmp_path / "log")
    assert len(list(log.replay(there))) == records
    assert asked == list(range(max(0, records - SETTLED), records))
    assert log.dropped == []
    log.close()


def test_replay__a_good_record_behind_a_bad_one_goes_too(tmp_path: Path) -> None:
    """It stands on what the bad one says."""
    appended(tmp_path / "log", 6)
    log = FrontierLog(tmp_path / "log")
    assert [record.commit.number for record in log.replay(lambda commit: commit.number != 4)] == [0, 1, 2, 3]
    assert [commit.number for commit in log.dropped] == [4, 5]
    assert log.pages == 4
    log.close()
    again = FrontierLog(tmp_path / "log")
    assert len(list(again.replay())) == 4
    again.close()


def test_replay__of_a_reader_drops_nothing_from_the_file(tmp_path: Path) -> None:
    """It may look as it likes."""
    appended(tmp_path / "log", 5)
    before = (tmp_path / "log").read_bytes()
    log = FrontierLog(tmp_path / "log", read_only=True)
    assert len(list(log.replay(lambda commit: commit.number < 5 - SETTLED))) == 5 - SETTLED
    log.close()
    assert (tmp_path / "log").read_bytes() == before


@pytest.mark.parametrize("lost", [1, 50, 511])
def test_replay__a_torn_last_block_is_cut_off(tmp_path: Path, lost: int) -> None:
    """The length of the file is right, and its last block was never written: zeros stand there."""
    filled(tmp_path / "log", 3, 40).close()
    data = (tmp_path / "log").read_bytes()
    (tmp_path / "log").write_bytes(data[:-lost] + bytes(lost))
    log = FrontierLog(tmp_path / "log")
    assert [record.commit.sites for record in log.replay()] == [["s0"], ["s1"]]
    assert log.dropped == [], "it was never whole"
    log.append(1000, "http://new.example/", NO_ID, SiteNumber(0), 0, 0)
    log.commit(Commit())
    log.close()
    again = FrontierLog(tmp_path / "log")
    assert len(list(again.replay())) == 3
    assert again.entry(80).url == "http://new.example/"
    again.close()


@given(garbage=st.binary(min_size=1, max_size=200))
def test_replay__garbage_behind_the_end_is_cut_off(garbage: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever it is, also when it begins like a record and says that it is very long."""
    path = tmp_path_factory.mktemp("log") / "log"
    filled(path, 2, 3).close()
    whole = path.read_bytes()
    for behind in (garbage, b"weft" + garbage, b"weft\0\0\0\0" + b"\xff" * 8 + garbage, whole[:40] + garbage):
        path.write_bytes(whole + behind)
        log = FrontierLog(path)
        assert len(list(log.replay())) == 2
        log.close()
        assert path.read_bytes() == whole


def test_replay__a_dropped_record_and_garbage_behind_it_go_together(tmp_path: Path) -> None:
    """What follows the last good record is cut off, of either kind."""
    appended(tmp_path / "log", 4)
    whole = (tmp_path / "log").read_bytes()
    (tmp_path / "log").write_bytes(whole + b"weft half")
    log = FrontierLog(tmp_path / "log")
    assert len(list(log.replay(lambda commit: commit.number < 3))) == 3
    log.close()
    assert whole.startswith((tmp_path / "log").read_bytes())
    assert 0 < (tmp_path / "log").stat().st_size < len(whole)


# --- a record that is being written ---


def test_pack__its_pages_can_be_read_before_they_are_written(tmp_path: Path) -> None:
    """At every moment of a commit every page can be read: written, packed, and new since."""
    log = filled(tmp_path / "log", 2, 3)
    for page in range(6, 9):
        log.append(page + 1, expected(page).url, UrlId(page + 9), SiteNumber(page % 7), page % 16, 1)

    def check(pages: int) -> None:
        assert log.pages == pages
        assert [log.entry(page) for page in range(pages)] == [expected(page) for page in range(pages)]

    check(9)
    log.pack(Commit(sites=["s2"]))
    check(9)
    log.append(10, expected(9).url, UrlId(18), SiteNumber(9 % 7), 9, 1)
    check(10)
    size = (tmp_path / "log").stat().st_size
    log.write(sync=True)
    assert (tmp_path / "log").stat().st_size > size
    check(10)
    log.written()
    check(10)
    log.commit(Commit(sites=["s3"]))
    check(10)
    log.close()
    again = FrontierLog(tmp_path / "log")
    assert [record.commit.sites for record in again.replay()] == [["s0"], ["s1"], ["s2"], ["s3"]]
    assert [again.entry(page) for page in range(10)] == [expected(page) for page in range(10)]
    again.close()


def test_pack__that_was_never_written_is_not_there(tmp_path: Path) -> None:
    """The process ended between the two steps: the commit did not happen."""
    log = filled(tmp_path / "log", 1, 3)
    log.append(4, "http://a.example/lost", NO_ID, SiteNumber(0), 0, 1)
    log.pack(Commit(sites=["lost"]))
    log.close()
    again = FrontierLog(tmp_path / "log")
    assert [record.commit.sites for record in again.replay()] == [["s0"]]
    assert again.pages == 3
    again.close()


def test_pack__one_record_at_a_time(tmp_path: Path) -> None:
    """A second one before the first is written is an internal error."""
    log = FrontierLog(tmp_path / "log")
    log.pack(Commit())
    with pytest.raises(AssertionError, match="one record at a time"):
        log.pack(Commit())
    log.close()


def test_record__keeps_everything_of_a_commit(tmp_path: Path) -> None:
    """Every field comes back, the largest id included, and depths beyond the deepest count as that."""
    commit = Commit(
        sites=["é.example"],
        settled=b"1234",
        refused={"robots": b"5678"},
        delayed=[(1, 2, 3.5)],
        states=[(7, b"state")],
        robots=[(7, "https", b"robots")],
        scores=b"12345678",
        scope=["http://a.example/"],
        marks={"pages/part-0-00001.arrow": Mark(10, 5, 2**32 - 1)},
        counts=b"counts",
        batch=b"batch",
        number=9,
        taken=2**40,
        groups=["a.example"],
        left=[3],
        clean=True,
    )
    log = FrontierLog(tmp_path / "log")
    log.append(2**64 - 1, "http://a.example/", UrlId(2**64 - 1), SiteNumber(2**31 - 1), DEEPEST + 1, 255)
    log.commit(commit, sync=True)
    log.close()
    again = FrontierLog(tmp_path / "log")
    (record,) = again.replay()
    assert record.commit == commit
    assert record.keys.tolist() == [2**64 - 1]
    assert again.entry(0) == Entry("http://a.example/", UrlId(2**64 - 1), SiteNumber(2**31 - 1), DEEPEST, 255)
    again.close()
