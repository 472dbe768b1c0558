"""Our reader of feeds beside fastfeedparser, where that is installed: milliseconds for 50 items, and what was read.

    python -m benchmarks.feeds

Feeds of our own making: RSS, Atom, JSON Feed and a sitemap of news, with titles, dates and descriptions of 400 letters;
and broken ones: a bare ampersand, an end that is missing, a wrong charset, an error page.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from benchmarks.machine import description
from weft.feeds import read_feed

ITEMS, ROUNDS = 50, 20
BASE = "http://www.a.example/"
_AT = 1_772_445_903


def feeds() -> dict[str, bytes]:
    """By name."""
    text = "Lorem ipsum dolor sit amet, " * 14
    rss = "".join(
        f"<item><title>Title {at} &amp; more</title><link>{BASE}{at}.html?a=1&amp;b=2</link><guid>{at}</guid>"
        f"<pubDate>{formatdate(_AT + at)}</pubDate><description><![CDATA[<p>{text}</p>]]></description></item>\n"
        for at in range(ITEMS)
    )
    atom = "".join(
        f'<entry><title>Title {at}</title><link href="{BASE}{at}.html"/><id>tag:{at}</id>'
        f"<published>2026-03-02T10:05:{at:02d}Z</published><summary>{text}</summary></entry>\n"
        for at in range(ITEMS)
    )
    news = "".join(
        f"<url><loc>{BASE}{at}.html</loc><news:news><news:publication_date>2026-03-02T10:05:{at:02d}Z"
        f"</news:publication_date><news:title>Title {at}</news:title></news:news></url>\n"
        for at in range(ITEMS)
    )
    items = [
        {"id": str(at), "url": f"{BASE}{at}.html", "title": f"Title {at}", "date_published": "2026-03-02T10:05:03Z"}
        | {"content_text": text}
        for at in range(ITEMS)
    ]
    whole = f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>A</title>{rss}</channel></rss>'
    names = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    return {
        "rss": whole.encode(),
        "atom": f'<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title>{atom}</feed>'.encode(),
        "json": json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "A", "items": items}).encode(),
        "news sitemap": f"<urlset {names}>{news}</urlset>".encode(),
        "bare ampersands": whole.replace("&amp;", "&").encode(),
        "no end": whole.encode()[: len(whole) * 3 // 4],
        "latin-1 called UTF-8": whole.replace("Title", "Título").encode("latin-1"),
        "error page": b"<!doctype html><html><title>404</title><body>Not found</body></html>",
    }


def run() -> dict[str, Any]:
    """Both readers on all feeds."""
    readers: dict[str, Callable[[bytes], int]] = {"ours": lambda body: len(read_feed(body, BASE).entries)}
    try:
        other = importlib.import_module("fastfeedparser")
        readers[f"fastfeedparser {getattr(other, '__version__', '')}".strip()] = lambda body: len(
            other.parse(body).entries
        )
    except ImportError:
        pass
    rows = {name: {title: measured(read, body) for title, read in readers.items()} for name, body in feeds().items()}
    return {"machine": description(), "items": ITEMS, "feeds": rows}


def measured(read: Callable[[bytes], int], body: bytes) -> dict[str, Any]:
    """Entries, and the quickest of some rounds, in CPU time."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        try:
            entries: int | str = read(body)
        except Exception as error:  # noqa: BLE001  what it raises is the finding
            entries = type(error).__name__
        best = min(best, time.process_time() - began)
    return {"entries": entries, "ms": best * 1e3}


def show(found: dict[str, Any]) -> None:
    """Print both."""
    for name, readers in found["feeds"].items():
        print(f"{name:22}" + "   ".join(f"{title}: {r['entries']} in {r['ms']:.2f} ms" for title, r in readers.items()))


if __name__ == "__main__":
    show(run())
