"""Cloaking: pages that are others for browsers than for robots (P3 4.2). Some pages are asked for a second time, in the
same visit, as a browser would; the row of that request, of the kind `check`, says how much is the same.

The loop asks (`weft.engine.checking`); here are the setting and the column.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.model import Column
from weft.parse.stage import ReadPage, Stage
from weft.settings import setting

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
COLUMN = "same_words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloaking:
    """Settings of the stage."""

    cloaking_sample: float = setting(
        0.0,
        "share of the pages that are asked for a second time, as a browser would, to see whether these are shown "
        "something else: rows of the kind `check`, with `same_words`. Sites are told another User-Agent then",
        at_least=0,
        at_most=1,
    )


def _run(_page: ReadPage) -> None:
    """A page itself has nothing to compare with."""


CLOAKING = Stage(
    name="cloaking",
    doc="how much of a page a browser is shown too, for a sample of pages; where `cloaking_sample` is set",
    columns=(
        Column(
            COLUMN,
            "float32",
            "of a check as a browser: share of the words of both answers that are in both, 1 where they are the same; "
            "null of all other rows",
        ),
    ),
    settings=Cloaking,
    run=_run,
    wanted=lambda settings: settings.cloaking_sample > 0,
)
