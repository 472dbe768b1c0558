"""Stages for tests, which workers find by name: one that fills columns, one that has a table and runs apart, and some
that do whatever a stage should not.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import partial
from typing import Any

from weft.model import Column
from weft.parse.stage import ReadPage, Stage

_word = re.compile(r"[a-z]{4,}")


def _count(page: ReadPage) -> dict[str, Any]:
    """How long a page is."""
    words = _word.findall(page.text.lower())
    return {"words": len(words), "first_word": words[0] if words else None}


WORDS = Stage(
    name="words",
    doc="how many words a page has",
    run=_count,
    columns=(
        Column("words", "int32", "words of four letters and more"),
        Column("first_word", "string", "the first of them"),
    ),
)


def _most(page: ReadPage) -> list[tuple[str, int]]:
    """Its most frequent words."""
    assert page.columns["words"] >= 0, "it runs after `words`, and sees what that found"
    return Counter(_word.findall(page.text.lower())).most_common(3)


FREQUENT = Stage(
    name="frequent",
    doc="the most frequent words of a page",
    run=_most,
    table=(Column("word", "string", "a word"), Column("times", "int64", "how often it stands there")),
    apart=True,
)


def _harm(page: ReadPage, *, apart: bool = False) -> Any:
    """What it does depends on the page."""
    what = sum(page.url.encode()) % 8
    if what == 0:
        raise RuntimeError("a stage that raises")
    if what == 1:
        return {"bad": "no number"}
    if what == 2:
        return {"other": 1}
    if what == 3:
        return 7
    if what == 4:
        return [("a", "row", "too many")]
    if what == 5:
        return {"bad": 1 << 70}
    if what == 6 and apart:
        os._exit(1)
    return {"bad": 1}


HARMFUL = Stage(
    name="harmful",
    doc="whatever should not be",
    run=_harm,
    columns=(Column("bad", "int64", "a number"),),
)
HARMFUL_APART = Stage(
    name="harmful", doc="the same", run=partial(_harm, apart=True), columns=HARMFUL.columns, apart=True
)


def faults_of(url: str, *, apart: bool) -> int:
    """How many faults `harmful` makes of a page."""
    what = sum(url.encode()) % 8
    return int(what < (7 if apart else 6))


def _hang(page: ReadPage) -> None:
    """Never comes back, on a few pages."""
    while sum(page.url.encode()) % 40 == 0:
        pass


HANGING = Stage(name="hanging", doc="does not come back", run=_hang, apart=True)
