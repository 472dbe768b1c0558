"""A half-done crawl goes on with a weft whose formats were raised: on one machine, and on several. The next weft is
this one with every format raised by one (`tests/raised`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster_of_nodes import Node, begun, check_together, fetched, nodes, pause, together
from tests.commands import completed
from tests.crawling import make_web
from tests.database import database
from tests.patience import PATIENCE
from tests.serverside import check_polite, visits_of
from tests.siege import Siege, check_stored, command_for, wait_until

from weft.directory import FORMAT
from weft.manage import managing
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.serve import ServerSettings

RAISED = Path(__file__).parents[1] / "raised"
WAIT = 0.1
GIVEN = ("--wait", str(WAIT), "--per-visit", "5", "--speed", "60 pages/s", "--checkpoint-bytes", "2 kB")


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A web of some dozens of sites, each with an address of its own."""
    web = make_web(replace(PLAIN, sites_per_address=1), sites=40, pages=500, largest=40)
    with serving(web, ServerSettings(keep_alive_s=5.0)) as bed:
        yield bed


def raised(environment: dict[str, str]) -> dict[str, str]:
    """An environment in which every Python is the next weft."""
    before = environment.get("PYTHONPATH")
    return environment | {"PYTHONPATH": os.pathsep.join([str(RAISED), *([before] if before else [])])}


def next_weft(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Give a command to the next weft."""
    return subprocess.run(
        [sys.executable, "-m", "weft", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=raised(dict(os.environ)),
    )


def test_crawl__that_was_killed_half_way_goes_on_with_the_next_version(bed: Bed, tmp_path: Path) -> None:
    """Its logs and checkpoints are brought to the next format, nothing is lost or fetched twice for that, and today's
    version says that it can no longer go on.
    """
    out = tmp_path / "crawl"
    command = command_for(bed, out, *GIVEN, "--workers", "2")
    siege = Siege(command, tmp_path / "output")
    try:
        fetched(bed, 200, siege)
        with managing(out) as crawl:
            crawl.pause()
        wait_until(lambda: bool(list(out.glob("workers/*/frontier-*.checkpoint"))), "there is no checkpoint")
        with managing(out) as crawl:
            crawl.resume()
        fetched(bed, 210, siege)
    finally:
        siege.stop()
        siege.close()
    done = next_weft(*command[3:])
    assert done.returncode == 0, done.stderr
    assert f"in format {FORMAT}: it has format {FORMAT + 1} now" in done.stdout + done.stderr
    check_stored(bed, out)
    check_polite(visits_of(bed.log()), wait=WAIT)
    audit = next_weft("audit", str(out))
    assert audit.returncode == 0, audit.stdout
    done = completed(*command[3:])
    assert done.returncode == 2
    assert f"(format {FORMAT + 1}), and this version reads format {FORMAT}" in done.stderr


def test_cluster__is_upgraded_while_it_runs(bed: Bed, tmp_path: Path) -> None:
    """Its nodes are told to end; what they hold, and what lies in the database, is taken over by nodes of the next
    version. One of today's version cannot join any more, and one of the next could not before.
    """
    address = database().schema()
    begun(bed, tmp_path, address, *GIVEN)
    with nodes([address] * 2, tmp_path, "--workers", "2") as running:
        together(address, *running)
        fetched(bed, 150, *running)
        pause(address, paused=True)  # it would be over before the commands below are
        early = next_weft("node", "start", address, "--out", str(tmp_path / "early"))
        assert early.returncode != 0
        assert "weft cluster upgrade 'postgresql://" in early.stderr, early.stderr
        done = next_weft("cluster", "upgrade", address)
        assert done.returncode == 0, done.stderr
        for node in running:
            node.ends()
        assert len(bed.log()) < 500, "it was over before"
        late = completed("node", "start", address, "--out", str(tmp_path / "late"))
        assert late.returncode != 0
        assert "later version of weft" in late.stderr, late.stderr
        assert next_weft("resume", address).returncode == 0
        for node in running:
            _raise(node)
        for node in running:
            node.ends()
    check_together(bed, [node.out for node in running], wait=WAIT)
    assert all(f"it has format {FORMAT + 1} now" in node.told() for node in running)


def _raise(node: Node) -> None:
    """Give the command of a node again, to the next version."""
    node._output = output = (node.root / "output").open("ab")
    node.process = subprocess.Popen(
        node._command, stdout=output, stderr=output, cwd=node.root, env=raised(node._environment)
    )
