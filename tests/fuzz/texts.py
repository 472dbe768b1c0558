"""Texts of contents: the readers that are our own give a text within its bound, or a reason, whatever they are given.

PDF and old sheets are read by libraries in other languages, in a process apart that they may end; they are not here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests import documents
from tests.fuzz.corpora import answers
from tests.fuzz.target import Target, words

from weft.text.formats import BY_NAME, Limits, Which, extract, format_of
from weft.text.gathering import Why
from weft.text.signs import signs_of
from weft.text.simhash import simhash

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

NAMES = ("html", "plain", "rtf", "docx", "pptx", "odt", "ods", "mail", "epub")
LIMITS = Limits(text_bytes=50_000, seconds=60.0)
"""Time is up to who watches the process: an input that takes long is a failure here."""


def check(data: bytes) -> None:
    """By the type that the first byte stands for, or what the content itself says."""
    name = NAMES[data[0] % len(NAMES)] if data else "html"
    body, media = data[1:], BY_NAME[name].types[0]
    found = format_of(body, media)
    if found is not None and found.name not in NAMES:
        return
    ways: tuple[Which, ...] = ("whole", "main") if name == "html" and len(body) < 5_000 else ("whole",)
    for which in ways:
        extracted = extract(body, media, "utf-8", LIMITS, which)
        encoded = extracted.text.encode("utf-8")  # it can be written
        assert len(encoded) <= LIMITS.text_bytes
        assert extracted.text or extracted.reason is not None
        assert extracted.reason is not Why.TIME
        assert "\0" not in extracted.text
        bits, words = simhash(extracted.text)
        assert 0 <= bits < 2**64
        assert 0 <= words <= len(extracted.text)
        assert signs_of(extracted.text, 0).startswith("no-links")


_MADE: dict[str, Callable[[], bytes]] = {
    "html": documents.html,
    "plain": documents.plain,
    "rtf": documents.rtf,
    "docx": documents.docx,
    "pptx": documents.pptx,
    "odt": lambda: documents.opendocument("odt"),
    "ods": lambda: documents.opendocument("ods"),
    "mail": documents.mail,
    "epub": documents.epub,
}


def real(data: Path) -> list[bytes]:
    """Contents of web archives, each as what it is not, too."""
    return [bytes([len(body) % 3]) + body for body in answers(data / "warc-samples")]


def grammar() -> SearchStrategy[bytes]:
    """Documents of each format, of which some bytes are others."""
    from hypothesis import strategies as st

    made = [bytes([number]) + _MADE[name]() for number, name in enumerate(NAMES)]
    change = st.tuples(st.integers(0, 3_000), st.binary(max_size=4), st.integers(0, 8))

    def changed(two: tuple[bytes, list[tuple[int, bytes, int]]]) -> bytes:
        data, changes = two
        for at, other, without in changes:
            place = 1 + at % len(data)
            data = data[:place] + other + data[place + without :]
        return data

    return st.tuples(st.sampled_from(made), st.lists(change, max_size=5)).map(changed)


TARGET = Target(
    check,
    own=tuple(bytes([number]) + _MADE[name]() for number, name in enumerate(NAMES)),
    real=real,
    words=words(
        r"{\x5crtf1 \x5cu8364? \x5cbin9 {\x5c* } PK\x03\x04 PK\x05\x06 <w:t> <text:p> <!ENTITY <pre> </script> "
        r"Content-Type:\x20multipart/mixed;\x20boundary=x\n\n --x Content-Transfer-Encoding:\x20base64 "
        r"=?utf-8?b? \x01 \xe3\x81 \xe4"
    ),
    grammar=grammar,
)
