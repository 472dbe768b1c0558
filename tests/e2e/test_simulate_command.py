"""`weft simulate` as people use it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.commands import completed
from tests.crawling import crawl, make_web

from weft.errors import UsageError
from weft.frontier.oracle import Oracle
from weft.graph import Graph, Recipe, generate
from weft.graph.files import Stored, load, save
from weft.graph.rank import pagerank
from weft.harvest import build, times_of
from weft.ordering import ordering_named, ordering_names
from weft.sim.run import Conditions, Scores, Simulation
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN


def weft(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    return completed(*arguments)


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


def test_simulate__all_says_what_it_leaves_out(graph: Path, tmp_path: Path) -> None:
    """Orderings that need scores of an earlier crawl are named, with the option that gives them, wherever one looks."""
    needing = [name for name in ordering_names() if "old" in ordering_named(name).needs]
    assert needing
    done = weft("simulate", graph, "--ordering", "all", "--most-pages", "50", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert sorted([*summary["orderings"], *needing]) == ordering_names()
    assert sorted(summary["about"]["left_out"]) == sorted(needing)
    for text in (
        " ".join(done.stdout.split()),
        " ".join(summary["warnings"]),
        (tmp_path / "out/index.html").read_text(),
    ):
        assert all(name in text for name in [*needing, "--scores"])
    told = [f"{page}\t{0.5 / (page + 1)}\n" for page in range(1500)]
    (tmp_path / "scores.tsv").write_text("".join(told))
    asked = ("--ordering", "all", "--most-pages", "50", "--json", "--scores", tmp_path / "scores.tsv")
    done = weft("simulate", graph, *asked, "--out", tmp_path / "all")
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(done.stdout)["orderings"]) == ordering_names()
    assert json.loads(done.stdout)["warnings"] == []


def test_simulate__speed_ups_for_lists_of_terms(graph: Path, tmp_path: Path) -> None:
    """Table 1 of P0 over the same pages, with T* and intervals, on the screen and for programs; none is above r."""
    asked = ("--ordering", "length", "--connections", "4,16", "--bandwidth", "2MB,20kB", "--per-visit", "1,10")
    more = ("--most-pages", "300", "--repeats", "2", "--order-out", "--out", tmp_path / "out")
    done = weft("simulate", graph, *asked, *more)
    assert done.returncode == 0, done.stderr
    assert "Speed-ups of length, k = 10" in done.stdout
    assert re.search(r"bandwidth +T\* +r = 1 +r = 4 +r = 16", done.stdout)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    rows = summary["speed_ups"]
    assert [(row["connections"], row["bandwidth"], row["per_visit"]) for row in rows] == [
        (r, link, k) for r in (1, 4, 16) for link in (2e6, 2e4) for k in (1, 10)
    ]
    for row in rows:
        assert row["least_time"] <= row["time"]
        assert len(row["interval"]["values"]) == 2
        assert all(0 < each <= row["connections"] + 1e-9 for each in row["interval"]["values"])
    orders = list((tmp_path / "out").glob("order.*.txt"))
    assert len(orders) == len(rows)
    assert len({frozenset(path.read_text().split()) for path in orders}) == 1


def test_simulate__repeats_only_where_chance_is(graph: Path, tmp_path: Path) -> None:
    """And says of the others that nothing is left to it."""
    done = weft(
        "simulate",
        graph,
        "--ordering",
        "random,opic",
        "--repeats",
        "3",
        "--most-pages",
        "300",
        "--out",
        tmp_path / "out",
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert found["orderings"]["random"]["repeats"]["seeds"] == [1, 2, 3]
    assert "repeats" not in found["orderings"]["opic"]
    assert "±" in done.stdout
    assert "nothing in them is left to chance: opic." in " ".join(done.stdout.split())


def test_simulate__says_that_it_compiles(graph: Path, tmp_path: Path) -> None:
    """A user of a fresh installation waits for a minute, and is told what for before it begins."""
    asked = ("simulate", str(graph), "--ordering", "opic", "--out", str(tmp_path / "report"))
    command = [sys.executable, "-m", "weft", *asked]
    fresh = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=fresh, start_new_session=True) as running:
        try:
            assert running.stderr is not None
            assert "compiling" in running.stderr.readline()
        finally:
            os.killpg(running.pid, signal.SIGKILL)
    assert "compiling" not in weft(*asked).stderr


def test_messages__name_options_that_there_are() -> None:
    """What an ordering asks for, in a simulation and in a crawl, can be given by the option that it names."""
    made = Graph.from_links([2, 1], [(0, 1), (0, 2), (1, 0)], parent=[-1, 0, -1])
    said: dict[str, list[str]] = {"simulate": [], "crawl": []}
    for name in ordering_names():
        ordering = ordering_named(name)
        for scores in (Scores(), Scores(old=np.ones(3)), Scores(true=np.ones(3))):
            try:
                Simulation(made, ordering, Conditions(), scores)
            except UsageError as error:
                said["simulate"].append(str(error))
        try:
            Oracle().check(name, ordering.needs)
        except UsageError as error:
            said["crawl"].append(str(error))
    for command, messages in said.items():
        there = set(re.findall(r"--[a-z][a-z-]*", weft(command, "--help").stdout))
        named = {
            option for message in messages for option in re.findall(r"--[a-z][a-z-]*", re.sub("`.*?`", "", message))
        }
        assert named
        assert named <= there


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
        (("--ordering", "opic", "--connections", "0"), "--connections cannot be 0"),
        (("--ordering", "opic", "--connections", "1,64,1"), "--connections cannot be '1,64,1'"),
        (("--ordering", "opic", "--bandwidth", "2MB,fast"), "--bandwidth cannot be 'fast'"),
        (("--continuous", "--per-visit", "1,2"), "--per-visit has several values"),
        (("--ordering", "opic", "--batch", "-1"), "--batch cannot be -1"),
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
