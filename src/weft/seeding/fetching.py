"""One request for each seed, by a crawl of exactly these. In: seeds that look usable. Out: the same with the status of
their answer and where it leads, or why there was none.

It is a crawl like any other, with a list for a scope, so that robots.txt, waits, domains and addresses are respected by
the same code; nothing is followed, no redirect either, and nothing is tried again. Its directory is a temporary one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from weft.config import Settings
from weft.directory import Plan
from weft.model import Reason
from weft.seeding.checking import Checked, Report, report_of
from weft.seeding.outcomes import Outcome, seeds_report

Crawl = Callable[[Plan], object]
"""Runs a crawl to its end."""

_ONCE: dict[str, Any] = {
    "scope": "list",
    "include": [],
    "max_depth": 0,
    "max_depth_dynamic": 0,
    "max_redirects": 0,
    "sitemaps": False,
    "requisites": False,
    "retry_pauses": [],
    "workers": 1,
    "ordering": "breadth-first",
    "frontier": "",
    "application": "",
    "stage": [],
    "sync": False,
}


def fetch_seeds(report: Report, settings: Settings, crawl: Crawl) -> Report:
    """The same report with what came of one request for each usable seed."""
    urls = report.usable()
    if not urls:
        return report
    settings = settings.with_values(_ONCE, where="weft seeds check")
    with tempfile.TemporaryDirectory(prefix="weft-seeds-") as folder:
        plan = Plan(seeds=urls, out=Path(folder) / "crawl", settings=settings)
        crawl(plan)
        outcomes = {each.url: each for each in seeds_report(plan.out).all}
    return report_of([_with(each, outcomes) for each in report.all])


def _with(seed: Checked, outcomes: dict[str, Outcome]) -> Checked:
    if seed.verdict != "usable" or seed.url is None:
        return seed
    found = outcomes[seed.url]
    seed = msgspec.structs.replace(seed, status=found.status, redirect=found.redirect)
    if found.outcome in ("fetched", "redirected"):
        return seed
    if found.reason is None:  # somebody stopped it
        return msgspec.structs.replace(seed, verdict="unusable", because="It was not asked for: the run ended before.")
    reason = Reason.named(found.reason)
    because = f"{reason.doc[:1].upper()}{reason.doc[1:]}."
    return msgspec.structs.replace(seed, verdict="unusable", reason=reason.value, because=because)
