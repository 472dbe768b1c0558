"""`weft simulate` as people use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.crawling import crawl, make_web

from weft.graph import Recipe, generate
from weft.graph.files import Stored, load, save
from weft.graph.rank import pagerank
from weft.harvest import build, times_of
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN


def weft(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    command = [sys.executable, "-m", "weft", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small graph on disk."""
    path = tmp_path_factory.mktemp("graphs") / "small"
    made = generate(Recipe(sites=30, pages=1500), 1)
    save(Stored(graph=made, scores=pagerank(made.offsets, made.links)), path)
    return path


def test_simulate__several_orderings_side_by_side(graph: Path, tmp_path: Path) -> None:
    """A summary for each, the same in every run and whatever runs at the same time; and the orders."""
    asked = ("--ordering", "opic,larger-sites-first,random", "--wait", "2", "--order-out", "--json")
    done = weft("simulate", graph, *asked, "--out", tmp_path / "one")
    assert done.returncode == 0, done.stderr
    one = json.loads(done.stdout)["orderings"]
    two = json.loads(weft("simulate", graph, *asked, "--processes", "1", "--out", tmp_path / "two").stdout)["orderings"]
    for name in ("opic", "larger-sites-first", "random"):
        assert {k: v for k, v in one[name].items() if k != "took"} == {
            k: v for k, v in two[name].items() if k != "took"
        }
        order = (tmp_path / "one" / f"order.{name}.txt").read_text()
        assert sorted(map(int, order.split())) == list(range(1500))
        assert order == (tmp_path / "two" / f"order.{name}.txt").read_text()
    assert one["random"]["average"] < one["opic"]["average"]
    assert (tmp_path / "one" / "index.html").exists()


def test_simulate__a_batch_on_a_slow_link(graph: Path, tmp_path: Path) -> None:
    """More pages a visit keep more robots busy: it takes less time (P0, figure 7)."""
    asked = ("--ordering", "length", "--batch", "400", "--connections", "20", "--bandwidth", "20000", "--json")
    took = []
    for pages in ("1", "100"):
        done = weft("simulate", graph, *asked, "--per-visit", pages, "--out", tmp_path / pages)
        assert done.returncode == 0, done.stderr
        length = json.loads(done.stdout)["orderings"]["length"]
        assert length["downloads"] == 400
        took.append(length["time"])
    assert took[1] < took[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--ordering", "best"), "there is no ordering called 'best'"),
        (("--ordering", "opic,opic"), "named twice"),
        (("--ordering", "historical-zero"), "needs the scores of an earlier crawl"),
        (("--ordering", "opic", "--connections", "0"), "connections is 0"),
        (("--ordering", "opic", "--batch", "-1"), "batch of -1"),
        (("--ordering", "omniscient", "--scores", "nowhere.tsv"), "nowhere.tsv"),
    ],
)
def test_simulate__misuse(graph: Path, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    """Has a message, exit code 2, and leaves nothing behind."""
    done = weft("simulate", graph, *arguments, "--out", tmp_path / "report")
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_simulate__no_graph(tmp_path: Path) -> None:
    """Nor where there is none."""
    done = weft("simulate", tmp_path / "none", "--ordering", "opic", "--out", tmp_path / "report")
    assert done.returncode == 2
    assert "none" in done.stderr


def test_simulate__in_the_weather_of_a_crawl(tmp_path: Path) -> None:
    """Every page has the time and size it had; a simulation with them takes about as long as the crawl's downloads."""
    with serving(make_web(PLAIN, sites=10, pages=300)) as bed:
        assert crawl(bed, tmp_path / "crawl").why == "done"
        save(build(tmp_path / "crawl"), tmp_path / "graph")
        stored = load(tmp_path / "graph")
        times = times_of(tmp_path / "crawl", stored)
        assert stored.urls is not None
        sizes = [len(bed.web.body(bed.web.page(stored.urls[page]) or 0)) for page in range(300)]
    assert np.asarray(times.size).astype(int).tolist() == sizes
    assert (times.latency >= 0).all()
    asked = ("--ordering", "breadth-first", "--times", tmp_path / "crawl", "--wait", "0", "--json")
    beside = ("--crawl", tmp_path / "crawl", "--out", tmp_path / "report")
    done = weft("simulate", tmp_path / "graph", *asked, *beside)
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)["orderings"]["breadth-first"]
    live = json.loads(done.stdout)["orderings"]["crawl-crawl"]
    assert live["downloads"] == 300
    assert live["average"] == pytest.approx(measured["average"], abs=0.1)
    total = float((times.latency + times.size / np.repeat(times.speed, np.diff(stored.graph.first_page))).sum())
    assert measured["time"] == pytest.approx(total, rel=1e-3)
