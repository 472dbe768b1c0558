"""The local frontier: one worker's sites and pages. In: links and outcomes. Out: visits and turns, when they are
allowed.

It decides and never waits: `visit` says which site may be visited now, `next_event` when to ask again. Time comes
from the clock it is given, so the same code runs live and on a virtual clock. When which site is `Schedule`'s
business, links become pages in `Discovery`, and what must outlive the process is in the log: each part packs what
changed of it into the next commit, and takes it back when the log is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.clock import Clock
from weft.errors import UsageError, WeftError
from weft.frontier.arrivals import Arrivals
from weft.frontier.blacklist import Blacklist
from weft.frontier.chains import MOST_REDIRECTS, Chains
from weft.frontier.correspondence import Correspondence
from weft.frontier.departures import Departures
from weft.frontier.discovery import Discovery, Links
from weft.frontier.errands import Errands
from weft.frontier.holdings import Holdings
from weft.frontier.keyed import Keyed
from weft.frontier.local_pages import LocalPages
from weft.frontier.local_sites import LocalSites
from weft.frontier.log import Commit, Entry, FrontierLog
from weft.frontier.oracle import Oracle
from weft.frontier.pace import Pace
from weft.frontier.past import Past
from weft.frontier.pauses import Pauses, noted
from weft.frontier.politeness import Politeness
from weft.frontier.ranking import Ranking
from weft.frontier.retries import Retries
from weft.frontier.robots import RobotsFiles
from weft.frontier.rules import TURN, Waiting, first_refusal
from weft.frontier.schedule import Schedule, Visit
from weft.frontier.scope import Scope, Selection
from weft.frontier.seen import Seen
from weft.frontier.shared.contract import Begun, Found, Gain, Message, Notice, Orders, Report, RobotsBrought
from weft.frontier.sites import Errand, Overrides, RobotsRecord, Site
from weft.frontier.special import Special, Specials
from weft.frontier.undoing import Before, Undoing
from weft.model import FIRST_REQUISITE, Kind, Reason, Turn
from weft.ordering import Ordering, Scored
from weft.ordering.heaps import TwoLevelHeap
from weft.ordering.reranking import Reranking
from weft.store.files import Mark
from weft.urls import UrlRules, fingerprint, normal_form, registered_domain, site_of, target_of

CAPACITY = 1 << 27  # pages that a worker can know
_MOST_RETURNED = 1 << 20  # pages that are fetched again because a redirect led back to them
_MOST_REMEMBERED = 16  # sites that answered in an earlier run
_MOST_REFUSALS = 500  # in one go, so that a long queue of forbidden pages does not stop the loop
_NOTICES_IN_A_BIT = 64  # of other workers, that are taken in at once
_LONGEST_REFUSING = 0.005  # seconds, for the same


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
        secret: bytes,
        note: Callable[[int, str], None] = lambda _id, _url: None,
        reranking: Reranking | None = None,
        oracle: Oracle | None = None,
        seed: int = 0,
        capacity: int = CAPACITY,
        private: bool = False,
    ) -> None:
        self._clock = clock
        self._politeness = politeness
        self._selection = selection
        self._pauses = retries.retry_pauses
        self._rules = rules
        self._heaps = TwoLevelHeap(
            pages=capacity, sites=capacity >> 3, scored=ordering.scored, by_size=ordering.by_size
        )
        keyed = Keyed(secret)
        self._seen = Seen(capacity, capacity >> 3, self._heaps, keyed)
        self.holdings = Holdings(keyed, gaining=isinstance(ordering, Scored))
        self._ranking = (
            Ranking(
                ordering,
                self._heaps,
                self._seen,
                terms=reranking or Reranking(),
                oracle=oracle or Oracle(),
                seed=seed,
                holdings=self.holdings,
                out_of_reach=lambda: self._sites.out_of_reach(),  # noqa: PLW0108  they are made below
            )
            if isinstance(ordering, Scored)
            else None
        )
        self._path = path
        self._log = FrontierLog(path, private=private)
        self._asked = Pauses(path)
        self.scope = Scope(selection, overrides)
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
            ranked=self._ranking is not None,
        )
        self._sites = LocalSites(self.found.names, overrides, capacity >> 3)
        self.schedule = Schedule(
            self._heaps, politeness, self._sites.site, lambda number: int(self._seen.arrays.found[number])
        )
        self._pages = LocalPages(
            clock=clock,
            seen=self._seen,
            heaps=self._heaps,
            log=self._log,
            ranking=self._ranking,
            found=self.found,
            schedule=self.schedule,
        )
        self.robots = RobotsFiles(
            clock=clock,
            politeness=politeness,
            selection=selection,
            agent=agent,
            sites=self._sites,
            found=self.found,
            written=self._log.read,
        )
        self._errands = Errands(
            clock=clock,
            holdings=self.holdings,
            found=self.found,
            schedule=self.schedule,
            sites=self._sites,
            robots=self.robots,
            pass_over=self._pages.pass_over,
            failed=self.failed,
        )
        self._arrivals = Arrivals(
            clock=clock,
            politeness=politeness,
            found=self.found,
            schedule=self.schedule,
            sites=self._sites,
            pages=self._pages,
            robots=self.robots,
        )
        self._departures = Departures(
            holdings=self.holdings, found=self.found, schedule=self.schedule, sites=self._sites, pages=self._pages
        )
        self._chains = Chains()
        self.undoing = Undoing(
            clock=clock, sites=self._sites, schedule=self.schedule, pages=self._pages, heaps=self._heaps
        )
        self.specials = Specials()
        self.unknown: list[Turn] = []  # what was sent once by an earlier run, and nobody knows what came of it
        self._mail = Correspondence()
        self._admitted: list[str] = []  # into the scope, since the last commit
        self._packed = (0, 0)  # the number of the packed commit, and the last message that it took in
        self._awaiting: list[Callable[[None], None]] = []  # called when the next commit is on disk
        self._packed_awaiting: list[Callable[[None], None]] = []
        self._second_pass = 0
        self.refused: Counter[Reason] = Counter()  # when their turn had come; beside those that discovery counts
        self.on_refused: Callable[[Entry, Reason], None] | None = None  # told of each of them
        self._returned: set[int] = set()  # keys of pages that were fetched again because a redirect led back to them
        self.pace = Pace()
        self.allowance: int | None = None  # pages that may be fetched in all; their parts do not count
        self.spent = 0  # pages fetched or being fetched
        self.set_back = 0.0  # seconds that the machine's clock went back since the last commit of the run before

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
        return self._sites.site(number)

    def url_of(self, page: int) -> str:
        """The URL of a page."""
        return self._log.entry(page).url

    def pages_of(self, urls: list[str]) -> NDArray[np.int64]:
        """The pages of URLs, -1 for one that is not known here."""
        return self._seen.pages_of(urls)

    # What to crawl.

    def add_seed(self, text: str) -> Reason | None:
        """Take a seed in, and what it stands for into the scope; the reason if it is refused."""
        url = normal_form(text, None, self._rules)
        if type(url) is not str:
            return Reason.NOT_A_URL
        self.admit(url)
        return self.offer(url, Kind.SEED, 0, 0)

    def offer(self, url: str, kind: int, depth: int, via: int, score: float = 0.0, *, steps: int = 0) -> Reason | None:
        """Offer one URL in normal form, found on the page with the id `via`; the reason if it is refused."""
        return self.found.offer_url(url, kind, depth, via, score, steps=steps)

    def request(
        self,
        url: str,
        special: Special,
        depth: int,
        via: int,
        score: float = 0.0,
        *,
        kind: int = Kind.REQUEST,
        steps: int = 0,
    ) -> Reason | None:
        """Offer one URL that is to be asked for in a way of its own; the reason if it is refused."""
        if not self.holdings.alone:
            raise UsageError("a request has headers or a body, and there are several workers", todo="run one worker")
        key = self._seen.keyed.of_bytes(special.name(url))
        if self._seen.find(key) >= 0:
            return None
        reason = self.found.offer_url(url, kind, depth, via, score, named=(special.id(url), key), steps=steps)
        page = self._seen.find(key)
        if page >= 0:
            self.specials.add(page, special)
        return reason

    def knows(self, url: str) -> bool:
        """Was a URL found before?"""
        return self._seen.page_of(url) >= 0

    def admit(self, url: str) -> None:
        """Let the place of a seed, or the place where it was redirected to, into the scope."""
        self._admitted += self.scope.admit(url)

    def arrive(self, site: Site, url: str) -> None:
        """A seed was redirected to this page, and no further: what it stands for is in the scope from now on."""
        before = len(self._admitted)
        self.admit(url)
        if len(self._admitted) > before:
            self.robots.offer_sitemaps(site)

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

    def decide_rest(self, visit: Visit) -> float:
        """A visit is about to end: how long its site rests then, for good."""
        return self.schedule.decide(visit)

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

    def leave(self, visit: Visit) -> None:
        """The visit is over: its site rests, as was decided or is decided now."""
        site = visit.site
        if visit.address:
            site.took = visit.took
            site.address = visit.address
        self.schedule.leave(visit, self._clock.now())
        if visit.pause > 0:
            self._asked.note(site.name, self._clock.wall() + visit.pause)
        self._sites.changed.add(site.number)
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
        now = self._clock.now()
        if not self.pace.open(now):
            return None
        for refused in range(_MOST_REFUSALS):
            if refused and self._clock.now() - now > _LONGEST_REFUSING:
                return None
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
            reason = self.refusal(site, entry.url)
            if reason is not None:
                self.refuse(page, reason)
                continue
            visit.pages += 1
            self._spend(entry.kind)
            attempts = self._pages.attempts
            attempt = attempts.get(page, 0) + 1 if attempts else 1
            special = self.specials.get(page) if self.specials.of else None
            url_id = fingerprint(entry.url) if special is None else special.id(entry.url)
            return Turn(page, url_id, entry.url, entry.depth, entry.kind, entry.via, attempt, entry.steps)
        return None

    def refusal(self, site: Site, url: str) -> Reason | None:
        """Why a page is not fetched whose turn has come: what the rules of `TURN` say. Of most sites nothing is known
        that a rule could look at but a robots.txt, which is asked without a word to the others.
        """
        robots = self.robots.of(site, "https" if url[4] == "s" else "http")
        blank = not site.strikes and not self.scope.blacklist.rules
        if blank and (robots is None or not robots.rules or robots.allows(target_of(url))):
            return None
        page = Waiting(url=url, site=site.name, settings=site.settings, robots=robots, strikes=site.strikes)
        return first_refusal(TURN, self.scope, page)

    def per_visit(self, site: Site) -> int:
        """K for a site: one page a visit where a crawl-delay is asked for."""
        if site.crawl_delay is not None:
            return 1
        return self._politeness.per_visit if site.settings.per_visit is None else site.settings.per_visit

    def give_back(self, visit: Visit, turn: Turn) -> None:
        """The turn was not used: its page stands where it stood."""
        visit.pages -= 1
        self._spend(turn.kind, -1)
        self._heaps.push(visit.site.number, turn.page)
        if self.specials.of:
            self.specials.withdraw(turn.page)

    def will_retry(self, turn: Turn, reason: Reason | None) -> bool:
        """Is a page that came to this to be tried again?"""
        if reason is None or not reason.retry or turn.attempt > len(self._pauses):
            return False
        return not self.specials.of or self.specials.may_retry(turn.page, reason)

    def settle(self, visit: Visit, turn: Turn, reason: Reason | None) -> None:
        """The turn is over: its page is done, or comes back after a pause."""
        page, pages = turn.page, self._pages
        if self._ranking is not None:
            self._ranking.over(page, fetched=True)
        if self.will_retry(turn, reason):
            self._spend(turn.kind, -1)
            now = self._clock.now()
            due = now + self._pauses[turn.attempt - 1]
            pages.attempts[page] = turn.attempt
            self.schedule.delay(page, visit.site.number, due)
            pages.delayed.append((page, turn.attempt, due - now + self._clock.wall()))
            if self.specials.of:
                self.specials.withdraw(page)
        else:
            if self.specials.of:
                self.specials.over(page)
            pages.attempts.pop(page, None)
            pages.settled.append(page)
            pages.begun[visit.site.number] = True
            visit.site.fetched += 1

    def visited(self, turn: Turn, links: Links) -> None:
        """A page was visited and what it links to is known: the ordering may score its links by it."""
        if self._ranking is not None:
            keys, kinds = links.keys, links.kinds
            if kinds and max(kinds) >= FIRST_REQUISITE:
                keys = [key for key, kind in zip(keys, kinds, strict=True) if kind < FIRST_REQUISITE]
            self._ranking.visited(turn.page, keys)

    def redirected(self, turn: Turn, url: str) -> None:
        """A page was visited and redirects to a URL, which was offered if it is to be: that is its one link."""
        if self._ranking is not None:
            self._ranking.visited(turn.page, [self._seen.keyed.of(url)])

    def follow_redirect(self, turn: Turn, url: str, kind: int, steps: int) -> None:
        """Offer where a page redirects to, unless that led to it; `steps` says how long the chain is by now."""
        if self.comes_back(turn, url):
            return
        known = self._log.pages
        self.offer(url, kind, turn.depth, turn.id, steps=steps)
        if self._log.pages > known:
            self._chains.add(known, turn.page)

    def once_more(self, visit: Visit, turn: Turn) -> None:
        """Try a page again on the site's next visit: its server wanted a cookie back, or its certificate was looked
        at.
        """
        self._spend(turn.kind, -1)
        self._pages.attempts[turn.page] = turn.attempt
        self._heaps.push(visit.site.number, turn.page)
        if self.specials.of:
            self.specials.withdraw(turn.page)

    def comes_back(self, turn: Turn, url: str) -> bool:
        """Does a redirect lead back to the page that led to it? Then that page, which may have wanted a cookie or a
        click, is fetched again, once: is it?
        """
        key = self._seen.keyed.of(url)
        if turn.kind != Kind.REDIRECT or key in self._returned or not self._led_to(turn, fingerprint(url)):
            return False
        page = self._seen.find(key)
        if page < 0:  # another worker has it
            self._returned.add(key)
            self.holdings.post(
                registered_domain(site_of(url)),
                Found(url, turn.kind, turn.depth, turn.id, again=True, steps=turn.steps),
            )
            return True
        entry = self._log.entry(page)
        if not self._sites.site(entry.site).jar.cookies or not self._take_back(key):
            return False
        self.offer(url, entry.kind, entry.depth, entry.via, steps=entry.steps)
        return True

    def _led_to(self, turn: Turn, target: int) -> bool:
        """Is a page where a chain of redirects began, or came by, as far as it is known here?"""
        page, kind, via = turn.page, turn.kind, turn.via
        for _ in range(MOST_REDIRECTS):
            if kind != Kind.REDIRECT or via == target:
                break
            page = self._chains.source(page)
            if page < 0:
                return False
            _, via, _, _, kind, _ = self._log.entry(page)
        return kind == Kind.REDIRECT and via == target

    def chain_from(self, turn: Turn) -> int:
        """The id of the page where the chain of redirects began that led here; 0 where that is not known."""
        page, via = turn.page, turn.via
        for _ in range(turn.steps - 1):
            page = self._chains.source(page)
            if page < 0:
                return 0
            via = self._log.entry(page).via
        return via

    def _take_back(self, key: int, *, once: bool = True) -> bool:
        """Forget that a page is done, as often as is wanted or once a run; False where it is to stay as it is."""
        if once and (key in self._returned or len(self._returned) >= _MOST_RETURNED):
            return False
        if once:
            self._returned.add(key)
        return self._pages.replace(key)

    def _spend(self, kind: int, pages: int = 1) -> None:
        if kind < FIRST_REQUISITE:
            self.pace.spend(pages)
            self.spent += pages

    def refuse(self, page: int, reason: Reason) -> None:
        """A page whose turn had come is not fetched, by a rule."""
        self.refused[reason] += 1
        self._pages.refuse((page,), reason.value)
        if self.on_refused is not None:
            self.on_refused(self._log.entry(page), reason)
        if self.specials.of:
            self.specials.over(page)
        if self._ranking is not None:
            self._ranking.over(page, fetched=False)

    def refusals(self) -> dict[str, int]:
        """How many URLs were refused by which rule, over all runs."""
        return {reason.value: count for reason, count in (self.found.refused + self.refused).items()}

    def restore_refusals(self, counts: dict[str, int]) -> None:
        """Count on from an earlier run."""
        self.refused.update({Reason.named(name): count for name, count in counts.items()})

    @property
    def moved(self) -> int:
        """Groups that went to another worker while the crawl ran."""
        return self._departures.moved

    # Robots.

    def obeys(self, site: Site) -> bool:
        """Is the site's robots.txt obeyed?"""
        return self.robots.obeys(site)

    def robots_due(self, site: Site, scheme: str) -> bool:
        """Must robots.txt be asked for before anything else?"""
        return self.robots.due(site, scheme)

    def learn_robots(self, site: Site, scheme: str, body: bytes | None) -> None:
        """Take in a robots.txt, None where there is none, and offer the sitemaps that it names."""
        self.robots.learn(site, scheme, RobotsRecord(self._clock.wall(), body))

    def send(self, errand: Errand) -> None:
        """Have a robots.txt fetched from another site; the site that it speaks for is held meanwhile."""
        self._errands.send(errand)

    def deliver(self, errand: Errand, record: RobotsRecord | None) -> None:
        """An errand is done: here is the robots.txt, or None when it could not be had."""
        self._errands.deliver(errand, record)

    def give_up_errands(self, visit: Visit) -> None:
        """The site of a visit could not be reached: what others wanted from there cannot be had."""
        self._errands.give_up(visit.site, visit.errand)

    # Failures of a whole site.

    def before(self, site: Site, turn: Turn | None) -> Before:
        """How a site and its page stand before a failure is counted against them."""
        page, tries = (-1, 0) if turn is None else (turn.page, turn.attempt - 1)
        wait = self.schedule.wait(site)
        rested = self._clock.now() + (wait + self._politeness.margin if wait else 0.0)
        return Before(site, site.failures, site.set_aside, site.second_chance, page, tries, rested)

    def gives_up(self, site: Site, turn: Turn | None, reason: Reason, *, of_site: bool) -> bool:
        """Would this failure, of a page or of the whole site, be the end of the page, or of all pages of the site?"""
        return (of_site and site.second_chance) or (turn is not None and not self.will_retry(turn, reason))

    def owner(self, errand: Errand) -> Site | None:
        """The site that an errand is for, where it is one of ours."""
        number = self.found.numbers.get(errand.owner)
        return None if number is None else self._sites.site(number)

    def probe(self, site: Site) -> Visit | None:
        """A visit to a site that answered before, to see whether anybody does; None where it may not be visited now."""
        ours = site.number in self._sites and site.domain in self.holdings.groups and not site.errands
        return self.schedule.begin_at(site.number, self._clock.now()) if ours else None

    def answered_before(self) -> list[Site]:
        """Some sites of different domains that were reached in an earlier run."""
        return self._sites.answered(_MOST_REMEMBERED)

    def failed(self, site: Site) -> float:
        """The site could not be reached: the pause it gets. When the pauses are used up it is set aside, then given up:
        all its pages are refused.
        """
        site.failures += 1
        self._sites.changed.add(site.number)
        self._pages.pass_over(site.number)
        if site.second_chance:
            for page in self._heaps.drain(site.number) + self.schedule.drop_delayed(site.number):
                self.refuse(page, Reason.SITE_FAILED)
        elif site.failures <= len(self._pauses):
            return self._pauses[site.failures - 1]
        else:
            self.schedule.set_aside(site)
        return 0.0

    def strike(self, site: Site) -> None:
        """A page of the site could not be read without harm; after a few of them the site is left alone."""
        site.strikes += 1
        self._sites.changed.add(site.number)

    # Commit and recover.

    def pack(self, *, marks: dict[str, Mark], counts: bytes, clean: bool = False) -> None:
        """Take what changed since the last commit as one record, to be written next."""
        now, wall = self._clock.now(), self._clock.wall()
        commit = Commit(scope=self._admitted, marks=marks, counts=counts, wall=wall, clean=clean)
        lists = self._sites.changed_lists(self._heaps.arrays.length)
        batch = self.holdings.pack(commit, scope=self._admitted, lists=lists)
        self._admitted = []
        self.found.pack(commit)
        self._pages.pack(commit)
        self._sites.pack(commit, wall - now)
        self.robots.pack(commit)
        self._chains.pack(commit)
        self.specials.pack(commit, clean=clean)
        if self._ranking is not None:
            self._ranking.pack(commit)
        self._mail.seal(batch, commit)
        self.robots.placed(commit, self._log.pack(commit))
        self._asked.turn()
        self._packed = (commit.number, commit.taken)
        self._packed_awaiting += self._awaiting
        self._awaiting = []
        self.schedule.tidy(now)

    def write(self, *, sync: bool) -> None:
        """Put the packed record on disk; may be called from another thread than the rest."""
        self._asked.sync = sync
        self._log.write(sync=sync)

    def written(self) -> None:
        """The packed record is on disk."""
        self._log.written()
        self._mail.committed(*self._packed)
        self.specials.written()
        awaiting, self._packed_awaiting = self._packed_awaiting, []
        for done in awaiting:
            done(None)

    def after_commit(self, done: Callable[[None], None]) -> None:
        """Call this when everything that is known by now is on disk."""
        self._awaiting.append(done)

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

        Records at the end whose outputs are not `intact` are dropped: the log's `dropped` has them. Where more than
        these is missing, that is an error, and nothing is changed.
        """
        self.holdings.alone = self.schedule.alone = begun is None or begun.alone
        self._mail = Correspondence(begun)
        self._second_pass = 0 if begun is None else begun.second_pass
        latest = self._clock.wall() + self._politeness.retry_after_most  # clocks jump
        self._asked.unclaimed = {site: min(until, latest) for site, until in noted(self._log.path).items()}
        self._sites.asked = self._asked.unclaimed
        self._sites.wall_offset = self._clock.wall() - self._clock.now()
        last: Commit | None = None
        past = Past()
        for replayed in self._log.replay(intact, applied=0 if begun is None else begun.applied):
            pulse()
            last = replayed.commit
            self.robots.placed(last, replayed.robots_at)
            last.robots = []  # they stay in the log: all at once they may be more than fits into memory
            past.take(replayed)
            self._pages.replay(replayed)
            self._mail.replay(last)
        if last is None:
            return None
        self._check_secret(past)
        self.set_back = max(0.0, last.wall - self._clock.wall())
        for url in past.scope:
            self.scope.admit(url)
        self.holdings.groups.update(past.groups)
        self.found.restore(past.names, past.left)
        unknown = past.unknown()
        pending = self._pages.restore(past, self.set_back)
        self._chains.restore(past.redirects(), pending)
        self.specials.restore(past.special(), ever=bool(past.requests))
        for page in unknown:
            url, via, _, depth, kind, steps = self._log.entry(page)
            url_id = msgspec.msgpack.decode(past.requests[page], type=Special).id(url)
            self.unknown.append(Turn(page, url_id, url, depth, kind, via, 1, steps))
        self._restore_sites(past)
        return last

    def _check_secret(self, past: Past) -> None:
        """Are the keys in the log made with our secret? Another one would have every page fetched again."""
        if not self._log.pages:
            return
        name = self._log.entry(0).url.encode()
        if 0 in past.requests:
            name = msgspec.msgpack.decode(past.requests[0], type=Special).name(name.decode())
        if self._seen.keyed.of_bytes(name) != self._seen.key_of[0]:
            raise WeftError(
                "the crawl's hash key is not the one that it was begun with",
                where=str(self._path),
                todo="put hash.key back from a copy, or remove it and run weft repair",
            )

    def give_up(self, turn: Turn) -> Site:
        """What was sent once, and nobody knows what came of it, is done; its site."""
        self._pages.settled.append(turn.page)
        return self._sites.site(self._log.entry(turn.page).site)

    def _restore_sites(self, past: Past) -> None:
        """Put back what was known of sites. Any of them may have been visited until this moment."""
        now = self._clock.now()
        self.robots.restore(past.left)
        for site in self._sites.restore(past.states, self._clock.wall() + self.set_back - now):
            self._sites.pause(site)
            self.schedule.resume(site, now)
        self.schedule.hold_back(now)

    @property
    def number(self) -> int:
        """Of the last commit."""
        return self._mail.number

    @property
    def behind(self) -> bool:
        """Does the global frontier know of commits that are lost here?"""
        return self._mail.behind

    def keep(self, groups: set[str]) -> None:
        """Keep no other groups than these: the others were given away in commits that are lost."""
        self._departures.keep(groups)

    @property
    def lost(self) -> list[str]:
        """Sites whose last visits are repeated, because records were dropped when the log was read back."""
        numbers = {number for commit in self._log.dropped for number, _ in commit.states}
        new = [name for commit in self._log.dropped for name in commit.sites]
        names = self.found.names
        return sorted({*new, *(names[number] for number in numbers if number < len(names))})

    # Exchanges with the global frontier.

    @property
    def wants(self) -> int:
        """How many groups to check out, so that enough sites are ready and no more."""
        if self.holdings.alone:
            return 1 << 30
        schedule, enough = self.schedule, 2 * self._politeness.connections
        held = schedule.busy + schedule.ready + schedule.waiting
        return enough - held if held < enough // 2 else 0

    def report(self, worker: int, *, wants: int) -> Report:
        """How things stand here."""
        hungry, self.pace.held = self.pace.held, False
        now = self._clock.now()
        return self._mail.report(
            worker,
            wants=0 if self.exhausted else wants,
            idle=self.idle and not self._mail.unwritten,
            starved=self.starved,
            aside=self.schedule.aside,
            hungry=hungry,
            pending=self.schedule.pending,
            wanted=self.schedule.wanted(),
            released=self.schedule.release_addresses(now, -now),
        )

    def obey(self, orders: Orders) -> None:
        """Do as the global frontier says."""
        for _ in self.obeying(orders):
            pass

    def obeying(self, orders: Orders) -> Iterator[None]:
        """The same bit by bit: others may have their turn in between, but nothing may be packed before the end. Until
        then no message counts as taken in, so that it is given again if the worker dies.
        """
        now = self._clock.now()
        for url in orders.scope:
            self.scope.admit(url)
        if orders.rules_at != self._mail.rules:
            self.scope.blacklist = Blacklist(orders.rules)
        self.pace.set(orders.speed, now)
        self.pace.paused = orders.paused
        for message in orders.messages:
            yield from self._take(message)
        for address in orders.taken_already:
            self._departures.move_to(address)
        self.schedule.lend([(address, now + wait) for address, wait in orders.lent], orders.recalled, now)
        if orders.second_pass > self._second_pass:
            self._second_pass = orders.second_pass
            self.schedule.second_pass(now)
        self._mail.read(orders)

    def _take(self, message: Message) -> Iterator[None]:
        parcels = {parcel.group: parcel for parcel in message.parcels}
        for group in message.groups:
            if self.holdings.check_out(group) and group in parcels:  # else it came before, and more is known by now
                self._arrivals.load(parcels[group])  # before anybody can lead to one of its sites
            yield
        for number, notice in enumerate(message.notices):
            if number % _NOTICES_IN_A_BIT == 0:
                yield
            self._take_notice(notice)

    def _take_notice(self, notice: Notice) -> None:
        """What another worker tells of a group; one that went on meanwhile has it sent after."""
        name = notice.owner if isinstance(notice, RobotsBrought) else site_of(notice.url)
        if name not in self.found.numbers and not self.holdings.holds(registered_domain(name)):
            self.holdings.post(registered_domain(name), notice)
        elif isinstance(notice, Found):
            if not notice.again or self._take_back(self._seen.keyed.of(notice.url), once=notice.kind == Kind.REDIRECT):
                self._take_link(notice)
        elif isinstance(notice, Gain):
            if self._ranking is not None:
                self._ranking.catch_up()
                page = self._seen.page_of(notice.url)
                if page >= 0:
                    self._ranking.gain(page, notice.amount)
        else:
            self._errands.take(notice)

    def _take_link(self, link: Found) -> None:
        """A link from another worker, to a page that is new, or known and worth more by it; or a seed."""
        ranking = self._ranking
        if ranking is None or (link.score is None and not link.gain):
            score = link.score or 0.0 if ranking is None else 0.0
            self.found.offer_url(link.url, link.kind, link.depth, link.via, score, steps=link.steps)
            return
        ranking.catch_up()
        page = self._seen.page_of(link.url)
        if page < 0:
            self.found.offer_url(link.url, link.kind, link.depth, link.via, steps=link.steps)
            ranking.arrived(link.score, link.gain)
        else:
            ranking.gain(page, link.gain)

    def close(self) -> None:
        """Give the log's file back."""
        if self._ranking is not None:
            self._ranking.close()
        self._asked.close()
        self._log.close()
