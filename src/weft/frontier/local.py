"""The local frontier: one worker's sites and pages. In: links and outcomes. Out: visits and turns, when they are
allowed.

It decides and never waits: `visit` says which site may be visited now, `next_event` when to ask again. Time comes
from the clock it is given, so the same code runs live and on a virtual clock. When which site is `Schedule`'s
business, links become pages in `Discovery`, and what must outlive the process is in the log.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.clock import Clock
from weft.compiled import reserve
from weft.frontier.blacklist import Blacklist
from weft.frontier.contract import (
    BEING_CRAWLED,
    CRAWLED,
    SET_ASIDE,
    Batch,
    Begun,
    Link,
    Message,
    Orders,
    Parcel,
    Report,
)
from weft.frontier.correspondence import Correspondence
from weft.frontier.discovery import Discovery
from weft.frontier.holdings import Holdings
from weft.frontier.log import Commit, FrontierLog, Replayed
from weft.frontier.oracle import Oracle
from weft.frontier.pace import Pace
from weft.frontier.parcels import DONE, PENDING, REFUSED, Content, pages_of, unpacked
from weft.frontier.past import GONE, Past
from weft.frontier.politeness import Politeness
from weft.frontier.ranking import Ranking
from weft.frontier.schedule import Schedule, Visit
from weft.frontier.scope import Scope, Selection
from weft.frontier.seen import Seen, restore
from weft.frontier.sites import Errand, Overrides, RobotsRecord, Site
from weft.model import FIRST_REQUISITE, Kind, Reason, Turn
from weft.ordering import Ordering, Scored
from weft.ordering.heaps import TwoLevelHeap, push_all
from weft.ordering.reranking import Reranking
from weft.settings import setting
from weft.store.files import Mark
from weft.urls import UrlRules, fingerprints, normal_form, registered_domain, site_of, target_of

_AT_ONCE = 1 << 20  # pages put back in one go
_MOST_REFUSALS = 500  # by robots.txt in one go, so that a long queue of forbidden pages does not stop the loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """What is tried again."""

    retry_pauses: tuple[float, ...] = setting(
        (60.0, 600.0), "seconds before the second, third … try of a page or site that failed; none: no retries"
    )


class LocalFrontier:
    """One worker's frontier."""

    def __init__(  # noqa: PLR0913
        self,
        *,
        path: Path,
        clock: Clock,
        ordering: Ordering,
        politeness: Politeness,
        selection: Selection,
        retries: Retries,
        overrides: Overrides,
        rules: UrlRules,
        agent: str,
        note: Callable[[int, str], None] = lambda _id, _url: None,
        reranking: Reranking | None = None,
        oracle: Oracle | None = None,
        seed: int = 0,
        capacity: int = 1 << 27,
    ) -> None:
        self._clock = clock
        self._politeness = politeness
        self._selection = selection
        self._pauses = retries.retry_pauses
        self._overrides = overrides
        self._rules = rules
        self._agent = agent
        self._sites: dict[int, Site] = {}
        self._heaps = TwoLevelHeap(
            pages=capacity, sites=capacity >> 3, scored=ordering.scored, by_size=ordering.by_size
        )
        self._seen = Seen(capacity, capacity >> 3, self._heaps)
        self._ranking = (
            Ranking(
                ordering,
                self._heaps,
                self._seen,
                terms=reranking or Reranking(),
                oracle=oracle or Oracle(),
                seed=seed,
                out_of_reach=self._out_of_reach,
            )
            if isinstance(ordering, Scored)
            else None
        )
        self._log = FrontierLog(path)
        self.scope = Scope(selection)
        self.holdings = Holdings()
        self.found = Discovery(
            seen=self._seen,
            heaps=self._heaps,
            log=self._log,
            scope=self.scope,
            selection=selection,
            rules=rules,
            overrides=overrides,
            holdings=self.holdings,
            note=note,
            score_for_others=None if self._ranking is None else self._ranking.for_others,
        )
        self.schedule = Schedule(
            self._heaps, politeness, self.site, lambda number: int(self._seen.arrays.found[number])
        )
        self._attempts: dict[int, int] = {}  # by page: tries so far, of those that will be or were tried again
        self.refused: Counter[Reason] = Counter()
        self.pace = Pace()
        self.allowance: int | None = None  # pages that may be fetched in all; their parts do not count
        self.spent = 0  # pages fetched or being fetched
        # Since the last commit.
        self._settled = array("I")
        self._dropped = array("I")
        self._delayed: list[tuple[int, int, float]] = []
        self._robots: list[tuple[int, str, bytes]] = []
        self._admitted: list[str] = []
        self._changed: set[int] = set()
        self._left: list[int] = []
        self._mail = Correspondence()
        self._packed_taken = 0
        self._second_pass = 0
        self.set_back = 0.0  # seconds that the machine's clock went back since the last commit of the run before
        self._begun = reserve(capacity >> 3, np.bool_)  # by site: a page of it was settled or refused
        self._listed = reserve(capacity >> 3, np.uint8)  # by site: the list that it was last reported to be in

    def __repr__(self) -> str:
        return f"LocalFrontier({self.schedule.pending} pending of {self._log.pages}, {self.schedule})"

    @property
    def known(self) -> int:
        """Pages found so far."""
        return self._log.pages

    @property
    def done(self) -> bool:
        """Is there nothing left to do?"""
        return self.schedule.busy == 0 and self.schedule.pending == 0

    @property
    def exhausted(self) -> bool:
        """Have all pages been fetched that may be?"""
        return self.allowance is not None and self.spent >= self.allowance

    @property
    def idle(self) -> bool:
        """Can nothing happen by itself: no page may be fetched, now or later?"""
        return (
            self.schedule.busy == 0
            and (self.exhausted or self.schedule.stalled)
            and not (self.holdings.unsent or self._admitted)
        )

    @property
    def starved(self) -> bool:
        """Is there something to fetch, and no leave to?"""
        return self.exhausted and not self.schedule.stalled

    def site(self, number: int) -> Site:
        """The site of a number."""
        site = self._sites.get(number)
        if site is None:
            name = self.found.names[number]
            site = self._sites[number] = Site(number, name, self._overrides.of(name))
        return site

    def url_of(self, fingerprint: int) -> str | None:
        """The URL with this fingerprint, if it is known here."""
        page = self._seen.find(fingerprint)
        return None if page < 0 else self._log.entry(page).url

    # What to crawl.

    def add_seed(self, text: str) -> Reason | None:
        """Take a seed in, and what it stands for into the scope; the reason if it is refused."""
        url = normal_form(text, None, self._rules)
        if type(url) is not str:
            return Reason.NOT_A_URL
        self.admit(url)
        return self.offer(url, Kind.SEED, 0, 0)

    def offer(self, url: str, kind: int, depth: int, via: int, score: float = 0.0) -> Reason | None:
        """Offer one URL in normal form, found on the page with the id `via`; the reason if it is refused."""
        return self.found.offer_url(url, kind, depth, via, score)

    def admit(self, url: str) -> None:
        """Let the place of a seed, or the place where it was redirected to, into the scope."""
        self._admitted += self.scope.admit(url)

    # Visits.

    def visit(self) -> Visit | None:
        """A visit that may begin now, or None."""
        if self._ranking is not None:
            self._ranking.catch_up()
        if self.schedule.busy >= self._politeness.connections or self.exhausted:
            return None
        now = self._clock.now()
        return self.schedule.begin(now) if self.pace.open(now) else None

    def next_event(self) -> float | None:
        """When something will change by itself."""
        at = self.schedule.next_event()
        if self.schedule.ready and (opens := self.pace.opens_at(self._clock.now())) is not None:
            return opens if at is None else min(at, opens)
        return at

    @property
    def wants(self) -> int:
        """How many groups to check out, so that enough sites are ready and no more."""
        if self.holdings.alone:
            return 1 << 30
        schedule, enough = self.schedule, 2 * self._politeness.connections
        held = schedule.busy + schedule.ready + schedule.waiting
        return enough - held if held < enough // 2 else 0

    def rest_after(self, visit: Visit, took: float, pause: float) -> float:
        """How long a site rests after a visit whose last download took so long."""
        return max(self.schedule.wait(visit.site, took), pause)

    @property
    def may_begin(self) -> bool:
        """Is it worth asking for a visit?"""
        return self.schedule.busy < self._politeness.connections and self.schedule.ready > 0

    def enter(self, visit: Visit, address: str) -> bool:
        """The site's address is known: may the connection be opened? If not, the visit is over before it began."""
        return self.schedule.enter(visit, address, self._clock.now())

    def answered(self, visit: Visit) -> None:
        """The server has shown that it took the connection."""
        self.schedule.answered(visit, self._clock.now())

    def leave(self, visit: Visit, *, took: float, pause: float = 0.0) -> None:
        """The visit is over. `took` is its last download's time; `pause` is what the server, or its failure, asks
        for.
        """
        site = visit.site
        if visit.address:
            site.took = took
            site.address = visit.address
        self.schedule.leave(visit, self._clock.now(), pause=pause)
        self._changed.add(site.number)
        if self._heaps.arrays.length[site.number] == 0:
            self.found.forget(site)

    # Turns.

    def turn(self, visit: Visit) -> Turn | None:
        """The site's best page that robots.txt allows, or None when the visit has nothing more to do."""
        site = visit.site
        if self._ranking is not None:
            self._ranking.catch_up()
        if (visit.pages and visit.pages >= self.per_visit(site)) or self.exhausted:
            return None
        if not self.pace.open(self._clock.now()):
            return None
        for _ in range(_MOST_REFUSALS):
            page = self._heaps.pop(site.number)
            if page < 0:
                return None
            entry = self._log.entry(page)
            scheme = "https" if entry.url[4] == "s" else "http"
            if visit.scheme == "":
                visit.scheme = scheme
            elif scheme != visit.scheme:
                self._heaps.push(site.number, page)
                return None
            if not self.allowed(site, entry.url):
                self.refuse(page, Reason.ROBOTS)
                continue
            if site.strikes >= self._selection.max_hostile:
                self.refuse(page, Reason.SITE_HOSTILE)
                continue
            if self.scope.blacklist.rules and self.scope.blacklist.names(entry.url, site.name):
                self.refuse(page, Reason.BLACKLISTED)
                continue
            visit.pages += 1
            self._spend(entry.kind)
            attempt = self._attempts.get(page, 0) + 1 if self._attempts else 1
            target = self._seen.fingerprints[page]
            return Turn(page, target, entry.url, entry.depth, entry.kind, entry.via, attempt)
        return None

    def give_back(self, visit: Visit, turn: Turn) -> None:
        """The turn was not used: its page stands where it stood."""
        visit.pages -= 1
        self._spend(turn.kind, -1)
        self._heaps.push(visit.site.number, turn.page)

    def will_retry(self, turn: Turn, reason: Reason | None) -> bool:
        """Is a page that came to this to be tried again?"""
        return reason is not None and reason.retry and turn.attempt <= len(self._pauses)

    def settle(self, visit: Visit, turn: Turn, reason: Reason | None) -> None:
        """The turn is over: its page is done, or comes back after a pause."""
        page = turn.page
        if self._ranking is not None:
            self._ranking.over(page, fetched=True)
        if self.will_retry(turn, reason):
            self._spend(turn.kind, -1)
            now = self._clock.now()
            due = now + self._pauses[turn.attempt - 1]
            self._attempts[page] = turn.attempt
            self.schedule.delay(page, visit.site.number, due)
            self._delayed.append((page, turn.attempt, due - now + self._clock.wall()))
        else:
            self._attempts.pop(page, None)
            self._settled.append(page)
            self._begun[visit.site.number] = True
            visit.site.fetched += 1

    def visited(self, turn: Turn, targets: list[int], kinds: list[int]) -> None:
        """A page was visited and what it links to is known: the ordering may score its links by it."""
        if self._ranking is not None:
            pages = zip(targets, kinds, strict=True)
            self._ranking.visited(turn.page, [target for target, kind in pages if kind < FIRST_REQUISITE])

    def once_more(self, visit: Visit, turn: Turn) -> None:
        """Try a page again on the site's next visit: its server wanted a cookie back, or its certificate was looked
        at.
        """
        self._spend(turn.kind, -1)
        self._attempts[turn.page] = turn.attempt
        self._heaps.push(visit.site.number, turn.page)

    def _spend(self, kind: int, pages: int = 1) -> None:
        if kind < FIRST_REQUISITE:
            self.pace.spend(pages)
            self.spent += pages

    def refuse(self, page: int, reason: Reason) -> None:
        """A page whose turn had come is not fetched, by a rule."""
        self.refused[reason] += 1
        self._dropped.append(page)
        if self._ranking is not None:
            self._ranking.over(page, fetched=False)

    # Robots.

    def per_visit(self, site: Site) -> int:
        """K for a site: one page a visit where a crawl-delay is asked for."""
        if site.crawl_delay is not None:
            return 1
        return self._politeness.per_visit if site.settings.per_visit is None else site.settings.per_visit

    def obeys(self, site: Site) -> bool:
        """Is the site's robots.txt obeyed?"""
        return (site.settings.robots or self._selection.robots) == "obey"

    def robots_due(self, site: Site, scheme: str) -> bool:
        """Must robots.txt be asked for before anything else?"""
        if not self.obeys(site):
            return False
        had = site.robots_at.get(scheme)
        if had is None:
            return True
        age = self._clock.wall() - had
        return age >= self._politeness.robots_age or age < 0  # a clock that was set back knows no age

    def allowed(self, site: Site, url: str) -> bool:
        """Does the site's robots.txt, as far as it is known, allow this URL?"""
        robots = site.robots.get("https" if url[4] == "s" else "http")
        return robots is None or robots.allows(target_of(url)) or not self.obeys(site)

    def learn_robots(self, site: Site, scheme: str, *, allowed: bool, body: bytes | None) -> None:
        """Take in a robots.txt, and offer the sitemaps that it names."""
        self._learn(site, scheme, RobotsRecord(self._clock.wall(), allowed, body))

    def send(self, errand: Errand) -> None:
        """Have a robots.txt fetched from another site, under that site's politeness and by whoever holds it; the site
        that it speaks for is held meanwhile, but not for ever.
        """
        owner = self.found.numbers.get(errand.owner)
        if owner is not None:
            self.schedule.hold(self.site(owner), self._clock.now())
            self._pass_over(owner)
        name = site_of(errand.url)
        group = registered_domain(name)
        if self.holdings.holds(group):
            self.schedule.send(self.site(self.found.number(name)), errand)
        else:
            note = msgspec.msgpack.encode((errand.owner, errand.scheme))
            self.holdings.post(group, Link(errand.url, Kind.ROBOTS, errand.hops, 0, note=note))

    def deliver(self, errand: Errand, record: RobotsRecord | None) -> None:
        """An errand is done: here is the robots.txt, or None when it could not be had. It may be for another worker."""
        owner = self.found.numbers.get(errand.owner)
        if owner is None:
            note = b"" if record is None else msgspec.msgpack.encode(record)
            url = f"{errand.scheme}://{errand.owner}/robots.txt"
            self.holdings.post(registered_domain(errand.owner), Link(url, Kind.ROBOTS, -1, 0, note=note))
            return
        site, now = self.site(owner), self._clock.now()
        if record is None:
            site.next_visit = max(site.next_visit, now + self.failed(site))
        else:
            site.failures = 0
            self._learn(site, errand.scheme, record)
        self.schedule.release(site, now)

    def _take_errand(self, link: Link) -> None:
        """A robots.txt is asked for by another worker, or brought."""
        if link.depth >= 0:
            owner, scheme = msgspec.msgpack.decode(link.note, type=tuple[str, str])
            self.send(Errand(link.url, link.depth, owner, scheme))
        elif site_of(link.url) in self.found.numbers:
            record = msgspec.msgpack.decode(link.note, type=RobotsRecord) if link.note else None
            self.deliver(Errand(link.url, 0, site_of(link.url), link.url.partition(":")[0]), record)

    def _learn(self, site: Site, scheme: str, record: RobotsRecord) -> None:
        self._robots.append((site.number, scheme, msgspec.msgpack.encode(record)))
        named = self._take_robots(site, scheme, record)
        for written in named if self._selection.sitemaps else ():
            url = normal_form(written, f"{scheme}://{site.name}/robots.txt", self._rules)
            if type(url) is str:
                self.offer(url, Kind.MAP, 0, 0)

    # Failures of a whole site.

    def failed(self, site: Site) -> float:
        """The site could not be reached: the pause it gets. When the pauses are used up it is set aside, then given
        up.
        """
        site.failures += 1
        self._changed.add(site.number)
        self._pass_over(site.number)
        if site.second_chance:
            self._give_up(site)
        elif site.failures <= len(self._pauses):
            return self._pauses[site.failures - 1]
        else:
            self.schedule.set_aside(site)
        return 0.0

    def strike(self, site: Site) -> None:
        """A page of the site could not be read without harm; after a few of them the site is left alone."""
        site.strikes += 1
        self._changed.add(site.number)

    def _give_up(self, site: Site) -> None:
        """A site that failed again is left: all its pages are refused."""
        for page in self._heaps.drain(site.number) + self.schedule.drop_delayed(site.number):
            self.refuse(page, Reason.SITE_FAILED)

    def _pass_over(self, number: int) -> None:
        if self._ranking is not None:
            self._ranking.pass_over(number)

    def _out_of_reach(self) -> list[int]:
        """Sites that rest because they failed, or wait for what others bring: that may take hours."""
        return [number for number, site in self._sites.items() if site.failures or site.set_aside or site.held]

    # Commit and recover.

    def pack(self, *, marks: dict[str, Mark], counts: bytes, clean: bool = False) -> None:
        """Take what changed since the last commit as one record, to be written next."""
        offset = self._clock.wall() - self._clock.now()
        batch, self.holdings.batch = self.holdings.batch, Batch(0)
        batch.scope = self._admitted
        batch.lists = self._changed_lists()
        commit = Commit(
            sites=self.found.new_names,
            settled=self._settled.tobytes(),
            refused=self._dropped.tobytes(),
            delayed=self._delayed,
            states=[(number, self._sites[number].memory(offset)) for number in self._changed],
            robots=self._robots,
            scores=array("d", self.found.new_scores).tobytes(),
            scope=self._admitted,
            marks=marks,
            counts=counts,
            wall=self._clock.wall(),
            groups=self.holdings.new,
            left=self._left,
            clean=clean,
        )
        if self._ranking is not None:
            self._ranking.pack(commit)
        self._mail.seal(batch, commit)
        self._log.pack(commit)
        self.found.new_names = []
        self.found.new_scores = []
        self.holdings.new = []
        self._settled = array("I")
        self._dropped = array("I")
        self._delayed = []
        self._robots = []
        self._admitted = []
        self._changed = set()
        self._left = []
        self._packed_taken = commit.taken
        self.schedule.tidy(self._clock.now())

    def write(self, *, sync: bool) -> None:
        """Put the packed record on disk; may be called from another thread than the rest."""
        self._log.write(sync=sync)

    def written(self) -> None:
        """The packed record is on disk."""
        self._log.written()
        self._mail.committed(self._packed_taken)

    def commit(self, *, marks: dict[str, Mark], counts: bytes = b"", clean: bool = False, sync: bool = False) -> None:
        """Take what changed and write it, in one step."""
        self.pack(marks=marks, counts=counts, clean=clean)
        self.write(sync=sync)
        self.written()

    def recover(
        self,
        begun: Begun | None = None,
        intact: Callable[[Commit], bool] = lambda _commit: True,
        pulse: Callable[[], None] = lambda: None,
    ) -> Commit | None:
        """Read the log back and stand where it ends; its last record, or None when there is none.

        Records at the end whose outputs are not `intact` are dropped: the log's `dropped` has them.
        """
        self.holdings.alone = self.schedule.alone = begun is None or begun.alone
        self._mail = Correspondence(begun)
        self._second_pass = 0 if begun is None else begun.second_pass
        last: Commit | None = None
        past = Past()
        for replayed in self._log.replay(intact):
            pulse()
            past.take(replayed)
            last = replayed.commit
            self._restore_seen(replayed)
            self._mail.replay(last)
        if last is None:
            return None
        self.set_back = max(0.0, last.wall - self._clock.wall())
        for url in past.scope:
            self.scope.admit(url)
        self.holdings.groups.update(past.groups)
        self.found.restore(past.names, past.left)
        self._restore_pages(past)
        self._restore_sites(past)
        return last

    @property
    def behind(self) -> bool:
        """Does the global frontier know of commits that are lost here?"""
        return self._mail.behind

    def keep(self, groups: set[str]) -> None:
        """Keep no other groups than these: the others were given away in commits that are lost."""
        for group in self.holdings.groups - groups:
            for number in self.found.members.pop(group, []):
                self._leave(number, group)
            self.holdings.groups.discard(group)

    @property
    def lost(self) -> list[str]:
        """Sites whose last visits are repeated, because records were dropped when the log was read back."""
        numbers = {number for commit in self._log.dropped for number, _ in commit.states}
        new = [name for commit in self._log.dropped for name in commit.sites]
        names = self.found.names
        return sorted({*new, *(names[number] for number in numbers if number < len(names))})

    # Exchanges with the global frontier.

    def report(self, worker: int, *, wants: int) -> Report:
        """How things stand here."""
        report = self._mail.report(worker)
        report.wants = 0 if self.exhausted else wants
        report.idle = self.idle
        report.starved = self.starved
        report.aside = self.schedule.aside
        report.hungry = self.pace.held
        self.pace.held = False
        report.pending = self.schedule.pending
        report.wanted = self.schedule.wanted()
        report.released = self.schedule.release_addresses(self._clock.now(), self._clock.wall() - self._clock.now())
        return report

    def obey(self, orders: Orders) -> None:
        """Do as the global frontier says."""
        now = self._clock.now()
        offset = self._clock.wall() - now
        for url in orders.scope:
            self.scope.admit(url)
        if orders.rules_at != self._mail.rules:
            self.scope.blacklist = Blacklist(orders.rules)
        self.pace.set(orders.speed, now)
        self.pace.paused = orders.paused
        for message in orders.messages:
            self._take(message)
        for address in orders.taken_already:
            self._move_to(address)
        self.schedule.lend([(address, wall - offset) for address, wall in orders.lent], orders.recalled, now)
        if orders.second_pass > self._second_pass:
            self._second_pass = orders.second_pass
            self.schedule.second_pass(now)
        self._mail.read(orders)

    def _take(self, message: Message) -> None:
        new = {group for group in message.groups if self.holdings.check_out(group)}
        for parcel in message.parcels:
            if parcel.group in new:  # else it came before, and more is known of it by now
                self.load(parcel)
        for link in message.links:
            if link.kind == Kind.ROBOTS:
                self._take_errand(link)
            else:
                self._take_link(link)

    def _take_link(self, link: Link) -> None:
        """A link from another worker, with the score that it gives its page; or a seed, which has none yet."""
        ranking = self._ranking if link.via else None
        if ranking is not None:
            ranking.catch_up()
        self.found.offer_url(link.url, link.kind, link.depth, link.via, link.score)
        if ranking is not None:
            ranking.loaded()

    def load(self, parcel: Parcel) -> None:
        """Take up a group where another worker left it. All of it is part of the next commit."""
        content = unpacked(parcel.content)
        known = {site.name for site in content.sites if site.name in self.found.numbers}  # for an errand, at most
        numbers = np.array([self.found.number(site.name) for site in content.sites], np.int32)
        self._load_pages(content, numbers, anew=not known)
        now, wall = self._clock.now(), self._clock.wall()
        for number, sent in zip(numbers.tolist(), content.sites, strict=True):
            site = self.site(number)
            for scheme, data in sent.robots.items():
                self._robots.append((number, scheme, data))
                self._take_robots(site, scheme, msgspec.msgpack.decode(data, type=RobotsRecord))
            if sent.name not in known:
                self._load_site(site, sent.memory, content, now, wall)
        shortest = self._politeness.wait_least if self._politeness.wait is None else self._politeness.wait
        shortest = max(shortest, self._politeness.wait_small or 0.0) + self._politeness.margin
        if not content.clean and wall < content.made_at + shortest:  # there may be sites that nobody wrote down
            self.schedule.hold_back(now)

    def _load_site(self, site: Site, memory: bytes, content: Content, now: float, wall: float) -> None:
        """Take up what is remembered of a site; one may have been visited last when its worker died."""
        clean = content.clean or wall >= content.made_at + self._politeness.crawl_delay_most
        if memory:
            site.remember(memory, wall - now)
        if memory or not clean:
            self.schedule.resume(site, now)
            self._changed.add(site.number)

    def _load_pages(self, content: Content, numbers: NDArray[np.int32], *, anew: bool) -> None:
        """Give the pages of a parcel numbers, in their order, and put each where it stood."""
        urls, site, via, depth, kind, state, scores = pages_of(content)
        if not urls:
            return
        prints = fingerprints(urls)
        places = list(range(len(urls)))  # in the parcel, of the pages that are not known
        if not anew:
            places = [place for place in places if self._seen.find(prints[place]) < 0]
        site_of = numbers[site]
        columns = (prints, urls, via.tolist(), site_of.tolist(), depth.tolist(), kind.tolist())
        rows = list(zip(*columns, strict=True))
        append = self._log.append
        for place in places:
            append(*rows[place])
        chosen = np.array(places, np.int64)
        first = int(self._seen.arrays.counts[0])
        page_of = np.full(len(urls), -1, np.int64)
        page_of[chosen] = np.arange(first, first + len(places))
        restore(self._seen.arrays, np.array(prints, np.uint64)[chosen])
        np.add.at(self._seen.arrays.found, site_of[chosen][kind[chosen] < FIRST_REQUISITE], 1)
        if self._heaps.arrays.score.size > 1:
            scores = scores[chosen] if len(scores) else np.zeros(len(places))
            self._heaps.arrays.score[first : first + len(places)] = scores
            self.found.new_scores += scores.tolist()
            if self._ranking is not None:
                self._ranking.loaded()
        self._load_states(content, state, page_of, site_of)

    def _load_states(
        self, content: Content, state: NDArray[np.uint8], page_of: NDArray[np.int64], site_of: NDArray[np.int32]
    ) -> None:
        ours = page_of >= 0
        self._settled.frombytes(page_of[ours & (state == DONE)].astype(np.uint32).tobytes())
        self._dropped.frombytes(page_of[ours & (state == REFUSED)].astype(np.uint32).tobytes())
        now = self._clock.now()
        offset = self._clock.wall() - now
        for place, attempt, wall in content.retries:
            page = int(page_of[place])
            if page >= 0:
                self._attempts[page] = attempt
                self.schedule.delay(page, int(site_of[place]), max(now, wall - offset))
                self._delayed.append((page, attempt, wall))
        pending = ours & (state == PENDING)
        push_all(self._heaps.arrays, site_of[pending], page_of[pending].astype(np.int32))

    def _move_to(self, address: str) -> None:
        """An address is lent to another worker: give it the groups there that were never visited.

        What was visited stays, and the address goes to and fro: too much is known of it to be sent around.
        """
        for number in self.schedule.parked_at(address):
            group = self.site(number).domain
            members = self.found.members.get(group, [])
            if group in self.holdings.groups and not any(self._begun[n] or self.site(n).visited for n in members):
                for each in members:
                    self._leave(each, group)
                del self.found.members[group]
                self.holdings.groups.discard(group)
                self.holdings.batch.moved.append((group, address))

    def _leave(self, number: int, group: str) -> None:
        """Give up a site that was never visited: its pages are links again."""
        self._pass_over(number)
        for page in self._heaps.drain(number):
            url, via, _, depth, kind = self._log.entry(page)
            score = float(self._heaps.arrays.score[page]) if self._heaps.arrays.score.size > 1 else 0.0
            self.holdings.post(group, Link(url, kind, depth, via, score))
            self._seen.arrays.fingerprint[page] = 0
        self.schedule.forget(number)
        self._sites.pop(number, None)
        del self.found.numbers[self.found.names[number]]
        self._left.append(number)

    def _changed_lists(self) -> dict[str, int]:
        """The lists that sites are in by now, of those that changed lists."""
        changed = {}
        for number in self._changed:
            site = self._sites[number]
            where = SET_ASIDE if site.set_aside else BEING_CRAWLED if self._heaps.arrays.length[number] else CRAWLED
            if self._listed[number] != where:
                self._listed[number] = where
                changed[site.name] = where
        return changed

    def close(self) -> None:
        """Give the log's file back."""
        if self._ranking is not None:
            self._ranking.close()
        self._log.close()

    def _restore_seen(self, replayed: Replayed) -> None:
        """Put the pages of a record back into URL-seen, with their scores."""
        commit, rows, prints = replayed
        first = int(self._seen.arrays.counts[0])
        restore(self._seen.arrays, prints.copy())
        np.add.at(self._seen.arrays.found, rows["site"][rows["kind"] < FIRST_REQUISITE], 1)
        if commit.scores:
            self._heaps.arrays.score[first : first + len(rows)] = np.frombuffer(commit.scores)
        if self._ranking is not None:
            self._ranking.restore(commit)

    def _restore_pages(self, past: Past) -> None:
        """Make pages pending again that were, now or when their pause is over."""
        site_of = past.sites()
        pending = site_of != GONE
        self._seen.arrays.fingerprint[np.flatnonzero(~pending)] = 0
        for numbers in (past.settled(), past.refused()):
            pending[numbers] = False
            self._begun[site_of[numbers]] = True
        now = self._clock.now()
        offset = self._clock.wall() + self.set_back - now
        for page, (attempt, wall) in past.retries.items():
            if pending[page]:
                self._begun[site_of[page]] = True
                pending[page] = False
                self._attempts[page] = attempt
                self.schedule.delay(page, int(site_of[page]), max(now, wall - offset))
        for start in range(0, len(pending), _AT_ONCE):  # a slice at a time: tens of millions need no second array
            pages = np.flatnonzero(pending[start : start + _AT_ONCE]).astype(np.int32) + np.int32(start)
            push_all(self._heaps.arrays, site_of[pages], pages)

    def _restore_sites(self, past: Past) -> None:
        """Put back what was known of sites. Any of them may have been visited until this moment."""
        now = self._clock.now()
        offset = self._clock.wall() + self.set_back - now
        for number, files in past.robots.items():
            for scheme, data in files.items():
                record = msgspec.msgpack.decode(data, type=RobotsRecord)
                self._take_robots(self.site(number), scheme, record)
        for number, data in past.states.items():
            site = self.site(number)
            site.remember(data, offset)
            self.schedule.resume(site, now)
        self.schedule.hold_back(now)

    def _take_robots(self, site: Site, scheme: str, record: RobotsRecord) -> tuple[str, ...]:
        robots = site.learn_robots(scheme, record, self._agent)
        delays = [known.crawl_delay for known in site.robots.values() if known.crawl_delay]
        site.crawl_delay = max(delays) if delays and self.obeys(site) else None
        return robots.sitemaps
