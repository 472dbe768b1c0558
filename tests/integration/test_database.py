"""A crawl whose global frontier is in PostgreSQL: the same pages, the same commands, and a database that goes away."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.commands import completed as weft
from tests.crawling import make_web
from tests.database import Database, database
from tests.patience import PATIENCE
from tests.siege import Siege, assault, check_servers, check_stored, command_for, wait_until

from weft.manage import managing
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.serve import ServerSettings

WAIT = 0.1
APART = replace(PLAIN, sites_per_address=1)  # else the sites would follow their addresses to one worker
SITES, PAGES, LARGEST = 40, 500, 40


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A web of some dozens of sites."""
    with serving(make_web(APART, sites=SITES, pages=PAGES, largest=LARGEST), ServerSettings(keep_alive_s=5.0)) as bed:
        yield bed


def command(bed: Bed, out: Path, address: str) -> list[str]:
    """Crawl the bed with two workers."""
    given = ["--wait", str(WAIT), "--per-visit", "5", "--commit-every", "0.3"]
    return command_for(bed, out, *given, "--workers", "2", "--speed", "100 pages/s", "--frontier", address)


def told(out: Path) -> str:
    """What a crawl said."""
    return out.with_suffix(".output").read_text(encoding="utf-8")


@pytest.mark.restarts
def test_crawl__stores_the_same_pages_though_a_worker_is_killed(bed: Bed, tmp_path: Path) -> None:
    """Every page of the web once, politely, with kill -9 of a worker and of all; then all commands answer."""
    out, address = tmp_path / "crawl", database().schema()
    siege = Siege(command(bed, out, address), out.with_suffix(".output"), from_scratch=True)
    try:
        assault(siege, bed, random.Random(7), kills=1, pages=PAGES)
        assert siege.finish(PATIENCE) == 0, told(out)[-2000:]
    finally:
        siege.close()
    check_stored(bed, out)
    check_servers(bed, out, wait=WAIT)
    with managing(out) as managed:
        status = managed.status()
        assert status.lists == {"to_crawl": 0, "being_crawled": 0, "crawled": SITES, "set_aside": 0}
        assert sum(worker.pages for worker in status.workers) == PAGES
    for arguments in (
        ("status", str(out)),
        ("explain", str(out), bed.seeds()[0]),
        ("audit", str(out)),
        ("clean", str(out)),
        ("pause", str(out)),
        ("resume", str(out)),
        ("speed", str(out), "100 pages/s"),
        ("blacklist", str(out), "nobody.example"),
    ):
        done = weft(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    assert "the crawl does not run" in weft("workers", str(out), "3").stderr
    before = len(bed.log())
    again = weft("crawl", "--out", str(out))
    assert again.returncode == 0, again.stderr
    assert "Nothing was left to do" in again.stdout
    assert len(bed.log()) == before, "a crawl that is done fetches nothing when it goes on"


# --- a database that goes away ---


@pytest.fixture(scope="module")
def own() -> Iterator[Database]:
    """A database that may be stopped."""
    server = Database()
    yield server
    server.stop()


def fetched(siege: Siege, bed: Bed, pages: int) -> None:
    """Wait for so many requests."""
    wait_until(lambda: siege.over or len(bed.log()) > pages, "the crawl stands still")
    assert not siege.over, "the crawl was over before"


def test_database__that_is_killed_and_stopped_loses_nothing(bed: Bed, own: Database, tmp_path: Path) -> None:
    """Kill -9 and recovery, a shutdown and a start, while a crawl runs: it says so and goes on."""
    out, away, back = tmp_path / "crawl", "the global frontier does not answer", "the global frontier answers again"
    siege = Siege(command(bed, out, own.schema()), out.with_suffix(".output"))
    try:
        for number, how in enumerate((own.kill, own.stop), 1):
            fetched(siege, bed, PAGES * number // 5)
            how()
            wait_until(lambda number=number: told(out).count(away) >= 2 * number, "not both said so")
            own.start()
            wait_until(lambda number=number: told(out).count(back) >= 2 * number, "not both ask again")
        assert siege.finish(PATIENCE) == 0, told(out)[-2000:]
    finally:
        siege.close()
    check_stored(bed, out)
    check_servers(bed, out, wait=WAIT)


def test_database__that_comes_back_older_is_refused(bed: Bed, own: Database, tmp_path: Path) -> None:
    """A backup from before the last run: nothing is fetched, it is said what to do, and a repair goes on from the
    directory.
    """
    out, address = tmp_path / "crawl", own.schema()
    output = out.with_suffix(".output")
    run_for(Siege(command(bed, out, address), output), bed, PAGES // 4)
    own.stop()
    backup = tmp_path / "backup"
    subprocess.run(["cp", "-a", str(own.folder), str(backup)], check=True)
    own.start()
    run_for(Siege(command(bed, out, address), output), bed, PAGES // 2)
    own.stop()
    subprocess.run(["rm", "-rf", str(own.folder)], check=True)
    subprocess.run(["cp", "-a", str(backup), str(own.folder)], check=True)
    own.start()
    before = len(bed.log())
    refused = weft("crawl", "--out", str(out))
    assert refused.returncode == 1
    assert "it is older than workers/" in refused.stderr
    assert "weft repair" in refused.stderr
    assert len(bed.log()) == before
    repaired = weft("repair", str(out), "--yes")
    assert repaired.returncode == 0, repaired.stderr
    done = weft("crawl", "--out", str(out))
    assert done.returncode == 0, done.stderr
    check_stored(bed, out)


def run_for(siege: Siege, bed: Bed, pages: int) -> None:
    """Let a crawl fetch so many pages and stop it."""
    fetched(siege, bed, pages)
    siege.process.send_signal(signal.SIGINT)
    siege.finish(PATIENCE)


# --- who may do what ---


def test_password__is_in_no_file_that_is_shown_around(bed: Bed, tmp_path: Path) -> None:
    """Not on a command line, where it is refused; not in crawl.toml, in logs or in messages. The role that crawls has
    the grants that `weft cluster init` prints, and no more.
    """
    address = database().schema()
    made = weft("cluster", "init", address)
    assert made.returncode == 0, made.stderr
    assert "applied 0001 tables" in made.stdout
    again = weft("cluster", "init", address)
    assert again.returncode == 2
    assert "there already" in again.stderr
    role = f"crawler_{os.getpid()}"
    with psycopg.connect(database().uri, autocommit=True) as base:
        base.execute(f"create role {role} login".encode())
        for line in made.stdout.splitlines():
            if line.startswith("grant "):
                base.execute(line.replace("ROLE", role).encode())
    full = address.replace("postgres:", f"{role}:open-sesame").replace("postgres@", f"{role}:open-sesame@")
    assert role in full
    assert "open-sesame" in full
    out = tmp_path / "crawl"
    options = ["--workers", "2", "--max-pages", "20"]
    refused = weft(*command_for(bed, out, *options, "--frontier", full)[3:])
    assert refused.returncode == 2
    assert "a password on the command line" in refused.stderr
    assert "open-sesame" not in refused.stderr
    config = tmp_path / "mine.toml"
    config.write_text(f'[running]\nfrontier = "{full}"\n', encoding="utf-8")
    done = weft(*command_for(bed, out, *options, "--config", str(config))[3:])
    assert done.returncode == 0, done.stderr
    assert weft("status", str(out)).returncode == 0
    told_of = {path.name for path in out.rglob("*") if path.is_file() and b"open-sesame" in path.read_bytes()}
    assert told_of == {"secrets.toml"}
    assert (out / "secrets.toml").stat().st_mode & 0o077 == 0
    other = weft(*command_for(bed, tmp_path / "other", *options, "--frontier", address)[3:])
    assert "another crawl is in this schema" in other.stderr
    assert not (tmp_path / "other").exists()
    file = weft(*command_for(bed, out, *options)[3:])
    assert "the global frontier of this crawl is postgresql://" in file.stderr
    assert "open-sesame" not in other.stderr + file.stderr + done.stderr + done.stdout
