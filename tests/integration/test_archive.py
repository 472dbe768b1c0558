"""The archive as others read it: warcio and FastWARC on the volumes, DuckDB on the columns; and on a full disk."""

from __future__ import annotations

import contextlib
import gzip
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from weft.errors import WeftError
from weft.events import Fetched
from weft.fetch.headers import parse_head
from weft.model import NO_ID, Kind, Outcome, Page, PageNumber, Parsed, Turn, UrlId
from weft.store.files import SETTLED, intact
from weft.store.reading import CrawlFiles
from weft.store.store import Store
from weft.store.volumes import Storing

WALL = 1_700_000_000.25
PARSED = Parsed("text/html", "utf-8", "en", "Title", "http://a/", [], [], follow=True, reason=None)
REQUEST = b"GET /x?y=%C3%A9 HTTP/1.1\r\nHost: site.test\r\nUser-Agent: weft\r\n\r\n"

# Answers of every shape: their header as received, the content, how it was cut.
ANSWERS: dict[str, tuple[bytes, bytes, str]] = {
    "plain": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", b"<html>plain</html>", ""),
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"5\r\nthis looks like chunks\r\n0\r\n\r\n",
        "",
    ),
    "odd-chunked": (b"HTTP/1.1 200 OK\r\ntRANSFER-encoding : chunked\r\n\r\n", b"3\r\nabc", ""),
    "gzip": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", gzip.compress(b"packed", mtime=0), ""),
    "broken-gzip": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", b"not packed at all", ""),
    "brotli": (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n", b"\x00\xff\x00", ""),
    "wrong-length": (b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n", b"short", "disconnect"),
    "cut": (b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n", b"x" * 10_000, "length"),
    "late": (b"HTTP/1.1 200 OK\r\n\r\n", b"as far as it came", "time"),
    "line-feeds": (b"HTTP/1.1 200 OK\nContent-Type: text/html\nX: y\n\n", b"<p>\r\n\r\n</p>", ""),
    "mixed-ends": (b"HTTP/1.1 200 OK\r\nA: 1\nB: 2\r\n\r\n", b"mixed", ""),
    "latin-1": (b"HTTP/1.1 200 Tr\xe8s bien\r\nX-\xe9: \xff\x85\r\n\r\n", b"\xe9\x00\xff", ""),
    "no-phrase": (b"HTTP/1.1 404\r\n\r\n", b"gone", ""),
    "header-only": (b"HTTP/1.1 204 No Content\r\n\r\n", b"", ""),
    "header-breaks-off": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", b"", "disconnect"),
    "status-line-only": (b"HTTP/1.1 200 OK\r\n", b"", "disconnect"),
    "no-colon": (b"HTTP/1.1 200 OK\r\nnocolon\r\n\r\n", b"body", ""),
    "content-begins-blank": (b"HTTP/1.1 200 OK\r\n\r\n", b"\r\n\r\n<html>", ""),
    "large": (b"HTTP/1.1 200 OK\r\n\r\n", random.Random(5).randbytes(3_000_000), ""),
}


class Archive:
    """A store and what went into it."""

    def __init__(self, out: Path, **settings: Any) -> None:
        out.mkdir(exist_ok=True)
        (out / "crawl.toml").touch()
        self.out = out
        self.urls: dict[int, str] = {}
        self.commits = 0
        info = {"software": "weft", "operator": "Žofie"}
        self.store = Store(out, Storing(**settings), info=info, chance=random.Random(1))

    def put(self, url: str, head: bytes, body: bytes, cut: str = "") -> None:
        """Store an exchange as the loop does."""
        number = len(self.urls) + 1
        self.urls[number] = url
        status, _, headers = parse_head(head.splitlines(keepends=True))
        wall = WALL + number
        page = Page(url, status, None, REQUEST, head, headers, body, "", "192.0.2.1", "", wall, wall, 0.1, closed=False)
        turn = Turn(PageNumber(number), UrlId(number), url, 1, Kind.A, NO_ID, 1)
        stored = self.store.archive(turn, page, cut=cut)
        outcome = Outcome(turn, page, PARSED, None, cut=cut)
        self.store.note_page(Fetched(outcome, "site.test", 1, stored.digest, duplicate=False), stored)

    def commit(self) -> None:
        """Write everything and close what is full, as a commit does."""
        self.store.mark()
        self.store.sync(durable=False)
        self.commits += 1
        self.store.roll()

    def seal(self) -> None:
        """Seal everything, as the end of a crawl does."""
        self.commit()
        self.store.roll(all_of_them=True)
        self.store.seal(self.commits + SETTLED)

    @property
    def volumes(self) -> list[Path]:
        """The sealed volumes."""
        return sorted((self.out / "volumes").glob("*.warc.gz"))


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """An archive with an answer of every shape, and everything a second time under other URLs; several volumes."""
    made = Archive(tmp_path / "crawl", volume_bytes=20_000)
    for again in ("", "again-"):
        for name, (head, body, cut) in ANSWERS.items():
            made.put(f"http://site.test/{again}{name}?q=%C3%A9", head, body, cut)
            made.commit()
    made.seal()
    return made


def test_warcio__finds_every_digest_right(archive: Archive) -> None:
    """Block and payload digests of every request and response; the content comes out as it went in."""
    contents = {}
    kinds = []
    for path in archive.volumes:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                url = record.rec_headers.get_header("WARC-Target-URI")
                content = record.raw_stream.read()
                kinds.append(record.rec_type)
                if record.rec_type != "warcinfo":
                    assert record.digest_checker.passed is not False
                if record.rec_type == "response":
                    contents[url] = content
                    assert record.rec_headers.get_header("WARC-IP-Address") == "192.0.2.1"
                if record.rec_type == "request":
                    assert record.http_headers.get_header("Host") == "site.test"
    assert kinds[0] == "warcinfo"
    assert kinds.count("warcinfo") == len(archive.volumes) > 1
    assert kinds.count("request") == 2 * len(ANSWERS)
    for name, (_, body, cut) in ANSWERS.items():
        assert contents[f"http://site.test/{name}?q=%C3%A9"] == body
        assert (f"http://site.test/again-{name}?q=%C3%A9" in contents) == (not body or cut != "")


def test_warcio__text_that_is_not_ascii_comes_back(tmp_path: Path) -> None:
    """In URLs, in the description of the volume and in headers."""
    archive = Archive(tmp_path / "crawl")
    archive.put("http://site.test/žluť?☃", b"HTTP/1.1 200 OK\r\nX-Name: \xc5\xbdofie\r\n\r\n", b"x")
    archive.seal()
    with archive.volumes[0].open("rb") as file:
        info, response, _ = ((record, record.content_stream().read()) for record in ArchiveIterator(file))
    assert "operator: Žofie\r\n".encode() in info[1]
    assert response[0].rec_headers.get_header("WARC-Target-URI") == "http://site.test/žluť?☃"
    assert response[0].http_headers.get_header("X-Name") == "Žofie"


def test_warcio__its_own_check_passes(tmp_path: Path) -> None:
    """The command that archivists run. Brotli is left out: beside our brotli library warcio fails on any of it."""
    archive = Archive(tmp_path / "crawl")
    for name, (head, body, cut) in ANSWERS.items():
        if name != "brotli":
            archive.put(f"http://site.test/{name}", head, body, cut)
    archive.seal()
    command = [sys.executable, "-m", "warcio.cli", "check", *map(str, archive.volumes)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


def test_fastwarc__finds_every_digest_right(archive: Archive) -> None:
    """Another reader, written in another language, agrees on every record and reads the same contents."""
    contents = {}
    for path in archive.volumes:
        for record in FastIterator(str(path), parse_http=False):
            assert record.verify_block_digest()
        for record in FastIterator(str(path), parse_http=True):
            if record.headers["WARC-Type"] == "response":
                assert record.verify_payload_digest(consume=False)
                contents[record.headers["WARC-Target-URI"]] = record.reader.read()
    for name, (_, body, _) in ANSWERS.items():
        assert contents[f"http://site.test/{name}?q=%C3%A9"] == body


def test_revisits__say_what_they_refer_to(archive: Archive) -> None:
    """Whole contents that come again are revisits of the first, which exists with that URL, date and digest."""
    originals: dict[str, tuple[str, str, str]] = {}
    revisits = []
    for path in archive.volumes:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                head = record.rec_headers
                if record.rec_type == "response":
                    originals.setdefault(
                        head["WARC-Payload-Digest"],
                        (head["WARC-Target-URI"], head["WARC-Date"], head["WARC-Payload-Digest"]),
                    )
                elif record.rec_type == "revisit":
                    revisits.append(head)
    expected = sum(1 for _, body, cut in ANSWERS.values() if body and not cut)
    assert len(revisits) == expected
    for head in revisits:
        assert head["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
        assert "/again-" in head["WARC-Target-URI"]
        referred = (head["WARC-Refers-To-Target-URI"], head["WARC-Refers-To-Date"], head["WARC-Payload-Digest"])
        assert originals[head["WARC-Payload-Digest"]] == referred


def test_truncation__is_marked(archive: Archive) -> None:
    """Records that are not whole say why; whole ones say nothing."""
    found = {}
    for path in archive.volumes:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "response":
                    found[record.rec_headers["WARC-Target-URI"]] = record.rec_headers.get_header("WARC-Truncated")
    for name, (_, _, cut) in ANSWERS.items():
        assert found[f"http://site.test/{name}?q=%C3%A9"] == (cut or None)


def test_chunked__answers_are_stored_without_their_chunking(archive: Archive) -> None:
    """The header line is kept under another name, so that no reader undoes the chunking a second time."""
    for row_id in (2, 3):
        files = CrawlFiles(archive.out)
        record = files.record(files.rows(row_id)[0])
        _, _, headers = parse_head(record.head.splitlines(keepends=True))
        assert "transfer-encoding" not in headers
        assert headers["x-archive-orig-transfer-encoding"] == "chunked"


def test_rows__lead_to_their_records(archive: Archive) -> None:
    """Each row's volume, offset and length cut out the record of its URL, with its content."""
    files = CrawlFiles(archive.out)
    for number, url in archive.urls.items():
        (row,) = files.rows(number)
        record = files.record(row)
        assert record.warc["WARC-Target-URI"] == url == row["url"]
        name = url.removeprefix("http://site.test/").removeprefix("again-").partition("?")[0]
        assert record.body == (ANSWERS[name][1] if row["duplicate_of"] == 0 else b"")


def test_columns__answer_questions(archive: Archive) -> None:
    """Pages per status per site, asked of DuckDB in one line of SQL."""
    question = "select site, status, count(*) from read_parquet(?) group by all order by all"
    with duckdb.connect() as database:
        answer = database.execute(question, [f"{archive.out}/pages/*.parquet"]).fetchall()
    whole = 2 * len(ANSWERS)
    assert answer == [("site.test", 200, whole - 4), ("site.test", 204, 2), ("site.test", 404, 2)]


# --- a full disk ---


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few hundred kilobytes; skipped where none can be mounted."""
    place = tmp_path / "tiny"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here (it takes root)")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)  # files of the test may still be open


def fill(archive: Archive) -> None:
    """Store pages until something happens."""
    for number in range(100_000):
        body = random.Random(number).randbytes(2000)
        archive.put(f"http://site.test/{number}", ANSWERS["plain"][0], body)
        archive.store.note_url(number, f"http://site.test/{number}")
        archive.store.note_links(number, [number + 1], [1])
        if number % 20 == 0:
            archive.commit()


def test_full_disk__is_one_clear_message(tiny_disk: Path) -> None:
    """What happened, in which file, what to do; what was committed before can be read and sealed."""
    archive = Archive(tiny_disk / "crawl")
    archive.put("http://site.test/first", ANSWERS["plain"][0], b"first")
    marks = archive.store.mark()
    with pytest.raises(WeftError) as caught:
        fill(archive)
    assert caught.value.what == "cannot write: No space left on device"
    assert str(archive.out) in caught.value.where
    assert "make room and run the same command again" in caught.value.todo
    files = CrawlFiles(archive.out)
    assert files.record(files.rows(1)[0]).body == b"first"
    assert marks
    assert intact(archive.out, marks)


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_largest_file__is_one_clear_message(tmp_path: Path) -> None:
    """The same where a limit of the machine, and not its disk, is the end."""
    archive = Archive(tmp_path / "crawl")
    with largest_file(100_000), pytest.raises(WeftError) as caught:
        fill(archive)
    assert caught.value.what == "cannot write: File too large"
    assert str(archive.out) in caught.value.where
    assert caught.value.todo
