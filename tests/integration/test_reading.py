"""A crawl read back from Python: what `weft.open` gives is what was stored, in every form, also beside a crawl."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.crawling import crawl, digests_of, make_web, rows
from tests.siege import Siege, command_for, wait_until

import weft
from weft.errors import UsageError, WeftError
from weft.frontier.durable.committed import committed_marks
from weft.frontier.durable.records import records_of
from weft.reading import open as open_crawl
from weft.store.files import OPEN
from weft.store.superseded import Line, supersede
from weft.store.warc import base32
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN, Options
from weft.testbed.web import Web

pytestmark = pytest.mark.xdist_group("reading")  # the crawl is made once
WEB = Options(
    duplicates=0.3, failing=0.05, failing_kinds="404=1", robots_errors=0.0, robots_rules=0.0, robots_delays=0.0
)


def copied(out: Path, copy: Path, *besides: str) -> Path:
    """A crawl with the files of another, but for those that are to be others."""
    copy.mkdir()
    for path in out.iterdir():
        if path.name not in besides:
            (copy / path.name).symlink_to(path)
    return copy


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Web, Path]]:
    """A small web with duplicates, codings and charsets, and the crawl of it, in several volumes."""
    out = tmp_path_factory.mktemp("reading") / "crawl"
    with serving(make_web(WEB, sites=10, pages=250)) as bed:
        crawl(bed, out, volume_bytes=300_000)
        yield bed.web, out


def test_open__says_what_it_gives() -> None:
    """The help has the ways to read, and a place that is no crawl is refused."""
    assert weft.open is open_crawl
    said = weft.open.__doc__ or ""
    for name in ("pages", "links", "contents", "texts", "sql"):
        assert f"crawl.{name}(" in said
    with pytest.raises(UsageError, match="no crawl"):
        weft.open("nowhere")


def test_documentation__shows_what_runs(crawled: tuple[Web, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Every example of docs/reading.md, one after the other, on a crawl."""
    web, out = crawled
    text = (Path(__file__).parents[2] / "docs" / "reading.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) >= 4
    names: dict[str, object] = {}
    for example in examples:
        told = example.replace("crawls/first", str(out)).replace("https://www.example.org/", web.url(0))
        exec(told, names)  # noqa: S102
    assert capsys.readouterr().out.count("http://") > web.graph.pages


def test_rows__are_those_of_the_files(crawled: tuple[Web, Path]) -> None:
    """As dictionaries, batches, a table and a relation: all rows, or those and the columns that are asked for."""
    _, out = crawled
    opened = weft.open(out)
    assert opened.tables == ["pages", "links", "urls"]
    whole = opened.pages().table()
    assert whole.num_rows == opened.pages().count() == rows(out, "count(*)")[0][0]
    assert Counter(whole["id"].to_pylist()) == Counter(row[0] for row in rows(out, "id"))
    chosen = opened.pages("url", "status", where="status = 200 and kind <> 'robots'")
    expected = Counter(rows(out, "url, status", "status = 200 and kind <> 'robots'"))
    assert Counter((row["url"], row["status"]) for row in chosen) == expected
    batches = list(chosen.batches(50))
    assert all(isinstance(batch, pa.RecordBatch) and batch.num_rows <= 50 for batch in batches)
    assert len(batches) > 1
    assert sum(batch.num_rows for batch in batches) == chosen.count()
    assert chosen.reader().schema.names == ["url", "status"]
    relation = opened.links("source", "target").relation()
    assert isinstance(relation, duckdb.DuckDBPyRelation)
    assert sorted(relation.fetchall()) == sorted(rows(out, "source, target", table="links"))
    urls = [row["id"] for row in opened.urls()]
    assert len(urls) == len(set(urls)) == rows(out, "count(distinct id)", table="urls")[0][0]


def test_questions__are_answered_and_mistakes_explained(crawled: tuple[Web, Path]) -> None:
    """SQL over the tables and nothing else; a table or column that is not there is named."""
    _, out = crawled
    opened = weft.open(out)
    (many,) = opened.sql("select count(*) from pages join urls using (id)").fetchall()[0]
    assert many == opened.pages(where="kind <> 'robots'").count()
    assert opened.sql("select current_setting('enable_progress_bar')").fetchall() == [(False,)]  # it goes to stdout
    with pytest.raises(UsageError, match="there is no table words"):
        opened.table("words")
    with pytest.raises(UsageError, match="nonsense"):
        list(opened.pages("nonsense"))
    with pytest.raises(UsageError, match="not one SELECT"):
        opened.sql("drop view pages")
    with pytest.raises(UsageError, match="nothing else"):
        opened.sql("select * from read_text('/etc/passwd')").fetchall()


def test_contents__are_what_was_served(crawled: tuple[Web, Path]) -> None:
    """Bytes, headers and charsets, of duplicates too, whose content is in another record."""
    web, out = crawled
    digests = digests_of(web)
    seen, copies = 0, 0
    for content in weft.open(out).contents("status = 200 and kind <> 'robots'"):
        assert base32(hashlib.sha1(content.raw, usedforsecurity=False).digest()) == content.row["digest"]
        assert content.warc["WARC-Target-URI"] == content.url
        assert content.head.startswith(b"HTTP/1.1 200")
        assert "content-type" in content.headers
        assert not content.missing
        copies += bool(content.row["duplicate_of"])
        if content.url in digests:
            seen += 1
            assert base32(hashlib.sha1(content.body, usedforsecurity=False).digest()) == digests[content.url]
            assert "<title>" in content.text
            assert "\ufffd" not in content.text
    assert seen == len(digests)
    assert copies > 5
    url = web.url(3)
    assert weft.open(out).content(url).body == next(
        each.body for each in weft.open(out).contents(f"url = '{url}' and final")
    )
    with pytest.raises(WeftError, match="not in the archive"):
        weft.open(out).content("http://nowhere.test/")


def test_texts__are_the_words_of_pages(crawled: tuple[Web, Path]) -> None:
    """Made of HTML where none were written: without mark-up, with the words; the same as Arrow."""
    web, out = crawled
    found = {row["url"]: row for row in weft.open(out).texts(main=False)}
    pages = [web.url(page) for page in range(web.graph.pages)]
    assert set(pages) <= set(found)
    for url in pages:
        assert "<" not in found[url]["text"]
        assert found[url]["title"].split()[0].lower() in found[url]["text"].lower()
    table = weft.open(out).texts(main=False).table()
    assert {row["url"]: row for row in table.to_pylist()} == found
    main = next(iter(weft.open(out).texts(f"url = '{pages[5]}'")))
    assert 0 < len(main["text"]) <= len(found[pages[5]]["text"])


@pytest.mark.parametrize("how", ["stage", "afterwards"])
def test_texts__that_were_written_are_taken(crawled: tuple[Web, Path], tmp_path: Path, how: str) -> None:
    """Of a column of pages, or of the table that is written afterwards; with what is known of their pages."""
    _, out = crawled
    ids = [page for (page,) in rows(out, "id", "final and status = 200 and kind = 'a' limit 7")]
    words = {page: f"words of {page}" for page in ids}
    if how == "afterwards":
        copy = copied(out, tmp_path / "copy")
        (copy / "stage-text").mkdir()
        table = pa.table({"id": pa.array(ids, pa.int64()), "text": list(words.values())})
        pq.write_table(table, copy / "stage-text" / "part-0-00001.parquet")
    else:
        copy = copied(out, tmp_path / "copy", "pages")
        (copy / "pages").mkdir()
        for path in (out / "pages").glob("*.parquet"):
            table = pq.read_table(path)
            column = pa.array([words.get(page) for page in table["id"].to_pylist()], pa.string())
            pq.write_table(table.append_column("text", column), copy / "pages" / path.name)
    texts = weft.open(copy).texts()
    assert texts.written
    assert not weft.open(out).texts().written
    assert {row["id"]: row["text"] for row in texts} == words
    assert all(row["url"].startswith("http") for row in texts)
    assert texts.table().num_rows == 7


def test_superseded_pages__are_not_seen(crawled: tuple[Web, Path], tmp_path: Path) -> None:
    """Neither as rows nor as contents."""
    _, out = crawled
    copy = copied(out, tmp_path / "copy")
    last = rows(out, "max(commit)")[0][0]
    supersede(copy, [Line(0, last - 1)])
    opened = weft.open(copy)
    kept = rows(out, "count(*), count(volume)", f"commit < {last}")[0]
    assert 0 < kept[0] < weft.open(out).pages().count()
    assert opened.pages().count() == kept[0]
    assert sum(1 for _ in opened.contents()) == kept[1]


def test_memory__is_not_that_of_the_whole_crawl(crawled: tuple[Web, Path]) -> None:
    """One batch at a time is asked for: who stops reading has read no more."""
    _, out = crawled
    with mock.patch("weft.store.reading.CrawlFiles.record", side_effect=weft.open(out).files.record) as read:
        contents = weft.open(out).contents("duplicate_of = 0")
        next(contents)
        next(contents)
        assert read.call_count == 2


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    """A copy of a crawl that runs, made at one moment: its files are open, and may go further than its last commit."""
    out, copy = tmp_path / "crawl", tmp_path / "copy"
    with serving(make_web(PLAIN, sites=8, pages=200)) as bed:
        command = command_for(bed, out, "--wait", "0", "--speed", "30 pages/s", "--workers", "1")
        siege = Siege(command, tmp_path / "output")
        try:
            wait_until(lambda: _pages(out) > 20, "nothing is committed")
            for worker in siege.workers():
                os.kill(worker, signal.SIGSTOP)
            shutil.copytree(out, copy)
            assert weft.open(out).pages().count() == weft.open(copy).pages().count()
        finally:
            siege.stop()
            siege.close()
    return copy


def _pages(out: Path) -> int:
    """How many rows are committed, as `weft.open` sees it."""
    return weft.open(out).pages().count() if (out / "frontier.db").exists() else 0


def test_open_parts__are_read_up_to_the_last_commit(growing: Path) -> None:
    """Beside a crawl: what is behind the last commit, whole rows or half of one, is not seen."""
    opened = weft.open(growing)
    before = opened.pages().table()
    assert before.num_rows > 20
    assert before["commit"].to_numpy().max() <= _last_commit(growing)
    contents = [content.url for content in opened.contents()]
    assert sorted(contents) == sorted(row["url"] for row in opened.pages("url", where="volume is not null"))
    (part,) = (growing / "pages").glob(f"*{OPEN}")
    marks = committed_marks(next(growing.glob("workers/*/frontier.log")))
    whole = part.read_bytes()[: marks[f"pages/{part.name.removesuffix(OPEN)}"].length]
    more = pa.ipc.open_stream(whole).read_next_batch().serialize().to_pybytes()
    part.write_bytes(whole + more + more[:100])
    assert opened.pages().table() == before
    part.with_name(f"{part.name[:7]}99999.arrow{OPEN}").write_bytes(whole)  # begun, and in no commit yet
    assert opened.pages().table() == before


def _last_commit(out: Path) -> int:
    return max(record.commit().number for record in records_of(next(out.glob("workers/*/frontier.log"))))
