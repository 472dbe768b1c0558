"""The language that a text is written in, beside the one that its page declares. It runs apart: the text must be made
first, where nobody has, and others cannot wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.model import Column
from weft.parse.stage import ReadPage, Run, Stage
from weft.settings import setting

_HTML = frozenset(("text/html", "application/xhtml+xml"))
_MOST_MARKUP = 200_000  # characters of a page of which no text is there


@dataclass(frozen=True, slots=True, kw_only=True)
class Languages:
    """What is found out about languages."""

    detect_language: bool = setting(
        False,
        "find out which language the text of a page is in; with `text`, also of other formats than HTML and plain text",
    )


def _make(_settings: Languages) -> Run:
    """What finds out the language of a page."""
    from weft.text.language import detector

    detect = detector()

    def run(page: ReadPage) -> dict[str, Any] | None:
        """Find out the language of a page."""
        found = detect(text_of(page))
        return None if found is None else {"detected_language": found.language, "language_confidence": found.confidence}

    return run


def text_of(page: ReadPage) -> str:
    """The text of a page: as the stage `text` found it, where that runs, else in short."""
    if "text_reason" in page.columns:
        return page.columns.get("text") or ""
    if page.type in _HTML:
        from weft.text.html import whole_text

        return whole_text(page.text[:_MOST_MARKUP])
    return page.text[:_MOST_MARKUP] if page.type == "text/plain" else ""


LANGUAGE = Stage(
    name="language",
    doc="the language that the text of each page is in; where `detect_language` is set",
    columns=(
        Column("detected_language", "string", "language of its text, by ISO 639-1; null where there is too little"),
        Column("language_confidence", "float32", "how sure that is, from 0 to 1"),
    ),
    apart=True,
    settings=Languages,
    make=_make,
    wanted=lambda settings: bool(settings.detect_language),
)
