"""What simulations have shown, for people and for programs. In: results, PageRank by page. Out: a directory.

    summary.json           every measure of every ordering, its parameters, and what it took
    curves.parquet         cumulative PageRank after some 1,000 steps
    index.html             tables and figures in one page that needs no other file
    plots/*.svg            the same figures
    orders.parquet         every page of every order with its time (only when asked for)
    order.ORDERING.txt     the ids in visiting order, one a line (only when asked for)

Invariant: the directory is there whole or not at all. Everything is written beside it and renamed at the end; an
earlier report is replaced, anything else is left alone. Without matplotlib there are no figures, and a warning.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft import disk
from weft.disk import replacing, writing
from weft.errors import UsageError
from weft.printing import plots
from weft.printing.page import Cell, Column, Page
from weft.sim import metrics
from weft.sim.result import Simulated

KIND = "weft simulation"
SHARES = (0.01, 0.1, 0.2)
TAU_SEED = 1  # the same pages are drawn in every report, whatever the simulation's own seed was
_LINES = 1 << 18
_INTERVALS = 200  # more would draw noise

CURVES = pa.schema(
    [
        pa.field("ordering", pa.string(), nullable=False),
        pa.field("pages", pa.int64(), nullable=False, metadata={"doc": "downloads so far"}),
        pa.field("fraction", pa.float64(), nullable=False, metadata={"doc": "their share of all pages"}),
        pa.field("pagerank", pa.float64(), nullable=False, metadata={"doc": "their PageRank together"}),
        pa.field("time", pa.float64(), nullable=False, metadata={"doc": "seconds from the start"}),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """What is kept of a result when its order has been written: some thousand numbers."""

    ordering: str
    measures: dict[str, Any]
    curve: metrics.Curve
    by_time: metrics.ByTime
    active: tuple[NDArray[np.float64], NDArray[np.float64]] | None


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure, its file's name, and what is said about it."""

    name: str
    svg: str
    caption: str
    alternative: str


def write_report(
    results: Iterable[Simulated],
    scores: NDArray[np.float64],
    stored_ids: Sequence[Any] | NDArray[Any],
    out: Path,
    *,
    order_out: bool,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the report and return its summary.

    Results are worked off one by one, so a generator of them needs the memory of one. Of `about`, `title` heads the
    page, `warnings` (a list) stand at its top and in the summary, and the rest is shown as it is.
    """
    with replacing(out, check_replaceable) as folder:
        kept = list(_keep(results, scores, np.asarray(stored_ids), folder, order_out=order_out))
        with writing(folder):
            pq.write_table(_curves(kept), folder / "curves.parquet", compression="zstd")
        warnings = [str(each) for each in about.get("warnings", ())]
        if not plots.available():
            warnings.append("There are no figures: they need matplotlib (pip install 'weft[plots]').")
        summary = _summary(kept, scores, about, warnings)
        figures = _figures(kept, scores) if plots.available() and kept else []
        with writing(folder):
            text = json.dumps(summary, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
            (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
            (folder / "index.html").write_text(_page(summary, kept, figures).html(), encoding="utf-8")
            for figure in figures:
                (folder / "plots").mkdir(exist_ok=True)
                (folder / "plots" / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8")
    return summary


# The directory.


def check_replaceable(out: Path) -> None:
    """Refuse a place where something else is than an earlier report; ask before the work, and again after it."""
    disk.check_replaceable(out, "report", is_one=_is_report, is_ours=lambda name: _OURS.fullmatch(name) is not None)


_OURS = re.compile(r"summary\.json|curves\.parquet|orders\.parquet|order\..*\.txt|index\.html|plots")


def _is_report(folder: Path) -> bool:
    """Whether a folder has the summary of a report."""
    try:
        return bool(json.loads((folder / "summary.json").read_text(encoding="utf-8"))["kind"] == KIND)
    except (OSError, ValueError, KeyError, TypeError):
        return False


# The results.


def _keep(
    results: Iterable[Simulated],
    scores: NDArray[np.float64],
    stored_ids: NDArray[Any],
    folder: Path,
    *,
    order_out: bool,
) -> Iterator[_Kept]:
    """Measure one result after the other, and write its order where that is wanted."""
    names: set[str] = set()
    writer: pq.ParquetWriter | None = None
    try:
        for result in results:
            _check_name(result.ordering, names)
            if order_out:
                table = _order(result, stored_ids)
                with writing(folder):
                    writer = writer or pq.ParquetWriter(folder / "orders.parquet", table.schema, compression="zstd")
                    writer.write_table(table)
                    _write_lines(folder / f"order.{result.ordering}.txt", stored_ids, result.order)
            yield _Kept(
                ordering=result.ordering,
                measures=measure(result, scores),
                curve=metrics.curve(result.order, scores, result.finished),
                by_time=metrics.by_time(result.finished, result.order, scores),
                active=metrics.active(result.started, result.finished, _INTERVALS) if result.bytes_moved else None,
            )
    finally:
        if writer is not None:
            with writing(folder):
                writer.close()


def _check_name(name: str, names: set[str]) -> None:
    """An ordering's name becomes a file's name, once."""
    if not re.fullmatch(r"\w[\w.+=,@-]*", name):
        raise UsageError(f"the ordering's name {name!r} cannot be part of a file's name", todo="give it another name")
    if name in names:
        raise UsageError(f"the ordering {name} was simulated twice", todo="name each ordering once")
    names.add(name)


def measure(result: Simulated, scores: NDArray[np.float64]) -> dict[str, Any]:
    """All measures of a result, as they stand in the summary."""
    order, finished = result.order, result.finished
    taken = float(finished[-1]) if len(finished) else 0.0
    lengths = {f"{share:.0%}": asdict(metrics.search_length(order, scores, share)) for share in SHARES}
    measures: dict[str, Any] = {
        "downloads": len(order),
        "sites": len(np.unique(result.site)),
        "pagerank": float(scores[order].sum()),
        "average": metrics.average(order, scores),
        "tau": metrics.kendall(order, scores, TAU_SEED),
        "search_length": lengths,
        "time": taken,
        "active": float((finished - result.started).sum()) / taken if taken else 0.0,
        "parameters": _plain(result.parameters),
        "took": {"seconds": result.seconds, "cpu": result.cpu},
    }
    bandwidth = float(result.parameters.get("bandwidth") or math.inf)
    if result.bytes_moved:
        measures["bytes"] = result.bytes_moved
        if math.isfinite(bandwidth):
            least = metrics.bound(result.bytes_moved, bandwidth)
            measures |= {"least_time": least, "wasted_bandwidth": metrics.wasted(least, taken)}
    return measures


def _order(result: Simulated, stored_ids: NDArray[Any]) -> pa.Table:
    """Every page of an order, with its time."""
    ids = pa.array(stored_ids[result.order])
    schema = pa.schema(
        [
            pa.field("ordering", pa.dictionary(pa.int32(), pa.string()), nullable=False),
            pa.field(
                "position", pa.int32(), nullable=False, metadata={"doc": "1 for the page that was finished first"}
            ),
            pa.field("id", ids.type, nullable=False, metadata={"doc": "the page, as the graph's files name it"}),
            pa.field("finished", pa.float64(), nullable=False, metadata={"doc": "seconds from the start"}),
        ]
    )
    name = pa.DictionaryArray.from_arrays(np.zeros(len(ids), dtype=np.int32), pa.array([result.ordering]))
    position = pa.array(np.arange(1, len(ids) + 1, dtype=np.int32))
    return pa.Table.from_arrays([name, position, ids, pa.array(result.finished)], schema=schema)


def _write_lines(path: Path, stored_ids: NDArray[Any], order: NDArray[np.int32]) -> None:
    """Ids, one a line; some at a time, since text takes ten times the memory of numbers."""
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, len(order), _LINES):
            file.write("\n".join(map(str, stored_ids[order[start : start + _LINES]].tolist())) + "\n")


def _curves(kept: Sequence[_Kept]) -> pa.Table:
    """The curves of all orderings, one below the other."""
    columns = {
        name: np.concatenate([np.asarray(getattr(each.curve, name)) for each in kept] or [np.zeros(0)])
        for name in ("pages", "fraction", "pagerank", "time")
    }
    names = [each.ordering for each in kept for _ in each.curve.pages]
    return pa.Table.from_pydict({"ordering": names, **columns}, schema=CURVES)


def _summary(
    kept: Sequence[_Kept], scores: NDArray[np.float64], about: Mapping[str, Any], warnings: list[str]
) -> dict[str, Any]:
    return {
        "kind": KIND,
        "about": {name: _plain(value) for name, value in about.items() if name != "warnings"},
        "warnings": warnings,
        "pages": len(scores),
        "optimal_average": metrics.optimal_average(scores),
        "orderings": {each.ordering: each.measures for each in kept},
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it: no NumPy, no infinity (null), paths as text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


# The figures.


def _figures(kept: Sequence[_Kept], scores: NDArray[np.float64]) -> list[_Figure]:
    """Cumulative PageRank by pages and by time; and active robots over time where pages had times of their own."""
    ranked = sorted(kept, key=_goodness)
    figures = [_by_pages(ranked, scores), _by_time(ranked)]
    timed = [each for each in ranked if each.active is not None]
    return [*figures, _active(timed)] if timed else figures


def _goodness(each: _Kept) -> tuple[float, str]:
    return -each.measures["average"], each.ordering


def _by_pages(ranked: Sequence[_Kept], scores: NDArray[np.float64]) -> _Figure:
    optimal = metrics.curve(np.arange(len(scores)), np.sort(scores)[::-1], np.zeros(len(scores)))
    series = [plots.Series("optimal", optimal.fraction, optimal.pagerank, reference=True)]
    series += [plots.Series(each.ordering, each.curve.fraction, each.curve.pagerank) for each in ranked]
    title = "The higher a curve, the more PageRank is in after the same number of pages"
    frame = plots.Frame(title, "share of the pages", "cumulative PageRank", x_range=(0, 1), y_range=(0, 1.01))
    caption = (
        "Cumulative PageRank by pages. The dotted line takes the pages in the order of their PageRank, which no "
        "crawler can. Pages drawn at random from the whole graph would go along the diagonal; the ordering random "
        "draws from the pages found so far, and those that are found early have more links to them than others."
    )
    return _Figure("pagerank-by-pages", plots.lines(series, frame), caption, _said(ranked, "by pages"))


def _by_time(ranked: Sequence[_Kept]) -> _Figure:
    unit, length, end = _time_axis(ranked)
    series = [plots.Series(each.ordering, each.by_time.time / length, each.by_time.pagerank) for each in ranked]
    title = "The further left a curve, the sooner its PageRank is in"
    frame = plots.Frame(title, unit, "cumulative PageRank", x_range=(0, end), y_range=(0, 1.01))
    caption = "Cumulative PageRank by time: an order is worth little if politeness keeps the crawler waiting for it."
    return _Figure("pagerank-by-time", plots.lines(series, frame), caption, _said(ranked, "by time"))


def _active(timed: Sequence[_Kept]) -> _Figure:
    unit, length, end = _time_axis(timed)
    drawn = [(each.ordering, *each.active) for each in timed if each.active is not None]
    series = [plots.Series(name, time / length, robots) for name, time, robots in drawn]
    most = max(float(robots.max()) for _, _, robots in drawn)
    title = "Where a line falls, robots have found no site that may be visited"
    frame = plots.Frame(title, unit, "active robots", x_range=(0, end), y_range=(0, 1.05 * most or 1.0))
    caption = f"Active robots over time, means of {_INTERVALS} intervals."
    said = "; ".join(f"{each.ordering} {each.measures['active']:.1f}" for each in timed)
    return _Figure("active-robots", plots.lines(series, frame), caption, f"Line chart. Mean of active robots: {said}.")


def _time_axis(kept: Sequence[_Kept]) -> tuple[str, float, float]:
    """Title and unit of an axis of time, and where it ends."""
    longest = max(each.measures["time"] for each in kept)
    unit, length = _unit(longest)
    return f"{unit} from the start", length, longest / length or 1.0


def _said(ranked: Sequence[_Kept], against: str) -> str:
    averages = "; ".join(f"{each.ordering} {each.measures['average']:.3f}" for each in ranked)
    return f"Line chart of cumulative PageRank {against}. Averages, the best first: {averages}."


def _unit(seconds: float) -> tuple[str, float]:
    """The unit in which a time is best read."""
    units = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0))
    return next((each for each in units if seconds >= 2 * each[1]), ("seconds", 1.0))


# The page.


def _page(summary: dict[str, Any], kept: Sequence[_Kept], figures: Sequence[_Figure]) -> Page:
    """Results first, then figures, then how they came about."""
    ranked = sorted(kept, key=_goodness)
    lead = f"{len(ranked)} orderings on a graph of {summary['pages']:,} pages, the best average first."
    page = Page(str(summary["about"].get("title", "Simulated crawls")), lead)
    page.warnings(summary["warnings"])
    page.section("Orderings")
    _results(page, ranked, summary["pages"], summary["optimal_average"])
    if figures:
        page.section("Figures")
    for figure in figures:
        page.figure(figure.svg, caption=figure.caption, alternative=figure.alternative)
    page.section("What the columns mean")
    page.values(_LEGEND, heads=("column", "meaning"))
    page.section("Parameters")
    _parameters(page, ranked)
    about = {name: _shown(value) for name, value in summary["about"].items() if name != "title"}
    if about:
        page.section("About")
        page.values(about)
    return page


_LEGEND = {
    "average": "mean over i of the cumulative PageRank after i downloads; pages drawn at random from the whole graph "
    "give 0.5",
    "tau": "Kendall's tau-a between the order and the order by PageRank, mean of four samples of 5,000 pages; 1 for "
    "equal orders, 0 for unrelated ones, -1 for reversed ones",
    "top x %": "downloads until 90 %, 99 % and all of the x % of the pages with the highest PageRank are in, as shares "
    "of all pages; a single page that comes late decides the last of the three; a dash where they never were in",
    "time": "simulated, from the start to the last download",
    "active": "robots at work, mean over the crawl",
    "wasted": "share of the bandwidth that lay idle, 1 - T*/T, where T* is what moving the bytes alone takes",
    "CPU": "what the simulation itself took",
}


def _results(page: Page, ranked: Sequence[_Kept], pages: int, optimal: float) -> None:
    """The table of all orderings, with the optimum as its last line."""
    unit, length = _unit(max((each.measures["time"] for each in ranked), default=0.0))
    tops = [f"top {share.rstrip('%')} %: 90, 99, 100 %" for share in (f"{each:.0%}" for each in SHARES)]
    titles = ["average", "tau", *tops, "pages", f"time, {unit}", "active", "wasted", "CPU, s"]
    rows: list[list[str | Cell]] = [_row(each, pages, length) for each in ranked]
    rows.append([Cell("optimal", "faint"), Cell(f"{optimal:.3f}", "faint"), *[Cell("", "faint")] * (len(titles) - 1)])
    page.table([Column("ordering"), *(Column(title, number=True) for title in titles)], rows)


def _row(each: _Kept, pages: int, length: float) -> list[str | Cell]:
    """An ordering's line; search lengths are shares of all pages."""
    found = each.measures
    lengths = [
        ", ".join(
            "-" if value is None else f"{value / pages:.2f}" for value in (top["most"], top["nearly"], top["whole"])
        )
        for top in found["search_length"].values()
    ]
    idle = f"{found['wasted_bandwidth']:.2f}" if "wasted_bandwidth" in found else "-"
    return [
        *(each.ordering, f"{found['average']:.3f}", f"{found['tau']:.3f}", *lengths, f"{found['downloads']:,}"),
        *(f"{found['time'] / length:,.1f}", f"{found['active']:.1f}", idle, f"{found['took']['cpu']:.1f}"),
    ]


def _parameters(page: Page, ranked: Sequence[_Kept]) -> None:
    """What all orderings have in common as a list, and the rest as a table."""
    each_has = [each.measures["parameters"] for each in ranked]
    names = sorted({name for parameters in each_has for name in parameters})
    shown = {name: [_shown(parameters.get(name, "")) for parameters in each_has] for name in names}
    common = {name: values[0] for name, values in shown.items() if len(set(values)) == 1}
    if common:
        page.values(common, "The same for all orderings")
    differing = [name for name in names if name not in common]
    if differing:
        rows = [[each.ordering, *(shown[name][at] for name in differing)] for at, each in enumerate(ranked)]
        page.table([Column("ordering"), *(Column(name, number=True) for name in differing)], rows)


def _shown(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int | float):
        return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
