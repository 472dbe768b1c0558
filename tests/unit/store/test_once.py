"""Each URL once: repeats are dropped from sealed parts, whoever wrote them."""

from __future__ import annotations

import fcntl
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.store import once
from weft.store.columns import URLS
from weft.store.once import drop_repeats


def write(folder: Path, name: str, ids: list[int]) -> Path:
    """A part with these URLs."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    table = pa.table({"id": ids, "url": [f"http://a/{number}" for number in ids]}, schema=URLS)
    pq.write_table(table, path, row_group_size=3)
    return path


def ids_of(path: Path) -> list[int]:
    """The ids in a part, whose texts must be theirs."""
    table = pq.read_table(path).to_pydict()
    assert table["url"] == [f"http://a/{number}" for number in table["id"]]
    ids: list[int] = table["id"]
    return ids


def test_repeats__stay_where_they_stood_first(tmp_path: Path) -> None:
    """By the number of the part, then by worker; within a part the first row. What has none is not touched."""
    folder = tmp_path / "urls"
    first = write(folder, "part-0-00001.parquet", [1, 2, 3, 1, -4, 5, 6, 7])
    other = write(folder, "part-1-00001.parquet", [8, 2, -4, 9])
    later = write(folder, "part-0-00002.parquet", [9, 9, 8])
    unlike = write(folder, "part-11-00003.parquet", [10, 11])
    untouched = unlike.stat().st_ino
    drop_repeats(folder)
    assert [ids_of(path) for path in (first, other, later, unlike)] == [[1, 2, 3, -4, 5, 6, 7], [8, 9], [], [10, 11]]
    assert unlike.stat().st_ino == untouched
    assert pq.read_schema(first).equals(URLS, check_metadata=True)
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in (first, other, later, unlike))


def test_repeats__are_told_by_the_text_as_well(tmp_path: Path) -> None:
    """Two URLs with one id, which somebody may have made so, both stay."""
    first = write(tmp_path / "urls", "part-0-00001.parquet", [1, 2])
    rows = {"id": [2, 2, 1], "url": ["http://b/", "http://b/", "http://a/1"]}
    later = tmp_path / "urls" / "part-0-00002.parquet"
    pq.write_table(pa.table(rows, schema=URLS), later)
    drop_repeats(tmp_path / "urls")
    assert ids_of(first) == [1, 2]
    assert pq.read_table(later).to_pydict() == {"id": [2], "url": ["http://b/"]}


def test_repeats__are_found_a_share_of_ids_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many shares as with one."""
    monkeypatch.setattr(once, "_LEAST", 100)
    chance = random.Random(1)
    known = [chance.getrandbits(64) - 2**63 for _ in range(1500)]
    parts = []
    for number in range(1, 9):
        ids = chance.choices(known, k=400)
        parts.append((write(tmp_path / "urls", f"part-{number % 2}-{number:05d}.parquet", ids), ids))
    beats: list[int] = []
    drop_repeats(tmp_path / "urls", lambda: beats.append(1))
    left = [number for path, _ in parts for number in ids_of(path)]
    assert left == list(dict.fromkeys(number for _, ids in parts for number in ids))
    assert len(beats) > 40, "it shows signs of life"


def test_repeats__what_a_crash_left_is_cleared_away(tmp_path: Path) -> None:
    """A part that was half written is hidden from readers, and goes."""
    folder = tmp_path / "urls"
    path = write(folder, "part-0-00001.parquet", [1, 1])
    (folder / ".part-0-00001.parquet.once").write_bytes(b"half of an earlier try")
    assert pq.read_table(folder).num_rows == 2
    drop_repeats(folder)
    assert [each.name for each in folder.iterdir()] == [path.name]
    assert ids_of(path) == [1]


def test_repeats__another_process_that_is_about_it_does_it_for_us(tmp_path: Path) -> None:
    """Nobody waits; and a part that appears meanwhile is looked at before the work is called done."""
    folder = tmp_path / "urls"
    first = write(folder, "part-0-00001.parquet", [1, 2])
    second = write(folder, "part-1-00001.parquet", [1, 3])
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    drop_repeats(folder)
    assert ids_of(second) == [1, 3]
    os.close(handle)
    late: list[Path] = []

    def meanwhile() -> None:
        if not late:
            late.append(write(folder, "part-2-00001.parquet", [3, 4]))

    drop_repeats(folder, meanwhile)
    assert [ids_of(path) for path in (first, second, *late)] == [[1, 2], [3], [4]]


def test_repeats__of_nothing(tmp_path: Path) -> None:
    """A crawl that found nothing has no folder, or an empty one."""
    drop_repeats(tmp_path / "urls")
    (tmp_path / "urls").mkdir()
    drop_repeats(tmp_path / "urls")
