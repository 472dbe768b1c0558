"""The graph of a crawl is the graph of the web that was crawled."""

from __future__ import annotations

from pathlib import Path

from tests.crawling import crawl, make_web

from weft.cli.graph import build
from weft.graph.files import load
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN


def test_harvest__of_a_plain_web_is_its_graph(tmp_path: Path) -> None:
    """Every page and every link, in order, and the seeds in theirs."""
    web = make_web(PLAIN, sites=10, pages=300)
    with serving(web) as bed:
        crawl(bed, tmp_path / "crawl")
        web = bed.web
    assert build(tmp_path / "crawl", out=tmp_path / "graph") == 0
    stored = load(tmp_path / "graph")
    assert stored.urls is not None
    number = [web.page(url) for url in stored.urls]
    assert sorted(page for page in number if page is not None) == list(range(300))
    for page, former in enumerate(number):
        assert former is not None
        assert [number[target] for target in stored.graph.links_of(page)] == web.graph.links_of(former).tolist()
    assert [number[seed] for seed in stored.graph.seeds] == web.graph.seeds.tolist()
