"""A continuous crawl of a web that changes. In: `Moving`, a policy, the terms. Out: `Continuous`: what came of it.

This room plays the web and the clock, and nothing else: what is fetched when is decided by `weft.revisit`, as in a
crawl. Fetches have three lanes. *Hubs* are polled for births, by a policy of their own; *new* pages, which hubs list,
are fetched for the first time; *known* pages are fetched again by the policy that is tried. Each lane has its share of
the capacity, and what one does not need is for the others.

Time goes in steps of some minutes. A fetch takes place when it is due; what capacity or a site's wait does not allow in
one step is done in the next ones, the longest overdue first.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.revisit.bounds import Bounds, Intervals
from weft.revisit.contract import Numbers, Policy
from weft.revisit.deciding import Revisits
from weft.revisit.feasibility import capacity_of, examine
from weft.revisit.freshest import Freshest
from weft.revisit.hours import hours_of
from weft.settings import setting
from weft.sim.lanes import Lanes
from weft.sim.moving import Moving
from weft.sim.staleness import Staleness

NOT_MODIFIED = 300.0  # bytes of an answer that says that nothing has changed
_HOUR = 1 / 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Settings of a continuous crawl."""

    fetches_a_day: float = setting(0.0, "capacity: fetches a day; 0: one for every ten pages", at_least=0)
    hub_share: float = setting(0.1, "share of the capacity for hubs, where new pages are found", at_least=0, at_most=1)
    new_share: float = setting(
        0.3, "share of the capacity for new pages, as far as there are any", at_least=0, at_most=1
    )
    wait: float = setting(15.0, "seconds between two visits to a site (w)", at_least=0, unit="seconds")
    per_visit: int = setting(1, "pages fetched on one connection (k)", at_least=1)
    least_interval: float = setting(3_600.0, "a page is left alone at least so long", at_least=0, unit="seconds")
    most_interval: float = setting(
        np.inf, "a page is fetched again at the latest after so long", above=0, at_most=np.inf, unit="seconds"
    )
    known_rates: bool = setting(False, "rates are those of the world, as an oracle knows them, and not learned")
    hour_profile: bool = setting(True, "hubs are polled more often in hours in which more is published")
    replan: float = setting(86_400.0, "time between two plans", above=0, unit="seconds")
    warm_up: float = setting(7.0, "days at the beginning that are not measured", at_least=0)
    headroom: float = setting(
        0.02, "share of the capacity that plans leave free, so that no queue grows", at_least=0, at_most=0.9
    )
    step: float = setting(900.0, "length of a step of the simulation", above=0, at_most=86_400, unit="seconds")
    seed: int = setting(1, "number that decides about everything that is left to chance", at_least=0)

    def check(self) -> None:
        """Refuse what cannot be simulated."""
        if self.hub_share + self.new_share >= 1:
            raise UsageError(
                f"hubs and new pages together have {self.hub_share + self.new_share:g} of the capacity",
                todo="leave something for known pages: give a smaller --hub-share or --new-share",
            )


@dataclass(frozen=True, slots=True)
class Continuous:
    """What came of a continuous crawl."""

    policy: str
    measures: dict[str, Any]
    by_day: Numbers  # at each plan: the day, the share of fresh copies, their mean age, fetches of known pages so far
    delays: Numbers  # of temporal pages, in hours, from birth to storage; infinite: never stored
    terms: dict[str, Any]
    warnings: list[str]


class Crawl:
    """A crawl that goes on and on."""

    def __init__(self, web: Moving, policy: Policy, hub_policy: Policy, terms: Terms) -> None:
        terms.check()
        self._web, self._terms = web, terms
        self._rng = np.random.default_rng(terms.seed)
        levels = [web.site, web.folder]
        self.pages, self.hubs = Revisits(policy, levels), Revisits(hub_policy, levels)
        many = web.pages
        self._per_day = terms.fetches_a_day or many / 10
        self._known = web.born <= 0
        self._asleep = np.zeros(many, np.bool_)  # gone, and noticed
        self._last = np.where(self._known, 0.0, np.inf)
        self._due = np.full(many, np.inf)
        self._listed = np.zeros(many, np.int64)  # by hub: births that it was seen to list, or that were missed
        hubs = np.flatnonzero(web.hub)
        for hub in hubs.tolist():
            self._listed[hub] = np.count_nonzero(
                web.born[web.listed[web.listed_from[hub] : web.listed_from[hub + 1]]] <= 0
            )
        self._queue: list[int] = []
        rest = 1 - terms.hub_share - terms.new_share
        self._lanes = Lanes(self._per_day * np.array([terms.hub_share, terms.new_share, rest]))
        self._stored = np.where(self._known, 0.0, np.inf)
        self._sites = int(web.site.max(initial=-1)) + 1
        self._capacity = capacity_of(web.site, np.full(self._sites, terms.wait), terms.per_visit)
        self._tokens = np.zeros(self._sites)
        self._bounds = Bounds.none(many).by(
            np.zeros(many, np.int32),
            Intervals(np.array([terms.least_interval / 86_400]), np.array([terms.most_interval / 86_400])),
        )
        self._staleness = Staleness(web, min(terms.warm_up, web.days / 2))
        self._count = dict.fromkeys(("hubs", "new", "known", "unchanged", "gone", "found"), 0)
        self._bytes = 0.0
        self._new_lately = 0.0  # fetches a day of new pages
        self._hub_weight: Numbers | float = 1.0
        self._heard = np.zeros(0)  # times of births that were heard of before the beginning
        self.warnings: list[str] = []
        self.never = 0
        self._by_day: list[tuple[float, float, float, int]] = []

    def recall(self, hubs: NDArray[Any], days: float, births: Numbers, share: Numbers, times: Numbers) -> None:
        """What was known of hubs before: births in so many days, the share of them that is wanted, and their times.

        `weft temporal` finds it in logs. What polls bring is learned beside it.
        """
        self.hubs.evidence.add_counts(hubs, np.full(len(hubs), days), births)
        self._hub_weight = np.ones(self._web.pages)
        self._hub_weight[hubs] = share
        self._heard = times

    # The clock.

    def run(self) -> Continuous:
        """Crawl to the end."""
        step, replan = self._terms.step / 86_400, self._terms.replan / 86_400
        next_plan, now, new_before = 0.0, 0.0, 0
        while now < self._web.days - 1e-9:
            if now >= next_plan - 1e-9:
                if now:
                    self._new_lately = (self._count["new"] - new_before) / replan
                    new_before = self._count["new"]
                self._replan(now)
                next_plan += replan
            self._step(now, min(now + step, self._web.days))
            now += step
        held = np.flatnonzero(self._known & np.isfinite(self._last) & ~self._asleep & ~self._web.hub)
        self._staleness.add(held, self._last[held], np.full(len(held), self._web.days))
        return self._result()

    def _replan(self, now: float) -> None:
        """Plan for hubs and for pages with what they have."""
        terms, web = self._terms, self._web
        room = self._per_day * (1 - terms.headroom)
        hubs = self._known & web.hub & ~self._asleep
        pages = self._known & ~web.hub & ~self._asleep & np.isfinite(self._last)
        rates = web.rate if terms.known_rates else None
        births = np.concatenate([self._heard, self._web.born[(self._web.born > 0) & (self._stored <= now)]])
        if terms.hour_profile and len(births):
            self.hubs.hours = hours_of(births)
        hub_budget = terms.hub_share * room if hubs.any() else 0.0
        if hubs.any():
            self.hubs.replan(hubs, hub_budget, rates, self._hub_weight, self._bounds)
        new = min(self._new_lately, terms.new_share * room) if now else 0.0
        budget = room - hub_budget - new
        plan = self.pages.replan(pages, budget, rates, web.weight, self._bounds, self._capacity)
        self.never = int(((plan.frequency == 0) & (web.rate[pages] > 0)).sum())
        held = np.flatnonzero(pages)
        old = np.maximum(now - web.next_change(held, self._last[held]), 0.0)
        mean = (float((old == 0).mean()), float(old.mean())) if len(held) else (np.nan, np.nan)
        self._by_day.append((now, *mean, self._count["known"]))
        if not now:
            self.warnings += examine(
                self._bounds.only(pages), type(self._capacity)(web.site[pages], self._capacity.most), budget
            ).warnings()
        for lane, revisits in ((hubs, self.hubs), (pages, self.pages)):
            those = np.flatnonzero(lane)
            draw = self._rng.random(len(those))
            due = revisits.due_anew(those, self._last[those], now, draw)
            if not now and revisits.policy.kind == "periodic":
                # Every page is somewhere within its interval, and was fetched before the beginning.
                self._last[those] = np.where(np.isfinite(due), -due * draw, 0.0)
                due += self._last[those]
            self._due[those] = due

    def _step(self, begin: float, end: float) -> None:
        """What is due, as far as capacity and sites allow."""
        web = self._web
        tokens = self._per_day * (end - begin)
        self._tokens = np.minimum(self._tokens, 1.0) + self._capacity.most * (end - begin)
        due = np.flatnonzero(self._due < end)
        due = due[np.argsort(self._due[due], kind="stable")]
        hubs, known = due[web.hub[due]], due[~web.hub[due]]
        wanted = (hubs, np.array(self._queue, np.int64), known)
        given = self._lanes.give(tokens, [len(each) for each in wanted])
        for lane, (pages, many) in enumerate(zip(wanted, given, strict=True)):
            chosen = self._allowed(pages[:many])
            if not len(chosen):
                continue
            # What had to wait is done at any time of the step.
            some_time = begin + self._rng.random(len(chosen)) * (end - begin)
            due = self._due[chosen]
            (self._poll, self._store, self._fetch)[lane](chosen, np.where((due >= begin) & (due < end), due, some_time))

    def _allowed(self, pages: NDArray[Any]) -> NDArray[Any]:
        """Those that their sites' waits allow in this step, in their order."""
        site = self._web.site[pages]
        order = np.argsort(site, kind="stable")
        ranked = site[order]
        rank = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
        allowed = np.zeros(len(pages), np.bool_)
        allowed[order] = rank < np.floor(self._tokens[ranked])
        chosen = pages[allowed]
        self._tokens -= np.bincount(self._web.site[chosen], minlength=self._sites)
        return chosen

    # The web.

    def _poll(self, hubs: NDArray[Any], times: Numbers) -> None:
        """Look at hubs, and find what they list."""
        web = self._web
        counts = np.zeros(len(hubs))
        for at, (hub, time) in enumerate(zip(hubs.tolist(), times.tolist(), strict=True)):
            first = web.listed_from[hub]
            listed = web.listed[first : web.listed_from[hub + 1]]
            born = int(np.searchsorted(web.born[listed], time, side="right"))
            counts[at] = born - self._listed[hub]
            seen = listed[max(int(self._listed[hub]), born - web.shown) : born]
            self._listed[hub] = born
            for page in seen.tolist():
                if not self._known[page] and web.gone[page] > time:
                    self._known[page] = True
                    self._queue.append(page)
                    self._count["found"] += 1
        self._count["hubs"] += len(hubs)
        self._bytes += float(np.where(web.conditional[hubs] & (counts == 0), NOT_MODIFIED, web.size[hubs]).sum())
        self.hubs.evidence.add_counts(hubs, times - np.maximum(self._last[hubs], 0.0), counts)
        self._again(hubs, times, self.hubs)

    def _store(self, pages: NDArray[Any], times: Numbers) -> None:
        """Fetch new pages for the first time."""
        gone = set(pages.tolist())
        self._queue = [page for page in self._queue if page not in gone]
        self._count["new"] += len(pages)
        self._bytes += float(self._web.size[pages].sum())
        there = self._web.gone[pages] > times
        self._stored[pages[there]] = times[there]
        self._asleep[pages[~there]] = True
        self._again(pages[there], times[there], self.pages)

    def _fetch(self, pages: NDArray[Any], times: Numbers) -> None:
        """Fetch known pages again."""
        web, last = self._web, self._last[pages]
        self._staleness.add(pages, last, times)
        changed = web.next_change(pages, last) <= times
        gone = web.gone[pages] <= times
        self._count["known"] += len(pages)
        self._count["unchanged"] += int((~changed).sum())
        self._count["gone"] += int(gone.sum())
        self._bytes += float(np.where(web.conditional[pages] & ~changed | gone, NOT_MODIFIED, web.size[pages]).sum())
        self.pages.learn(pages[~gone], (times - np.maximum(last, 0.0))[~gone], changed[~gone])
        self._asleep[pages[gone]] = True
        self._due[pages[gone]] = np.inf
        self._again(pages[~gone], times[~gone], self.pages)

    def _again(self, pages: NDArray[Any], times: Numbers, revisits: Revisits) -> None:
        self._last[pages] = times
        self._due[pages] = revisits.due(pages, times, self._rng.random(len(pages)))

    # What came of it.

    def _result(self) -> Continuous:
        web, terms = self._web, self._terms
        begin = min(terms.warm_up, web.days / 2)
        news = np.flatnonzero(web.temporal & ~web.hub & (web.born >= begin) & (web.born < web.days - 1))
        delays = (self._stored[news] - web.born[news]) / _HOUR
        stored = np.isfinite(delays)
        alive = ~web.hub & (web.born <= web.days) & (web.gone > web.days)
        measures: dict[str, Any] = {
            **self._staleness.measures(),
            "temporal_pages": len(news),
            "mean_delay_hours": float(delays[stored].mean()) if stored.any() else None,
            "within_1h": float((delays <= 1).mean()) if len(news) else None,
            "within_6h": float((delays <= 6).mean()) if len(news) else None,
            "never_stored": float((~stored).mean()) if len(news) else None,
            "held": float((np.isfinite(self._stored) & alive).sum() / max(1, alive.sum())),
            "requests": self._count["hubs"] + self._count["new"] + self._count["known"],
            "requests_by_lane": {name: self._count[name] for name in ("hubs", "new", "known")},
            "unchanged": self._count["unchanged"] / max(1, self._count["known"]),
            "gone": self._count["gone"],
            "bytes": self._bytes,
            "waiting_at_end": len(self._queue),
            "never_fetched_again": self.never if isinstance(self.pages.policy, Freshest) else 0,
        }
        return Continuous(
            self.pages.policy.name, measures, np.array(self._by_day), delays, asdict(terms), self.warnings
        )
