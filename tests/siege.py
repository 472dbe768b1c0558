"""A crawl under siege: its processes are killed at random moments until it is done all the same. Then what it stored
is compared with the web, and what the servers saw with what they should have seen.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sized
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow.parquet as pq
from fastwarc.warc import ArchiveIterator, WarcRecordType
from tests.crawling import digests_of, rows, settings_for
from tests.nursery import NURSERY, WORKER, Nursed, nursery
from tests.patience import PATIENCE
from tests.serverside import check_polite, visits_of

from weft.clock import SystemClock
from weft.directory import Plan, write_settings
from weft.engine.messages import Messages
from weft.engine.vitals import signs_of
from weft.engine.watchdog import Watchdog
from weft.frontier.durable.records import Commit, records_of
from weft.frontier.shared.contract import Limits
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.store.files import SETTLED, intact
from weft.testbed.bed import Bed


def command_for(bed: Bed, out: Path, *options: str) -> list[str]:
    """The command that crawls a whole web, cut by no limit."""
    seeds = out.with_suffix(".txt")
    seeds.write_text("\n".join(bed.seeds()), encoding="utf-8")
    command = [sys.executable, "-m", "weft", "crawl", "--seeds", str(seeds), "--out", str(out), "--scope", "all"]
    command += ["--dns", bed.dns, "--allow-address", "127.0.0.0/8", "--max-depth", "1000"]
    command += ["--max-depth-dynamic", "1000", "--max-site-pages", "1000000"]
    often = [] if "--commit-every" in options else ["--commit-every", "0.2"]  # crawls of seconds wait for commits
    return [*command, *often, *options]


class Siege:
    """A crawl that is run as a command, and its processes. They come from the nursery unless they are to be started as
    anybody would.
    """

    def __init__(self, command: list[str], output: Path, *, from_scratch: bool = False) -> None:
        self._command = command
        self._output: IO[bytes] = output.open("ab")
        self._from_scratch = from_scratch
        self.process: Nursed | subprocess.Popen[bytes]
        self.start()
        self.kills: Counter[str] = Counter()
        self.workers_killed = 0

    def start(self) -> None:
        """Give the command."""
        if self._from_scratch:
            self.process = subprocess.Popen(self._command, stdout=self._output, stderr=self._output)
        else:
            self.process = nursery().command(self._command, self._output)

    def stop(self) -> None:
        """Kill -9 everything at once."""
        workers, below = self.workers(), descendants(self.process.pid)
        for pid in (self.process.pid, *workers):  # who is there no more starts no worker again
            _kill(pid)
        self._gone(workers, below)

    def _gone(self, workers: list[int], below: list[int]) -> None:
        """Wait until nobody is left: on a busy machine what was killed may yet come to the end of a system call, and a
        checkpoint be renamed by who made it.
        """
        self.process.wait()
        wait_until(lambda: not any(map(alive, below)), "processes survived their parents")
        self.workers_killed += len(workers)

    @property
    def over(self) -> bool:
        """Has the command ended?"""
        return self.process.poll() is not None

    def workers(self) -> list[int]:
        """The processes of the workers."""
        near = _children(self.process.pid)
        nursed = [pid for mother in near if _name(mother) == NURSERY for pid in _children(mother)]
        return [pid for pid in (*near, *nursed) if b"weft.work" in _line(pid) or _name(pid) == WORKER]

    def kill(self, whom: str, chance: random.Random) -> None:
        """Kill -9 a worker, the watchdog, or all at once; the command is given again where it is gone."""
        workers, below = self.workers(), descendants(self.process.pid)
        if whom == "worker":
            if not workers:
                return
            _kill(chance.choice(workers))
            self.workers_killed += 1
        else:
            if whom == "all":
                self.stop()
            else:
                self.process.kill()
                self._gone(workers, below)
            self.start()
        self.kills[whom] += 1

    def finish(self, within: float = PATIENCE) -> int:
        """Let the command come to its end; its exit code."""
        try:
            return self.process.wait(within)
        finally:
            self.close()

    def close(self) -> None:
        """End what still runs."""
        if not self.over:
            self.process.kill()
            self.process.wait()
        self._output.close()


class Logged(Protocol):
    """A web whose servers note what they were asked for."""

    def log(self) -> Sized:
        """What they noted."""


def assault(siege: Siege, web: Logged, chance: random.Random, *, kills: int, pages: int, since: int = 0) -> None:
    """Kill processes of a crawl of so many pages so many times, at random places but for the last quarter.

    Places are counted in what the servers were asked for, so that the crawl is not over before, and not by the clock.
    """
    share = pages * 3 // (4 * kills)
    for place in range(kills):
        wanted = since + place * share + chance.randrange(share)
        wait_until(lambda wanted=wanted: siege.over or len(web.log()) > wanted, "the crawl stands still")
        assert not siege.over, f"the crawl ended before it was killed {kills} times"
        whom = chance.choice(("worker", "worker", "watchdog", "all"))
        if whom == "worker":
            wait_until(siege.workers, "there is no worker")
        siege.kill(whom, chance)


def wait_until(what: Any, failure: str, within: float = PATIENCE) -> None:
    """Wait for something that must come about."""
    deadline = time.monotonic() + within
    while not what():
        assert time.monotonic() < deadline, failure
        time.sleep(0.01)


def _children(pid: int) -> list[int]:
    """The processes that a process has started, in whatever thread."""
    found: list[int] = []
    with suppress(OSError):  # it may end meanwhile
        for thread in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, thread.read_text(encoding="ascii").split())
    return found


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    children = _children(pid)
    return [*children, *(each for child in children for each in descendants(child))]


def _line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Does a process run? One that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def check_stored(bed: Bed, out: Path) -> int:
    """Every page of the web is stored once, in whole files that agree with each other; how many there are."""
    truth = digests_of(bed.web)
    assert not list(out.rglob("*.open")), "everything is sealed"
    assert not list(out.rglob("*.new")), "nothing is half written"
    stored = rows(out, "url, digest", "final and kind <> 'robots'")
    counts = Counter(url for url, _ in stored)
    twice = [url for url, count in counts.items() if count > 1]
    assert not twice, f"{len(twice)} pages have two final rows, such as {twice[0]}"
    missing = truth.keys() - counts.keys()
    assert not missing, f"{len(missing)} pages are missing, such as {min(missing)}"
    assert dict(stored) == truth
    check_archive(out, truth)
    for path in out.glob("*/*.parquet"):
        pq.read_table(path)
    for path in (out / "volumes").glob("*.cdxj"):
        lines = path.read_bytes().splitlines()
        assert lines == sorted(lines)
    return len(truth)


def check_archive(out: Path, truth: dict[str, str]) -> None:
    """The volumes hold what the columns say: one record a page, every digest right, every revisit with its original."""
    found: dict[str, str] = {}
    originals: set[tuple[str, str]] = set()
    refers: set[tuple[str, str]] = set()
    indexed = 0
    for path in sorted((out / "volumes").glob("*.warc.gz")):
        kinds = WarcRecordType.response | WarcRecordType.revisit
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=kinds, parse_http=False, verify_digests=True):
                url, headers = record.headers["WARC-Target-URI"], record.headers
                indexed += 1
                if record.record_type == WarcRecordType.revisit:
                    refers.add((headers["WARC-Refers-To-Target-URI"], headers["WARC-Payload-Digest"]))
                else:
                    originals.add((url, headers["WARC-Payload-Digest"]))
                if not url.endswith("/robots.txt"):
                    assert url not in found, f"two records of {url}"
                    found[url] = headers["WARC-Payload-Digest"]
    assert found == truth
    assert refers <= originals, "a revisit record refers to what is there"
    lines = sum(path.read_bytes().count(b"\n") for path in (out / "volumes").glob("*.cdxj"))
    assert lines == indexed


def check_servers(bed: Bed, out: Path, *, wait: float) -> int:
    """The servers were treated politely across all restarts; how many pages were fetched more than once."""
    log = bed.log()
    check_polite(visits_of(log), wait=wait)
    asked = Counter(
        (entry.site, entry.path) for entry in log if entry.event == "request" and entry.path != "/robots.txt"
    )
    assert len(rows(out, "url", "final and kind <> 'robots'")) == len(asked)
    return sum(asked.values()) - len(asked)


def run_doomed(bed: Bed, out: Path, dooms: list[tuple[str, int, str]], **more: Any) -> int:
    """Crawl with two workers, of which the second dies at these points, one in each of its lives; how often it did."""
    changes = {"wait": 0.02, "per_visit": 5, "commit_every": 0.3, "part_bytes": 20_000, "volume_bytes": 200_000}
    changes |= {"hung_after": PATIENCE}  # the first worker is held: on a busy machine for long, and does not hang
    settings = settings_for(bed, workers=2, max_site_pages=10**6, **(changes | more))
    plan = Plan(seeds=bed.seeds(), out=out, settings=settings, watched=True)
    out.mkdir()
    write_settings(plan)
    create_frontier(out, by_size=False, seeds=plan.seeds)
    shared = open_frontier(out)
    shared.prepare(2, Limits(max_pages=None))
    waiting = list(dooms)
    alone = not any(point.endswith("Worker.finish") for point, *_ in dooms)  # nobody is done before all are
    died: list[str] = []
    held: list[int] = []  # the first worker, until the second has died: else it might be done with all before

    def start(number: int) -> Any:
        rest = [str(out), str(number), str(os.getpid())]
        command = [sys.executable, "-m", "weft.work", *rest]
        if number == 1 and waiting:
            point, call, when = waiting.pop(0)
            command = [sys.executable, "-m", "tests.doomed", point, str(call), when, *rest]
        elif number == 1:
            for pid in held:
                with suppress(ProcessLookupError):  # a death of its own is counted, and shows
                    os.kill(pid, signal.SIGCONT)
        process = nursery().popen(command)
        if number == 0 and waiting and alone:
            held.append(process.pid)
            os.kill(process.pid, signal.SIGSTOP)
        return process

    def signs() -> dict[int, float]:
        return signs_of(out / "workers")

    clock = SystemClock()
    messages = Messages(out / "log" / "messages.log", clock, died.append)
    watchdog = Watchdog(2, start=start, signs=signs, settings=plan.settings.watching, clock=clock, messages=messages)
    try:
        watchdog.run(lambda: None)
    finally:
        shared.close()
    return len(died)


def lose_power(out: Path, chance: random.Random, survived: dict[str, int], *, surely: bool = False) -> int:
    """Damage the tails of all files as a power failure may: what the last two commits added is cut, zeroed or garbled.
    What survived the failure before is on disk, and stays: by worker, `survived` has the number of the last commit.

    How many files were damaged. `surely` is for a worst case that chance may leave out: the logs stay whole, and
    everything that their last record speaks of is cut, so that a commit of each worker is lost.
    """
    damaged = 0
    for folder in sorted((out / "workers").iterdir()):
        log = folder / "frontier.log"
        ends, commits = [0], [Commit()]
        for record in records_of(log):
            ends.append(record.end)
            commits.append(record.commit())
        on_disk = sum(commit.number <= survived.get(folder.name, 0) for commit in commits) - 1
        safe = max(0, on_disk, len(ends) - 1 - SETTLED)
        if not surely:
            damaged += _damage(log, ends[safe], chance)
        for path in sorted(out.glob(f"*/*-{folder.name}-*.open")):
            name = f"{path.parent.name}/{path.name.removesuffix('.open')}"
            if surely:
                mark = commits[-1].marks.get(name)
                if mark is not None and mark.since < mark.length <= path.stat().st_size:
                    os.truncate(path, mark.since)
                    damaged += 1
                continue
            mark = commits[safe].marks.get(name)
            damaged += _damage(path, 0 if mark is None else mark.length, chance)
        whole = [record.commit() for record in records_of(log)]
        survived[folder.name] = max((each.number for each in whole if intact(out, each.marks)), default=0)
    return damaged


def _damage(path: Path, safe: int, chance: random.Random) -> bool:
    """Do something bad to what lies behind a place."""
    size = path.stat().st_size
    how = chance.choice(("cut", "zeros", "noise", "more", "nothing"))
    if how == "nothing" or (size <= safe and how != "more"):
        return False
    with path.open("r+b") as file:
        at = chance.randint(safe, size - 1) if size > safe else size
        if how == "cut":
            file.truncate(at)
        elif how == "more":
            file.seek(size)
            file.write(chance.randbytes(5000))
        else:
            file.seek(at)
            some = min(size - at, 4096)
            file.write(bytes(some) if how == "zeros" else chance.randbytes(some))
    return True
