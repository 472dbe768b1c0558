"""How a crawl stands, at one moment. In: its global frontier, its directory. Out: one value, for people and programs:
`weft status`, metrics and reports say what is in it.

Workers report about once a second; what is said here is as old as that. Only files of the directory and the global
frontier are read, so that it can be found out beside a running crawl, by any process of its machine.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import msgspec

from weft.clock import Clock
from weft.engine.progress import Counts, Statistics, most_first
from weft.engine.vitals import left_out, lives, process_of, stall_of
from weft.frontier.pace import Speed
from weft.frontier.shared.contract import PHASES, Restart, SharedFrontier, WorkerState
from weft.frontier.shared.nodes import NodeState
from weft.frontier.shared.opening import nodes_of
from weft.settings import load_toml
from weft.store.gathering import waiting_volumes
from weft.store.stored import stored_names


class WorkerStatus(msgspec.Struct, kw_only=True):
    """How one worker stands; what only a process can have is 0 where there is none."""

    number: int
    pid: int | None
    alive: bool
    in_run: bool  # it belongs to the present run, or to the last one
    left_out: str  # why it was left out of that run; "" where it was not
    pages: int
    pages_rate: float  # a second, recently
    bytes_rate: float
    pending: int  # pages
    active: int  # connections to sites that are being visited
    memory: int  # bytes
    heard: float | None  # seconds since it was heard of


class Machine(msgspec.Struct, kw_only=True):
    """What workers have had of their machine (P3, table 5)."""

    cpu_user: float  # seconds of processors
    cpu_system: float  # the same in the kernel
    cpu_queued: float  # seconds in which a worker's loop could run, and no processor was free
    disk_read: int  # bytes
    disk_written: int  # bytes


class Stage(msgspec.Struct, kw_only=True):
    """What was spent on one kind of work (P3, figure 7)."""

    device: str  # what it mostly needs: cpu, disk, link, database, dns, or waiting
    operations: int
    seconds: float
    mean: float  # seconds an operation


class Status(msgspec.Struct, kw_only=True):
    """How a crawl stands."""

    crawl: str
    running: bool
    paused: bool
    phase: str  # all at once; or seeds first, then expansion
    over: str  # why the run is over; "" where nobody said so
    seconds: float  # that the crawl has run
    pages: int
    pages_rate: float
    bytes: int
    bytes_rate: float
    lists: dict[str, int]  # sites to_crawl, being_crawled, crawled, set_aside
    pending: int  # pages, those of sites included that nobody has checked out
    unassigned: int  # of these, those of sites that nobody has checked out
    active: int  # connections to sites that are being visited
    known: int  # URLs
    errors: dict[str, int]  # by reason, the most frequent first
    refused: dict[str, int]  # by rule
    stopped: dict[str, str]  # sites and domains that are followed no further, with the reason; some of them
    faults: int  # internal errors; log/faults.log has them
    application_faults: int  # exceptions of the application
    outage: str  # why nobody can be reached at the moment; "" where somebody can
    outage_seconds: float  # for how long
    outages: int  # how often that was so, with this one
    stalled: str  # why what was fetched cannot be put away at the moment; "" where it can
    stalled_seconds: float  # for how long
    stalls: int  # how often that was so, with this one
    out_of_use: dict[str, str]  # directories for volumes whose disk is full or fails, with what it said
    restarted: int  # how often a worker was started again
    restarts: list[Restart]  # the last of these, with their causes
    shelved: int  # groups that workers have put away
    moved: int  # groups that went from worker to worker while the crawl runs
    time: float  # of this status: wall time
    volumes: int  # WARC files that are sealed
    stored: int  # of these, in an object store
    disk_free: int  # bytes
    disk_size: int  # bytes
    requisites: dict[str, int]  # parts of pages: fetched, good, failed, duplicates
    truncated: dict[str, dict[str, int]]  # cut by a limit, of pages, requisites and robots.txt: by length or time
    not_collected: dict[str, int]  # by media type, the most frequent first: what --types would take
    duplicates: int  # pages whose content was stored before
    copies: int  # contents that two workers stored at the same time, before either knew of the other's
    unremembered: int  # contents that are stored whenever they come: there is no room to remember more
    max_bytes_page: int  # where bodies are cut
    speed: str  # as it was said
    pages_target: float | None  # a second, at this moment
    bytes_target: float | None
    blacklist: int  # rules
    stages: dict[str, Stage]
    machine: Machine
    workers: list[WorkerStatus]
    nodes: list[NodeState]  # none where the global frontier is a file

    @property
    def node_states(self) -> dict[str, int]:
        """How many nodes are alive, silent, have left, and are lost."""
        found = dict.fromkeys(("alive", "silent", "left", "lost"), 0) if self.nodes else {}
        for node in self.nodes:
            found[node.state] += 1
        return found


class Snapshot(NamedTuple):
    """A crawl as a whole, and by worker."""

    status: Status
    reports: dict[int, Statistics]  # by worker, as it last told


def look_at(
    out: Path | None, shared: SharedFrontier, clock: Clock, *, running: bool, everywhere: bool = False, name: str = ""
) -> Snapshot:
    """Everything there is to say of a crawl at this moment. With `everywhere` all its nodes are looked at, else the one
    in the directory; without a directory, under a `name`, nothing is said of files.
    """
    state, stood, nodes = shared.state(), shared.workers(everywhere=everywhere), nodes_of(shared)
    reports = {each.number: _statistics(each) for each in stood}
    workers = [_worker(out, each, reports[each.number], running=running) for each in stood]
    total, now = Statistics(), Statistics()
    for worker in workers:
        total.add(reports[worker.number])
        if worker.alive:
            now.add(reports[worker.number])
    counts = total.counts
    pages, amount = Speed.parse(state.speed or "none").at(clock.wall())
    disk, unassigned = (0, 0) if out is None else shutil.disk_usage(out)[::2], shared.waiting()
    stored = set() if out is None else stored_names(out)
    status = Status(
        crawl=name if out is None else str(out),
        running=running,
        paused=state.paused,
        phase=PHASES[state.phase],
        over=state.over,
        seconds=counts.seconds,
        pages=counts.pages,
        pages_rate=now.pages_rate,
        bytes=counts.bytes,
        bytes_rate=now.bytes_rate,
        lists=msgspec.structs.asdict(shared.lists()),
        pending=sum(worker.pending for worker in workers) + unassigned,
        unassigned=unassigned,
        active=now.active,
        known=total.known,
        errors=most_first(counts.reasons),
        refused=most_first(counts.refused),
        stopped=counts.stopped,
        faults=counts.faults,
        application_faults=counts.application_faults,
        outage=now.outage,
        outage_seconds=now.outage_seconds,
        outages=counts.outages,
        stalled=now.stalled or next(filter(None, (_stall(out, worker) for worker in workers if out is not None)), ""),
        stalled_seconds=now.stalled_seconds,
        stalls=counts.stalls,
        out_of_use=now.out_of_use,
        restarted=state.restarted,
        restarts=state.restarts,
        shelved=total.shelved,
        moved=total.moved,
        time=clock.wall(),
        volumes=0 if out is None else len({each.name for each in waiting_volumes(out)} | stored),
        stored=len(stored),
        disk_free=disk[1],
        disk_size=disk[0],
        requisites={
            "fetched": counts.parts,
            "good": counts.parts_good,
            "failed": counts.parts_failed,
            "duplicates": counts.parts_duplicates,
        },
        truncated={
            "pages": counts.truncated,
            "requisites": counts.parts_truncated,
            "robots": counts.robots_truncated,
        },
        not_collected=most_first(counts.unwanted),
        duplicates=counts.duplicates,
        copies=counts.copies,
        unremembered=counts.unremembered,
        max_bytes_page=0
        if out is None
        else load_toml(out / "crawl.toml").get("selection", {}).get("max_bytes_page", 0),
        speed=state.speed or "none",
        pages_target=pages,
        bytes_target=amount,
        blacklist=len(shared.blacklist()),
        stages=stages_of(counts),
        machine=machine_of(counts),
        workers=workers,
        nodes=[] if nodes is None else nodes.nodes(),
    )
    return Snapshot(status, reports)


def _worker(out: Path | None, stood: WorkerState, report: Statistics, *, running: bool) -> WorkerStatus:
    """How a worker stands: by its process if it is one of this machine, else by its lease."""
    pid = None if out is None else process_of(out / "workers" / str(stood.number))
    here = lives(pid) if pid is not None else bool(stood.lease)
    alive = running and stood.in_run and here
    return WorkerStatus(
        number=stood.number,
        pid=pid,
        alive=alive,
        in_run=stood.in_run,
        left_out="" if out is None else left_out(out).get(stood.number, ""),
        pages=stood.pages,
        pages_rate=report.pages_rate if alive else 0.0,
        bytes_rate=report.bytes_rate if alive else 0.0,
        pending=stood.pending,
        active=report.active if alive else 0,
        memory=report.memory if alive else 0,
        heard=stood.heard,
    )


def _stall(out: Path, worker: WorkerStatus) -> str:
    """Why a worker stalls that cannot say so to the global frontier."""
    return stall_of(out / "workers" / str(worker.number)) if worker.alive else ""


def _statistics(stood: WorkerState) -> Statistics:
    return msgspec.msgpack.decode(stood.statistics, type=Statistics) if stood.statistics else Statistics()


def stages_of(counts: Counts) -> dict[str, Stage]:
    """What was spent on what."""
    spent = {
        "resolve": ("dns", counts.names, counts.resolving),
        "download": ("link", counts.fetches, counts.downloading),
        "parse": ("cpu", counts.good + counts.parts, counts.parsing),
        "store": ("cpu", counts.fetches, counts.storing),
        "pack": ("cpu", counts.commits, counts.packing),
        "lag": ("cpu", counts.looks, counts.lagging),
        "commit": ("disk", counts.commits, counts.committing),
        "seal": ("disk", counts.sealings, counts.sealing),
        "exchange": ("database", counts.exchanges, counts.exchanging),
        "courtesy": ("waiting", counts.visits, counts.resting),
    }
    return {
        name: Stage(
            device=device, operations=operations, seconds=seconds, mean=seconds / operations if operations else 0.0
        )
        for name, (device, operations, seconds) in spent.items()
    }


def machine_of(counts: Counts) -> Machine:
    """What was had of the machine."""
    return Machine(
        cpu_user=counts.cpu_user,
        cpu_system=counts.cpu_system,
        cpu_queued=counts.cpu_queued,
        disk_read=counts.disk_read,
        disk_written=counts.disk_written,
    )
