"""What an analysis has found, as files. In: findings. Out: a directory.

    seeds.txt          the seed list, best first, one site a line, as `weft crawl --seeds` takes it
    sites.tsv          every site, best first
    folders.tsv        the same for the folders of sites
    patterns.tsv       the same for patterns of dynamic pages: one path, the same names of parameters
    hubs.tsv           where to look for new pages, and how often there are any
    pages.parquet      every page, by URL (see `columns`)
    summary.json       counts, what was dropped and why, measures, settings
    index.html         the same for people (see `report`)
    days/              views by day; of `weft temporal update` only

Invariant: the directory is there whole or not at all. Everything is written beside it and renamed at the end; an
earlier analysis is replaced, anything else is left alone. The same logs and settings give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft import disk
from weft.disk import writing
from weft.errors import UsageError
from weft.printing import plots
from weft.temporal.columns import UNITS, pages_table
from weft.temporal.findings import Findings
from weft.temporal.report import report
from weft.temporal.sites import Ranking
from weft.temporal.views import LABEL_NAMES

KIND = "weft temporal analysis"
DAYS = "days"
NO_SITE = "-"  # what pages with ids are on, where nobody says
LEAST_DAYS = 10  # in a shorter window no page is seen long enough to be decided by what it did
_FILES = ("seeds.txt", "sites.tsv", "folders.tsv", "patterns.tsv", "hubs.tsv", "pages.parquet")
_OURS = {*_FILES, "summary.json", "index.html", DAYS}
_SPACES = str.maketrans("\t\r\n", "   ")


def check_replaceable(out: Path) -> None:
    """Refuse a place where something else is than an earlier analysis."""
    disk.check_replaceable(out, "analysis", is_one=_is_analysis, is_ours=_OURS.__contains__)


def check_no_days(out: Path) -> None:
    """The same, and refuse to throw away the days of an analysis that grows."""
    check_replaceable(out)
    if (out / DAYS).exists():
        todo = "add to it by `weft temporal update`, or give another directory"
        raise UsageError("the directory holds days of an analysis that grows", where=str(out), todo=todo)


def _is_analysis(folder: Path) -> bool:
    """Whether a folder has the summary of an analysis."""
    try:
        return bool(json.loads((folder / "summary.json").read_text(encoding="utf-8"))["kind"] == KIND)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write_output(found: Findings, folder: Path) -> dict[str, Any]:
    """Write everything into a folder that `weft.disk.replacing` has made, and return the summary."""
    summary = summarise(found)
    with writing(folder):
        (folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds(found)), encoding="utf-8")
        _write_rows(folder / "sites.tsv", ("site", *SITE_COLUMNS), ranking_rows(found.sites, SITE_COLUMNS))
        _write_rows(folder / "folders.tsv", ("folder", *COLUMNS), ranking_rows(found.folders.folders, COLUMNS))
        _write_rows(folder / "patterns.tsv", ("pattern", *COLUMNS), ranking_rows(found.folders.patterns, COLUMNS))
        _write_rows(folder / "hubs.tsv", HUB_COLUMNS, hub_rows(found))
        pq.write_table(pages_table(found), folder / "pages.parquet", compression="zstd")
        text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
        (folder / "index.html").write_text(report(found, summary).html(), encoding="utf-8")
    return summary


def summarise(found: Findings) -> dict[str, Any]:
    """What there is to say in numbers, and in warnings."""
    views, labels = found.views, found.labels
    named = np.bincount(labels.label, minlength=len(LABEL_NAMES)).tolist()
    return {
        "kind": KIND,
        "window": {"first": views.window.first.isoformat(), "days": views.window.days},
        "unit": views.unit,
        "units": UNITS,
        "pages": views.pages,
        "sites": len(found.sites.names),
        "views": int(views.totals().sum()),
        "labels": dict(zip(LABEL_NAMES, named, strict=True)),
        "temporal_pages": int(labels.temporal.sum()),
        "hubs": int(found.hub.sum()),
        "curves": int(np.isfinite(found.curves.A).sum()),
        "seeds": len(found.sites.seeds()),
        "seed_list": {**asdict(found.sites.ending), "why": found.sites.ending.why},
        "lists": {name: asdict(measures) for name, measures in found.lists.items()},
        "training": found.training,
        "taken": asdict(found.taken),
        "settings": found.settings,
        "warnings": _warnings(found),
    }


def _warnings(found: Findings) -> list[str]:
    """What the reader must know before believing the rest."""
    taken, said = found.taken, []
    if found.views.pages == 0:
        said.append(f"No page has views enough: all {taken.small_pages:,} are under the floor.")
    if found.views.window.days < LEAST_DAYS:
        said.append(f"The logs cover {found.views.window.days} days: too few to see interest end.")
    if found.labels.temporal.any() and not found.sites.ending.sites:
        said.append("No site is on the seed list: none has published enough lately (see --least-rate, --half-life).")
    if taken.broken:
        said.append(f"{taken.broken:,} of {taken.rows:,} lines could not be read; the first: {taken.examples[0]}.")
    if taken.unusable:
        said.append(f"{taken.unusable:,} views have a URL that cannot be used.")
    if not plots.available():
        said.append("There are no figures: they need matplotlib (pip install 'weft[plots]').")
    return said


def seeds(found: Findings) -> list[str]:
    """The seed list as a crawl takes it: a host's name means its home page, a port needs the scheme beside it."""
    names = [name for name in found.sites.seeds() if name != NO_SITE]
    return [_with_scheme(found, name) if ":" in name else name for name in names]


def _with_scheme(found: Findings, name: str) -> str:
    """The home page of a site with a port, by the scheme that most of its pages have."""
    site = found.views.sites.index(name).as_py()
    urls = found.views.urls.filter(pa.array(found.views.site == site))
    secure = pc.sum(pc.starts_with(urls, "https://")).as_py() or 0
    return f"{'https' if 2 * secure > len(urls) else 'http'}://{name}/"


_SHARES = ("score", "page_share", "view_share")
_COUNTS = ("pages", "temporal_pages", "views")
COLUMNS = (*_SHARES, *_COUNTS, "publication_rate", "births", "hubs")
SITE_COLUMNS = (*COLUMNS, "listed", "polls")
HUB_COLUMNS = ("url", "folder", "site", "views", "publication_rate", "births")


def ranking_rows(ranking: Ranking, names: Sequence[str]) -> Iterator[list[str]]:
    """A line for each entry of a ranking, best first."""
    columns = [getattr(ranking, name).tolist() for name in names]
    for name, *values in zip(ranking.names.to_pylist(), *columns, strict=True):
        yield [name, *(_number(value) for value in values)]


def hub_rows(found: Findings) -> Iterator[list[str]]:
    """A line for each place to look at, the one with most temporal pages a day first."""
    hubs, views, totals = found.hubs, found.views, found.views.totals()
    names = hubs.names.to_pylist()
    for at in sorted(range(len(names)), key=lambda at: (-hubs.temporal_births[at], names[at])):
        page = int(hubs.page[at])
        url, seen = (views.urls[page].as_py(), int(totals[page])) if page >= 0 else ("", 0)
        rates = (_number(hubs.temporal_births[at]), _number(hubs.births[at]))
        yield [url, names[at], views.sites[hubs.site[at]].as_py(), str(seen), *rates]


def _number(value: float) -> str:
    """A value in a file: truth as 0 or 1, whole numbers as they are."""
    return f"{value:d}" if isinstance(value, int) else f"{value:.6f}"


def _write_rows(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Tabs between columns; a URL in normal form has none in it, and what an id has becomes a space."""
    with path.open("w", encoding="utf-8") as file:
        for row in chain([head], rows):
            file.write("\t".join(cell.translate(_SPACES) for cell in row) + "\n")
