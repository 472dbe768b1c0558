"""What starting and ending a crawl takes: the watchdog loads nothing that only workers need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crawling import make_web

from weft import app
from weft.config import Settings
from weft.directory import Plan
from weft.frontier.shared.opening import create_frontier, open_frontier
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


@pytest.mark.parametrize(
    ("scope", "seeds", "enough"),
    [
        ("site", ["http://a.example/", "http://www.a.example/"], 1),  # one group
        ("list", ["http://a.example/", "http://b.example/"], 2),
        ("domain", [f"http://{letter}.example/" for letter in "abcdef"], 4),
        ("all", ["http://a.example/"], 4),  # links lead anywhere
    ],
)
def test_workers__no_more_than_there_are_groups_for(
    scope: str, seeds: list[str], enough: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group has one worker: a second one would have nothing to do, ever, where the scope lets no others in."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    settings = Settings().with_values({"scope": scope}, where="here")
    create_frontier(tmp_path, by_size=False, seeds=seeds)
    shared = open_frontier(tmp_path)
    try:
        assert app._enough(Plan(seeds=seeds, out=tmp_path, settings=settings), shared) == enough
    finally:
        shared.close()


LOADED = "import sys; {}; print(*(name for name in {!r} if name in sys.modules))"


@pytest.mark.parametrize(
    ("does", "not_loaded"),
    [
        ("from weft.parse.tags import read_tags; read_tags(b'<a href=x>')", ("numba.np.linalg",)),
        (
            "import pyarrow; from weft.store.columns import without_pandas; without_pandas(); pyarrow.array([1])",
            ("pandas",),
        ),
    ],
)
def test_workers__load_neither_the_compiler_nor_pandas(does: str, not_loaded: tuple[str, ...]) -> None:
    """What is cached is loaded without readying numba's compiler; Arrow is kept from looking for pandas."""
    for _ in range(2):  # the first time there may be something to compile
        done = subprocess.run(
            [sys.executable, "-c", LOADED.format(does, not_loaded)], check=True, capture_output=True, text=True
        )
    assert done.stdout.split() == []
