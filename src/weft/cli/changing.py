"""`weft graph snapshot`, `weft graph happenings`, `weft testbed delays`: webs that change, and who kept up with it."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from cyclopts import Parameter

from weft.cli.graph import Json, Out, keep
from weft.cli.options import flags_of
from weft.cli.testbed import USUAL, WEB_SECTIONS, AnySource, web_of
from weft.errors import UsageError
from weft.graph.changing.files import load_world
from weft.graph.changing.happenings import Kind, keeping_up
from weft.graph.changing.happenings import happenings as happened
from weft.graph.changing.snapshots import snapshot as cut
from weft.graph.files import Stored, check_replaceable, load
from weft.graph.rank import EPSILON, TOLERANCE, pagerank
from weft.testbed.keeping_up import fetches_of
from weft.testbed.log import Entry, read_log
from weft.units import quantity, span

World = Annotated[Path, Parameter(help="Directory of a world that `weft graph generate --changing` made.")]
DelaysFlags = flags_of("DelaysFlags", WEB_SECTIONS)
_MOMENT = "from the world's start, such as '30 d' or '36 h'"


def snapshot(
    world: World,
    /,
    *,
    at: Annotated[str, Parameter(help=f"Which time, {_MOMENT}.")],
    earlier: Annotated[
        str | None, Parameter(help="An earlier time: what PageRank pages had then is kept as their old one.")
    ] = None,
    out: Out,
    json: Json = False,
) -> int:
    """Cut the graph of one time out of a world, with its PageRank.

    It has the pages that are there then, and what fronts list; a page's id is its number in the world, so that the
    snapshots of two times can be compared.

    For example:

        weft graph snapshot worlds/country --at 0d --out graphs/april

        weft graph snapshot worlds/country --at 30d --earlier 0d --out graphs/may
    """
    check_replaceable(out)
    when = _seconds(at, "--at")
    before = None if earlier is None else _seconds(earlier, "--earlier")
    if before is not None and before >= when:
        raise UsageError("--earlier is no earlier time", todo="give one before --at")
    lived = load_world(world)
    graph, pages = cut(lived, when)
    scores = pagerank(graph.offsets, graph.links)
    old_scores = None
    if before is not None:
        old, old_pages = cut(lived, before)
        everywhere = np.full(lived.graph.pages, np.nan)
        everywhere[old_pages] = pagerank(old.offsets, old.links) * (old.pages / graph.pages)
        old_scores = everywhere[pages]
    about: dict[str, Any] = {
        "source": "snapshot",
        "world": str(world),
        "seed": lived.seed,
        "at_s": when,
        "earlier_s": before,
        "rank": {"epsilon": EPSILON, "tolerance": TOLERANCE, "every_step": False},
        "warnings": _beyond(when, lived.end),
    }
    if old_scores is not None:
        there = ~np.isnan(old_scores)
        about["old"] = {"pages": float(there.mean()), "score": float(scores[there].sum() / scores.sum())}
    hosting = load(world).hosting
    stored = Stored(graph=graph, ids=pages, scores=scores, old_scores=old_scores, hosting=hosting, about=about)
    code = keep(stored, out, json=json)
    if old_scores is not None and not json:
        old_share = about["old"]
        shares = f"{old_share['pages']:.1%} of its pages were there earlier, and hold {old_share['score']:.1%}"
        print(f"{shares} of its PageRank".replace("%", " %"))
    return code


def happenings(
    world: World,
    /,
    *,
    begin: Annotated[str, Parameter(help=f"Beginning, {_MOMENT}.")] = "0",
    end: Annotated[str | None, Parameter(help="End; that of the world if not given.")] = None,
    json: Annotated[bool, Parameter(help="As JSON, one object a line.", negative=())] = False,
) -> int:
    """List what happened in a world from one time to another: births, real edits and deaths of pages.

    A line has the time in seconds from the world's start, what happened, the page's number, and whether it is temporal.

    For example:

        weft graph happenings worlds/country --begin 1d --end 2d
    """
    lived = load_world(world)
    found = happened(lived, _seconds(begin, "--begin"), lived.end if end is None else _seconds(end, "--end"))
    kinds = [kind.value for kind in Kind]
    temporal = lived.temporal
    for at, page, kind in zip(found.at.tolist(), found.page.tolist(), found.kind.tolist(), strict=True):
        told = {"at": at, "what": kinds[kind], "page": page, "temporal": bool(temporal[page])}
        if json:
            sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
        else:
            sys.stdout.write(f"{at:.0f}\t{kinds[kind]}\t{page}\t{'temporal' if temporal[page] else '-'}\n")
    return 0


def delays(
    log: Annotated[Path, Parameter(help="The servers' log (`weft testbed serve --log`).")],
    /,
    *,
    source: AnySource = USUAL,
    begin: Annotated[str, Parameter(help=f"Beginning, {_MOMENT}.")] = "0",
    end: Annotated[str | None, Parameter(help="End; the last request if not given.")] = None,
    json: Annotated[bool, Parameter(help="As JSON.", negative=())] = False,
    flags: Any = DelaysFlags(),  # noqa: B008  every field is None
) -> int:
    """Say how well a crawler kept up with a web that changes, by the servers' log.

    Give the options that `weft testbed serve` was given: they decide what pages are called.

    Delay is from a page's birth to the first answer that had it. A copy is fresh while the page has had no real edit
    since; its age is the time since the first edit that it lacks. Fronts are not counted.

    For example:

        weft testbed delays requests.tsv --plain --world worlds/country
    """
    web = web_of(flags, source)
    if web.world is None:
        raise UsageError("a web that stands still has no delays", todo="give the --world that was served")
    page, at = fetches_of(web, _entries(log))
    start = _seconds(begin, "--begin")
    until = _seconds(end, "--end") if end is not None else float(at.max(initial=start))
    rows = {}
    for name, temporal in (("all", False), ("temporal", True)):
        kept = keeping_up(web.world, page, at, begin=start, end=until, temporal=temporal)
        rows[name] = {
            "born": len(kept.delay_s),
            "found": kept.found,
            "fetches": kept.fetches,
            "mean_delay_s": _or_none(kept.mean_delay_s),
            "within_1h": _or_none(kept.within(3_600.0)),
            "within_6h": _or_none(kept.within(21_600.0)),
            "freshness": _or_none(kept.freshness),
            "age_s": _or_none(kept.age_s),
        }
    if json:
        print(msgspec.json.encode({"begin_s": start, "end_s": until, **rows}).decode())
        return 0
    print(f"From {span(start)} to {span(until)} of the web's time:")
    for name, row in rows.items():
        delay = "-" if row["mean_delay_s"] is None else span(row["mean_delay_s"])
        age = "-" if row["age_s"] is None else span(row["age_s"])
        print(
            f"  {name} pages: {row['born']:,} born, {row['found']:,} of them fetched, mean delay {delay}, "
            f"within 1 h {_share(row['within_1h'])}, within 6 h {_share(row['within_6h'])}; "
            f"freshness {_share(row['freshness'])}, age {age}"
        )
    return 0


delays.__annotations__["flags"] = Annotated[DelaysFlags, Parameter(name="*")]


def _entries(log: Path) -> list[Entry]:
    entries = read_log(log)
    if any(math.isnan(entry.web_time) for entry in entries):
        raise UsageError(
            "this log does not say the web's time", where=str(log), todo="give one of `weft testbed serve --world`"
        )
    return entries


def _seconds(text: str, flag: str) -> float:
    """A time as a flag says it."""
    try:
        found = float(quantity(text.strip(), "seconds"))
    except ValueError as error:
        raise UsageError(f"{flag} cannot be '{text}'", todo=str(error)) from None
    if not 0 <= found < math.inf:
        raise UsageError(f"{flag} cannot be '{text}'", todo="give a time from the world's start, which is 0")
    return found


def _beyond(at: float, end: float) -> list[str]:
    return [] if at <= end else [f"the world ends after {span(end)}: what is there later is as it was then"]


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def _share(number: float | None) -> str:
    return "-" if number is None else f"{number:.3f}"
