"""Real graphs in odd formats."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from weft.errors import UsageError
from weft.reproduce import real


def put(data: Path, file: str, text: str) -> Path:
    """Write a packed file of a data set."""
    path = data / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))
    return path


CALIFORNIA = (
    "n 0 http://a.test/\nn 1 http://a.test/x/\nn 2 http://b.test/y\nn 3 http://b.test/z/z\ne 0 1\ne 0 2\ne 1 1\n"
)


def test_california__sites_are_hosts_and_unreached_pages_are_left_out(tmp_path: Path) -> None:
    """The home page is the one of the shortest path; nobody links to the page z."""
    put(tmp_path, "graph-california/gr0.California.gz", CALIFORNIA)
    found = real.read(tmp_path, "california")
    assert (found.graph.sites, found.graph.pages, found.unreached, found.guessed) == (2, 3, 1, False)
    assert found.graph.links_of(0).tolist() == [1, 2]
    assert found.graph.seeds.tolist() == [0, 2]


def test_hollins__has_a_head_then_pages_then_links(tmp_path: Path) -> None:
    """Ids count from 1, and URLs may end in a blank."""
    text = "3 2 1\n1 http://a.test/ \n2 http://a.test/b \n3 http://a.test/c \n1 2\n2 3\n"
    put(tmp_path, "graph-hollins/hollins.dat.gz", text)
    found = real.read(tmp_path, "hollins")
    assert (found.graph.sites, found.graph.pages, len(found.graph.links)) == (1, 3, 2)


def test_ics__has_nodes_below_a_header_and_edges_beside(tmp_path: Path) -> None:
    """Tabs separate, further columns do not matter."""
    put(tmp_path, "graph-ics-analyst/nodes.tsv.gz", "id\turl\thost\n0\thttp://a.test/\ta\n1\thttp://b.test/\tb\n")
    put(tmp_path, "graph-ics-analyst/edges.tsv.gz", "0\t1\n")
    found = real.read(tmp_path, "ics")
    assert (found.graph.sites, found.graph.pages) == (2, 2)


def test_cars__titles_that_look_like_a_head_are_titles(tmp_path: Path) -> None:
    """A block is a head, a URL, a title, degrees and an empty line."""
    nodes = "2\n\n0 (0) [R]\nhttp://a.test\n7 (7) [R]\n0 1\n\n1 (5) [I]\nhttp://b.test\nB\n1 0\n"
    put(tmp_path, "graph-topic-cars/nodes.gz", nodes)
    put(tmp_path, "graph-topic-cars/adj_list.gz", "0: 1 -1\n1: -1\n")
    found = real.read(tmp_path, "cars")
    assert (found.graph.sites, found.graph.pages, found.graph.links.tolist()) == (2, 2, [1])


def test_uk__sites_are_guessed(tmp_path: Path) -> None:
    """A line is a page's links, an empty one has none; pages that no short link joins are sites of their own."""
    put(tmp_path, "graph-uk2007-100k/successors.txt.gz", "1\n0 1\n3\n\n")
    found = real.read(tmp_path, "uk-2007")
    assert found.guessed
    assert (found.graph.sites, found.graph.pages, found.unreached) == (2, 4, 0)
    assert found.graph.links.tolist() == [1, 0, 3]  # a page's link to itself is no link


def test_guess__long_links_join_nothing() -> None:
    """Links longer than the limit say nothing about sites."""
    source, target = np.array([0, 0, 3]), np.array([1, 3, 4])
    assert real.guess_sites(source, target, 5, longest=2).tolist() == [0, 0, 1, 2, 2]
    assert real.guess_sites(source, target, 5, longest=3).tolist() == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("name", "file", "text", "said"),
    [
        ("california", "graph-california/gr0.California.gz", "n 0 http://a.test/\nx\n", "line 2"),
        ("california", "graph-california/gr0.California.gz", "n 0 http://a.test/\ne 0 9\n", "not listed"),
        ("hollins", "graph-hollins/hollins.dat.gz", "1 1 1\n1 http://a.test/\n1 b\n", "line 3"),
        ("uk-2007", "graph-uk2007-100k/successors.txt.gz", "1\n7\n", "line 2"),
        ("uk-2007", "graph-uk2007-100k/successors.txt.gz", "1 x\n\n", "line 1"),
    ],
)
def test_bad_input__names_file_and_line(tmp_path: Path, name: str, file: str, text: str, said: str) -> None:
    """What is wrong can be found."""
    path = put(tmp_path, file, text)
    with pytest.raises(UsageError) as raised:
        real.read(tmp_path, name)
    assert said in str(raised.value)
    assert path.name in str(raised.value)


def test_damaged_file__is_an_error_for_people(tmp_path: Path) -> None:
    """A file that is no gzip."""
    path = tmp_path / "graph-california" / "gr0.California.gz"
    path.parent.mkdir()
    path.write_bytes(b"not packed")
    with pytest.raises(UsageError, match="cannot read the graph"):
        real.read(tmp_path, "california")


def test_find__names_what_is_there(tmp_path: Path) -> None:
    """What is missing is not read."""
    put(tmp_path, "graph-california/gr0.California.gz", CALIFORNIA)
    assert list(real.find(tmp_path)) == ["california"]
    with pytest.raises(UsageError, match="no real graph"):
        real.read(tmp_path, "atlantis")
