"""Sealing that is interrupted: between any two steps, and what recovery makes of it."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.unit.store.test_store import Bench
from warcio.archiveiterator import ArchiveIterator

from weft.errors import WeftError
from weft.events import Fetched
from weft.model import NO_ID, Kind, Outcome, Page, PageNumber, Parsed, Turn, UrlId
from weft.store.files import SETTLED, Mark, intact, sealed_as
from weft.store.sealed import as_listed, final_files, listed
from weft.store.sealing import seal, seal_leftovers
from weft.store.store import Store
from weft.store.volumes import Storing

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
PARSED = Parsed("text/html", "utf-8", "en", "Title", "http://a/", [], [], follow=True, reason=None)
COMMITTED, MORE = 12, 5  # pages


def store_in(out: Path, worker: int = 0) -> Store:
    """A store."""
    return Store(out, Storing(), info={}, chance=random.Random(worker), worker=worker)


def put(store: Store, number: int) -> None:
    """A page with everything that belongs to it, as the loop writes it."""
    url = f"http://a/{number}"
    turn = Turn(PageNumber(number), UrlId(number), url, 1, Kind.A, NO_ID, 1)
    page = Page(url, 200, None, b"GET", HEAD, {}, b"%d" % number, "", "", "", 1e9, 1e9, 0.1, closed=False)
    stored = store.archive(turn, page, cut="")
    fetched = Fetched(Outcome(turn, page, PARSED, None), "a", 1, stored.digest, duplicate=False)
    store.note_page(fetched, stored)
    store.note_links(number, [number + 1], [1])
    store.note_url(number, url)


def check(out: Path, numbers: range) -> None:
    """Every file is whole and final, and holds these pages once."""
    names = sorted(path.name for path in out.glob("*/*") if path.is_file() and path.parent.name != "contents")
    assert {name.partition(".")[2] for name in names} == {"parquet", "warc.gz", "cdxj"}
    assert all(as_listed(path, listed(out)[name], read=True) for name, path in final_files(out))
    expected = Counter(numbers)
    assert Counter(pq.read_table(out / "pages")["id"].to_pylist()) == expected
    assert Counter(pq.read_table(out / "urls")["id"].to_pylist()) == expected
    assert Counter(pq.read_table(out / "links")["source"].to_pylist()) == expected
    urls = Counter(f"http://a/{number}" for number in numbers)
    indexed: Counter[str] = Counter()
    for index in (out / "volumes").glob("*.cdxj"):
        lines = index.read_text().splitlines()
        assert lines == sorted(lines)
        assert index.with_name(index.name.replace(".cdxj", ".warc.gz")).exists()
        indexed.update(json.loads(line.split(" ", 2)[2])["url"] for line in lines)
    assert indexed == urls
    archived: Counter[str] = Counter()
    for volume in (out / "volumes").glob("*.warc.gz"):
        with volume.open("rb") as file:
            records = [(each.rec_type, each.rec_headers["WARC-Target-URI"]) for each in ArchiveIterator(file)]
        archived.update(url for kind, url in records if kind == "response")
    assert archived == urls


class Killed(BaseException):
    """The process is gone: nothing behind this point is done."""


Step = tuple[Any, str]
STEPS: tuple[Step, ...] = ((Path, "rename"), (Path, "unlink"), (os, "fsync"), (os, "truncate"))


def seal_each(paths: list[Path]) -> None:
    """Seal one file after the other."""
    for path in paths:
        seal(path)


def interrupted(monkeypatch: pytest.MonkeyPatch, work: Callable[..., None], *given: Any, after: int) -> bool:
    """Do something, and have it killed behind so many steps that change the disk; was it?"""
    left = after

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return real(*arguments, **options)

        return step

    with monkeypatch.context() as patched:
        for owner, name in STEPS:
            patched.setattr(owner, name, counting(getattr(owner, name)))
        try:
            work(*given)
        except Killed:
            return True
    return False


@pytest.fixture
def crawl(tmp_path: Path) -> tuple[Path, Store, list[dict[str, Mark]]]:
    """A store whose files are full, with the marks of every commit up to the one that lets them be sealed."""
    out = tmp_path / "crawl"
    store = store_in(out)
    for number in range(COMMITTED):
        put(store, number)
    marks = [store.mark()]
    store.roll(all_of_them=True)
    marks += [store.mark() for _ in range(SETTLED)]
    return out, store, marks


def test_seal__killed_between_any_two_steps_is_repaired(
    crawl: tuple[Path, Store, list[dict[str, Mark]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever commit the crawl goes on from, of those that may be lost, every file is whole and no row is double."""
    out, _, marks = crawl
    full = sorted(out.rglob("*.open"), key=lambda path: (".warc" in path.name, path.name))
    assert len(full) == 5
    stops = 0
    for stops in range(100):
        again = tmp_path / f"again-{stops}"
        shutil.copytree(out, again)
        killed = interrupted(monkeypatch, seal_each, [again / path.relative_to(out) for path in full], after=stops)
        for mark in marks:
            tried = tmp_path / "tried"
            shutil.copytree(again, tried)
            assert intact(tried, mark)
            seal_leftovers(tried, mark)
            check(tried, range(COMMITTED))
            shutil.rmtree(tried)
        if not killed:
            break
    assert stops > 15, "every step of every file was tried"


def test_seal_leftovers__killed_between_any_two_steps_is_done_again(
    crawl: tuple[Path, Store, list[dict[str, Mark]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash in the middle of a repair, with rows behind the last commit: the second try ends as the first should."""
    out, store, _ = crawl
    for number in range(COMMITTED, COMMITTED + MORE):
        put(store, number)
    marks = store.mark()
    for number in range(1000, 1003):
        put(store, number)
    store.mark()
    for stops in range(100):
        again = tmp_path / f"again-{stops}"
        shutil.copytree(out, again)
        killed = interrupted(monkeypatch, seal_leftovers, again, marks, after=stops)
        assert intact(again, marks)
        seal_leftovers(again, marks)
        check(again, range(COMMITTED + MORE))
        if not killed:
            break
    else:
        pytest.fail("it never came to its end")


@pytest.mark.parametrize("lost", [0, 1, 2], ids=["no commit", "a commit", "two commits"])
@pytest.mark.parametrize("further", range(SETTLED + 1))
def test_take_up__seals_nothing_that_a_lost_commit_could_take_back(tmp_path: Path, further: int, lost: int) -> None:
    """A worker starts behind a commit, and makes further ones; then its disk loses some that it had said were synced.
    Whatever is left is what the last commit promises, no more and no less.
    """
    store = store_in(tmp_path)
    commits: list[tuple[dict[str, Mark], int]] = [({}, 0)]  # with how many pages each has
    for number in range(3):
        put(store, number)
        commits.append((store.mark(), number + 1))
    store.sync()
    again = store_in(tmp_path)
    again.take_up(commits[-1][0], 3)
    again.before = 3
    for number in range(3, 3 + further):
        put(again, number)
        commits.append((again.mark(), number + 1))
        again.sync()
        again.seal(number - 2)
    assert not list(tmp_path.rglob("*.parquet")) or further >= SETTLED
    assert bool(list(tmp_path.rglob("part-0-00001.arrow.open"))) is (further < SETTLED)
    marks, pages = commits[-1 - lost]
    assert intact(tmp_path, marks)
    seal_leftovers(tmp_path, marks)
    check(tmp_path, range(pages))


def test_take_up__knows_contents_that_are_not_sealed_yet(tmp_path: Path) -> None:
    """One that was stored before the restart is not stored again, although its part is still open."""
    store = store_in(tmp_path)
    put(store, 1)
    marks = store.mark()
    store.sync()
    again = store_in(tmp_path)
    again.take_up(marks, 1)
    page = Page("http://b/", 200, None, b"GET", HEAD, {}, b"1", "", "", "", 1e9, 1e9, 0.1, closed=False)
    stored = again.archive(Turn(PageNumber(2), UrlId(2), page.url, 1, Kind.A, NO_ID, 1), page, cut="")
    assert stored.duplicate_of == 1


def test_leftovers__a_journal_that_was_sealed_and_not_removed_goes(tmp_path: Path) -> None:
    """The Parquet file has its rows; the journal would give them a second time."""
    store = store_in(tmp_path)
    put(store, 1)
    marks = store.mark()
    for path in (*tmp_path.rglob("*.arrow.open"), *tmp_path.rglob("*.cdxj.open")):
        kept = path.read_bytes()
        seal(path)
        path.write_bytes(kept)
    seal_leftovers(tmp_path, marks)
    check(tmp_path, range(1, 2))


def test_leftovers__halves_of_a_sealing_go(tmp_path: Path) -> None:
    """Of every kind of file; the sealing is done again from the open file."""
    store = store_in(tmp_path)
    put(store, 1)
    marks = store.mark()
    for path in list(tmp_path.rglob("*.open")):
        name = path.name.removesuffix(".open").replace(".arrow", ".parquet")
        path.with_name(f"{name}.new").write_bytes(b"half")
    seal_leftovers(tmp_path, marks)
    check(tmp_path, range(1, 2))


def test_leftovers__an_index_that_was_sealed_before_its_volume(tmp_path: Path) -> None:
    """The volume is sealed alone, and the index stays as it is."""
    store = store_in(tmp_path)
    for number in range(5):
        put(store, number)
    marks = store.mark()
    (index,) = (tmp_path / "volumes").glob("*.cdxj.open")
    seal(index)
    seal_leftovers(tmp_path, marks)
    check(tmp_path, range(5))


def test_leftovers__of_other_workers_are_left_alone(tmp_path: Path) -> None:
    """Each repairs its own, also one whose number begins or ends like another's."""
    stores = {worker: store_in(tmp_path, worker) for worker in (0, 1, 10, 11)}
    marks = {}
    for worker, store in stores.items():
        put(store, worker)
        marks[worker] = store.mark()
        (tmp_path / "pages" / f"part-{worker}-00009.parquet.new").touch()
    seal_leftovers(tmp_path, marks[1], worker=1)
    for worker in (0, 10, 11):
        assert intact(tmp_path, marks[worker])
        assert (tmp_path / "pages" / f"part-{worker}-00009.parquet.new").exists()
        assert (tmp_path / "pages" / f"part-{worker}-00001.arrow.open").exists()
    assert not list(tmp_path.rglob("*-1-*.open"))
    for worker in (0, 10, 11):
        seal_leftovers(tmp_path, marks[worker], worker=worker)
    assert sorted(pq.read_table(tmp_path / "pages")["id"].to_pylist()) == [0, 1, 10, 11]
    assert not list(tmp_path.rglob("*.new"))


def test_leftovers__a_prefix_that_looks_like_a_worker_is_none(tmp_path: Path) -> None:
    """Volumes may be called by anything: their owner is what stands before their number."""
    bench = Bench(tmp_path / "crawl", 0, prefix="nl-1-test")
    bench.put(1, b"one")
    marks = bench.mark()
    seal_leftovers(bench.out, {}, worker=1)
    assert intact(bench.out, marks)
    seal_leftovers(bench.out, marks, worker=0)
    assert not list(bench.out.rglob("*.open"))
    assert len(list((bench.out / "volumes").glob("nl-1-test-*-0-00001.*"))) == 2


def test_leftovers__of_other_forms_are_left_alone(tmp_path: Path) -> None:
    """Whatever somebody put beside, it is not ours to remove."""
    store = store_in(tmp_path)
    put(store, 1)
    marks = store.mark()
    others = [tmp_path / "pages" / name for name in ("notes.open", "copy-of-0.new", "part-0-00001.csv.new")]
    for path in others:
        path.write_text("mine")
    seal_leftovers(tmp_path, marks)
    assert [path.read_text() for path in others] == ["mine"] * 3


@pytest.mark.parametrize("left", [0, 3, 200])
def test_leftovers__that_are_shorter_than_the_last_commit_says_are_one_clear_message(tmp_path: Path, left: int) -> None:
    """More was lost than the last commits: nothing is made up, and nothing that is left is touched."""
    store = store_in(tmp_path)
    put(store, 1)
    marks = store.mark()
    path = tmp_path / "urls" / "part-0-00001.arrow.open"
    kept, promised = path.read_bytes()[:left], marks["urls/part-0-00001.arrow"].length
    path.write_bytes(kept)
    assert not intact(tmp_path, marks)
    for _ in range(2):
        with pytest.raises(WeftError, match=f"has {left} bytes, and {promised} were committed") as caught:
            seal_leftovers(tmp_path, marks)
        assert caught.value.where == str(path)
        assert "put the file back from a copy" in (caught.value.todo or "")
        assert path.read_bytes() == kept


def test_leftovers__of_rows_in_many_batches_are_all_there(tmp_path: Path) -> None:
    """A journal of many short batches, more than one row group, becomes one file in the same order."""
    store = store_in(tmp_path)
    marks: dict[str, Mark] = {}
    for number in range(70_000):
        store.note_url(number, f"http://a/{number}")
        if number % 1000 == 999:
            marks = store.mark()
    seal_leftovers(tmp_path, marks)
    (path,) = (tmp_path / "urls").iterdir()
    assert pq.read_table(path)["id"].to_pylist() == list(range(70_000))
    assert 1 < pq.ParquetFile(path).num_row_groups < 10


def test_seal__that_fails_is_one_clear_message_and_can_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full in the middle: the open file is untouched, and no final name stands for half a file."""
    store = store_in(tmp_path)
    put(store, 1)
    store.mark()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for path in list(tmp_path.rglob("*.open")):
        before = path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", full)
            with pytest.raises(WeftError, match="No space left"):
                seal(path)
        assert path.read_bytes() == before
        final = sealed_as(path.with_name(path.name.removesuffix(".open")))
        assert not final.exists()
        seal(path)
        assert final.exists()
    assert not list(tmp_path.rglob("*.open"))
