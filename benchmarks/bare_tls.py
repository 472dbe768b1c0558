"""The floor of today's web: large pages over TLS, a new connection a page. It crawls and does nothing that is not
needed to crawl fast.

    python -m benchmarks.bare_tls SEEDS [tree|tokens]

libcurl's multi interface by sockets, driven by one epoll object in uvloop, a new TLS connection for every page and no
session resumed, certificates not verified (weft verifies a site's once), the links by lexbor's tree or by weft's
tokenizer, ada's join, a Python set as URL-seen, ISA-L gzip at level 1 as one member a page, one SHA-1, 128 connections.
The frontier is that of `benchmarks/bare.py`. No robots.txt, no normal form, no politeness, no columns, no log, nothing
written. It runs until it is ended; whoever measures counts its pages at the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import select
import signal
import sys
from typing import Any

import ada_url
import pycurl
import uvloop
from isal import isal_zlib

from benchmarks.bare import CONNECTIONS, FORMS, Frontier

_MASKS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}


class Slot:
    """A handle, used again and again."""

    def __init__(self) -> None:
        self.url = ""
        self.chunks: list[bytes] = []
        self.curl = pycurl.Curl()
        for option, value in (
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.DNS_CACHE_TIMEOUT, 0),
            (pycurl.NOSIGNAL, 1),
            (pycurl.NOPROGRESS, 1),
            (pycurl.BUFFERSIZE, 131_072),
            (pycurl.TIMEOUT, 60),
            (pycurl.FRESH_CONNECT, 1),
            (pycurl.FORBID_REUSE, 1),
            (pycurl.SSL_SESSIONID_CACHE, 0),
            (pycurl.SSL_VERIFYPEER, 0),
            (pycurl.SSL_VERIFYHOST, 0),
            (pycurl.HTTPHEADER, ["User-Agent: bare", "Accept:"]),
        ):
            self.curl.setopt(option, value)

    def begin(self, url: str) -> None:
        """Ask for a page."""
        self.url = url
        self.chunks = []
        self.curl.setopt(pycurl.URL, url)
        self.curl.setopt(pycurl.WRITEFUNCTION, self.chunks.append)


class Crawl:
    """All connections."""

    def __init__(self, seeds: list[str], form: str) -> None:
        self.frontier = Frontier(seeds)
        self.links_of = FORMS[form]
        self.pages = 0
        self.failed = 0
        self.loop = asyncio.get_running_loop()
        self.slots: dict[Any, Slot] = {}
        self.idle: list[Slot] = []
        self.epoll = select.epoll()
        self.watched: dict[int, int] = {}
        self.timer: asyncio.TimerHandle | None = None
        self.multi = pycurl.CurlMulti()
        self.multi.setopt(pycurl.M_SOCKETFUNCTION, self.on_socket)
        self.multi.setopt(pycurl.M_TIMERFUNCTION, self.on_timer)
        for _ in range(CONNECTIONS):
            slot = Slot()
            self.slots[slot.curl] = slot
            self.idle.append(slot)
        self.loop.add_reader(self.epoll.fileno(), self.on_events)

    def fill(self) -> None:
        """Open connections while there are sites."""
        while self.idle and (site := self.frontier.take_site()) is not None:
            slot = self.idle.pop()
            slot.begin(self.frontier.pages[site].popleft())
            self.multi.add_handle(slot.curl)

    def on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        """Libcurl wants to hear of a socket, or no more."""
        if what == pycurl.POLL_REMOVE:
            if self.watched.pop(fd, None) is not None:
                self.epoll.unregister(fd)
            return
        mask = _MASKS[what]
        if fd not in self.watched:
            self.epoll.register(fd, mask)
        elif self.watched[fd] != mask:
            self.epoll.modify(fd, mask)
        self.watched[fd] = mask

    def on_timer(self, milliseconds: int) -> None:
        """Libcurl wants to be called."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None if milliseconds < 0 else self.loop.call_later(milliseconds / 1000, self.on_time)

    def on_time(self) -> None:
        """Call it."""
        self.multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self.drain()

    def on_events(self) -> None:
        """Sockets have something to say."""
        for fd, events in self.epoll.poll(0, 256):
            flags = pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0
            if events & ~select.EPOLLOUT:
                flags |= pycurl.CSELECT_IN
            self.multi.socket_action(fd, flags)
        self.drain()

    def drain(self) -> None:
        """Take every finished page."""
        while True:
            queued, done, failed = self.multi.info_read()
            for curl in done:
                self.page(self.slots[curl])
            for curl, _code, text in failed:
                self.failed += 1
                print(f"{self.slots[curl].url}: {text}", flush=True)
            for curl in (*done, *(each[0] for each in failed)):
                slot = self.slots[curl]
                self.multi.remove_handle(curl)
                self.frontier.give_back(slot.url.split("/", 3)[2])
                self.idle.append(slot)
            if not queued:
                break
        self.fill()

    def page(self, slot: Slot) -> None:
        """Digest, compress, parse, follow."""
        body = b"".join(slot.chunks)
        hashlib.sha1(body, usedforsecurity=False).digest()
        isal_zlib.compress(body, 1, 31)
        offer = self.frontier.offer
        for link in self.links_of(body):
            offer(ada_url.join_url(slot.url, link))
        self.pages += 1


async def main(seeds: list[str], form: str = "tree") -> None:
    """Crawl until SIGTERM."""
    crawl = Crawl(seeds, form)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    crawl.fill()
    await over.wait()
    print(crawl.pages, crawl.failed)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123
        uvloop.run(main(file.read().split(), *sys.argv[2:]))
