"""The text of Office Open XML: documents (docx) and presentations (pptx). In: an archive. Out: the words of its parts.

Sheets (xlsx) are in `sheets`: what stands in their cells is numbers of a table of texts.
"""

from __future__ import annotations

import re

from weft.text.gathering import Gathering, Stopped, Why
from weft.text.markup import Words, read_words
from weft.text.zipped import Archive

_DOCUMENT = Words(
    holds={"t"},
    before={"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"},
    behind={"p": "\n", "tc": "\t"},
    without={"Fallback"},  # the same once more, for old readers
)
_SLIDE = Words(holds={"t"}, before={"br": "\n"}, behind={"p": "\n"}, without={"Fallback"})
_PARTS = re.compile(r"word/(document|header\d*|footnotes|endnotes|comments|footer\d*)\d*\.xml")
_ORDER = ("document", "header", "footnotes", "endnotes", "comments", "footer")
_SLIDES = re.compile(r"ppt/(slides|notesSlides)/(?:slide|notesSlide)(\d{1,9})\.xml")


def read_docx(body: bytes, _charset: str, into: Gathering) -> None:
    """A document: its text, then notes, comments, headers and footers."""
    archive = Archive(body, into)
    parts = [found for name in archive.names if (found := _PARTS.fullmatch(name)) is not None]
    if not parts:
        raise Stopped(Why.BROKEN)
    for part in sorted(parts, key=lambda part: (_ORDER.index(part[1].rstrip("0123456789")), part[0])):
        read_words(archive.chunks(part[0]), _DOCUMENT, into)
        into.add("\n")


def read_pptx(body: bytes, _charset: str, into: Gathering) -> None:
    """A presentation: each slide, then its notes."""
    archive = Archive(body, into)
    slides = [found for name in archive.names if (found := _SLIDES.fullmatch(name)) is not None]
    if not slides:
        raise Stopped(Why.BROKEN)
    for slide in sorted(slides, key=lambda slide: (int(slide[2]), slide[1] != "slides")):
        read_words(archive.chunks(slide[0]), _SLIDE, into)
        into.add("\n")
