"""Volumes: their names, their sizes, and where a record lies."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.model import Page
from weft.store.volumes import Original, Storing, Volumes, last_number, payload_digest, writing

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def page(body: bytes = b"hello", url: str = "http://a/", at: float = 1_700_000_000.0) -> Page:
    """A page."""
    return Page(url, 200, None, REQUEST, HEAD, {}, body, "", "192.0.2.1", "", at, at, 0.1, closed=False)


def volumes(folder: Path, **settings: int | str) -> Volumes:
    """A writer."""
    return Volumes(folder, Storing(**settings), {"software": "test"}, random.Random(0))  # type: ignore[arg-type]


def names(folder: Path) -> list[str]:
    """What lies in the folder."""
    return sorted(path.name for path in folder.iterdir())


def test_volume__is_open_until_it_is_sealed(tmp_path: Path) -> None:
    """Its name says so, and does not change otherwise; sealing twice, or nothing, does nothing."""
    writer = volumes(tmp_path)
    writer.seal()
    stored = writer.store(page(), payload_digest(b"hello"), None, cut="")
    assert stored.volume == writer.name == "weft-20231114221320-00001.warc.gz"
    assert names(tmp_path) == ["weft-20231114221320-00001.warc.gz.open"]
    writer.seal()
    writer.seal()
    assert names(tmp_path) == ["weft-20231114221320-00001.warc.gz"]


def test_volume__is_on_disk_to_its_length_when_flushed(tmp_path: Path) -> None:
    """Before that nothing is promised; the length is that of whole members."""
    writer = volumes(tmp_path)
    for number in range(20):
        writer.store(page(b"%d" % number), payload_digest(b"%d" % number), None, cut="")
        writer.flush()
        (path,) = tmp_path.iterdir()
        assert path.stat().st_size == writer.length
        assert gzip.decompress(path.read_bytes()).endswith(REQUEST + b"\r\n\r\n")


def test_volume__large_ones_are_written_as_they_grow(tmp_path: Path) -> None:
    """Memory holds a block, not a volume."""
    writer = volumes(tmp_path)
    for number in range(40):
        body = random.Random(number).randbytes(100_000)
        writer.store(page(body), payload_digest(body), None, cut="")
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size > 3_000_000
    assert writer.length - path.stat().st_size < 1_200_000


def test_record__lies_where_it_is_said_to(tmp_path: Path) -> None:
    """Volume, offset and length cut out the response, whatever was stored before."""
    writer = volumes(tmp_path, volume_bytes=3000)
    stored = [(writer.store(page(b"%d" % n), payload_digest(b"%d" % n), None, cut=""), b"%d" % n) for n in range(30)]
    writer.seal()
    assert len({where.volume for where, _ in stored}) > 3
    for where, body in stored:
        data = (tmp_path / where.volume).read_bytes()[where.offset : where.offset + where.length]
        assert gzip.decompress(data).endswith(HEAD + body + b"\r\n\r\n")
        assert where.duplicate_of == 0


def test_roll__by_size_into_numbered_volumes(tmp_path: Path) -> None:
    """A volume is sealed once it has grown to its size; each begins with its own description."""
    writer = volumes(tmp_path, volume_bytes=2000, prefix="nl")
    for number in range(12):
        writer.store(page(b"%d" % number, at=1e9 + number), payload_digest(b"%d" % number), None, cut="")
    made = names(tmp_path)
    assert len(made) > 2
    assert [name[18:23] for name in made] == [f"{number:05d}" for number in range(1, len(made) + 1)]
    assert all(name.startswith("nl-200109090146") for name in made)
    assert [name.endswith(".open") for name in made] == [False] * (len(made) - 1) + [True]
    for name in made[:-1]:
        data = (tmp_path / name).read_bytes()
        assert 2000 <= len(data) < 4000
        text = gzip.decompress(data)
        assert text.startswith(b"WARC/1.1\r\nWARC-Type: warcinfo\r\n")
        assert f"WARC-Filename: {name}\r\n".encode() in text


def test_names__are_never_used_again(tmp_path: Path) -> None:
    """A later run goes on counting behind whatever is there, sealed or left open."""
    for run in range(3):
        writer = volumes(tmp_path, prefix=f"p{run}-x")
        writer.store(page(), payload_digest(b"hello"), None, cut="")
        if run != 1:
            writer.seal()
        else:
            writer.flush()
    assert names(tmp_path) == [
        "p0-x-20231114221320-00001.warc.gz",
        "p1-x-20231114221320-00002.warc.gz.open",
        "p2-x-20231114221320-00003.warc.gz",
    ]


def test_last_number__ignores_what_is_not_numbered(tmp_path: Path) -> None:
    """Other files may lie beside."""
    assert last_number(tmp_path / "missing", "*") == 0
    for name in ("weft-x-00007.warc.gz", "notes.txt", "weft-00012.cdxj", "weft-x.warc.gz"):
        (tmp_path / name).touch()
    assert last_number(tmp_path, "*.warc.gz*") == 7


def test_revisit__refers_to_the_original_and_holds_no_content(tmp_path: Path) -> None:
    """Profile, digest, and where and when the content was stored first."""
    writer = volumes(tmp_path)
    original = Original(77, "http://b/first", 1_600_000_000.25)
    stored = writer.store(page(b"hello" * 1000), payload_digest(b"hello" * 1000), original, cut="")
    writer.seal()
    assert stored.duplicate_of == 77
    data = (tmp_path / stored.volume).read_bytes()[stored.offset : stored.offset + stored.length]
    head, _, block = gzip.decompress(data).partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert fields["WARC-Type"] == "revisit"
    assert fields["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert fields["WARC-Refers-To-Target-URI"] == "http://b/first"
    assert fields["WARC-Refers-To-Date"] == "2020-09-13T12:26:40.250000Z"
    assert fields["WARC-Payload-Digest"] == stored.digest
    assert block == HEAD + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("error", "todo"),
    [
        (OSError(28, "No space left on device"), "make room"),
        (OSError(122, "Disk quota exceeded"), "raise the quota"),
        (OSError(30, "Read-only file system"), "choose another --out"),
        (PermissionError(13, "Permission denied"), "permissions"),
        (OSError(5, "Input/output error"), "run the same command again"),
        (OSError("odd"), "run the same command again"),
    ],
)
def test_writing__what_the_disk_says_becomes_a_message(error: OSError, todo: str) -> None:
    """What happened, to which file, and what to do about it."""
    with pytest.raises(WeftError) as caught, writing(Path("/crawl/x.warc.gz")):
        raise error
    assert caught.value.where == "/crawl/x.warc.gz"
    assert todo in caught.value.todo
    assert caught.value.what.startswith("cannot write: ")
    assert caught.value.__cause__ is error


def test_writing__other_faults_pass(tmp_path: Path) -> None:
    """Only the disk's failures are the disk's."""
    with pytest.raises(ZeroDivisionError), writing(tmp_path):
        raise ZeroDivisionError


def test_volume__in_a_place_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "volumes").touch()
    with pytest.raises(WeftError, match="cannot write"):
        volumes(tmp_path / "volumes").store(page(), payload_digest(b"hello"), None, cut="")
