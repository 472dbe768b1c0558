"""A graph from a crawl's columns: which rows are pages, where links lead, and in which order."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from weft.config import Settings
from weft.errors import UsageError
from weft.graph.files import Stored
from weft.harvest import build
from weft.store.columns import LINKS, PAGES, URLS
from weft.urls import fingerprint, signed, site_of

A, B, C, D, OLD, OLDER = (f"http://a.test/{name}" for name in ("", "b", "c", "d", "old", "older"))
OTHER = "http://other.test/"


class Crawl:
    """The directory of a crawl, made by hand."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.pages: list[dict[str, Any]] = []
        self.links: list[dict[str, Any]] = []
        out.mkdir()
        (out / "crawl.toml").write_text(Settings().to_toml())

    def fetch(self, url: str, *links: str, kind: str = "a", status: int = 200, **values: Any) -> None:
        """A row of a fetch, and the links of the page."""
        row: dict[str, Any] = dict.fromkeys(PAGES.names)
        row |= {
            "id": signed(fingerprint(url)),
            "via": 0,
            "duplicate_of": 0,
            "redirected_from": 0,
            "url": url,
            "site": site_of(url),
            "kind": kind,
            "worker": 0,
            "final": True,
        }
        row |= {"status": status, "fetched_at": datetime.fromtimestamp(len(self.pages), UTC)}
        self.pages.append(row | values)
        link = {"source": row["id"], "kind": "a", "nofollow": False}
        self.links += [link | {"target": signed(fingerprint(target))} for target in links]

    def build(self, *, known: tuple[str, ...] = (), journal: bool = False) -> Stored:
        """Write the rows and build the graph."""
        tables = {"pages": (self.pages, PAGES), "links": (self.links, LINKS)}
        tables["urls"] = ([{"id": signed(fingerprint(url)), "url": url} for url in known], URLS)
        for name, (rows, schema) in tables.items():
            (self.out / name).mkdir()
            table = pa.Table.from_pylist(rows, schema=schema)
            if journal:
                with ipc.new_stream(self.out / name / "part-0-00001.arrow.open", schema) as writer:
                    writer.write_table(table)
            else:
                pq.write_table(table, self.out / name / "part-0-00001.parquet")
        return build(self.out)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    """A crawl with nothing in it."""
    return Crawl(tmp_path / "crawl")


def drawn(stored: Stored) -> dict[str, list[str]]:
    """The graph by URLs."""
    assert stored.urls is not None
    urls = stored.urls
    return {urls[page]: [urls[int(target)] for target in stored.graph.links_of(page)] for page in range(len(urls))}


@pytest.mark.parametrize("journal", [False, True])
def test_build__pages_and_their_links_in_order(crawl: Crawl, journal: bool) -> None:
    """Repeats, self-links and links to what was not fetched are left out and counted."""
    crawl.fetch(A, C, B, C, A, "http://a.test/nothing", kind="seed")
    crawl.fetch(B, OTHER)
    crawl.fetch(C)
    crawl.fetch(OTHER, A)
    stored = crawl.build(journal=journal)
    assert drawn(stored) == {A: [C, B], B: [OTHER], C: [], OTHER: [A]}
    assert stored.graph.first_page.tolist() == [0, 3, 4]
    assert stored.graph.depth.tolist() == [0, 1, 1, 2]
    assert stored.about["dropped"] == {
        "unreached": 0,
        "self_links": 1,
        "repeated_links": 1,
        "links_to_pages_not_fetched": 1,
    }


def test_build__only_pages_fetched_for_good_count(crawl: Crawl) -> None:
    """No robots.txt, no parts of pages, no failures, no tries that are to be repeated; nothing counts twice."""
    crawl.fetch("http://a.test/robots.txt", kind="robots")
    crawl.fetch(A, B, C, D, "http://a.test/i.png", kind="seed", final=False)
    crawl.links.clear()
    crawl.fetch(A, B, C, D, "http://a.test/i.png", kind="seed")
    crawl.fetch(B, status=404)
    crawl.fetch(C)
    crawl.fetch(C)
    crawl.fetch("http://a.test/i.png", kind="image")
    crawl.fetch(D, final=False, status=200)
    assert drawn(crawl.build()) == {A: [C], C: []}


def test_build__redirects_are_followed(crawl: Crawl) -> None:
    """A link to an address that redirects is one to where the chain ends; a circle ends nowhere."""
    crawl.fetch(A, OLDER, "http://a.test/circle", B, kind="seed")
    crawl.fetch(OLDER, status=301, redirect=OLD)
    crawl.fetch(OLD, status=302, redirect=B, kind="redirect")
    crawl.fetch("http://a.test/circle", status=302, redirect="http://a.test/circle")
    crawl.fetch(B, kind="redirect")
    stored = crawl.build()
    assert drawn(stored) == {A: [B], B: []}
    assert stored.about["dropped"]["repeated_links"] == 1


def test_build__seeds_in_the_order_they_were_told(crawl: Crawl) -> None:
    """A seed that redirects stands for its target; a page that no seed reaches is dropped with a warning."""
    crawl.fetch(B, kind="seed")
    crawl.fetch(OTHER, kind="seed", status=301, redirect="http://www.other.test/")
    crawl.fetch("http://www.other.test/", kind="redirect")
    crawl.fetch(A, kind="seed")
    crawl.fetch(D, kind="sitemap")
    stored = crawl.build(known=(A, OTHER, B, D))
    assert stored.urls is not None
    assert [stored.urls[int(seed)] for seed in stored.graph.seeds] == [A, "http://www.other.test/", B]
    assert stored.about["warnings"] == ["1 of 4 pages cannot be reached from any seed and were left out"]
    assert np.array_equal(stored.id_of(np.arange(3)), np.arange(3))


def test_build__of_nothing_is_refused(crawl: Crawl, tmp_path: Path) -> None:
    """No crawl, no page, no seed."""
    with pytest.raises(UsageError, match="no crawl here"):
        build(tmp_path)
    with pytest.raises(UsageError, match="no page was fetched"):
        build(crawl.out)
    crawl.fetch(A)
    with pytest.raises(UsageError, match="no seed was fetched"):
        crawl.build()
