"""The store of a worker: what it writes down, what an earlier run left, and how it is read back while it grows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from weft.errors import UsageError, WeftError
from weft.model import Kind, Page, Parsed, Reason, Turn
from weft.store.digests import Digests
from weft.store.reading import CrawlFiles
from weft.store.recover import known_contents, seal_leftovers
from weft.store.store import Store
from weft.store.volumes import Stored, Storing, payload_digest

HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\nETag: "x"\r\n\r\n'
HEADERS = {"content-type": "Text/HTML; charset=utf-8", "etag": '"x"'}
WALL = 1_700_000_000.123456
PARSED = Parsed("text/html", "utf-8", "en", "Title", "http://a/", [], [], follow=True, reason=None)


class Bench:
    """A store with the few steps that tests take."""

    def __init__(self, out: Path) -> None:
        out.mkdir(exist_ok=True)
        (out / "crawl.toml").touch()
        self.out = out
        self.urls: dict[int, str] = {}
        self.store = Store(
            out,
            Storing(),
            info={"software": "test"},
            chance=random.Random(0),
            url_of=lambda number: self.urls.get(number),  # noqa: PLW0108
        )
        self.files = CrawlFiles(out)

    def put(self, number: int, body: bytes = b"", *, cut: str = "", **changes: Any) -> Stored:
        """Archive a page and write its row, as the loop does."""
        url = self.urls.setdefault(number, f"http://a/{number}")
        turn = Turn(number, number, url, 1, Kind.A, 7, 1)
        page = Page(
            url, 200, None, b"GET", HEAD, HEADERS, body, cut, "192.0.2.1", "", WALL, WALL + number, 0.5, closed=False
        )
        stored = self.store.archive(turn, page, cut=cut)
        options = {"reason": None, "final": True, "cut": cut, "closed_at": None, "redirect": None, "links": 3} | changes
        self.store.note_page(turn, "a", 1, page, PARSED, stored, **options)
        return stored


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A new store."""
    return Bench(tmp_path / "crawl")


# --- what is written down ---


def test_row__says_what_is_known_of_a_fetch(bench: Bench) -> None:
    """Every column has its value."""
    stored = bench.put(5, b"hello", closed_at=WALL + 9, redirect="http://b/", reason=Reason.STATUS_4XX)
    bench.store.seal()
    (row,) = pq.read_table(bench.out / "pages").to_pylist()
    assert {
        name: row[name] for name in ("id", "url", "site", "ip", "kind", "depth", "via", "attempt", "final", "visit")
    } == {
        "id": 5,
        "url": "http://a/5",
        "site": "a",
        "ip": "192.0.2.1",
        "kind": "a",
        "depth": 1,
        "via": 7,
        "attempt": 1,
        "final": True,
        "visit": 1,
    }
    assert (row["status"], row["reason"], row["redirect"], row["links"]) == (200, "status-4xx", "http://b/", 3)
    assert row["connected_at"].timestamp() == pytest.approx(WALL, abs=1e-6)
    assert row["fetched_at"].timestamp() == pytest.approx(WALL + 5, abs=1e-6)
    assert row["closed_at"].timestamp() == pytest.approx(WALL + 9, abs=1e-6)
    assert row["took"] == pytest.approx(0.5)
    assert (row["declared_type"], row["detected_type"], row["charset"]) == ("text/html", "text/html", "utf-8")
    assert (row["language"], row["title"], row["bytes"], row["truncated"]) == ("en", "Title", 5, None)
    assert (row["digest"], row["duplicate_of"]) == (stored.digest, None)
    assert (row["etag"], row["last_modified"], row["tls"]) == ('"x"', None, None)
    assert (row["volume"], row["offset"], row["length"]) == (stored.volume, stored.offset, stored.length)


def test_row__of_a_fetch_without_an_answer_has_nulls(bench: Bench) -> None:
    """Nothing is made up."""
    page = Page("http://a/", 0, Reason.DNS_FAILED, b"", b"", {}, b"", "", "", "", 0.0, WALL, 0.0, closed=True)
    bench.store.note_page(
        Turn(1, 1, "http://a/", 0, Kind.SEED, 0, 1),
        "a",
        1,
        page,
        None,
        None,
        reason=Reason.DNS_FAILED,
        final=False,
        cut="",
        closed_at=None,
        redirect=None,
        links=0,
    )
    bench.store.seal()
    (row,) = pq.read_table(bench.out / "pages").to_pylist()
    known = {name for name, value in row.items() if value is not None}
    assert known == {"id", "url", "site", "kind", "depth", "attempt", "final", "visit", "reason", "fetched_at", "took"}


def test_duplicate__refers_to_what_was_stored_first(bench: Bench) -> None:
    """The same content under a second URL is a revisit, with the first one's URL and date to the microsecond."""
    first = bench.put(1, b"same")
    second = bench.put(2, b"same")
    third = bench.put(3, b"other")
    assert (first.duplicate_of, second.duplicate_of, third.duplicate_of) == (0, 1, 0)
    bench.store.flush()
    (row,) = bench.files.rows(2)
    record = bench.files.record(row)
    assert row["duplicate_of"] == 1
    assert record.warc["WARC-Type"] == "revisit"
    assert record.warc["WARC-Refers-To-Target-URI"] == "http://a/1"
    original = bench.files.record(bench.files.rows(1)[0])
    assert record.warc["WARC-Refers-To-Date"] == original.warc["WARC-Date"]
    assert record.body == b""
    assert original.body == b"same"


@pytest.mark.parametrize(("body", "cut"), [(b"", ""), (b"same", "length"), (b"same", "disconnect")])
def test_duplicate__is_never_an_empty_or_a_cut_content(bench: Bench, body: bytes, cut: str) -> None:
    """Neither refers to another, and none refers to them."""
    assert bench.put(1, body, cut=cut).duplicate_of == 0
    assert bench.put(2, body, cut=cut).duplicate_of == 0
    assert bench.put(3, body).duplicate_of == 0
    bench.store.flush()
    assert bench.files.rows(1)[0]["truncated"] == (cut or None)
    assert bench.files.record(bench.files.rows(1)[0]).warc.get("WARC-Truncated", "") == cut


def test_duplicate__whose_first_url_is_not_known_is_stored_again(bench: Bench) -> None:
    """A revisit record that refers to nothing would be worth nothing."""
    bench.put(1, b"same")
    del bench.urls[1]
    assert bench.put(2, b"same").duplicate_of == 0


def test_flush__names_every_open_file_with_its_length(bench: Bench) -> None:
    """What a commit must remember: the files as they are on disk, and none that holds nothing."""
    assert bench.store.flush() == {}
    bench.put(1, b"hello")
    bench.store.note_links(1, [2, 3], [1, 1])
    bench.store.note_links(1, [], [])
    bench.store.note_url(2, "http://a/2")
    lengths = bench.store.flush()
    assert {name.partition("/")[0] for name in lengths} == {"pages", "links", "urls", "volumes"}
    for name, length in lengths.items():
        path = bench.out / name
        open_path = path if path.exists() else path.with_name(f"{path.name}.open")
        assert open_path.stat().st_size == length
    assert bench.store.bytes == 5


def test_seal__leaves_nothing_open(bench: Bench) -> None:
    """Every file stands under its final name."""
    bench.put(1, b"hello")
    bench.store.note_links(1, [2], [1])
    bench.store.note_url(2, "http://a/2")
    bench.store.seal()
    names = sorted(path.name for path in bench.out.rglob("*") if path.is_file())
    assert names == ["crawl.toml", "part-00001.parquet", "part-00001.parquet", "part-00001.parquet", names[-1]]
    assert names[-1].endswith(".warc.gz")


# --- what an earlier run left ---


def test_leftovers__are_cut_back_to_what_was_committed(bench: Bench) -> None:
    """What came after the last commit is gone, what came before is there, under final names."""
    bench.put(1, b"one")
    bench.store.note_links(1, [2], [1])
    bench.store.note_url(1, "http://a/1")
    lengths = bench.store.flush()
    bench.put(2, b"two")
    bench.store.note_links(2, [3], [1])
    bench.store.note_url(2, "http://a/2")
    bench.store.flush()
    seal_leftovers(bench.out, lengths)
    assert not list(bench.out.rglob("*.open"))
    assert [row["id"] for row in pq.read_table(bench.out / "pages").to_pylist()] == [1]
    assert pq.read_table(bench.out / "links").to_pylist() == [{"source": 1, "target": 2, "kind": 1}]
    assert pq.read_table(bench.out / "urls").to_pylist() == [{"id": 1, "url": "http://a/1"}]
    (volume,) = (bench.out / "volumes").iterdir()
    assert volume.stat().st_size == lengths[f"volumes/{volume.name}"]
    assert bench.files.record(bench.files.rows(1)[0]).body == b"one"


def test_leftovers__that_no_commit_names_are_dropped(bench: Bench) -> None:
    """They were never promised; sealed files are not touched, halves of a sealing are removed."""
    bench.put(1, b"one")
    bench.store.seal()
    bench.put(2, b"two")
    bench.store.note_url(2, "http://a/2")
    bench.store.flush()
    (bench.out / "pages" / "part-00009.parquet.new").write_bytes(b"half")
    seal_leftovers(bench.out, {})
    assert sorted(path.name for path in (bench.out / "pages").iterdir()) == ["part-00001.parquet"]
    assert list((bench.out / "urls").iterdir()) == []
    assert len(list((bench.out / "volumes").iterdir())) == 1


def test_leftovers__of_nothing_are_nothing(tmp_path: Path) -> None:
    """A new directory has none."""
    seal_leftovers(tmp_path, {"pages/part-00001.arrow.open": 100})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("left", [0, 3, 200])
def test_leftovers__that_are_shorter_than_promised_do_not_stop_a_crawl(bench: Bench, left: int) -> None:
    """After a loss of power a file may lack what was written last: what can be read of it is kept."""
    bench.store.note_url(1, "http://a/1")
    lengths = bench.store.flush()
    path = bench.out / "urls" / "part-00001.arrow.open"
    path.write_bytes(path.read_bytes()[:left])
    seal_leftovers(bench.out, lengths)
    assert not list(bench.out.rglob("*.open"))
    assert bench.files.url(1) is None


def test_contents__are_known_again_after_a_restart(bench: Bench) -> None:
    """Whole contents that were stored, under the URL they were stored first; no duplicates, no cut, no empty ones."""
    bench.put(1, b"one")
    bench.put(2, b"one")
    bench.put(3, b"three", cut="length")
    bench.put(4, b"")
    bench.store.seal()
    digests = Digests(16)
    known_contents(bench.out, digests)
    assert len(digests) == 1
    found = digests.find(payload_digest(b"one"))
    assert found is not None
    assert found[0] == 1
    assert found[1] == pytest.approx(WALL + 1, abs=1e-6)


def test_contents__of_an_earlier_run_are_referred_to_exactly(bench: Bench) -> None:
    """A revisit in the second run names the date that the first run wrote into its record."""
    bench.put(1, b"one")
    bench.store.seal()
    later = Bench(bench.out)
    later.urls = bench.urls
    known_contents(later.out, later.store.digests)
    later.put(2, b"one")
    later.store.flush()
    revisit = later.files.record(later.files.rows(2)[0])
    original = later.files.record(later.files.rows(1)[0])
    assert revisit.warc["WARC-Refers-To-Date"] == original.warc["WARC-Date"]


# --- reading while it grows ---


def test_reading__sees_sealed_and_open_parts(bench: Bench) -> None:
    """Rows, URLs, links and records are found wherever they lie, the oldest first."""
    bench.put(1, b"one")
    bench.store.note_url(1, "http://a/1")
    bench.store.note_links(9, [1], [2])
    bench.store.seal()
    bench.put(1, b"one again")
    bench.store.note_url(2, "http://a/2")
    bench.store.note_links(8, [1, 2], [1, 1])
    bench.store.flush()
    bench.put(1, b"not flushed")
    files = CrawlFiles(bench.out)
    assert [files.record(row).body for row in files.rows(1)] == [b"one", b"one again"]
    assert [row["fetched_at"] for row in files.rows(1)] == sorted(row["fetched_at"] for row in files.rows(1))
    assert (files.url(1), files.url(2), files.url(3)) == ("http://a/1", "http://a/2", None)
    assert files.linked_from(1) == [(9, 2), (8, 1)]
    assert files.linked_from(1, most=1) == [(9, 2)]
    assert files.rows(77) == []


def test_reading__a_part_sealed_meanwhile_is_read_once(bench: Bench) -> None:
    """A reader that has begun sees the rows of a part that is sealed under its hands, and no row twice."""
    for number in range(3):
        bench.store.note_url(number, f"http://a/{number}")
        bench.store._urls.flush()
        bench.store._urls_journal.seal()
    bench.store.note_url(3, "http://a/3")
    bench.store.flush()
    reading = bench.files._batches("urls")
    seen = [next(reading)]
    bench.store.seal()
    seen += reading
    assert [row["id"] for batch in seen for row in batch.to_pylist()] == [0, 1, 2, 3]


def test_reading__an_open_part_without_rows_is_no_fault(bench: Bench) -> None:
    """A journal that was opened a moment ago may hold nothing at all."""
    (bench.out / "urls").mkdir()
    (bench.out / "urls" / "part-00001.arrow.open").touch()
    assert bench.files.url(1) is None


def test_reading__a_damaged_volume_is_said_so(bench: Bench) -> None:
    """Which file, where in it, and what to think of."""
    stored = bench.put(1, b"one")
    bench.store.seal()
    (row,) = bench.files.rows(1)
    volume = bench.out / "volumes" / stored.volume
    volume.write_bytes(b"x" * volume.stat().st_size)
    with pytest.raises(WeftError, match="cannot read the record") as caught:
        bench.files.record(row)
    assert stored.volume in caught.value.where
    assert str(stored.offset) in caught.value.where
    volume.unlink()
    with pytest.raises(WeftError, match="cannot read the record"):
        bench.files.record(row)


def test_reading__a_folder_without_a_crawl_is_refused(tmp_path: Path) -> None:
    """With what to do instead."""
    with pytest.raises(UsageError, match="there is no crawl here"):
        CrawlFiles(tmp_path)
