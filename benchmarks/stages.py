"""What each stage costs for one page of the benchmark web, in microseconds of CPU. No network, the pages are made here.

The best of several rounds: what the machine does meanwhile only adds. Figures of single stages are lower than in a
whole crawl, where they share the caches of the processor.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.crawlers import web
from benchmarks.machine import description
from weft.clock import SystemClock
from weft.events import Fetched
from weft.fetch.headers import parse_head
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.overrides import Overrides
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.model import NO_ID, Outcome, Page, PageNumber, Turn
from weft.ordering.breadth_first import BreadthFirst
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.store.log import log_line
from weft.store.store import Store
from weft.store.volumes import Stored, Storing
from weft.store.warc import base32, member
from weft.urls import UrlRules, fingerprint, site_of

PAGES = 600


def corpus() -> list[tuple[Turn, Page]]:
    """Pages as they come from the network."""
    served = web(pages=30_000).at(8080, None)
    found: list[tuple[Turn, Page]] = []
    for number in range(0, 30_000, 30_000 // PAGES):
        url, body = served.url(number), served.body(number)
        head = (
            "HTTP/1.1 200 OK\r\nServer: testbed\r\nDate: Sun, 15 Nov 2026 12:00:00 GMT\r\n"
            f"Content-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        status, raw, headers = parse_head(head.splitlines(keepends=True))
        request = f"GET / HTTP/1.1\r\nHost: {site_of(url)}\r\nUser-Agent: weft/0.1\r\nAccept: */*\r\n\r\n".encode()
        turn = Turn(PageNumber(len(found)), fingerprint(url), url, 3, 1, NO_ID, 1)
        page = Page(url, status, None, request, raw, headers, body, "", "127.0.0.1", "", 1e9, 1e9, 0.1, closed=False)
        found.append((turn, page))
    return found


def best(work: Callable[[Turn, Page], object], pages: list[tuple[Turn, Page]], rounds: int = 7) -> float:
    """Microseconds a page."""
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for turn, page in pages:
            work(turn, page)
        least = min(least, time.process_time() - began)
    return least / len(pages) * 1e6


def run() -> dict[str, Any]:
    """Each stage by itself, in microseconds a page."""
    pages, found = corpus(), {}
    parser = Parser(Reading(), "weft")
    parsed = {turn.page: parser.parse(page, turn.kind) for turn, page in pages}
    found["parse_head"] = best(lambda _t, page: parse_head(page.head.splitlines(keepends=True)), pages)
    found["parse (tags, links, title, robots)"] = best(lambda turn, page: parser.parse(page, turn.kind), pages)
    found["gzip of a page (ISA-L 1)"] = best(lambda _t, page: member(page.body), pages)
    found["gzip of a request"] = best(lambda _t, page: member(page.request), pages)
    found["base32"] = best(lambda _t, _p: base32(b"12345678901234567890"), pages)
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        frontier = LocalFrontier(
            Terms(
                ordering=BreadthFirst(),
                politeness=Politeness(wait=0.0),
                selection=Selection(scope="all", max_depth=1000, max_depth_dynamic=1000),
                retries=Retries(),
                overrides=Overrides(),
                rules=UrlRules(),
                agent="weft",
                secret=bytes(16),
                capacity=1 << 22,
            ),
            path=folder / "log",
            clock=SystemClock(),
        )
        sites = {turn.url: frontier.sites[frontier.sites.number(site_of(turn.url))] for turn, _ in pages}
        follow = frontier.discovery.follow
        began = time.process_time()
        for turn, _ in pages:
            follow(sites[turn.url], turn, parsed[turn.page])
        found["follow links, most of them new"] = (time.process_time() - began) / PAGES * 1e6
        found["follow links, all of them known"] = best(
            lambda turn, _p: follow(sites[turn.url], turn, parsed[turn.page]), pages
        )
        frontier.commits.commit(marks={})
        found["text of a page from the log"] = best(lambda turn, _p: frontier.pages.url_of(turn.page), pages)
        store = Store(folder, Storing(), info={}, chance=random.Random(1))
        unnumbered = [(msgspec.structs.replace(turn, page=-1), page) for turn, page in pages]  # nothing refers to them
        changes = count()

        def archive(turn: Turn, page: Page) -> Stored:
            """No content comes twice: a duplicate costs half of it."""
            return store.archive(turn, msgspec.structs.replace(page, body=b"%s%d" % (page.body, next(changes))), cut="")

        found["archive: digests, two records, two members"] = best(archive, unnumbered)

        stored = store.archive(*unnumbered[0], cut="")

        def row(turn: Turn, page: Page) -> None:
            outcome = Outcome(turn, page, parsed[turn.page], None)
            store.note_page(Fetched(outcome, "site", 1, stored.digest, duplicate=False, links=22), stored)

        found["row of pages"] = best(row, pages)
        links = {turn.page: follow(sites[turn.url], turn, parsed[turn.page])[0][:2] for turn, _ in pages}
        found["rows of links"] = best(lambda turn, _p: store.note_links(turn.id, *links[turn.page]), pages)

        def line(turn: Turn, page: Page) -> str:
            outcome = Outcome(turn, page, parsed[turn.page], None)
            return log_line(Fetched(outcome, "site", 1, "sha1:x", duplicate=False))

        found["line of the log"] = best(line, pages)
    kilobytes = sum(len(page.body) for _, page in pages) / PAGES / 1000
    return {"machine": description(), "pages": PAGES, "kilobytes": kilobytes, "microseconds": found}


def show(result: dict[str, Any]) -> None:
    """Print the table."""
    print(f"{result['pages']} pages of {result['kilobytes']:.1f} KB\n{'':<46}µs/page")
    for name, micro in result["microseconds"].items():
        print(f"  {name:<44}{micro:8.1f}")


if __name__ == "__main__":
    show(run())
