"""Days that are added one after the other give what all logs at once would have given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.parquet as pq
import pytest

from weft.clock import VirtualClock
from weft.errors import UsageError
from weft.temporal.reading import Reading, add_days, read_views, views_of_days
from weft.temporal.views import Views

NOW = VirtualClock(datetime(2026, 6, 1, tzinfo=UTC).timestamp())
START = datetime(2026, 3, 2, tzinfo=UTC)
READING = Reading(floor=8, days=5, threads=1)


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    """Seven days of logs, the fourth of which is missing."""
    chance = Random(3)
    made = []
    for day in (0, 1, 2, 4, 5, 6):
        path = tmp_path / f"{day}.csv"
        lines = ["user,ts,url"]
        for _ in range(400):
            ts = START + timedelta(days=day, seconds=chance.randrange(86_400))
            page = int(chance.random() ** 3 * 150)
            lines.append(f"u{chance.randrange(30)},{ts.isoformat()},http://a.example/{page}?sid={chance.random()}")
        path.write_text("\n".join(lines))
        made.append(path)
    return made


def assert_same(one: Views, other: Views) -> None:
    """All columns are equal."""
    assert one.window == other.window
    assert one.urls.equals(other.urls)
    assert one.sites.equals(other.sites)
    for name in ("site", "start", "day", "count", "first"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.unit == other.unit
    if one.hours is not None and other.hours is not None:
        for name in ("start", "hour", "count"):
            assert np.array_equal(getattr(one.hours, name), getattr(other.hours, name)), name


def test_days__one_by_one_are_the_same_as_all_at_once(tmp_path: Path, logs: list[Path]) -> None:
    """In any order, with pages that pass the floor only over several days, and with a day that is missing."""
    store = tmp_path / "days"
    shuffled = [logs[number] for number in (3, 0, 5, 1, 4, 2)]
    taken = [add_days(store, [log], READING, clock=NOW) for log in shuffled]
    together, all_taken = read_views(logs, READING, clock=NOW)
    assert_same(views_of_days(store, READING), together)
    assert sum(each.rows for each in taken) == all_taken.rows
    assert 0 < together.pages < max(each.pages for each in taken)
    assert sorted(path.name for path in store.iterdir()) == [
        *(f"2026-03-0{day}.parquet" for day in (2, 3, 4, 6, 7, 8)),
        "reading.json",
    ]


def test_days__of_a_window_that_is_named_are_the_same(tmp_path: Path, logs: list[Path]) -> None:
    """A window that begins on a given day may reach over what is there."""
    reading = Reading(floor=8, first="2026-03-04", days=10, threads=1)
    store = tmp_path / "days"
    add_days(store, logs, Reading(days=60, threads=1), clock=NOW)
    assert_same(views_of_days(store, reading), read_views(logs, reading, clock=NOW)[0])


def test_day__that_is_there_is_replaced_only_when_told(tmp_path: Path, logs: list[Path]) -> None:
    """To add a day twice would count its users twice; nothing of such a batch is taken."""
    store = tmp_path / "days"
    add_days(store, logs[:2], READING, clock=NOW)
    before = {path.name: path.read_bytes() for path in store.iterdir()}
    with pytest.raises(UsageError, match=r"2026-03-03 is there already.*--again"):
        add_days(store, logs[1:3], READING, clock=NOW)
    assert {path.name: path.read_bytes() for path in store.iterdir()} == before
    add_days(store, logs[1:3], READING, again=True, clock=NOW)
    assert_same(views_of_days(store, READING), read_views(logs[:3], READING, clock=NOW)[0])


def test_days__are_cleared_of_what_a_killed_run_left(tmp_path: Path, logs: list[Path]) -> None:
    """Temporary files of a run that was killed are gone after the next one."""
    store = tmp_path / "days"
    left = store / ".weft-killed"
    left.mkdir(parents=True)
    (left / "day.parquet").write_bytes(b"PAR1")
    add_days(store, logs[:1], READING, clock=NOW)
    assert sorted(path.name for path in store.iterdir()) == ["2026-03-02.parquet", "reading.json"]


def test_days__read_in_another_way_are_refused(tmp_path: Path, logs: list[Path]) -> None:
    """Days of two zones, or of two kinds of URLs, do not belong together."""
    store = tmp_path / "days"
    add_days(store, logs[:1], READING, clock=NOW)
    with pytest.raises(UsageError, match=r"counted with zone = 'UTC', not 'Asia/Tokyo'.*reading\.json"):
        add_days(store, logs[1:2], Reading(zone="Asia/Tokyo"), clock=NOW)
    with pytest.raises(UsageError, match="drop_parameters"):
        views_of_days(store, Reading(drop_parameters=("ref",)))


def test_days__that_are_not_there_are_no_views(tmp_path: Path, logs: list[Path]) -> None:
    """An empty folder, and a window beside all days, are said."""
    with pytest.raises(UsageError, match="there are no days"):
        views_of_days(tmp_path / "days", READING)
    add_days(tmp_path / "days", logs[:1], READING, clock=NOW)
    with pytest.raises(UsageError, match="no day of the window"):
        views_of_days(tmp_path / "days", Reading(first="2026-05-01"))


def test_days__without_hours_make_a_window_of_days(tmp_path: Path, logs: list[Path]) -> None:
    """One day that an earlier version counted, without hours, and the window is by the day; nothing else moves."""
    store = tmp_path / "days"
    add_days(store, logs, READING, clock=NOW)
    timed = views_of_days(store, READING)
    old = store / "2026-03-06.parquet"
    pq.write_table(pq.read_table(old).drop_columns(["hour", "hour_views"]), old)
    views = views_of_days(store, READING)
    assert (timed.unit, views.unit) == ("hour", "day")
    assert np.array_equal(views.count, timed.count)
