"""What is known of stored contents, by one worker and by several; and what is left of it when files are cut, damaged or
gone.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.store.contents import Contents
from weft.store.volumes import Original

SECRET = b"secret"


def digest(number: int) -> bytes:
    """A digest."""
    return hashlib.sha1(str(number).encode(), usedforsecurity=False).digest()


def entry(number: int) -> Original:
    """Where a content was stored."""
    return Original(2**64 - 1 - number, f"http://a/{number}/é", 1_700_000_000 + number / 8)


def fill(contents: Contents, numbers: range, commit: int = 1, *, settled: bool = True) -> None:
    """Store contents, in one commit."""
    for number in numbers:
        assert contents.first(digest(number), *msgspec.structs.astuple(entry(number))[:3]) is None
    contents.mark(commit)
    if settled:
        contents.settle(commit)


def known(contents: Contents, numbers: range) -> list[int]:
    """Which of these are known, each as it was stored."""
    found = [number for number in numbers if contents.find(digest(number)) is not None]
    assert all(contents.find(digest(number)) == entry(number) for number in found)
    return found


def test_content__is_known_at_once_to_who_stored_it_and_to_others_when_it_is_settled(tmp_path: Path) -> None:
    """Others must not refer to what may still be taken back."""
    one, two = Contents(tmp_path, 0, SECRET), Contents(tmp_path, 1, SECRET)
    fill(one, range(10), settled=False)
    assert all(one.first(digest(number), 0, "", 0.0) == entry(number) for number in range(10))
    one.settle(0)
    two.settle(0)
    assert known(two, range(10)) == []
    one.settle(1)
    two.settle(0)
    assert known(two, range(10)) == list(range(10))
    assert two.first(digest(3), 0, "", 0.0) == entry(3)
    assert one.first(digest(3), 0, "", 0.0) == entry(3)
    assert (len(one), len(two)) == (10, 10)


def test_content__that_two_stored_at_the_same_time_is_counted(tmp_path: Path) -> None:
    """By the second of them to settle it; each goes on with its own."""
    one, two = Contents(tmp_path, 0, SECRET), Contents(tmp_path, 1, SECRET)
    fill(one, range(20), settled=False)
    fill(two, range(15, 30), settled=False)
    one.settle(1)
    two.settle(1)
    assert (one.copies, two.copies) == (0, 5)
    fill(one, range(30, 40), 2)
    assert (one.copies, two.copies) == (0, 5)


Step = tuple[str, int, int]


WHAT = st.sampled_from(["store", "store", "commit", "settle", "kill"])


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(WHAT, st.integers(0, 2), st.integers(0, 40)), max_size=80))
def test_contents__of_three_workers_refer_only_to_what_is_settled(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    """Whatever they store and whoever is killed when: what a worker hears of another stays stored."""
    folder = tmp_path_factory.mktemp("contents")
    workers = [Contents(folder, number, SECRET) for number in range(3)]
    commits = [0, 0, 0]
    taken_back_if_killed: list[dict[bytes, int]] = [{}, {}, {}]  # by content: the commit that has it, or the next one
    owner: dict[str, tuple[int, bytes]] = {}
    for what, who, number in steps:
        mine = workers[who]
        if what == "store":
            content, url = digest(number), f"http://{who}/{len(owner)}"
            found = mine.first(content, 7, url, 1.0)
            if found is None:
                owner[url] = (who, content)
                taken_back_if_killed[who][content] = commits[who] + 1
            else:
                of, same = owner[found.url]
                assert same == content
                assert of == who or content not in taken_back_if_killed[of], "it may still be taken back"
        elif what == "commit":
            commits[who] += 1
            mine.mark(commits[who])
        elif what == "settle":
            done = max(0, commits[who] - number % 3)
            for content in [each for each, commit in taken_back_if_killed[who].items() if commit <= done]:
                del taken_back_if_killed[who][content]
            mine.settle(done)
        else:
            commits[who] = 0
            taken_back_if_killed[who] = {}
            workers[who] = Contents(folder, who, SECRET)


def test_contents__are_there_after_a_restart_and_after_a_kill(tmp_path: Path) -> None:
    """Those that were settled; also where the index has grown many times."""
    many = Contents(tmp_path, 0, SECRET)
    for commit in range(1, 11):
        fill(many, range(2000 * (commit - 1), 2000 * commit), commit)
    fill(many, range(20_000, 20_010), 11, settled=False)
    many.sealed(7)
    for end in (many.close, lambda: None):
        end()
        again = Contents(tmp_path, 0, SECRET)
        assert (len(again), again.part) == (20_000, 7)
        assert known(again, range(0, 20_010, 13)) == [number for number in range(0, 20_010, 13) if number < 20_000]
        assert again.unremembered == 0


def test_table__that_grows_is_seen_by_others_when_they_look(tmp_path: Path) -> None:
    """A larger index takes the place of the old one; who has that still finds what was in it."""
    one, two = Contents(tmp_path, 0, SECRET), Contents(tmp_path, 1, SECRET)
    fill(one, range(1000), 1)
    two.settle(0)
    fill(one, range(1000, 9000), 2)
    assert known(two, range(1000)) == list(range(1000))
    two.settle(0)
    assert known(two, range(9000)) == list(range(9000))


def cut(log: Path, _index: Path) -> None:
    """In the middle of the last entry, as a kill in the middle of a write does."""
    os.truncate(log, log.stat().st_size - 5)


def garbled(log: Path, index: Path) -> None:
    """A power failure: zeros in the middle of the log, an index of another boot."""
    with log.open("r+b") as file:
        file.seek(log.stat().st_size // 2)
        file.write(bytes(4096))
    other_boot(log, index)


def other_boot(_log: Path, index: Path) -> None:
    """The machine was started anew, and part of the index never came to the disk."""
    with index.open("r+b") as file:
        file.seek(48)
        file.write(b"\1\2\3\4\5\6\7\0")
        file.seek(128)
        file.write(bytes(30_000))


def no_index(_log: Path, index: Path) -> None:
    """It is gone."""
    index.unlink()


def short_index(_log: Path, index: Path) -> None:
    """It was cut."""
    os.truncate(index, 100)


def no_log(log: Path, _index: Path) -> None:
    """It is gone."""
    log.unlink()


def test_content__that_was_left_unsettled_is_counted_though_another_has_it_by_now(tmp_path: Path) -> None:
    """The worker that stored it was killed; the other one settled its own meanwhile."""
    one, two = Contents(tmp_path, 0, SECRET), Contents(tmp_path, 1, SECRET)
    fill(one, range(5))
    fill(two, range(10, 12))
    two.take_up((digest(number), entry(number)) for number in (0, 1, 10, 20))
    two.mark(2)
    two.settle(2)
    assert (one.copies, two.copies) == (0, 2)
    assert len(two) == 5 + 5


@pytest.mark.parametrize(
    ("damage", "least"),
    [(cut, 2999), (garbled, 1000), (other_boot, 3000), (no_index, 3000), (short_index, 3000), (no_log, 0)],
)
def test_table__that_is_damaged_forgets_and_is_never_wrong(
    damage: Callable[[Path, Path], None], least: int, tmp_path: Path
) -> None:
    """What is lost is learned from the columns again; others find what is there, as it was, or nothing."""
    one = Contents(tmp_path, 0, SECRET)
    fill(one, range(3000))
    one.sealed(4)
    damage(tmp_path / "0.log", tmp_path / "0.index")
    known(Contents(tmp_path, 1, SECRET), range(3000))  # asserts that what is found is right
    again = Contents(tmp_path, 0, SECRET)
    assert least <= len(known(again, range(3000))) <= 3000
    assert again.part == 0
    again.learn([(digest(number), entry(number)) for number in range(3000)], 4)
    assert known(again, range(3000)) == list(range(3000))
    assert again.part == 4
    other = Contents(tmp_path, 1, SECRET)
    assert known(other, range(3000)) == list(range(3000))


def test_entry__whose_bytes_changed_is_none(tmp_path: Path) -> None:
    """A revisit record to another URL, or with another date, would be a lie."""
    one = Contents(tmp_path, 0, SECRET)
    fill(one, range(50))
    chance, log = random.Random(1), tmp_path / "0.log"
    whole = log.read_bytes()
    for _ in range(200):
        at = chance.randrange(8, len(whole))
        with log.open("r+b") as file:
            file.seek(at)
            file.write(bytes([whole[at] ^ 1 << chance.randrange(8)]))
        assert len(known(one, range(50))) == 49
        log.write_bytes(whole)
    assert len(known(one, range(50))) == 50


def test_table__of_another_secret_is_made_anew(tmp_path: Path) -> None:
    """As after a repair: it is addressed by the crawl's secret."""
    fill(Contents(tmp_path, 0, SECRET), range(100))
    assert known(Contents(tmp_path, 1, b"other"), range(100)) == []
    assert known(Contents(tmp_path, 0, b"other"), range(100)) == list(range(100))


def test_contents__beyond_the_bound_are_counted_and_not_remembered(tmp_path: Path) -> None:
    """They are stored whenever they come; so are those with a URL beyond any measure."""
    few = Contents(tmp_path, 0, SECRET, most=300)
    fill(few, range(250))
    assert (len(few), few.unremembered) == (200, 50)
    assert known(few, range(250)) == list(range(200))
    other = Contents(tmp_path, 1, SECRET)
    other.first(digest(1000), 1, "http://a/" + "x" * 70_000, 1.0)
    other.mark(1)
    other.settle(1)
    assert (other.unremembered, other.find(digest(1000))) == (1, None)
    assert other.first(digest(1000), 2, "http://b/", 2.0) is None


def test_disk__that_is_full_is_told_before_the_index_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is mapped cannot be refused when it is written: room is taken first, and the old index stays."""

    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    one = Contents(tmp_path, 0, SECRET)
    fill(one, range(100))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(Exception, match="No space left"):
        fill(one, range(100, 9000), 2)
    monkeypatch.undo()
    assert known(Contents(tmp_path, 1, SECRET), range(100)) == list(range(100))
    again = Contents(tmp_path, 0, SECRET)
    assert known(again, range(100)) == list(range(100))
