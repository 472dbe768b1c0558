"""`weft simulate`: try orderings on a graph before a crawl uses one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from cyclopts import Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from weft.cli.bounds import within
from weft.cli.continuous import simulate_continuous
from weft.cli.options import flags_of, given_of
from weft.cli.terminal import Terminal
from weft.cli.terms import LISTS, Lists, compared, jobs_of, lists_of, single, with_one_robot
from weft.errors import UsageError
from weft.graph.files import Stored, load
from weft.harvest import times_of, visits_of
from weft.ordering import ordering_named, ordering_names
from weft.readiness import make_ready
from weft.sim.batch import Choice
from weft.sim.continuous import Terms
from weft.sim.pictures import rate
from weft.sim.report import check_replaceable, write_report
from weft.sim.report_page import grouped, speed_up_text, time_text, value_text
from weft.sim.result import Simulated
from weft.sim.run import Conditions
from weft.sim.several import Job, Order, simulate_all, true_scores
from weft.sim.times import Weather

_BUT = ("seed", *LISTS)
_SHARED = ("seed", "wait", "per_visit", "new_share")  # flags of the crawl, or several at once
SimulateFlags = flags_of(
    "SimulateFlags",
    {
        "Robots and the link": (Lists, ()),
        "The crawl": (Conditions, _BUT),
        "The network": (Weather, ()),
        "A continuous crawl": (Terms, _SHARED),
    },
)


def simulate(  # noqa: PLR0913  options
    graph: Annotated[Path, Parameter(help="Directory of the graph; with --continuous of a world that changes.")],
    /,
    *,
    ordering: Annotated[str, Parameter(help="Names of orderings, with commas between them; all: every one.")] = "",
    continuous: Annotated[
        bool, Parameter(help="Crawl a world that changes, again and again, and compare revisit policies.", negative=())
    ] = False,
    revisit: Annotated[
        str, Parameter(help="With --continuous: names of revisit policies, with commas between them; all: every one.")
    ] = "uniform,proportional,freshness,age,quality",
    hub_policy: Annotated[
        str, Parameter(help="With --continuous: the policy by which hubs are polled.")
    ] = "square-root",
    new_shares: Annotated[
        str, Parameter(help="With --continuous: shares of the capacity for new pages, each tried with every policy.")
    ] = "0.3",
    out: Annotated[Path, Parameter(help="Directory for the report; an earlier report there is replaced.")],
    order_out: Annotated[
        bool, Parameter(help="Also write the ids of the pages in visiting order, as order.NAME.txt.", negative=())
    ] = False,
    scores: Annotated[
        Path | None,
        Parameter(help="File of scores that orderings look at: true ones (omniscient), or old ones (historical)."),
    ] = None,
    oracle: Annotated[
        Path | None, Parameter(help="File of true scores, for historical-omniscient beside the old ones.")
    ] = None,
    timed: Annotated[
        bool, Parameter(help="Pages have latencies and sizes; so they have where --bandwidth is given.", negative=())
    ] = False,
    times: Annotated[
        Path | None, Parameter(help="Directory of a crawl: pages take as long, and are as large, as they were in it.")
    ] = None,
    crawl: Annotated[
        Path | None, Parameter(help="Directory of a crawl whose own curve is laid over the simulated ones.")
    ] = None,
    batch: Annotated[
        int,
        Parameter(
            help="Simulate a batch of so many pages from the middle of the crawl alone, with its times; 0: all of it.",
            validator=within(at_least=0),
        ),
    ] = 0,
    batch_choice: Annotated[
        Choice, Parameter(help="Pages of the batch: the best ones, any, or spread over as many sites as possible.")
    ] = Choice.SPREAD,
    repeats: Annotated[
        int,
        Parameter(
            help="Crawls with a seed each, where something is left to chance, for 95 % intervals by Student's t.",
            validator=within(at_least=1),
        ),
    ] = 1,
    processes: Annotated[
        int, Parameter(help="Crawls simulated at the same time; 0: one per core.", validator=within(at_least=0))
    ] = 0,
    seed: Annotated[
        int,
        Parameter(help="Number that decides about everything that is left to chance.", validator=within(at_least=0)),
    ] = 1,
    json: Annotated[bool, Parameter(help="Print the summary as JSON.", negative=())] = False,
    flags: Any = SimulateFlags(),  # noqa: B008  every field is None
) -> int:
    """Simulate crawls of a graph, one for each ordering, and compare them.

    The report has the curve of cumulative PageRank, its average, Kendall's tau and search lengths of every ordering.
    With several connections, bandwidths or pages a visit, all crawls are of the same pages (all, or with --most-pages
    those nearest to the seeds), one connection is among them, and the report has their speed-ups.

    For example:

        weft simulate graphs/mine --ordering breadth-first,larger-sites-first,opic --out report

        weft simulate graphs/mine --ordering length --connections 1,64,256 --bandwidth 2MB,20kB --out speed-ups

        weft simulate graphs/mine --ordering all --connections 64 --bandwidth 2MB --repeats 5 --out timed

        weft simulate graphs/first --ordering length --times crawls/first --batch 10000 --per-visit 100 --out batch

        weft simulate worlds/mine --continuous --revisit uniform,freshness,age --new-shares 0.1,0.4 --out fresh
    """
    check_replaceable(out)
    if continuous:
        return simulate_continuous(graph, revisit, hub_policy, new_shares, out, seed, json=json, flags=single(flags))
    if not ordering:
        raise UsageError("no ordering is named", todo=f"choose of {', '.join(ordering_names())}, or all")
    stored = load(graph)
    names, left_out = _names(ordering, stored, scores)
    lists = with_one_robot(lists_of(flags))
    conditions = Conditions(**given_of(flags, Conditions, but=LISTS), seed=seed)
    weather = given_of(flags, Weather)
    limits = any(math.isfinite(each) for each in lists.get("bandwidth", ()))
    timed = timed or bool(weather or batch or limits or conditions.keep_alive or conditions.keep_alive_pages)
    table = compared(lists)
    wanted = Order(
        graph,
        Weather(**weather) if timed else None,
        scores,
        oracle,
        None if times is None else times_of(times, stored),
        batch,
        batch_choice,
        conditions.most_pages if table and not batch else 0,
    )
    if table:
        conditions = replace(conditions, most_pages=0)  # the crawls end when they have the pages that all have
    jobs = jobs_of(names, conditions, lists, repeats, wanted)
    for job in jobs:
        job.conditions.check()
    about = {
        "title": f"Simulated crawls of {graph.name}",
        "graph": str(stored.graph.describe()),
        "left_out": left_out,
        "warnings": [*stored.about.get("warnings", []), *_left_out(left_out), *_no_chance(jobs, repeats)],
    }
    make_ready("simulate")
    with _progress(json=json) as progress:
        most = wanted.nearest or conditions.most_pages or stored.graph.pages
        bars = [progress.add_task(job.name, total=most) for job in jobs]

        def show(done: list[int]) -> None:
            for bar, pages in zip(bars, done, strict=True):
                progress.update(bar, completed=pages)

        results: Iterable[Simulated] = simulate_all(wanted, jobs, processes=processes, progress=show)
        if crawl is not None:
            results = chain([visits_of(crawl, stored)], results)
        ids = stored.id_of(np.arange(stored.graph.pages))
        summary = write_report(
            results, true_scores(stored), ids, out, order_out=order_out, about=about, same_pages=table
        )
    if json:
        print(msgspec.json.encode(summary).decode())
    else:
        _show(summary, out)
    return 0


simulate.__annotations__["flags"] = Annotated[SimulateFlags, Parameter(name="*")]


def _names(wanted: str, stored: Stored, scores: Path | None) -> tuple[list[str], dict[str, str]]:
    """The orderings that are asked for; of all, those that the graph has the scores for, and why not the others."""
    if wanted == "all":
        names = ordering_names()
        if stored.old_scores is not None or scores is not None:
            return names, {}
        why = "it needs the scores of an earlier crawl (--scores FILE)"
        without = {name: why for name in names if "old" in ordering_named(name).needs}
        return [name for name in names if name not in without], without
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if not names:
        raise UsageError("no ordering is named", todo=f"choose of {', '.join(ordering_names())}, or all")
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"the ordering {name} is named twice")
        ordering_named(name)
    return names, {}


def _left_out(why: dict[str, str]) -> list[str]:
    """A sentence for each reason."""
    return [
        f"Left out: {', '.join(name for name in why if why[name] == reason)}. Of each: {reason}."
        for reason in dict.fromkeys(why.values())
    ]


def _no_chance(jobs: list[Job], repeats: int) -> list[str]:
    """A sentence on what was not repeated, and why."""
    once = [name for name, many in Counter(job.name for job in jobs).items() if many < repeats]
    if not once:
        return []
    return [f"Simulated once, since nothing in them is left to chance: {', '.join(once)}."]


def _progress(*, json: bool) -> Progress:
    terminal = Terminal(stderr=True, quiet=json)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal)


def _show(summary: dict[str, Any], out: Path) -> None:
    terminal = Terminal()
    for (ordering, per_visit), rows in grouped(summary.get("speed_ups", ())).items():
        terminal.print(_speed_ups(f"Speed-ups of {ordering}, k = {per_visit}", rows))
        terminal.print()
    terminal.print(_crawls(summary))
    for warning in summary.get("warnings", ()):
        terminal.print(f"! {warning}", soft_wrap=True)
    terminal.print(f"report: {out / 'index.html'}", soft_wrap=True)


def _crawls(summary: dict[str, Any]) -> Table:
    """A line for each crawl, the best average first; T* stands with the speed-ups where there are any."""
    found_all = summary["orderings"].values()
    bounded = not summary.get("speed_ups") and any("least_time" in each for each in found_all)
    timed = not summary.get("speed_ups") and not any("repeats" in each for each in found_all)  # else there is no room
    table = Table(box=None, pad_edge=False)
    table.add_column("ordering", no_wrap=True)
    for title in ("average", "tau", "pages", "time", *(["T*"] * bounded), *(["CPU s"] * timed)):
        table.add_column(title, justify="right")
    for name, found in sorted(summary["orderings"].items(), key=lambda item: -item[1]["average"]):
        bound = f"{value_text(found, 'least_time', 0)} s" if "least_time" in found else "-"
        table.add_row(
            name,
            value_text(found, "average", 4),
            value_text(found, "tau", 3),
            f"{found['downloads']:,}",
            f"{value_text(found, 'time', 0)} s",
            *([bound] * bounded),
            *([f"{found['took']['cpu']:.1f}"] * timed),
        )
    return table


def _speed_ups(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Table 1 of P0: a row for each bandwidth, a column for each r."""
    table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
    table.add_column("bandwidth")
    table.add_column("T*", justify="right")
    robots = sorted({row["connections"] for row in rows})
    for each in robots:
        table.add_column(f"r = {each}", justify="right")
    cells = {(row["bandwidth"], row["connections"]): speed_up_text(row) for row in rows}
    least = {row["bandwidth"]: row["least_time"] for row in rows}
    for link in sorted(least, key=lambda link: -(link or math.inf)):
        bound = "-" if least[link] is None else time_text(least[link])
        table.add_row(rate(link), bound, *(cells.get((link, each), "") for each in robots))
    return table
