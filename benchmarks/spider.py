"""Scrapy on the same web: a broad crawl as its documentation advises, with nothing stored.

LinkExtractor, 256 concurrent requests, one per domain, no delay, robots.txt obeyed, cookies and retries off,
DownloaderAwarePriorityQueue, first in first out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class Spider(scrapy.Spider):  # type: ignore[misc]  # it has no type here
    """Follows every link."""

    name = "bench"

    def __init__(self, seeds: list[str], **rest: Any) -> None:
        super().__init__(**rest)
        self.start_urls = seeds
        self.extractor = LinkExtractor()

    def parse(self, response: Any) -> Iterator[Any]:
        """Follow the links of a page."""
        for link in self.extractor.extract_links(response):
            yield scrapy.Request(link.url)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123
        seeds = file.read().split()
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": 256,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": True,
            "COOKIES_ENABLED": False,
            "RETRY_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
            "AUTOTHROTTLE_ENABLED": False,
        }
    )
    process.crawl(Spider, seeds=seeds)
    process.start()
