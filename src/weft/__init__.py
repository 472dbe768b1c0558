"""weft: collects a web politely and fast, in the order that matters.

Ten lines run a crawl with an application of one's own:

    import weft

    class Titles(weft.Application):
        def visited(self, page):
            print(page.url, page.title)
            for link in page.links:
                yield weft.Request(link, priority=-link.count("/"))

    weft.crawl("https://example.org/", out="example", application=Titles(), contact="me@example.org", max_pages=100)

and two read what came of it, as rows, as Arrow or by SQL:

    for page in weft.open("example").pages("url", "title", where="status = 200"):
        print(page["url"], page["title"])

`help(weft.crawl)`, `help(weft.Application)`, `help(weft.FetchedPage)`, `help(weft.Request)` and `help(weft.open)` say
the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.version import __version__

if TYPE_CHECKING:
    from weft.api import crawl, crawl_async
    from weft.app import Summary
    from weft.engine.application import Application, FetchedPage, Request, Together
    from weft.model import Column
    from weft.parse.stage import ReadPage, Stage
    from weft.reading import Content, Crawl, Rows, Texts, open  # noqa: A004  it is called weft.open

__all__ = [
    "Application",
    "Column",
    "Content",
    "Crawl",
    "FetchedPage",
    "ReadPage",
    "Request",
    "Rows",
    "Stage",
    "Summary",
    "Texts",
    "Together",
    "__version__",
    "crawl",
    "crawl_async",
    "open",
]

_HOMES = {
    "crawl": "weft.api",
    "crawl_async": "weft.api",
    "Summary": "weft.app",
    "Application": "weft.engine.application",
    "FetchedPage": "weft.engine.application",
    "Request": "weft.engine.application",
    "Together": "weft.engine.application",
    "Column": "weft.model",
    "ReadPage": "weft.parse.stage",
    "Stage": "weft.parse.stage",
    "open": "weft.reading",
    "Crawl": "weft.reading",
    "Rows": "weft.reading",
    "Content": "weft.reading",
    "Texts": "weft.reading",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `import weft` alone costs nothing."""
    import importlib

    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'weft' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
