"""Contents that many sites have, crawled by two workers: stored once or counted, and every revisit has its original."""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.crawling import rows
from tests.siege import Siege, assault, check_archive

from weft.manage import managing
from weft.store.warc import base32

SITES = 24  # for two workers: one checks out no more than twice its connections, whoever comes first
CONNECTIONS = SITES // 4


class Mirrors:
    """Sites in pairs, which have six of ten pages in common, so that three of ten are duplicates; each has an order of
    its own.
    """

    def __init__(self, port: int, pages: int) -> None:
        self.port = port
        self.pages = pages
        self.asked: list[str] = []

    def log(self) -> list[str]:
        """What was asked for."""
        return self.asked

    def urls(self) -> dict[str, bytes]:
        """What is served, by URL."""
        found = {}
        for site in range(SITES):
            for page in range(self.pages):
                found[f"http://127.0.7.{site + 1}:{self.port}/{page or ''}"] = self.body(site, page)
        return found

    def body(self, site: int, page: int) -> bytes:
        """A page: the first leads to all others of its site, and they lead back, as small pages that lead nowhere are
        soon left alone.
        """
        if page == 0:
            order = random.Random(site).sample(range(1, self.pages), self.pages - 1)
            return b"".join(b"<a href=/%d>x</a>" % number for number in order) + b"%d" % site
        owner = b"pair %d" % (site % (SITES // 2)) if page % 10 < 6 else b"site %d" % site
        return b"<p>page %d of <a href=/>%s</a>" % (page, owner) + b" text" * 50


@contextmanager
def mirrors(pages: int) -> Iterator[Mirrors]:
    """Serve them."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site = int(str(self.request.getsockname()[0]).rpartition(".")[2]) - 1
            web.asked.append(self.path)
            name = self.path.lstrip("/") or "0"
            body = web.body(site, int(name)) if name.isdigit() else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *_: Any) -> None:
            """A worker was killed."""

    with ExitStack() as stack:
        servers: list[Server] = []
        for site in range(SITES):
            port = servers[0].server_address[1] if servers else 0
            servers.append(stack.enter_context(Server((f"127.0.7.{site + 1}", port), Handler)))
        web = Mirrors(servers[0].server_address[1], pages)
        for server in servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield web
        finally:
            for server in servers:
                server.shutdown()


@pytest.mark.restarts
@pytest.mark.parametrize(
    ("kills", "pages"),
    [(0, 40), pytest.param(3, 40, id="three"), pytest.param(20, 330, id="twenty", marks=pytest.mark.soak)],
)
def test_contents__are_stored_once_or_counted_and_revisits_find_them(kills: int, pages: int, tmp_path: Path) -> None:
    """Two workers, a web with 30 % duplicates; workers, the watchdog and all at once are killed."""
    chance, out = random.Random(kills), tmp_path / "crawl"
    with mirrors(pages) as web:
        truth = {url: base32(sha1(body, usedforsecurity=False).digest()) for url, body in web.urls().items()}
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(url for url in truth if url.endswith("/")), encoding="utf-8")
        command = [sys.executable, "-m", "weft", "crawl", "--seeds", str(seeds), "--out", str(out), "--workers", "2"]
        command += ["--wait", "0.1", "--per-visit", "5", "--commit-every", "0.3", "--part-seconds", "1"]
        command += [
            "--retry-pauses",
            "0.1",
            "--max-depth",
            "10",
            "--connections",
            str(CONNECTIONS),
            "--speed",
            "150 pages/s",
            "--timeout",
            "20",
        ]
        siege = Siege(command, tmp_path / "output.txt")
        try:
            if kills:
                assault(siege, web, chance, kills=kills, pages=len(truth))
            code = siege.finish()
        finally:
            siege.close()
    output = (tmp_path / "output.txt").read_text(encoding="utf-8", errors="replace")
    assert code == 0, output[-2000:]
    of_pages = "final and kind not in ('robots', 'check')"
    assert Counter(url for (url,) in rows(out, "url", of_pages)) == Counter(truth.keys())
    check_archive(out, truth)
    stored = rows(out, "digest, count(*)", f"{of_pages} and duplicate_of = 0 group by digest")
    again = sum(count - 1 for _, count in stored)
    met = rows(out, "digest, count(distinct worker) as workers", f"{of_pages} group by digest")
    both = sum(workers == 2 for _, workers in met)
    with managing(out) as managed:
        status = managed.status()
    shares = dict(sorted(rows(out, "worker, count(*)", f"{of_pages} group by worker")))
    web_said = f"{len(truth)} pages ({shares} by worker), {len(stored)} contents"
    said = f"{both} came to both workers, {again} of these were stored twice, {status.copies} counted"
    print(f"\n{kills} kills: {web_said}, {said}")  # noqa: T201  `make soak` shows it
    assert len(shares) == 2
    assert both > 0, "otherwise nothing was shown"
    assert len(stored) == len(set(truth.values()))
    assert again <= both
    assert again <= status.copies <= 2 * again, "counted when settled, or when found in the columns after a kill"
    if not kills:
        assert status.duplicates == len(truth) - len(stored) - again
