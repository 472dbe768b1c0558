"""Rows that become Parquet, by way of a journal that can be cut."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from weft.store.columns import LINKS, PAGES, URLS, Journal, LinkJournal, read_batches, seal_part


def query(question: str, parts: Path) -> list[tuple[Any, ...]]:
    """What DuckDB answers about Parquet files."""
    with duckdb.connect() as database:
        return database.execute(question, [f"{parts}/*.parquet"]).fetchall()


def stream(path: Path) -> list[dict[str, Any]]:
    """The rows of an open journal."""
    with ipc.open_stream(pa.OSFile(str(path), "rb")) as reader:
        return [row for batch in read_batches(reader) for row in batch.to_pylist()]


def test_journal__becomes_parquet_when_sealed(tmp_path: Path) -> None:
    """The rows come out as they went in, also for DuckDB, with their documentation."""
    journal = Journal(tmp_path / "urls", URLS, batch=7)
    rows = [(2**64 - 1 - number, f"http://a/{number}/é") for number in range(50)]
    for row in rows:
        journal.append(row)
    assert [path.name for path in (tmp_path / "urls").iterdir()] == ["part-00001.arrow.open"]
    journal.seal()
    assert [path.name for path in (tmp_path / "urls").iterdir()] == ["part-00001.parquet"]
    table = pq.read_table(tmp_path / "urls" / "part-00001.parquet")
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows
    assert table.schema.field("id").metadata[b"doc"] == b"64-bit fingerprint of the URL"
    assert query("select id, url from read_parquet(?) order by id desc", tmp_path / "urls") == rows


def test_journal__without_rows_leaves_nothing(tmp_path: Path) -> None:
    """No empty files."""
    journal = Journal(tmp_path / "urls", URLS)
    journal.flush()
    journal.seal()
    assert journal.length == 0
    assert not (tmp_path / "urls").exists()


def test_journal__holds_what_was_flushed_at_every_length(tmp_path: Path) -> None:
    """Cut at any length it ever had, it opens and has the rows of that moment; cut elsewhere, those of the last one."""
    journal = Journal(tmp_path / "urls", URLS, batch=1000)
    lengths = {}
    for number in range(20):
        for row in range(number):
            journal.append((row, f"http://a/{number}/{row}"))
        journal.flush()
        lengths[journal.length] = number * (number + 1) // 2
    path = tmp_path / "urls" / "part-00001.arrow.open"
    data = path.read_bytes()
    for length, rows in lengths.items():
        if length:
            (tmp_path / "cut").write_bytes(data[:length])
            assert len(stream(tmp_path / "cut")) == rows
            (tmp_path / "cut").write_bytes(data[: length + 9])
            assert len(stream(tmp_path / "cut")) == rows
    assert journal.name == "urls/part-00001.arrow.open"


def test_journal__is_sealed_in_parts(tmp_path: Path) -> None:
    """A part that is full becomes Parquet, the next one is numbered behind it, and no row is lost or doubled."""
    journal = Journal(tmp_path / "urls", URLS, batch=10, part_bytes=4000)
    for number in range(500):
        journal.append((number, f"http://a/{number}"))
    sealed = sorted(path.name for path in (tmp_path / "urls").glob("*.parquet"))
    assert len(sealed) > 2
    assert sealed == [f"part-{number:05d}.parquet" for number in range(1, len(sealed) + 1)]
    journal.seal()
    counted = query("select count(*), count(distinct id) from read_parquet(?)", tmp_path / "urls")
    assert counted == [(500, 500)]


def test_journal__of_a_later_run_begins_behind_the_earlier_ones(tmp_path: Path) -> None:
    """Sealed or left open, no part is overwritten."""
    for run in range(3):
        journal = Journal(tmp_path / "urls", URLS)
        journal.append((run, "http://a/"))
        if run == 1:
            journal.flush()
        else:
            journal.seal()
    assert sorted(path.name for path in (tmp_path / "urls").iterdir()) == [
        "part-00001.parquet",
        "part-00002.arrow.open",
        "part-00003.parquet",
    ]


def test_links__come_as_arrays_and_go_as_rows(tmp_path: Path) -> None:
    """A page's links stand under its id, in their order; a page without links adds none."""
    journal = Journal(tmp_path / "links", LINKS)
    links = LinkJournal(journal, batch=100)
    chance = random.Random(1)
    expected = []
    for _ in range(300):
        source = chance.getrandbits(64)
        targets = [chance.getrandbits(64) for _ in range(chance.randrange(6))]
        kinds = [chance.randrange(40) for _ in targets]
        links.append(source, targets, kinds)
        expected += [(source, target, kind) for target, kind in zip(targets, kinds, strict=True)]
    links.flush()
    links.flush()
    journal.seal()
    table = pq.read_table(tmp_path / "links" / "part-00001.parquet")
    assert list(zip(*table.to_pydict().values(), strict=True)) == expected
    found = query("select kind, count(*) from read_parquet(?) group by kind", tmp_path / "links")
    assert sum(count for _, count in found) == len(expected)


def test_pages__may_hold_nothing_or_anything(tmp_path: Path) -> None:
    """Every column takes a null where the schema allows it, the largest numbers and any text."""
    journal = Journal(tmp_path / "pages", PAGES)
    empty = tuple(None if field.nullable else 0 if field.type == pa.uint64() else "" for field in PAGES)
    most: dict[Any, Any] = {
        pa.uint64(): 2**64 - 1,
        pa.string(): "\x00é☃\U0001f600\n",
        pa.int16(): 999,
        pa.int32(): 2**31 - 1,
        pa.int64(): 2**63 - 1,
        pa.bool_(): True,
        pa.float32(): 1e30,
    }
    full = tuple(most.get(field.type, 4_102_444_800_000_000) for field in PAGES)
    journal.append(empty)
    journal.append(full)
    journal.seal()
    first, second = pq.read_table(tmp_path / "pages" / "part-00001.parquet").to_pylist()
    assert [value for value in first.values() if value is not None] == [0, "", ""]
    assert second["title"] == most[pa.string()]
    assert second["fetched_at"].year == 2100
    assert all(field.metadata[b"doc"] for field in PAGES)


def test_seal_part__replaces_the_journal_in_one_step(tmp_path: Path) -> None:
    """The result stands under its final name when it is whole, and a half-written one never does."""
    journal = Journal(tmp_path / "urls", URLS)
    journal.append((1, "http://a/"))
    journal.flush()
    (tmp_path / "urls" / "part-00001.parquet.new").write_bytes(b"half of an earlier try")
    sealed = seal_part(tmp_path / "urls" / "part-00001.arrow.open")
    assert [path.name for path in (tmp_path / "urls").iterdir()] == ["part-00001.parquet"]
    assert pq.read_table(sealed).num_rows == 1


def test_rows__of_the_wrong_shape_are_refused(tmp_path: Path) -> None:
    """A row that lacks a value is a fault of ours, found when it is written and not by a reader."""
    journal = Journal(tmp_path / "urls", URLS)
    journal.append((1,))
    with pytest.raises(ValueError, match="zip"):
        journal.flush()
