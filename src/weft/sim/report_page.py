"""The page of a report of simulations. In: its summary, what was measured, figures. Out: results first, then figures,
then how they came about.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from weft.printing.figures import Figure, show
from weft.printing.page import Cell, Column, Page
from weft.sim.measured import SHARES, Measured
from weft.sim.pictures import rate, unit_of


def made_page(
    summary: Mapping[str, Any], ranked: Sequence[Measured], figures: Sequence[Figure], drawn: Mapping[str, str]
) -> Page:
    """The whole page; `drawn` has the SVG of each figure."""
    table = summary.get("speed_ups", ())
    what = "crawls" if len({each.ordering for each in ranked}) < len(ranked) else "orderings"
    lead = f"{len(ranked)} {what if len(ranked) != 1 else what[:-1]} on a graph of {summary['pages']:,} pages"
    page = Page(str(summary["about"].get("title", "Simulated crawls")), f"{lead}{_sorted(table)}.")
    page.warnings(summary["warnings"])
    if table:
        page.section("Speed-ups")
        _speed_ups(page, table)
    page.section("Crawls" if table else "Orderings")
    _results(page, [(each.name, summary["orderings"][each.name]) for each in ranked], summary)
    if figures:
        page.section("Figures")
    for figure in figures:
        show(page, figure, drawn[figure.name], "plots")
    page.section("What the columns mean")
    page.values(_LEGEND, heads=("column", "meaning"))
    page.section("Parameters")
    _parameters(page, ranked)
    about = {name: _shown(value) for name, value in summary["about"].items() if name != "title"}
    if about:
        page.section("About")
        page.values(about)
    return page


def _sorted(table: Sequence[Mapping[str, Any]]) -> str:
    return f", the same {table[0]['pages']:,} of them in each" if table else ", the best average first"


_LEGEND = {
    "average": "mean over i of the cumulative PageRank after i downloads; pages drawn at random from the whole graph "
    "give 0.5",
    "tau": "Kendall's tau-a between the order and the order by PageRank, mean of four samples of 5,000 pages; 1 for "
    "equal orders, 0 for unrelated ones, -1 for reversed ones",
    "top x %": "downloads until 90 %, 99 % and all of the x % of the pages with the highest PageRank are in, as shares "
    "of all pages; a single page that comes late decides the last of the three; a dash where they never were in",
    "time": "simulated, from the start to the last download",
    "T*": "what moving the bytes alone takes: no crawl on this link is faster (P0, section 3)",
    "active": "robots at work, mean over the crawl",
    "wasted": "share of the bandwidth that lay idle, 1 - T*/T",
    "speed-up": "the time of one robot, divided by that of r robots that fetch the same pages with the same k. The "
    "time of one robot is the least r T(r) of these crawls, mostly that of r = 1 on the widest link: none is above r",
    "±": "Student's 95 % interval of the mean over crawls that differ by their seed",
    "CPU": "what the simulation itself took",
}


def _speed_ups(page: Page, table: Sequence[Mapping[str, Any]]) -> None:
    """P0's table 1: a row for each bandwidth, a column for each r; a table for each ordering and k."""
    page.paragraph(
        "As in table 1 of P0; beside each speed-up the time of the crawl. All crawls fetch the same pages, whatever r, "
        "bandwidth and k are. No speed-up is above r, and no crawl is faster than T*."
    )
    for (ordering, per_visit), rows in grouped(table).items():
        robots = sorted({row["connections"] for row in rows})
        links = {row["bandwidth"]: row["least_time"] for row in rows}
        cells = {(row["bandwidth"], row["connections"]): row for row in rows}
        page.table(
            [
                Column("bandwidth"),
                Column("T*", number=True),
                *(Column(f"r = {r:,}{tail}", number=True) for r in robots for tail in ("", ": time")),
            ],
            [
                [
                    rate(link),
                    "-" if links[link] is None else time_text(links[link]),
                    *_cells([cells.get((link, r)) for r in robots]),
                ]
                for link in sorted(links, key=lambda link: -(link or float("inf")))
            ],
            f"{ordering}, k = {per_visit}",
        )


def _cells(rows: Sequence[Mapping[str, Any] | None]) -> list[str]:
    found = []
    for row in rows:
        found += ["", ""] if row is None else [speed_up_text(row), time_text(row["time"])]
    return found


def grouped(table: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], list[Mapping[str, Any]]]:
    """The rows of speed-ups by ordering and k."""
    found: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in table:
        found.setdefault((row["ordering"], row["per_visit"]), []).append(row)
    return found


def speed_up_text(row: Mapping[str, Any]) -> str:
    """A speed-up as it is read.

    >>> speed_up_text({"speed_up": 54.62}), speed_up_text({"speed_up": 0.0123, "interval": {"half": 0.002}})
    ('54.6', '0.012 ± 0.002')
    """
    digits = 1 if row["speed_up"] >= 0.9995 else 3
    half = row.get("interval", {}).get("half")
    return f"{row['speed_up']:.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")


def time_text(seconds: float) -> str:
    """A time as it is read.

    >>> time_text(42.0), time_text(293_388.0)
    ('42 s', '3.40 days')
    """
    unit, length = unit_of(seconds)
    return f"{seconds:,.0f} s" if length == 1.0 else f"{seconds / length:,.2f} {unit}"


def _results(page: Page, crawls: Sequence[tuple[str, Mapping[str, Any]]], summary: Mapping[str, Any]) -> None:
    """The table of all crawls, with the optimum as its last line."""
    unit, length = unit_of(max((each["time"] for _, each in crawls), default=0.0))
    tops = [f"top {share.rstrip('%')} %: 90, 99, 100 %" for share in (f"{each:.0%}" for each in SHARES)]
    titles = ["average", "tau", *tops, "pages", f"time, {unit}", f"T*, {unit}", "active", "wasted", "CPU, s"]
    rows: list[list[str | Cell]] = [_row(name, each, summary["pages"], length) for name, each in crawls]
    optimal = Cell(f"{summary['optimal_average']:.3f}", "faint")
    rows.append([Cell("optimal", "faint"), optimal, *[Cell("", "faint")] * (len(titles) - 1)])
    page.table([Column("ordering"), *(Column(title, number=True) for title in titles)], rows)


def _row(name: str, found: Mapping[str, Any], pages: int, length: float) -> list[str | Cell]:
    """A crawl's line; search lengths are shares of all pages."""
    lengths = [
        ", ".join(
            "-" if value is None else f"{value / pages:.2f}" for value in (top["most"], top["nearly"], top["whole"])
        )
        for top in found["search_length"].values()
    ]
    return [
        *(name, value_text(found, "average", 3), value_text(found, "tau", 3), *lengths, f"{found['downloads']:,}"),
        *(value_text(found, "time", 1, length), value_text(found, "least_time", 1, length)),
        *(value_text(found, "active", 1), value_text(found, "wasted_bandwidth", 2), f"{found['took']['cpu']:.1f}"),
    ]


def value_text(found: Mapping[str, Any], name: str, digits: int, length: float = 1.0) -> str:
    """A measure as it is read, with its interval where it has one; a dash where there is no such measure.

    >>> value_text({"time": 7200.0}, "time", 1, 3600.0), value_text({}, "time", 1)
    ('2.0', '-')
    """
    if name not in found:
        return "-"
    over = found.get("repeats", {}).get(name)
    if over is None:
        return f"{found[name] / length:,.{digits}f}"
    return f"{over['mean'] / length:,.{digits}f} ± {over['half'] / length:,.{digits}f}"


def _parameters(page: Page, ranked: Sequence[Measured]) -> None:
    """What all crawls have in common as a list, and the rest as a table."""
    each_has = [each.measures["parameters"] for each in ranked]
    names = sorted({name for parameters in each_has for name in parameters})
    shown = {name: [_shown(parameters.get(name, "")) for parameters in each_has] for name in names}
    common = {name: values[0] for name, values in shown.items() if len(set(values)) == 1}
    if common:
        page.values(common, "The same for all crawls")
    differing = [name for name in names if name not in common]
    if differing:
        rows = [[each.name, *(shown[name][at] for name in differing)] for at, each in enumerate(ranked)]
        page.table([Column("ordering"), *(Column(name, number=True) for name in differing)], rows)


def _shown(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int | float):
        return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
