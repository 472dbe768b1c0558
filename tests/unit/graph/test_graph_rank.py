"""PageRank, its past, its file, and the figures drawn of it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.graph import Graph, Recipe, generate
from weft.graph.ageing import Ageing, old_pages, old_scores
from weft.graph.describe import Bin, describe
from weft.graph.files import Stored, Urls
from weft.graph.importing import import_graph
from weft.graph.rank import pagerank, transpose
from weft.graph.scores import read_scores, write_scores

Pairs = list[tuple[int, int]]


def graphs() -> st.SearchStrategy[Graph]:
    """Small graphs of one site."""
    return st.integers(1, 12).flatmap(
        lambda pages: st.lists(st.tuples(st.integers(0, pages - 1), st.integers(0, pages - 1)), max_size=40).map(
            lambda pairs: Graph.from_links([pages], pairs, parent=[-1] + [0] * (pages - 1))
        )
    )


def matrix(graph: Graph) -> NDArray[np.float64]:
    """What each page (column) passes to each (row)."""
    passed = np.zeros((graph.pages, graph.pages))
    for page in range(graph.pages):
        for target in graph.links_of(page):
            passed[target, page] = 1 / len(graph.links_of(page))
    return passed


@given(graphs(), st.sampled_from([0.05, 0.15, 0.5, 1.0]))
def test_pagerank__equals_the_solution_of_its_equations(graph: Graph, epsilon: float) -> None:
    """The printed formula is a system of linear equations; what is lost is lost, and the sum brought to 1."""
    exact = np.linalg.solve(
        np.eye(graph.pages) - (1 - epsilon) * matrix(graph), np.full(graph.pages, epsilon / graph.pages)
    )
    scores = pagerank(graph.offsets, graph.links, epsilon=epsilon, tolerance=1e-13)
    np.testing.assert_allclose(scores, exact / exact.sum(), rtol=1e-9)


@given(graphs())
def test_pagerank__with_every_step_equals_the_plain_iteration(graph: Graph) -> None:
    """A step by the printed formula, then to a sum of 1, until nothing changes."""
    wanted, step = np.full(graph.pages, 1 / graph.pages), 0.85 * matrix(graph)
    for _ in range(3_000):
        wanted = 0.15 / graph.pages + step @ wanted
        wanted /= wanted.sum()
    scores = pagerank(graph.offsets, graph.links, tolerance=1e-13, every_step=True)
    np.testing.assert_allclose(scores, wanted, rtol=1e-8)


@given(graphs(), st.integers(0, 100))
def test_pagerank__does_not_depend_on_where_it_begins(graph: Graph, seed: int) -> None:
    """A warm start is only faster."""
    start = np.random.Generator(np.random.PCG64(seed)).random(graph.pages) + 0.01
    cold = pagerank(graph.offsets, graph.links, tolerance=1e-12)
    warm = pagerank(graph.offsets, graph.links, tolerance=1e-12, start=start / start.sum())
    np.testing.assert_allclose(warm, cold, rtol=1e-8)
    once = pagerank(graph.offsets, graph.links, tolerance=1e-12, start=cold, most=1)
    np.testing.assert_allclose(once, cold, rtol=1e-8)


@pytest.mark.parametrize("name", ["tiny", "generated-3000"])
def test_pagerank__published_scores_were_normalised_at_every_step(name: str, shared: Callable[[str], Path]) -> None:
    """The scores beside the orders come out that way (to 1e-6 in all), and not as the formula's own solution."""
    folder = shared(f"orders/{name}")
    stored = import_graph(folder / "pages.tsv.gz", folder / "links.tsv.gz", folder / "seeds.txt")
    published = read_scores(folder / "scores.tsv.gz", stored)
    offsets, links = stored.graph.offsets, stored.graph.links
    each = pagerank(offsets, links, every_step=True, tolerance=1e-10)
    assert np.abs(each - published).sum() < 1e-6
    assert np.abs(pagerank(offsets, links) - published).sum() > 0.01


@given(graphs())
def test_transpose__twice_is_the_same_graph(graph: Graph) -> None:
    """Sources come in ascending order."""
    incoming, sources = transpose(graph.offsets, graph.links)
    pairs = {(int(page), int(target)) for page in range(graph.pages) for target in graph.links_of(page)}
    assert {(int(s), p) for p in range(graph.pages) for s in sources[incoming[p] : incoming[p + 1]]} == pairs
    for page in range(graph.pages):
        row = sources[incoming[page] : incoming[page + 1]]
        assert np.all(row[1:] > row[:-1])


def test_ageing__old_pages_hold_the_shares_asked_for() -> None:
    """55 % of the pages with 72 % of PageRank; others when others are asked for."""
    graph = generate(Recipe(sites=300, pages=20_000), seed=2)
    scores = pagerank(graph.offsets, graph.links)
    rng = np.random.Generator(np.random.PCG64(1))
    for ageing in (Ageing(), Ageing(old_pages=0.3, old_score=0.5)):
        old = old_pages(graph, scores, rng, ageing)
        assert old.mean() == pytest.approx(ageing.old_pages, abs=1e-4)
        assert scores[old].sum() == pytest.approx(ageing.old_score, abs=0.005)


def test_ageing__old_scores_are_scaled_and_new_pages_have_none() -> None:
    """They sum to N_old / N, are the same for the same seed, and tell much, not all, of today's."""
    graph = generate(Recipe(sites=300, pages=20_000), seed=2)
    scores = pagerank(graph.offsets, graph.links)
    found = old_scores(graph, scores, seed=5)
    old = np.isfinite(found)
    assert np.nansum(found) == pytest.approx(0.55)
    assert np.array_equal(found, old_scores(graph, scores, seed=5), equal_nan=True)
    assert not np.array_equal(old, np.isfinite(old_scores(graph, scores, seed=6)))
    assert 0.5 < np.corrcoef(np.log(found[old]), np.log(scores[old]))[0, 1] < 0.99


def test_ageing__nothing_new_and_nothing_rewired_is_today() -> None:
    """The same graph has the same PageRank; and a web may be all new."""
    graph = generate(Recipe(sites=20, pages=500), seed=2)
    scores = pagerank(graph.offsets, graph.links)
    same = old_scores(graph, scores, seed=1, ageing=Ageing(old_pages=1.0, old_score=1.0, rewired=0.0))
    np.testing.assert_allclose(same, scores, rtol=1e-5)
    assert np.isnan(old_scores(graph, scores, seed=1, ageing=Ageing(old_pages=0.0))).all()


@pytest.fixture
def small() -> Stored:
    """Three pages with ids and URLs."""
    graph = Graph.from_links([2, 1], [(0, 1), (0, 2), (1, 2)], parent=[-1, 0, -1])
    return Stored(
        graph=graph, ids=np.array([30, 10, 20]), urls=Urls.of(["http://a.test/", "http://a.test/1", "http://b.test/"])
    )


def test_scores__are_read_as_they_were_written(small: Stored, tmp_path: Path) -> None:
    """Parquet with ids and URLs, or without URLs."""
    scores = np.array([0.5, 0.2, 0.3])
    write_scores(tmp_path / "scores.parquet", small, scores)
    assert pq.read_table(tmp_path / "scores.parquet").to_pylist()[1] == {
        "id": 10,
        "url": "http://a.test/1",
        "score": 0.2,
    }
    assert np.array_equal(read_scores(tmp_path / "scores.parquet", small), scores)
    write_scores(tmp_path / "plain.parquet", Stored(graph=small.graph), scores)
    assert pq.read_table(tmp_path / "plain.parquet").column("url").null_count == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize(
    "text", ["10\t0.2\n30\t5e-1\n99\t1\n", "http://a.test/1\t0.2\nhttp://a.test/\t.5\nhttp://z/\t1"]
)
def test_scores__from_text_by_id_or_url(
    small: Stored, tmp_path: Path, text: str, pack: Callable[[bytes], bytes]
) -> None:
    """NaN where the file has none; pages of other graphs are passed over."""
    (tmp_path / "scores").write_bytes(pack(text.encode()))
    np.testing.assert_array_equal(read_scores(tmp_path / "scores", small), [0.5, 0.2, np.nan])


def test_scores__parquet_by_url_alone(small: Stored, tmp_path: Path) -> None:
    """As another program may write it."""
    pq.write_table(pa.table({"url": ["http://b.test/", None], "score": [1, 2]}), tmp_path / "scores")
    np.testing.assert_array_equal(read_scores(tmp_path / "scores", small), [np.nan, np.nan, 1.0])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("10\t0.2\n30 0.1\n", "line 2"),
        ("10\t0.2\n30\tmuch\n", "line 2"),
        ("10\t0.2\nhttp://a.test/\t1\n", "line 2"),
        ("", "no scores"),
        ("99\t1\n", "another graph"),
        ("PAR1 but not", "cannot read"),
    ],
)
def test_scores__bad_files_are_refused(small: Stored, tmp_path: Path, text: str, word: str) -> None:
    """With file and line."""
    (tmp_path / "scores").write_text(text)
    with pytest.raises(UsageError, match=word) as refused:
        read_scores(tmp_path / "scores", small)
    assert str(tmp_path / "scores") in str(refused.value)


def test_scores__without_what_is_needed(small: Stored, tmp_path: Path) -> None:
    """Columns that are missing, a graph without URLs, no file."""
    pq.write_table(pa.table({"url": ["http://b.test/"], "rank": [1]}), tmp_path / "scores")
    with pytest.raises(UsageError, match="columns are url, rank"):
        read_scores(tmp_path / "scores", small)
    (tmp_path / "text").write_text("http://b.test/\t1\n")
    with pytest.raises(UsageError, match="no URLs"):
        read_scores(tmp_path / "text", Stored(graph=small.graph))
    with pytest.raises(UsageError, match="cannot read"):
        read_scores(tmp_path / "missing", small)


def test_describe__counts_by_doubling_bins_and_depth() -> None:
    """Sites, degrees and depths, PageRank as a multiple of the average page's."""
    graph = Graph.from_links([3, 1], [(0, 1), (0, 2), (0, 3), (1, 3)], parent=[-1, 0, 0, -1])
    figures = describe(graph, np.array([0.4, 0.1, 0.2, 0.3]))
    assert figures.site_sizes == (Bin(1, 1, 1), Bin(2, 3, 1))
    assert figures.out_degrees == (Bin(0, 0, 2), Bin(1, 1, 1), Bin(2, 3, 1))
    assert figures.in_degrees == (Bin(0, 0, 1), Bin(1, 1, 2), Bin(2, 3, 1))
    assert [(level.depth, level.pages) for level in figures.depths] == [(0, 2), (1, 2)]
    assert [level.score for level in figures.depths] == pytest.approx([1.4, 0.6])
    assert figures.concentration is not None
    assert [held.score for held in figures.concentration] == pytest.approx([0.4, 0.4, 0.4, 0.7])
    assert "best pages" in str(figures)
    assert "weft graph rank" in str(describe(graph))
