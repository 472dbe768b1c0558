"""Signs that a page was misread: no words, long strings without a blank, no links (P3 4.2, 5.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.model import Column
from weft.parse.misread import COLUMN, signs_of
from weft.parse.stage import ReadPage, Stage
from weft.settings import setting
from weft.stages.language import text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Misreading:
    """Settings of the stage."""

    detect_misread: bool = setting(
        False, "note signs that a page was misread, which keep it from classifiers: the column `misread` of `pages`"
    )


def _run(page: ReadPage) -> dict[str, Any] | None:
    """The signs of a page, if it has any."""
    if not page.type.startswith("text/") and "xhtml" not in page.type:
        return None
    signs = signs_of(text_of(page), page.link_count if page.type != "text/plain" else 1)
    return {COLUMN: signs} if signs else None


MISREAD = Stage(
    name="misread",
    doc="signs that a page was misread, which keep it from classifiers; where `detect_misread` is set",
    columns=(
        Column(
            COLUMN,
            "string",
            "signs that the page was misread: no-words, long-strings (most of its text is in strings of more than 30 "
            "characters without a blank), no-links; null where there is none",
        ),
    ),
    apart=True,
    settings=Misreading,
    run=_run,
    wanted=lambda settings: bool(settings.detect_misread),
)
