"""Follow a site's news section: pages under a path, the newest-looking first, and print their titles.

Run it on a site of your own: python examples/news_section.py https://example.org/ /news/ me@example.org
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import weft


class NewsSection(weft.Application):
    """Requests what lies under the section; a page with a higher number in its URL is taken to be newer."""

    def __init__(self, section: str) -> None:
        self.section = section
        self.titles: list[str] = []

    def visited(self, page: weft.FetchedPage) -> Iterator[weft.Request]:
        """Keep the title, request the section's links."""
        self.titles.append(page.title)
        for link in page.links:
            if self.section in link:
                newest = max(map(int, re.findall(r"\d{1,9}", link)), default=0)
                yield weft.Request(link, priority=newest)


if __name__ == "__main__":
    seed, section, contact = sys.argv[1:4]
    news = NewsSection(section)
    weft.crawl([seed], out="news", application=news, contact=contact, max_pages=200)
    print("\n".join(news.titles))
