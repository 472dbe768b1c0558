"""A crawl on several machines: nodes join, leave, die, come back or do not, and the web is fetched once, politely."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster_of_nodes import (
    Node,
    begin,
    begun,
    check_together,
    confined,
    fetched,
    final_rows,
    kept_of,
    nodes,
    pause,
    rows_in_files,
    standing,
    together,
)
from tests.commands import completed
from tests.crawling import make_web
from tests.database import database
from tests.patience import PATIENCE
from tests.siege import Siege, command_for, wait_until

from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.serve import ServerSettings

WAIT = 0.1
APART = replace(PLAIN, sites_per_address=1)
SITES, PAGES, LARGEST = 40, 500, 40
GIVEN = ("--wait", str(WAIT), "--per-visit", "5", "--commit-every", "0.3", "--speed", "60 pages/s")


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A web of some dozens of sites."""
    with serving(make_web(APART, sites=SITES, pages=PAGES, largest=LARGEST), ServerSettings(keep_alive_s=5.0)) as bed:
        yield bed


def has_pages(address: str, node: Node) -> bool:
    """Did a node tell of pages?"""
    return standing(address)[node.number].pages > 0


def test_confinement__keeps_a_node_out_of_the_directories_of_others(tmp_path: Path) -> None:
    """What the tests below rely on: to read another node's file is an error, whoever does it."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    for how in ("open('other/file')", "__import__('os').listdir('other/')", "__import__('os').mkdir('other/new')"):
        command = [sys.executable, "-c", how]
        done = subprocess.run(
            command, env=confined([tmp_path / "other"]), cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert "this belongs to another node" in done.stderr, how


def test_nodes__share_a_crawl_until_it_is_done(bed: Bed, tmp_path: Path) -> None:
    """Two machines, neither of which reads the other's files: both have a part, together they have all, and both leave
    with nothing in their hands.
    """
    address = database().schema()
    begun(bed, tmp_path, address, *GIVEN)
    with nodes([address] * 2, tmp_path, "--workers", "2") as (first, second):
        together(address, first, second)
        for node in (first, second):
            node.ends()
    check_together(bed, [first.out, second.out], wait=WAIT)
    assert all(final_rows(node.out) for node in (first, second)), "both had a part"
    stood = standing(address)
    assert [(each.number, each.left is not None, each.groups) for each in stood] == [(0, True, 0), (1, True, 0)]
    assert sum(each.pages for each in stood) == PAGES


def test_node__that_leaves_hands_over_to_the_others(bed: Bed, tmp_path: Path) -> None:
    """One command begins a crawl and is its first node, another one joins. SIGTERM in the middle of it: the first ends
    well, and the other finishes what it held.
    """
    address, out = database().schema(), tmp_path / "first"
    slowly = (*GIVEN[:-1], "10 pages/s")  # until the second one is there
    first = Siege(command_for(bed, out, *slowly, "--workers", "1", "--frontier", address), out.with_suffix(".output"))
    try:
        fetched(bed, 10, first)
        pause(address, paused=True)
        with nodes([address] * 1, tmp_path, "--workers", "1") as (second,):
            together(address, second, already=1)
            fetched(bed, 50, first, second)
            assert completed("speed", address, "none").returncode == 0
            first.process.send_signal(signal.SIGTERM)
            told = out.with_suffix(".output")
            assert first.finish(PATIENCE) == 0, told.read_text(encoding="utf-8")
            assert "has left the crawl" in told.read_text(encoding="utf-8")
            second.ends()
    finally:
        first.close()
    check_together(bed, [out, second.out], wait=WAIT)
    assert [each.state for each in standing(address)] == ["left", "left"]


@pytest.mark.restarts
def test_node__that_comes_back_in_time_goes_on_from_its_log(bed: Bed, tmp_path: Path) -> None:
    """Kill -9 of all its processes: its groups wait, and nothing that it fetched is fetched by others."""
    address = database().schema()
    begun(bed, tmp_path, address, *GIVEN)
    with nodes([address] * 2, tmp_path, "--workers", "1") as (first, second):
        together(address, first, second)
        fetched(bed, PAGES // 4, first, second)
        first.stop()
        assert standing(address)[first.number].groups > 0
        first.start()
        for node in (first, second):
            node.ends()
    check_together(bed, [first.out, second.out], wait=WAIT)
    assert [each.state for each in standing(address)] == ["left", "left"], "none was lost"
    assert not list(tmp_path.rglob("superseded.log"))


# A lease of ten seconds, after which a page may be under way for two. A shorter one would fail on a slow machine.
IMPATIENT = ("--hung-after", "20", "--node-lost-after", "21", "--timeout", "2", "--crawl-delay-most", "1")


@pytest.mark.parametrize("every", ["2", "1000"])
def test_node__that_is_lost_is_replaced_and_what_it_fetched_since_is_superseded(
    bed: Bed, tmp_path: Path, every: str
) -> None:
    """Its groups go on from the last parcels of them, or from the beginning where there are none. When it comes back
    its rows since then count in no result, and it joins as a new node; every page is there once.
    """
    address = database().schema()
    begun(bed, tmp_path, address, *GIVEN, *IMPATIENT, "--parcel-every", every)
    with nodes([address] * 2, tmp_path, "--workers", "1") as (first, second):
        together(address, first, second)
        fetched(bed, PAGES // 4, first, second)
        if every == "2":
            pause(address, paused=True)  # a machine may need longer for a round than for the rest of the crawl
            wait_until(lambda: kept_of(address) == 2, "nothing is kept")
            pause(address, paused=False)
        fetched(bed, PAGES // 3, first, second)
        wait_until(lambda: first.over or second.over or has_pages(address, first), "the first has nothing to do")
        first.stop()
        number = first.number
        second.ends()
        assert "counts as lost" in second.told()
        assert standing(address)[number].state == "lost"
        before = len(bed.log())
        first.start()
        first.ends()
        assert len(bed.log()) == before, "nothing is left to be fetched"
    assert "marked as superseded" in first.told()
    check_together(bed, [first.out, second.out], wait=WAIT)
    stood = standing(address)
    assert [each.state for each in stood if each.number != number] == ["left", "left"]
    assert sum(each.pages for each in stood) == PAGES, "superseded pages are not counted"
    if every == "1000":
        assert rows_in_files(first.out) > 0
        assert final_rows(first.out) == []
    asked = completed("query", str(first.out), "select count(*) from pages where final and kind <> 'robots'", "--csv")
    assert asked.stdout.split() == ["count_star()", str(len(final_rows(first.out)))], asked.stderr
    for arguments in (("audit",), ("status",)):
        done = completed(*arguments, str(first.out))
        assert done.returncode == 0, (done.stdout, done.stderr)


def test_node__that_was_frozen_sends_nothing_when_it_wakes(bed: Bed, tmp_path: Path) -> None:
    """SIGSTOP until others have its groups, as a machine that sleeps: it finds out before its first request."""
    address = database().schema()
    begun(bed, tmp_path, address, *GIVEN, *IMPATIENT)
    with nodes([address] * 2, tmp_path, "--workers", "1") as (first, second):
        together(address, first, second)
        fetched(bed, PAGES // 4, first, second)
        with first.frozen():
            second.ends()
            before = len(bed.log())
        first.ends(1)
        assert "others have its groups by now" in first.told()
        assert len(bed.log()) == before
    check_together(bed, [second.out], wait=WAIT)


def test_commands__take_the_address_of_a_crawl(bed: Bed, tmp_path: Path) -> None:
    """Pause, speed, status … for all nodes at once, from anywhere; a node is asked to leave by its number."""
    address = database().schema()
    begun(bed, tmp_path, address, *GIVEN)
    with nodes([address] * 3, tmp_path, "--workers", "1") as running:
        begin(address, *running)
        assert not [entry for entry in bed.log() if entry.event == "request"]
        shown = completed("status", address)
        assert "running, paused" in shown.stdout, shown.stderr
        assert shown.stdout.count(" alive ") == 6, "three workers of three nodes"
        assert completed("workers", address).stdout.count("node ") == 3
        assert "each node has workers of its own" in completed("workers", address, "2").stderr
        for arguments in (("pause",), ("speed", "30 pages/s"), ("blacklist", "nobody.example"), ("resume",)):
            done = completed(arguments[0], address, *arguments[1:])
            assert done.returncode == 0, done.stderr
        fetched(bed, PAGES // 10, *running)
        assert completed("node", "stop", address, "--node", "2").returncode == 0
        wait_until(lambda: sum(node.over for node in running) >= 1, "it does not leave")
        assert completed("add", address, bed.seeds()[0]).returncode == 0
        for node in running:
            node.ends()
    check_together(bed, [node.out for node in running], wait=WAIT)
    assert "there is no node 2 that could leave" in completed("node", "stop", address, "--node", "2").stderr
    assert "they are where its nodes are" in completed("query", address, "select 1").stderr
