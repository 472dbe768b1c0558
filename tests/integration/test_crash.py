"""Nothing lost, nothing twice: kill -9 of any process at any moment, and the same command again."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crawling import make_web
from tests.patience import PATIENCE
from tests.serverside import CROWDED, check_polite, visits_of
from tests.siege import (
    Siege,
    alive,
    assault,
    check_servers,
    check_stored,
    command_for,
    lose_power,
    run_doomed,
    wait_until,
)

from weft.audit import audit_crawl
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.serve import ServerSettings


@pytest.fixture(scope="module")
def small() -> Iterator[Bed]:
    """A web that is crawled in a few seconds."""
    with serving(make_web(PLAIN, sites=40, pages=600)) as bed:
        yield bed


WAIT = 0.2
COMMIT = 0.5
RATE = 100  # pages a second of a worker, at most: the crawl lasts longer than the kills take, however fast the machine


@pytest.mark.restarts
@pytest.mark.parametrize(
    ("kills", "sites", "pages", "ordering"),
    [
        pytest.param(6, 80, 1200, "opic", id="six"),
        pytest.param(50, 400, 20_000, "breadth-first", id="fifty", marks=pytest.mark.soak),
    ],
)
def test_kills__nothing_is_lost_and_nothing_twice(
    kills: int, sites: int, pages: int, ordering: str, tmp_path: Path
) -> None:
    """Workers, the watchdog and all at once are killed at random; what is stored is what an undisturbed crawl has."""
    chance = random.Random(20)
    out = tmp_path / "crawl"
    with serving(make_web(PLAIN, sites=sites, pages=pages), ServerSettings(keep_alive_s=5.0)) as bed:
        command = command_for(
            bed, out, "--wait", str(WAIT), "--per-visit", "5", "--workers", "2", "--commit-every", str(COMMIT)
        )
        command += ["--speed", f"{2 * RATE} pages/s", "--ordering", ordering, "--checkpoint-bytes", "30000"]
        siege = Siege(command, tmp_path / "output.txt")
        try:
            assault(siege, bed, chance, kills=kills, pages=pages)
            code = siege.finish()
        finally:
            siege.close()
        assert code == 0, (tmp_path / "output.txt").read_text(encoding="utf-8", errors="replace")[-2000:]
        stored = check_stored(bed, out)
        again = check_servers(bed, out, wait=WAIT)
    most = siege.workers_killed * (2 * COMMIT * RATE + 500)
    killed = f"{sum(siege.kills.values())} kills {dict(siege.kills)}, {siege.workers_killed} workers"
    print(f"\n{killed}, {stored} pages, {again} refetches")  # noqa: T201  `make soak` shows it
    assert again <= most


# Windows that random kills seldom hit, one by one. Parts and volumes are small, so that files are sealed all the time.
GLOBAL = "weft.frontier.shared.sqlite:SqliteFrontier"
POINTS = [
    pytest.param("weft.store.store:Store.mark", 2, "before", id="before a commit", marks=pytest.mark.soak),
    pytest.param(
        "weft.store.store:Store.mark", 2, "after", id="outputs written, nothing packed", marks=pytest.mark.soak
    ),
    pytest.param("weft.store.store:Store.sync", 2, "before", id="packed, outputs not synced", marks=pytest.mark.soak),
    pytest.param("weft.store.store:Store.sync", 2, "after", id="outputs synced, no record", marks=pytest.mark.soak),
    pytest.param("weft.frontier.durable.log:write_all", 2, "half", id="half of a record"),
    pytest.param("weft.store.files:write_all", 8, "half", id="half of an output", marks=pytest.mark.soak),
    pytest.param("weft.frontier.local.commits:Commits.write", 2, "after", id="record written, not handed over"),
    pytest.param(f"{GLOBAL}.exchange", 2, "before", id="before the hand-over", marks=pytest.mark.soak),
    pytest.param("weft.frontier.shared.sqlite_exchange:apply_batch", 1, "after", id="inside the hand-over"),
    pytest.param(
        f"{GLOBAL}.exchange", 1, "after", id="first check-out handed over, not taken in", marks=pytest.mark.soak
    ),
    pytest.param(f"{GLOBAL}.exchange", 3, "after", id="handed over, orders not taken in"),
    pytest.param(
        "weft.frontier.local.exchanges:Exchanges._take_notice",
        2,
        "after",
        id="orders half taken in, not committed",
        marks=pytest.mark.soak,
    ),
    pytest.param("weft.store.sealing:_to_parquet", 1, "before", id="before sealing a part", marks=pytest.mark.soak),
    pytest.param("pyarrow.parquet:ParquetWriter.close", 2, "after", id="part written beside, not renamed"),
    pytest.param(
        "weft.store.sealing:_to_parquet", 2, "after", id="part sealed, folder not synced", marks=pytest.mark.soak
    ),
    pytest.param("weft.store.sealing:sort_cdxj", 1, "before", id="before sealing a volume", marks=pytest.mark.soak),
    pytest.param("weft.store.sealing:sort_cdxj", 1, "after", id="index sealed, volume open"),
    pytest.param("weft.store.store:seal", 2, "after", id="some files sealed", marks=pytest.mark.soak),
    pytest.param(
        "weft.engine.worker:Worker.finish", 1, "before", id="done, last commit not made", marks=pytest.mark.soak
    ),
    pytest.param(
        "weft.frontier.local.commits:Commits.written", 1, "after", id="first commit only", marks=pytest.mark.soak
    ),
]


def _doomed(small: Bed, folder: Path, points: list[tuple[str, int, str]]) -> Path:
    """A crawl whose second worker died at these points."""
    out = folder / "crawl"
    assert run_doomed(small, out, points) == len(points), "the point was never reached"
    return out


@pytest.mark.parametrize(("point", "call", "when"), POINTS)
def test_windows__one_by_one(point: str, call: int, when: str, small: Bed, tmp_path: Path) -> None:
    """A worker dies at exactly this point, is restarted by the watchdog, and nothing shows in what is stored."""
    check_stored(small, _doomed(small, tmp_path, [(point, call, when)]))


# The same of a checkpoint: the logs are closed after a few commits.
CHECKPOINT = [
    pytest.param(
        "weft.frontier.durable.log:FrontierLog._begin", 1, "before", id="log to be closed", marks=pytest.mark.soak
    ),
    pytest.param("weft.frontier.durable.log:rename", 1, "before", id="log closed, the next one without its name"),
    pytest.param("weft.frontier.durable.log:FrontierLog._begin", 1, "after", id="log closed", marks=pytest.mark.soak),
    pytest.param("weft.frontier.local.rolling:Rolling._take_up", 1, "before", id="checkpoint made, not taken up"),
    pytest.param(
        "weft.frontier.durable.log:FrontierLog.adopt", 1, "after", id="taken up, not told", marks=pytest.mark.soak
    ),
    pytest.param("weft.frontier.durable.log:FrontierLog.retire", 1, "after", id="taken up, nothing removed"),
    pytest.param(
        "weft.frontier.durable.log:FrontierLog.tidy", 2, "before", id="before it is removed", marks=pytest.mark.soak
    ),
    pytest.param("weft.frontier.durable.log:FrontierLog.tidy", 2, "after", id="the log before is removed"),
]


@pytest.mark.parametrize(("point", "call", "when"), CHECKPOINT)
def test_windows__of_a_checkpoint(point: str, call: int, when: str, small: Bed, tmp_path: Path) -> None:
    """A worker dies while its log becomes a checkpoint, and nothing shows in what is stored."""
    out = tmp_path / "crawl"
    assert run_doomed(small, out, [(point, call, when)], checkpoint_bytes=15_000, speed="40 pages/s") == 1
    check_stored(small, out)
    assert list(out.glob("workers/*/frontier-*.checkpoint"))


RECOVERY = [
    pytest.param("weft.store.store:cut_back", 1, "before", id="log read back, nothing cut", marks=pytest.mark.soak),
    pytest.param("weft.store.sealing:_cut", 2, "after", id="some files cut"),
    pytest.param("weft.store.store:seal", 1, "after", id="some files sealed", marks=pytest.mark.soak),
    pytest.param("weft.work:known_contents", 1, "before", id="contents not known yet", marks=pytest.mark.soak),
    pytest.param(f"{GLOBAL}.begin", 1, "after", id="begun, nothing read", marks=pytest.mark.soak),
    pytest.param(f"{GLOBAL}.exchange", 1, "before", id="recovered, before the first exchange", marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("point", "call", "when"), RECOVERY)
def test_recovery__may_die_too(point: str, call: int, when: str, small: Bed, tmp_path: Path) -> None:
    """A worker dies, and so does the one that takes up what it left; the third finds everything."""
    first = ("weft.frontier.local.commits:Commits.write", 6, "after")
    check_stored(small, _doomed(small, tmp_path, [first, (point, call, when)]))


@pytest.mark.faults
@pytest.mark.parametrize("failures", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_power_loss__costs_two_commits_at_most(failures: int, tmp_path: Path) -> None:
    """All processes end and the tails of all files are damaged: the crawl goes on and stores every page once."""
    chance = random.Random(7)
    out = tmp_path / "crawl"
    with serving(make_web(PLAIN, sites=120, pages=350 * failures), ServerSettings(keep_alive_s=5.0)) as bed:
        options = ["--wait", str(WAIT), "--per-visit", "5", "--workers", "2", "--commit-every", str(COMMIT)]
        # So slow that it is not over before a busy machine has looked at the servers' log three times.
        command = command_for(bed, out, *options, "--speed", f"{RATE} pages/s")
        siege = Siege(command, tmp_path / "output.txt")
        faults = out / "log" / "faults.log"
        damaged, survived = 0, dict[str, int]()
        try:
            for happened in range(1, failures + 1):
                before = len(bed.log())
                wait_until(lambda before=before: len(bed.log()) > before + 150 or siege.over, "the crawl stands still")
                assert not siege.over, (tmp_path / "output.txt").read_text(encoding="utf-8", errors="replace")[-2000:]
                siege.stop()
                # Whether commits are lost is a matter of chance and of the moment: the last time they surely are.
                damaged += lose_power(out, chance, survived, surely=happened == failures)
                siege.start()
            code = siege.finish()
        finally:
            siege.close()
        assert code == 0, (tmp_path / "output.txt").read_text(encoding="utf-8", errors="replace")[-2000:]
        stored = check_stored(bed, out)
        again = check_servers(bed, out, wait=WAIT)
    said = faults.read_text(encoding="utf-8").count("are visited again")
    lost = f"{failures} failures, {damaged} files damaged, {said} times commits were lost"
    print(f"\n{lost}, {stored} pages, {again} refetches")  # noqa: T201  `make soak` shows it
    assert again <= siege.workers_killed * (3 * COMMIT * RATE + 500)
    assert said > 0


def test_politeness__of_four_workers_across_restarts(tmp_path: Path) -> None:
    """Sites that share addresses and domains, four workers, two restarts: by the server's clock no rule is broken."""
    out, chance = tmp_path / "crawl", random.Random(3)
    web = make_web(CROWDED, sites=200, pages=1000, largest=30)
    with serving(web, ServerSettings(keep_alive_s=5.0)) as bed:
        command = command_for(bed, out, "--wait", "0.3", "--per-visit", "2", "--workers", "4", "--timeout", "2")
        command += ["--retry-pauses", "0.1", "--retry-pauses", "0.2", "--max-time", str(PATIENCE)]
        siege = Siege(command, tmp_path / "output.txt")
        try:
            for whom in ("all", "watchdog"):
                before = len(bed.log())
                wait_until(lambda before=before: len(bed.log()) > before + 250 or siege.over, "the crawl stands still")
                siege.kill(whom, chance)
            assert siege.finish() == 0
        finally:
            siege.close()
        visits = visits_of(bed.log())
    assert len(visits) > 400
    check_polite(visits, wait=0.3)
    assert audit_crawl(out).ok


@pytest.mark.restarts
def test_watchdog__restarts_a_worker_that_hangs(small: Bed, tmp_path: Path) -> None:
    """A worker that is stopped in its tracks shows no sign of life: it is killed, and another takes up its log."""
    out = tmp_path / "crawl"
    siege = Siege(
        command_for(small, out, "--wait", "0.05", "--workers", "2", "--hung-after", "8"), tmp_path / "output.txt"
    )
    try:
        wait_until(lambda: (out / "log" / "crawl.log").exists() and len(siege.workers()) == 2, "no worker")
        before = siege.workers()
        os.kill(before[0], signal.SIGSTOP)
        wait_until(lambda: not alive(before[0]), "the worker that hangs is still there")
        assert siege.finish() == 0
    finally:
        siege.close()
    assert "no sign of life" in (tmp_path / "output.txt").read_text(encoding="utf-8", errors="replace")
    check_stored(small, out)
