"""`weft graph` as a person uses it: made, ranked, described, served; and refused with nothing left behind."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
from tests.commands import completed

from weft.graph import Recipe, generate
from weft.graph.files import load


def weft(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    with mock.patch.dict(os.environ, {"COLUMNS": "300"}):
        return completed(*arguments)


def test_graph__import_rank_describe(tmp_path: Path) -> None:
    """From files to figures; pages that no seed reaches are told."""
    pages, links, out = tmp_path / "pages.gz", tmp_path / "links", tmp_path / "graph"
    pages.write_bytes(gzip.compress(b"7\thttp://a.test/\n5\thttp://a.test/x\n9\thttp://b.test/\n3\thttp://b.test/y\n"))
    links.write_text("7\t5\n5\t9\n5\t7\n3\t7\n")
    done = weft("graph", "import", pages, links, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "2 sites, 3 pages, 3 links" in done.stdout
    assert "1 of 4 pages cannot be reached" in done.stderr
    assert "PageRank is not known" in weft("graph", "describe", out).stdout
    done = weft("graph", "rank", out, "--out", tmp_path / "scores.parquet", "--json")
    assert json.loads(done.stdout)["highest_id"] == 5
    rows = pq.read_table(tmp_path / "scores.parquet").to_pylist()
    assert [(row["id"], row["url"]) for row in rows] == [
        (7, "http://a.test/"),
        (5, "http://a.test/x"),
        (9, "http://b.test/"),
    ]
    assert sum(row["score"] for row in rows) == 1.0
    told = json.loads(weft("graph", "describe", out, "--json").stdout)
    assert told["figures"]["site_sizes"] == [{"least": 1, "most": 1, "many": 1}, {"least": 2, "most": 3, "many": 1}]
    assert told["about"]["dropped"]["unreached"] == 1


def test_graph__an_edge_list_alone_is_enough(tmp_path: Path) -> None:
    """As it comes from the SNAP collection; and --pages-per-site says how large its made-up sites are."""
    edges, out = tmp_path / "web.txt.gz", tmp_path / "graph"
    edges.write_bytes(gzip.compress(b"# Nodes: 4 Edges: 4\n# FromNodeId\tToNodeId\n1\t2\n2\t30\n30\t4\n4\t1\n"))
    done = weft("graph", "import", edges, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "1 sites, 4 pages, 4 links" in done.stdout
    done = weft("graph", "import", edges, "--pages-per-site", "2", "--out", out, "--json")
    told = json.loads(done.stdout)
    assert (told["sites"], told["pages"], told["seeds"]) == (2, 4, 2)
    pages = tmp_path / "pages"
    pages.write_text("http://a.test/\n")
    done = weft("graph", "import", pages, edges, "--pages-per-site", "2", "--out", out)
    assert done.returncode == 2
    assert "--pages-per-site" in done.stderr


def test_graph__pages_without_a_usable_url_are_left_out_unless_strict(tmp_path: Path) -> None:
    """With a warning that names them; --strict refuses the first."""
    pages, links, out = tmp_path / "pages", tmp_path / "links", tmp_path / "graph"
    pages.write_text("http://a.test/\nmailto:me@a.test\nhttp://b.test/\n")
    links.write_text("0\t1\n0\t2\n")
    done = weft("graph", "import", pages, links, "--strict", "--out", out)
    assert done.returncode == 2
    assert f"{pages}, line 2" in done.stderr
    done = weft("graph", "import", pages, links, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "1 pages" in done.stderr
    assert "mailto:me@a.test" in done.stderr
    assert "2 sites, 2 pages, 1 links" in done.stdout


def test_graph__bad_input_leaves_nothing_behind(tmp_path: Path) -> None:
    """Exit code 2, file and line, and no directory; a graph that was there stays."""
    pages, links, out = tmp_path / "pages", tmp_path / "links", tmp_path / "graph"
    pages.write_text("http://a.test/\nhttp://b.test/\n")
    links.write_text("0\t1\n1\t2\n")
    done = weft("graph", "import", pages, links, "--out", out)
    assert done.returncode == 2
    assert f"{links}, line 2" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "pages"]
    for command in (["describe"], ["rank"]):
        done = weft("graph", *command, tmp_path)
        assert done.returncode == 2
        assert "there is no graph here" in done.stderr
    assert "no earlier graph" in weft("graph", "import", pages, links, "--out", tmp_path).stderr
    assert "no earlier graph" in weft("graph", "generate", "--out", tmp_path).stderr


def test_graph__generated_is_what_the_testbed_serves(tmp_path: Path) -> None:
    """The same recipe and seed, from the directory or made again: the same pages at the same addresses."""
    out, scores = tmp_path / "graph", tmp_path / "scores.parquet"
    shape = ["--sites", "8", "--pages", "120"]
    done = weft("graph", "generate", *shape, "--seed", "3", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pages"] == 120
    stored, made = load(out), generate(Recipe(sites=8, pages=120), 3)
    assert np.array_equal(stored.graph.links, made.links)
    assert stored.scores is not None
    assert stored.old_scores is not None
    assert stored.about["recipe"]["sites"] == 8
    again = weft("testbed", "list", "--plain", "--all", *shape, "--seed", "3")
    served = weft("testbed", "list", "--plain", "--all", "--graph", out)
    assert served.returncode == 0, served.stderr
    assert served.stdout == again.stdout
    assert weft("graph", "rank", out, "--out", scores, "--port", "8080").returncode == 0
    assert pq.read_table(scores).column("url").to_pylist() == served.stdout.split()
    refused = weft("testbed", "list", "--graph", out, "--sites", "9")
    assert refused.returncode == 2
    assert "--sites cannot be given with --graph" in refused.stderr
    assert weft("graph", "generate", *shape, "--no-snapshots", "--out", out).returncode == 0
    assert load(out).old_scores is None


def test_graph__imported_is_not_served(tmp_path: Path) -> None:
    """Only a generated graph has the hierarchy that the testbed makes addresses from."""
    (tmp_path / "pages").write_text("http://a.test/\n")
    (tmp_path / "links").write_text("")
    assert weft("graph", "import", tmp_path / "pages", tmp_path / "links", "--out", tmp_path / "graph").returncode == 0
    refused = weft("testbed", "list", "--graph", tmp_path / "graph")
    assert refused.returncode == 2
    assert "was not generated" in refused.stderr
