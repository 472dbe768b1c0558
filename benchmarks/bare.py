"""The bare loop: the floor that weft is measured against. It crawls and does nothing that is not needed to crawl
fast.

    python benchmarks/bare.py SEEDS K [tree|tokens]

uvloop, httptools on a bare protocol, ada's join, one SHA-1, ISA-L gzip at level 1 as one member a page, a Python set as
URL-seen, 128 connections, keep-alive, up to k pages a connection. No robots.txt, no normal form, no politeness, no
columns, no log, nothing written. It has two forms: *tree* has lexbor build the whole tree of a page and takes the links
from there, as loops like this do; *tokens* reads them by weft's own tokenizer, so that like is compared with like. It
runs until it is ended; whoever measures counts its pages at the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import signal
import sys
from collections import deque
from functools import partial
from typing import cast

import ada_url
import httptools
import uvloop
from isal import isal_zlib
from selectolax.lexbor import LexborHTMLParser

from weft.parse.tags import read_tags

CONNECTIONS = 128


def by_tree(body: bytes) -> list[str]:
    """The links of a page as written, from its tree."""
    return [node.attrs["href"] or "" for node in LexborHTMLParser(body).css("a[href]")]


def by_tokens(body: bytes) -> list[str]:
    """The same by weft's tokenizer."""
    links = []
    for element, attributes in read_tags(body):
        if attributes is None:  # a plain link: nothing but its target
            links.append(element)
        elif element == "a" and "href" in attributes:
            links.append(attributes["href"])
    return links


FORMS = {"tree": by_tree, "tokens": by_tokens}


class Frontier:
    """Sites with pages that wait, first come first served."""

    def __init__(self, seeds: list[str]) -> None:
        self.seen: set[str] = set()
        self.pages: dict[str, deque[str]] = {}
        self.ready: deque[str] = deque()
        self.busy: set[str] = set()
        for seed in seeds:
            self.offer(seed)

    def offer(self, url: str) -> None:
        """Take a URL that was not seen."""
        if url in self.seen:
            return
        self.seen.add(url)
        site = url.split("/", 3)[2]
        waiting = self.pages.get(site)
        if waiting is None:
            waiting = self.pages[site] = deque()
        if not waiting and site not in self.busy:
            self.ready.append(site)
        waiting.append(url)

    def take_site(self) -> str | None:
        """A site that nobody visits."""
        if not self.ready:
            return None
        site = self.ready.popleft()
        self.busy.add(site)
        return site

    def give_back(self, site: str) -> None:
        """The connection is over."""
        self.busy.discard(site)
        if self.pages[site]:
            self.ready.append(site)


class Client(asyncio.Protocol):
    """One connection to one site, up to k pages."""

    def __init__(self, crawl: Crawl, site: str) -> None:
        self.crawl = crawl
        self.site = site
        self.left = crawl.per_visit
        self.chunks: list[bytes] = []
        self.url = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first page."""
        self.transport = cast("asyncio.Transport", transport)
        self.parser = httptools.HttpResponseParser(self)
        self.ask()

    def ask(self) -> None:
        """Ask for the next page, or close."""
        waiting = self.crawl.frontier.pages[self.site]
        if not waiting or self.left == 0:
            self.transport.close()
            return
        self.left -= 1
        self.url = waiting.popleft()
        target = self.url.split("/", 3)[3]
        close = "Connection: close\r\n" if self.left == 0 else ""
        self.transport.write(f"GET /{target} HTTP/1.1\r\nHost: {self.site}\r\nUser-Agent: bare\r\n{close}\r\n".encode())

    def data_received(self, data: bytes) -> None:
        """Feed the parser."""
        self.parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        """Gather."""
        self.chunks.append(data)

    def on_message_complete(self) -> None:
        """Digest, compress, parse, follow."""
        body = b"".join(self.chunks)
        self.chunks = []
        hashlib.sha1(body, usedforsecurity=False).digest()
        isal_zlib.compress(body, 1, 31)
        offer = self.crawl.frontier.offer
        for link in self.crawl.links_of(body):
            offer(ada_url.join_url(self.url, link))
        self.crawl.pages += 1
        self.crawl.fill()
        self.parser = httptools.HttpResponseParser(self)
        self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the site back."""
        del exc
        self.crawl.open -= 1
        self.crawl.frontier.give_back(self.site)
        self.crawl.fill()


class Crawl:
    """All connections."""

    def __init__(self, seeds: list[str], per_visit: int, form: str) -> None:
        self.frontier = Frontier(seeds)
        self.links_of = FORMS[form]
        self.per_visit = per_visit
        self.open = 0
        self.pages = 0
        self.tasks: set[asyncio.Task[object]] = set()

    def fill(self) -> None:
        """Open connections while there are sites."""
        while self.open < CONNECTIONS and (site := self.frontier.take_site()) is not None:
            self.open += 1
            host, _, port = site.partition(":")
            loop = asyncio.get_running_loop()
            connecting = loop.create_connection(partial(Client, self, site), host, int(port or 80))
            task = loop.create_task(connecting)
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)


async def main(seeds: list[str], per_visit: int, form: str = "tree") -> None:
    """Crawl until SIGTERM."""
    crawl = Crawl(seeds, per_visit, form)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    crawl.fill()
    await over.wait()
    print(crawl.pages)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123
        uvloop.run(main(file.read().split(), int(sys.argv[2]), *sys.argv[3:]))
