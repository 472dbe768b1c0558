"""`weft temporal analyse`, `update` and `generate`: who publishes what is of interest for a few days only."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from weft.cli.options import flags_of, given_of
from weft.cli.terminal import Terminal
from weft.temporal import analysis
from weft.temporal.analysis import Task, Tell
from weft.temporal.evaluation import Measures
from weft.temporal.labels import Rules
from weft.temporal.reading import Reading
from weft.temporal.report import table_one
from weft.temporal.sites import PAPER, SiteRules
from weft.temporal.worlds import Recipe, make_world, write_log

_SECTIONS: dict[str, tuple[type, tuple[str, ...]]] = {
    "Reading logs": (Reading, ()),
    "Labelling pages": (Rules, ()),
    "Ranking sites": (SiteRules, ()),
}
_UNSAID = dict.fromkeys(("address", "agent", "views", "host", "first", "drop_parameters"))  # nothing by default
AnalyseFlags = flags_of("AnalyseFlags", _SECTIONS, _UNSAID)
GenerateFlags = flags_of("GenerateFlags", {"The world": (Recipe, ())})

Logs = Annotated[list[Path], Parameter(help="Logs, in any order; plain, gzip or zstd.", negative=())]
Paper = Annotated[
    bool,
    Parameter(
        help="The paper's own way: curves by least squares, n = 3, q = 0.7, 3 to 2, small sites like all others.",
        negative=(),
    ),
]
Labelled = Annotated[
    Path | None,
    Parameter(help="File of url, temporal and perhaps class (CSV, Parquet): n, q, alpha and beta are learned from it."),
]
Against = Annotated[
    Path | None, Parameter(name="--list", help="File of sites, one a line: held against the pages beside our own list.")
]
Later = Annotated[
    tuple[Path, ...],
    Parameter(
        help="Log of the days after the window: lists are also held against pages born in it.",
        negative=(),
        show_default=False,
    ),
]
Drawn = Annotated[
    tuple[str, ...],
    Parameter(
        name="--draw", help="Site whose Phi(1) is drawn; else some of the best.", negative=(), show_default=False
    ),
]
Json = Annotated[bool, Parameter(help="Print the summary as JSON.", negative=())]


def analyse(  # noqa: PLR0913  options
    logs: Logs,
    /,
    *,
    out: Annotated[Path, Parameter(help="Directory for the result; an earlier one there is replaced.")],
    paper: Paper = False,
    labelled: Labelled = None,
    against: Against = None,
    later: Later = (),
    drawn: Drawn = (),
    json: Json = False,
    flags: Any = AnalyseFlags(),  # noqa: B008  every field is None
) -> int:
    """Find temporal pages, and the sites that publish them, in logs.

    The result has the sites ranked, as seeds for a crawl and as a table, every page with its label, and a report.

    For example:

        weft temporal analyse proxy/access.log.*.gz --out found

        weft temporal analyse views.parquet --user uid --ts time --url page --zone Europe/Amsterdam --out found

        weft temporal analyse clicks.csv.zst --ids --user user_id --ts timestamp_ms --url article_id --out found
    """
    asked = Task(labelled=labelled, against=against, later=later, drawn=drawn)
    with _telling(json=json) as tell:
        summary = analysis.analyse(logs, out, _with(asked, flags, paper=paper), tell)
    return _say(summary, out, json=json)


def update(  # noqa: PLR0913  options
    out: Annotated[Path, Parameter(help="Directory of earlier updates, or a new one.")],
    logs: Logs,
    /,
    *,
    again: Annotated[bool, Parameter(help="Replace days that are there already by these.", negative=())] = False,
    paper: Paper = False,
    labelled: Labelled = None,
    against: Against = None,
    later: Later = (),
    drawn: Drawn = (),
    json: Json = False,
    flags: Any = AnalyseFlags(),  # noqa: B008  every field is None
) -> int:
    """Add a day of logs, or some days, to an analysis.

    Everything is found anew.

    A day comes as a whole: all its logs in one update, since a user counts once a day. Give the same options each
    time. The result is what analyse makes of all logs together.

    For example:

        weft temporal update found access.log.1.gz
    """
    asked = Task(labelled=labelled, against=against, later=later, drawn=drawn)
    with _telling(json=json) as tell:
        summary = analysis.update(out, logs, _with(asked, flags, paper=paper), tell, again=again)
    return _say(summary, out, json=json)


def generate(
    *,
    out: Annotated[Path, Parameter(help="Directory for the world; an earlier one there is replaced.")],
    json: Annotated[bool, Parameter(help="Say as JSON what was made.", negative=())] = False,
    flags: Any = GenerateFlags(),  # noqa: B008  every field is None
) -> int:
    """Generate a log of page views whose truth is known.

    The truth is which pages are temporal, and why.
    The same command makes the same log, on any machine. The manual list beside it is an invention, too.

    For example:

        weft temporal generate --sites 600 --tiny-hosts 20000 --out world

        weft temporal analyse world/log.parquet --list world/manual.txt --out found
    """
    about = write_log(make_world(Recipe(**given_of(flags, Recipe))), out)
    if json:
        print(msgspec.json.encode(about).decode())
    else:
        print(f"{about['rows']:,} rows about {about['pages']:,} pages\nin {out}")
    return 0


for _command, _flags in ((analyse, AnalyseFlags), (update, AnalyseFlags), (generate, GenerateFlags)):
    _command.__annotations__["flags"] = Annotated[_flags, Parameter(name="*")]


def _with(asked: Task, flags: Any, *, paper: bool) -> Task:
    """What the options ask for, settings included; those that are given hold beside the paper's."""
    rules, sites = (Rules(method="paper"), PAPER) if paper else (Rules(), SiteRules())
    return dataclasses.replace(
        asked,
        reading=Reading(**given_of(flags, Reading)),
        rules=dataclasses.replace(rules, **given_of(flags, Rules)),
        sites=dataclasses.replace(sites, **given_of(flags, SiteRules)),
    )


@contextmanager
def _telling(*, json: bool) -> Iterator[Tell]:
    """A bar for each step, on a terminal."""
    terminal = Terminal(stderr=True, quiet=json)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        bar = progress.add_task("reading", total=None)

        def tell(step: str, done: int, whole: int) -> None:
            progress.update(bar, description=step, completed=done, total=whole)

        yield tell


def _say(summary: dict[str, Any], out: Path, *, json: bool) -> int:
    """What came out, and where it lies."""
    if json:
        print(msgspec.json.encode(summary).decode())
        return 0
    terminal = Terminal()
    labels = ", ".join(f"{many:,} {name}" for name, many in summary["labels"].items())
    terminal.print(f"{summary['pages']:,} pages on {summary['sites']:,} sites: {labels}", soft_wrap=True)
    if summary["lists"]:
        table = Table("", *summary["lists"], box=None, pad_edge=False)
        for row in table_one([Measures(**each) for each in summary["lists"].values()]):
            table.add_row(*row)
        terminal.print(table)
    for warning in summary["warnings"]:
        terminal.print(f"! {warning}", soft_wrap=True)
    terminal.print(f"seeds:  {out / 'seeds.txt'} ({summary['seeds']:,} sites{_ending(summary)})", soft_wrap=True)
    terminal.print(f"report: {out / 'index.html'}", soft_wrap=True)
    return 0


def _ending(summary: dict[str, Any]) -> str:
    """Where the list ends, and why there."""
    ending = summary["seed_list"]
    if ending["score"] is None:
        return ""
    return f" with scores from {ending['score']:.3f} on, F {ending['f']:.3f}: {ending['why']}"
