"""Redirects, and pages that are fetched again. In: where a page redirects to. Out: it is offered, unless it led here.

A redirect is a link: both URLs are in the frontier. One that leads back to where its chain came by
is not followed for ever: the page there, which may have wanted a cookie or a click, is fetched again, once.
"""

from __future__ import annotations

from weft.frontier.durable.past import MOST_REDIRECTS
from weft.frontier.local.chains import Chains
from weft.frontier.local.discovery import Discovery
from weft.frontier.local.holdings import Holdings
from weft.frontier.local.pages import Pages
from weft.frontier.local.ranking import Ranking
from weft.frontier.local.sites import Sites
from weft.frontier.local.unranked import Unranked
from weft.frontier.shared.contract import Found
from weft.frontier.special import Special
from weft.model import Kind, PageNumber, Reason, Turn
from weft.urls import fingerprint, registered_domain, site_of

_MOST_RETURNED = 1 << 20  # pages that are fetched again because a redirect led back to them


class Redirects:
    """Follows the redirects of one local frontier, which owns it.

    A page is fetched again at most once in a run because a redirect led back to it.
    """

    def __init__(
        self, *, pages: Pages, sites: Sites, discovery: Discovery, holdings: Holdings, ranking: Ranking | Unranked
    ) -> None:
        self._pages = pages
        self._sites = sites
        self._discovery = discovery
        self._holdings = holdings
        self._ranking = ranking
        self.chains = Chains()
        self._returned: set[int] = set()  # keys of pages that were fetched again

    def __repr__(self) -> str:
        return f"Redirects({self.chains}, {len(self._returned)} fetched again)"

    def follow(self, turn: Turn, url: str, kind: int, steps: int, special: Special | None = None) -> Reason | None:
        """Offer where a page redirects to, unless that led to it; the reason if it is refused. `steps` says how long
        the chain is by now, `special` what an application wants to know it by.
        """
        if self.comes_back(turn, url):
            return None
        known = len(self._pages)
        if special is None:
            reason = self._discovery.offer(url, kind, turn.depth, turn.id, steps=steps)
        else:
            reason = self._discovery.request(url, special, turn.depth, turn.id, kind=kind, steps=steps)
        if len(self._pages) > known:
            self.chains.add(PageNumber(known), turn.page)
        return reason

    def visited(self, turn: Turn, url: str) -> None:
        """A page was visited and redirects to a URL, which was offered if it is to be: that is its one link."""
        if self._ranking.scores:
            self._ranking.visited(turn.page, [self._pages.seen.keyed.of(url)])

    def comes_back(self, turn: Turn, url: str) -> bool:
        """Does a redirect lead back to the page that led to it? Then that page, which may have wanted a cookie or a
        click, is fetched again, once: is it?
        """
        key = self._pages.seen.keyed.of(url)
        if turn.kind != Kind.REDIRECT or key in self._returned or not self._led_to(turn, fingerprint(url)):
            return False
        page = self._pages.seen.find(key)
        if page < 0:  # another worker has it
            self._returned.add(key)
            self._holdings.post(
                registered_domain(site_of(url)),
                Found(url, turn.kind, turn.depth, turn.id, again=True, steps=turn.steps),
            )
            return True
        entry = self._pages.log.entry(page)
        if not self._sites[entry.site].jar.cookies or not self.take_back(key):
            return False
        self._discovery.offer(url, entry.kind, entry.depth, entry.via, steps=entry.steps)
        return True

    def take_back(self, key: int) -> bool:
        """Forget that a page is done, once a run; False where it is to stay as it is."""
        if key in self._returned or len(self._returned) >= _MOST_RETURNED:
            return False
        self._returned.add(key)
        return self._pages.replace(key)

    def begin_of(self, turn: Turn) -> int:
        """The id of the page where the chain of redirects began that led here; 0 where that is not known."""
        page, via = turn.page, turn.via
        for _ in range(turn.steps - 1):
            page = self.chains.source(page)
            if page < 0:
                return 0
            via = self._pages.log.entry(page).via
        return via

    def _led_to(self, turn: Turn, target: int) -> bool:
        """Is a page where a chain of redirects began, or came by, as far as it is known here?"""
        page, kind, via = turn.page, turn.kind, turn.via
        for _ in range(MOST_REDIRECTS):
            if kind != Kind.REDIRECT or via == target:
                break
            page = self.chains.source(page)
            if page < 0:
                return False
            _, via, _, _, kind, _ = self._pages.log.entry(page)
        return kind == Kind.REDIRECT and via == target
