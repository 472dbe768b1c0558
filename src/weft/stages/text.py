"""The text of every content whose format can be read: its words without markup, how many, and why there are none.

It runs apart: what reads a format may take long, or crash. A content that ends the process has the reason `ended`, and
nothing else is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from weft.clock import Clock, SystemClock
from weft.errors import UsageError
from weft.model import Column, Filled
from weft.parse.media import types_meant
from weft.parse.stage import ReadPage, Run, Stage
from weft.settings import setting

if TYPE_CHECKING:  # who only reads settings need not load what reads formats
    from weft.text.formats import Extracted

_LONGEST = 9.0  # seconds: less than what a stage may take at all


def _type_complaint(text: str) -> str:
    try:
        types_meant(text)
    except UsageError as error:
        return error.todo
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What is kept of the texts of pages."""

    text: Literal["no", "main", "whole", "both"] = setting(
        "no",
        "keep the text of pages: the main one, without menus and the like, the whole one, or both; of formats other "
        "than HTML it is the whole one. Which formats are collected at all is said by `types`",
    )
    text_as: Literal["columns", "warc", "both"] = setting(
        "columns", "where texts are kept: as columns of `pages`, as conversion records in the volumes, or both"
    )
    text_bytes: int = setting(500_000, "what is kept of a text, in UTF-8", at_least=1, at_most=50_000_000, unit="bytes")
    text_seconds: float = setting(
        5.0, "how long a text may take; what was read until then is kept", above=0, at_most=_LONGEST, unit="seconds"
    )
    text_types: tuple[str, ...] = setting(
        ("*/*",), "the types of which texts are kept, as for `types`: pdf, text/* …", check=_type_complaint
    )


COLUMNS = (
    Column("text", "large_string", "text of the content: the main one, or the whole one, as `text` says"),
    Column("whole_text", "large_string", "the whole one, where `text` is `both`"),
    Column("text_characters", "int32", "characters of `text`"),
    Column("text_words", "int32", "words of `text`: what stands between blanks"),
    Column("text_format", "string", "what it was read as: html, plain, pdf, docx …; null where it is none of these"),
    Column("text_reason", "string", "why there is no text, or not all of it; null where all is there"),
    Column("text_ms", "float32", "milliseconds that it took"),
    Column(
        "text_signs",
        "string",
        "signs that the content was misread, separated by commas: `no-links` (of an HTML page), `no-words`, "
        "`long-strings` (more than half of it in strings of over 30 characters without a blank); null where there "
        "are none",
    ),
)


def _make(settings: Texts, clock: Clock | None = None) -> Run:
    """What makes the text of a page, under these settings."""
    from weft.text.formats import Limits, extract

    meant = [each for text in settings.text_types for each in types_meant(text)]
    prefixes = ("",) if "*/*" in meant else tuple(each.rstrip("*") for each in meant)
    limits = Limits(settings.text_bytes, settings.text_seconds)
    which = "whole" if settings.text == "no" else settings.text
    time = clock or SystemClock()

    def run(page: ReadPage) -> Filled:
        """Make the text of a page."""
        if not page.type.startswith(prefixes):
            return Filled()
        began = time.now()
        found = extract(page.body, page.type, page.charset, limits, which, time)
        return _filled(found, page, settings, (time.now() - began) * 1e3)

    return run


def _filled(found: Extracted, page: ReadPage, settings: Texts, took: float) -> Filled:
    from weft.text.signs import signs_of, words_in

    html = found.format == "html"
    read = bool(found.text) or found.reason == "no-text"
    values = {
        "text": found.text or None,
        "whole_text": found.whole or None,
        "text_characters": len(found.text) if read else None,
        "text_words": words_in(found.text) if read else None,
        "text_format": found.format or None,
        "text_reason": None if found.reason is None else found.reason.value,
        "text_ms": took,
        "text_signs": (signs_of(found.text, page.link_count if html else None) or None) if read else None,
    }
    return Filled(
        values,
        conversion="" if settings.text_as == "columns" else ("whole_text" if settings.text == "both" else "text"),
        unwritten=("text", "whole_text") if settings.text_as == "warc" else (),
    )


TEXT = Stage(
    name="text",
    doc="the text of each content, its length and why there is none; where `text` is set",
    columns=COLUMNS,
    apart=True,
    ended={"text_reason": "ended"},
    settings=Texts,
    make=_make,
    wanted=lambda settings: bool(settings.text != "no"),
)
