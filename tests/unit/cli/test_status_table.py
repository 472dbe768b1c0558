"""What `weft status` prints fits a terminal of 80 columns."""

from __future__ import annotations

from typing import Any

import pytest

from weft.cli.status import _print
from weft.frontier.shared.nodes import NodeState
from weft.operations.status import Machine, Stage, Status, WorkerStatus


def a_worker(number: int, *, alive: bool, in_run: bool, heard: float | None) -> WorkerStatus:
    """One that has crawled for long."""
    return WorkerStatus(
        number=number,
        pid=4_194_304 if alive else 0,
        alive=alive,
        in_run=in_run,
        left_out="",
        pages=12_345_678,
        pages_rate=1_234.5,
        bytes_rate=1e8,
        active=500,
        pending=123_456_789,
        memory=987_654_321,
        heard=heard,
    )


@pytest.fixture
def found() -> Status:
    """A crawl with large numbers."""
    return Status(
        crawl="crawls/country",
        running=True,
        paused=False,
        over="",
        seconds=1e6,
        pages=123_456_789,
        pages_rate=12_345.6,
        bytes=1 << 42,
        bytes_rate=1e9,
        phase="seeds first",
        lists={"to_crawl": 1_234_567, "being_crawled": 10_000, "crawled": 1_234_567, "set_aside": 1_234_567},
        pending=1_234_567_890,
        unassigned=1_000_000_000,
        active=1000,
        known=9_234_567_890,
        errors={"connect-refused": 1},
        refused={"scope": 1_000_000},
        faults=0,
        application_faults=0,
        outage="",
        outage_seconds=0.0,
        outages=0,
        stalled="",
        stalled_seconds=0.0,
        stalls=0,
        out_of_use={},
        restarted=0,
        restarts=[],
        shelved=0,
        moved=0,
        time=0.0,
        volumes=12_345,
        stored=0,
        disk_free=1 << 42,
        disk_size=1 << 43,
        requisites={"fetched": 0, "good": 0, "failed": 0, "duplicates": 0},
        truncated={},
        not_collected={},
        stopped={},
        copies=0,
        unremembered=0,
        duplicates=0,
        max_bytes_page=2_000_000,
        speed="200 pages/s",
        pages_target=200.0,
        bytes_target=None,
        blacklist=1000,
        stages={
            name: Stage(device="waiting", operations=123_456_789, seconds=1_234_567.8, mean=123.45)
            for name in ("courtesy", "fetch")
        },
        machine=Machine(
            cpu_user=1_234_567.8, cpu_system=234_567.8, cpu_queued=12_345.6, disk_read=1 << 40, disk_written=1 << 42
        ),
        workers=[
            a_worker(0, alive=True, in_run=True, heard=0.4),
            a_worker(17, alive=False, in_run=True, heard=1051.0),
            a_worker(18, alive=False, in_run=False, heard=12_345_678.0),
            a_worker(19, alive=False, in_run=False, heard=None),
        ],
        nodes=[],
    )


def test_status__fits_eighty_columns(
    found: Status, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No row of a table is broken in two, whatever the numbers are."""
    monkeypatch.setenv("COLUMNS", "80")
    _print(found)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80, lines
    begin = next(number for number, line in enumerate(lines) if line.split()[:2] == ["worker", "pid"])
    rows = [line.split() for line in lines[begin + 1 :]]
    assert [row[0] for row in rows] == ["0", "17", "18", "19"]
    assert all("123,456,789" in row and "12,345,678" in row for row in rows)
    assert len([line for line in lines if "courtesy wait" in line or line.split()[:1] == ["fetch"]]) == 2
    assert sum("to crawl" in line for line in lines) == sum("set aside" in line for line in lines) == 1


def test_status__shows_nodes(
    found: Status, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line each, and what people call them below: that may be long."""
    large: dict[str, Any] = {
        "version": "0.1.0",
        "workers": 128,
        "joined": 1e7,
        "pages": 12_345_678,
        "groups": 1_234_567,
    }
    found.nodes = [
        NodeState(number=0, name="db1:/data", heard=1.0, left=None, lost=None, alive=True, **large),
        NodeState(number=12, name="db2:/data", heard=None, left=None, lost=5.0, alive=False, **large),
    ]
    monkeypatch.setenv("COLUMNS", "80")
    _print(found)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80, lines
    assert [line.split() for line in lines[-4:-2]] == [
        ["0", "alive", "128", "1,234,567", "12,345,678", "1", "s", "0.1.0"],
        ["12", "lost", "128", "1,234,567", "12,345,678", "never", "0.1.0"],
    ]
    assert lines[-2:] == ["node 0 is db1:/data", "node 12 is db2:/data"]


def test_status__of_a_directory_with_brackets(found: Status, capsys: pytest.CaptureFixture[str]) -> None:
    """A path is no markup."""
    found.crawl = "out[/bold] [red]x"
    _print(found)
    assert "out[/bold] [red]x" in capsys.readouterr().out
