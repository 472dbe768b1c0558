"""A crawl goes on with another number of workers: what each held is handed over, nothing is lost and nothing twice."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.crawling import make_web
from tests.patience import PATIENCE
from tests.siege import Siege, check_servers, check_stored, command_for, wait_until

from weft import clean as cleaning
from weft import handover
from weft.clean import clean_crawl
from weft.clock import SystemClock, VirtualClock
from weft.directory import locked, stored_plan
from weft.errors import UsageError, WeftError
from weft.frontier.durable.parcels import Estate, parcels_of
from weft.frontier.shared import sqlite_handover
from weft.frontier.shared.contract import Limits
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.frontier.shared.sqlite import SqliteFrontier
from weft.handover import hand_over
from weft.manage import managing
from weft.store import sealing
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.serve import ServerSettings

WAIT = 0.2
APART = replace(PLAIN, sites_per_address=1)  # else the sites would follow their addresses to one worker
SITES, PAGES, LARGEST = 60, 900, 40
RATE = 200  # pages a second at most, so that there is a middle


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A web of some hundred sites."""
    with serving(make_web(APART, sites=SITES, pages=PAGES, largest=LARGEST), ServerSettings(keep_alive_s=5.0)) as bed:
        yield bed


def command(bed: Bed, out: Path, workers: int) -> list[str]:
    """Crawl the bed with so many workers."""
    options = ["--wait", str(WAIT), "--per-visit", "5", "--commit-every", "0.3", "--speed", f"{RATE} pages/s"]
    return command_for(bed, out, *options, "--workers", str(workers))


def run_until(siege: Siege, out: Path, pages: int, how: int) -> None:
    """Let a crawl fetch so many pages, then end it by a signal."""
    log = out / "log" / "crawl.log"

    def fetched() -> bool:
        return siege.over or (log.exists() and log.read_bytes().count(b"\n") >= pages)

    wait_until(fetched, "the crawl does not get on")
    assert not siege.over, "the crawl was done before it was ended"
    workers = siege.workers()
    siege.process.send_signal(how)
    siege.process.wait(PATIENCE)
    wait_until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers), "workers survived")
    siege.close()


@pytest.mark.parametrize(
    ("how", "numbers"),
    [
        pytest.param(signal.SIGINT, (2, 1, 3), id="2-1-3"),
        pytest.param(signal.SIGKILL, (1, 3, 2, 1), id="killed-1-3-2-1"),
    ],
)
def test_workers__may_be_others_in_every_run(bed: Bed, tmp_path: Path, how: int, numbers: tuple[int, ...]) -> None:
    """Every page is stored once, whoever held its site before, and the servers are treated politely throughout."""
    out, output = tmp_path / "crawl", tmp_path / "output.txt"
    for place, workers in enumerate(numbers[:-1], 1):
        pages = PAGES * place // (len(numbers) + 1)
        run_until(Siege(command(bed, out, workers), output), out, pages, how)
    siege = Siege(command(bed, out, numbers[-1]), output)
    assert siege.finish() == 0, output.read_text(encoding="utf-8")[-2000:]
    check_stored(bed, out)
    check_servers(bed, out, wait=WAIT)
    assert "handed over" in output.read_text(encoding="utf-8")
    shared = open_frontier(out)
    rows = shared.workers()
    shared.close()
    assert sum(row.pages for row in rows) == PAGES, "what a worker did counts when it is no more"


# A crash at any step of the hand-over.


class _Crash(BaseException):
    """The process dies here."""


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with two workers, both with something to do and with mail, that was killed in the middle."""
    folder = tmp_path_factory.mktemp("interrupted")
    with serving(make_web(APART, sites=SITES, pages=PAGES, largest=LARGEST), ServerSettings(keep_alive_s=5.0)) as bed:
        for attempt in range(5):  # one that starts late, on a busy machine, may find that the other has everything
            out = folder / f"crawl-{attempt}"
            run_until(Siege(command(bed, out, 2), folder / "output.txt"), out, PAGES // 3, signal.SIGKILL)
            groups = [_groups_of(out / "workers" / str(number) / "frontier.log") for number in range(2)]
            if all(groups):
                shared = open_frontier(out)
                shared.add(f"http://{group}/added" for held in groups for group in held)
                shared.close()
                return out
    pytest.fail("one of the two workers never had anything to do")


def _groups_of(log: Path) -> set[str]:
    if not log.exists():
        return set()
    estate = Estate(log, read_only=True)
    estate.close()
    return set(estate.groups)


def _before(_function: Callable[..., Any], _count: int) -> Callable[..., Any]:
    def crash(*_arguments: Any, **_named: Any) -> Any:
        raise _Crash

    return crash


def _after(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    left = [count]

    def crash(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        left[0] -= 1
        if left[0] <= 0:
            raise _Crash
        return result

    return crash


STEPS = [
    (sealing, "seal_leftovers", _before, 1),
    (sealing, "seal_leftovers", _after, 1),
    (handover, "_write_beside", _after, 1),
    (sqlite_handover, "_return_unread", _before, 1),  # within the transaction
    (sqlite_handover, "bring", _before, 1),
    (SqliteFrontier, "hand_over", _after, 1),
    (SqliteFrontier, "end_hand_over", _before, 1),
    (SqliteFrontier, "end_hand_over", _after, 1),
    (SqliteFrontier, "hand_over", _after, 2),
]


def state_of(out: Path) -> dict[str, Any]:
    """Everything that the global frontier and the logs know."""
    shared = SqliteFrontier(out / "frontier.db", VirtualClock(1_900_000_000.0))
    tables = ("groups", "sites", "scope", "inbox", "crawl")
    found: dict[str, Any] = {name: shared._base.execute(f"select * from {name}").fetchall() for name in tables}  # noqa: S608
    found["waiting"] = shared._base.execute("select grp, notices from waiting order by id").fetchall()
    found["addresses"] = shared._base.execute("select address, holder, wanted from addresses").fetchall()
    found["workers"] = shared.workers()
    shared.close()
    found["logs"] = {path.parent.name: path.read_bytes() for path in out.glob("workers/*/frontier.log")}
    found["files"] = sorted(str(path.relative_to(out)) for path in out.rglob("*") if ".db" not in path.name)
    return found


def handed_over(out: Path, workers: int) -> None:
    """What a run does first."""
    shared = open_frontier(out)
    try:
        shared.prepare(workers, Limits(max_pages=None))
        hand_over(out, shared, workers, stored_plan(out).settings, VirtualClock(1_900_000_000.0))
    finally:
        shared.close()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("step", range(len(STEPS)))
def test_hand_over__crash_at_any_step_is_repaired(
    interrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, workers: int
) -> None:
    """The next run finds everything as if there had been no crash."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for out in (whole, broken):
        shutil.copytree(interrupted, out)
    handed_over(whole, workers)
    place, name, where, count = STEPS[step]
    with monkeypatch.context() as patched:
        patched.setattr(place, name, where(getattr(place, name), count))
        if count == 1 or workers > 1:
            with pytest.raises(_Crash):
                handed_over(broken, workers)
    handed_over(broken, workers)
    assert state_of(broken) == state_of(whole)


def test_hand_over__after_a_crash_the_same_number_may_go_on(
    interrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the workers are dissolved, and the next run wants as many as there were: nothing is held by two."""
    out = tmp_path / "crawl"
    shutil.copytree(interrupted, out)
    with monkeypatch.context() as patched:
        patched.setattr(SqliteFrontier, "hand_over", _after(SqliteFrontier.hand_over, 1))
        with pytest.raises(_Crash):
            handed_over(out, 3)
    handed_over(out, 2)
    assert not list(parcels_of(out / "workers" / "0" / "frontier.log")), "it was dissolved"
    held = {parcel.group for parcel in parcels_of(out / "workers" / "1" / "frontier.log")}
    shared = SqliteFrontier(out / "frontier.db")
    free = shared._base.execute("select name from groups where holder is null and parcel is not null").fetchall()
    shared.close()
    assert held
    assert free
    assert held.isdisjoint(name for (name,) in free)


def test_hand_over__crawl_goes_on_after_a_crash(bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as a whole: killed, killed again while it was handed over, and then run to its end."""
    out, output = tmp_path / "crawl", tmp_path / "output.txt"
    run_until(Siege(command(bed, out, 2), output), out, PAGES // 3, signal.SIGKILL)
    with monkeypatch.context() as patched:
        patched.setattr(SqliteFrontier, "hand_over", _after(SqliteFrontier.hand_over, 1))
        shared = open_frontier(out)
        shared.prepare(3, Limits(max_pages=None))
        with pytest.raises(_Crash):
            hand_over(out, shared, 3, stored_plan(out).settings, SystemClock())
        shared.close()
    siege = Siege(command(bed, out, 3), output)
    assert siege.finish() == 0, output.read_text(encoding="utf-8")[-2000:]
    check_stored(bed, out)
    check_servers(bed, out, wait=WAIT)


# weft clean.


def test_clean__seals_and_removes_and_leaves_the_rest(interrupted: Path, tmp_path: Path) -> None:
    """After a crash: open files are sealed as far as a commit names them; the workers keep what they hold."""
    out = tmp_path / "crawl"
    shutil.copytree(interrupted, out)
    (out / "seeds.txt.new").write_text("half", encoding="utf-8")
    (out / "pages" / "part-1-00077.arrow.open").write_bytes(b"no commit names this")
    command = [sys.executable, "-m", "weft", "clean", str(out), "--json"]
    done = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE).stdout)
    assert done["handed_over"] == []
    assert {"seeds.txt.new", "pages/part-1-00077.arrow.open"} <= set(done["removed"])
    assert any(name.endswith(".warc.gz.open") for name in done["sealed"])
    assert not [*out.rglob("*.new"), *out.rglob("*.open")]
    assert all(list(parcels_of(out / "workers" / str(number) / "frontier.log")) for number in range(2))
    again = clean_crawl(out)
    assert again == cleaning.Cleaned(), "there is nothing more to do"


def test_clean__leaves_a_damaged_crawl_alone(interrupted: Path, tmp_path: Path) -> None:
    """A worker whose log is gone: to clean up would be to delete what it had stored."""
    out = tmp_path / "crawl"
    shutil.copytree(interrupted, out)
    shutil.rmtree(out / "workers" / "1")
    before = state_of(out)
    with pytest.raises(WeftError, match=r"workers/1/frontier\.log: it is missing"):
        clean_crawl(out)
    assert state_of(out) == before


def test_clean__is_refused_while_the_crawl_runs(interrupted: Path, tmp_path: Path) -> None:
    """Nothing is touched under a crawl that runs."""
    out = tmp_path / "crawl"
    shutil.copytree(interrupted, out)
    before = state_of(out)
    with locked(out), pytest.raises(WeftError, match="running"):
        clean_crawl(out)
    assert state_of(out) == before


# Another number of workers while the crawl runs.


@pytest.mark.parametrize("killed", [False, True])
def test_workers__are_added_and_taken_away_while_the_crawl_runs(bed: Bed, tmp_path: Path, *, killed: bool) -> None:
    """Two, four, one: every page is stored once, nobody is visited too early, and each took part. Killed in the middle
    of a change, the crawl goes on as ever.
    """
    out, output = tmp_path / "crawl", tmp_path / "output.txt"
    siege = Siege(command(bed, out, 2), output)
    try:
        for place, count in enumerate((4, 1), 1):
            wait_until(lambda place=place: len(bed.log()) > PAGES * place // 4, "the crawl stands still")
            with managing(out) as managed:
                managed.set_workers(count)
                assert managed.workers == count
            if killed and count == 1:
                wait_until(lambda: "1 workers are wanted" in output.read_text(encoding="utf-8"), "nothing happens")
                break
            wait_until(lambda count=count: f"goes on with {count} workers" in output.read_text(encoding="utf-8"), "no")
            wait_until(lambda count=count: len(siege.workers()) == count, "there are others")
        if killed:
            siege.stop()
            siege.start()
        assert siege.finish() == 0, output.read_text(encoding="utf-8")[-2000:]
    finally:
        siege.close()
    check_stored(bed, out)
    check_servers(bed, out, wait=WAIT)
    shared = open_frontier(out)
    stood = shared.workers()
    shared.close()
    assert len(stood) == 4
    assert sum(worker.pages for worker in stood) == PAGES


def test_workers__of_a_crawl_that_does_not_run_are_not_changed(tmp_path: Path) -> None:
    """It says what to do instead."""
    create_frontier(tmp_path, by_size=False, seeds=["http://a.example/"])
    (tmp_path / "crawl.toml").write_text("", encoding="utf-8")
    with managing(tmp_path) as managed, pytest.raises(UsageError, match="does not run"):
        managed.set_workers(3)
