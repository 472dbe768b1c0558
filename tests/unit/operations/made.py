"""A crawl with figures in every place, for tests of who tells of it."""

from __future__ import annotations

from typing import Any

from weft.engine.progress import Counts, Statistics
from weft.frontier.shared.contract import Restart
from weft.frontier.shared.nodes import NodeState
from weft.operations.status import Snapshot, Status, WorkerStatus, machine_of, stages_of


def counts(pages: int) -> Counts:
    """What a worker has done."""
    return Counts(
        pages=pages,
        good=pages - 9,
        parts=7,
        parts_good=5,
        parts_failed=1,
        parts_duplicates=1,
        robots=4,
        fetches=pages + 11,
        bytes=1000 * pages,
        duplicates=3,
        copies=2,
        unremembered=6,
        redirects=8,
        faults=1,
        application_faults=2,
        outages=1,
        stalls=2,
        outage_seconds=12.5,
        seconds=60.0,
        visits=pages // 2,
        downloading=9.0,
        parsing=0.5,
        storing=0.25,
        resting=120.0,
        names=20,
        resolving=1.5,
        commits=60,
        packing=0.1,
        committing=2.0,
        sealings=30,
        sealing=3.0,
        exchanges=58,
        exchanging=1.0,
        looks=1200,
        lagging=0.2,
        cpu_user=40.0,
        cpu_system=5.0,
        cpu_queued=1.25,
        disk_read=1000,
        disk_written=90_000,
        reasons={"timeout": 4, "status-4xx": 5},
        refused={"scope": 40, "robots": 2},
        stopped={f"{pages}.example": "barren"},
        statuses={200: pages - 9, 404: 5, 0: 4},
        truncated={"length": 1},
        parts_truncated={"time": 2},
        robots_truncated={"length": 3},
        unwanted={"image/png": 5, "application/pdf": 2, "no type at all": 1},
    )


def _node(number: int, **how: Any) -> NodeState:
    stands: dict[str, Any] = {"joined": 100.0, "heard": 1.0, "left": None, "lost": None, "alive": False} | how
    return NodeState(number=number, name="here", version="1", workers=1, pages=100, groups=3, **stands)


def snapshot(pages: int = 100, *, time: float = 1_000_000.0, over: str = "") -> Snapshot:
    """A crawl of two workers, one of which lives."""
    reports = {
        number: Statistics(
            counts=counts(pages + number), known=1000, sites=20, moved=3, shelved=4, memory=10**8, active=5
        )
        for number in (0, 1)
    }
    total = Statistics()
    for report in reports.values():
        total.add(report)
    done = total.counts
    workers = [
        WorkerStatus(
            number=number,
            pid=1000 + number,
            alive=number == 0,
            in_run=True,
            left_out="it kept dying" if number else "",
            pages=report.counts.pages,
            pages_rate=12.5 if number == 0 else 0.0,
            bytes_rate=12_500.0 if number == 0 else 0.0,
            pending=30,
            active=5 if number == 0 else 0,
            memory=10**8 if number == 0 else 0,
            heard=0.5,
        )
        for number, report in reports.items()
    ]
    status = Status(
        crawl="crawls/country",
        running=True,
        paused=False,
        over=over,
        seconds=done.seconds,
        pages=done.pages,
        pages_rate=12.5,
        bytes=done.bytes,
        bytes_rate=12_500.0,
        phase="expansion",
        lists={"to_crawl": 4, "being_crawled": 3, "crawled": 2, "set_aside": 1},
        pending=75,
        unassigned=15,
        active=5,
        known=2000,
        errors=done.reasons,
        refused=done.refused,
        stopped=done.stopped,
        faults=done.faults,
        application_faults=done.application_faults,
        outage="",
        outage_seconds=0.0,
        outages=done.outages,
        stalled="no space left",
        stalled_seconds=4.0,
        stalls=done.stalls,
        out_of_use={"/disk1": "no space left"},
        restarted=2,
        restarts=[Restart(1, time - 60, "signal 9", "")],
        shelved=8,
        moved=6,
        time=time,
        volumes=3,
        stored=1,
        disk_free=5 * 10**9,
        disk_size=10**11,
        requisites={"fetched": 14, "good": 10, "failed": 2, "duplicates": 2},
        truncated={"pages": {"length": 2}, "requisites": {"time": 4}, "robots": {"length": 6}},
        not_collected=done.unwanted,
        duplicates=done.duplicates,
        copies=done.copies,
        unremembered=done.unremembered,
        max_bytes_page=2_000_000,
        speed="20 pages/s",
        pages_target=20.0,
        bytes_target=None,
        blacklist=9,
        stages=stages_of(done),
        machine=machine_of(done),
        workers=workers,
        nodes=[_node(0, alive=True), _node(1, lost=5.0)],
    )
    return Snapshot(status, reports)
