"""Somebody else's ordering, found by its entry point: it runs in both worlds, and orders alike."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.crawling import make_web, rows
from tests.patience import PATIENCE

from weft.graph.files import Stored, save
from weft.graph.rank import pagerank
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "own_ordering"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """As if the example were installed: its module and what pip writes down about it."""
    place = tmp_path / "installed"
    about = place / "weighted_backlink-1.0.dist-info"
    about.mkdir(parents=True)
    shutil.copy(EXAMPLE / "weighted_backlink.py", place)
    project = (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")
    point = next(line for line in project.splitlines() if "weighted_backlink:" in line).replace('"', "")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: weighted-backlink\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[weft.orderings]\n{point}\n")
    return os.environ | {"PYTHONPATH": str(place)}


def weft(environment: dict[str, str], *arguments: str | Path) -> None:
    """Run a command."""
    command = [sys.executable, "-m", "weft", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr


def test_own_ordering__simulated_and_live(tmp_path: Path, environment: dict[str, str]) -> None:
    """By its name, with no other word about it anywhere."""
    with serving(make_web(PLAIN, sites=20, pages=800)) as bed:
        graph = bed.web.graph
        save(Stored(graph=graph, scores=pagerank(graph.offsets, graph.links)), tmp_path / "graph")
        wanted = ("--ordering", "weighted-backlink")
        weft(
            environment,
            "simulate",
            tmp_path / "graph",
            *wanted,
            "--wait",
            "0",
            "--order-out",
            "--out",
            tmp_path / "report",
        )
        simulated = [int(line) for line in (tmp_path / "report" / "order.weighted-backlink.txt").read_text().split()]
        out = tmp_path / "crawl"
        reach = ("--dns", bed.dns, "--allow-address", "127.0.0.0/8", "--scope", "all", "--robots", "ignore")
        terms = ("--connections", "1", "--per-visit", "1", "--wait", "0", "--workers", "1", "--max-depth", "1000")
        weft(environment, "crawl", *bed.seeds(), "--out", out, *wanted, *reach, *terms)
        live = [bed.web.page(url) for (url,) in rows(out, "url", "final order by fetched_at")]
    assert len(simulated) == 800
    assert live == simulated
