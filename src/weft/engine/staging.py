"""Stages as a crawl runs them. In: a page that was read. Out: what the stages found out about it.

They run one after the other, each with what those before it said; those that must, and all of them on a page that ended
a worker, in the process where pages are read apart. What a stage raises, and what does not fit its columns, is told
with its place, and is the reason of a page that has no other one.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from weft.engine.drive import Ask
from weft.engine.hosting import RemoteError
from weft.engine.wires import Wires
from weft.model import Filled, Page, Parsed, Turn
from weft.parse.apart import Failed
from weft.parse.stage import ReadPage, filled
from weft.store.extra import Checked


class Staged(NamedTuple):
    """What all stages found out about a page."""

    values: dict[str, Any]
    tables: list[Checked]
    whole: bool  # no stage failed
    conversion: str = ""  # a text to be written as a record of its own
    unwritten: frozenset[str] = frozenset()  # columns that stay null in the row


async def run_stages(wires: Wires, turn: Turn, page: Page, parsed: Parsed) -> Staged:
    """Have every stage look at a page that was read."""
    values: dict[str, Any] = {}
    tables: list[Checked] = []
    whole, conversion, unwritten = True, "", frozenset[str]()
    suspect = turn.id in wires.marker.suspects
    for number, stage in enumerate(wires.stages.stages):
        try:
            if stage.apart or suspect:
                found = await _run_apart(wires, number, turn, page, parsed, values)
            else:
                found = _run(wires, number, turn, page, parsed, values)
            checked = wires.store.extra.check(stage.fills, turn.id, found)
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a stage does, its page is kept
            wires.bus.report(error, f"{page.url}, stage {stage.name}")
            whole = False
            continue
        values |= checked.values
        unwritten = unwritten.union(found.unwritten)
        if found.conversion:
            conversion = values[found.conversion] or ""
        if checked.batch is not None:
            tables.append(checked)
    return Staged(values, tables, whole, conversion, unwritten)


def _run(wires: Wires, number: int, turn: Turn, page: Page, parsed: Parsed, values: dict[str, Any]) -> Filled:
    wires.marker.set(turn.id)
    try:
        return filled(wires.stages.runs[number](ReadPage(turn, page, parsed, wires.parser, values)))
    finally:
        wires.marker.set(0)


async def _run_apart(
    wires: Wires, number: int, turn: Turn, page: Page, parsed: Parsed, values: dict[str, Any]
) -> Filled:
    asking: Ask[Filled | Failed] = Ask(partial(wires.apart.run, number, turn, page, parsed, dict(values)))
    answer = await asking
    if isinstance(answer, Failed):
        ended = wires.stages.stages[number].ended
        if answer.ended and ended is not None:
            return Filled(dict(ended))
        raise RemoteError(answer.error, answer.trace)
    return answer
