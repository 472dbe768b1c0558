"""Ordinary crawls with several workers, beside other work on the same machine: no worker dies, nothing fails inside, no
rule is broken. Recovery would hide all of these.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crawling import make_web
from tests.siege import Siege, wait_until

from weft.audit import audit_crawl
from weft.manage import managing
from weft.testbed.bed import Bed, serving
from weft.testbed.options import Options

BUSY = 4  # processes that do nothing but that
APART = 2.0  # seconds between the starts of two workers
PROFILES = [(), ("--profile", "country")]


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """The testbed as anybody would serve it: four sites to an address, failing pages, redirects, robots.txt."""
    with serving(make_web(Options(), sites=2000, pages=50_000, largest=2000)) as bed:
        yield bed


@pytest.fixture
def load() -> Iterator[None]:
    """Other work on the machine."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("load")
@pytest.mark.parametrize("run", range(10))
def test_workers__do_their_part_beside_load(bed: Bed, tmp_path: Path, run: int) -> None:
    """Four workers that start seconds apart, for three minutes: groups go from one to another, and nothing breaks."""
    out, output = tmp_path / "crawl", tmp_path / "output.txt"
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("\n".join(bed.seeds()), encoding="utf-8")
    command = [sys.executable, "-m", "weft", "crawl", "--seeds", str(seeds), "--out", str(out), "--scope", "all"]
    command += ["--dns", bed.dns, "--allow-address", "127.0.0.0/8", "--workers", "4", "--json", "--max-time", "180"]
    siege = Siege([*command, *PROFILES[run % 2]], output, from_scratch=True)
    try:
        wait_until(lambda: len(siege.workers()) == 4, "no workers")
        later = siege.workers()[1:]
        for pid in later:
            os.kill(pid, signal.SIGSTOP)
        for pid in later:
            time.sleep(APART)
            os.kill(pid, signal.SIGCONT)
        wait_until(lambda: siege.over, "the crawl does not end")
        assert siege.finish(1) == 0, output.read_text(encoding="utf-8")
    finally:
        siege.close()
    summary = json.loads(output.read_text(encoding="utf-8").splitlines()[-1])
    with managing(out) as managed:
        status = managed.status()
    pages, moved = summary["counts"]["pages"], status.moved
    print(f"\n{' '.join(PROFILES[run % 2]) or 'default'}: {pages} pages, {moved} groups moved, why: {summary['why']}")  # noqa: T201
    assert (summary["restarted"], summary["counts"]["faults"]) == (0, 0)
    assert moved >= 100, "too few groups went to another worker to show anything"
    assert audit_crawl(out).ok
