"""Where a URL stands in a crawl. In: what its files say. Out: the verdict and its grounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from weft.config import Settings
from weft.engine.gate import Gate
from weft.engine.robots import MOST_HOPS
from weft.explain.ways import Columns, Judged, Ways, robots_of
from weft.explain.words import basis, cut, named, place, waits_in_network, way, when
from weft.frontier.durable.inspect import Ledger, Order, Standing
from weft.frontier.durable.memory import SiteMemory
from weft.frontier.expecting import Expected, expect
from weft.frontier.politeness import wait_after
from weft.frontier.rules import FOUND, TURN, Waiting, answers, first_refusal
from weft.frontier.scope import Scope
from weft.frontier.traps import family_of
from weft.model import Kind, Reason
from weft.parse.robots import Robots
from weft.urls import fingerprint, host_of, literal_address, origin_of, site_of


@dataclass(slots=True, kw_only=True)
class Explanation:
    """The answer to why a URL was, or was not, crawled: a verdict, its grounds, and what is expected."""

    url: str
    verdict: str  # one sentence
    state: str  # fetched, failed, pending, retry, refused, unknown
    reason: str | None = None  # of a failure or a refusal, from the list of reasons
    because: list[str] = field(default_factory=list)
    fetches: list[dict[str, Any]] = field(default_factory=list)
    rules: dict[str, str] = field(default_factory=dict)
    order: Order | None = None  # of a page that waits: what comes before it
    expected: Expected | None = None  # and when it will be fetched, in seconds since 1970


class Explainer:
    """Answers for one crawl, as of the last commits of its workers."""

    def __init__(
        self,
        files: Columns,
        settings: Settings,
        scope: Scope,
        ledgers: list[Ledger],
        *,
        seeds: Iterable[str] = (),
        now: float,
    ) -> None:
        self._files = files
        self._settings = settings
        self._scope = scope
        self._ledgers = ledgers
        self._now = now
        seeds = set(seeds)
        self.ways = Ways(files, settings, scope, ledgers, seeds=seeds, now=now)
        self._gate = Gate(settings.identity, [host_of(site_of(seed)) for seed in seeds])
        self._gate.forbid(scope.blacklist.ranges)
        for ledger in ledgers:
            for seed in ledger.scope:
                scope.admit(seed)

    def explain(self, url: str) -> Explanation:
        """Say where a URL in normal form stands, and why."""
        rows = self._files.fetches(url)
        found = [(ledger, standing) for ledger in self._ledgers if (standing := ledger.standing(url)) is not None]
        again = bool(found) and found[0][1].state == "pending"  # it was fetched, and is to be fetched once more
        if rows and (rows[-1]["final"] or not found) and not again:
            return _fetched(url, rows, self._origin(found[0][1]) if found else None)
        if not found:
            return self._by_rules(url)
        ledger, standing = found[0]
        if standing.state == "done":
            return Explanation(url=url, state="fetched", verdict="It is done; the row of its fetch is not written yet.")
        answer = self._refused(url, ledger, standing) if standing.reason else self._waiting(url, ledger, standing)
        answer.because.insert(0, self._origin(standing))
        answer.fetches = rows
        if answer.state != "refused" or answer.reason == Reason.SITE_FAILED.value:
            answer.because += self._out_of_reach(url, standing.memory)
        return answer

    # What the frontier knows.

    def _refused(self, url: str, ledger: Ledger, standing: Standing) -> Explanation:
        """It had a place in the frontier, and was refused when its turn had come."""
        reason = Reason.named(standing.reason)
        verdict = f"It was refused when its turn came: {named(reason, url, self._robots(url, ledger))}."
        return Explanation(url=url, state="refused", verdict=verdict, reason=reason.value)

    def _waiting(self, url: str, ledger: Ledger, standing: Standing) -> Explanation:
        """It is pending, or is to be tried again."""
        memory, because = standing.memory, list[str]()
        reason = self.turn_refusal(url, ledger, memory) or self._address_refusal(url, memory)
        if memory is not None and memory.set_aside:
            because.append("Its site kept failing and is set aside; it is tried once more when nothing else is left.")
        elif memory is not None:
            because.append(f"Its site may be visited again from {when(memory.next_visit)} on.")
            if memory.network and self._settings.politeness.by_network:
                because.append(waits_in_network(memory.network, self._settings.politeness))
        answer = Explanation(url=url, state=standing.state, verdict="", because=because, order=standing.order)
        if reason is not None:
            because.append(f"When its turn comes it will be refused: {named(reason, url, self._robots(url, ledger))}.")
        if standing.state == "retry" and standing.due is not None:
            answer.verdict = f"It failed {standing.tries} times and will be tried again after {when(standing.due)}."
        else:
            answer.verdict = f"It waits for its turn, {place(standing.order)}."
        if standing.shelved:
            answer.verdict = (
                "It waits on the shelf: its worker has put the domain away to save memory, and takes it back when its "
                "turn comes."
            )
        if standing.order is not None and reason is None and not (memory is not None and memory.set_aside):
            answer.expected, said = self._expect(url, ledger, standing, standing.order)
            because.append(said)
        return answer

    def turn_refusal(self, url: str, ledger: Ledger, memory: SiteMemory | None) -> Reason | None:
        """What the rules will say when the turn of a page has come, by what is known now."""
        site = site_of(url)
        page = Waiting(
            url=url,
            site=site,
            settings=self._scope.overrides.of(site),
            robots=self._robots(url, ledger),
            strikes=0 if memory is None else memory.strikes,
            copies=0 if memory is None else memory.copies,
            sent=0 if memory is None else memory.sent,
            spent=0.0 if memory is None else memory.spent,
            share=0.0 if memory is None else memory.share,
            barren=0 if memory is None else memory.families.get(family_of(url), 0),
        )
        return first_refusal(TURN, self._scope, page)

    def _address_refusal(self, url: str, memory: SiteMemory | None) -> Reason | None:
        """What the gate will say of the address of a page's site, as far as that is known."""
        address = literal_address(host_of(site_of(url))) or (literal_address(memory.address) if memory else None)
        return None if address is None else self._gate.refusal(address)

    def _robots(self, url: str, ledger: Ledger) -> Robots | None:
        return robots_of(url, ledger, self._settings.identity.product)

    def _expect(self, url: str, ledger: Ledger, standing: Standing, order: Order) -> tuple[Expected, str]:
        """When it will be fetched, and what that is reckoned from."""
        politeness, memory = self._settings.politeness, standing.memory
        own = self._scope.overrides.of(site_of(url))
        robots = self._robots(url, ledger)
        delay = robots.crawl_delay if robots is not None and self._scope.obeys(own) else None
        took = 0.0 if memory is None else memory.took
        wait = wait_after(politeness, took, delay, own.wait, standing.site_pages)
        per_visit = 1 if delay is not None else own.per_visit or politeness.per_visit
        speed = ledger.speed()
        expected = expect(
            on_site=order.on_site,
            in_all=order.in_all,
            now=self._now,
            rests_until=max(0.0 if memory is None else memory.next_visit, standing.due or 0.0),
            wait=wait,
            per_visit=per_visit,
            took=took,
            speed=speed.pages / speed.seconds if speed.seconds and speed.pages else None,
        )
        return expected, basis(expected, order, speed, wait, per_visit)

    def _origin(self, standing: Standing) -> str:
        kind, via = Kind(standing.entry.kind).name.lower(), standing.entry.via
        sources = self._files.urls(via, "pages") if via else []
        if not sources:
            return f"It is a {kind}." if kind == "seed" else f"It was named as a {kind}."
        return f"It was found first on {' or '.join(sources)} ({kind}), {standing.entry.depth} links away from a seed."

    def _out_of_reach(self, url: str, memory: SiteMemory | None) -> list[str]:
        """Why its site could not be visited, as far as its robots.txt tells: that is asked for first."""
        robots = f"{origin_of(url)}/robots.txt"
        rows = self._files.fetches(robots)
        for _ in range(MOST_HOPS):  # it may lie elsewhere
            if not rows or rows[-1]["reason"] is not None or not rows[-1]["redirect"]:
                break
            robots = rows[-1]["redirect"]
            rows = self._files.fetches(robots)
        reason = rows[-1]["reason"] if rows else None
        if reason is None or reason == Reason.STATUS_4XX.value:
            return []
        tries = "" if memory is None or not memory.failures else f", after {memory.failures} failed visits in a row"
        return [f"Its site could not be visited{tries}: {named(Reason.named(reason))}, when {robots} was asked for."]

    # What the rules say.

    def _by_rules(self, url: str) -> Explanation:
        """It is in no frontier: was it ever found, and what do the rules say?"""
        judged = self.ways.judge(url)
        best = _best(judged)
        said = answers(FOUND, self._scope, best.found)
        refusing = {each for each, refused in said if refused}
        because = [way(each) for each in judged if each.source]
        others = [other for other in self._files.urls(fingerprint(url)) if other != url] if because else []
        because += [f"Links are known by ids, and {other} has the same: it may be what is linked." for other in others]
        answer = Explanation(url=url, state="refused", verdict="", because=because)
        answer.rules = {each.value: "refuses" if each in refusing else "agrees" for each, _ in said}
        if best.reason is Reason.DUPHOST:
            because.append(f"The same page of its original is asked for in its place: {self._scope.original(url)}.")
        if best.home:
            answer.verdict = "It is not crawled: links to other sites stand for their home pages (external)."
        elif best.reason is not None:
            answer.verdict, answer.reason = f"It is not crawled: {named(best.reason)}.", best.reason.value
        elif not because and best.found.kind != Kind.SEED:
            answer.state = "unknown"
            answer.verdict = "It has not been found on any page so far; no rule would refuse it."
        elif best.found.room.new_site:
            answer.verdict = f"It was found and not taken, though no rule refuses it now: {named(Reason.PAGE_SITES)}, "
            answer.verdict += "or it is on its way to its worker."
        else:
            answer.verdict = "It was found and not taken, though no rule refuses it now: the rules were others then, "
            answer.verdict += "an application chooses what is asked for, or it was found since the last commit."
        return answer


_REASONS: list[Reason | None] = [*(rule.reason for rule in FOUND), None]


def _best(judged: list[Judged]) -> Judged:
    """The way that got furthest: it says what would have to be otherwise."""
    return max(judged, key=lambda each: (not each.home, _REASONS.index(each.reason)))


def _fetched(url: str, rows: list[dict[str, Any]], origin: str | None) -> Explanation:
    row = rows[-1]
    state = "fetched" if row["reason"] is None else "failed"
    if row["reason"] is None:
        verdict = f"It was fetched, with status {row['status']}{cut(row)}."
    else:
        verdict = f"It failed: {named(Reason.named(row['reason']))}."
    answer = Explanation(url=url, state=state, verdict=verdict, reason=row["reason"], fetches=rows)
    if row["redirect"]:
        answer.because.append(f"It redirects to {row['redirect']}.")
    if row.get("duplicate_in"):
        answer.because.append(f"Its content is in an earlier crawl ({row['duplicate_in']}); a revisit record says so.")
    elif row["duplicate_of"]:
        answer.because.append("Its content was stored before, under another URL; a revisit record says so.")
    if origin is not None:
        answer.because.append(origin)
    return answer
