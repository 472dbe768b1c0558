"""What simulations have shown, for people and for programs. In: results, PageRank by page. Out: a directory.

    summary.json           every measure of every ordering, its parameters, and what it took
    curves.parquet         cumulative PageRank after some 1,000 steps
    usage.parquet          robots at work and bytes a second over time, means of 200 intervals
    index.html             tables and figures in one page that needs no other file
    plots/*.{svg,png,csv}  the same figures, and the numbers they were drawn from
    orders.parquet         every page of every order with its time (only when asked for)
    order.ORDERING.txt     the ids in visiting order, one a line (only when asked for)

Invariant: the directory is there whole or not at all. Everything is written beside it and renamed at the end; an
earlier report is replaced, anything else is left alone. Without matplotlib there are no figures, and a warning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
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
from weft.printing.figures import write_figures
from weft.sim import metrics
from weft.sim.measured import Measured, measured, plain, repeated, speed_up_table, with_repeats
from weft.sim.pictures import figures
from weft.sim.report_page import made_page
from weft.sim.result import Simulated

KIND = "weft simulation"
_LINES = 1 << 18

CURVES = pa.schema(
    [
        pa.field("ordering", pa.string(), nullable=False),
        pa.field("pages", pa.int64(), nullable=False, metadata={"doc": "downloads so far"}),
        pa.field("fraction", pa.float64(), nullable=False, metadata={"doc": "their share of all pages"}),
        pa.field("pagerank", pa.float64(), nullable=False, metadata={"doc": "their PageRank together"}),
        pa.field("time", pa.float64(), nullable=False, metadata={"doc": "seconds from the start"}),
    ]
)


USAGE = pa.schema(
    [
        pa.field("ordering", pa.string(), nullable=False),
        pa.field("time", pa.float64(), nullable=False, metadata={"doc": "the middle of the interval, seconds"}),
        pa.field("robots", pa.float64(), nullable=False, metadata={"doc": "robots at work"}),
        pa.field("used", pa.float64(), metadata={"doc": "bytes a second that came, where pages have sizes"}),
    ]
)


def write_report(
    results: Iterable[Simulated],
    scores: NDArray[np.float64],
    stored_ids: Sequence[Any] | NDArray[Any],
    out: Path,
    *,
    order_out: bool,
    about: Mapping[str, Any],
    same_pages: bool = False,
) -> dict[str, Any]:
    """Write the report and return its summary.

    Results are worked off one by one, so a generator of them needs the memory of one; those of one name that differ by
    their seed, which come one after the other, are repeats. `same_pages` says that all crawls are of the same pages,
    so that their times tell speed-ups. Of `about`, `title` heads the page, `warnings` (a list) stand at its top and in
    the summary, and the rest is shown as it is.
    """
    with replacing(out, check_replaceable) as folder:
        kept = _keep(results, scores, np.asarray(stored_ids), folder, order_out=order_out)
        with writing(folder):
            pq.write_table(_curves(kept), folder / "curves.parquet", compression="zstd")
            pq.write_table(_usage(kept), folder / "usage.parquet", compression="zstd")
        warnings = [str(each) for each in about.get("warnings", ())]
        if not plots.available():
            warnings.append("There are no figures: they need matplotlib (pip install 'weft[plots]').")
        summary = _summary(kept, scores, about, warnings)
        if same_pages:
            summary["speed_ups"] = speed_up_table(kept)
        ranked = kept if same_pages else sorted(kept, key=lambda each: (-each.measures["average"], each.name))
        drawn_from = figures(ranked, scores, summary.get("speed_ups", ())) if plots.available() and kept else []
        with writing(folder):
            text = json.dumps(summary, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
            (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
            drawn = write_figures(folder / "plots", drawn_from)
            page = made_page(summary, ranked, drawn_from, drawn)
            (folder / "index.html").write_text(page.html(), encoding="utf-8")
    return summary


# The directory.


def check_replaceable(out: Path) -> None:
    """Refuse a place where something else is than an earlier report; ask before the work, and again after it."""
    disk.check_replaceable(out, "report", is_one=_is_report, is_ours=lambda name: _OURS.fullmatch(name) is not None)


_OURS = re.compile(r"summary\.json|curves\.parquet|usage\.parquet|orders\.parquet|order\..*\.txt|index\.html|plots")


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
) -> list[Measured]:
    """Measure one result after the other, and write its order where that is wanted."""
    kept: dict[str, Measured] = {}
    writer: pq.ParquetWriter | None = None
    try:
        for result in results:
            _check_name(result.name)
            if result.name in kept:
                repeated(kept[result.name], result, scores)
                continue
            if order_out:
                table = _order(result, stored_ids)
                with writing(folder):
                    writer = writer or pq.ParquetWriter(folder / "orders.parquet", table.schema, compression="zstd")
                    writer.write_table(table)
                    _write_lines(folder / f"order.{result.name}.txt", stored_ids, result.order)
            kept[result.name] = measured(result, scores)
    finally:
        if writer is not None:
            with writing(folder):
                writer.close()
    return list(kept.values())


def _check_name(name: str) -> None:
    """A crawl's name becomes a file's name."""
    if not re.fullmatch(r"\w[\w.+=,@-]*", name):
        raise UsageError(f"the ordering's name {name!r} cannot be part of a file's name", todo="give it another name")


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
    name = pa.DictionaryArray.from_arrays(np.zeros(len(ids), dtype=np.int32), pa.array([result.name]))
    position = pa.array(np.arange(1, len(ids) + 1, dtype=np.int32))
    return pa.Table.from_arrays([name, position, ids, pa.array(result.finished)], schema=schema)


def _write_lines(path: Path, stored_ids: NDArray[Any], order: NDArray[np.int32]) -> None:
    """Ids, one a line; some at a time, since text takes ten times the memory of numbers."""
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, len(order), _LINES):
            file.write("\n".join(map(str, stored_ids[order[start : start + _LINES]].tolist())) + "\n")


def _curves(kept: Sequence[Measured]) -> pa.Table:
    """The curves of all orderings, one below the other."""
    columns = {
        name: np.concatenate([np.asarray(getattr(each.curve, name)) for each in kept] or [np.zeros(0)])
        for name in ("pages", "fraction", "pagerank", "time")
    }
    names = [each.name for each in kept for _ in each.curve.pages]
    return pa.Table.from_pydict({"ordering": names, **columns}, schema=CURVES)


def _usage(kept: Sequence[Measured]) -> pa.Table:
    """What robots and link did in all crawls, one below the other."""
    tables = [
        pa.Table.from_pydict(
            {
                "ordering": [each.name] * len(each.usage.time),
                "time": each.usage.time,
                "robots": each.usage.robots,
                "used": [None] * len(each.usage.time) if each.usage.used is None else each.usage.used,
            },
            schema=USAGE,
        )
        for each in kept
    ]
    return pa.concat_tables(tables) if tables else USAGE.empty_table()


def _summary(
    kept: Sequence[Measured], scores: NDArray[np.float64], about: Mapping[str, Any], warnings: list[str]
) -> dict[str, Any]:
    return {
        "kind": KIND,
        "about": {name: plain(value) for name, value in about.items() if name != "warnings"},
        "warnings": warnings,
        "pages": len(scores),
        "optimal_average": metrics.optimal_average(scores),
        "orderings": {each.name: with_repeats(each) for each in kept},
    }
