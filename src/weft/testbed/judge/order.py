"""How soon a crawler had what matters. In: the pages that were had. Out: PageRank gathered, by requests and by time.

PageRank is that of the whole graph, as a share of what could be had. Held against it are the breadth-first order, in
which `truth` walks the web, and the best order there is, by PageRank itself, which no crawler can know; both fetch
nothing but good pages, each once (P1 and P0 compare orderings by the same two).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.testbed.judge.evidence import Evidence, Known, Request

POINTS = 200
"""Of a curve."""
_MOMENTS = (0.1, 0.25, 0.5, 0.75, 1.0)

Curve = NDArray[np.float64]


def order(evidence: Evidence, known: Known, had: dict[int, Request]) -> dict[str, Any]:
    """What was gathered with so many pages, requests and seconds."""
    first = sorted(had, key=lambda page: had[page].entry.last_byte)
    ours = np.cumsum(known.worth[np.array(first, dtype=np.int64)])
    breadth_first = np.cumsum(known.worth[known.pages])
    best = np.cumsum(np.sort(known.worth[known.pages])[::-1])
    number = {id(request): place for place, request in enumerate(evidence.requests, 1)}
    requests = np.array([number[id(had[page])] for page in first], dtype=np.float64)
    seconds = np.array([had[page].entry.last_byte - evidence.began for page in first])
    return {
        "pages": len(first),
        "gathered": _last(ours),
        "average": _average(ours, len(first)),
        "average_breadth_first": _average(breadth_first, len(first)),
        "average_best": _average(best, len(first)),
        "at": [_moment(share, round(share * len(known.pages)), ours, breadth_first, best) for share in _MOMENTS],
        "by_requests": _points(requests, ours),
        "by_seconds": _points(seconds, ours),
        "by_pages": _points(np.arange(1.0, len(ours) + 1), ours),
    }


def references(known: Known) -> dict[str, Any]:
    """The curves that those of crawlers are held against."""
    pages = np.arange(1.0, len(known.pages) + 1)
    return {
        "breadth_first": _points(pages, np.cumsum(known.worth[known.pages])),
        "best": _points(pages, np.cumsum(np.sort(known.worth[known.pages])[::-1])),
    }


def _moment(share: float, pages: int, ours: Curve, breadth_first: Curve, best: Curve) -> dict[str, Any]:
    """What each has after so many good pages; None of a crawler that did not come so far."""
    there = max(1, pages) - 1
    reached = there < len(ours)
    return {
        "share": share,
        "pages": pages,
        "gathered": round(float(ours[there]), 4) if reached else None,
        "breadth_first": round(float(breadth_first[there]), 4),
        "best": round(float(best[there]), 4),
    }


def _average(curve: Curve, pages: int) -> float | None:
    """The mean of what was gathered with the first 1, 2, … pages (P1)."""
    return round(float(curve[:pages].mean()), 4) if pages else None


def _last(curve: Curve) -> float:
    return round(float(curve[-1]), 4) if len(curve) else 0.0


def _points(x: Curve, y: Curve) -> list[tuple[float, float]]:
    """A curve with so few points that it can be drawn, its end among them."""
    places = np.unique(np.linspace(0, len(x) - 1, min(POINTS, len(x))).astype(np.int64))
    return [(round(float(x[place]), 3), round(float(y[place]), 5)) for place in places]
