"""What continuous crawls have shown, for people and for programs. In: `Continuous`, some. Out: a directory.

    summary.json     every measure of every policy and share, its terms, what was warned of
    index.html       tables and figures in one page that needs no other file
    plots/           the same figures as SVG and PNG, and the numbers of each as CSV

The directory is there whole or not at all, as with `weft.sim.report`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.disk import replacing, writing
from weft.printing import plots
from weft.printing.charts import Frame, Lines, Series
from weft.printing.figures import Figure, show, write_figures
from weft.printing.page import Column, Page
from weft.sim.continuous import Continuous
from weft.sim.report import KIND, check_replaceable

_LEGEND = {
    "freshness": "share of the time, over all copies of pages that are no hubs, in which a copy is the page as it is",
    "age": "time since the first change that a copy lacks, 0 while it is fresh; mean over copies and time",
    "stale views": "share of the views, by the weights of pages, that meet a copy that is not the page as it is",
    "delay": "of temporal pages: from birth until they are stored; those that never were are counted beside it",
    "held": "share of the pages that were there at the end of which there was a copy",
    "unchanged": "share of the fetches of known pages that found nothing new",
    "never": "pages that change, and that the freshness optimum leaves alone because they change too often",
}


def label_of(each: Continuous) -> str:
    """What a crawl is called beside others."""
    return f"{each.policy}, {each.terms['new_share']:.0%} new".replace("%", " %")


def write_continuous_report(results: Sequence[Continuous], out: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Write the report and return its summary."""
    warnings = list(dict.fromkeys(warning for each in results for warning in each.warnings))
    if not plots.available():
        warnings.append("There are no figures: they need matplotlib (pip install 'weft[plots]').")
    summary = {
        "kind": KIND,
        "about": about,
        "warnings": warnings,
        "crawls": [
            {
                "policy": each.policy,
                "new_share": each.terms["new_share"],
                "measures": each.measures,
                "terms": {name: _plain(value) for name, value in each.terms.items()},
                "by_day": [[_plain(value) for value in row] for row in each.by_day.tolist()],
            }
            for each in results
        ],
    }
    figures = _figures(results) if plots.available() else []
    with replacing(out, check_replaceable) as folder, writing(folder):
        text = json.dumps(summary, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
        drawn = write_figures(folder / "plots", figures)
        (folder / "index.html").write_text(_page(results, summary, figures, drawn).html(), encoding="utf-8")
    return summary


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _figures(results: Sequence[Continuous]) -> list[Figure]:
    """Freshness over time, and delays of temporal pages."""
    best = max(results, key=lambda each: each.measures["freshness"])
    freshest = f"The freshest: {label_of(best)}, {best.measures['freshness']:.3f}."
    fresh = [Series(label_of(each), each.by_day[:, 0], each.by_day[:, 1]) for each in results]
    frame = Frame("The higher a line, the more copies are as their pages are", "days", "share that is fresh")
    caption = "Share of the copies that are fresh, at every new plan."
    found = [Figure("freshness", Lines(fresh, frame), caption, f"Line chart. {caption} {freshest}")]
    hours = np.geomspace(1 / 60, 24 * 14, 200)
    shares = [
        Series(label_of(each), hours, [float((each.delays <= hour).mean()) for hour in hours])
        for each in results
        if len(each.delays)
    ]
    if shares:
        title = "The further left a line, the sooner news is stored"
        frame = Frame(title, "hours after birth", "share stored", x_log=True)
        caption = "Temporal pages that were stored so many hours after their birth."
        found.append(Figure("delay", Lines(shares, frame), caption, f"Line chart. {caption} {freshest}"))
    return found


def _page(
    results: Sequence[Continuous], summary: dict[str, Any], figures: Sequence[Figure], drawn: Mapping[str, str]
) -> Page:
    page = Page(
        "Continuous crawls, simulated", f"{len(results)} crawls of a web that changes: {summary['about']['web']}."
    )
    page.warnings(summary["warnings"])
    page.section("Policies")
    page.table(
        [Column("policy"), *(Column(title, number=True) for title in TITLES)], [row_of(each) for each in results]
    )
    if figures:
        page.section("Figures")
    for figure in figures:
        show(page, figure, drawn[figure.name], "plots")
    page.section("What the columns mean")
    page.values(_LEGEND, heads=("column", "meaning"))
    page.section("Terms")
    page.values({name: str(value) for name, value in results[0].terms.items() if name != "new_share"})
    page.values({name: str(value) for name, value in summary["about"].items()}, "About")
    return page


TITLES = (
    *("freshness", "age, days", "stale views", "mean delay, h", "within 1 h", "within 6 h", "never stored", "held"),
    *("fetches of hubs", "new", "known", "unchanged", "never", "GB"),
)


def row_of(each: Continuous) -> list[str]:
    """A crawl's line of the table."""
    found = each.measures
    lanes = found["requests_by_lane"]
    shares = [found[name] for name in ("within_1h", "within_6h", "never_stored", "held")]
    return [
        label_of(each),
        f"{found['freshness']:.3f}",
        f"{found['age_days']:.2f}",
        f"{found['embarrassment']:.3f}",
        "-" if found["mean_delay_hours"] is None else f"{found['mean_delay_hours']:.1f}",
        *("-" if share is None else f"{share:.2f}" for share in shares),
        *(f"{lanes[name]:,}" for name in ("hubs", "new", "known")),
        f"{found['unchanged']:.2f}",
        f"{found['never_fetched_again']:,}",
        f"{found['bytes'] / 1e9:.2f}",
    ]
