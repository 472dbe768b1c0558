"""The store of a worker: what it writes down, what an earlier run left, and how it is read back while it grows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from weft.clock import Clock, VirtualClock
from weft.errors import UsageError, WeftError
from weft.events import Fetched
from weft.model import NO_ID, NO_PAGE, Kind, Outcome, Page, PageNumber, Parsed, Reason, Turn, UrlId
from weft.store.contents import Contents
from weft.store.files import SETTLED, Growing, Mark, intact
from weft.store.reading import CrawlFiles, Linked
from weft.store.sealed import final_files, listed
from weft.store.sealing import known_contents, seal_leftovers
from weft.store.store import Store
from weft.store.volumes import Stored, Storing, payload_digest

HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\nETag: "x"\r\n\r\n'
HEADERS = {"content-type": "Text/HTML; charset=utf-8", "etag": '"x"'}
WALL = 1_700_000_000.123456
PARSED = Parsed("text/html", "utf-8", "en", "Title", "http://a/", [], [], follow=True, reason=None)


class Bench:
    """A store with the few steps that tests take."""

    def __init__(self, out: Path, worker: int = 0, clock: Clock | None = None, **settings: Any) -> None:
        out.mkdir(exist_ok=True)
        (out / "crawl.toml").touch()
        self.out = out
        self.urls: dict[int, str] = {}
        self.store = Store(
            out,
            Storing(**settings),
            info={"software": "test"},
            chance=random.Random(0),
            worker=worker,
            clock=clock,
        )
        self.files = CrawlFiles(out)
        self.marks = 0

    def mark(self) -> dict[str, Mark]:
        """Write everything, as a commit does."""
        self.marks += 1
        return self.store.mark()

    def seal(self) -> None:
        """Seal everything, as the end of a crawl does."""
        self.mark()
        self.store.roll(all_of_them=True)
        self.store.seal(self.marks + SETTLED)

    def put(self, number: int, body: bytes = b"", *, cut: str = "", **changes: Any) -> Stored:
        """Archive a page and write its row, as the loop does."""
        url = self.urls.setdefault(number, f"http://a/{number}")
        turn = changes.pop("turn", Turn(PageNumber(number), UrlId(number), url, 1, Kind.A, UrlId(7), 1))
        head, headers, parsed = (
            changes.pop("head", HEAD),
            changes.pop("headers", HEADERS),
            changes.pop("parsed", PARSED),
        )
        page = Page(
            url, 200, None, b"GET", head, headers, body, cut, "192.0.2.1", "", WALL, WALL + number, 0.5, closed=False
        )
        stored = self.store.archive(turn, page, cut=cut)
        judged = {"reason": None, "cut": cut} | {
            name: changes.pop(name) for name in ("reason", "final", "redirect") if name in changes
        }
        outcome, duplicate = Outcome(turn, page, parsed, **judged), stored.duplicate_of > 0
        row: dict[str, Any] = {"links": 3} | changes
        self.store.note_page(Fetched(outcome, "a", 1, stored.digest, duplicate=duplicate, **row), stored)
        return stored


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A new store."""
    return Bench(tmp_path / "crawl")


# --- what is written down ---


def test_row__says_what_is_known_of_a_fetch(bench: Bench) -> None:
    """Every column has its value."""
    stored = bench.put(5, b"hello", closed_at=WALL + 9, rest=2.5, redirect="http://b/", reason=Reason.STATUS_4XX)
    bench.seal()
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
    assert (row["worker"], row["wait"]) == (0, 2.5)
    assert (row["declared_type"], row["detected_type"], row["charset"]) == ("text/html", "text/html", "utf-8")
    assert (row["language"], row["title"], row["bytes"], row["truncated"]) == ("en", "Title", 5, None)
    assert (row["digest"], row["duplicate_of"]) == (stored.digest, 0)
    assert (row["etag"], row["last_modified"], row["tls"]) == ('"x"', None, None)
    assert (row["volume"], row["offset"], row["length"]) == (stored.volume, stored.offset, stored.length)


def test_row__of_a_fetch_without_an_answer_has_nulls(bench: Bench) -> None:
    """Nothing is made up."""
    page = Page("http://a/", 0, Reason.DNS_FAILED, b"", b"", {}, b"", "", "", "", 0.0, WALL, 0.0, closed=True)
    turn = Turn(PageNumber(1), UrlId(1), "http://a/", 0, Kind.SEED, NO_ID, 1)
    fetched = Fetched(Outcome(turn, page, None, Reason.DNS_FAILED, final=False), "a", 1, "", duplicate=False)
    bench.store.note_page(fetched, None)
    bench.seal()
    (row,) = pq.read_table(bench.out / "pages").to_pylist()
    known = {name for name, value in row.items() if value is not None}
    assert known == {
        "id",
        "url",
        "site",
        "kind",
        "depth",
        "attempt",
        "final",
        "worker",
        "commit",
        "visit",
        "reason",
    } | {
        "fetched_at",
        "took",
        "via",
        "duplicate_of",
        "redirects",
        "redirected_from",
    }


def test_row__has_what_the_answer_says_of_server_and_connection(bench: Bench) -> None:
    """Headers as they were sent, of bounded length; the version by which it was answered."""
    headers = {"server": "x" * 300, "retry-after": "Thu, 01 Jan 2026 00:00:00 GMT", "keep-alive": "timeout=5, max=9"}
    bench.put(1, b"hello", head=b"HTTP/1.0 429 Too Many Requests\r\n\r\n", headers=headers, final=False)
    bench.put(2, b"hello", head=b"HTTP/2 200\r\n\r\n", headers={})
    bench.mark()
    (row,), (bare,) = bench.files.rows(1), bench.files.rows(2)
    assert (row["server"], row["retry_after"]) == ("x" * 200, headers["retry-after"])
    assert (row["keep_alive"], row["http_version"]) == (headers["keep-alive"], "1.0")
    assert (bare["server"], bare["retry_after"], bare["keep_alive"], bare["http_version"]) == (None, None, None, "2")


def test_row__has_what_the_page_says_of_itself(bench: Bench) -> None:
    """What it asks of robots, and the URL that it calls its own."""
    parsed = msgspec.structs.replace(PARSED, canonical="http://a/c")
    bench.put(1, b"hello", robots="noarchive,nofollow", parsed=parsed)
    bench.put(2, b"hello")
    bench.mark()
    (row,), (bare,) = bench.files.rows(1), bench.files.rows(2)
    assert (row["robots"], row["canonical"]) == ("noarchive,nofollow", "http://a/c")
    assert (bare["robots"], bare["canonical"]) == (None, None)


def test_row__joins_the_ends_of_a_chain_of_redirects(bench: Bench) -> None:
    """The page at its end has how long it was, and where it began."""
    bench.put(1, b"", redirect="http://a/2")
    bench.put(
        2,
        b"",
        redirect="http://a/3",
        turn=Turn(PageNumber(2), UrlId(2), "http://a/2", 1, Kind.REDIRECT, UrlId(1), 1, 1),
        redirected_from=1,
    )
    bench.put(
        3, b"end", turn=Turn(PageNumber(3), UrlId(3), "http://a/3", 1, Kind.REDIRECT, UrlId(2), 1, 2), redirected_from=1
    )
    bench.put(4, b"map", turn=Turn(PageNumber(4), UrlId(4), "http://a/4", 1, Kind.MAP, UrlId(2), 1, 2))
    bench.seal()
    rows = {row["id"]: row for row in pq.read_table(bench.out / "pages").to_pylist()}
    assert [(row["redirects"], row["redirected_from"]) for row in rows.values()] == [(0, 0), (1, 1), (2, 1), (0, 0)]
    assert rows[rows[3]["redirected_from"]]["url"] == "http://a/1"


def test_duplicate__refers_to_what_was_stored_first(bench: Bench) -> None:
    """The same content under a second URL is a revisit, with the first one's URL and date to the microsecond."""
    first = bench.put(1, b"same")
    second = bench.put(2, b"same")
    third = bench.put(3, b"other")
    assert (first.duplicate_of, second.duplicate_of, third.duplicate_of) == (0, 1, 0)
    bench.mark()
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
    bench.mark()
    assert bench.files.rows(1)[0]["truncated"] == (cut or None)
    assert bench.files.record(bench.files.rows(1)[0]).warc.get("WARC-Truncated", "") == cut


def test_duplicate__of_another_worker_is_known_when_its_record_cannot_be_taken_back(tmp_path: Path) -> None:
    """Two further commits must be on disk; until then a second copy is stored, and counted by who settles it last."""
    one, two = Bench(tmp_path / "crawl", 0), Bench(tmp_path / "crawl", 1)
    one.put(1, b"same")
    one.put(2, b"other")
    one.mark()
    for commits in range(1, 1 + SETTLED):
        one.store.seal(commits)
        two.store.seal(0)
        assert two.store.contents.find(payload_digest(b"same")) is None
    assert two.put(3, b"same").duplicate_of == 0
    one.store.seal(1 + SETTLED)
    two.store.seal(0)
    assert two.put(4, b"other").duplicate_of == 2
    two.mark()
    two.store.seal(1 + SETTLED)
    assert (one.store.contents.copies, two.store.contents.copies) == (0, 1)
    record = two.files.record(two.files.rows(4)[0])
    assert record.warc["WARC-Refers-To-Target-URI"] == "http://a/2"
    original = one.files.record(one.files.rows(2)[0])
    assert record.warc["WARC-Refers-To-Date"] == original.warc["WARC-Date"]


def test_duplicate__is_never_a_robots_file(bench: Bench) -> None:
    """Whoever judges a crawl by them finds each in its own record."""
    robots = Turn(NO_PAGE, UrlId(9), "http://a/robots.txt", 0, Kind.ROBOTS, NO_ID, 1)
    bench.put(1, b"same")
    assert bench.put(2, b"same", turn=robots).duplicate_of == 0
    assert bench.put(3, b"same", turn=robots).duplicate_of == 0
    assert bench.put(4, b"same").duplicate_of == 1


def test_mark__names_every_open_file_with_its_length(bench: Bench) -> None:
    """What a commit must remember: the files as they are on disk, and none that holds nothing."""
    assert bench.mark() == {}
    bench.put(1, b"hello")
    bench.store.note_links(1, [2, 3], [1, 1])
    bench.store.note_links(1, [], [])
    bench.store.note_url(2, "http://a/2")
    marks = bench.mark()
    assert sorted(name.partition("/")[0] for name in marks) == ["links", "pages", "urls", "volumes", "volumes"]
    for name, mark in marks.items():
        assert (bench.out / f"{name}.open").stat().st_size == mark.length
        assert mark.since == 0
    assert bench.store.bytes == 5
    assert intact(bench.out, marks)


def test_mark__goes_on_from_the_one_before(bench: Bench) -> None:
    """Each covers what came since; a file to which nothing was added is named with nothing between."""
    bench.put(1, b"hello")
    first = bench.mark()
    bench.store.note_url(2, "http://a/2")
    second = bench.mark()
    assert set(second) - set(first) == {"urls/part-0-00001.arrow"}
    for name, mark in first.items():
        assert second[name] == Mark(mark.length, mark.length, mark.checksum, mark.checksum)
    bench.put(3, b"more")
    third = bench.mark()
    for name, mark in third.items():
        assert mark.since == second[name].length
        assert (mark.length > mark.since) == (not name.startswith("urls"))
    assert intact(bench.out, first)
    assert intact(bench.out, second)
    assert intact(bench.out, third)


def test_sync__may_be_called_at_any_time(bench: Bench) -> None:
    """Before anything is written, twice, and behind a roll."""
    bench.store.sync()
    bench.put(1, b"hello")
    bench.mark()
    bench.store.sync()
    bench.store.sync()
    bench.store.roll(all_of_them=True)
    bench.store.sync()
    bench.seal()
    bench.store.sync()
    assert bench.files.record(bench.files.rows(1)[0]).body == b"hello"


def test_seal__leaves_nothing_open(bench: Bench) -> None:
    """Every file stands under its final name."""
    bench.put(1, b"hello")
    bench.store.note_links(1, [2], [1])
    bench.store.note_url(2, "http://a/2")
    bench.seal()
    names = sorted(path.name for path in bench.out.rglob("*") if path.is_file() and path.parent.name != "contents")
    assert names == ["crawl.toml", *["part-0-00001.parquet"] * 3, "sealed.log", *names[-2:]]
    assert set(listed(bench.out)) == {name for name, _ in final_files(bench.out)}
    assert names[-2].endswith(".cdxj")
    assert names[-1].endswith(".warc.gz")
    assert bench.mark() == {}


def test_seal__waits_until_two_further_commits_are_there(bench: Bench) -> None:
    """Until then a full file is marked with every commit as it is, and can be read; then it is sealed, once."""
    bench.put(1, b"hello")
    first = bench.mark()
    bench.store.roll(all_of_them=True)
    for commits in range(1, 1 + SETTLED):
        bench.store.seal(commits)
        assert {mark.length for mark in bench.mark().values()} == {mark.length for mark in first.values()}
        assert not list(bench.out.rglob("*.parquet"))
        assert bench.files.record(bench.files.rows(1)[0]).body == b"hello"
    bench.store.seal(1 + SETTLED)
    assert not list(bench.out.rglob("*.open"))
    bench.store.seal(1 + SETTLED)
    assert bench.mark() == {}
    assert intact(bench.out, first)
    assert bench.files.record(bench.files.rows(1)[0]).body == b"hello"


class Interrupting(tuple[int, Growing]):  # noqa: SLOT001  it has something of its own
    """A rolled file; when it is looked at, the thread beside seals what is settled."""

    seal: Callable[[], None]

    def __iter__(self) -> Iterator[Any]:
        """Its parts."""
        self.seal()
        return super().__iter__()


def test_mark__names_every_open_file_while_a_thread_seals(bench: Bench) -> None:
    """A recovery removes what the last commit does not name: a file may be left out only when it is sealed."""
    for number in range(6):
        bench.store.note_url(number, "http://a/")
        bench.mark()
        bench.store.roll(all_of_them=True)
    rolled = [Interrupting(each) for each in bench.store._rolled]
    for number, each in enumerate(rolled):
        each.seal = partial(bench.store.seal, min(number + 1, 3) + SETTLED)
    bench.store._rolled[:] = rolled
    marks = bench.mark()
    still = {f"urls/{path.name.removesuffix('.open')}" for path in (bench.out / "urls").glob("*.open")}
    assert len(still) == 3, "some were sealed meanwhile"
    assert still <= set(marks)


def test_roll__closes_what_is_full_and_nothing_else(tmp_path: Path) -> None:
    """By the sizes that are set: of volumes, with their index, and of parts of the columns."""
    bench = Bench(tmp_path / "crawl", volume_bytes=50_000, part_bytes=20_000)
    names: set[str] = set()
    for number in range(300):
        bench.put(number, random.Random(number).randbytes(1000))
        if number % 10 == 9:
            names.update(bench.mark())
            bench.store.roll()
            bench.store.seal(bench.marks)
    assert len({name for name in names if name.endswith(".warc.gz")}) > 3
    assert len({name for name in names if name.startswith("pages/")}) > 2
    sealed = sorted((bench.out / "volumes").glob("*.warc.gz"))
    assert all(50_000 <= path.stat().st_size < 70_000 for path in sealed)
    assert all(path.with_name(path.name.replace(".warc.gz", ".cdxj")).exists() for path in sealed)
    bench.seal()
    assert [row["id"] for row in pq.read_table(bench.out / "pages").to_pylist()] == list(range(300))
    for number in (0, 150, 299):
        assert bench.files.record(bench.files.rows(number)[0]).body == random.Random(number).randbytes(1000)


def test_part__is_sealed_when_it_is_old_and_all_tables_at_once(tmp_path: Path) -> None:
    """A slow crawl can be seen by others while it runs, as it was at one commit; 0 seconds mean: by size alone."""
    for seconds, seen in ((60.0, 5), (0.0, 0)):
        clock = VirtualClock(1000.0)
        bench = Bench(tmp_path / f"crawl-{seconds}", clock=clock, part_seconds=seconds)
        for number in range(10):
            bench.put(number, b"%d" % number)
            bench.store.note_links(number, [number + 1], [1])
            bench.store.note_url(number, f"http://a/{number}")
            bench.mark()
            bench.store.roll()
            bench.store.seal(bench.marks)
            clock.advance(15.0)
        for table in ("pages", "links", "urls"):
            parts = [pq.read_table(path).num_rows for path in sorted((bench.out / table).glob("*.parquet"))]
            assert sum(parts) == seen, f"{table} of parts sealed after {seconds} s"
        bench.seal()
        assert pq.read_table(bench.out / "pages")["id"].to_pylist() == list(range(10))


def test_parts__of_a_long_and_slow_run_are_few_and_hide_no_more_than_its_last_twentieth(tmp_path: Path) -> None:
    """Their age grows with the run's."""
    clock = VirtualClock()
    bench = Bench(tmp_path / "crawl", clock=clock)
    step, hours = 30.0, 12
    hidden = []
    for number in range(int(hours * 3600 / step)):
        bench.store.note_url(number, "http://a/")
        bench.mark()
        bench.store.roll()
        bench.store.seal(bench.marks)
        if number % 40 == 39:
            seen = sum(pq.read_metadata(path).num_rows for path in bench.files.parts("urls")[0])
            hidden.append((number + 1 - seen) * step / max(60.0, clock.now() / 20))
        clock.advance(step)
    parts = len(bench.files.parts("urls")[0])
    assert 40 < parts < 110
    assert max(hidden) <= 1 + (SETTLED + 2) * step / 60


# --- what an earlier run left ---


def test_leftovers__are_cut_back_to_what_was_committed(bench: Bench) -> None:
    """What came after the last commit is gone, what came before is there, under final names."""
    bench.put(1, b"one")
    bench.store.note_links(1, [2], [1])
    bench.store.note_url(1, "http://a/1")
    marks = bench.mark()
    bench.put(2, b"two")
    bench.store.note_links(2, [3], [1])
    bench.store.note_url(2, "http://a/2")
    bench.mark()
    seal_leftovers(bench.out, marks)
    assert not list(bench.out.rglob("*.open"))
    assert [row["id"] for row in pq.read_table(bench.out / "pages").to_pylist()] == [1]
    (link,) = pq.read_table(bench.out / "links").to_pylist()
    assert link == {"source": 1, "target": 2, "kind": "a", "nofollow": False, "text": None, "rel": None}
    assert pq.read_table(bench.out / "urls").to_pylist() == [{"id": 1, "url": "http://a/1"}]
    (volume,) = (bench.out / "volumes").glob("*.warc.gz")
    (index,) = (bench.out / "volumes").glob("*.cdxj")
    assert volume.stat().st_size == marks[f"volumes/{volume.name}"].length
    assert index.stat().st_size == marks[f"volumes/{index.name}"].length
    assert index.read_text().count("\n") == 1
    assert bench.files.record(bench.files.rows(1)[0]).body == b"one"


def test_leftovers__that_no_commit_names_are_dropped(bench: Bench) -> None:
    """They were never promised; sealed files are not touched, halves of a sealing are removed."""
    bench.put(1, b"one")
    bench.seal()
    bench.put(2, b"two")
    bench.store.note_url(2, "http://a/2")
    bench.mark()
    (bench.out / "pages" / "part-0-00009.parquet.new").write_bytes(b"half")
    seal_leftovers(bench.out, {})
    assert sorted(path.name for path in (bench.out / "pages").iterdir()) == ["part-0-00001.parquet"]
    assert list((bench.out / "urls").iterdir()) == []
    assert sorted(path.suffix for path in (bench.out / "volumes").iterdir()) == [".cdxj", ".gz"]


def test_leftovers__of_nothing_are_nothing(tmp_path: Path) -> None:
    """A new directory has none."""
    seal_leftovers(tmp_path, {"pages/part-0-00001.arrow": Mark(100, 0, 0)})
    assert list(tmp_path.iterdir()) == []


def test_contents__are_known_again_after_a_restart(bench: Bench) -> None:
    """Whole contents that were stored, under the URL they were stored first; no duplicates, no cut, no empty ones."""
    bench.put(1, b"one")
    bench.put(2, b"one")
    bench.put(3, b"three", cut="length")
    bench.put(4, b"")
    bench.seal()
    contents = Contents(bench.out / "again", 0, b"")
    known_contents(bench.out, contents)
    assert len(contents) == 1
    found = contents.find(payload_digest(b"one"))
    assert found is not None
    assert (found.id, found.url) == (1, "http://a/1")
    assert found.wall == pytest.approx(WALL + 1, abs=1e-6)


def test_contents__of_an_earlier_run_are_referred_to_exactly(bench: Bench) -> None:
    """A revisit in the second run names the date that the first run wrote into its record."""
    bench.put(1, b"one")
    bench.seal()
    later = Bench(bench.out)
    known_contents(later.out, later.store.contents)
    later.put(2, b"one")
    later.mark()
    revisit = later.files.record(later.files.rows(2)[0])
    original = later.files.record(later.files.rows(1)[0])
    assert revisit.warc["WARC-Refers-To-Date"] == original.warc["WARC-Date"]


# --- reading while it grows ---


def test_reading__sees_sealed_and_open_parts(bench: Bench) -> None:
    """Rows, URLs, links and records are found wherever they lie, the oldest first."""
    bench.put(1, b"one")
    bench.store.note_url(1, "http://a/1")
    bench.store.note_links(9, [1], [2])
    bench.seal()
    bench.put(1, b"one again")
    bench.store.note_url(2, "http://a/2")
    bench.store.note_links(8, [1, 2], [1, 1])
    bench.mark()
    bench.put(1, b"not flushed")
    files = CrawlFiles(bench.out)
    assert [files.record(row).body for row in files.rows(1)] == [b"one", b"one again"]
    assert [row["fetched_at"] for row in files.rows(1)] == sorted(row["fetched_at"] for row in files.rows(1))
    assert (files.urls(1), files.urls(2), files.urls(3)) == (["http://a/1"], ["http://a/2"], [])
    assert files.linked_from(1) == [Linked(9, "area", nofollow=False), Linked(8, "a", nofollow=False)]
    assert files.linked_from(1, most=1) == [Linked(9, "area", nofollow=False)]
    assert files.rows(77) == []


def test_reading__a_part_sealed_meanwhile_is_read_once(bench: Bench) -> None:
    """A reader that has begun sees the rows of a part that is sealed under its hands, and no row twice."""
    for number in range(3):
        bench.store.note_url(number, f"http://a/{number}")
        bench.seal()
    bench.store.note_url(3, "http://a/3")
    bench.mark()
    reading = bench.files.batches("urls")
    seen = [next(reading)]
    bench.seal()
    seen += reading
    assert [row["id"] for batch in seen for row in batch.to_pylist()] == [0, 1, 2, 3]


def test_reading__an_open_part_without_rows_is_no_fault(bench: Bench) -> None:
    """A journal that was opened a moment ago may hold nothing at all."""
    (bench.out / "urls").mkdir()
    (bench.out / "urls" / "part-0-00001.arrow.open").touch()
    assert bench.files.urls(1) == []


def test_reading__a_damaged_volume_is_said_so(bench: Bench) -> None:
    """Which file, where in it, and what to think of."""
    stored = bench.put(1, b"one")
    bench.seal()
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
