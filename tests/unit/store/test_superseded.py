"""Rows that others took over from: they stay in their files, and whoever reads passes over them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.unit.store.test_store import Bench

from weft.model import Kind
from weft.store.asking import ask
from weft.store.joining import JoinedColumns
from weft.store.reading import CrawlFiles
from weft.store.superseded import SUPERSEDED, Line, supersede, superseded


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A directory in which two workers fetched a page each before their first commit, and one behind it; the second of
    worker 10000 was fetched again by worker 20000, after it had come back.
    """
    out = tmp_path / "node"
    for worker, pages in ((10_000, (1, 2)), (20_000, (3, 2))):
        bench = Bench(out, worker)
        for number in pages:
            bench.put(number, b"%d %d" % (worker, number))
            bench.store.note_links(number, [worker], [Kind.A])
            bench.store.note_url(number, f"http://a/{number}")
            bench.mark()
        bench.seal()
    return out


def pages(out: Path) -> list[tuple[int, int, int]]:
    """Worker, commit and page of every row that counts."""
    batches = CrawlFiles(out).batches("pages", ("worker", "id"))
    columns = [batch.to_pydict() for batch in batches]
    assert all(set(each) == {"worker", "id"} for each in columns), "what was asked for, and nothing else"
    with_commit = (batch.to_pydict() for batch in CrawlFiles(out).batches("pages"))
    return sorted(row for each in with_commit for row in zip(each["worker"], each["commit"], each["id"], strict=True))


def answered(out: Path, sql: str) -> list[list[object]]:
    """The rows of an answer."""
    return list(ask(CrawlFiles(out), sql, out / "spilt").rows)


def test_rows__say_with_which_commit_they_were_written(out: Path) -> None:
    """Each by the worker that fetched it."""
    assert pages(out) == [(10_000, 1, 1), (10_000, 2, 2), (20_000, 1, 3), (20_000, 2, 2)]


def test_superseded_rows__count_for_no_reader(out: Path) -> None:
    """Nor do the links of their pages; those of the same page, fetched by others, do. The files stay as they are."""
    before = {path: path.read_bytes() for path in out.rglob("*.parquet")}
    supersede(out, [Line(10_000, 1)])
    assert superseded(out) == {10_000: 1}
    assert pages(out) == [(10_000, 1, 1), (20_000, 1, 3), (20_000, 2, 2)]
    assert answered(out, "select worker, id from pages order by all") == [[10_000, 1], [20_000, 2], [20_000, 3]]
    assert answered(out, "select source, target from links order by all") == [[1, 10_000], [2, 20_000], [3, 20_000]]
    links = (batch.to_pydict() for batch in CrawlFiles(out).batches("links", ("target",)))
    assert sorted(target for each in links for target in each["target"]) == [10_000, 20_000, 20_000]
    with JoinedColumns(out, out) as columns:
        assert sorted(url for url, *_ in columns.fetched()) == ["http://a/1", "http://a/2", "http://a/3"]
    assert {path: path.read_bytes() for path in out.rglob("*.parquet")} == before
    assert sum(pq.read_metadata(path).num_rows for path in (out / "pages").glob("*")) == 4


def test_list__is_written_once_and_survives_a_crash(out: Path) -> None:
    """A line that was cut off is none, and what is known of a worker stays as it was said first."""
    supersede(out, [Line(10_000, 1)])
    with (out / SUPERSEDED).open("ab") as file:
        file.write(b'{"worker": 20000, "af')
    assert superseded(out) == {10_000: 1}
    supersede(out, [Line(10_000, 0), Line(20_000, 0)])
    assert superseded(out) == {10_000: 1, 20_000: 0}
    assert pages(out) == [(10_000, 1, 1)]
