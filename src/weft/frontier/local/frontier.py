"""The local frontier: one worker's sites and pages. In: links and outcomes. Out: visits and turns, when they are
allowed.

It decides and never waits: `visit` says which site may be visited now, `next_event` when to ask again. Time comes
from the clock it is given, so the same code runs live and on a virtual clock. What is known of sites and pages is in
two tables (`Sites`, `Pages`); when which site is `Schedule`'s business, links become pages in `Discovery`; `Commits`
and `Exchanges` are what a worker does with all of it, once a second.

The life of a page: offered ─▶ pending ─▶ turn ─▶ settled: done, due at a time, or refused for a reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from weft.clock import Clock
from weft.frontier.local.commits import Commits
from weft.frontier.local.errands import Errands
from weft.frontier.local.exchanges import Exchanges
from weft.frontier.local.parts import Note, Terms, make_parts
from weft.frontier.local.site import Site
from weft.frontier.local.visit import Visit
from weft.frontier.rules import TURN, Waiting, first_refusal
from weft.frontier.traps import family_of
from weft.model import FIRST_REQUISITE, NO_ID, Kind, PageNumber, Reason, Turn
from weft.urls import fingerprint, normal_form, target_of

_MOST_REFUSALS = 500  # in one go, so that a long queue of forbidden pages does not stop the loop
# Rules that look at a site's other pages.
_OF_SITE = (Reason.SITE_HOSTILE, Reason.SITE_DUPLICATES, Reason.SITE_BYTES, Reason.SITE_TIME, Reason.BARREN)
_LONGEST_REFUSING = 0.005  # seconds, for the same


class LocalFrontier:
    """One worker's frontier; the worker owns it. A site has one visit at a time, a page one turn."""

    def __init__(
        self,
        terms: Terms,
        *,
        path: Path,
        clock: Clock,
        note: Note = lambda _id, _url: None,
        say: Callable[[str], None] = lambda _text: None,
    ) -> None:
        parts = make_parts(terms, path, clock, note)
        self._clock = clock
        self._terms = terms
        self._politeness = terms.politeness
        self._pauses = terms.retries.retry_pauses
        self._asked = parts.pauses
        self._heaps = parts.pages.heaps
        # What others have business with.
        self.scope = parts.scope
        self.holdings = parts.holdings
        self.sites = parts.sites
        self.pages = parts.pages
        self.names = parts.names
        self.ranking = parts.ranking
        self.schedule = parts.schedule
        self.discovery = parts.discovery
        self.apologies = parts.apologies
        self.robots = parts.robots
        self.redirects = parts.redirects
        self.specials = parts.specials
        self.undoing = parts.undoing
        self.pace = parts.pace
        self.errands = Errands(parts, failed=self.failed)
        self.exchanges = Exchanges(parts, self.errands)
        self.commits = Commits(parts, self.exchanges, say=say)

    def __repr__(self) -> str:
        return f"LocalFrontier({self.schedule.pending} pending of {len(self.pages)}, {self.schedule})"

    # What to crawl.

    def add_seed(self, text: str) -> Reason | None:
        """Take a seed in, and what it stands for into the scope; the reason if it is refused."""
        url = normal_form(text, None, self._terms.rules)
        if type(url) is not str:
            return Reason.NOT_A_URL
        self.admit(url)
        return self.discovery.offer(url, Kind.SEED, 0, NO_ID)

    def admit(self, url: str) -> bool:
        """Let the place of a seed, or the place where it was redirected to, into the scope; was it out of it?"""
        admitted = self.scope.admit(url)
        self.holdings.admitted += admitted
        return bool(admitted)

    # Visits.

    @property
    def may_begin(self) -> bool:
        """Is it worth asking for a visit?"""
        return not self.full and self.schedule.ready > 0

    @property
    def full(self) -> bool:
        """Are as many visits under way as there may be?"""
        return self.schedule.busy >= self._politeness.connections

    def visit(self, *, asks: bool = False) -> Visit | None:
        """A visit that may begin now, or None. Who `asks` is given names to ask for (`names.unasked`) before the first
        visits of their sites.
        """
        if self.full or self.pace.exhausted:
            return None
        self.ranking.catch_up()
        now = self._clock.now()
        return self.schedule.begin(now, asks=asks) if self.pace.open(now) else None

    def next_event(self) -> float | None:
        """When something will change by itself."""
        at = self.schedule.next_event()
        if self.schedule.ready and (opens := self.pace.opens_at(self._clock.now())) is not None:
            return opens if at is None else min(at, opens)
        return at

    def enter(self, visit: Visit, address: str) -> bool:
        """The site's address is known: may the connection be opened? If not, the visit is over before it began."""
        self.ranking.located(visit.site.number, address)
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
            self._asked.note(site.name, self._clock.wall(), visit.pause)
        self.sites.changed.add(site.number)

    # Turns.

    def turn(self, visit: Visit) -> Turn | None:
        """The site's best page that robots.txt allows, or None when the visit has nothing more to do."""
        site, pages, specials = visit.site, self.pages, self.specials
        self.ranking.catch_up()
        if (visit.pages and visit.pages >= self.per_visit(site)) or self.pace.exhausted:
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
            entry = pages.log.entry(page)
            scheme = "https" if entry.url[4] == "s" else "http"
            if visit.scheme == "":
                visit.scheme = scheme
            elif scheme != visit.scheme:
                self._heaps.push(site.number, page)
                return None
            if specials.of and (seconds := specials.put_off(page, self._clock.wall())):
                pages.due.put(page, site.number, now + seconds, 0)
                continue
            reason = self.refusal(site, entry.url)
            if reason is not None:
                self._refuse(page, reason)
                continue
            visit.pages += 1
            self._spend(entry.kind)
            special = specials.get(page) if specials.of else None
            url_id = fingerprint(entry.url) if special is None else special.id(entry.url)
            tries = pages.tries(page) if pages.due.known else 0
            return Turn(page, url_id, entry.url, entry.depth, entry.kind, entry.via, tries + 1, entry.steps)
        return None

    def give_back(self, visit: Visit, turn: Turn) -> None:
        """The turn was not used: its page stands where it stood."""
        visit.pages -= 1
        self._put_back(visit, turn)

    def settle(self, visit: Visit, turn: Turn, reason: Reason | None) -> None:
        """The turn is over: its page is done, or comes back after a pause."""
        page, pages, site = turn.page, self.pages, visit.site
        self.ranking.over(page, fetched=True)
        if self.will_retry(turn, reason):
            self._spend(turn.kind, -1)
            pages.try_later(page, site.number, self._pauses[turn.attempt - 1], turn.attempt)
            if self.specials.of:
                self.specials.withdraw(page)
        else:
            if self.specials.of:
                self.specials.over(page)
            if pages.due.known:
                pages.due.forget(page)
            pages.settle((page,))
            self.sites.begun[site.number] = True
            site.fetched += 1

    def once_more(self, visit: Visit, turn: Turn) -> None:
        """Try a page again on the site's next visit: its server wanted a cookie back, or its certificate was looked
        at.
        """
        self.pages.due.note(turn.page, visit.site.number, turn.attempt)
        self._put_back(visit, turn)

    def will_retry(self, turn: Turn, reason: Reason | None) -> bool:
        """Is a page that came to this to be tried again?"""
        if reason is None or not reason.retry or turn.attempt > len(self._pauses):
            return False
        return not self.specials.of or self.specials.may_retry(turn.page, reason)

    def per_visit(self, site: Site) -> int:
        """K for a site: one page a visit where a crawl-delay is asked for."""
        if site.crawl_delay is not None:
            return 1
        return self._politeness.per_visit if site.settings.per_visit is None else site.settings.per_visit

    def refusal(self, site: Site, url: str) -> Reason | None:
        """Why a page is not fetched whose turn has come: what the rules of `TURN` say. Of most sites nothing is known
        that a rule could look at but a robots.txt, which is asked without a word to the others.
        """
        robots = self.robots.of(site, "https" if url[4] == "s" else "http")
        scope = self.scope
        blank = not (site.strikes or site.copies or site.families or scope.blacklist.rules or scope.bounds_sites)
        if blank and (robots is None or not robots.rules or robots.allows(target_of(url))):
            return None
        page = Waiting(
            url=url,
            site=site.name,
            settings=site.settings,
            robots=robots,
            strikes=site.strikes,
            copies=site.copies,
            share=site.share,
            sent=site.sent,
            spent=site.spent,
            barren=site.families.get(family_of(url), 0) if site.families else 0,
        )
        return first_refusal(TURN, self.scope, page)

    # Names.

    def named(self, site: Site) -> None:
        """The name of a site was asked for: it exists, or nobody knows."""
        if self.names.answered(site):
            self.schedule.named(site, self._clock.now())

    def deny(self, site: Site) -> None:
        """There is no such name: links to the site lead nowhere, and the pages that waited there are forgotten, so that
        a link finds them anew when it is time.
        """
        self.names.deny(site)
        self.ranking.pass_over(site.number)
        self._turn_away(self.pages.forget(site.number), Reason.DNS_NOT_FOUND)

    # Failures of a whole site.

    def failed(self, site: Site) -> float:
        """The site could not be reached: the pause it gets. When the pauses are used up it is set aside, then given up:
        all its pages are refused.
        """
        site.failures += 1
        self.sites.changed.add(site.number)
        self.ranking.pass_over(site.number)
        if site.second_chance:
            self._refuse_all(self.pages.drain(site.number), Reason.SITE_FAILED)
        elif site.failures <= len(self._pauses):
            return self._pauses[site.failures - 1]
        else:
            self.schedule.set_aside(site)
        return 0.0

    def gives_up(self, site: Site, turn: Turn | None, reason: Reason, *, of_site: bool) -> bool:
        """Would this failure, of a page or of the whole site, be the end of the page, or of all pages of the site?"""
        return (of_site and site.second_chance) or (turn is not None and not self.will_retry(turn, reason))

    def probe(self, site: Site) -> Visit | None:
        """A visit to a site that answered before, to see whether anybody does; None where it may not be visited now."""
        ours = site.number in self.sites and site.domain in self.holdings.groups and not site.errands
        return self.schedule.begin_at(site.number, self._clock.now()) if ours else None

    def close(self) -> None:
        """Give files and threads back."""
        self.ranking.close()
        self.commits.close()

    # Inside.

    def _put_back(self, visit: Visit, turn: Turn) -> None:
        self._spend(turn.kind, -1)
        self._heaps.push(visit.site.number, turn.page)
        if self.specials.of:
            self.specials.withdraw(turn.page)

    def _spend(self, kind: int, pages: int = 1) -> None:
        if kind < FIRST_REQUISITE:
            self.pace.spend(pages)

    def _refuse(self, page: PageNumber, reason: Reason) -> None:
        """A page whose turn had come is not fetched, by a rule."""
        if reason in _OF_SITE:
            self.discovery.note_stopped(self.sites.names[self.pages.log.entry(page).site], reason)
        self._refuse_all([page], reason)

    def _refuse_all(self, pages: list[PageNumber], reason: Reason) -> None:
        """The same for many."""
        self.pages.refuse(pages, reason.value)
        self._turn_away(pages, reason)

    def _turn_away(self, pages: list[PageNumber], reason: Reason) -> None:
        """Pages are not fetched. A site may have tens of thousands: they are looked at one by one only where an
        application hears of each.
        """
        if pages:
            self.discovery.refused[reason] += len(pages)
        if self.discovery.on_refused is not None:
            for page in pages:
                self.discovery.tell(self.pages.log.entry(page), reason, self.specials.get(page))
        for page in pages:
            if self.specials.of:
                self.specials.over(page)
            self.ranking.over(page, fetched=False)
