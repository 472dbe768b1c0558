"""Speed control: a target for the whole crawl is held, as the servers see it."""

from __future__ import annotations

import dataclasses
import subprocess
import time
from pathlib import Path

import pytest
from tests.crawling import make_web
from tests.patience import PATIENCE
from tests.siege import command_for, wait_until

from weft.testbed.bed import serving
from weft.testbed.options import PLAIN

WARM, WINDOW = 15.0, 30.0  # seconds
APART = dataclasses.replace(PLAIN, sites_per_address=1)  # else most sites would come to one worker


@pytest.mark.parametrize(
    ("target", "unit", "windows"),
    [
        pytest.param(40, "pages/s", 0, id="40 pages/s, briefly"),
        pytest.param(50, "pages/s", 2, marks=pytest.mark.soak),
        pytest.param(200, "pages/s", 2, marks=pytest.mark.soak),
        pytest.param(800, "pages/s", 2, marks=pytest.mark.soak),
        pytest.param(5_000_000, "bytes/s", 2, marks=pytest.mark.soak),
    ],
)
def test_speed__is_held_within_a_tenth(target: int, unit: str, windows: int, tmp_path: Path) -> None:
    """Two workers; over each 30 s after the first 15 (in short: 8 s after 200 pages) the rate is the target's."""
    warm, window = (WARM, WINDOW) if windows else (0.0, 8.0)
    with serving(make_web(APART, sites=1500, pages=80_000 if windows else 3000, largest=2000)) as bed:
        command = command_for(bed, tmp_path / "crawl", "--wait", "0", "--per-visit", "5", "--workers", "2")
        with (tmp_path / "output.txt").open("wb") as output:
            process = subprocess.Popen([*command, "--speed", f"{target} {unit}"], stdout=output, stderr=output)
            try:
                wait_until(lambda: len(bed.log()) > (10 if windows else 5 * target), "the crawl does not begin")
                began = min(entry.opened for entry in bed.log()) if windows else time.time()
                time.sleep(warm + window * max(windows, 1) + 1.0)
                assert process.poll() is None, "the web is too small"
            finally:
                process.terminate()
                process.wait(PATIENCE)
        pages = [entry for entry in bed.log() if entry.event == "request" and entry.path != "/robots.txt"]
    for number in range(max(windows, 1)):
        first = began + warm + number * window
        seen = [entry for entry in pages if first <= entry.last_byte < first + window]
        rate = (len(seen) if unit == "pages/s" else sum(entry.size for entry in seen)) / window
        print(f"\ntarget {target} {unit}, {first - began:.0f} to {first - began + window:.0f} s: {rate:.1f}")  # noqa: T201
        assert abs(rate / target - 1) <= 0.1
