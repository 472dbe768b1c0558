"""Scrapy: a broad crawl as its documentation advises, with nothing stored.

Needs Scrapy (`pip install weft[bench]`). It asks the testbed's DNS server, by a resolver of Twisted. One request at
a time and site, robots.txt obeyed, cookies off, first in first out, as the documentation has it for broad crawls;
retries, redirects, the timeout of 180 s and the most bytes of a page are its defaults. Depth has no limit by default.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.peers import Peer, Task


def command(task: Task) -> list[str]:
    """How it is started."""
    return [
        *(sys.executable, "-m", "benchmarks.peers.with_scrapy"),
        *(str(task.seeds), str(task.bed.dns_port), str(task.wait)),
    ]


def _missing() -> str:
    return "" if importlib.util.find_spec("scrapy") else "Scrapy: pip install 'weft[bench]'"


PEER = Peer("scrapy", "DNS", _missing, command)


def main(seeds: list[str], dns_port: int, wait: float) -> None:
    """Crawl until nothing is left, or somebody ends it."""
    import scrapy
    from scrapy.crawler import CrawlerProcess
    from scrapy.linkextractors import LinkExtractor
    from scrapy.resolver import CachingThreadedResolver

    class Names(CachingThreadedResolver):  # type: ignore[misc]  # it has no type here
        """Asks the testbed."""

        asks: Any = None

        def getHostByName(self, name: str, timeout: Any = ()) -> Any:  # noqa: ARG002, N802  Twisted's name
            if self.asks is None:
                from twisted.names.client import Resolver  # not before Scrapy has chosen its reactor

                self.asks = Resolver(servers=[("127.0.0.1", dns_port)])
            return self.asks.getHostByName(name, (self.timeout,))

    class Spider(scrapy.Spider):  # type: ignore[misc]  # it has no type here
        """Follows every link."""

        name = "judged"
        start_urls = seeds
        extractor = LinkExtractor()

        def parse(self, response: Any) -> Iterator[Any]:
            """Follow the links of a page."""
            if isinstance(response, scrapy.http.TextResponse):
                for link in self.extractor.extract_links(response):
                    yield scrapy.Request(link.url)

    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": 100,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": wait,
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "ROBOTSTXT_OBEY": True,
            "COOKIES_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "DNS_RESOLVER": Names,
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        }
    )
    process.crawl(Spider)
    process.start()


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123
        main(file.read().split(), int(sys.argv[2]), float(sys.argv[3]))
