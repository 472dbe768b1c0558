"""Exact counts in bounded memory. In: SQL for rows. Out: the tables `pages` and `counted`, and `Views` of them.

1. The days that there are decide the window.
2. The spellings of pages in the window are counted; each gets its page (`pages`).
3. Only a page with as many requests as the floor can have as many views: all others go. This leaves, of many millions,
   some hundred thousand, and is what makes the last step cheap.
4. `count(DISTINCT user)` by page and day. Texts are compared as texts: hashes of two similar URLs may be equal.

Where the logs have times, a user's view of a day is of the hour of the first request: hours part a day's views. Logs
whose times are all midnights (UTC) have days alone.

Days are whole numbers from whole microseconds: to divide doubles would split days at noon.
"""

# ruff: noqa: S608 - what is put into SQL is numbers, and file names that `file_text` quotes

from __future__ import annotations

import heapq
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.temporal.reading.database import Database
from weft.temporal.reading.fates import MOST_EXAMPLES, Taken
from weft.temporal.reading.options import Reading
from weft.temporal.reading.pages import Canonical
from weft.temporal.reading.progress import Progress
from weft.temporal.reading.rows import file_text, scan
from weft.temporal.reading.times import DAY, SECOND
from weft.temporal.reading.zones import day_number, day_of, local
from weft.temporal.views import Hours, Views, Window
from weft.urls import Unusable, site_of


class Intake(NamedTuple):
    """Rows that are there to be counted."""

    db: Database
    scratch: Path
    window: Window
    days: tuple[date, ...]  # those in the window that have rows
    timed: bool  # whether rows have times, and not only days
    taken: Taken
    progress: Progress


def gather(db: Database, parts: Sequence[str], reading: Reading, taken: Taken) -> tuple[Window, tuple[date, ...], bool]:
    """Bring the rows of all logs together in the view `within`: the window, its days with rows; are there times?"""
    db.run(f"CREATE VIEW rows AS {' UNION ALL BY NAME '.join(parts)}")
    [(earliest, latest, timed)] = db.rows(f"SELECT min(us), max(us), bool_or(us % {DAY} <> 0) FROM rows")
    if earliest is None:
        raise UsageError("there are no page views in these logs", todo="only GETs of pages that were answered count")
    who = "views" if reading.views else "user"
    clock = local(reading.zone, earliest, latest)
    db.run(f"CREATE VIEW timed AS SELECT {who}, url, {clock} AS clock FROM rows")
    found = dict(db.rows(f"SELECT clock // {DAY} AS day, count(*) FROM timed GROUP BY day"))
    start, stop = _window(sorted(found), reading)
    inside = sorted(day for day in found if start <= day < stop)
    counted = "AND views > 0" if reading.views else ""
    taken.outside = sum(found.values()) - sum(found[day] for day in inside)
    db.run(
        f"""CREATE VIEW within AS
            SELECT {who}, url,
                (clock // {DAY} - {start})::SMALLINT AS day, (clock % {DAY} // {SECOND})::INTEGER AS second
            FROM timed WHERE clock >= {start * DAY} AND clock < {stop * DAY} {counted}"""
    )
    return Window(day_of(start), stop - start), tuple(map(day_of, inside)), bool(timed) and not reading.views


def _window(found: list[int], reading: Reading) -> tuple[int, int]:
    """Where the window begins and ends: as it is given, or the last days that the logs cover.

    >>> _window([3, 90, 95, 99], Reading(days=10)), _window([3, 4], Reading(first="1970-01-03", days=4))
    ((90, 100), (2, 6))
    """
    first = reading.first_day()
    start = found[-1] - reading.days + 1 if first is None else day_number(first)
    inside = [day for day in found if start <= day < start + reading.days]
    if not inside:
        days = f"{day_of(found[0])} to {day_of(found[-1])}"
        raise UsageError(f"no view lies in the window; the logs are of {days}", todo="give another first day")
    return (start, start + reading.days) if first is not None else (inside[0], inside[-1] + 1)


def count(intake: Intake, reading: Reading) -> None:
    """Make `pages` (number, URL, requests) and `counted` (page, day, views, first) of all rows in the window.

    Where there are times `counted` also has the hours of the day, and the views in each of them, as lists.
    """
    rows = f"within JOIN ({_spellings(intake, reading)}) USING (url)"
    counted = (
        _by_hour(rows) if intake.timed else f"SELECT page, day, {_measures(reading)} FROM {rows} GROUP BY page, day"
    )
    intake.db.run(f"CREATE TABLE counted AS {counted}", intake.progress.stage("counting"))


def _measures(reading: Reading) -> str:
    if reading.views:
        return "sum(views)::INTEGER AS views, -1 AS first"
    return "count(DISTINCT user)::INTEGER AS views, -1 AS first"


def _by_hour(rows: str) -> str:
    """The SQL that counts each user of a day once, in the hour of the first request."""
    users = f"SELECT page, day, min(second) AS second FROM {rows} GROUP BY page, day, user"
    hours = f"""SELECT page, day, (second // 3600)::UTINYINT AS hour, count(*)::INTEGER AS n, min(second) AS first
                FROM ({users}) GROUP BY page, day, hour"""
    return f"""SELECT page, day, sum(n)::INTEGER AS views, min(first)::INTEGER AS first,
                   list(hour ORDER BY hour) AS hour, list(n ORDER BY hour) AS hour_views
               FROM ({hours}) GROUP BY page, day"""


def _spellings(intake: Intake, reading: Reading) -> str:
    """Make `pages`; the SQL that gives the page of each spelling."""
    db, taken, progress = intake.db, intake.taken, intake.progress
    spellings, named, names = (intake.scratch / f"{name}.parquet" for name in ("spellings", "named", "names"))
    requests = "sum(views)::BIGINT" if reading.views else "count(*)"
    to_file = "(FORMAT parquet, COMPRESSION lz4)"
    spelled = f"SELECT url, {requests} AS n FROM within GROUP BY url"
    db.run(f"COPY ({spelled}) TO {file_text(spellings)} {to_file}", progress.stage("spellings"))
    if reading.ids:
        names = spellings
    else:
        _name_pages(intake, spellings, named, Canonical(reading.drop_parameters))
        grouped = f"SELECT page AS url, sum(n)::BIGINT AS n FROM {scan(named)} WHERE page IS NOT NULL GROUP BY page"
        db.run(f"COPY ({grouped}) TO {file_text(names)} {to_file}", progress.stage("names"))
    db.run(
        f"""CREATE TABLE pages AS
            SELECT (row_number() OVER (ORDER BY url) - 1)::INTEGER AS page, url, n
            FROM {scan(names)} WHERE n >= {reading.floor}"""
    )
    [(taken.small_pages, taken.small_requests)] = db.rows(
        f"SELECT count(*), coalesce(sum(n), 0)::BIGINT FROM {scan(names)}"
    )
    if reading.ids:
        return "SELECT url, page FROM pages"
    return f"SELECT spelt.url, pages.page FROM {scan(named)} AS spelt JOIN pages ON spelt.page = pages.url"


def _name_pages(intake: Intake, spellings: Path, named: Path, canonical: Canonical) -> None:
    """Write the canonical URL of each spelling beside it; nothing where it has none."""
    advance, taken = intake.progress.stage("pages"), intake.taken
    shape = pa.schema([("url", pa.string()), ("page", pa.string()), ("n", pa.int64())])
    total = pq.read_metadata(spellings).num_rows
    done = lost = 0
    with pq.ParquetWriter(named, shape, compression="lz4") as writer:
        for batch in intake.db.batches(f"SELECT url, n FROM {scan(spellings)}"):
            found = [canonical.url(text) for text in batch["url"].to_pylist()]
            page = pa.array([None if isinstance(url, Unusable) else url for url in found], pa.string())
            if page.null_count:
                gone = page.is_null()
                lost += page.null_count
                taken.unusable += pc.sum(batch["n"].filter(gone)).as_py()
                # The first by name, so that the order of the logs does not matter.
                texts = [*taken.unusable_examples, *batch["url"].filter(gone).to_pylist()]
                taken.unusable_examples = heapq.nsmallest(MOST_EXAMPLES, texts)
            writer.write_table(pa.table([batch["url"].cast(pa.string()), page, batch["n"]], schema=shape))
            done += len(found)
            advance(done / total)
    if lost == total:
        raise UsageError(
            f"no page in these logs is a URL; the first is {taken.unusable_examples[0][:100]!r}",
            todo="name the column with the URLs, or say --ids if pages have ids instead",
        )


def views_of(db: Database, window: Window, reading: Reading, taken: Taken) -> Views:
    """The pages of `pages` and `counted` that have as many views as the floor asks for, ordered by URL."""
    pages = db.table("SELECT page, url, n FROM pages ORDER BY page")
    [(timed,)] = db.rows("SELECT count(*) > 0 FROM (DESCRIBE counted) WHERE column_name = 'hour'")
    parts = ", hour, hour_views" if timed else ""
    rows = db.table(f"SELECT page, day, views, first{parts} FROM counted ORDER BY page, day")
    page, day, views, first = (rows[name].to_numpy() for name in ("page", "day", "views", "first"))
    assert (pages["page"].to_numpy() == np.arange(pages.num_rows)).all()
    assert (np.diff(page.astype(np.int64) * window.days + day) > 0).all()
    kept = np.bincount(page, weights=views, minlength=pages.num_rows) >= max(reading.floor, 1)
    inside = kept[page]
    days = np.bincount(page, minlength=pages.num_rows)[kept]
    left = pages.filter(pa.array(kept))
    urls = left["url"].combine_chunks().cast(pa.string())
    sites, site = _sites(urls, reading)
    found = Views(
        window,
        urls,
        sites,
        site,
        np.concatenate([[0], np.cumsum(days)]).astype(np.int64),
        day[inside].astype(np.int16),
        views[inside].astype(np.int32),
        first[inside].astype(np.int32),
        _hours(rows.filter(pa.array(inside))) if timed else None,
    )
    taken.pages, taken.views = found.pages, int(found.count.sum())
    taken.requests = int(pc.sum(left["n"]).as_py() or 0)
    taken.small_pages -= taken.pages
    taken.small_requests -= taken.requests
    return found


def _hours(rows: Any) -> Hours:
    """The hours of the days of some pages."""
    hour, views = (pa.array(rows[name].combine_chunks()) for name in ("hour", "hour_views"))
    many = pc.list_value_length(hour).to_numpy()
    return Hours(
        np.concatenate([[0], np.cumsum(many)]).astype(np.int64),
        hour.flatten().to_numpy().astype(np.int8),
        views.flatten().to_numpy().astype(np.int32),
    )


def _sites(urls: Any, reading: Reading) -> tuple[Any, NDArray[np.int32]]:
    """The names of the sites in their order, and the site of each page."""
    if reading.ids:
        return pa.array([reading.host or "-"]), np.zeros(len(urls), np.int32)
    coded = pa.array(map(site_of, urls.to_pylist()), pa.string(), size=len(urls)).dictionary_encode()
    order = pc.sort_indices(coded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return coded.dictionary.take(pa.array(order)), rank[coded.indices.to_numpy()]
