"""Contents of earlier crawls, by their indexes: which lines are of use, and what is remembered of them."""

from __future__ import annotations

import gzip
import json
from hashlib import sha1
from pathlib import Path

from weft.store.contents import Contents
from weft.store.known import Known, take_in
from weft.store.volumes import Original
from weft.store.warc import base32
from weft.urls import fingerprint

SECRET = b"secret"


def digest(text: str) -> bytes:
    """Of a content."""
    return sha1(text.encode(), usedforsecurity=False).digest()


def line(path: str, written: str, **more: str) -> str:
    """A line of an index."""
    fields = {"url": f"http://a.example/{path}", "mime": "text/html", "status": "200", "digest": written}
    return f"example,a)/{path} 20240229123456 {json.dumps(fields | more)}\n"


LINES = [
    line("one", base32(digest("one"))),
    line("bare", base32(digest("bare")).removeprefix("sha1:")),
    line("hex", f"sha1:{digest('hex').hex()}"),
    line("one-again", base32(digest("one"))),
    line("revisit", base32(digest("revisit")), mime="warc/revisit"),
    line("sha256", "sha256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"),
    line("md5", "d41d8cd98f00b204e9800998ecf8427e"),
    line("none", ""),
    line("post", base32(digest("post")), method="POST"),
    line("empty", base32(digest(""))),
    "no line at all\n",
]


def test_index__says_how_many_lines_are_of_use(tmp_path: Path) -> None:
    """SHA-1 in the two forms that are written; all others are counted by what is wrong with them."""
    index, said = tmp_path / "old.cdxj.gz", list[str]()
    index.write_bytes(gzip.compress(("!meta {}\n" + "".join(LINES)).encode()))
    take_in(tmp_path / "contents", SECRET, (str(index),), said.append)
    [source] = Known(tmp_path / "contents").sources
    assert (source.lines, source.usable) == (len(LINES), 4)
    assert source.left_out == {
        "revisits": 1,
        "with another digest than SHA-1": 2,
        "without a digest": 1,
        "not by GET": 1,
        "empty": 1,
        "not CDXJ": 1,
    }
    assert f"4 of {len(LINES)} captures of {index}" in said[0]


def test_contents__know_what_earlier_crawls_have(tmp_path: Path) -> None:
    """Any worker finds it, with where it is, under the URL that came first; its time is known to the second."""
    index, folder = tmp_path / "old.cdxj", tmp_path / "contents"
    index.write_text("".join(LINES), encoding="utf-8")
    take_in(folder, SECRET, (str(index),), lambda _text: None)
    for worker in (0, 1):
        contents = Contents(folder, worker, SECRET)
        found = contents.first(digest("one"), 1, "http://now.example/", 2e9)
        url = "http://a.example/one"
        assert found == Original(fingerprint(url), url, 1709210096.0, str(index), by_second=True)
        assert found.date == "2024-02-29T12:34:56Z"
        assert contents.first(digest("revisit"), 1, "http://now.example/", 2e9) is None
        contents.close()


def test_source__is_read_once_and_stays_known(tmp_path: Path) -> None:
    """Also when it is gone by then, and when another one comes in."""
    one, two, folder, said = tmp_path / "1.cdxj", tmp_path / "2.cdxj", tmp_path / "contents", list[str]()
    one.write_text(LINES[0], encoding="utf-8")
    take_in(folder, SECRET, (str(one),), said.append)
    one.unlink()
    two.write_text(LINES[1] + LINES[0], encoding="utf-8")
    for _ in range(2):
        take_in(folder, SECRET, (str(one), str(two)), said.append)
    assert len(said) == 2
    contents = Contents(folder, 0, SECRET)
    sources = [contents.find(digest(name)) for name in ("one", "bare")]
    assert [each.source for each in sources if each] == [str(one), str(two)]
