"""The SimHash of a page's text: what near-duplicates are known by. It runs apart: the text of a megabyte of markup
takes longer than others may wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.model import Column
from weft.parse.stage import ReadPage, Stage
from weft.settings import setting
from weft.urls import signed

LEAST_WORDS = 20
"""Words that a text needs, by itself: chosen by the benchmark `near-duplicates`."""
_LONGEST = 1_000_000  # characters that are looked at
_HTML = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Simhashing:
    """Settings of the stage."""

    simhash: bool = setting(
        False,
        "make a SimHash of the text of each page, by which near-duplicates are known: the column `simhash` of "
        "`pages`, for `weft duplicates`",
    )
    simhash_words: int = setting(
        LEAST_WORDS, "a text with fewer words has no SimHash, as one word more or less would change it", at_least=3
    )


def _make(settings: Simhashing) -> Callable[[ReadPage], dict[str, int] | None]:
    """What looks at a page. The libraries are loaded here, where the stage runs, and not by who reads settings."""
    from weft.text.html import whole_text
    from weft.text.simhash import simhash

    def run(page: ReadPage) -> dict[str, int] | None:
        if page.type in _HTML:
            text = whole_text(page.text[:_LONGEST])
        elif page.type == "text/plain":
            text = page.text[:_LONGEST]
        else:
            return None
        bits, words = simhash(text)
        return {"simhash": signed(bits)} if words >= settings.simhash_words else None

    return run


SIMHASH = Stage(
    name="simhash",
    doc="a 64-bit SimHash of the text of HTML and plain text, which near-duplicates are known by: `simhash` of `pages`",
    columns=(
        Column(
            "simhash",
            "int64",
            "SimHash of the words of the page (its first million characters), over three words in a row, 64 bits read "
            "as a signed number: texts that differ little differ in few bits; null where it is no text, or has fewer "
            "words than `simhash_words`. `weft.text.simhash` says how it is computed, for other programs",
        ),
    ),
    apart=True,
    settings=Simhashing,
    make=_make,
    wanted=lambda settings: bool(settings.simhash),
)
