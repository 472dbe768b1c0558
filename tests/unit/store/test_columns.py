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

from weft.model import Kind
from weft.store.columns import LINKS, PAGES, URLS, Journal, LinkJournal, PageJournal, UrlJournal, read_batches
from weft.store.rows import PageRow, batch_of
from weft.store.sealing import seal
from weft.urls import signed


def query(question: str, parts: Path) -> list[tuple[Any, ...]]:
    """What DuckDB answers about Parquet files."""
    with duckdb.connect() as database:
        return database.execute(question, [f"{parts}/*.parquet"]).fetchall()


def stream(path: Path) -> list[dict[str, Any]]:
    """The rows of an open journal."""
    with ipc.open_stream(pa.OSFile(str(path), "rb")) as reader:
        return [row for batch in read_batches(reader) for row in batch.to_pylist()]


class UrlRows(Journal):
    """A journal of URLs that is given rows."""

    def __init__(self, folder: Path, schema: pa.Schema, *, worker: int = 0, batch: int = 1000) -> None:
        super().__init__(folder, schema, worker=worker)
        self._urls = UrlJournal(self, batch=batch)

    def append(self, row: tuple[int, str]) -> None:
        """Take a row."""
        self._urls.append(*row)

    def flush(self) -> None:
        """Write what waits."""
        self._urls.flush()


def seal_part(journal: Journal, most: int = 1) -> None:
    """Write what waits, and seal the part if it has grown to so many bytes."""
    if isinstance(journal, UrlRows):
        journal.flush()
    for growing in journal.roll(most):
        growing.close()
        seal(growing.path)


def length_of(journal: Journal) -> int:
    """How long the open part is."""
    return sum(growing.length for growing in journal.growing)


def test_journal__becomes_parquet_when_sealed(tmp_path: Path) -> None:
    """The rows come out as they went in, also for DuckDB, with their documentation."""
    journal = UrlRows(tmp_path / "urls", URLS, batch=7)
    rows = [(2**62 - number, f"http://a/{number}/é") for number in range(50)]
    for row in rows:
        journal.append(row)
    assert [path.name for path in (tmp_path / "urls").iterdir()] == ["part-0-00001.arrow.open"]
    seal_part(journal)
    assert [path.name for path in (tmp_path / "urls").iterdir()] == ["part-0-00001.parquet"]
    table = pq.read_table(tmp_path / "urls" / "part-0-00001.parquet")
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows
    assert table.schema.field("id").metadata[b"doc"] == b"64-bit fingerprint of the URL, as a signed number"
    assert query("select id, url from read_parquet(?) order by id desc", tmp_path / "urls") == rows


def test_journal__without_rows_leaves_nothing(tmp_path: Path) -> None:
    """No empty files."""
    journal = UrlRows(tmp_path / "urls", URLS)
    journal.flush()
    seal_part(journal)
    assert journal.growing == ()
    assert not (tmp_path / "urls").exists()


def test_journal__holds_what_was_flushed_at_every_length(tmp_path: Path) -> None:
    """Cut at any length it ever had, it opens and has the rows of that moment; cut elsewhere, those of the last one."""
    journal = UrlRows(tmp_path / "urls", URLS, batch=1000)
    lengths = {}
    for number in range(20):
        for row in range(number):
            journal.append((row, f"http://a/{number}/{row}"))
        journal.flush()
        lengths[length_of(journal)] = number * (number + 1) // 2
    path = tmp_path / "urls" / "part-0-00001.arrow.open"
    data = path.read_bytes()
    for length, rows in lengths.items():
        if length:
            (tmp_path / "cut").write_bytes(data[:length])
            assert len(stream(tmp_path / "cut")) == rows
            (tmp_path / "cut").write_bytes(data[: length + 9])
            assert len(stream(tmp_path / "cut")) == rows
    assert [growing.name for growing in journal.growing] == ["urls/part-0-00001.arrow"]


def test_journal__is_sealed_in_parts(tmp_path: Path) -> None:
    """A part that is full becomes Parquet, the next one is numbered behind it, and no row is lost or doubled."""
    journal = UrlRows(tmp_path / "urls", URLS, batch=10)
    for number in range(500):
        journal.append((number, f"http://a/{number}"))
        if number % 10 == 9:
            seal_part(journal, 4000)
    sealed = sorted(path.name for path in (tmp_path / "urls").glob("*.parquet"))
    assert len(sealed) > 2
    assert sealed == [f"part-0-{number:05d}.parquet" for number in range(1, len(sealed) + 1)]
    seal_part(journal)
    counted = query("select count(*), count(distinct id) from read_parquet(?)", tmp_path / "urls")
    assert counted == [(500, 500)]


def test_journal__of_a_later_run_begins_behind_the_earlier_ones(tmp_path: Path) -> None:
    """Sealed or left open, no part is overwritten."""
    for run in range(3):
        journal = UrlRows(tmp_path / "urls", URLS)
        journal.append((run, "http://a/"))
        if run == 1:
            journal.flush()
        else:
            seal_part(journal)
    assert sorted(path.name for path in (tmp_path / "urls").iterdir()) == [
        "part-0-00001.parquet",
        "part-0-00002.arrow.open",
        "part-0-00003.parquet",
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
        kinds = [chance.choice(list(Kind)) for _ in targets]
        nofollow = chance.random() < 0.2
        labels = [("é text", "next"), ("", "")] if len(targets) == 2 else []
        links.append(source, targets, [int(kind) for kind in kinds], nofollow=nofollow, labels=labels)
        expected += [
            (signed(source), signed(target), kind.name.lower(), nofollow, text or None, rel or None)
            for target, kind, (text, rel) in zip(targets, kinds, labels or [("", "")] * len(targets), strict=True)
        ]
    links.flush()
    links.flush()
    seal_part(journal)
    table = pq.read_table(tmp_path / "links" / "part-0-00001.parquet")
    assert list(zip(*table.to_pydict().values(), strict=True)) == expected
    found = query("select kind, count(*) from read_parquet(?) group by kind", tmp_path / "links")
    assert sum(count for _, count in found) == len(expected)


NOTHING: dict[str, Any] = {field.name: None if field.nullable else 0 for field in PAGES} | {"url": "", "site": ""}


def row_of(values: dict[str, Any]) -> PageRow:
    """A row with these values."""
    row = PageRow()
    for name, value in values.items():
        setattr(row, name, value)
    return row


def test_pages__may_hold_nothing_or_anything(tmp_path: Path) -> None:
    """Every column takes a null where the schema allows it, the largest numbers and any text."""
    journal = Journal(tmp_path / "pages", PAGES)
    pages = PageJournal(journal)
    most: dict[Any, Any] = {
        pa.string(): "\x00é☃\U0001f600\n",
        pa.int16(): 999,
        pa.int32(): 2**31 - 1,
        pa.int64(): 2**63 - 1,
        pa.bool_(): True,
        pa.float32(): 1e30,
        pa.timestamp("us", tz="UTC"): 4_102_444_800.123456,
    }
    pages.append(row_of(NOTHING))
    pages.append(row_of({field.name: most[field.type] for field in PAGES}))
    pages.flush()
    pages.flush()
    seal_part(journal)
    first, second = pq.read_table(tmp_path / "pages" / "part-0-00001.parquet").to_pylist()
    assert {name: value for name, value in first.items() if value is not None} == {
        name: value for name, value in NOTHING.items() if value is not None
    }
    assert second["title"] == most[pa.string()]
    assert second["id"] == 2**63 - 1
    assert second["fetched_at"].isoformat() == "2100-01-01T00:00:00.123456+00:00"
    assert all(field.metadata[b"doc"] for field in PAGES)


def test_pages__have_their_times_to_the_microsecond_as_volumes_have_them() -> None:
    """A revisit record names its original by URL and time: both are rounded alike, with and without nulls."""
    chance = random.Random(5)
    walls = [1_700_000_000 + chance.random() for _ in range(500)]
    closed = [wall if chance.random() < 0.5 else None for wall in walls]
    rows = [row_of(NOTHING | {"fetched_at": wall, "closed_at": end}) for wall, end in zip(walls, closed, strict=True)]
    table = batch_of(rows)
    expected = [round(wall * 1e6) for wall in walls]
    assert table["fetched_at"].cast(pa.int64()).to_pylist() == expected
    assert table["closed_at"].cast(pa.int64()).to_pylist() == [
        None if end is None else moment for end, moment in zip(closed, expected, strict=True)
    ]


def test_seal__replaces_the_journal_in_one_step(tmp_path: Path) -> None:
    """The result stands under its final name when it is whole, and a half-written one never does."""
    journal = UrlRows(tmp_path / "urls", URLS)
    journal.append((1, "http://a/"))
    journal.flush()
    (tmp_path / "urls" / "part-0-00001.parquet.new").write_bytes(b"half of an earlier try")
    seal(tmp_path / "urls" / "part-0-00001.arrow.open")
    assert [path.name for path in (tmp_path / "urls").iterdir()] == ["part-0-00001.parquet"]
    assert pq.read_table(tmp_path / "urls" / "part-0-00001.parquet").num_rows == 1


def test_journal__is_rolled_when_it_has_grown_enough(tmp_path: Path) -> None:
    """One byte less is not enough; the next row begins a new part, and the full one is as it was."""
    journal = UrlRows(tmp_path / "urls", URLS)
    assert journal.roll(0) == ()
    journal.append((1, "http://a/"))
    journal.flush()
    length = length_of(journal)
    assert journal.roll(length + 1) == ()
    (full,) = journal.roll(length)
    assert length_of(journal) == 0
    journal.append((2, "http://b/"))
    journal.flush()
    assert [growing.name for growing in journal.growing] == ["urls/part-0-00002.arrow"]
    assert stream(full.path) == [{"id": 1, "url": "http://a/"}]


def test_journal__of_each_worker_has_names_of_its_own(tmp_path: Path) -> None:
    """Two workers write beside each other, each with numbers of its own, also one whose number begins like another."""
    for worker in (1, 11, 1):
        journal = UrlRows(tmp_path / "urls", URLS, worker=worker)
        journal.append((worker, "http://a/"))
        seal_part(journal)
    assert sorted(path.name for path in (tmp_path / "urls").iterdir()) == [
        "part-1-00001.parquet",
        "part-1-00002.parquet",
        "part-11-00001.parquet",
    ]


def test_urls__come_one_by_one_and_go_in_batches(tmp_path: Path) -> None:
    """In their order, also those behind the last full batch; a second flush writes nothing. A batch is full when it
    has so many letters: long URLs make short ones.
    """
    journal = Journal(tmp_path / "urls", URLS)
    urls = UrlJournal(journal, batch=7 * len("http://a/1/é"))
    expected = [{"id": -1 - number, "url": f"http://a/{number}/é"} for number in range(20)]
    for number in range(20):
        urls.append(2**64 - 1 - number, f"http://a/{number}/é")
    assert len(stream(tmp_path / "urls" / "part-0-00001.arrow.open")) == 14
    urls.append(20, f"http://a/20/{'e' * 100}")
    expected.append({"id": 20, "url": f"http://a/20/{'e' * 100}"})
    assert len(stream(tmp_path / "urls" / "part-0-00001.arrow.open")) == 21
    urls.append(21, "http://a/21/")
    expected.append({"id": 21, "url": "http://a/21/"})
    urls.flush()
    length = length_of(journal)
    urls.flush()
    assert length_of(journal) == length
    assert stream(tmp_path / "urls" / "part-0-00001.arrow.open") == expected


def test_rows__of_the_wrong_shape_are_refused(tmp_path: Path) -> None:
    """A row that lacks a value is an internal error, found when it is written and not by a reader."""
    pages = PageJournal(Journal(tmp_path / "pages", PAGES))
    pages.append(row_of({name: value for name, value in NOTHING.items() if name != "etag"}))
    with pytest.raises(AttributeError, match="etag"):
        pages.flush()
    with pytest.raises(AttributeError, match="etga"):
        row_of({"etga": "x"})
