"""Stages as values: what they bring with them is all that there is to add."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from weft.model import Column, Filled
from weft.parse.stage import ReadPage, Stage, filled, stage_named
from weft.settings import build, setting
from weft.stages import STAGES, Staging, section_of, settings_of
from weft.store.extra import Extra


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Settings of a stage."""

    lengths: bool = setting(False, "note how long pages are")
    longest: int = setting(100, "what is longer counts as this long", at_least=1)


def _lengths(settings: Lengths) -> Any:
    def run(page: ReadPage) -> dict[str, int]:
        return {"size": min(len(page.body), settings.longest)}

    return run


SIZES = Stage(
    name="sizes",
    doc="how long pages are",
    columns=(Column("size", "int32", "bytes"),),
    table=(Column("word", "string", "a word"), Column("at", "int64", "where")),
    settings=Lengths,
    make=_lengths,
    wanted=lambda settings: settings.lengths,
)


def test_settings__of_stages_are_one_section() -> None:
    """Each with its type, its bounds and its documentation, as in any other section; a stage gets its own back."""
    section = section_of((*STAGES, SIZES))
    names = [known.name for known in dataclasses.fields(section)]
    assert (names[0], names[-2:]) == ("stage", ["lengths", "longest"])
    assert typing.get_type_hints(section)["longest"] is int
    made = build(section, {"lengths": True, "longest": 7}, where="here")
    own = settings_of(SIZES, made)
    assert own == Lengths(lengths=True, longest=7)
    assert SIZES.wanted(own)
    assert not SIZES.wanted(settings_of(SIZES, Staging()))
    page: Any = type("Page", (), {"body": b"x" * 20})()
    assert SIZES.runner(own)(page) == {"size": 7}


def test_stages__of_weft_are_links_and_digests() -> None:
    """They are called in their own places, and are found by name."""
    assert [stage.name for stage in STAGES if stage.own] == ["links", "digest"]
    assert stage_named("weft.stages:BY_NAME.digest").called(b"").hex().startswith("da39a3ee")


def test_extra__takes_what_fits_and_nothing_else() -> None:
    """At once, so that a row that does not fit cannot spoil those of other pages."""
    extra = Extra([SIZES.fills])
    checked = extra.check(SIZES.fills, (1 << 64) - 1, Filled({"size": 3}, [("a", 1), (None, 2)]))
    assert checked.batch is not None
    assert checked.batch.to_pydict() == {"id": [-1, -1], "word": ["a", None], "at": [1, 2]}
    assert extra.row(checked.values) == (3,)
    assert extra.row(None) == (None,)
    for wrong in (
        Filled({"size": "x"}),
        Filled({"size": 1 << 40}),
        Filled({"other": 1}),
        Filled(rows=[("a",)]),
        Filled(rows=[("a", 1), ("b",)]),
        Filled(rows=[("a", "b")]),
        Filled(rows=[("\udc80", 1)]),
    ):
        with pytest.raises((ValueError, pa.ArrowException, TypeError)):
            extra.check(SIZES.fills, 1, wrong)


def test_filled__is_what_a_stage_may_return() -> None:
    """Values, rows, both, or nothing."""
    assert filled(None) == Filled()
    assert filled({"a": 1}) == Filled({"a": 1})
    assert filled([["a", 1]]) == Filled(rows=[("a", 1)])
    with pytest.raises(TypeError, match="not str"):
        filled("a")
