"""A site that has little but copies, sends much or takes long is left alone after a while; it keeps what it has."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from tests.commands import weft
from tests.crawling import crawl, make_web, rows

from weft.testbed.bed import serving
from weft.testbed.options import PLAIN

COPIES = "kind <> 'robots' and duplicate_of <> 0"


@pytest.mark.parametrize("workers", [1, 2])
def test_copies__of_a_site_are_fetched_up_to_a_limit(tmp_path: Path, workers: int) -> None:
    """Over two runs: how many there were outlives the first. Summary, explain and log say why the rest is missing."""
    out = tmp_path / "crawl"
    with serving(make_web(dataclasses.replace(PLAIN, duplicates=0.6), sites=4, pages=240, largest=60)) as bed:
        settings: dict[str, Any] = {"max_site_duplicates": 5, "workers": workers, "per_visit": 3}
        crawl(bed, out, **settings, max_pages=60)
        done = crawl(bed, out, **settings)
        assert done.why == "done"
    copies = dict(rows(out, "site, count(*)", f"{COPIES} group by site"))
    assert copies
    assert 5 <= max(copies.values()) <= 6, "the next page of a visit is chosen before one is stored"
    fetched = {url for (url,) in rows(out, "url", "final and kind <> 'robots'")}
    left = [url for page in range(bed.web.graph.pages) if (url := bed.web.url(page)) not in fetched]
    assert len(left) > 10
    assert done.refused["site-duplicates"] > 0
    told = weft("explain", str(out), left[0])
    assert "site-duplicates" in told or "copies" in told


def test_copies__few_as_they_are_keep_nobody_out(tmp_path: Path) -> None:
    """As many as most sites have."""
    with serving(make_web(dataclasses.replace(PLAIN, duplicates=0.6), sites=4, pages=240, largest=60)) as bed:
        assert crawl(bed, tmp_path / "crawl").why == "done"
        assert len(rows(tmp_path / "crawl", "url", "final and kind <> 'robots'")) == bed.web.graph.pages


@pytest.mark.parametrize("workers", [1, 2])
def test_bytes__of_a_site_are_taken_up_to_a_limit(tmp_path: Path, workers: int) -> None:
    """Over two runs, and by the servers' word; summary, status and explain say why the rest is missing."""
    out, most = tmp_path / "crawl", 100_000
    with serving(make_web(PLAIN, sites=4, pages=240, largest=60)) as bed:
        settings: dict[str, Any] = {"max_site_bytes": most, "workers": workers, "per_visit": 3}
        crawl(bed, out, **settings, max_pages=20)
        done = crawl(bed, out, **settings)
        assert done.why == "done"
    sizes = rows(out, "site, sum(bytes), max(bytes)", "kind <> 'robots' group by site")
    assert max(size for _, size, _ in sizes) >= most
    assert all(size < most + 2 * largest for _, size, largest in sizes), "one page more, chosen before one was counted"
    fetched = {url for (url,) in rows(out, "url", "final and kind <> 'robots'")}
    left = [url for page in range(bed.web.graph.pages) if (url := bed.web.url(page)) not in fetched]
    assert left
    assert done.refused["site-bytes"] > 0
    assert "site-bytes" in weft("status", str(out))
    assert "site-bytes" in weft("explain", str(out), left[0])
