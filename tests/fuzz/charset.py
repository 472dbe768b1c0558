"""Charsets: every content has one that Python knows, and what a page declares is found as the standard says.

The first line of an input is what the header declares.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.corpora import answers, html_cases
from tests.fuzz.target import Target, words

from weft.parse.decode import charset_of, known_charset
from weft.parse.prescan import charset_named, prescan

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_BLANKS = b"\t\n\f\r "
_LOOKED_AT = 4_096


def check(data: bytes) -> None:
    """What is found is a charset, and by the book."""
    declared, _, body = data.partition(b"\n")
    for label in ("", declared.decode("latin-1")):
        name = charset_of(body, label)
        assert codecs.lookup(name).name
        text = body.decode(name, "replace")
        text.encode("utf-8", "replace")
        assert len(text) <= len(body) + 4
        known = known_charset(label)
        assert not known or codecs.lookup(known)
    start = body[:_LOOKED_AT]
    assert prescan(start) == prescan_by_the_book(start)


class _OutOfBytes(Exception):  # noqa: N818  it ends the algorithm, as the standard has it
    """The position is behind the last byte."""


class _Book:
    """The HTML standard's "prescan a byte stream to determine its encoding" (13.2.3.2), step by step as it is told."""

    def __init__(self, data: bytes) -> None:
        self.data = data.lower()
        self.at = 0

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise _OutOfBytes
        return self.data[self.at]

    def starts(self, text: bytes) -> bool:
        return self.data.startswith(text, self.at)

    def to(self, stops: bytes) -> None:
        while self.byte() not in stops:
            self.at += 1

    def past(self, skipped: bytes) -> None:
        while self.byte() in skipped:
            self.at += 1

    def declared(self) -> str:
        while True:
            self.byte()
            if self.starts(b"<!--"):
                end = self.data.find(b"-->", self.at + 2)
                if end < 0:
                    raise _OutOfBytes
                self.at = end + 2
            elif self.starts(b"<meta") and self.data[self.at + 5 : self.at + 6] in [
                b"%c" % each for each in _BLANKS + b"/"
            ]:
                self.at += 5
                if found := self.meta():
                    return found
            elif self.starts(b"<") and self.data[self.at + 1 :].removeprefix(b"/")[:1].isalpha():
                self.to(_BLANKS + b">")
                while self.attribute() is not None:
                    pass
            elif self.starts(b"<!") or self.starts(b"</") or self.starts(b"<?"):
                self.to(b">")
            self.at += 1

    def meta(self) -> str:
        names: set[bytes] = set()
        pragma, needs, charset = False, None, None
        while (pair := self.attribute()) is not None:
            name, value = pair
            if name in names:
                continue
            names.add(name)
            if name == b"http-equiv":
                pragma = pragma or value == b"content-type"
            elif name == b"content":
                if charset is None and (found := self.in_content(value)):
                    charset, needs = found, True
            elif name == b"charset":
                charset, needs = _named(value), False
        if needs is None or (needs and not pragma) or not charset:
            return ""
        return "utf-8" if charset.startswith("utf-16") else charset

    def attribute(self) -> tuple[bytes, bytes] | None:
        """Get an attribute."""
        self.past(_BLANKS + b"/")
        if self.byte() == ord(">"):
            return None
        name = bytearray()
        while not (self.byte() == ord("=") and name):
            if self.byte() in _BLANKS:
                self.past(_BLANKS)
                if self.byte() != ord("="):
                    return bytes(name), b""
                break
            if self.byte() in b"/>":
                return bytes(name), b""
            name.append(self.byte())
            self.at += 1
        self.at += 1
        self.past(_BLANKS)
        value = bytearray()
        if (quote := self.byte()) in b"\"'":
            self.at += 1
            while self.byte() != quote:
                value.append(self.byte())
                self.at += 1
            self.at += 1
            return bytes(name), bytes(value)
        while self.byte() not in _BLANKS + b">":
            value.append(self.byte())
            self.at += 1
        return bytes(name), bytes(value)

    @staticmethod
    def in_content(value: bytes) -> str:
        """Extracting a character encoding from a meta element."""
        at = 0
        while (at := value.find(b"charset", at)) >= 0:
            at += 7
            rest = value[at:].lstrip(_BLANKS)
            if not rest.startswith(b"="):
                continue
            rest = rest[1:].lstrip(_BLANKS)
            if rest[:1] in (b'"', b"'"):
                named, closed, _ = rest[1:].partition(rest[:1])
                return _named(named) if closed else ""
            for stop in _BLANKS + b";":
                rest = rest.split(bytes([stop]), 1)[0]
            return _named(rest)
        return ""


def _named(label: bytes) -> str:
    text = label.decode("latin-1").strip(_BLANKS.decode())
    return "cp1252" if text == "x-user-defined" else charset_named(text)


def prescan_by_the_book(data: bytes) -> str:
    """What these bytes declare, or ""."""
    for start, name in ((b"<\0?\0x\0", "utf-16-le"), (b"\0<\0?\0x", "utf-16-be")):
        if data.startswith(start):
            return name
    try:
        return _Book(data).declared()
    except _OutOfBytes:
        return _xml_declared(data)


def _xml_declared(data: bytes) -> str:
    """Get an XML encoding."""
    controls = bytes(range(0x21))
    at = data.find(b"encoding")
    if not data.startswith(b"<?xml") or b">" not in data or at < 0:
        return ""
    rest = data[at + 8 :].lstrip(controls)
    if not rest.startswith(b"="):
        return ""
    rest = rest[1:].lstrip(controls)
    quote = rest[:1]
    if quote not in (b'"', b"'"):
        return ""
    named, closed, _ = rest[1:].partition(quote)
    if not closed or any(byte <= 0x20 for byte in named):
        return ""
    name = charset_named(named.decode("latin-1"))
    return "utf-8" if name.startswith("utf-16") else name


def real(data: Path) -> list[bytes]:
    """Pages, without a header."""
    return [b"\n" + body for body in html_cases(data / "html5lib-tree") + answers(data / "warc-samples")]


def grammar() -> SearchStrategy[bytes]:
    """Declarations, and what may hide them."""
    from hypothesis import strategies as st

    some = st.sampled_from
    label = some(
        [
            *words(
                r"utf-8 UTF-16 latin1 shift_jis x-user-defined nonsense big5 iso-2022-kr koi8-r \x20gbk\x20 \xff "
                r"utf-16be hz-gb-2312 replacement iso-8859-8-i"
            ),
            b"",
        ]
    )
    piece = some(
        words(
            r"<meta\x20 <meta/ <META\n charset CHARSET = \x20=\x20 ' \x22 > /> \x20 http-equiv=content-type\x20 "
            r"content= text/html;charset= <!-- --> <! <? </p <p\x20a= <?xml\x20 encoding= ?> \xef\xbb\xbf \xff\xfe "
            r"\x00 \xc3\xa9 \xe9 < x"
        )
    )
    body = st.lists(piece | piece | label, max_size=30).map(b"".join) | st.binary(max_size=60)
    return st.tuples(label, st.just(b"\n"), some([b"", b"<?xml version='1.0' ", b"\xfe\xff"]), body).map(b"".join)


TARGET = Target(
    check,
    own=(
        b"\n<!-- <meta charset='koi8-r'> --><meta content='use charset=big5'><meta charset=latin1>",
        b"utf-16\n<\0h\0t\0m\0l\0>\0",
        b"iso-8859-1\n\xe9\xe8<meta http-equiv='Content-Type' content='text/html; charset=\"shift_jis\"'>\x83\x65",
        b"\n<?xml version='1.0' encoding='euc-jp'?>",
    ),
    real=real,
    words=words(
        r"<meta\x20 charset= http-equiv= content-type content= <?xml encoding= <!-- --> utf-8 utf-16 shift_jis "
        r"' \x22 > \xef\xbb\xbf \xff\xfe \xfe\xff \n \x00"
    ),
    grammar=grammar,
    largest=20_000,
)
