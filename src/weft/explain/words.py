"""What an explanation says, in words. In: values. Out: sentences for people."""

from __future__ import annotations

import time
from typing import Any

from weft.explain.ways import Judged
from weft.frontier.durable.inspect import Order, Speed
from weft.frontier.expecting import Expected
from weft.frontier.politeness import Politeness
from weft.model import Kind, Reason
from weft.parse.robots import Robots
from weft.urls import target_of


def way(judged: Judged) -> str:
    """A way in which a URL was found, and what came of it."""
    kind = Kind(judged.found.kind).name.lower()
    says = "no rule refuses that" if judged.reason is None else f"refused: {judged.reason.value}"
    if judged.home:
        says = "that stands for the home page of its site (external)"
    return f"It is linked from {judged.source} ({kind}, depth {judged.found.depth}); {says}."


def cut(row: dict[str, Any]) -> str:
    """What to say of a content that is not whole."""
    if not row["truncated"]:
        return ""
    limit = {"length": " (--max-bytes-page)", "time": " (--timeout)"}.get(row["truncated"], f" ({row['truncated']})")
    return f", and cut at {row['bytes']:,} bytes{limit}"


def place(order: Order | None) -> str:
    """Where it stands among the pages that wait."""
    if order is None:
        return "after a pause"
    how = "were found before it" if order.score is None else f"come before its score of {order.score:.6g}"
    before = "the first of its site" if not order.on_site else f"behind {order.on_site:,} pages of its site"
    return f"{before}; {order.in_all:,} pages of all sites {how}"


def waits_in_network(network: str, politeness: Politeness) -> str:
    """That a site waits for a place in its network, and what is allowed there.

    >>> waits_in_network("192.0.2.0/24", Politeness(per_network=2, network_gap=0.5))[:62]
    'Its site waits for a place in its network, 192.0.2.0/24, where'
    """
    most = None if politeness.per_network is None else f"{politeness.per_network:,} connections at once (per_network)"
    gap = f"an opening every {politeness.network_gap:g} s (network_gap)" if politeness.network_gap else None
    allowed = " and ".join(each for each in (most, gap) if each is not None)
    return f"Its site waits for a place in its network, {network}, where all workers together may have {allowed}."


def basis(expected: Expected, order: Order, speed: Speed, wait: float, per_visit: int) -> str:
    """What an estimate is reckoned from."""
    site = f"{order.on_site:,} pages before it on its site, {per_visit} a visit, {wait:.3g} s between visits"
    crawl = "the speed of the crawl is not known"
    if expected.by_crawl is not None:
        crawl = f"{order.in_all:,} pages before it in all, at {speed.pages / speed.seconds:.3g} pages/s recently"
    return f"It is expected around {when(expected.at)}, if nothing better is found: {site}; {crawl}."


def named(reason: Reason, url: str = "", robots: Robots | None = None) -> str:
    """A reason in words; of robots.txt, the line that says so, if it still does."""
    if reason is Reason.ROBOTS and robots is not None:
        verdict = robots.verdict(target_of(url))
        if not verdict.allowed:
            return f"robots.txt line {verdict.line} disallows it: {verdict.rule} ({reason.value})"
    return f"{reason.doc} ({reason.value})"


def when(wall: float) -> str:
    """A wall time."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))
