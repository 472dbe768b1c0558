"""Links become pending pages. In: links as written on a page. Out: the ids of where they lead; new ones stand in the
frontier.

What is not remembered from an earlier page is brought to normal form, tested by the rules (`rules.FOUND`, by their
short cuts) and offered to URL-seen in one call. Ids name pages in the columns and decide nothing: URL-seen goes by keys
(`keyed`), and so does the ranking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from weft.frontier.durable.log import Entry
from weft.frontier.local.holdings import Holdings
from weft.frontier.local.pages import Pages
from weft.frontier.local.remembered import ID_BITS, Remembered, Unknown
from weft.frontier.local.seen import FULL, MOST_OFFERED, Offer
from weft.frontier.local.site import Site
from weft.frontier.local.sites import Sites
from weft.frontier.local.specials import Specials
from weft.frontier.local.wildcards import Wildcards
from weft.frontier.rules import FOUND, MOST_SITEMAPS, NEW_SITE, Candidate, Room, first_refusal, longest_chain
from weft.frontier.scope import Scope
from weft.frontier.shared import contract
from weft.frontier.special import ORDINARY, Special
from weft.model import FIRST_REQUISITE, NO_ID, Kind, PageNumber, Parsed, Reason, Turn, UrlId
from weft.parse.links import Link, PageLinks
from weft.parse.media import type_by_name
from weft.urls import PLAIN_RULES, UrlRules, fingerprint, normal_form, origin_of, registered_domain, site_of

MOST_STOPPED = 1_000  # sites of which it is told why they are followed no further
_OF_DOMAIN = (Reason.DOMAIN_SITES, Reason.WILDCARD)
_LONGEST_WRITTEN = 65_536  # characters of a link as written, which is brought to normal form
# Another page may lead there by another way, or later.
_NOT_FOR_EVER = frozenset((Reason.DEPTH, Reason.CHAIN, Reason.PAGE_SITES, Reason.DNS_NOT_FOUND))
_ID = (1 << ID_BITS) - 1
_NOWHERE = (0, True)
# An enumeration's members are slow to find in Python 3.11.
_A, _MAP, _REDIRECT = int(Kind.A), int(Kind.MAP), int(Kind.REDIRECT)


class Links(NamedTuple):
    """Links of a page, in their order on it."""

    targets: list[int]
    """The ids of where they lead."""
    kinds: list[int]
    labels: list[tuple[str, str]] | None
    """What they say and their relations, where that is kept."""
    keys: list[int]
    """The keys of where they lead, parts of the page left out, where pages are ranked by the links to them."""


_NO_LINKS = Links([], [], None, [])


class Discovery:
    """Finds pages for one local frontier, which owns it.

    What is offered is refused for a reason, given to whoever holds its site, known already, or pending from then on.
    """

    def __init__(
        self,
        *,
        sites: Sites,
        pages: Pages,
        scope: Scope,
        rules: UrlRules = PLAIN_RULES,
        holdings: Holdings,
        specials: Specials,
        note: Callable[[UrlId, str], None],
        ranked: bool = False,
    ) -> None:
        self._sites = sites
        self._pages = pages
        self._seen = pages.seen
        self._scope = scope
        self._selection = selection = scope.selection
        self._rules = PLAIN_RULES if rules == PLAIN_RULES else rules  # which are known by being the same object
        self._holdings = holdings
        self._dead = sites.dead
        self._specials = specials
        self._note = note  # told every URL when it is first seen here, be it refused or another's: id, text
        self._ranked = ranked  # pages have scores that say something about those they link to
        self._steps = 0  # how far down a chain those are which are found now
        self._asked: tuple[bytes, bool] | None = None  # how it is asked for which is found now, and whether again
        self._source = ""  # the site of the sitemap that names them; no rule looks at where other links are
        self._external = selection.external
        self._replaces = scope.replaces
        self._remembered = Remembered(self._seen.keyed.secret, shared=self._external == "deep-link", ranked=ranked)
        self._strangers: tuple[int, set[str]] = (0, set())  # a page, and the new sites that it led to
        self.wildcards = Wildcards(selection.max_wildcard_sites)
        self.refused: Counter[Reason] = Counter()  # by any rule, over all runs
        self.on_refused: Callable[[Entry, Reason, Special | None], None] | None = None  # told of pages whose turn had
        # come, and of what applications of other workers asked for
        self.stopped: dict[str, str] = {}  # sites and domains that are followed no further, and why; some of them
        self.unwanted: dict[str, int] = {}  # links refused by their file name, by the media type that it says

    def __repr__(self) -> str:
        return f"Discovery({self._pages}, {self.refused.total()} refused)"

    def refusals(self) -> dict[str, int]:
        """How many URLs were refused by which rule, over all runs."""
        return {reason.value: count for reason, count in self.refused.items()}

    def restore_refusals(self, counts: dict[str, int]) -> None:
        """Count on from an earlier run."""
        self.refused.update({Reason.named(name): count for name, count in counts.items()})

    def tell(self, entry: Entry, reason: Reason, special: Special | None) -> None:
        """Tell the application that something is refused, where there is one."""
        if self.on_refused is not None:
            self.on_refused(entry, reason, special)

    def note_stopped(self, name: str, reason: Reason) -> None:
        """A site, or a domain, is past a threshold: it keeps what it has, and is followed no further."""
        if name not in self.stopped and len(self.stopped) < MOST_STOPPED:
            self.stopped[name] = reason.value

    def look_again(self) -> None:
        """Links that were followed before are looked at anew: what they led to may have been forgotten since."""
        self._remembered.clear()

    def follow(
        self, site: Site, turn: Turn, parsed: Parsed, *, offered: bool = True, obeyed: bool = True
    ) -> tuple[Links, Links]:
        """Resolve the links of a page and offer them: those that are followed, and those that ask not to be.

        With `offered` False (an application chooses by itself) they are resolved only. What page and links ask about
        following counts where it is `obeyed`.
        """
        base = parsed.base
        origin = origin_of(base) if base.startswith("http") else ""
        folder = base.partition("?")[0]
        folder = folder[: folder.rfind("/") + 1]
        self._steps = turn.steps + 1 if turn.kind == _MAP or turn.kind >= FIRST_REQUISITE else 0
        self._source = site_of(turn.url) if turn.kind == _MAP else ""
        links, nofollow = parsed.links, parsed.nofollow
        if not (obeyed and parsed.follow):
            links, nofollow = ([], [*links, *nofollow]) if obeyed else ([*links, *nofollow], [])
        found, unknown = self._remembered.look_up(links, site.name, origin, folder, base)
        if unknown:
            self._follow_new(unknown, found, turn, base, offered=offered)
        labels = parsed.labels
        followed = self._links(links, found, labels)
        if not nofollow:
            return followed, _NO_LINKS
        found, unknown = self._remembered.look_up(nofollow, site.name, origin, folder, base, followed=False)
        if unknown:
            elsewhere, _ = self._remembered.look_up(nofollow, site.name, origin, folder, base)
            self._leave(unknown, found, elsewhere, turn, base)
        return followed, self._links(nofollow, found, labels[len(links) :], keyed=False)

    def _links(
        self, links: Sequence[Link], found: list[int], labels: list[tuple[str, str]], *, keyed: bool = True
    ) -> Links:
        """The links of a page that lead somewhere."""
        plain = type(links) is PageLinks and not links.made
        kinds = [_A] * len(found) if plain else [kind for _, kind in links]
        if not all(found):
            kinds = [kind for kind, target in zip(kinds, found, strict=True) if target]
            labels = [label for label, target in zip(labels, found, strict=False) if target]
            found = [target for target in found if target]
        said = labels[: len(found)] if labels else None
        if not self._ranked:
            return Links(found, kinds, said, [])
        keys = []
        if keyed:
            followed = zip(found, kinds, strict=True)
            keys = [target >> ID_BITS for target, kind in followed if kind < FIRST_REQUISITE]
        return Links([target & _ID for target in found], kinds, said, keys)

    def _follow_new(self, unknown: list[Unknown], found: list[int], turn: Turn, base: str, *, offered: bool) -> None:
        """Resolve links that nothing is remembered of, and offer them; where each leads goes into its place."""
        offers: list[Offer] | None = [] if offered else None
        new: dict[int, int] = {}  # by key; a link may be on a page twice
        for place, key, written, kind in unknown:
            target = new.get(key)
            if target is None:
                target, lasting = self._resolve(written, kind, turn, base, offers)
                if lasting and key:
                    new[key] = target
            found[place] = target
        if offers:
            self._offer(offers, turn.id)
        self._remembered.remember(new)

    def _leave(self, unknown: list[Unknown], found: list[int], elsewhere: list[int], turn: Turn, base: str) -> None:
        """Resolve links that ask not to be followed. They are not offered, and remembered apart from those that are."""
        new: dict[int, int] = {}
        for place, key, written, kind in unknown:
            target = new.get(key) or elsewhere[place]
            if not target and written[0] != "#":
                target, _ = self._resolve(written, kind, turn, base, None)
                self.refused[Reason.NOFOLLOW] += target != 0
            if key:
                new[key] = target
            found[place] = target
        self._remembered.remember(new)

    def original(self, url: str, kind: int) -> str:
        """A URL as it is asked for: where its site is a replica, that of the original, and this one is refused."""
        original = url if kind == _REDIRECT else self._scope.original(url)
        if original is not url:
            self.refused[Reason.DUPHOST] += 1
            self._note(fingerprint(url), url)
        return original

    def offer(
        self,
        url: str,
        kind: int,
        depth: int,
        via: UrlId,
        score: float = 0.0,
        *,
        steps: int = 0,
        named: tuple[UrlId, int] | None = None,
        asked: tuple[bytes, bool] | None = None,
    ) -> Reason | None:
        """Offer one URL in normal form, found on the page with the id `via`; the reason if it is refused.

        `steps` says how long the chain is that led to it; `named` are its id and its key where these are not those of
        the URL, `asked` how it is asked for (encoded), and whether again, for another worker who holds its site.
        """
        if self._replaces:
            url = self.original(url, kind)
        offers: list[Offer] = []
        self._steps, self._source, self._asked = steps, "", asked
        target, key = (fingerprint(url), 0) if named is None else named
        reason = self._consider(url, target, kind, depth, via, offers, score)
        self._asked = None
        if offers:
            return self._offer(offers, via, key)
        if reason is not None:
            self._note(fingerprint(url), url)
        return reason

    def request(
        self,
        url: str,
        special: Special,
        depth: int,
        via: UrlId,
        score: float = 0.0,
        *,
        kind: int = Kind.REQUEST,
        steps: int = 0,
        again: bool = False,
    ) -> Reason | None:
        """Offer one URL that is to be asked for in a way of its own, perhaps `again` when its page is done; the reason
        if it is refused.
        """
        if self._replaces:
            url = self.original(url, kind)
        key = self._seen.keyed.of_bytes(special.name(url))
        page = self._seen.find(key)
        if page >= 0 and not (again and self._pages.replace(key)):
            self._specials.join(page, special)
            return None
        encoded = msgspec.msgpack.encode(special)
        named = (special.id(url), key)
        reason = self.offer(url, kind, depth, via, score, steps=steps, named=named, asked=(encoded, again))
        page = self._seen.find(key)
        if page >= 0 and special != ORDINARY:
            self._specials.add(page, special)
        return reason

    def offer_sitemaps(self, written: Sequence[str], base: str) -> None:
        """Offer the sitemaps that a robots.txt names, where sitemaps are read: so many, and few on other domains.

        A site out of the scope, which is visited for a sitemap itself, say, has none that are of use.
        """
        if not (self._selection.sitemaps and written and self._scope.covers(site_of(base))):
            return
        own, foreign = registered_domain(site_of(base)), 0
        if len(written) > MOST_SITEMAPS:  # those are not even looked at
            self.refused[Reason.SITEMAPS] += len(written) - MOST_SITEMAPS
        offers: list[Offer] = []  # all at once, as the links of a page: one by one a thousand take long
        self._steps, self._source = 0, ""
        for number, each in enumerate(written[:MOST_SITEMAPS]):
            url = normal_form(each, base, self._rules)
            if type(url) is not str:
                continue
            site = site_of(url)
            elsewhere = registered_domain(site) != own
            foreign += elsewhere
            found = Candidate(
                url=url, site=site, kind=Kind.MAP, depth=0, listed=number, foreign=foreign if elsewhere else 0
            )
            if first_refusal(FOUND[:1], self._scope, found) is not None:
                self.refused[Reason.SITEMAPS] += 1
                continue
            if self._replaces:
                url = self.original(url, Kind.MAP)
            if self._consider(url, fingerprint(url), Kind.MAP, 0, NO_ID, offers) is not None:
                self._note(fingerprint(url), url)
        self._offer(offers, NO_ID)

    def _resolve(self, written: str, kind: int, turn: Turn, base: str, offers: list[Offer] | None) -> tuple[int, bool]:
        """Where a link leads that the cache does not know, 0 for nowhere on the web; and is that so for ever?"""
        if len(written) > _LONGEST_WRITTEN:
            self.refused[Reason.URL_LENGTH] += 1
            return _NOWHERE
        url = normal_form(written, base, self._rules)
        if type(url) is not str:
            return _NOWHERE
        if self._replaces:
            url = self.original(url, kind)
        target = fingerprint(url)
        remembered: int = target
        if self._ranked:
            remembered |= self._seen.keyed.of(url) << ID_BITS
        if offers is None:
            self._note(target, url)
            return remembered, True
        depth = turn.depth if kind >= FIRST_REQUISITE or kind == _MAP else turn.depth + 1
        if self._external != "deep-link" and kind < FIRST_REQUISITE and site_of(url) != site_of(turn.url):
            home = f"{origin_of(url)}/"
            reason = self._consider(home, fingerprint(home), kind, depth, turn.id, offers)
            if self._external == "combined":
                reason = self._consider(url, target, kind, depth, turn.id, offers)
            elif reason is None and home != url:
                self._note(target, url)
        else:
            reason = self._consider(url, target, kind, depth, turn.id, offers)
        if reason is None:
            return remembered, True
        self._note(target, url)
        strays = kind == _MAP and reason is Reason.SCOPE  # named by another site, and perhaps by its own later
        return remembered, not strays and reason not in _NOT_FOR_EVER

    def _consider(
        self, url: str, target: UrlId, kind: int, depth: int, via: UrlId, offers: list[Offer], score: float = 0.0
    ) -> Reason | None:
        """Ask the rules; what they let pass is offered, or to whoever holds its site."""
        name = site_of(url)
        reason = self._scope.refusal(url, name, kind, depth, self._source)
        if self._steps and reason is None and self._steps > longest_chain(self._scope, kind):
            reason = Reason.CHAIN
        if reason is not None:
            self.refused[reason] += 1
            if reason is Reason.EXTENSION:
                said = type_by_name(url)
                self.unwanted[said] = self.unwanted.get(said, 0) + 1
            return reason
        number = self._sites.numbers.get(name)
        if number is None:
            group = registered_domain(name)
            shelved = self._holdings.shelf is not None and self._holdings.shelf.has(group)  # what is new there it says
            reason = None if shelved else self._no_room(url, name, group, kind, depth, via)
            if reason is not None:
                self.refused[reason] += 1
                return reason
            if shelved or not self._holdings.holds(group):
                self._note(target, url)
                link = contract.Found(url, kind, depth, via, score or None, steps=self._steps)
                if self._asked is None:
                    self._holdings.send(group, link)
                else:
                    special, again = self._asked
                    self._holdings.post(group, msgspec.structs.replace(link, special=special, again=again))
                return None
            number = self._sites.number(name)
        elif self._dead and self._sites.leads_nowhere(number, kind, depth):
            self.refused[Reason.DNS_NOT_FOUND] += 1
            return Reason.DNS_NOT_FOUND
        offers.append((url, target, number, kind, depth, score))
        return None

    def _no_room(self, url: str, name: str, group: str, kind: int, depth: int, via: int) -> Reason | None:
        """Why a site that is not known here cannot become so, found on the page `via`. A seed is asked for by name, and
        no page led to what a robots.txt names.
        """
        led = via and kind != Kind.SEED
        if led and self._strangers[0] != via:
            self._strangers = (via, set())
        strangers = self._strangers[1]
        sites = self._sites.of_domain(group)
        room = Room(
            new_site=True,
            sites=len(self._sites.names) < self._sites.room,
            domain_sites=sites,
            wild=kind != Kind.SEED and self.wildcards.is_wild(name, group, sites),
            doorways=self.wildcards.doorways[group] if self.wildcards.doorways else 0,
            page_sites=len(strangers) if led and name not in strangers else 0,
        )
        found = Candidate(url=url, site=name, kind=kind, depth=depth, steps=self._steps, room=room)
        reason = first_refusal(NEW_SITE, self._scope, found)
        if reason in _OF_DOMAIN:
            self.note_stopped(group, reason)
        if led and reason is None:
            strangers.add(name)
        return reason

    def _offer(self, offers: list[Offer], via: UrlId, key: int = 0) -> Reason | None:
        """Test what is offered by URL-seen; what is new goes to the log. With a `key` it is one URL, which has that.
        The reason of the last that was refused, if one was.
        """
        reason = None
        for start in range(0, len(offers), MOST_OFFERED):
            part = offers[start : start + MOST_OFFERED]
            new, pages = self._seen.offer(part, key)
            reason = self._take(part, pages, new, via) or reason
        return reason

    def _take(self, offers: list[Offer], pages: list[PageNumber], new: int, via: UrlId) -> Reason | None:
        reason, scored = None, self._pages.scored
        key_of, append = self._seen.key_of, self._pages.log.append
        for page, (url, target, site, kind, depth, score) in zip(pages, offers, strict=True):
            if page == new:
                new += 1
                self._note(target, url)
                append(key_of[page], url, via, site, depth, kind, self._steps)
                if scored:
                    self._pages.new_scores.append(score)
            elif page < 0:
                self._note(target, url)
                reason = Reason.FRONTIER_FULL if page == FULL else Reason.SITE_PAGES
                self.refused[reason] += 1
                if page != FULL:
                    self.note_stopped(self._sites.names[site], reason)
        return reason
