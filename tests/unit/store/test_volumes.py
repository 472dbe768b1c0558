"""Volumes: their names, their sizes, and where a record lies."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from weft.disk import writing
from weft.errors import WeftError
from weft.model import Page
from weft.store.files import last_number
from weft.store.sealing import seal
from weft.store.volumes import Original, Storing, Volumes, payload_digest

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def page(body: bytes = b"hello", url: str = "http://a/", at: float = 1_700_000_000.0) -> Page:
    """A page."""
    return Page(url, 200, None, REQUEST, HEAD, {}, body, "", "192.0.2.1", "", at, at, 0.1, closed=False)


def volumes(folder: Path, **settings: int | str) -> Volumes:
    """A writer."""
    return Volumes(folder, Storing(**settings), {"software": "test"}, random.Random(0))  # type: ignore[arg-type]


def names(folder: Path, what: str = "*.warc.gz*") -> list[str]:
    """What lies in the folder."""
    return sorted(path.name for path in folder.glob(what))


def seal_volume(writer: Volumes, most: int | None = 1) -> None:
    """Seal the open volume and its index if it has grown to so many bytes."""
    for growing in writer.roll(most):
        growing.close()
        seal(growing.path)


def test_volume__is_open_until_it_is_sealed(tmp_path: Path) -> None:
    """Its name says so, and does not change otherwise; sealing twice, or nothing, does nothing."""
    writer = volumes(tmp_path)
    seal_volume(writer)
    stored = writer.store(page(), payload_digest(b"hello"), None, cut="")
    stem = "weft-20231114221320-0-00001"
    assert stored.volume == f"{stem}.warc.gz"
    assert names(tmp_path, "*") == [f"{stem}.cdxj.open", f"{stem}.warc.gz.open"]
    seal_volume(writer)
    seal_volume(writer)
    assert names(tmp_path, "*") == [f"{stem}.cdxj", f"{stem}.warc.gz"]


def test_volume__is_on_disk_to_its_length_when_flushed(tmp_path: Path) -> None:
    """Before that nothing is promised; the length is that of whole members."""
    writer = volumes(tmp_path)
    for number in range(20):
        writer.store(page(b"%d" % number), payload_digest(b"%d" % number), None, cut="")
        writer.flush()
        (path,) = tmp_path.glob("*.warc.gz.open")
        assert path.stat().st_size == writer.growing[1].length
        assert gzip.decompress(path.read_bytes()).endswith(REQUEST + b"\r\n\r\n")


def test_volume__large_ones_are_written_as_they_grow(tmp_path: Path) -> None:
    """Memory holds a block, not a volume."""
    writer = volumes(tmp_path)
    for number in range(40):
        body = random.Random(number).randbytes(100_000)
        writer.store(page(body), payload_digest(body), None, cut="")
    (path,) = tmp_path.glob("*.warc.gz.open")
    grown = path.stat().st_size
    assert grown > 3_000_000
    writer.flush()
    assert path.stat().st_size - grown < 1_200_000


def test_record__lies_where_it_is_said_to(tmp_path: Path) -> None:
    """Volume, offset and length cut out the response, whatever was stored before."""
    writer = volumes(tmp_path, volume_bytes=3000)
    stored = []
    for number in range(30):
        body = b"%d" % number
        stored.append((writer.store(page(body), payload_digest(body), None, cut=""), body))
        seal_volume(writer, None)
    seal_volume(writer)
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
        if number < 11:
            seal_volume(writer, None)
    made = names(tmp_path)
    assert len(made) > 2
    assert [name[20:25] for name in made] == [f"{number:05d}" for number in range(1, len(made) + 1)]
    assert all(name.startswith("nl-200109090146") for name in made)
    assert [name.endswith(".open") for name in made] == [False] * (len(made) - 1) + [True]
    for name in made[:-1]:
        data = (tmp_path / name).read_bytes()
        assert 2000 <= len(data) < 4000
        text = gzip.decompress(data)
        assert text.startswith(b"WARC/1.1\r\nWARC-Type: warcinfo\r\n")
        assert f"WARC-Filename: {name}\r\n".encode() in text


def test_index__has_a_line_for_every_record_of_its_volume(tmp_path: Path) -> None:
    """It grows beside the volume, names it as it will be called, and each line cuts out its record."""
    writer = volumes(tmp_path, volume_bytes=3000)
    for number in range(20):
        body = b"%d" % number
        writer.store(page(body, f"http://a/{19 - number}"), payload_digest(body), None, cut="")
        writer.flush()
        assert sum(growing.path.read_bytes().count(b"\n") for growing in writer.growing[:1]) > 0
        seal_volume(writer, None)
    seal_volume(writer)
    assert len(names(tmp_path)) == len(names(tmp_path, "*.cdxj")) > 2
    found = []
    for name in names(tmp_path, "*.cdxj"):
        lines = (tmp_path / name).read_text().splitlines()
        assert lines == sorted(lines)
        for line in lines:
            fields = json.loads(line.split(" ", 2)[2])
            assert fields["filename"] == name.replace(".cdxj", ".warc.gz")
            data = (tmp_path / fields["filename"]).read_bytes()[int(fields["offset"]) :][: int(fields["length"])]
            assert f"WARC-Target-URI: {fields['url']}\r\n".encode() in gzip.decompress(data)
            found.append(fields["url"])
    assert sorted(found) == sorted(f"http://a/{number}" for number in range(20))


def test_names__are_never_used_again(tmp_path: Path) -> None:
    """A later run goes on counting behind whatever is there, sealed or left open."""
    for run in range(3):
        writer = volumes(tmp_path, prefix=f"p{run}-x")
        writer.store(page(), payload_digest(b"hello"), None, cut="")
        writer.flush()
        if run != 1:
            seal_volume(writer)
    assert names(tmp_path) == [
        "p0-x-20231114221320-0-00001.warc.gz",
        "p1-x-20231114221320-0-00002.warc.gz.open",
        "p2-x-20231114221320-0-00003.warc.gz",
    ]


def test_last_number__ignores_what_is_not_numbered(tmp_path: Path) -> None:
    """Other files may lie beside."""
    assert last_number(tmp_path / "missing", 0) == 0
    for name in ("weft-x-0-00007.warc.gz", "notes.txt", "weft-00012.cdxj", "weft-x.warc.gz", "weft-0-00013.txt"):
        (tmp_path / name).touch()
    assert last_number(tmp_path, 0) == 7


def test_revisit__refers_to_the_original_and_holds_no_content(tmp_path: Path) -> None:
    """Profile, digest, and where and when the content was stored first."""
    writer = volumes(tmp_path)
    original = Original(77, "http://b/first", 1_600_000_000.25)
    stored = writer.store(page(b"hello" * 1000), payload_digest(b"hello" * 1000), original, cut="")
    seal_volume(writer)
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
