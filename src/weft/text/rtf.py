"""The text of an RTF file, by striprtf. In: its bytes. Out: its words."""

from __future__ import annotations

import re

from weft.text.gathering import Gathering

_codepage = re.compile(rb"\\ansicpg(\d{3,5})")
_pictures = re.compile(rb"\\(?:pict|objdata)\b[^{}]*")  # hexadecimal digits, often most of a file


def read_rtf(body: bytes, _charset: str, into: Gathering) -> None:
    """What is in a file of the Rich Text Format."""
    from striprtf.striprtf import rtf_to_text  # few crawls want it

    found = _codepage.search(body[:2048])
    charset = f"cp{found[1].decode()}" if found else "cp1252"
    try:
        "".encode(charset)
    except LookupError:
        charset = "cp1252"
    into.check()
    text = _pictures.sub(b"", body).decode("latin-1")  # what is not ASCII is escaped
    into.add(rtf_to_text(text, encoding=charset, errors="replace"))  # type: ignore[no-untyped-call]
