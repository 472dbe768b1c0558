"""Directories for volumes: which are in use, what becomes of files whose disk fails, and whose they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from weft.clock import VirtualClock
from weft.errors import UsageError, WeftError
from weft.store.files import Growing, intact
from weft.store.places import OWNER, located, name_of, places_of, take_folders, volume_folders, writing_folders
from weft.store.sealing import seal_leftovers
from weft.store.shelves import Shelves

FULL = "/dev/full"


class Bench:
    """Two directories, and a file in the first."""

    def __init__(self, root: Path) -> None:
        self.clock = VirtualClock(1000.0)
        self.said: list[str] = []
        self.folders = [root / "one", root / "two"]
        for folder in self.folders:
            folder.mkdir()
        self.shelves = Shelves(self.folders, self.clock, volume_bytes=1000, say=self.said.append)
        self.growing = Growing(self.folders[0] / "weft-1-0-00001.warc.gz", "volumes/weft-1-0-00001.warc.gz")

    def fill(self) -> None:
        """Have no room for the file where it is."""
        file = os.open(FULL, os.O_WRONLY)
        os.dup2(file, self.growing._file)
        os.close(file)

    def sync(self, commit: int) -> None:
        """As a commit does."""
        self.shelves.sync([self.growing], commit, durable=True)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two directories."""
    return Bench(tmp_path)


def test_full__the_file_moves_and_the_next_begins_there(bench: Bench) -> None:
    """It is said once; the old copy stays until the commit is settled."""
    bench.growing.write(b"first ")
    bench.sync(1)
    bench.fill()
    bench.growing.write(b"second")
    bench.sync(2)
    assert bench.growing.path.parent == bench.folders[1] == bench.shelves.first()
    assert bench.growing.path.read_bytes() == b"first second"
    assert bench.said == [
        f"{bench.folders[0]} is out of use: No space left on device; volumes go to {bench.folders[1]}"
    ]
    old = bench.folders[0] / "weft-1-0-00001.warc.gz.open"
    bench.shelves.remove_old(1)
    assert old.exists()
    bench.shelves.remove_old(2)
    assert not old.exists()


def test_full__all_of_them_is_an_error_that_can_be_tried_again(bench: Bench) -> None:
    """Nothing is said twice, and nothing is lost: with room the file goes on."""
    bench.growing.write(b"first ")
    bench.sync(1)
    bench.fill()
    bench.growing.write(b"second")
    (bench.folders[1] / "weft-1-0-00001.warc.gz.open").symlink_to(FULL)
    for _ in range(3):
        with pytest.raises(WeftError, match="No space left on device"):
            bench.sync(2)
        bench.growing.write(b".")
    assert len(bench.said) == 2
    assert "no directory for volumes is left" in bench.said[1]
    file = os.open(bench.growing.path, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, bench.growing._file)
    bench.sync(2)
    assert bench.growing.path.read_bytes() == b"first second..."
    assert bench.said[2:] == [f"{bench.folders[0]} is in use again"]


def test_full__a_directory_comes_back_when_it_has_room(bench: Bench) -> None:
    """It is looked at every half minute; it is the first choice again."""
    bench.fill()
    bench.growing.write(b"first")
    bench.sync(1)
    assert bench.shelves.first() == bench.folders[1]
    bench.growing.write(b"more")
    bench.sync(2)
    assert bench.shelves.first() == bench.folders[1], "it was looked at just now"
    bench.clock.advance(31.0)
    bench.growing.write(b"more")
    bench.sync(3)
    assert bench.shelves.first() == bench.folders[0]
    assert not [path for path in bench.folders[0].iterdir() if path.name.startswith(".weft")]


def test_other_errors__are_no_fault_of_a_disk(bench: Bench) -> None:
    """They are raised as they are, and no directory goes out of use."""
    bench.growing.write(b"x")
    os.close(bench.growing._file)
    with pytest.raises(WeftError, match="Bad file descriptor"):
        bench.sync(1)
    assert bench.shelves.out_of_use == {}
    bench.growing._file = -1


# --- places ---


def test_places__a_volume_is_found_in_any_directory(tmp_path: Path) -> None:
    """Under the name that commits and lists have for it."""
    out, other = tmp_path / "crawl", tmp_path / "disk2"
    out.mkdir()
    take_folders(out, [str(other)])
    assert volume_folders(out) == [out / "volumes", other]
    (other / "x.warc.gz").write_bytes(b"x")
    assert located(out, "volumes/x.warc.gz") == other / "x.warc.gz"
    assert name_of(out, other / "x.warc.gz") == "volumes/x.warc.gz"
    assert places_of(out, "pages/part-0-00001.parquet") == [out / "pages" / "part-0-00001.parquet"]
    take_folders(out, [])
    take_folders(out, [str(tmp_path / "disk3")])
    assert volume_folders(out) == [out / "volumes", other, tmp_path / "disk3"], "earlier ones stay known"


def test_places__the_crawls_own_directory_may_be_one_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it is written: it is the one that is used without being asked for."""
    monkeypatch.chdir(tmp_path)
    out = Path("crawl")
    out.mkdir()
    given = [str(tmp_path / "crawl" / "volumes"), str(tmp_path / "disk2")]
    take_folders(out, given)
    assert writing_folders(out, given) == [out / "volumes", tmp_path / "disk2"]
    assert volume_folders(out) == [out / "volumes", tmp_path / "disk2"]
    assert name_of(out, writing_folders(out, given)[0] / "x.warc.gz") == "volumes/x.warc.gz"


def test_places__what_is_not_ours_is_refused(tmp_path: Path) -> None:
    """Another crawl's directory, one with files in it, a file, one inside the crawl; nothing is made then."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    take_folders(tmp_path / "one", [str(tmp_path / "disk")])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    for place, why in (
        (tmp_path / "disk", "another crawl"),
        (tmp_path / "mine", "something else in it"),
        (tmp_path / "mine" / "thesis.txt", "this is none"),
        (tmp_path / "two" / "inside", "inside the crawl's own directory"),
    ):
        with pytest.raises(UsageError, match=why):
            take_folders(tmp_path / "two", [str(tmp_path / "new"), str(place)])
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "disk" / OWNER).exists()


def test_leftovers__of_two_copies_the_whole_one_is_sealed(tmp_path: Path) -> None:
    """A crash between the move and the removal of the old copy: one is left, with what was committed."""
    out, other = tmp_path / "crawl", tmp_path / "disk2"
    (out / "volumes").mkdir(parents=True)
    take_folders(out, [str(other)])
    growing = Growing(out / "volumes" / "weft-1-0-00001.warc.gz")
    growing.write(b"first ")
    growing.sync()
    growing.write(b"second")
    mark = growing.mark()
    old = growing.move(other)
    old.write_bytes(b"first sec")
    growing.write(b" never committed")
    growing.close()
    marks = {growing.name: mark}
    assert intact(out, marks)
    seal_leftovers(out, marks)
    assert not old.exists()
    assert (other / "weft-1-0-00001.warc.gz").read_bytes() == b"first second"
    assert "volumes/weft-1-0-00001.warc.gz" in (out / "sealed.log").read_text(encoding="ascii")
    assert intact(out, marks), "it was sealed since"
