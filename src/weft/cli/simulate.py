"""`weft simulate`: try orderings on a graph before a crawl uses one."""

from __future__ import annotations

import math
from collections.abc import Iterable
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
from weft.errors import UsageError
from weft.graph.files import Stored, load
from weft.harvest import times_of, visits_of
from weft.ordering import ordering_named, ordering_names
from weft.readiness import make_ready
from weft.sim.batch import Choice
from weft.sim.continuous import Terms
from weft.sim.report import check_replaceable, write_report
from weft.sim.result import Simulated
from weft.sim.run import Conditions
from weft.sim.several import Order, simulate_all, true_scores
from weft.sim.times import Weather

_BUT = ("seed",)
_SHARED = ("seed", "wait", "per_visit", "new_share")  # flags of the crawl, or several at once
SimulateFlags = flags_of(
    "SimulateFlags",
    {"The crawl": (Conditions, _BUT), "The network": (Weather, ()), "A continuous crawl": (Terms, _SHARED)},
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
    processes: Annotated[
        int, Parameter(help="Orderings simulated at the same time; 0: one per core.", validator=within(at_least=0))
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

    For example:

        weft simulate graphs/mine --ordering breadth-first,larger-sites-first,opic --out report

        weft simulate graphs/mine --ordering all --connections 64 --bandwidth 2000000 --out timed

        weft simulate graphs/first --ordering length --times crawls/first --batch 10000 --per-visit 100 --out batch

        weft simulate worlds/mine --continuous --revisit uniform,freshness,age --new-shares 0.1,0.4 --out fresh
    """
    check_replaceable(out)
    if continuous:
        return simulate_continuous(graph, revisit, hub_policy, new_shares, out, seed, json=json, flags=flags)
    if not ordering:
        raise UsageError("no ordering is named", todo=f"choose of {', '.join(ordering_names())}, or all")
    stored = load(graph)
    names, left_out = _names(ordering, stored, scores)
    conditions = Conditions(**given_of(flags, Conditions), seed=seed)
    conditions.check()
    weather = given_of(flags, Weather)
    timed = timed or bool(weather or batch) or math.isfinite(conditions.bandwidth)
    wanted = Order(
        graph,
        conditions,
        Weather(**weather) if timed else None,
        scores,
        oracle,
        None if times is None else times_of(times, stored),
        batch,
        batch_choice,
    )
    about = {
        "title": f"Simulated crawls of {graph.name}",
        "graph": str(stored.graph.describe()),
        "warnings": [*stored.about.get("warnings", []), *left_out],
    }
    make_ready("simulate")
    with _progress(json=json) as progress:
        bars = [progress.add_task(name, total=conditions.most_pages or stored.graph.pages) for name in names]

        def show(done: list[int]) -> None:
            for bar, pages in zip(bars, done, strict=True):
                progress.update(bar, completed=pages)

        results: Iterable[Simulated] = simulate_all(wanted, names, processes=processes, progress=show)
        if crawl is not None:
            results = chain([visits_of(crawl, stored)], results)
        ids = stored.id_of(np.arange(stored.graph.pages))
        summary = write_report(results, true_scores(stored), ids, out, order_out=order_out, about=about)
    if json:
        print(msgspec.json.encode(summary).decode())
    else:
        _show(summary, out)
    return 0


simulate.__annotations__["flags"] = Annotated[SimulateFlags, Parameter(name="*")]


def _names(wanted: str, stored: Stored, scores: Path | None) -> tuple[list[str], list[str]]:
    """The orderings that are asked for; of all, those that the graph has the scores for, and a word on the others."""
    if wanted == "all":
        names = ordering_names()
        if stored.old_scores is not None or scores is not None:
            return names, []
        without = [name for name in names if "old" in ordering_named(name).needs]
        said = f"Left out: {', '.join(without)}. They need the scores of an earlier crawl (--scores FILE)."
        return [name for name in names if name not in without], [said] if without else []
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if not names:
        raise UsageError("no ordering is named", todo=f"choose of {', '.join(ordering_names())}, or all")
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"the ordering {name} is named twice")
        ordering_named(name)
    return names, []


def _progress(*, json: bool) -> Progress:
    terminal = Terminal(stderr=True, quiet=json)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal)


def _show(summary: dict[str, Any], out: Path) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("ordering")
    for title in ("average", "tau", "pages", "time", "CPU s"):
        table.add_column(title, justify="right")
    found = summary["orderings"].items()
    for name, measures in sorted(found, key=lambda item: -item[1]["average"]):
        table.add_row(
            name,
            f"{measures['average']:.4f}",
            f"{measures['tau']:.3f}",
            f"{measures['downloads']:,}",
            f"{measures['time']:,.0f} s",
            f"{measures['took']['cpu']:.1f}",
        )
    terminal = Terminal()
    terminal.print(table)
    for warning in summary.get("warnings", ()):
        terminal.print(f"! {warning}", soft_wrap=True)
    terminal.print(f"report: {out / 'index.html'}", soft_wrap=True)
