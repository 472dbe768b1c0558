"""The charset that a page declares, found as the HTML standard has it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.costs import check_linear

from weft.parse.prescan import charset_named, prescan

# --- the standard, word by word ---
#
# Section 13.2.3.2 step by step, a byte at a time: slow and plain, for the fast one to be held against.

BLANKS = b"\t\n\f\r "
LETTERS = b"abcdefghijklmnopqrstuvwxyz"


class OutOfBytes(Exception):  # noqa: N818  it is no error
    """The position goes beyond the end of the byte stream."""


class Plain:
    """Prescan a byte stream to determine its encoding."""

    def __init__(self, stream: bytes) -> None:
        self.stream = stream
        self.position = 0

    @property
    def byte(self) -> int:
        """The byte at the position."""
        if self.position >= len(self.stream):
            raise OutOfBytes
        return self.stream[self.position]

    def prescan(self) -> str:
        """The encoding, or ""."""
        for mark, name in ((b"<\x00?\x00x\x00", "utf-16-le"), (b"\x00<\x00?\x00x", "utf-16-be")):
            if self.stream.startswith(mark):
                return name
        try:
            while True:
                if name := self.loop():
                    return name
                self.position += 1
        except OutOfBytes:
            return self.xml_encoding()

    def loop(self) -> str:
        """What stands at the position, up to its end; the encoding if it is a meta element that has one."""
        assert self.byte is not None
        here = self.stream[self.position :].lower()
        if here.startswith(b"<!--"):
            self.advance_to(here.find(b"-->") + 2 if b"-->" in here else len(here))
        elif here.startswith(b"<meta") and here[5:6] and here[5] in BLANKS + b"/":
            self.position += 5
            return self.meta()
        elif here[:1] == b"<" and here[1:].removeprefix(b"/")[:1] and here[1:].removeprefix(b"/")[0] in LETTERS:
            while self.byte not in BLANKS + b">":
                self.position += 1
            while self.attribute():
                pass
        elif here.startswith((b"<!", b"</", b"<?")):
            self.advance_to(here.find(b">") if b">" in here else len(here))
        return ""

    def advance_to(self, step: int) -> None:
        """Move on, which may be too far."""
        self.position += step
        assert self.byte is not None

    def meta(self) -> str:
        """The encoding that a meta element declares."""
        names: list[str] = []
        got_pragma, need_pragma, charset = False, None, None
        while attribute := self.attribute():
            name, value = attribute
            if name in names:
                continue
            names.append(name)
            if name == "http-equiv":
                got_pragma = value == "content-type"
            elif name == "content":
                if (found := extract(value)) and charset is None:
                    charset, need_pragma = found, True
            elif name == "charset":
                charset, need_pragma = named(value), False
        if need_pragma is None or (need_pragma and not got_pragma) or not charset:
            return ""
        return "utf-8" if charset.startswith("utf-16") else charset

    def attribute(self) -> tuple[str, str] | None:
        """Get an attribute."""
        while self.byte in BLANKS + b"/":
            self.position += 1
        if self.byte == ord(">"):
            return None
        name = value = ""
        while not (self.byte == ord("=") and name):
            if self.byte in BLANKS:
                while self.byte in BLANKS:
                    self.position += 1
                if self.byte != ord("="):
                    return name, ""
                break
            if self.byte in b"/>":
                return name, ""
            name += chr(self.byte).lower() if self.byte < 128 else chr(self.byte)
            self.position += 1
        self.position += 1
        while self.byte in BLANKS:
            self.position += 1
        if self.byte in b"\"'":
            quote = self.byte
            self.position += 1
            while self.byte != quote:
                value += chr(self.byte).lower() if self.byte < 128 else chr(self.byte)
                self.position += 1
            self.position += 1
            assert self.byte is not None
            return name, value
        while self.byte not in BLANKS + b">":
            value += chr(self.byte).lower() if self.byte < 128 else chr(self.byte)
            self.position += 1
        return name, value

    def xml_encoding(self) -> str:
        """Get an XML encoding."""
        if not self.stream.startswith(b"<?xml") or b">" not in self.stream or b"encoding" not in self.stream:
            return ""
        self.position = self.stream.index(b"encoding") + 8
        try:
            while self.byte <= ord(" "):
                self.position += 1
            if self.byte != ord("="):
                return ""
            self.position += 1
            while self.byte <= ord(" "):
                self.position += 1
            quote = self.byte
        except OutOfBytes:
            return ""
        end = self.stream.find(quote, self.position + 1)
        if quote not in b"\"'" or end < 0:
            return ""
        label = self.stream[self.position + 1 : end]
        name = "" if any(byte <= ord(" ") for byte in label) else charset_named(label.decode("latin-1"))
        return "utf-8" if name.startswith("utf-16") else name


def named(label: str) -> str:
    """The encoding of a label in a meta element."""
    return "cp1252" if label.strip("\t\n\f\r ") == "x-user-defined" else charset_named(label)


def extract(string: str) -> str:
    """Extract a character encoding from a meta element."""
    position = 0
    while (found := string.find("charset", position)) >= 0:
        rest = string[found + 7 :].lstrip("\t\n\f\r ")
        if not rest.startswith("="):
            position = len(string) - len(rest)
            continue
        rest = rest[1:].lstrip("\t\n\f\r ")
        if rest[:1] in ("'", '"') and rest:
            return named(rest[1 : rest.index(rest[0], 1)]) if rest[0] in rest[1:] else ""
        for blank in "\t\n\f\r ;":
            rest = rest.partition(blank)[0]
        return named(rest)
    return ""


PIECES = b"""
< > </ <! <!-- --> --!> - <? ?> <?xml <meta <META <metas </meta <p <title> <br/> <script> = / " ' charset
CharSet charset= content= http-equiv= http-equiv=content-type http-equiv="Content-Type"
content="text/html;charset=koi8-r" koi8-r KOI8-R big5 charset=big5
charset="koi8-r" charset='big5' charset=nonsense utf-16 utf-16be x-user-defined "x-user-defined"
encoding encoding="koi8-r" encoding='big5' version="1.0" ;
text/html; content="charset=utf-16" content='charset="koi8-r"'
content=charset='big5' x \xe9 \x00 \x0b <\x00?\x00x\x00 \x00<\x00?\x00x
"""
MARKUP = st.lists(st.sampled_from([*PIECES.split(), *(bytes([blank]) for blank in BLANKS)]), max_size=24)


@settings(max_examples=1000, deadline=None)
@given(st.one_of(MARKUP.map(b"".join), MARKUP.map(b" ".join), st.binary(max_size=60)))
@example(b"<?xml encoding='big5'?>")
@example(b"<meta charset=koi8-r>")
def test_prescan__is_that_of_the_standard(stream: bytes) -> None:
    """For any bytes, the same answer as by its steps taken one after the other."""
    assert prescan(stream) == Plain(stream).prescan()


@settings(max_examples=500, deadline=None)
@given(MARKUP.map(b" ".join))
def test_prescan__finds_metas_behind_anything(stream: bytes) -> None:
    """The same where a declaration follows, so that whatever is misread shows."""
    for end in (b"><meta charset=big5>", b"'><meta charset=big5>", b'"><meta charset=big5>', b"--><meta charset=big5>"):
        assert prescan(stream + end) == Plain(stream + end).prescan()


@pytest.mark.parametrize(
    ("markup", "codec"),
    [
        ("<meta charset=koi8-r>", "koi8-r"),
        ("<META/CHARSET = 'KOI8-R'/>", "koi8-r"),
        ("<meta name=x charset='\n koi8-r\t'>", "koi8-r"),
        ("<!-- <meta charset=big5> --><meta charset=koi8-r>", "koi8-r"),
        ("<!--><meta charset=koi8-r>-->", "koi8-r"),
        ("<!-- <meta charset=koi8-r>", ""),
        ("<meta content='use charset=big5'><meta charset=koi8-r>", "koi8-r"),
        ("<meta name=description content='text/html; charset=big5'>", ""),
        ("<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", "koi8-r"),
        ("<meta content='text/html; charset=koi8-r' http-equiv=content-type>", "koi8-r"),
        ("<meta http-equiv=x content='text/html; charset=koi8-r'>", ""),
        ("<meta http-equiv=content-type content='charset charset = \"koi8-r\" charset=big5'>", "koi8-r"),
        ("<meta http-equiv=content-type content='charset=\"koi8-r'>", ""),
        ("<meta http-equiv=content-type content='charset=koi8-r;big5'>", "koi8-r"),
        ("<meta http-equiv=content-type content='charset=big5' charset=koi8-r>", "koi8-r"),
        ("<meta charset=nonsense http-equiv=content-type content='charset=big5'><meta charset=koi8-r>", "koi8-r"),
        ("<meta charset=nonsense charset=big5><meta charset=koi8-r><meta charset=big5>", "koi8-r"),
        ("<meta charset=utf-16><meta charset=koi8-r>", "utf-8"),
        ("<meta charset=utf-16be>", "utf-8"),
        ("<meta charset=X-User-Defined>", "cp1252"),
        ("<metas charset=big5><meta charset=koi8-r>", "koi8-r"),
        ("</meta charset=big5>", ""),
        ("<script charset=big5></script>", ""),
        ("<title data='<meta charset=big5>'></title><meta charset=koi8-r>", "koi8-r"),
        ("<a/b='><meta charset=big5>'>", "big5hkscs"),
        ("<p><meta charset=koi8-r", ""),
        ("<meta charset='koi8-r>", ""),
        ("<!x '><meta charset=koi8-r>", "koi8-r"),
        ("<?php '><meta charset=koi8-r>", "koi8-r"),
        ("</ '><meta charset=koi8-r>", "koi8-r"),
        ("< ><meta charset=koi8-r>", "koi8-r"),
        ("<?xml version='1.0' encoding = \"koi8-r\"?>", "koi8-r"),
        ("<?xml version='1.0' encoding='big5'?><meta charset=koi8-r>", "koi8-r"),
        ("<?xml version='1.0' encoding='utf-16'?>", "utf-8"),
        ("<?xml version='1.0' encoding=' koi8-r'?>", ""),
        ("<?xml encoding encoding='koi8-r'?>", ""),
        ("<?xml encoding='koi8-r'", ""),
        (" <?xml encoding='koi8-r'?>", ""),
        ("<\x00?\x00x\x00", "utf-16-le"),
        ("\x00<\x00?\x00x", "utf-16-be"),
    ],
)
def test_prescan__reads_what_counts_and_nothing_else(markup: str, codec: str) -> None:
    """Comments, other elements, other metas and words in attributes do not; the first that names a charset does."""
    assert prescan(markup.encode()) == codec == Plain(markup.encode()).prescan()


@pytest.mark.parametrize(
    "piece",
    [
        b"<",
        b"<!--",
        b"<a ",
        b"<meta ",
        b"<meta x='",
        b'<a b="',
        b"a=b ",
        b"<meta charset=x>",
        b"--",
        b"<?xml ",
        b"= ",
        b"/",
    ],
)
def test_prescan__takes_linear_time(piece: bytes) -> None:
    """No piece of markup costs more because there is much of it."""
    check_linear(lambda size: b"<meta " + piece * (size // len(piece)) + b" charset", prescan, size=400_000)
    check_linear(lambda size: piece * (size // len(piece)) + b" charset", prescan, size=400_000)
