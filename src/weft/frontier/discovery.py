"""Links become pending pages. In: links as written on a page. Out: the ids of where they lead; new ones stand in the
frontier.

What is not remembered from an earlier page is brought to normal form, tested by the rules (`rules.FOUND`, by their
short cuts) and offered to URL-seen in one call. Ids name pages in the columns and decide nothing: URL-seen goes by keys
(`keyed`), and so does the ranking.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from weft.errors import WeftError
from weft.frontier.holdings import Holdings
from weft.frontier.log import Commit, FrontierLog
from weft.frontier.remembered import Caches, Remembered
from weft.frontier.rules import FOUND, MOST_SITEMAPS, NEW_SITE, Candidate, Room, first_refusal, longest_chain
from weft.frontier.scope import Scope, Selection
from weft.frontier.seen import BATCH, FULL, Found, Seen
from weft.frontier.shared import contract
from weft.frontier.sites import Overrides, Site
from weft.frontier.wildcards import Wildcards
from weft.model import FIRST_REQUISITE, Kind, Parsed, Reason, Turn
from weft.ordering.heaps import TwoLevelHeap
from weft.parse.media import type_by_name
from weft.urls import PLAIN_RULES, UrlRules, fingerprint, normal_form, origin_of, registered_domain, site_of

_LONGEST_CACHED = 500  # characters of a link
_LONGEST_WRITTEN = 65_536  # characters of a link as written, which is brought to normal form
_NOT_FOR_EVER = frozenset((Reason.DEPTH, Reason.CHAIN, Reason.PAGE_SITES))  # another page may lead there by another way
_ID_BITS = 64  # where pages are ranked, what is remembered of a link has its key above its id
_ID = (1 << _ID_BITS) - 1
_MAP = int(Kind.MAP)  # an enumeration's members are slow to find in Python 3.11


class Links(NamedTuple):
    """Links of a page, in their order on it."""

    targets: list[int]
    """The ids of where they lead."""
    kinds: list[int]
    labels: list[tuple[str, str]] | None
    """What they say and their relations, where that is kept."""
    keys: list[int]
    """The keys of where they lead, where pages are ranked by the links to them."""


_NO_LINKS = Links([], [], None, [])


class Discovery:
    """Finds pages for one local frontier, and gives sites their numbers."""

    def __init__(  # noqa: PLR0913
        self,
        *,
        seen: Seen,
        heaps: TwoLevelHeap,
        log: FrontierLog,
        scope: Scope,
        selection: Selection,
        rules: UrlRules = PLAIN_RULES,
        overrides: Overrides,
        holdings: Holdings,
        note: Callable[[int, str], None],
        ranked: bool = False,
    ) -> None:
        self._ranked = ranked  # pages have scores that say something about those they link to
        self._holdings = holdings
        self._note = note  # told every URL when it is first seen here, be it refused or another's: id, text
        self._seen = seen
        self._heaps = heaps
        self._log = log
        self._scope = scope
        self._selection = selection
        self._rules = PLAIN_RULES if rules == PLAIN_RULES else rules  # which are known by being the same object
        self._overrides = overrides
        self._scored = heaps.arrays.score.size > 1
        self._steps = 0  # how far down a chain those are which are found now
        self._source = ""  # the site of the sitemap that names them; no rule looks at where other links are
        self._external = selection.external
        self._remembered = Remembered(shared=self._external == "deep-link")
        self._room = heaps.arrays.length.size  # for sites
        self._domains: Counter[str] = Counter()  # sites of registered domains, beside their own names
        self._strangers: tuple[int, set[str]] = (0, set())  # a page, and the new sites that it led to
        self.wildcards = Wildcards(selection.max_wildcard_sites)
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []
        self.members: dict[str, list[int]] = {}  # by group: its sites, where there are other workers
        self._new_names: list[str] = []  # since the last commit
        self.new_scores: list[float] = []  # of new pages, since the last commit, where the ordering scores
        self.refused: Counter[Reason] = Counter()
        self.unwanted: dict[str, int] = {}  # links refused by their file name, by the media type that it says

    def number(self, name: str) -> int:
        """The number of a site, new or known."""
        number = self.numbers.get(name)
        if number is None:
            if len(self.names) >= self._room:  # before anything is written anywhere
                raise WeftError(f"there is no room for more than {self._room} sites", todo="run more workers")
            self._count(name, 1)
            number = self.numbers[name] = len(self.names)
            self.names.append(name)
            self._new_names.append(name)
            if not self._holdings.alone:
                self.members.setdefault(registered_domain(name), []).append(number)
            self._seen.arrays.most[number] = self._scope.most_pages(name)
            self._heaps.add_site(number)
            self._heaps.set_ready(number)
        return number

    def drop(self, name: str) -> None:
        """A site went to another worker: its number stands for it no more."""
        if self.numbers.pop(name, None) is not None:
            self._count(name, -1)

    def _count(self, name: str, sites: int) -> None:
        """Count the sites of a domain. Most domains have one or two, for which no memory is spent."""
        domain = registered_domain(name)
        if name.removeprefix("www.") != domain:
            self._domains[domain] += sites

    def restore(self, names: list[str], left: set[int]) -> None:
        """Give sites the numbers again that they had; some went to another worker since."""
        for name in names:
            self.drop(name)  # it went, and came again
            self.number(name)
        for number in left:
            if self.numbers.get(names[number]) == number:
                self.drop(names[number])
            group = registered_domain(names[number])
            if group in self.members:
                self.members[group].remove(number)
        self._new_names = []

    def pack(self, commit: Commit) -> None:
        """Write down what was found since the last commit, beside the pages in the log."""
        commit.sites, self._new_names = self._new_names, []
        commit.scores = array("d", self.new_scores).tobytes()
        self.new_scores = []

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
        caches = self._remembered.of(site.number, origin)
        self._steps = turn.steps + 1 if turn.kind == _MAP or turn.kind >= FIRST_REQUISITE else 0
        self._source = site_of(turn.url) if turn.kind == _MAP else ""
        batch: list[Found] | None = [] if offered and self._selection.scope != "list" else None
        links, nofollow = parsed.links, parsed.nofollow
        if not (obeyed and parsed.follow):
            links, nofollow = ([], links + nofollow) if obeyed else (links + nofollow, [])
        targets: list[int] = []
        kinds: list[int] = []
        holes: list[int] = []  # how many links stand before each of those that lead nowhere
        added = 0
        for written, kind in links:
            first = written[0]
            if first == "/":
                key, absolute = written, 0
            elif first == "#":
                holes.append(len(targets))
                continue
            elif written.startswith(("http://", "https://")):
                key, absolute = written, 1
            else:
                key, absolute = f"{base if first == '?' else folder}\n{written}", 0
            cache = caches[absolute if kind < FIRST_REQUISITE else absolute + 2]
            target = cache.get(key)
            if target is None:
                target = self._resolve(written, kind, turn, base, batch)
                if target < 0:  # not to be remembered: a shorter way to it may be found
                    target = ~target
                elif len(key) <= _LONGEST_CACHED:
                    cache[key] = target
                    added += 1
            if target:
                targets.append(target)
                kinds.append(kind)
            else:
                holes.append(len(targets))
        if batch:
            self._offer(batch, turn.id)
        self._remembered.added(added)
        labels = parsed.labels
        keys = [target >> _ID_BITS for target in targets] if self._ranked else []
        if self._ranked:
            targets = [target & _ID for target in targets]
        followed = Links(targets, kinds, _kept(labels[: len(links)], holes) if labels else None, keys)
        if not nofollow:
            return followed, _NO_LINKS
        return followed, self._leave(nofollow, labels[len(links) :], turn, base, folder, caches)

    def _leave(
        self,
        nofollow: list[tuple[str, int]],
        labels: list[tuple[str, str]],
        turn: Turn,
        base: str,
        folder: str,
        caches: Caches,
    ) -> Links:
        """Resolve links that ask not to be followed. They are not offered, and remembered apart from those that are."""
        unfollowed = caches[4]
        targets: list[int] = []
        kinds: list[int] = []
        holes: list[int] = []
        added = 0
        for written, kind in nofollow:
            absolute = written.startswith(("http://", "https://"))
            key = written if absolute or written[0] == "/" else f"{base if written[0] == '?' else folder}\n{written}"
            target = unfollowed.get(key)
            if target is None and written[0] != "#":
                target = caches[absolute if kind < FIRST_REQUISITE else absolute + 2].get(key)  # followed elsewhere
                if target is None:
                    target = self._resolve(written, kind, turn, base, None)
                    self.refused[Reason.NOFOLLOW] += target != 0
                if len(key) <= _LONGEST_CACHED:
                    unfollowed[key] = target
                    added += 1
            if target:
                targets.append(target)
                kinds.append(kind)
            else:
                holes.append(len(targets))
        self._remembered.added(added)
        if self._ranked:
            targets = [target & _ID for target in targets]
        return Links(targets, kinds, _kept(labels, holes) if labels else None, [])

    def offer_url(
        self,
        url: str,
        kind: int,
        depth: int,
        via: int,
        score: float = 0.0,
        *,
        named: tuple[int, int] | None = None,
        steps: int = 0,
    ) -> Reason | None:
        """Offer one URL in normal form, found on the page with the id `via`; the reason if it is refused.

        `named` are its id and its key where these are not those of the URL; `steps` says how long the chain is that led
        to it.
        """
        batch: list[Found] = []
        self._steps, self._source = steps, ""
        target, key = (fingerprint(url), 0) if named is None else named
        reason = self._consider(url, target, kind, depth, via, batch, score)
        if batch:
            return self._offer(batch, via, key)
        if reason is not None:
            self._note(fingerprint(url), url)
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
            else:
                self.offer_url(url, Kind.MAP, 0, 0)

    def forget(self, site: Site) -> None:
        """Drop what is cached for a site that has no more pages."""
        self._remembered.forget(site.number)

    def _resolve(self, written: str, kind: int, turn: Turn, base: str, batch: list[Found] | None) -> int:
        """Where a link leads that the cache does not know: 0 nowhere on the web, the complement if not for ever."""
        if len(written) > _LONGEST_WRITTEN:
            self.refused[Reason.URL_LENGTH] += 1
            return 0
        url = normal_form(written, base, self._rules)
        if type(url) is not str:
            return 0
        target = remembered = fingerprint(url)
        if self._ranked:
            remembered |= self._seen.keyed.of(url) << _ID_BITS
        if batch is None:
            self._note(target, url)
            return remembered
        depth = turn.depth if kind >= FIRST_REQUISITE or kind == _MAP else turn.depth + 1
        if self._external != "deep-link" and kind < FIRST_REQUISITE and site_of(url) != site_of(turn.url):
            home = f"{origin_of(url)}/"
            reason = self._consider(home, fingerprint(home), kind, depth, turn.id, batch)
            if self._external == "combined":
                reason = self._consider(url, target, kind, depth, turn.id, batch)
            elif reason is None and home != url:
                self._note(target, url)
        else:
            reason = self._consider(url, target, kind, depth, turn.id, batch)
        if reason is None:
            return remembered
        self._note(target, url)
        return ~remembered if reason in _NOT_FOR_EVER else remembered

    def _consider(
        self, url: str, target: int, kind: int, depth: int, via: int, batch: list[Found], score: float = 0.0
    ) -> Reason | None:
        """Ask the rules; what they let pass goes into the batch, or to whoever holds its site."""
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
        number = self.numbers.get(name)
        if number is None:
            group = registered_domain(name)
            reason = self._no_room(url, name, group, kind, depth, via)
            if reason is not None:
                self.refused[reason] += 1
                return reason
            if not self._holdings.holds(group):
                self._note(target, url)
                self._holdings.send(group, contract.Found(url, kind, depth, via, score or None, steps=self._steps))
                return None
            number = self.number(name)
        batch.append((url, target, number if kind < FIRST_REQUISITE else ~number, kind, depth, score))
        return None

    def _no_room(self, url: str, name: str, group: str, kind: int, depth: int, via: int) -> Reason | None:
        """Why a site that is not known here cannot become so, found on the page `via`. A seed is asked for by name, and
        no page led to what a robots.txt names.
        """
        led = via and kind != Kind.SEED
        if led and self._strangers[0] != via:
            self._strangers = (via, set())
        strangers = self._strangers[1]
        sites = self._domains[group]
        room = Room(
            new_site=True,
            sites=len(self.names) < self._room,
            domain_sites=sites,
            wild=kind != Kind.SEED and self.wildcards.is_wild(group, sites),
            page_sites=len(strangers) if led and name not in strangers else 0,
        )
        found = Candidate(url=url, site=name, kind=kind, depth=depth, steps=self._steps, room=room)
        reason = first_refusal(NEW_SITE, self._scope, found)
        if led and reason is None:
            strangers.add(name)
        return reason

    def _offer(self, batch: list[Found], via: int, key: int = 0) -> Reason | None:
        """Test a batch by URL-seen; what is new goes to the log. With a `key` it is one URL, which has that. The reason
        of the last that was refused, if one was.
        """
        reason = None
        for start in range(0, len(batch), BATCH):
            part = batch[start : start + BATCH]
            new, pages = self._seen.offer(part, key)
            reason = self._take(part, pages, new, via) or reason
        return reason

    def _take(self, batch: list[Found], pages: list[int], new: int, via: int) -> Reason | None:
        reason = None
        key_of = self._seen.key_of
        for page, (url, target, site, kind, depth, score) in zip(pages, batch, strict=True):
            if page == new:
                new += 1
                self._note(target, url)
                self._log.append(key_of[page], url, via, site if site >= 0 else ~site, depth, kind, self._steps)
                if self._scored:
                    self.new_scores.append(score)
            elif page < 0:
                self._note(target, url)
                reason = Reason.FRONTIER_FULL if page == FULL else Reason.SITE_PAGES
                self.refused[reason] += 1
        return reason


def _kept(labels: list[tuple[str, str]], holes: list[int]) -> list[tuple[str, str]]:
    """The labels of the links that lead somewhere."""
    left_out = {before + number for number, before in enumerate(holes)}
    return [label for place, label in enumerate(labels) if place not in left_out]
