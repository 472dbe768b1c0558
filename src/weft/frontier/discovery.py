"""Links become pending pages. In: links as written on a page. Out: the fingerprints of where they lead; new ones
stand in the frontier.

Most links of a page were on an earlier page of the same site, written the same way: a cache per site answers for
them without parsing anything. The rest is brought to normal form, tested by the scope rules and offered to URL-seen
in one call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from weft.frontier.log import FrontierLog
from weft.frontier.scope import Scope, Selection
from weft.frontier.seen import Seen, offer
from weft.frontier.sites import Overrides, Site
from weft.model import FIRST_REQUISITE, Kind, Parsed, Reason, Turn
from weft.ordering.heaps import Heaps, add_site, set_ready
from weft.urls import PLAIN_RULES, UrlRules, fingerprint, normal_form, origin_of, site_of

_CACHED = 400_000  # links remembered over all sites
_LONGEST_CACHED = 500  # characters of a link
_NO_SCORES = np.empty(0, dtype=np.float64)


class _Batch:
    """URLs on their way to URL-seen."""

    __slots__ = ("depths", "fingerprints", "kinds", "scores", "sites", "urls")

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.fingerprints: list[int] = []
        self.sites: list[int] = []
        self.kinds: list[int] = []
        self.depths: list[int] = []
        self.scores: list[float] = []


class Discovery:
    """Finds pages for one local frontier, and gives sites their numbers."""

    def __init__(
        self,
        *,
        seen: Seen,
        heaps: Heaps,
        log: FrontierLog,
        scope: Scope,
        selection: Selection,
        rules: UrlRules = PLAIN_RULES,
        overrides: Overrides,
        note: Callable[[int, str], None],
    ) -> None:
        self._note = note  # told every URL when it is first seen here: id, text
        self._seen = seen
        self._heaps = heaps
        self._log = log
        self._scope = scope
        self._selection = selection
        self._rules = rules
        self._overrides = overrides
        self._scored = heaps.score.size > 1
        self._cached = 0
        self._caches: dict[int, dict[str, dict[str, int]]] = {}  # by site and origin: link as written → fingerprint
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []
        self.new_names: list[str] = []  # since the last commit
        self.new_scores: list[float] = []  # of new pages, since the last commit, where the ordering scores
        self.refused: Counter[Reason] = Counter()

    def number(self, name: str) -> int:
        """The number of a site, new or known."""
        number = self.numbers.get(name)
        if number is None:
            number = self.numbers[name] = len(self.names)
            self.names.append(name)
            self.new_names.append(name)
            most = self._overrides.of(name).max_pages if self._overrides.sites else None
            self._seen.most[number] = self._selection.max_site_pages if most is None else most
            add_site(self._heaps, number)
            set_ready(self._heaps, number)
        return number

    def follow(self, site: Site, turn: Turn, parsed: Parsed, *, offered: bool = True) -> tuple[list[int], list[int]]:
        """Resolve the links of a page and offer them; their targets' fingerprints and kinds, in order on the page.

        With `offered` False (the page asks for it, or an application chooses by itself) they are resolved only.
        """
        base = parsed.base
        origin = origin_of(base) if base.startswith("http") else ""
        folder = base.partition("?")[0]
        folder = folder[: folder.rfind("/") + 1]
        cache = parts = self._cache(site, origin)
        if self._selection.scope == "list":
            offered = False
        batch = _Batch() if offered else None
        targets: list[int] = []
        kinds: list[int] = []
        for written, kind in parsed.links:
            first = written[0]
            if first == "#":
                continue
            if first == "/" or written.startswith(("http://", "https://")):
                key = written
            elif first == "?":
                key = f"{base}\n{written}"
            else:
                key = f"{folder}\n{written}"
            if kind >= FIRST_REQUISITE:
                if parts is cache:
                    parts = self._cache(site, f"{origin} parts")
                known = parts
            else:
                known = cache
            target = known.get(key)
            if target is None:
                target = self._resolve(written, kind, turn, base, batch, known, key)
            if target:
                targets.append(target)
                kinds.append(kind)
        if batch is not None and batch.urls:
            self._offer(batch, turn.page)
        return targets, kinds

    def offer_url(self, url: str, kind: int, depth: int, via: int, score: float = 0.0) -> Reason | None:
        """Offer one URL in normal form; the reason if it is refused."""
        batch = _Batch()
        reason = self._consider(url, fingerprint(url), kind, depth, batch, score)
        if batch.urls:
            self._offer(batch, via)
        return reason

    def _cache(self, site: Site, origin: str) -> dict[str, int]:
        return self._caches.setdefault(site.number, {}).setdefault(origin, {})

    def forget(self, site: Site) -> None:
        """Drop what is cached for a site that has no more pages."""
        self._caches.pop(site.number, None)

    def _resolve(
        self, written: str, kind: int, turn: Turn, base: str, batch: _Batch | None, known: dict[str, int], key: str
    ) -> int:
        """Where a link leads that the cache does not know; 0 when it leads nowhere on the web."""
        url = normal_form(written, base, self._rules)
        target = 0
        if type(url) is str:
            target = fingerprint(url)
            if batch is None:
                self._note(target, url)
                return target
            depth = turn.depth if kind >= FIRST_REQUISITE or kind == Kind.MAP else turn.depth + 1
            reason = self._consider_link(url, target, kind, turn, depth, batch)
            if reason is not None:
                self._note(target, url)
            if reason is Reason.DEPTH:
                return target  # a shorter way to it may be found later
        if len(key) > _LONGEST_CACHED:
            return target
        self._cached += 1
        if self._cached > _CACHED:  # start anew; what is in use fills up again at once
            self._caches.clear()
            self._cached = 0
        known[key] = target
        return target

    def _consider_link(self, url: str, target: int, kind: int, turn: Turn, depth: int, batch: _Batch) -> Reason | None:
        """Apply the policy for links to other sites, then the rules."""
        external = self._selection.external
        if external != "deep-link" and kind < FIRST_REQUISITE and site_of(url) != site_of(turn.url):
            home = f"{origin_of(url)}/"
            reason = self._consider(home, fingerprint(home), kind, depth, batch)
            if external == "home-page":
                return reason
        return self._consider(url, target, kind, depth, batch)

    def _consider(
        self, url: str, target: int, kind: int, depth: int, batch: _Batch, score: float = 0.0
    ) -> Reason | None:
        name = site_of(url)
        reason = self._scope.refusal(url, name, kind, depth)
        if reason is None and self._overrides.sites and kind < FIRST_REQUISITE:
            deepest = self._overrides.of(name).max_depth
            if deepest is not None and depth > deepest:
                reason = Reason.DEPTH
        if reason is not None:
            self.refused[reason] += 1
            return reason
        number = self.number(name)
        batch.urls.append(url)
        batch.fingerprints.append(target)
        batch.sites.append(number if kind < FIRST_REQUISITE else ~number)
        batch.kinds.append(kind)
        batch.depths.append(depth)
        if self._scored:
            batch.scores.append(score)
        return None

    def _offer(self, batch: _Batch, via: int) -> None:
        size = len(batch.urls)
        pages = np.empty(size, dtype=np.int32)
        new = offer(
            self._seen,
            self._heaps,
            np.array(batch.fingerprints, dtype=np.uint64),
            np.array(batch.sites, dtype=np.int32),
            np.array(batch.scores, dtype=np.float64) if self._scored else _NO_SCORES,
            pages,
        )
        for at, page in enumerate(pages.tolist()):
            if page < 0:
                self.refused[Reason.SITE_PAGES] += 1
            elif page == new:
                new += 1
                self._note(batch.fingerprints[at], batch.urls[at])
                if self._scored:
                    self.new_scores.append(batch.scores[at])
                site = batch.sites[at]
                self._log.append(
                    batch.fingerprints[at],
                    batch.urls[at],
                    via,
                    site if site >= 0 else ~site,
                    batch.depths[at],
                    batch.kinds[at],
                )
