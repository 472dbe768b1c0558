"""Whose failure is it? In: who was reached and who was not. Out: whether a failure is the site's; and when nobody can
be reached, which is ours, when to look again.

A failure counts at once where it can be undone, and is undone when it turns out to be ours. What cannot be undone (a
page is done for, a site is given up) waits until somebody is reached. Where nobody is by itself, sites that answered
before are asked, one after the other. It is ours, an *outage*,

- when our own side says so: no network, no name server, no proxy, no descriptors (unless it is always the same site of
  which it says so, and others answer);
- when many different domains at as many addresses fail in a row, and one of them had answered before; or very many
  that nobody had ever reached keep silent;
- when many domains in a row have one and the same forbidden address, which is how a name server lies.

One that answers, whatever it says, ends it. A few sites that fail are never an outage by their number alone: a crawl of
these comes to its end. Nothing here waits or looks at a clock: time is passed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from weft.engine.drive import Ask, later
from weft.frontier.local.site import Site
from weft.frontier.local.undoing import Before
from weft.model import Reason

MANY = 5  # domains, at as many addresses
VERY_MANY = 20  # of which nobody was ever reached
REMEMBERED = 16  # domains that answered last
SHORTEST, LONGEST = 1.0, 60.0  # seconds between two probes
_MOST = 100_000  # failures in a row that can be undone
PATIENCE = 10.0  # seconds that a doubt waits for somebody who answered before and may not be asked yet
_SOON = 0.25  # seconds until somebody is looked for again who may be probed
_AT_ONCE = 10  # failures in doubt that are told in one turn of the loop
_FALSE_ALARMS = 3  # that one site may raise

# Nobody said anything. Other failures are said by somebody, be it a name server or a router.
SILENCE = frozenset((Reason.DNS_FAILED, Reason.CONNECT_TIMEOUT, Reason.CONNECT_FAILED, Reason.TIMEOUT))


class _InARow:
    """What failed since somebody was reached."""

    def __init__(self) -> None:
        self.before: deque[Before] = deque(maxlen=_MOST)  # to undo them; older ones stand
        self.domains: set[str] = set()
        self._places: set[str] = set()
        self._silent: set[str] = set()  # domains that nobody said anything of
        self._silent_places: set[str] = set()
        self._liars: dict[str, set[str]] = {}  # by forbidden address: the domains that had it
        self._answered = False  # one of them had answered before

    def add(self, before: Before, reason: Reason, address: str, *, answered: bool) -> None:
        domain = before.site.domain
        self.before.append(before)
        self.domains.add(domain)
        self._answered = self._answered or answered
        if reason is Reason.DNS_SPECIAL:
            self._liars.setdefault(address, set()).add(domain)
            address = ""
        self._places.add(address or domain)
        if reason in SILENCE:
            self._silent.add(domain)
            self._silent_places.add(address or domain)

    @property
    def why(self) -> str:
        """Why these are more than sites that fail; "" where they are not."""
        if len(self.domains) < MANY:
            return ""
        for address, domains in self._liars.items():
            if len(domains) >= MANY:
                return f"the name server gives {address} for all names, which is not allowed (--allow-address)"
        if self._answered and len(self._places) >= MANY:
            return "nobody answers"
        return "nobody answers" if min(len(self._silent), len(self._silent_places)) >= VERY_MANY else ""


class Outage:
    """What one worker knows of its own way to the network."""

    def __init__(self) -> None:
        self.on_begin: Callable[[str, list[Before]], None] = lambda _cause, _failures: None  # failures to be undone
        self.on_end: Callable[[float], None] = lambda _seconds: None  # that it took
        self._failed = _InARow()
        self._good: dict[str, Site] = {}  # by domain: who was reached last, the latest last
        self._latest: Site | None = None  # of these
        self.calm = True  # nobody failed since somebody was reached: there is nothing else to ask
        self._doubts: list[Callable[[bool], None]] = []  # told whether a failure is the site's
        self._alarms: dict[int, int] = {}  # by site: outages that began with it, since it was reached
        self._over = False
        self.doubted_at = 0.0  # since when there are doubts
        self.cause = ""  # why nobody can be reached; "" while somebody can
        self.since = 0.0
        self.probe_at = 0.0  # while nobody can be reached: when to try again
        self._pause = SHORTEST

    def __repr__(self) -> str:
        failed = len(self._failed.before)
        return f"Outage({self.cause or 'none'}, {failed} failed in a row, {len(self._doubts)} in doubt)"

    @property
    def suspected(self) -> bool:
        """Have so many failed that no other should be visited before it is clear why?"""
        return self._failed.why != ""

    @property
    def doubts(self) -> int:
        """Failures that wait for a verdict."""
        return len(self._doubts)

    @property
    def lasts(self) -> bool:
        """Is there an outage, or may be?"""
        return not self.calm and (bool(self.cause or self._doubts) or self.suspected)

    def remember(self, sites: Iterable[Site]) -> None:
        """Sites that answered in an earlier run."""
        self._good |= {site.domain: site for site in sites}

    def reached(self, site: Site, now: float) -> None:
        """A site has answered, whatever it said."""
        if site is not self._latest:
            self._latest = site
            good, domain = self._good, site.domain
            good.pop(domain, None)
            good[domain] = site
            if len(good) > REMEMBERED:
                del good[next(iter(good))]
        if self._alarms:
            self._alarms.pop(site.number, None)
        if self.calm:
            return
        self.calm = True
        self._failed = _InARow()
        if self.cause:
            self.cause = ""
            self.on_end(now - self.since)
        if self._doubts:
            self._resolve(stands=True)

    def missed(self, before: Before, reason: Reason, now: float, *, address: str, ours: str) -> None:
        """A site was not reached."""
        self.calm = False
        if self.cause:
            return
        alarms = self._alarms.get(before.site.number, 0)
        if ours and alarms < _FALSE_ALARMS:
            self._alarms[before.site.number] = alarms + 1
            self.begin(ours, now)
            return
        answered = before.site.fetched > 0 or before.site.domain in self._good
        self._failed.add(before, reason, address, answered=answered)

    async def stands(self, before: Before, reason: Reason, now: float, *, address: str, ours: str, final: bool) -> bool:
        """A site was not reached: does that stand against it? Where it cannot be undone (`final`), or is one failure
        too many, the answer may take a while.
        """
        self.missed(before, reason, now, address=address, ours=ours)
        if self.cause:
            return False
        if not final and not self.suspected:
            return True
        if self._over:
            return False
        if not self._doubts:
            self.doubted_at = now
        verdict: Ask[bool] = Ask(self._doubts.append)
        return await verdict

    def to_ask(self) -> list[Site]:
        """Who answered before, and has not failed since: the latest first."""
        return [site for domain, site in reversed(self._good.items()) if domain not in self._failed.domains]

    def probes(self) -> list[Site]:
        """Who answered before, in the order to try them while nobody can be reached; who was tried goes to the end."""
        return list(reversed(self._good.values()))

    def decide(self, now: float) -> None:
        """Nobody is left to ask: the failures are ours if they are too many, and the sites' otherwise."""
        if self.suspected:
            self.begin(self._failed.why, now)
        else:
            self._resolve(stands=True)

    def begin(self, cause: str, now: float) -> None:
        """Nobody can be reached."""
        self.calm = False
        self.cause = cause
        self.since = now
        self._pause = SHORTEST
        self.probe_at = now + self._pause
        failed, self._failed = self._failed, _InARow()
        self.on_begin(cause, list(failed.before))
        self._resolve(stands=False)

    def probed(self, site: Site, now: float) -> None:
        """A probe has ended in vain: the next one follows after a longer pause, and at another site."""
        self._pause = min(2 * self._pause, LONGEST)
        self.probe_at = now + self._pause
        if self._good.pop(site.domain, None) is not None:
            self._good = {site.domain: site, **self._good}
            self._latest = None

    def nobody_to_probe(self, now: float) -> None:
        """Everybody rests, or has an address that must be lent to us first: look again soon."""
        self.probe_at = now + _SOON

    def let_go(self) -> None:
        """The crawl stops: what is in doubt does not count."""
        self._over = True
        doubts, self._doubts = self._doubts, []
        for tell in doubts:
            tell(False)

    def _resolve(self, *, stands: bool) -> None:
        doubts, self._doubts = self._doubts, []
        self._tell(doubts, stands)

    def _tell(self, doubts: list[Callable[[bool], None]], stands: bool) -> None:
        """Tell some now and the others soon: each of them ends a visit, and begins others."""
        for tell in doubts[:_AT_ONCE]:
            tell(stands)
        if rest := doubts[_AT_ONCE:]:
            later(lambda _nothing: self._tell(rest, stands))
