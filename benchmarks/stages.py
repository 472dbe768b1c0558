"""What each stage costs for one page of the benchmark web, in microseconds of CPU. No network, the pages are made here.

The best of several rounds: what the machine does meanwhile only adds. Figures of single stages are lower than in a
whole crawl, where they share the caches of the processor.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.crawlers import web
from weft.clock import SystemClock
from weft.events import Fetched
from weft.fetch.headers import parse_head
from weft.frontier.local import LocalFrontier
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.frontier.sites import Overrides
from weft.model import Outcome, Page, Turn
from weft.ordering.breadth_first import BreadthFirst
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.store.log import log_line
from weft.store.store import Store
from weft.store.volumes import Storing
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
        turn = Turn(len(found), fingerprint(url), url, 3, 1, 0, 1)
        page = Page(url, status, None, request, raw, headers, body, "", "127.0.0.1", "", 1e9, 1e9, 0.1, closed=False)
        found.append((turn, page))
    return found


def best(name: str, work: Callable[[Turn, Page], object], pages: list[tuple[Turn, Page]], rounds: int = 7) -> float:
    """Microseconds a page, printed."""
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for turn, page in pages:
            work(turn, page)
        least = min(least, time.process_time() - began)
    micro = least / len(pages) * 1e6
    print(f"  {name:<44}{micro:8.1f}")
    return micro


def main() -> None:
    """Print the table."""
    pages = corpus()
    parser = Parser(Reading(), "weft")
    parsed = {turn.page: parser.parse(page, turn.kind) for turn, page in pages}
    print(f"{PAGES} pages of {sum(len(page.body) for _, page in pages) / PAGES / 1000:.1f} KB\n{'':<46}µs/page")
    best("parse_head", lambda _t, page: parse_head(page.head.splitlines(keepends=True)), pages)
    best("parse (tags, links, title, robots)", lambda turn, page: parser.parse(page, turn.kind), pages)
    best("gzip of a page (ISA-L 1)", lambda _t, page: member(page.body), pages)
    best("gzip of a request", lambda _t, page: member(page.request), pages)
    best("base32", lambda _t, _p: base32(b"12345678901234567890"), pages)
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        frontier = LocalFrontier(
            path=folder / "log",
            clock=SystemClock(),
            ordering=BreadthFirst(),
            politeness=Politeness(wait=0.0),
            selection=Selection(scope="all", max_depth=1000, max_depth_dynamic=1000),
            retries=Retries(),
            overrides=Overrides(),
            rules=UrlRules(),
            agent="weft",
            secret=bytes(16),
            capacity=1 << 22,
        )
        sites = {turn.url: frontier.site(frontier.found.number(site_of(turn.url))) for turn, _ in pages}
        follow = frontier.found.follow
        began = time.process_time()
        for turn, _ in pages:
            follow(sites[turn.url], turn, parsed[turn.page])
        print(f"  {'follow links, most of them new':<44}{(time.process_time() - began) / PAGES * 1e6:8.1f}")
        best(
            "follow links, all of them known", lambda turn, _p: follow(sites[turn.url], turn, parsed[turn.page]), pages
        )
        frontier.commit(marks={})
        best("text of a page from the log", lambda turn, _p: frontier.url_of(turn.page), pages)
        store = Store(folder, Storing(), info={}, chance=random.Random(1))
        unnumbered = [(msgspec.structs.replace(turn, page=-1), page) for turn, page in pages]  # nothing refers to them
        best(
            "archive: digests, two records, two members",
            lambda turn, page: store.archive(turn, page, cut=""),
            unnumbered,
        )

        stored = store.archive(*unnumbered[0], cut="")

        def row(turn: Turn, page: Page) -> None:
            outcome = Outcome(turn, page, parsed[turn.page], None)
            store.note_page(Fetched(outcome, "site", 1, stored.digest, duplicate=False, links=22), stored)

        best("row of pages", row, pages)
        links = {turn.page: follow(sites[turn.url], turn, parsed[turn.page])[0][:2] for turn, _ in pages}
        best("rows of links", lambda turn, _p: store.note_links(turn.id, *links[turn.page]), pages)

        def line(turn: Turn, page: Page) -> str:
            outcome = Outcome(turn, page, parsed[turn.page], None)
            return log_line(Fetched(outcome, "site", 1, "sha1:x", duplicate=False))

        best("line of the log", line, pages)


if __name__ == "__main__":
    main()
