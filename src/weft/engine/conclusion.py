"""How a turn ends. In: an outcome. Out: its links in the frontier, what the application asks for, its record, its row,
an event. This is the one place where any of them is done.

Everything here happens between two awaits, so all of it is in the same commit, or none. Whatever user code does, or a
fault of our own in following links, the page has its record and its row, and the fault is told with its place. What
cannot be written down ends the worker before the commit: the page is fetched again.

How long the site rests is decided when the visit's end is known, once, before the row is written (`Schedule.decide`).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import msgspec

from weft.engine.application import FetchedPage
from weft.engine.hosting import FailedNotice, Hosted, Told, Wish, decode_notices
from weft.engine.outcome import UNREACHED, Terms, is_lost, judge, keeps_open, nothing_came
from weft.engine.robots import note_unsent
from weft.engine.staging import Staged
from weft.engine.wires import Wires
from weft.engine.writing import write_down
from weft.errors import WeftError
from weft.fetch.headers import header_values
from weft.fetch.transport import Connection
from weft.frontier.durable.log import Entry
from weft.frontier.local.discovery import Links
from weft.frontier.local.visit import Visit
from weft.frontier.special import ORDINARY, Special
from weft.model import FIRST_REQUISITE, NO_ID, Kind, Outcome, Page, Parsed, Reason, Turn, UrlId
from weft.stages.links import LINKS
from weft.urls import fingerprint, normal_form, origin_of

# An enumeration's members are slow to find in Python 3.11.
_MAP, _REDIRECT, _REQUEST, _HOSTILE = int(Kind.MAP), int(Kind.REDIRECT), int(Kind.REQUEST), Reason.HOSTILE
_OK, _PAGES = 200, frozenset((*range(_MAP), int(Kind.JS)))
_APPLICATION = "application"  # said that the page is not to be kept


class Further(NamedTuple):
    """What was found out about a page between its reading and its conclusion."""

    staged: Staged | None  # by stages, where the crawl has any
    told: Told | None  # by an application that has a process to itself


NOTHING = Further(None, None)


class Conclusion:
    """Concludes the turns of one loop."""

    def __init__(self, wires: Wires) -> None:
        self._wires = wires
        self._terms = Terms(wires.politeness, wires.frontier.will_retry, wires.verify_tls)
        self._links = LINKS.called
        self._dropped = ""  # why the page that is being concluded is not kept
        if wires.application is not None:
            wires.frontier.discovery.on_refused = self._refused

    def __repr__(self) -> str:
        return f"Conclusion({self._wires.frontier})"

    def judge(self, visit: Visit, turn: Turn, page: Page, parsed: Parsed | None) -> Outcome:
        """What came of a turn; an answer is taken in by its site before it is judged."""
        wires, site, now = self._wires, visit.site, self._wires.clock.wall()
        if page.reason not in UNREACHED:
            if (page.reason is None and not page.truncated) or not is_lost(page):
                wires.outage.reached(site, wires.clock.now())
            site.failures = 0
            if page.tls:
                site.tls = page.tls
            if "set-cookie" in page.headers:
                site.jar.store(header_values(page.head, "set-cookie"), now)
        outcome = judge(turn, page, parsed, site, self._terms, now)
        if parsed is not None and page.status == _OK and turn.kind in _PAGES and outcome.reason is None:
            apologies = wires.frontier.apologies
            if apologies.suspects(site, turn, len(page.body), parsed) and apologies.confirms(
                site, wires.parser.content(page)[0]
            ):
                read = msgspec.structs.replace(parsed, links=[], nofollow=[], labels=[])
                return msgspec.structs.replace(outcome, parsed=read, reason=Reason.SOFT_404)
        return outcome

    def conclude(
        self,
        visit: Visit,
        connection: Connection,
        outcome: Outcome,
        followed: tuple[Links, Links] | None,
        further: Further,
        *,
        stopping: bool,
    ) -> Turn | None:
        """Do all that follows from an outcome; the visit's next turn, or None where it ends here. `followed` are its
        links, where they stand in the frontier already; `further` is what was found out about it in between; who is
        stopping begins nothing more.
        """
        wires, frontier, page = self._wires, self._wires.frontier, outcome.page
        visit.took = page.took
        visit.site.sent += len(page.body)
        visit.site.spent += page.took
        if outcome.reason in UNREACHED:
            self.not_reached(visit, outcome, outcome.reason)
            return None
        # How it was asked for is forgotten when it is over.
        special = frontier.specials.get(outcome.turn.page) if frontier.specials.of else None
        self._settle(visit, outcome)
        links = 0
        self._dropped = ""
        if outcome.final:
            outcome, links = self._lead_on(visit, outcome, followed, special, further)
        frontier.pace.spend(0, len(page.body))
        ends = outcome.pause > 0 or stopping or not keeps_open(page) or wires.gate.forbids(visit.address)
        following = None if ends else frontier.turn(visit)
        closed_at = None
        if following is None:
            wires.network.close(connection)
            closed_at = wires.clock.wall()
            visit.pause = outcome.pause
        staged = further.staged
        if staged is None:
            write_down(wires, visit, outcome, links, closed_at=closed_at, dropped=self._dropped)
        else:
            self._write_staged(visit, outcome, links, closed_at, staged)
        if outcome.turn.id in wires.marker.suspects:
            frontier.commits.after(partial(_clear, wires, outcome.turn.id))
        return following

    def _write_staged(
        self, visit: Visit, outcome: Outcome, links: int, closed_at: float | None, staged: Staged
    ) -> None:
        """Write an outcome down with what stages found out; that one failed is its reason, if it has no other."""
        wires = self._wires
        if not staged.whole:
            outcome = msgspec.structs.replace(outcome, reason=outcome.reason or Reason.STAGE)
        for checked in staged.tables:
            wires.store.note_rows(checked)
        values = staged.values
        if staged.unwritten:
            values = {name: value for name, value in values.items() if name not in staged.unwritten}
        write_down(
            wires,
            visit,
            outcome,
            links,
            closed_at=closed_at,
            dropped=self._dropped,
            staged=values,
            conversion=staged.conversion,
        )

    def not_reached(self, visit: Visit, outcome: Outcome | None, reason: Reason) -> None:
        """A site could not be reached, or may not be: conclude its turn, if there is one, and what others wanted from
        there; then it rests as one that failed.
        """
        wires, frontier, site = self._wires, self._wires.frontier, visit.site
        frontier.errands.give_up(visit)
        own = visit.errand is not None and visit.errand.owner == site.name
        if visit.errand is not None:
            note_unsent(wires, visit, visit.errand.url, reason)
        again = outcome is not None and outcome.again
        if outcome is not None:
            if again:
                site.tls = outcome.page.tls
            special = frontier.specials.get(outcome.turn.page) if frontier.specials.of else None
            self._settle(visit, outcome)
            if outcome.final:
                self._tell_of_failure(outcome, special)
        if (own or reason in UNREACHED) and not again:
            visit.pause = frontier.failed(site)
        if outcome is not None:
            write_down(wires, visit, outcome, closed_at=wires.clock.wall())

    def give_up_unknown(self) -> None:
        """What an earlier run sent, and must not send twice, has failed where its outcome was lost: say so."""
        frontier = self._wires.frontier
        unknown, frontier.commits.unknown = frontier.commits.unknown, []
        for turn, special in unknown:
            frontier.pages.settle((turn.page,))
            visit = Visit(0, frontier.sites[frontier.pages.log.entry(turn.page).site], None, 0.0)
            page = nothing_came(turn, Reason.OUTCOME_UNKNOWN, self._wires.clock.wall())
            outcome = Outcome(turn, page, None, Reason.OUTCOME_UNKNOWN)
            self._tell_of_failure(outcome, special)
            write_down(self._wires, visit, outcome)

    def _settle(self, visit: Visit, outcome: Outcome) -> None:
        """Tell the frontier: the page is done, or comes back."""
        frontier = self._wires.frontier
        if outcome.reason is _HOSTILE:
            frontier.sites.strike(visit.site)
        if outcome.turn.kind == _MAP and outcome.final and (outcome.reason is not None or visit.site.families):
            frontier.sites.note_worth(visit.site, outcome.turn.url, barren=outcome.reason is not None)
        if outcome.again:
            frontier.once_more(visit, outcome.turn)
        else:
            frontier.settle(visit, outcome.turn, outcome.reason)

    # What a page leads to.

    def _lead_on(
        self,
        visit: Visit,
        outcome: Outcome,
        followed: tuple[Links, Links] | None,
        special: Special | None,
        further: Further,
    ) -> tuple[Outcome, int]:
        """Offer what a page leads to; the outcome, which is another where that failed, and the number of its links."""
        try:
            if outcome.redirect is not None:
                return outcome, self._redirected(outcome, outcome.redirect, special)
            if self._wires.application is not None and outcome.turn.kind < FIRST_REQUISITE:
                self._ask_application(outcome, special, further)
            if outcome.parsed is None:
                return outcome, 0
            wires, offered, turn = self._wires, self._wires.application is None, outcome.turn
            return outcome, self._links(wires.frontier, wires.store, visit, turn, outcome.parsed, followed, offered)
        except WeftError:
            raise  # it ends the worker, and says so
        except Exception as error:  # noqa: BLE001  the page must not be lost with its links
            self._wires.bus.report(error, outcome.turn.url)
            return msgspec.structs.replace(outcome, reason=outcome.reason or Reason.INTERNAL), 0

    def _redirected(self, outcome: Outcome, redirect: str, special: Special | None) -> int:
        """Follow a redirect, which is a link."""
        wires, frontier, turn = self._wires, self._wires.frontier, outcome.turn
        kept = turn.kind >= FIRST_REQUISITE or turn.kind == _MAP
        steps = turn.steps + 1 if kept or turn.kind == _REDIRECT else 1
        hears = wires.application is not None and turn.kind < FIRST_REQUISITE
        wanted: list[Wish] = []
        if hears and wires.application is not None:
            wanted = wires.application.redirected(turn.url, redirect, special, turn.depth, turn.id)
        target, refused = fingerprint(redirect), None
        further = None if special is None else special.led_to()
        if special is not None and special.body is not None:
            target, refused = self._redirected_post(turn, outcome.page, redirect, special, steps)
        else:
            refused = frontier.redirects.follow(turn, redirect, turn.kind if kept else _REDIRECT, steps, further)
        if refused is not None and hears:
            self._tell(redirect, refused, further, turn.depth, turn.id)
        self.request(turn.url, turn.depth, turn.id, wanted)
        wires.store.note_links(turn.id, [target], [_REDIRECT])
        frontier.redirects.visited(turn, redirect)
        return 1

    def _redirected_post(
        self, turn: Turn, page: Page, redirect: str, special: Special, steps: int
    ) -> tuple[UrlId, Reason | None]:
        """Follow the redirect of a POST as browsers do; the id of where it leads, and why that is refused, if it is.

        307 and 308 ask for the same again elsewhere, which is done where nobody else would get it; the others ask for
        a GET, also of a page that was fetched before: the POST may have changed what is there.
        """
        frontier = self._wires.frontier
        if page.status in (307, 308):
            refused: Reason | None = Reason.SCOPE
            if origin_of(redirect) == origin_of(turn.url):
                refused = frontier.discovery.request(
                    redirect, special, turn.depth, turn.id, kind=_REDIRECT, steps=steps
                )
            return special.id(redirect), refused
        again = msgspec.structs.replace(special, headers={}, body=None, repeat=True, due=0.0)
        if frontier.pages.knows(redirect):
            again = msgspec.structs.replace(again, after=turn.id)
        refused = frontier.discovery.request(redirect, again, turn.depth, turn.id, kind=_REDIRECT, steps=steps)
        return again.id(redirect), refused

    # The application.

    def begin(self, state: bytes, untold: bytes) -> None:
        """The worker begins: the application takes its state back, hears of what it had not been told, and may ask for
        something.
        """
        application = self._wires.application
        if application is None:
            return
        wanted = application.begin(state)
        for notice in decode_notices(untold) if untold else ():
            if isinstance(notice, FailedNotice):
                self._tell_again(notice)
            else:
                application.redirected(notice.url, notice.target, notice.special, notice.depth, notice.via)
        self.request("", -1, NO_ID, wanted)

    def _ask_application(self, outcome: Outcome, special: Special | None, further: Further) -> None:
        """Hand a page to the application, or tell it why there is none; offer what it asks for."""
        wires, turn, parsed = self._wires, outcome.turn, outcome.parsed
        told, staged = further.told, further.staged
        assert wires.application is not None
        if parsed is None:
            self._tell_of_failure(outcome, special)
        elif told is not None:
            self._dropped = "" if told.kept else _APPLICATION
            self.request(turn.url, turn.depth, turn.id, told.wanted)
        else:
            assert isinstance(wires.application, Hosted)
            values = None if staged is None else staged.values
            page = FetchedPage(turn, outcome.page, parsed, wires.parser, special, values)
            wanted = wires.application.visited(page)
            self._dropped = "" if page.kept else _APPLICATION
            self.request(turn.url, turn.depth, turn.id, wanted)

    def _tell_of_failure(self, outcome: Outcome, special: Special | None) -> None:
        turn = outcome.turn
        if self._wires.application is not None and turn.kind < FIRST_REQUISITE and outcome.reason is not None:
            self._tell(turn.url, outcome.reason, special, turn.depth, turn.id)

    def _tell_again(self, notice: FailedNotice) -> None:
        self._tell(notice.url, Reason.named(notice.reason), notice.special, notice.depth, notice.via)

    def _tell(self, url: str, reason: Reason, special: Special | None, depth: int, via: UrlId) -> None:
        """A page could not be had: the application may ask for something instead."""
        if self._wires.application is not None:
            wanted = self._wires.application.failed(url, reason.value, special, depth, via)
            self.request(url, depth, via, wanted)

    def request(self, base: str, depth: int, via: UrlId, requests: list[Wish]) -> None:
        """Offer what an application asks for; it is told at once what a rule refuses, and may ask for another."""
        application, frontier = self._wires.application, self._wires.frontier
        while requests and application is not None:
            request = requests.pop(0)
            if isinstance(request, str):
                text, priority, special, again = request, 0.0, None, False
            else:
                text, priority, special, again = request.url, request.priority, request.special, request.again
            url = normal_form(text, base or None)
            reason: Reason | None = Reason.NOT_A_URL
            if type(url) is str:
                if special is None and not again:
                    reason = frontier.discovery.offer(url, _REQUEST, depth + 1, via, priority)
                else:
                    reason = frontier.discovery.request(url, special or ORDINARY, depth + 1, via, priority, again=again)
            if reason is not None:
                requests += application.failed(text, reason.value, special, depth, via)

    def _refused(self, entry: Entry, reason: Reason, special: Special | None) -> None:
        """A page whose turn had come is not fetched, by a rule: the application hears of it."""
        if entry.kind < FIRST_REQUISITE:
            self._tell(entry.url, reason, special, entry.depth, fingerprint(entry.url))


def _clear(wires: Wires, page: int, _done: None) -> None:
    wires.marker.clear(page)
