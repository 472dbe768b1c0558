"""The page that people read. In: findings and their summary. Out: one HTML page that needs no other file.

Results first (the seed list, and how it compares), then the pages and their curves, then what was dropped and why, and
how it was done. Without matplotlib there are no figures; the rest stands.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from weft.errors import UsageError
from weft.printing import plots
from weft.printing.page import Cell, Column, Page
from weft.temporal import pictures
from weft.temporal.evaluation import Measures
from weft.temporal.findings import Findings
from weft.temporal.sites import Ranking

_SITES = 100  # rows of a ranking that somebody may read; sites.tsv has all
_FOLDERS = 30


def report(found: Findings, summary: Mapping[str, Any]) -> Page:
    """The whole page."""
    window = found.views.window
    lead = (
        f"{summary['views']:,} views of {summary['pages']:,} pages on {summary['sites']:,} sites, "
        f"{window.days} days from {window.first}, by the {summary['unit']}: "
        f"{summary['temporal_pages']:,} pages are temporal."
    )
    page = Page("Temporal pages and sites", lead)
    page.warnings(summary["warnings"])
    page.section("Sites")
    _ranking(page, "site", found.sites, _SITES)
    if found.lists:
        page.section("Lists of sites compared")
        _table_one(page, found.lists)
    page.section("Pages")
    _pages(page, summary)
    if plots.available() and found.views.pages:
        page.section("Interest on the first day")
        _first_day(page, found)
        page.section("Example pages")
        _examples(page, found)
    page.section("Folders")
    _ranking(page, "folder", found.folders.folders, _FOLDERS)
    page.section("What was dropped, and why")
    _dropped(page, found)
    page.section("What the columns mean")
    page.values(LEGEND, heads=("column", "meaning"))
    page.section("Settings")
    for name, value in found.settings.items():
        if isinstance(value, dict):
            page.values({key: _shown(each) for key, each in value.items()}, name)
        elif value:
            page.values({name: _shown(value)})
    return page


LEGEND = {
    "score": "alpha times the page share plus beta times the view share, after pages were added to every site so that "
    "tiny ones do not lead; by F-measure, what the site adds to the list, in pages",
    "page share": "temporal pages among the site's pages",
    "view share": "views of temporal pages among the site's views",
    "pages": "pages over the floor; without home pages and section fronts where the settings leave them out",
    "views": "users, each counted once a page and day",
    "temporal a day": "temporal pages born a day: the publication rate",
    "born a day": "pages born a day",
    "hubs": "home pages and section fronts: where new pages are announced",
}


def _ranking(page: Page, what: str, ranking: Ranking, most: int) -> None:
    """The beginning of a ranking."""
    titles = ("score", "page share", "view share", "pages", "temporal", "views", "temporal a day", "born a day", "hubs")
    columns = [Column("", number=True), Column(what), *(Column(title, number=True) for title in titles)]
    names = ranking.names[:most].to_pylist()
    rows: list[list[str | Cell]] = []
    for at, name in enumerate(names):
        cells = [
            *(f"{each[at]:.3f}" for each in (ranking.score, ranking.page_share, ranking.view_share)),
            *(f"{each[at]:,}" for each in (ranking.pages, ranking.temporal_pages, ranking.views)),
            *(f"{each[at]:.2f}" for each in (ranking.publication_rate, ranking.births)),
            f"{ranking.hubs[at]:,}",
        ]
        rows.append([str(at + 1), Cell(name, "good") if ranking.listed[at] else name, *cells])
    shown = f"The first {len(names):,} of {len(ranking.names):,}"
    listed = int(ranking.listed.sum())
    if listed:
        lowest = ranking.score[ranking.listed].min()
        shown += f"; {listed:,} on the seed list, in green: scores from {lowest:.3f} on, since {ranking.ending.why}"
    page.table(columns, rows, shown)


def _table_one(page: Page, lists: Mapping[str, Measures]) -> None:
    """Table 1 of the paper: a column for each list."""
    page.paragraph(
        "As in table 1 of the paper: pages of the listed sites, by the labels found here. The labels and the list come "
        "from the same logs, so this says how well a list gathers what was temporal, not what will be."
    )
    page.table([Column(""), *(Column(name, number=True) for name in lists)], table_one(list(lists.values())))


def table_one(lists: Sequence[Measures]) -> list[list[str]]:
    """The rows of table 1."""
    return [
        ["Temporal pages", *(f"{each.temporal:,}" for each in lists)],
        ["Total pages", *(f"{each.total:,}" for each in lists)],
        ["Precision", *(f"{each.precision:.1%}" for each in lists)],
        ["Recall", *(f"{each.recall:.1%}" for each in lists)],
        ["F-measure", *(f"{each.f:.3f}" for each in lists)],
    ]


def _pages(page: Page, summary: Mapping[str, Any]) -> None:
    """How many pages have which label, and what labelled ones have taught."""
    whole = max(summary["pages"], 1)
    rows = [[name, f"{many:,}", f"{many / whole:.1%}"] for name, many in summary["labels"].items()]
    rows.append(
        ["decided to be temporal", f"{summary['temporal_pages']:,}", f"{summary['temporal_pages'] / whole:.1%}"]
    )
    page.table([Column("label"), Column("pages", number=True), Column("share", number=True)], rows)
    if summary["training"]:
        page.heading("Learned from labelled pages")
        page.values({name: _shown(value) for name, value in summary["training"].items()})


def _first_day(page: Page, found: Findings) -> None:
    drawn = pictures.draw_first_day(found.views, found.curves, _sites(found))
    if drawn is None:
        page.paragraph("No curve was fitted.")
    else:
        page.figure(drawn.svg, caption=drawn.caption, alternative=drawn.alternative)


def _sites(found: Findings) -> list[int]:
    """The sites to draw: those asked for, or some that the ranking suggests."""
    known = {name: number for number, name in enumerate(found.views.sites.to_pylist())}
    for name in found.drawn:
        if name not in known:
            raise UsageError(f"the site {name} has no pages here", todo="see sites.tsv for those that have")
    return [known[name] for name in found.drawn] or pictures.sites_to_draw(
        found.views, [known[name] for name in found.sites.names.to_pylist()]
    )


def _examples(page: Page, found: Findings) -> None:
    page.paragraph(
        "Points are views of a day. The line is the fitted interest curve, summed over a day around each moment."
    )
    for example in pictures.examples(found.views, found.labels):
        drawn = pictures.draw_page(found.views, found.labels, found.curves, example)
        page.figure(drawn.svg, caption=drawn.caption, alternative=drawn.alternative)


def _dropped(page: Page, found: Findings) -> None:
    """Every row's fate."""
    taken = found.taken
    fates = [
        ("lines or rows that were read", taken.rows, ""),
        ("could not be read", taken.broken, "see below"),
        ("requests other than GET", taken.other_methods, "they are no views of a page"),
        ("requests that failed", taken.failed, "their status is neither 2xx nor 304"),
        ("parts of pages", taken.embedded, "images, style sheets, scripts and the like"),
        ("unusable URLs", taken.unusable, "they have no normal form"),
        ("outside the window", taken.outside, "days before it or after it"),
        ("of pages under the floor", taken.small_requests, f"{taken.small_pages:,} pages with too few views to tell"),
        ("of pages that were kept", taken.requests, f"{taken.views:,} views of {taken.pages:,} pages, without repeats"),
    ]
    rows = [[what, f"{many:,}", why] for what, many, why in fates]
    caption = f"Of the {taken.files:,} files that were read in this run"
    page.table([Column("rows"), Column("number", number=True), Column("")], rows, caption)
    if taken.examples or taken.unusable_examples:
        page.heading("The first of them that could not be used")
        page.bullets([*taken.examples, *taken.unusable_examples])


def _shown(value: Any) -> str:
    """A value as a person reads it.

    >>> _shown(True), _shown(0.7), _shown([]), _shown({"n": 3})
    ('yes', '0.7', '', '{"n": 3}')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
    return json.dumps(value, ensure_ascii=False) if value else ""
