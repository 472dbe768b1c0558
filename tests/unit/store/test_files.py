"""Files that only grow: how far they are valid, and whether that is still true."""

from __future__ import annotations

import errno
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.disk import sync_folder, write_all
from weft.errors import WeftError
from weft.store.files import Growing, Mark, intact, intact_at, last_number, owner_of, sealed_as

BLOCKS = [b"first block", b"", b"second", b"\x00" * 100, b"x" * 3_000_000, b"end"]


def grown(folder: Path, blocks: list[bytes] = BLOCKS) -> tuple[Path, list[Mark]]:
    """A file that was marked behind every block; its path while it is open."""
    growing = Growing(folder / "part-0-00001.arrow")
    marks = []
    for block in blocks:
        growing.write(block)
        marks.append(growing.mark())
    growing.close()
    return growing.path, marks


def promised(folder: Path, mark: Mark, name: str = "part-0-00001.arrow") -> bool:
    """Is all there that a mark promises?"""
    return intact(folder.parent, {f"{folder.name}/{name}": mark})


# --- marks ---


def test_growing__is_open_by_name_and_known_by_its_final_one(tmp_path: Path) -> None:
    """A commit names it as it will be called."""
    growing = Growing(tmp_path / "new" / "pages" / "part-0-00001.arrow")
    assert growing.name == "pages/part-0-00001.arrow"
    assert growing.path == tmp_path / "new" / "pages" / "part-0-00001.arrow.open"
    assert growing.path.exists()
    assert growing.mark() == Mark(0, 0, 0)
    growing.close()


@given(written=st.lists(st.lists(st.binary(max_size=50), max_size=4), max_size=6))
def test_mark__covers_what_came_since_the_one_before(
    written: list[list[bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its length and its checksum are those of the file, in however many steps it was written; it has those of the mark
    before, too.
    """
    growing = Growing(tmp_path_factory.mktemp("growing") / "x.warc.gz")
    before = 0
    for blocks in written:
        for block in blocks:
            growing.write(block)
        data = growing.path.read_bytes()
        assert growing.mark() == Mark(len(data), before, zlib.crc32(data), zlib.crc32(data[:before]))
        assert data[before:] == b"".join(blocks)
        before = len(data)
    growing.close()


def test_growing__is_on_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    """Nothing is kept back for a flush; syncing, once or twice, changes nothing that can be seen."""
    growing = Growing(tmp_path / "x")
    for number in range(3):
        growing.write(b"12345")
        growing.sync()
        growing.sync()
        assert growing.path.stat().st_size == growing.length == 5 * (number + 1)
    growing.close()


def test_growing__begins_anew_where_a_file_was_left(tmp_path: Path) -> None:
    """What another process left under the name does not stand before what this one writes."""
    (tmp_path / "x.open").write_bytes(b"left")
    growing = Growing(tmp_path / "x")
    growing.write(b"new")
    assert growing.path.read_bytes() == b"new"
    growing.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
def test_growing__on_a_full_disk_is_one_clear_message(tmp_path: Path) -> None:
    """When it is to be there for good, and as often as that is asked; what was given is kept."""
    (tmp_path / "x.open").symlink_to("/dev/full")
    growing = Growing(tmp_path / "x")
    growing.write(b"12345")
    for _ in range(2):
        with pytest.raises(WeftError, match="cannot write: No space left on device"):
            growing.sync()
    assert growing.waits
    assert growing.mark() == Mark(5, 0, zlib.crc32(b"12345"))
    growing.close()


# Real files that answer as a full and as a failing disk do, and need no root.
FULL, FAILING = "/dev/full", "/proc/self/mem"


def break_disk(growing: Growing, how: str) -> None:
    """Have a file's disk be full, or fail, from now on."""
    file = os.open(how, os.O_WRONLY)
    os.dup2(file, growing._file)
    os.close(file)


@pytest.mark.parametrize(("how", "said"), [(FULL, errno.ENOSPC), (FAILING, errno.EIO)])
def test_move__has_every_byte_in_its_place(tmp_path: Path, how: str, said: int) -> None:
    """What was synced before, what was written since, and what the disk did not take; the marks stay true."""
    growing = Growing(tmp_path / "one" / "x.warc.gz", "volumes/x.warc.gz")
    growing.write(b"synced ")
    growing.sync()
    growing.write(b"written ")
    break_disk(growing, how)
    growing.write(b"refused")
    mark = growing.mark()
    assert growing.fault is not None
    assert growing.fault.errno == said
    with pytest.raises(WeftError, match="cannot write"):
        growing.sync()
    old = growing.move(tmp_path / "two")
    growing.write(b" and more")
    growing.sync()
    assert not growing.waits
    assert old == tmp_path / "one" / "x.warc.gz.open"
    assert old.read_bytes() == b"synced written "
    assert growing.path.read_bytes() == b"synced written refused and more"
    assert intact_at(tmp_path / "two" / "x.warc.gz", mark)
    assert growing.name == "volumes/x.warc.gz"
    growing.close()


def test_move__to_a_disk_that_is_full_too_changes_nothing(tmp_path: Path) -> None:
    """The file stays where it was, and goes on there when there is room."""
    growing = Growing(tmp_path / "one" / "x", "volumes/x")
    growing.write(b"synced ")
    growing.sync()
    break_disk(growing, FULL)
    growing.write(b"refused")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "x.open").symlink_to(FULL)
    with pytest.raises(WeftError, match="No space left"):
        growing.move(tmp_path / "two")
    file = os.open(growing.path, os.O_WRONLY | os.O_APPEND)
    os.write(file, b"ref")  # half of it was taken
    os.dup2(file, growing._file)
    os.close(file)
    growing.sync()
    assert growing.path.read_bytes() == b"synced refused"
    assert growing.path.parent == tmp_path / "one"
    growing.close()


def test_move__of_what_was_damaged_is_refused(tmp_path: Path) -> None:
    """What was committed must be there as it was: nothing else is moved."""
    growing = Growing(tmp_path / "one" / "x", "volumes/x")
    growing.write(b"synced ")
    growing.sync()
    growing.path.write_bytes(b"SYNCED ")
    with pytest.raises(WeftError, match="not there as it was"):
        growing.move(tmp_path / "two")
    assert not (tmp_path / "two" / "x.open").exists()
    growing.close()


# --- what is promised ---


def test_intact__every_mark_of_a_whole_file_holds(tmp_path: Path) -> None:
    """Also the older ones, and when bytes lie behind the last."""
    path, marks = grown(tmp_path)
    with path.open("ab") as file:
        file.write(b"never promised")
    assert all(promised(tmp_path, mark) for mark in marks)
    assert intact(tmp_path, {})


def test_intact__a_missing_file_is_found(tmp_path: Path) -> None:
    """One of many is enough; so is a folder that is gone."""
    path, marks = grown(tmp_path)
    both = {f"{tmp_path.name}/part-0-00001.arrow": marks[-1], f"{tmp_path.name}/part-0-00002.arrow": marks[-1]}
    assert not intact(tmp_path.parent, both)
    path.unlink()
    assert not promised(tmp_path, marks[-1])
    assert not promised(tmp_path / "gone", marks[-1])


@pytest.mark.parametrize("lost", [1, 2, 3, 4, 3_000_000])
def test_intact__a_short_file_is_found(tmp_path: Path, lost: int) -> None:
    """Whatever it lacks; the marks before the loss still hold."""
    path, marks = grown(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-lost])
    for mark in marks:
        assert promised(tmp_path, mark) == (mark.length <= len(data) - lost)


@given(place=st.floats(0, 1, exclude_max=True), bits=st.integers(1, 255))
def test_intact__a_flipped_byte_is_found_by_the_mark_that_covers_it(
    place: float, bits: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And by no other: each looks at what came since the one before."""
    folder = tmp_path_factory.mktemp("marks")
    path, marks = grown(folder, [b"first block", b"second", b"", b"third" * 20])
    data = bytearray(path.read_bytes())
    at = int(place * len(data))
    data[at] ^= bits
    path.write_bytes(data)
    for mark in marks:
        assert promised(folder, mark) == (not mark.since <= at < mark.length)


def test_intact__zeros_at_the_end_are_found(tmp_path: Path) -> None:
    """A file system may keep the length of a file and lose its last blocks."""
    path, marks = grown(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-3] + bytes(3))
    assert not promised(tmp_path, marks[-1])
    path.write_bytes(data[: marks[3].length] + bytes(len(data) - marks[3].length))
    assert [promised(tmp_path, mark) for mark in marks] == [True, True, True, True, False, False]


def test_intact__zeros_that_were_written_are_no_loss(tmp_path: Path) -> None:
    """They are as good as other bytes, and as many are asked for."""
    path, marks = grown(tmp_path, [b"head", bytes(5000)])
    assert promised(tmp_path, marks[1])
    path.write_bytes(path.read_bytes()[:-1])
    assert not promised(tmp_path, marks[1])


@pytest.mark.parametrize(
    ("name", "sealed"),
    [
        ("part-0-00001.arrow", "part-0-00001.parquet"),
        ("weft-x-0-00001.warc.gz", "weft-x-0-00001.warc.gz"),
        ("weft-x-0-00001.cdxj", "weft-x-0-00001.cdxj"),
    ],
)
def test_intact__a_sealed_file_was_whole(tmp_path: Path, name: str, sealed: str) -> None:
    """Its length and its bytes are others by then; also when what is left of the open one was not yet removed."""
    assert sealed_as(tmp_path / name) == tmp_path / sealed
    (tmp_path / sealed).write_bytes(b"whole")
    assert promised(tmp_path, Mark(1000, 10, 7), name)
    (tmp_path / f"{name}.open").write_bytes(b"cut")
    assert promised(tmp_path, Mark(1000, 10, 7), name)


# --- small tools ---


def test_last_number__looks_at_the_files_of_one_worker(tmp_path: Path) -> None:
    """Sealed or open, of any kind; one whose number begins or ends like another's is another."""
    names = ("part-0-00003.parquet", "part-0-00007.arrow.open", "part-10-00012.parquet", "part-0-x.parquet")
    for name in (*names, "weft-20260101000000-2-00009.warc.gz.open", "weft-20260101000000-2-00010.cdxj"):
        (tmp_path / name).touch()
    assert {worker: last_number(tmp_path, worker) for worker in (0, 1, 2, 10)} == {0: 7, 1: 0, 2: 10, 10: 12}


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("part-3-00012.arrow.open", 3),
        ("part-3-00012.parquet", 3),
        ("part-3-00012.parquet.new", 3),
        ("weft-20260101000000-10-00001.warc.gz", 10),
        ("weft-20260101000000-10-00001.cdxj.open", 10),
        ("nl-1-test-20260101000000-0-00001.warc.gz.open", 0),
        ("nl-1-20260101000000-0-00001.cdxj", 0),
        ("1-2-3-4.warc.gz", 3),
        ("a.b-1-2.warc.gz-5-00001.warc.gz", 5),
        ("part-0-x.parquet", None),
        ("part-00001.parquet", None),
        ("part-0-00001.csv", None),
        ("part-0-00001", None),
        ("notes.txt", None),
    ],
)
def test_owner__is_by_the_end_of_a_name(name: str, owner: int | None) -> None:
    """Whatever it begins with; files of other forms are nobody's."""
    assert owner_of(Path("somewhere-7-00007.parquet") / name) == owner


def test_write_all__goes_on_until_everything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system may take less than it is given."""
    taken: list[bytes] = []

    def little(_file: int, data: bytes) -> int:
        taken.append(data[:3])
        return len(data[:3])

    monkeypatch.setattr("os.write", little)
    write_all(99, b"1234567890")
    assert b"".join(taken) == b"1234567890"


def test_sync_folder__of_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    """It is never silently skipped."""
    sync_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_folder(tmp_path / "missing")
