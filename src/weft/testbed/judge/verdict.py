"""Crawlers side by side, in numbers. In: a web, and for each crawler a name and a log. Out: what `--json` prints.

There is no score of all of it: who wants pages fast and who wants to be let in again weigh these differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.testbed.judge.evidence import Evidence, Known, gather
from weft.testbed.judge.manners import manners
from weft.testbed.judge.order import order, references
from weft.testbed.judge.robots import obedience
from weft.testbed.judge.worth import worth
from weft.testbed.standards import digest
from weft.testbed.web import Web
from weft.version import __version__


def judge(web: Web, logs: Mapping[str, Path], *, name: str = "", first: int | None = None) -> dict[str, Any]:
    """Judge the crawlers that left these logs, by all their requests or the first so many; `name` is the web's."""
    known = Known(web)
    crawlers = {crawler: _verdict(gather(crawler, path, known, first), known) for crawler, path in logs.items()}
    return {
        "version": __version__,
        "web": {
            "name": name,
            "sites": web.graph.sites,
            "pages": web.graph.pages,
            "seed": web.seed,
            "digest": digest(web),
            "could": len(known.pages),
            "hazards": len(web.played),
        },
        "first": first,
        "references": references(known),
        "crawlers": crawlers,
    }


def _verdict(evidence: Evidence, known: Known) -> dict[str, Any]:
    found, had = worth(evidence, known)
    requests = len(evidence.requests)
    seconds = evidence.seconds
    agents = {request.entry.agent for request in evidence.requests}
    return {
        "requests": requests,
        "bytes": sum(request.entry.size for request in evidence.requests),
        "seconds": round(seconds, 3),
        "requests_a_second": round(requests / seconds, 2) if seconds else None,
        "agents": sorted(agents)[:5],
        "cut": evidence.cut,
        "worth": found,
        "manners": manners(evidence),
        "robots": obedience(evidence),
        "order": order(evidence, known, had),
    }
