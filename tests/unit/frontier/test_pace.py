"""How fast: targets as they are written, shares of them, and a worker that keeps to its share."""

from __future__ import annotations

import doctest
import importlib
import random
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.frontier.pace import Hours, Pace, Speed, shares


def wall(hour: int, minute: int = 0) -> float:
    """A moment of a day by this machine's clock, wherever it stands."""
    return time.mktime((2026, 5, 6, hour, minute, 0, 0, 0, -1))


# --- targets ---


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", ()),
        (" ; ", ()),
        ("200 pages/s", (Hours(0, 1440, 200.0, None),)),
        ("0.5 pages/s", (Hours(0, 1440, 0.5, None),)),
        ("1000000 bytes/s 5 pages/s", (Hours(0, 1440, 5.0, 1e6),)),
        ("1 MB/s", (Hours(0, 1440, None, 1e6),)),
        ("30 pages/min 3.6 GB/h", (Hours(0, 1440, 0.5, 1e6),)),
        ("50pages/s", (Hours(0, 1440, 50.0, None),)),
        ("none", (Hours(0, 1440, None, None),)),
        ("8:05-18:30 5 bytes/s", (Hours(485, 1110, None, 5.0),)),
        ("9 pages/s; 22:00-06:00 none", (Hours(0, 1440, 9.0, None), Hours(1320, 360, None, None))),
    ],
)
def test_speed__is_read_as_it_is_written(text: str, rules: tuple[Hours, ...]) -> None:
    """Pages, bytes, both, none; all day or in some hours."""
    assert Speed.parse(text) == Speed(rules)


@pytest.mark.parametrize(
    "text",
    [
        "fast",
        "200",
        "200 pages",
        "200 lines/s",
        "200 pages/week",
        "1 MB",
        "pages/s 200",
        "0 pages/s",
        "-1 pages/s",
        "1e9 pages/s",
        "1.2.3 pages/s",
        "1 pages/s 2 pages/s",
        "5 pages/s extra",
        "none none",
        "08:00-18:00",
        "08:00 5 pages/s",
        "08:00-18:00 09:00-10:00 5 pages/s",
        "5 pages/s; nonsense",
        "² pages/s",
        "٣ pages/s",
        ". pages/s",
        "inf pages/s",
        "nan pages/s",
    ],
)
def test_speed__that_is_none_is_refused(text: str) -> None:
    """With the part that cannot be read, and how one is written."""
    with pytest.raises(UsageError, match="not a valid speed") as caught:
        Speed.parse(text)
    assert caught.value.where == text.rpartition(";")[2].strip()
    assert "200 pages/s" in caught.value.todo


@pytest.mark.parametrize(
    "hours", ["25:00-26:00", "08:99-09:00", "08:00-09:60", "08:00-08:00", "24:01-08:00", "00:00-24:30", "99:00-01:00"]
)
def test_hours__that_are_none_of_a_day_are_refused(hours: str) -> None:
    """With what was given, and how they are written."""
    with pytest.raises(UsageError, match="not a valid time range") as caught:
        Speed.parse(f"9 pages/s; {hours} 5 pages/s")
    assert caught.value.where == f"{hours} 5 pages/s"
    assert "22:00-06:00" in caught.value.todo


def test_hours__may_end_with_the_day() -> None:
    """The last minute is part of them."""
    speed = Speed.parse("18:00-24:00 5 pages/s")
    assert [speed.at(wall(hour, 59))[0] for hour in (17, 18, 23)] == [None, 5.0, 5.0]


@pytest.mark.parametrize(
    ("hour", "minute", "pages"),
    [(7, 59, 200.0), (8, 0, 50.0), (17, 59, 50.0), (18, 0, 200.0), (0, 0, 200.0), (23, 59, 200.0)],
)
def test_hours__begin_and_end_on_the_minute(hour: int, minute: int, pages: float) -> None:
    """The end is not part of them."""
    speed = Speed.parse("200 pages/s; 08:00-18:00 50 pages/s")
    assert speed.at(wall(hour, minute)) == (pages, None)


@pytest.mark.parametrize(
    ("hour", "minute", "limits"),
    [
        (21, 59, (None, None)),
        (22, 0, (None, 7.0)),
        (23, 59, (None, 7.0)),
        (0, 0, (None, 7.0)),
        (5, 59, (None, 7.0)),
        (6, 0, (None, None)),
        (12, 0, (None, None)),
    ],
)
def test_hours__may_go_over_midnight(hour: int, minute: int, limits: tuple[float | None, float | None]) -> None:
    """From the evening to the morning."""
    assert Speed.parse("22:00-06:00 7 bytes/s").at(wall(hour, minute)) == limits


def test_hours__the_last_that_are_in_force_count() -> None:
    """They replace what stands before them, also by no limit at all."""
    speed = Speed.parse("5 pages/s 9 bytes/s; 08:00-18:00 2 pages/s; 12:00-13:00 none")
    assert [speed.at(wall(hour)) for hour in (7, 9, 12, 13)] == [(5.0, 9.0), (2.0, None), (None, None), (2.0, None)]
    assert Speed().at(0.0) == (None, None)


# --- shares ---


limits = st.floats(0.01, 1e9)
rate = st.floats(0, 1e9)


@given(limit=limits, rates=st.lists(rate, min_size=1, max_size=64))
def test_shares__of_workers_that_all_want_more_are_equal(limit: float, rates: list[float]) -> None:
    """Together they are the target, and everyone gets something."""
    given_out = shares(limit, {number: (rate, True) for number, rate in enumerate(rates)})
    assert sum(given_out.values()) <= limit * 1.0001
    assert sum(given_out.values()) >= limit * 0.9999
    assert all(share == pytest.approx(limit / len(rates)) for share in given_out.values())


@given(limit=limits, rates=st.lists(st.tuples(rate, st.booleans()), min_size=1, max_size=64))
def test_shares__together_are_the_target(limit: float, rates: list[tuple[float, bool]]) -> None:
    """Everyone gets something; who wants more at least an equal share, who does not keeps what it uses, up to that."""
    given_out = shares(limit, dict(enumerate(rates)))
    assert list(given_out) == list(range(len(rates)))
    assert sum(given_out.values()) == pytest.approx(limit, rel=1e-4)
    assert min(given_out.values()) > 0
    equal = limit / len(rates) * 0.9999
    for number, (used, hungry) in enumerate(rates):
        assert given_out[number] >= (equal if hungry else min(equal, used))


def test_shares__of_a_worker_that_does_nothing_are_enough_to_begin() -> None:
    """It could not show otherwise that it wants more."""
    for idle in range(1, 8):
        given_out = shares(100.0, {0: (90.0, True)} | dict.fromkeys(range(1, idle + 1), (0.0, False)))
        assert min(given_out.values()) > 0.1
        assert given_out[0] == max(given_out.values())


# --- a worker's pace ---


def fetched(pace: Pace, seconds: float, sizes: Iterator[int], *, began: float = 1000.0, late: float = 0.0) -> int:
    """Fetch as fast as it lets for so long; how many pages. Timers come a little late."""
    now, count = began, 0
    while now < began + seconds:
        if pace.open(now):
            count += 1
            pace.spend(1)
            pace.spend(0, next(sizes))
        else:
            opens = pace.opens_at(now)
            assert opens is not None
            now = max(opens, now + 1e-6) + late
    return count


def sizes_of(counted: list[int], seed: int = 1) -> Iterator[int]:
    """Sizes of pages as they are on the web; each is written down."""
    chance = random.Random(seed)
    while True:
        counted.append(min(1_000_000, int(chance.lognormvariate(9.5, 1.2))))
        yield counted[-1]


@pytest.mark.parametrize("limit", [0.2, 1.0, 3.0, 4.0, 50.0, 1234.5])
@pytest.mark.parametrize("late", [0.0, 0.001])
def test_pace__of_pages_is_kept_on_average(limit: float, late: float) -> None:
    """Within two parts of a hundred, over five hundred pages."""
    pace = Pace()
    pace.set((limit, None), 1000.0)
    seconds = 500 / limit
    assert fetched(pace, seconds, sizes_of([]), late=late) / seconds == pytest.approx(limit, rel=0.02)


@pytest.mark.parametrize("limit", [20_000.0, 1e6, 1e8])
@pytest.mark.parametrize("late", [0.0, 0.01])
def test_pace__of_bytes_is_kept_on_average(limit: float, late: float) -> None:
    """However different the pages are: what was fetched beyond it is waited for."""
    pace = Pace()
    pace.set((None, limit), 1000.0)
    counted: list[int] = []
    seconds = max(60.0, 100e6 / limit)
    fetched(pace, seconds, sizes_of(counted), late=late)
    assert sum(counted) / seconds == pytest.approx(limit, rel=0.02)


def test_pace__of_both_is_kept_by_the_one_that_is_slower() -> None:
    """Neither is exceeded."""
    for pages, amount in ((10.0, 1e9), (1e6, 200_000.0)):
        pace = Pace()
        pace.set((pages, amount), 1000.0)
        counted: list[int] = []
        count = fetched(pace, 300.0, sizes_of(counted))
        assert count <= 300 * pages * 1.02
        assert sum(counted) <= 300 * amount * 1.02
        assert count >= 300 * pages * 0.98 or sum(counted) >= 300 * amount * 0.98


def test_pace__is_kept_while_the_share_is_set_again_and_again() -> None:
    """Every second the same share comes anew: it grants nothing by itself, and takes nothing away."""
    pace, counted, count = Pace(), list[int](), 0
    sizes = sizes_of(counted)
    for second in range(200):
        pace.set((20.0, None), 1000.0 + second)
        count += fetched(pace, 1.0, sizes, began=1000.0 + second)
    assert count / 200 == pytest.approx(20.0, rel=0.02)


def test_pace__after_a_lull_only_a_little_comes_at_once() -> None:
    """A quarter of a second's worth, and at least one page."""
    for limit, burst in ((100.0, 25), (2.0, 1)):
        pace = Pace()
        pace.set((limit, None), 1000.0)
        pace.open(1000.0)
        count = 0
        while pace.open(2000.0):
            pace.spend(1)
            count += 1
        assert count == burst


def test_pace__says_when_it_holds_back() -> None:
    """That is how the global frontier learns who would be faster if it were let."""
    pace = Pace()
    pace.set((1.0, None), 1000.0)
    held = []
    for now, opened in ((1001.0, True), (1001.5, False)):
        assert pace.open(now) is opened
        held.append(pace.held)
        pace.spend(opened)
    assert held == [False, True]
    assert pace.opens_at(1001.5) == pytest.approx(1002.0)


def test_pace__without_a_limit_lets_everything_pass() -> None:
    """And what was fetched meanwhile is no debt when a limit comes."""
    pace = Pace()
    for _ in range(1000):
        assert pace.open(1.0)
        pace.spend(1, 1e6)
    assert pace.opens_at(1.0) is None
    assert not pace.held
    pace.set((10.0, 10.0), 1000.0)
    assert pace.open(1000.2)
    pace.set((None, None), 1001.0)
    assert pace.open(1001.0)


def test_pace__of_nothing_is_no_fault() -> None:
    """Nothing passes, and when that ends is no matter of time."""
    for limits in ((0.0, None), (None, 0.0), (0.0, 0.0)):
        pace = Pace()
        pace.set(limits, 1.0)
        assert not pace.open(2.0)
        assert pace.opens_at(2.0) is not None


def test_pace__that_is_paused_lets_nothing_pass() -> None:
    """Not even when there is no limit, and no moment is named; a pause is not held against anybody."""
    pace = Pace()
    for limits in ((None, None), (5.0, None)):
        pace.set(limits, 1000.0)
        pace.paused = True
        assert not pace.open(2000.0)
        assert pace.opens_at(2000.0) is None
        assert not pace.held
        pace.paused = False
        assert pace.open(2000.0)


def test_doctests__hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples are true, where it is noon when they say so."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        failed, tried = doctest.testmod(importlib.import_module("weft.frontier.pace"))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert tried
    assert not failed
