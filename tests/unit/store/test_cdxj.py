"""The index of a volume: what cdxj-indexer would write, sorted."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.model import Page
from weft.store.cdxj import cdxj_line, sort_cdxj
from weft.store.volumes import Original, Storing, Volumes, payload_digest
from weft.urls import normal_form

INDEXER = Path(sys.executable).with_name("cdxj-indexer")
PYWB = Path(__file__).parents[3] / ".venv-pywb" / "bin" / "cdx-indexer"
DIGEST = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
FIELDS = ["url", "mime", "status", "digest", "length", "offset", "filename"]


def page(url: str, content_type: str, status: int = 200, at: float = 1_700_000_000.0, body: bytes = b"hello") -> Page:
    """An answer."""
    field = f"Content-Type: {content_type}\r\n" if content_type else ""
    head = f"HTTP/1.1 {status} Some Words\r\n{field}\r\n".encode("latin-1")
    headers = {"content-type": content_type} if content_type else {}
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    return Page(url, status, None, request, head, headers, body, "", "192.0.2.1", "", at, at, 0.1, closed=False)


def volume(folder: Path, pages: list[tuple[Page, Original | None]]) -> tuple[Path, list[str]]:
    """A volume with these pages, and our lines for it, in the order of storing."""
    writer = Volumes(folder / "volumes", Storing(), {"software": "test"}, random.Random(0))
    lines = []
    for answer, original in pages:
        stored = writer.store(answer, payload_digest(answer.body), original, cut="")
        lines.append(
            cdxj_line(
                answer.url,
                answer.fetched_at,
                answer.status,
                answer.headers.get("content-type", ""),
                stored.digest,
                stored.offset,
                stored.length,
                stored.volume,
                revisit=original is not None,
            )
        )
    writer.flush()
    (growing,) = (folder / "volumes").glob("*.warc.gz.open")
    return growing.rename(folder / stored.volume), lines


def indexed(path: Path) -> list[str]:
    """The lines that cdxj-indexer writes for a volume, in its order."""
    found = subprocess.run([INDEXER, path], check=True, capture_output=True, text=True)
    return found.stdout.splitlines(keepends=True)


ORIGINAL = Original(77, "http://b.example.org/first", 1_600_000_000.25)
PAGES = [
    (page("http://www.example.org/", "text/html"), None),
    (page("https://example.org:8443/A/b.HTML?y=1&x=2", "text/html; charset=utf-8", at=1_700_000_000.999999), None),
    (page("http://example.org/moved", "Text/HTML;charset=x", 301, body=b""), None),
    (page("http://example.org/gone", "text/html", 404, at=1_700_000_001.9999999), None),
    (page("http://xn--mnchen-3ya.de/%C3%A4", "application/x-y+z.1 ; a=b", at=951_827_696.5), None),
    (page("http://[2001:db8::1]:81/", "image/png"), None),
    (page("http://example.org/a?back\\slash", "text/html"), None),
    (page("http://example.org/odd", '"te"x\\t/ht\tml"; a'), None),
    (page("http://example.org/accent", "text/ht\xe9ml"), None),
    (page("http://example.org/empty", "text/plain", 204, body=b""), None),
    (page("http://example.org/again", "text/html", body=b"hello" * 999), ORIGINAL),
    (page("http://example.org/again?", "", 203), ORIGINAL),
]


def test_line__is_what_cdxj_indexer_writes(tmp_path: Path) -> None:
    """Byte for byte, for pages and revisits, redirects and failures, odd URLs and odd types."""
    path, ours = volume(tmp_path, PAGES)
    assert ours == indexed(path)


def test_line__says_that_the_type_is_unknown(tmp_path: Path) -> None:
    """cdxj-indexer leaves the field out; pywb's own indexer has a word for it, which is ours."""
    path, (ours,) = volume(tmp_path, [(page("http://example.org/", ""), None)])
    (theirs,) = indexed(path)
    assert ours.replace('"mime": "unk", ', "") == theirs
    assert list(json.loads(ours.split(" ", 2)[2])) == FIELDS


def test_line__takes_the_first_of_several_types(tmp_path: Path) -> None:
    """As cdxj-indexer does; what we are given is the repeated header joined by a comma."""
    answer = page("http://example.org/", "text/html\r\nContent-Type: text/plain")
    path, _ = volume(tmp_path, [(answer, None)])
    (theirs,) = indexed(path)
    fields = json.loads(theirs.split(" ", 2)[2])
    where = (fields["digest"], int(fields["offset"]), int(fields["length"]), fields["filename"])
    ours = cdxj_line(answer.url, answer.fetched_at, 200, "text/html, text/plain", *where, revisit=False)
    assert ours == theirs


def test_line__agrees_with_pywbs_own_indexer(tmp_path: Path) -> None:
    """But for the algorithm before the digest, and the status of revisits, which that leaves out."""
    if not PYWB.exists():
        pytest.skip("pywb is not set up: run `make test`, which does it")
    path, ours = volume(tmp_path, [*PAGES[:8], *PAGES[9:], (page("http://example.org/none", ""), None)])
    found = subprocess.run([PYWB, "-j", path], check=True, capture_output=True, text=True)
    theirs = found.stdout.splitlines()
    assert len(theirs) == len(ours)
    for our_line, their_line in zip(ours, theirs, strict=True):
        (*our_key, our_json), (*their_key, their_json) = our_line.split(" ", 2), their_line.split(" ", 2)
        expected = json.loads(our_json)
        expected["digest"] = expected["digest"].removeprefix("sha1:")
        if expected["mime"] == "warc/revisit":
            del expected["status"]
        elif "odd" in expected["url"]:
            expected["mime"] = '"te"x\\t/ht\tml"'  # which takes no tab for a space
        assert our_key == their_key
        assert json.loads(their_json) == expected


@given(st.text(), st.text("a%\\\"'é/?&=#\x00 "), st.floats(0, 4e9), st.booleans())
def test_line__is_one_line_of_json_whatever_comes_in(mime: str, tail: str, wall: float, revisit: bool) -> None:
    """No type and no URL breaks the line, the order or the fields."""
    url = str(normal_form(f"http://example.org/{tail}"))
    line = cdxj_line(url, wall, 200, mime, DIGEST, 1, 2, "v.warc.gz", revisit=revisit)
    assert line.isascii()
    assert line.endswith("}\n")
    assert "\n" not in line[:-1]
    assert "\r" not in line
    _, timestamp, fields = line.split(" ", 2)
    assert len(timestamp) == 14
    assert timestamp.isdecimal()
    read = json.loads(fields)
    assert list(read) == FIELDS
    assert read["url"] == url
    assert read["mime"] == "warc/revisit" if revisit else read["mime"] in mime or read["mime"] == "unk"
    assert json.dumps(read) + "\n" == fields


def lines_of(count: int) -> list[str]:
    """Unsorted lines whose keys contain what locales sort otherwise."""
    chance = random.Random(1)
    urls = [f"http://example.org/{''.join(chance.choices('aB1-_,.!~%20', k=5))}" for _ in range(count)]
    return [cdxj_line(url, 1e9 + n, 200, "a/b", DIGEST, n, 9, "v", revisit=False) for n, url in enumerate(urls)]


def test_sort__is_bytewise(tmp_path: Path) -> None:
    """As `LC_ALL=C sort` does it, which is what binary search in an index relies on."""
    journal, sealed = tmp_path / "v.cdxj.open", tmp_path / "v.cdxj"
    journal.write_text("".join(lines_of(3000)))
    expected = subprocess.run(["sort", journal], check=True, capture_output=True, env={**os.environ, "LC_ALL": "C"})
    sort_cdxj(journal, sealed)
    assert sealed.read_bytes() == expected.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["v.cdxj"]


def test_sort__of_a_volume_is_what_cdxj_indexer_sorts(tmp_path: Path) -> None:
    """The final file, byte for byte."""
    path, lines = volume(tmp_path, PAGES)
    journal, sealed = tmp_path / "v.cdxj.open", tmp_path / "v.cdxj"
    journal.write_text("".join(lines))
    sort_cdxj(journal, sealed)
    theirs = tmp_path / "theirs.cdxj"
    subprocess.run([INDEXER, "--sort", "--output", theirs, path], check=True)
    assert sealed.read_bytes() == theirs.read_bytes()


def test_sort__may_be_interrupted_anywhere(tmp_path: Path) -> None:
    """Half a file beside, or both files there: doing it again ends the same. Done already: nothing happens."""
    journal, sealed = tmp_path / "v.cdxj.open", tmp_path / "v.cdxj"
    text = "".join(lines_of(50))
    (tmp_path / "v.cdxj.new").write_text("half a li")
    journal.write_text(text)
    sort_cdxj(journal, sealed)
    done = sealed.read_bytes()
    journal.write_text(text)
    sort_cdxj(journal, sealed)
    sort_cdxj(journal, sealed)
    assert sealed.read_bytes() == done
    assert [path.name for path in tmp_path.iterdir()] == ["v.cdxj"]


@pytest.mark.parametrize(("before", "after"), [("", ""), ("b 1 {}\na 1 {}\n", "a 1 {}\nb 1 {}\n")])
def test_sort__of_little(tmp_path: Path, before: str, after: str) -> None:
    """An empty journal becomes an empty index."""
    (tmp_path / "j").write_text(before)
    sort_cdxj(tmp_path / "j", tmp_path / "s")
    assert (tmp_path / "s").read_text() == after


def test_sort__says_what_the_disk_says(tmp_path: Path) -> None:
    """With the place; and the journal stays."""
    (tmp_path / "j").write_text("a 1 {}\n")
    with pytest.raises(WeftError, match=r"cannot write: No such file or directory .*missing"):
        sort_cdxj(tmp_path / "j", tmp_path / "missing" / "s")
    assert (tmp_path / "j").exists()


def test_doctests__hold() -> None:
    """The examples are true."""
    failed, tried = doctest.testmod(importlib.import_module("weft.store.cdxj"))
    assert tried
    assert not failed
