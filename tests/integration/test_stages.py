"""Stages: what they fill is read back by DuckDB from the crawl's Parquet; what they do wrong costs no page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import weft
from tests.crawling import crawl, make_web, rows
from tests.stages import faults_of

from weft.app import Summary
from weft.errors import UsageError
from weft.parse import apart
from weft.store.sealed import listed
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

PAGES = 120


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A small web without failures."""
    with serving(make_web(PLAIN, sites=8, pages=PAGES, largest=30)) as bed:
        yield bed


def staged(bed: Bed, out: Path, *names: str, **changes: Any) -> Summary:
    """A crawl with stages of `tests.stages`."""
    return crawl(bed, out, stage=[f"tests.stages:{name}" for name in names], **changes)


@pytest.mark.parametrize("workers", [1, 2])
def test_stages__fill_columns_and_a_table_of_their_own(bed: Bed, tmp_path: Path, workers: int) -> None:
    """One in the worker, one apart, which sees what the first found; both are right, by a second reading."""
    out = tmp_path / "crawl"
    summary = staged(bed, out, "WORDS", "FREQUENT", workers=workers)
    assert (summary.pending, summary.counts.faults) == (0, 0)
    found = rows(out, "id, url, words, first_word", "final and kind <> 'robots'")
    assert len(found) == PAGES
    frequent: dict[int, list[tuple[str, int]]] = {}
    for page, word, times in rows(out, "id, word, times", table="stage-frequent"):
        frequent.setdefault(page, []).append((word, times))
    for number in range(PAGES):
        url = bed.web.url(number)
        words = re.findall(r"[a-z]{4,}", bed.web.body(number).decode().lower())
        page, _, count, first = next(row for row in found if row[1] == url)
        assert (count, first) == (len(words), words[0])
        assert sorted(frequent[page]) == sorted(Counter(words).most_common(3))
    assert any(name.startswith("stage-frequent/") for name in listed(out))
    assert not list(out.rglob("*.open"))


@pytest.mark.faults
@pytest.mark.parametrize("name", ["HARMFUL", "HARMFUL_APART"])
def test_stage__that_raises_or_returns_nonsense_costs_no_page(bed: Bed, tmp_path: Path, name: str) -> None:
    """Nor does one that ends its process, apart. The fault has its reason and its place, and the others go on."""
    out = tmp_path / "crawl"
    summary = staged(bed, out, name, "WORDS")
    found = rows(out, "url, reason, volume, words, bad", "final and kind <> 'robots'")
    assert len(found) == PAGES
    for url, reason, volume, words, bad in found:
        assert volume is not None
        assert words > 0
        assert reason == ("stage" if faults_of(url, apart=name != "HARMFUL") else None), url
        assert bad == (None if reason else 1)
    bad_ones = [url for url, reason, *_ in found if reason]
    assert summary.counts.faults == len(bad_ones) > PAGES // 2
    told = (out / "log" / "faults.log").read_text(encoding="utf-8")
    assert all(f"{url}, stage harmful" in told for url in bad_ones)


@pytest.mark.faults
def test_stage__that_hangs_apart_costs_no_page(bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended after its time."""
    usual = apart.Apart.__init__

    def short(self: apart.Apart, *arguments: Any, **further: Any) -> None:
        usual(self, *arguments, **further | {"seconds": 0.3})

    monkeypatch.setattr(apart.Apart, "__init__", short)
    out = tmp_path / "crawl"
    summary = staged(bed, out, "HANGING", workers=1)
    found = rows(out, "url, reason, volume", "final and kind <> 'robots'")
    assert len(found) == PAGES
    assert all(volume is not None for *_, volume in found)
    hung = [url for url, reason, _ in found if reason == "stage"]
    assert hung == [url for url, *_ in found if sum(url.encode()) % 40 == 0]
    assert summary.counts.faults == len(hung) > 0


def test_stage__that_is_none_is_refused_first(bed: Bed, tmp_path: Path) -> None:
    """By name, before anything is written; and all parts of a crawl have the same columns."""
    for name, said in (("_word", "not a weft.Stage"), ("MISSING", "cannot be loaded")):
        with pytest.raises(UsageError, match=said):
            staged(bed, tmp_path / "none", name)
    with pytest.raises(UsageError, match="called 'words'"):
        staged(bed, tmp_path / "none", "WORDS", "WORDS")
    assert not (tmp_path / "none").exists()
    staged(bed, tmp_path / "crawl", "WORDS", max_pages=10)
    with pytest.raises(UsageError, match="belongs to another crawl"):
        staged(bed, tmp_path / "crawl", "WORDS", "FREQUENT")


def test_query_and_repair__know_the_columns_and_tables_of_stages(bed: Bed, tmp_path: Path) -> None:
    """`weft query` reads them, `weft audit` passes, and a damaged part is mended with them."""
    out = tmp_path / "crawl"
    staged(bed, out, "WORDS", "FREQUENT", workers=1)
    asked = "select count(*), count(words), (select count(distinct id) from stage_frequent) from pages where final"
    counted = weft("query", str(out), f"{asked} and kind <> 'robots'", "--csv").splitlines()[1]
    assert counted == f"{PAGES},{PAGES},{PAGES}"
    part = next((out / "stage-frequent").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-100])
    assert "stage-frequent" in weft("crawl", "--out", str(out), code=1)
    assert "stage-frequent" in weft("repair", str(out), "--yes")
    assert weft("query", str(out), f"{asked} and kind <> 'robots'", "--csv").splitlines()[1] == f"{PAGES},{PAGES},0"
    weft("audit", str(out))
