"""A day of logs at a time. In: logs of some days, a folder. Out: a file for each day, and `Views` of all of them.

A view is one user, one page, one day: counts of different days never touch each other, so that they are exact without
knowing who came on other days. `2026-03-02.parquet` has `url`, `views` and `first` of every page, of those under the
floor, too, since the floor is one of the whole window; where the logs have times also `hour` and `hour_views`, lists of
the hours of the day. A window has hours if all its days have. The same day from two batches would count a user twice:
a day that is there can only be replaced.

A file takes its place when it is whole. All days of a folder were read in the same way: zone, parameters and the like
are in `reading.json`, and logs that are read otherwise are refused.
"""

# ruff: noqa: S608 - what is put into SQL is numbers, and file names that `file_text` quotes

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from weft.clock import Clock
from weft.disk import rename, replace_file, sync_file, writing
from weft.errors import UsageError
from weft.temporal.reading.counting import Intake, count, views_of
from weft.temporal.reading.database import Database
from weft.temporal.reading.fates import Taken
from weft.temporal.reading.options import Reading
from weft.temporal.reading.rows import file_text, scan
from weft.temporal.reading.run import SCRATCH, Tell, scratch_folder, taking_in
from weft.temporal.views import Views, Window

_SHARED = ("zone", "ids", "host", "drop_parameters")
_ABOUT = "reading.json"


def add_days(
    store: Path,
    logs: Sequence[Path],
    reading: Reading,
    progress: Tell | None = None,
    *,
    again: bool = False,
    clock: Clock | None = None,
) -> Taken:
    """Count the days of these logs into a folder; `again` replaces days that are there."""
    _check_store(store, reading)
    for left in store.glob(f"{SCRATCH}*"):  # by a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    everything = replace(reading, floor=1)
    with taking_in(logs, everything, progress, scratch=store, clock=clock) as intake:
        there = [day for day in intake.days if _file(store, day).exists()]
        if there and not again:
            raise UsageError(
                f"{there[0]} is there already" + (f", and {len(there) - 1} more days" if len(there) > 1 else ""),
                where=str(store),
                todo="a user who is in both logs would count twice: give all logs of these days and say --again, "
                "or leave these days out with --first and --days",
            )
        count(intake, everything)
        with writing(store):
            _write_days(store, intake)
            _write_about(store, reading)
        [(intake.taken.pages, intake.taken.views)] = intake.db.rows(
            "SELECT count(DISTINCT page), coalesce(sum(views), 0)::BIGINT FROM counted"
        )
        intake.taken.requests, intake.taken.small_pages = intake.taken.small_requests, 0
        intake.taken.small_requests = 0
        return intake.taken


def views_of_days(store: Path, reading: Reading) -> Views:
    """Views of the window, of all pages over the floor: the same as all logs at once would have given."""
    reading.check()
    _check_store(store, reading)
    found = sorted(date.fromisoformat(path.stem) for path in store.glob("????-??-??.parquet"))
    first = reading.first_day()
    if not found:
        raise UsageError("there are no days", where=str(store), todo="add some logs first")
    start = date.fromordinal(found[-1].toordinal() - reading.days + 1) if first is None else first
    inside = [day for day in found if 0 <= (day - start).days < reading.days]
    if not inside:
        todo = f"there are {found[0]} to {found[-1]}"
        raise UsageError(f"no day of the window from {start} on is there", where=str(store), todo=todo)
    window = Window(start, reading.days) if first is not None else Window(inside[0], (inside[-1] - inside[0]).days + 1)
    columns = "url, views, first" + (", hour, hour_views" if all(_timed(store, day) for day in inside) else "")
    days = " UNION ALL ".join(
        f"SELECT {(day - window.first).days}::SMALLINT AS day, {columns} FROM {scan(_file(store, day))}"
        for day in inside
    )
    with scratch_folder(store) as folder, Database(folder, reading) as db:
        db.run(
            f"""CREATE TABLE pages AS
                SELECT (row_number() OVER (ORDER BY url) - 1)::INTEGER AS page, url, n
                FROM (SELECT url, sum(views)::BIGINT AS n FROM ({days}) GROUP BY url) WHERE n >= {reading.floor}"""
        )
        db.run(f"CREATE TABLE counted AS SELECT page, day, {columns[5:]} FROM ({days}) JOIN pages USING (url)")
        return views_of(db, window, reading, Taken())


def _write_days(store: Path, intake: Intake) -> None:
    for day in intake.days:
        number = (day - intake.window.first).days
        new = intake.scratch / "day.parquet"
        intake.db.run(
            f"""COPY (SELECT url, counted.* EXCLUDE (page, day)
                FROM counted JOIN pages USING (page) WHERE day = {number} ORDER BY url)
                TO {file_text(new)} (FORMAT parquet, COMPRESSION zstd)"""
        )
        sync_file(new)
        rename(new, _file(store, day))


def _timed(store: Path, day: date) -> bool:
    """Whether a day's file has hours; days that were counted by an earlier version do not."""
    return "hour" in pq.read_schema(_file(store, day)).names


def _file(store: Path, day: date) -> Path:
    return store / f"{day}.parquet"


def _about(reading: Reading) -> dict[str, object]:
    """What must be the same for all logs of a folder."""
    shared = {name: getattr(reading, name) for name in _SHARED}
    return {**shared, "drop_parameters": sorted(reading.drop_parameters), "counts": bool(reading.views)}


def _write_about(store: Path, reading: Reading) -> None:
    replace_file(store / _ABOUT, msgspec.json.format(msgspec.json.encode(_about(reading))))


def _check_store(store: Path, reading: Reading) -> None:
    """Refuse what was read in another way."""
    try:
        there = msgspec.json.decode((store / _ABOUT).read_bytes(), type=dict[str, object])
    except FileNotFoundError:
        return
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"cannot read what is known of these days: {error}", where=str(store / _ABOUT)) from error
    for name, value in _about(reading).items():
        if there.get(name) != value:
            raise UsageError(
                f"these days were counted with {name} = {there.get(name)!r}, not {value!r}",
                where=str(store / _ABOUT),
                todo="read the logs in the same way, or begin another folder",
            )
