"""How a turn ends. In: an outcome. Out: its links in the frontier, what the application asks for, its record, its row,
an event. This is the one place where any of them is done.

Everything here happens between two awaits, so all of it is in the same commit, or none. Whatever user code does, or a
fault of our own in following links, the page has its record and its row, and the fault is told with its place. What
cannot be written down ends the worker before the commit: the page is fetched again.

How long the site rests is decided when the visit's end is known, once, before the row is written (`Schedule.decide`).
"""

from __future__ import annotations

from functools import partial

import msgspec

from weft.engine.application import FetchedPage, Request
from weft.engine.outcome import UNREACHED, Terms, is_lost, judge, keeps_open, nothing_came
from weft.engine.robots import note_unsent
from weft.engine.wires import Wires
from weft.engine.writing import write_down
from weft.errors import WeftError
from weft.fetch.headers import header_values
from weft.fetch.transport import Connection
from weft.frontier.discovery import Links
from weft.frontier.log import Entry
from weft.frontier.schedule import Visit
from weft.frontier.special import Special
from weft.model import FIRST_REQUISITE, Kind, Outcome, Page, Parsed, Reason, Turn
from weft.urls import fingerprint, normal_form, origin_of

_MAP, _REDIRECT, _HOSTILE = int(Kind.MAP), int(Kind.REDIRECT), Reason.HOSTILE  # they are slow to find in Python 3.11


class Conclusion:
    """Concludes the turns of one loop."""

    def __init__(self, wires: Wires) -> None:
        self._wires = wires
        self._terms = Terms(wires.politeness, wires.frontier.will_retry, wires.verify_tls)
        if wires.application is not None:
            wires.frontier.on_refused = self._refused

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
        return judge(turn, page, parsed, site, self._terms, now)

    def conclude(
        self,
        visit: Visit,
        connection: Connection,
        outcome: Outcome,
        followed: tuple[Links, Links] | None,
        *,
        stopping: bool,
    ) -> Turn | None:
        """Do all that follows from an outcome; the visit's next turn, or None where it ends here. `followed` are its
        links, where they stand in the frontier already; who is stopping begins nothing more.
        """
        wires, frontier, page = self._wires, self._wires.frontier, outcome.page
        visit.took = page.took
        if outcome.reason in UNREACHED:
            self.not_reached(visit, outcome, outcome.reason)
            return None
        special = (
            frontier.specials.get(outcome.turn.page) if frontier.specials.of else None
        )  # forgotten when it is over
        self._settle(visit, outcome)
        links = 0
        if outcome.final:
            outcome, links = self._lead_on(visit, outcome, followed, special)
        frontier.pace.spend(0, len(page.body))
        ends = outcome.pause > 0 or stopping or not keeps_open(page) or wires.gate.forbids(visit.address)
        following = None if ends else frontier.turn(visit)
        closed_at = None
        if following is None:
            wires.network.close(connection)
            closed_at = wires.clock.wall()
            visit.pause = outcome.pause
        write_down(wires, visit, outcome, links, closed_at=closed_at)
        if outcome.turn.id in wires.marker.suspects:
            frontier.after_commit(partial(_clear, wires, outcome.turn.id))
        return following

    def not_reached(self, visit: Visit, outcome: Outcome | None, reason: Reason) -> None:
        """A site could not be reached, or may not be: conclude its turn, if there is one, and what others wanted from
        there; then it rests as one that failed.
        """
        wires, frontier, site = self._wires, self._wires.frontier, visit.site
        frontier.give_up_errands(visit)
        own = visit.errand is not None and visit.errand.owner == site.name
        if visit.errand is not None:
            note_unsent(wires, visit, visit.errand.url, reason)
        again = outcome is not None and outcome.again
        if outcome is not None:
            if again:
                site.tls = outcome.page.tls
            self._settle(visit, outcome)
            if outcome.final:
                self._tell_of_failure(outcome)
        if (own or reason in UNREACHED) and not again:
            visit.pause = frontier.failed(site)
        if outcome is not None:
            write_down(wires, visit, outcome, closed_at=wires.clock.wall())

    def give_up_unknown(self) -> None:
        """What an earlier run sent, and must not send twice, has failed where its outcome was lost: say so."""
        frontier = self._wires.frontier
        unknown, frontier.unknown = frontier.unknown, []
        for turn in unknown:
            visit = Visit(0, frontier.give_up(turn), None, 0.0)
            page = nothing_came(turn, Reason.OUTCOME_UNKNOWN, self._wires.clock.wall())
            outcome = Outcome(turn, page, None, Reason.OUTCOME_UNKNOWN)
            self._tell_of_failure(outcome)
            write_down(self._wires, visit, outcome)

    def _settle(self, visit: Visit, outcome: Outcome) -> None:
        """Tell the frontier: the page is done, or comes back."""
        frontier = self._wires.frontier
        if outcome.reason is _HOSTILE:
            frontier.strike(visit.site)
        if outcome.again:
            frontier.once_more(visit, outcome.turn)
        else:
            frontier.settle(visit, outcome.turn, outcome.reason)

    # What a page leads to.

    def _lead_on(
        self, visit: Visit, outcome: Outcome, followed: tuple[Links, Links] | None, special: Special | None
    ) -> tuple[Outcome, int]:
        """Offer what a page leads to; the outcome, which is another where that failed, and the number of its links."""
        try:
            if outcome.redirect is not None:
                return outcome, self._redirected(outcome, outcome.redirect, special)
            if self._wires.application is not None and outcome.turn.kind < FIRST_REQUISITE:
                self._ask_application(outcome)
            if outcome.parsed is None:
                return outcome, 0
            return outcome, self._follow(visit, outcome.turn, outcome.parsed, followed)
        except WeftError:
            raise  # it ends the worker, and says so
        except Exception as error:  # noqa: BLE001  the page must not be lost with its links
            self._wires.bus.report(error, outcome.turn.url)
            return msgspec.structs.replace(outcome, reason=outcome.reason or Reason.INTERNAL), 0

    def _follow(self, visit: Visit, turn: Turn, parsed: Parsed, followed: tuple[Links, Links] | None) -> int:
        wires, frontier = self._wires, self._wires.frontier
        if parsed.left_out:
            frontier.refused[Reason.PAGE_LINKS] += parsed.left_out
        if followed is None:
            obeyed = (parsed.follow and not parsed.nofollow) or frontier.obeys(visit.site)
            followed = frontier.found.follow(visit.site, turn, parsed, offered=wires.application is None, obeyed=obeyed)
        found, left = followed
        wires.store.note_links(turn.id, found.targets, found.kinds, labels=found.labels)
        if left.targets:
            wires.store.note_links(turn.id, left.targets, left.kinds, nofollow=True, labels=left.labels)
        frontier.visited(turn, found)
        return len(found.targets) + len(left.targets)

    def _redirected(self, outcome: Outcome, redirect: str, special: Special | None) -> int:
        """Follow a redirect, which is a link."""
        wires, frontier, turn = self._wires, self._wires.frontier, outcome.turn
        kept = turn.kind >= FIRST_REQUISITE or turn.kind == _MAP
        steps = turn.steps + 1 if kept or turn.kind == _REDIRECT else 1
        if wires.application is not None:
            wires.application.redirected(turn.url, redirect)
        target = fingerprint(redirect)
        if special is not None and special.body is not None:
            target = self._redirected_post(turn, outcome.page, redirect, special, steps)
        else:
            frontier.follow_redirect(turn, redirect, turn.kind if kept else _REDIRECT, steps)
        wires.store.note_links(turn.id, [target], [_REDIRECT])
        frontier.redirected(turn, redirect)
        return 1

    def _redirected_post(self, turn: Turn, page: Page, redirect: str, special: Special, steps: int) -> int:
        """Follow the redirect of a POST as browsers do; the id of where it leads.

        307 and 308 ask for the same again elsewhere, which is done where nobody else would get it; the others ask for
        a GET, also of a page that was fetched before: the POST may have changed what is there.
        """
        frontier = self._wires.frontier
        if page.status in (307, 308):
            if origin_of(redirect) == origin_of(turn.url):
                frontier.request(redirect, special, turn.depth, turn.id, kind=_REDIRECT, steps=steps)
            return special.id(redirect)
        if not frontier.knows(redirect):
            frontier.offer(redirect, _REDIRECT, turn.depth, turn.id, steps=steps)
            return fingerprint(redirect)
        again = Special({}, None, repeat=True, after=turn.id)
        frontier.request(redirect, again, turn.depth, turn.id, kind=_REDIRECT, steps=steps)
        return again.id(redirect)

    # The application.

    def _ask_application(self, outcome: Outcome) -> None:
        """Hand a page to the application, or tell it why there is none; offer what it asks for."""
        wires, turn, parsed = self._wires, outcome.turn, outcome.parsed
        assert wires.application is not None
        if parsed is None:
            self._tell_of_failure(outcome)
        else:
            wanted = wires.application.visited(FetchedPage(turn, outcome.page, parsed, wires.parser))
            self._request(turn.url, turn.depth, turn.id, wanted)

    def _tell_of_failure(self, outcome: Outcome) -> None:
        turn, application = outcome.turn, self._wires.application
        if application is not None and turn.kind < FIRST_REQUISITE:
            self._request(turn.url, turn.depth, turn.id, application.failed(turn.url, str(outcome.reason)))

    def _request(self, base: str, depth: int, via: int, requests: list[Request | str]) -> None:
        """Offer what an application asks for; it is told at once what a rule refuses, and may ask for another."""
        application, frontier = self._wires.application, self._wires.frontier
        while requests and application is not None:
            request = requests.pop(0)
            text, priority = (request, 0.0) if isinstance(request, str) else (request.url, request.priority)
            special = None if isinstance(request, str) else request.special
            url = normal_form(text, base)
            reason: Reason | None = Reason.NOT_A_URL
            if type(url) is str:
                if special is None:
                    reason = frontier.offer(url, Kind.REQUEST, depth + 1, via, priority)
                else:
                    reason = frontier.request(url, special, depth + 1, via, priority)
            if reason is not None:
                requests += application.failed(text, reason.value)

    def _refused(self, entry: Entry, reason: Reason) -> None:
        """A page whose turn had come is not fetched, by a rule: the application hears of it."""
        if self._wires.application is not None and entry.kind < FIRST_REQUISITE:
            wanted = self._wires.application.failed(entry.url, reason.value)
            self._request(entry.url, entry.depth, fingerprint(entry.url), wanted)


def _clear(wires: Wires, page: int, _done: None) -> None:
    wires.marker.clear(page)
