"""What a crawl writes into its columns, of answers that have something for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.small_site import Answer, Pages, links, small_site

from weft.app import run
from weft.config import Settings
from weft.directory import Plan

PATHS = ("/text", "/moved", "/missing", "/plain")


def gather(pages: Pages, out: Path, **changes: Any) -> dict[str, list[dict[str, Any]]]:
    """Crawl a site; its rows by path, in their order."""
    with small_site(pages) as site:
        settings = Settings().with_values({"wait": 0.0, "retry_pauses": [0.05], **changes}, where="a test")
        run(Plan(seeds=[site.url()], out=out, settings=settings))
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(pq.read_table(out / "pages").to_pylist(), key=lambda row: row["fetched_at"]):
        found.setdefault(row["url"].removeprefix(site.url("")), []).append(row)
    return found


def test_row__of_a_chain_of_redirects_says_where_it_began(tmp_path: Path) -> None:
    """Every step has how many came before it, and the page that somebody linked to."""
    to: Pages = {
        f"/{name}": Answer(status=302, headers=(("Location", f"/{to}"),))
        for name, to in (("a", "b"), ("b", "c"), ("c", "end"))
    }
    found = gather({"/": links("/a"), "/end": links("/after"), "/after": b"x", **to}, tmp_path / "crawl")
    began = found["/a"][0]["id"]
    chain = {path: (rows[0]["redirects"], rows[0]["redirected_from"]) for path, rows in found.items()}
    del chain["/robots.txt"]
    assert chain == {
        "/": (0, 0),
        "/a": (0, 0),
        "/b": (1, began),
        "/c": (2, began),
        "/end": (3, began),
        "/after": (0, 0),
    }


def test_row__of_a_try_that_was_not_the_last_has_what_the_server_asked_for(tmp_path: Path) -> None:
    """Its answer is in no volume: when to come back, and how long the connection may be kept, are in its row."""
    tries = iter([503, 200])

    def busy(_asked: dict[str, str]) -> Answer:
        headers = (("Retry-After", "0"), ("Keep-Alive", "timeout=5, max=7"))
        return Answer(b"busy", status=next(tries), headers=headers)

    found = gather({"/": links("/busy"), "/busy": busy}, tmp_path / "crawl")
    first, second = found["/busy"]
    assert (first["status"], first["final"], first["volume"]) == (503, False, None)
    assert (first["retry_after"], first["keep_alive"]) == ("0", "timeout=5, max=7")
    assert (second["status"], second["final"], second["retry_after"]) == (200, True, "0")
    assert all(row["http_version"] == "1.1" and row["server"].startswith("BaseHTTP") for row in (first, second))


def test_row__has_what_was_asked_of_robots_whatever_the_page_is(tmp_path: Path) -> None:
    """In a tag, in a header, in both; on what is no HTML, on a redirect, on a page that is missing."""
    header = (("X-Robots-Tag", "noindex"), ("X-Robots-Tag", "otherbot: noarchive"))
    pages: Pages = {
        "/": Answer(b"<meta name=robots content=noarchive>" + links(*PATHS), headers=header),
        "/text": Answer(b"words", "text/plain", headers=header),
        "/moved": Answer(status=302, headers=(("Location", "/plain"), *header)),
        "/missing": Answer(status=404, headers=header),
        "/plain": b"<link rel=canonical href='/'>",
    }
    found = gather(pages, tmp_path / "crawl")
    robots = {path: rows[0]["robots"] for path, rows in found.items() if path != "/robots.txt"}
    assert robots == {
        "/": "noarchive,noindex",
        "/text": "noindex",
        "/moved": "noindex",
        "/missing": "noindex",
        "/plain": None,
    }
    assert found["/plain"][0]["canonical"] == found["/"][0]["url"]
    assert all(row["volume"] for rows in found.values() for row in rows), "it is a column, and no more"


def test_noarchive__is_obeyed_where_that_was_asked_for(tmp_path: Path) -> None:
    """Such pages are fetched and followed, and have their row and no record; robots.txt files are kept."""
    header = (("X-Robots-Tag", "noarchive"),)
    pages: Pages = {
        "/": b"<meta name=robots content='noarchive, noindex'>" + links("/next"),
        "/next": Answer(links("/last"), headers=header),
        "/last": b"<meta name=robots content=noindex>",
    }
    for obeyed in (True, False):
        out = tmp_path / str(obeyed)
        found = gather(dict(pages), out, obey_noarchive=obeyed)
        kept = {path for path, rows in found.items() if rows[0]["volume"] is not None}
        assert kept == {"/robots.txt", "/last"} | (set() if obeyed else {"/", "/next"})
        assert all(rows[0]["status"] == 200 for path, rows in found.items() if path != "/robots.txt")
        assert [found[path][0]["robots"] for path in pages] == ["noarchive,noindex", "noarchive", "noindex"]
        stored = b"".join(path.read_bytes() for path in (out / "volumes").glob("*.cdxj"))
        assert (b"/next" in stored) is not obeyed
