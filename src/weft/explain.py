"""Why a URL was crawled or not, and when it will be. In: a crawl's directory and a URL. Out: the verdict and its
grounds.

Three sources are asked in turn: the rows of its fetches, the frontier's log (it waits, or was refused when its turn
came), and the rules themselves, evaluated again: a refusal of a rule is not written down. What whoever runs the crawl
has said since it began, in its scope and on its blacklist, is in the global frontier.

Rows and log are asked by the text of the URL. Where a page was found, and who links to it, is known by ids alone: where
several URLs have one id, which somebody may have arranged, all of them are named.
"""

from __future__ import annotations

import ipaddress
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.config import Settings
from weft.engine.robots import MOST_HOPS
from weft.frontier.blacklist import Blacklist
from weft.frontier.inspect import Ledger, Standing
from weft.frontier.scope import Scope
from weft.frontier.shared.opening import frontier_exists, open_frontier
from weft.frontier.sites import SiteMemory
from weft.model import FIRST_REQUISITE, Kind, Reason
from weft.parse.robots import parse_robots
from weft.store.reading import CrawlFiles
from weft.urls import fingerprint, host_of, literal_address, normal_form, origin_of, site_of, target_of

_CHAINED = (Kind.REDIRECT, Kind.MAP, *(each for each in Kind if each >= FIRST_REQUISITE))  # as deep as what leads there


@dataclass(slots=True, kw_only=True)
class Explanation:
    """The answer to why."""

    url: str
    verdict: str  # one sentence
    state: str  # fetched, failed, pending, retry, refused, unknown
    because: list[str] = field(default_factory=list)
    fetches: list[dict[str, Any]] = field(default_factory=list)
    rules: dict[str, str] = field(default_factory=dict)


def explain_url(out: Path, text: str) -> Explanation:
    """Say where a URL stands in a crawl, and why."""
    files = CrawlFiles(out)
    settings = Settings().with_file(out / "crawl.toml")
    url = normal_form(text, None, settings.urls)
    if type(url) is not str:
        return Explanation(url=text, state="refused", verdict=f"It is never crawled: {Reason.NOT_A_URL.doc} ({url}).")
    scope = _scope(out, settings)
    ledgers = [Ledger(path) for path in sorted(out.glob("workers/*/frontier.log"))]
    try:
        answer = _explain(url, files, settings, scope, ledgers)
        if answer.state == "unknown" and _waits(out, url):
            answer.state = "pending"
            answer.verdict = "It waits in the global frontier until a worker has room for its domain."
        return answer
    finally:
        for ledger in ledgers:
            ledger.close()


def _waits(out: Path, url: str) -> bool:
    if not frontier_exists(out):
        return False
    shared = open_frontier(out)
    try:
        return shared.waits(url)
    finally:
        shared.close()


def _scope(out: Path, settings: Settings) -> Scope:
    """The rules of a crawl, with what was said since it began."""
    scope = Scope(settings.selection)
    if frontier_exists(out):
        shared = open_frontier(out)
        try:
            scope.blacklist = Blacklist(shared.blacklist())
            for seed in shared.scope():
                scope.admit(seed)
        finally:
            shared.close()
    return scope


def _explain(url: str, files: CrawlFiles, settings: Settings, scope: Scope, ledgers: list[Ledger]) -> Explanation:
    rows = files.fetches(url)
    found = [(ledger, standing) for ledger in ledgers if (standing := ledger.standing(url)) is not None]
    again = bool(found) and found[0][1].state == "pending"  # it was fetched, and is to be fetched once more
    if rows and (rows[-1]["final"] or not found) and not again:
        return _fetched(url, rows, _origin(found[0][1], files) if found else None)
    if found:
        answer = _standing(url, *found[0], settings, scope.blacklist)
        answer.because.insert(0, _origin(found[0][1], files))
        answer.fetches = rows
        if answer.state != "refused" or Reason.SITE_FAILED.value in answer.verdict:
            answer.because += _out_of_reach(url, files, found[0][1].memory)
        return answer
    return _by_rules(url, files, scope, ledgers)


def _fetched(url: str, rows: list[dict[str, Any]], origin: str | None) -> Explanation:
    row = rows[-1]
    state = "fetched" if row["reason"] is None else "failed"
    if row["reason"] is None:
        verdict = f"It was fetched, with status {row['status']}{_cut(row)}."
    else:
        verdict = f"It failed: {Reason.named(row['reason']).doc} ({row['reason']})."
    answer = Explanation(url=url, state=state, verdict=verdict, fetches=rows)
    if row["redirect"]:
        answer.because.append(f"It redirects to {row['redirect']}.")
    if row["duplicate_of"]:
        answer.because.append("Its content was stored before, under another URL; a revisit record says so.")
    if origin is not None:
        answer.because.append(origin)
    return answer


def _cut(row: dict[str, Any]) -> str:
    """What to say of a content that is not whole."""
    if not row["truncated"]:
        return ""
    limit = {"length": " (--max-bytes-page)", "time": " (--timeout)"}.get(row["truncated"], f" ({row['truncated']})")
    return f", and cut at {row['bytes']:,} bytes{limit}"


def _standing(url: str, ledger: Ledger, standing: Standing, settings: Settings, blacklist: Blacklist) -> Explanation:
    because: list[str] = []
    memory = standing.memory
    no = _robots(url, ledger, settings) or _blacklisted(url, memory, blacklist)
    if standing.state == "refused":
        if no is None:  # its site was given up, or a rule named it that is gone
            given_up = memory is not None and memory.second_chance
            no = _named(Reason.SITE_FAILED if given_up else Reason.BLACKLISTED)
        return Explanation(
            url=url, state="refused", verdict=f"It was refused when its turn came: {no}.", because=because
        )
    if memory is not None and memory.set_aside:
        because.append("Its site kept failing and is set aside; it is tried once more when nothing else is left.")
    elif memory is not None:
        because.append(f"Its site may be visited again from {_when(memory.next_visit)} on.")
    if no is not None:
        because.append(f"When its turn comes it will be refused: {no}.")
    if standing.state == "retry" and standing.due is not None:
        verdict = f"It failed {standing.tries} times and will be tried again after {_when(standing.due)}."
        return Explanation(url=url, state="retry", verdict=verdict, because=because)
    verdict = f"It waits for its turn, behind {standing.ahead} pages of its site that were found before it."
    return Explanation(url=url, state="pending", verdict=verdict, because=because)


def _out_of_reach(url: str, files: CrawlFiles, memory: SiteMemory | None) -> list[str]:
    """Why its site could not be visited, as far as its robots.txt tells: that is asked for first."""
    robots = f"{origin_of(url)}/robots.txt"
    rows = files.fetches(robots)
    for _ in range(MOST_HOPS):  # it may lie elsewhere
        if not rows or rows[-1]["reason"] is not None or not rows[-1]["redirect"]:
            break
        robots = rows[-1]["redirect"]
        rows = files.fetches(robots)
    reason = rows[-1]["reason"] if rows else None
    if reason is None or reason == Reason.STATUS_4XX.value:
        return []
    tries = "" if memory is None or not memory.failures else f", after {memory.failures} failed visits in a row"
    return [f"Its site could not be visited{tries}: {_named(Reason.named(reason))}, when {robots} was asked for."]


def _by_rules(url: str, files: CrawlFiles, scope: Scope, ledgers: list[Ledger]) -> Explanation:
    """It is in no frontier: was it ever found, and what do the rules say?"""
    for ledger in ledgers:
        for seed in ledger.scope:
            scope.admit(seed)
    linked = files.linked_from(fingerprint(url))
    rows = [row for link in linked for row in files.rows(link.source)]
    sources = list(dict.fromkeys(row["url"] for row in rows))
    kind = Kind[linked[0].kind.upper()] if linked else Kind.A
    depth = min((row["depth"] + (kind not in _CHAINED) for row in rows), default=1)
    answers = list(scope.trace(url, kind, depth, _steps(kind, sources, ledgers)))
    if linked:
        answers.append((Reason.NOFOLLOW, all(link.nofollow for link in linked)))
    rules = {reason.value: "refuses" if refused else "agrees" for reason, refused in answers}
    reason = next((reason for reason, refused in answers if refused), None)
    because = [f"It is linked from {source}." for source in sources]
    if linked:
        others = [other for other in files.urls(fingerprint(url)) if other != url]
        because += [f"Links are known by ids, and {other} has the same: it may be what is linked." for other in others]
    if reason is not None:
        verdict = f"It is not crawled: {_named(reason)}."
        return Explanation(url=url, state="refused", verdict=verdict, because=because, rules=rules)
    site = site_of(url)
    known = sum(ledger.names.count(site) for ledger in ledgers)
    if linked and known:
        verdict = f"It was found but not taken: its site had reached its limit of pages ({Reason.SITE_PAGES.value}) "
        verdict += f"or its worker had no room left ({Reason.FRONTIER_FULL.value})."
        return Explanation(url=url, state="refused", verdict=verdict, because=because, rules=rules)
    verdict = "It has not been found on any page so far; no rule would refuse it."
    return Explanation(url=url, state="unknown", verdict=verdict, because=because, rules=rules)


def _steps(kind: Kind, sources: list[str], ledgers: list[Ledger]) -> int:
    """How far down a chain of its kind a URL is, by the shortest way: from these pages."""
    found = [standing.entry for ledger in ledgers for source in sources if (standing := ledger.standing(source))]
    longer = [entry.steps + 1 if entry.kind in _CHAINED else int(kind == Kind.REDIRECT) for entry in found]
    return min(longer, default=0)


def _origin(standing: Standing, files: CrawlFiles) -> str:
    kind, via = Kind(standing.entry.kind).name.lower(), standing.entry.via
    sources = files.urls(via, "pages") if via else []
    if not sources:
        return f"It is a {kind}." if kind == "seed" else f"It was named as a {kind}."
    return f"It was found first on {' or '.join(sources)} ({kind}), {standing.entry.depth} links away from a seed."


def _named(reason: Reason) -> str:
    return f"{reason.doc} ({reason.value})"


def _blacklisted(url: str, memory: SiteMemory | None, blacklist: Blacklist) -> str | None:
    """Does a rule of the blacklist name a URL, or the address where its site was visited last?"""
    site = site_of(url)
    address = literal_address(host_of(site)) or (literal_address(memory.address) if memory is not None else None)
    found = blacklist.names(url, site)
    if not found and address is not None:
        found = any(ipaddress.ip_address(address) in network for network in blacklist.ranges)
    return _named(Reason.BLACKLISTED) if found else None


def _robots(url: str, ledger: Ledger, settings: Settings) -> str | None:
    """Which line of robots.txt disallows a URL, if one does."""
    record = ledger.robots(site_of(url), "https" if url[4] == "s" else "http")
    if record is None or settings.selection.robots == "ignore":
        return None
    if record.body is None:
        return None if record.allowed else Reason.ROBOTS_UNREACHABLE.doc
    verdict = parse_robots(record.body, settings.identity.product).verdict(target_of(url))
    return None if verdict.allowed else f"robots.txt line {verdict.line} disallows it: {verdict.rule}"


def _when(wall: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))
