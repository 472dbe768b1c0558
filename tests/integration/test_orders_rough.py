"""Orderings on a web where things go wrong: whatever they put off or hold back, nothing is forgotten and nothing waits
for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crawling import crawl, make_web, rows

from weft.testbed.bed import Bed, serving
from weft.testbed.options import Options

ROUGH = Options(hang_s=60.0, retry_after_s=1, crawl_delay_s=0.05, sitemaps=0.0)
pytestmark = pytest.mark.xdist_group("orders rough")  # the crawl to compare with is made once
Outcomes = set[tuple[str, int, str]]


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web with everything that goes wrong."""
    with serving(make_web(ROUGH, sites=25, pages=250, largest=30)) as bed:
        yield bed


def outcomes(out: Path) -> Outcomes:
    """What became of each page: its final row."""
    final = rows(out, "url, coalesce(status, 0), coalesce(reason, '')", "final and kind <> 'robots'")
    found = set(final)
    assert len({url for url, _, _ in found}) == len(final), "no URL has two final rows"
    return found


@pytest.fixture(scope="module")
def expected(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What becomes of the pages when they are visited as they are found."""
    out = tmp_path_factory.mktemp("crawl") / "breadth-first"
    assert crawl(bed, out, ordering="breadth-first", timeout=2.0).why == "done"
    return outcomes(out)


@pytest.mark.parametrize(
    ("ordering", "delay", "workers"), [("batch", 15, 1), ("batch", 0, 2), ("partial", 15, 2), ("opic", 0, 2)]
)
def test_orders__on_a_rough_web_come_to_all_pages(
    bed: Bed, tmp_path: Path, expected: Outcomes, ordering: str, delay: int, workers: int
) -> None:
    """Pages that fail, sites that are given up and pages that robots.txt forbids do not hold up the others."""
    out = tmp_path / "crawl"
    summary = crawl(bed, out, ordering=ordering, rerank=100, rerank_delay=delay, workers=workers, timeout=2.0)
    assert summary.why == "done"
    assert summary.counts.faults == 0
    assert outcomes(out) == expected
