"""Views come out exact, whatever the order, the split and the form of the logs."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.clock import VirtualClock
from weft.errors import UsageError
from weft.temporal.reading import Reading, Taken, read_views
from weft.temporal.reading.database import Database
from weft.temporal.views import Views

START = datetime(2026, 3, 2, tzinfo=UTC)
NOW = VirtualClock(datetime(2026, 6, 1, tzinfo=UTC).timestamp())
Row = tuple[str, datetime, str]


def write_parquet(path: Path, rows: list[Row]) -> Path:
    """Rows as a Parquet log."""
    user, ts, url = zip(*rows, strict=True)
    pq.write_table(pa.table({"user": user, "ts": pa.array(ts, pa.timestamp("us", "UTC")), "url": url}), path)
    return path


def read(logs: list[Path], **options: Any) -> tuple[Views, Taken]:
    """Views of all pages, on the first of June."""
    return read_views(logs, Reading(**{"floor": 1, "threads": 1} | options), clock=NOW)


def flat(views: Views) -> dict[tuple[str, date], tuple[int, int]]:
    """Views and first second by page and day."""
    page = np.repeat(np.arange(views.pages), np.diff(views.start))
    urls = views.urls.to_pylist()
    return {
        (urls[number], views.window.day(int(day))): (int(count), int(first))
        for number, day, count, first in zip(page, views.day, views.count, views.first, strict=True)
    }


def naive(rows: list[Row], floor: int = 1) -> dict[tuple[str, date], tuple[int, int]]:
    """The same, counted with sets."""
    users: dict[tuple[str, date], set[str]] = defaultdict(set)
    first: dict[tuple[str, date], datetime] = {}
    for user, ts, url in rows:
        key = url, ts.date()
        users[key].add(user)
        first[key] = min(ts, first.get(key, ts))
    total: dict[str, int] = defaultdict(int)
    for (url, _), who in users.items():
        total[url] += len(who)
    timed = any(ts.time() != time() for _, ts, _ in rows)
    return {
        key: (len(who), first[key].hour * 3600 + first[key].minute * 60 + first[key].second if timed else -1)
        for key, who in users.items()
        if total[key[0]] >= floor
    }


def some_rows(count: int) -> list[Row]:
    """Views of five days, some pages of which are much more popular than others."""
    chance = Random(1)
    return [
        (
            f"u{chance.randrange(40)}",
            START + timedelta(seconds=chance.randrange(5 * 86_400)),
            f"http://s{chance.randrange(3)}.example/{int(chance.random() ** 3 * 30)}",
        )
        for _ in range(count)
    ]


rows_strategy = st.lists(
    st.tuples(
        st.sampled_from(["u", "v", "ü w"]),
        st.integers(0, 4 * 86_400_000_000 - 1).map(lambda us: START + timedelta(microseconds=us)),
        st.sampled_from(["http://a.example/", "http://a.example/x", "http://b.example/?q=1"]),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=15)
@given(rows=rows_strategy, floor=st.integers(1, 6), cut=st.integers(0, 60))
def test_views__are_what_sets_would_count(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], floor: int, cut: int
) -> None:
    """One view per user, page and day, and the second of its day, wherever the rows are cut into files."""
    folder = tmp_path_factory.mktemp("logs")
    pieces = [piece for piece in (rows[:cut], rows[cut:]) if piece]
    logs = [write_parquet(folder / f"{number}.parquet", piece) for number, piece in enumerate(pieces)]
    views, _ = read(logs, floor=floor)
    assert flat(views) == naive(rows, floor)
    if views.hours is not None:
        assert hourly(views) == naive_hours(rows, views.urls.to_pylist())


def hourly(views: Views) -> dict[tuple[str, date, int], int]:
    """Views by page, day and hour."""
    assert views.hours is not None
    row = np.repeat(np.arange(len(views.day)), np.diff(views.hours.start))
    page = np.repeat(np.arange(views.pages), np.diff(views.start))[row]
    urls = views.urls.to_pylist()
    columns = (page, views.day[row], views.hours.hour, views.hours.count)
    return {(urls[a], views.window.day(int(b)), int(c)): int(d) for a, b, c, d in zip(*columns, strict=True)}


def naive_hours(rows: list[Row], kept: list[str]) -> dict[tuple[str, date, int], int]:
    """The same: a user counts in the hour of the day's first request."""
    first: dict[tuple[str, str, date], datetime] = {}
    for user, ts, url in rows:
        first[user, url, ts.date()] = min(ts, first.get((user, url, ts.date()), ts))
    found: dict[tuple[str, date, int], int] = defaultdict(int)
    for (_, url, day), ts in first.items():
        if url in kept:
            found[url, day, ts.hour] += 1
    return dict(found)


def test_hours__are_there_where_the_log_has_times_and_part_the_days(tmp_path: Path) -> None:
    """And not where it has dates alone: then the unit is the day, and nothing is said of first views."""
    views, _ = read([write_parquet(tmp_path / "timed.parquet", some_rows(3000))])
    assert views.unit == "hour"
    assert views.hours is not None
    assert np.array_equal(np.add.reduceat(views.hours.count, views.hours.start[:-1]), views.count)
    assert views.hours.clock().mean() == pytest.approx(1.0)
    dates = [(user, START + timedelta(days=(ts - START).days), url) for user, ts, url in some_rows(300)]
    by_day, _ = read([write_parquet(tmp_path / "dates.parquet", dates)], zone="Europe/Amsterdam")
    assert (by_day.unit, by_day.hours) == ("day", None)
    assert (by_day.first == -1).all()


def test_views__do_not_depend_on_the_order_or_the_split_of_logs(tmp_path: Path) -> None:
    """The same rows, shuffled and dealt over three files of three forms, give the same arrays."""
    rows = some_rows(4000)
    whole, _ = read([write_parquet(tmp_path / "all.parquet", rows)], floor=20)
    Random(2).shuffle(rows)
    third = len(rows) // 3
    csv = tmp_path / "b.csv"
    csv.write_text("url;user;ts\n" + "".join(f"{url};{user};{ts.isoformat()}\n" for user, ts, url in rows[:third]))
    lines = [json.dumps({"ts": ts.timestamp(), "user": user, "url": url}) for user, ts, url in rows[third : 2 * third]]
    packed = tmp_path / "a.jsonl.zst"
    packed.write_bytes(zstandard.compress("\n".join(lines).encode()))
    split, taken = read([csv, packed, write_parquet(tmp_path / "c.parquet", rows[2 * third :])], floor=20, threads=2)
    assert (taken.files, taken.rows, taken.broken) == (3, 4000, 0)
    assert split.window == whole.window
    assert split.urls.equals(whole.urls)
    assert split.sites.equals(whole.sites)
    for name in ("site", "start", "day", "count", "first"):
        assert np.array_equal(getattr(split, name), getattr(whole, name)), name


def test_views__are_ordered_by_url_and_know_their_sites(tmp_path: Path) -> None:
    """Pages come in the order of their URLs, days ascend within a page, and a site is a host."""
    views, _ = read([write_parquet(tmp_path / "log.parquet", some_rows(500))])
    urls = views.urls.to_pylist()
    assert urls == sorted(urls)
    assert views.sites.to_pylist() == ["s0.example", "s1.example", "s2.example"]
    assert [views.sites[site].as_py() for site in views.site] == [url.split("/")[2] for url in urls]
    assert all((np.diff(views.day[views.start[page] : views.start[page + 1]]) > 0).all() for page in range(views.pages))


def test_floor__is_applied_after_repeats_are_gone(tmp_path: Path) -> None:
    """A page that one user asked for a hundred times on a day has one view."""
    spam = [("spammer", START + timedelta(seconds=second), "http://a.example/spam") for second in range(100)]
    real = [(f"u{number}", START, "http://a.example/real") for number in range(5)]
    views, taken = read([write_parquet(tmp_path / "log.parquet", spam + real)], floor=5)
    assert views.urls.to_pylist() == ["http://a.example/real"]
    assert (taken.pages, taken.views, taken.small_pages, taken.small_requests) == (1, 5, 1, 100)


def test_floor__that_nothing_reaches_leaves_no_page(tmp_path: Path) -> None:
    """No page is no error: the views are empty, and what was dropped is told."""
    views, taken = read([write_parquet(tmp_path / "log.parquet", some_rows(50))], floor=1000)
    assert (views.pages, len(views.urls), len(views.sites), views.totals().tolist()) == (0, 0, 0, [])
    assert (taken.pages, taken.views, taken.requests, taken.small_requests) == (0, 0, 0, 50)


def test_days__are_not_split_at_noon(tmp_path: Path) -> None:
    """A user who comes in the morning and in the evening has come once."""
    hours = [("u", START + timedelta(hours=hour), "http://a.example/") for hour in (1, 13, 23)]
    views, _ = read([write_parquet(tmp_path / "log.parquet", hours)])
    assert flat(views) == {("http://a.example/", date(2026, 3, 2)): (1, 3600)}


def test_zone__decides_where_a_day_begins(tmp_path: Path) -> None:
    """What is 23:30 on Saturday in UTC is 00:30 on Sunday in Amsterdam, and 01:30 when summer time has begun."""
    times = [datetime(2026, 3, day, 23, 30, tzinfo=UTC) for day in (21, 29)]
    log = write_parquet(tmp_path / "log.parquet", [("u", ts, "http://a.example/") for ts in times])
    page = "http://a.example/"
    assert flat(read([log], zone="Europe/Amsterdam")[0]) == {
        (page, date(2026, 3, 22)): (1, 1800),
        (page, date(2026, 3, 30)): (1, 5400),
    }


def test_window__is_the_last_days_that_the_logs_cover(tmp_path: Path) -> None:
    """A view of years ago is counted as outside, and makes the window no longer than the days that are there."""
    rows = [("u", START + timedelta(days=day), "http://a.example/") for day in (-900, 0, 1, 2, 6)]
    log = write_parquet(tmp_path / "log.parquet", rows)
    views, taken = read([log])
    assert (views.window.first, views.window.days, taken.outside) == (date(2026, 3, 2), 7, 1)
    views, taken = read([log], days=5)
    assert (views.window.first, views.window.days, taken.outside) == (date(2026, 3, 4), 5, 3)
    views, taken = read([log], first="2026-03-03", days=3)
    assert (views.window.first, views.window.days, views.day.tolist(), taken.outside) == (
        date(2026, 3, 3),
        3,
        [0, 1],
        3,
    )


def test_urls__lose_session_and_tracking_parameters_only(tmp_path: Path) -> None:
    """Spellings of one page are one page; what names a page stays."""
    spellings = [
        "http://a.example/p?id=1",
        "HTTP://A.example:80/p?id=1&sid=77",
        "http://a.example/p;jsessionid=0F?utm_source=x&id=1#part",
        "http://a.example/p?ref=mail&id=1&PHPSESSID=9",
        "http://a.example/p?id=2",
        "mailto:someone@a.example",
    ]
    log = write_parquet(tmp_path / "log.parquet", [(f"u{n}", START, url) for n, url in enumerate(spellings)])
    views, taken = read([log], drop_parameters=("ref",))
    assert dict(zip(views.urls.to_pylist(), views.count.tolist(), strict=True)) == {
        "http://a.example/p?id=1": 4,
        "http://a.example/p?id=2": 1,
    }
    assert (taken.unusable, taken.unusable_examples) == (1, ["mailto:someone@a.example"])


def test_user__may_be_address_and_agent(tmp_path: Path) -> None:
    """Two browsers behind one address are two users."""
    log = tmp_path / "log.csv"
    rows = [("10.0.0.1", "Firefox"), ("10.0.0.1", "Lynx"), ("10.0.0.1", "Lynx"), ("10.0.0.2", "")]
    lines = [f'{address},"{agent}",2026-03-02,http://a.example/' for address, agent in rows]
    log.write_text("\n".join(["ip,browser,ts,url", *lines]))
    assert read([log], address="ip", agent="browser")[0].count.tolist() == [3]
    assert read([log], address="ip")[0].count.tolist() == [2]


def test_ids__stand_for_urls_of_one_site(tmp_path: Path) -> None:
    """Pages keep their ids, and belong to the site that is named."""
    log = tmp_path / "log.parquet"
    times = [1_772_409_600_000, 1_772_409_601_000]
    pq.write_table(pa.table({"who": [1, 2], "when": times, "article": [7, 7]}), log)
    views, _ = read([log], user="who", ts="when", url="article", ids=True, host="g1.example")
    assert (views.urls.to_pylist(), views.sites.to_pylist(), views.count.tolist()) == (["7"], ["g1.example"], [2])
    assert views.first.tolist() == [0]


def test_counts__are_added_up_and_know_no_hour(tmp_path: Path) -> None:
    """Ready-made daily counts need no user; a day without views is not there."""
    log = tmp_path / "views.csv.gz"
    log.write_bytes(
        gzip.compress(b"article,day,n\nA,2026030200,5\nA,2026030300,0\nB,20260302,2\nA,2026030223,1\nB,x,1\n")
    )
    views, taken = read([log], url="article", ts="day", views="n", ids=True)
    assert (views.urls.to_pylist(), views.count.tolist(), views.first.tolist()) == (["A", "B"], [6, 2], [-1, -1])
    assert (views.sites.to_pylist(), taken.views, taken.broken) == (["-"], 8, 1)


def test_memory__that_is_scarce_is_made_up_for_by_the_disk(tmp_path: Path) -> None:
    """What is larger than the memory that may be taken lies in the scratch folder, and can be read."""
    with Database(tmp_path, Reading(memory=200, threads=1)) as db:
        db.run("CREATE TABLE large AS SELECT i, md5(i::VARCHAR) AS text FROM range(6_000_000) AS numbers (i)")
        assert sum(path.stat().st_size for path in (tmp_path / "spilled").iterdir()) > 10_000_000
        assert db.rows("SELECT count(*), sum(i)::BIGINT, count(text) FROM large") == [
            (6_000_000, 17_999_997_000_000, 6_000_000)
        ]


def test_scratch__is_empty_afterwards(tmp_path: Path) -> None:
    """Nothing is left behind, neither by a run that went well nor by one that did not."""
    scratch = tmp_path / "scratch"
    log = write_parquet(tmp_path / "log.parquet", some_rows(50))
    read_views([log], Reading(floor=1), scratch=scratch, clock=NOW)
    with pytest.raises(UsageError, match="no view lies in the window"):
        read_views([log], Reading(first="2020-01-01"), scratch=scratch, clock=NOW)
    assert list(scratch.iterdir()) == []


def test_progress__ends_where_it_should(tmp_path: Path) -> None:
    """The bar only goes forward, and is full at the end."""
    log = tmp_path / "log.csv"
    log.write_text("user,ts,url\n" + "u,2026-03-02,http://a.example/\n" * 1000)
    told: list[tuple[int, int]] = []
    read_views([log], Reading(floor=1), lambda done, total: told.append((done, total)), clock=NOW)
    assert told == sorted(told)
    assert told[-1] == (1000, 1000)
