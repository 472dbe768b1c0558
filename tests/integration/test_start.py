"""What starting and ending a crawl takes: the watchdog loads nothing that only workers need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crawling import make_web

from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

HEAVY = ("numba", "llvmlite", "numpy", "pyarrow", "pandas", "pycurl", "uvloop", "pycares", "duckdb", "zstandard")

# Runs the command and says at the end what its process has loaded.
RUN = """
import atexit, json, sys
from pathlib import Path
told = Path(sys.argv.pop(1))
atexit.register(lambda: told.write_text(json.dumps(sorted(sys.modules))))
from weft.cli import main
main()
"""


@pytest.fixture(scope="module")
def one_site() -> Iterator[Bed]:
    """A web of one site with a few pages."""
    with serving(make_web(PLAIN, sites=1, pages=4, largest=4)) as bed:
        yield bed


def weft(told: Path, *arguments: str) -> tuple[str, set[str]]:
    """Run a command; what it printed, and the libraries that its process has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(told), *arguments], check=False, capture_output=True, text=True, input=""
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, {name.partition(".")[0] for name in json.loads(told.read_text())}


def test_watchdog__loads_nothing_that_only_workers_need(one_site: Bed, tmp_path: Path) -> None:
    """A crawl from its command to its summary, and the same once more, when everything is there already."""
    command = ["crawl", one_site.seeds()[0], "--out", str(tmp_path / "crawl"), "--json", "--wait", "0"]
    command += ["--dns", one_site.dns, "--allow-address", "127.0.0.0/8", "--contact", "https://me.example/"]
    for _ in range(2):
        printed, loaded = weft(tmp_path / "modules", *command)
        assert json.loads(printed)["counts"]["pages"] > 0
        assert loaded & set(HEAVY) <= {"pycares"}  # by which --dns is looked at


@pytest.mark.parametrize("command", [("--help",), ("crawl", "--help"), ("url", "normalize")])
def test_light_commands__load_nothing_heavy(command: tuple[str, ...], tmp_path: Path) -> None:
    """What only shows help or looks at a URL is there at once."""
    _, loaded = weft(tmp_path / "modules", *command)
    assert not loaded & set(HEAVY)
