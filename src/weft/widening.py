"""Widening: a crawl goes on by wider rules, and what the old ones refused comes in again. In: a crawl's directory, and
what it is to collect from now on. Out: a global frontier that has the links to all of it.

Only while no worker runs. Refusals are not stored, but the links are, refused ones too. So the old rules and the new
ones are asked about every link to a page that was not fetched, and what only the old ones refuse is offered as a link
that was just found. Of pages that were fetched, those come again that were not kept because of their type, or were cut
at a limit that is higher now.

The rules by which a crawl's links have been offered are noted in the global frontier, in the transaction that brings
the links: a crash before it leaves the old ones there, and the next run does all of it again. Memory is bounded:
DuckDB joins the columns on disk where it must, and links go to the global frontier a part at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from weft.config import Settings
from weft.directory import Plan, in_words
from weft.frontier.blacklist import Blacklist
from weft.frontier.overrides import Overrides, SiteSettings
from weft.frontier.scope import Change, Scope, Selection, changes
from weft.frontier.shared.contract import Found, SharedFrontier
from weft.frontier.shared.opening import frontier_exists, open_frontier
from weft.model import FIRST_REQUISITE, KINDS, Kind, Reason, is_named
from weft.store.files import intact
from weft.urls import origin_of, site_of

if TYPE_CHECKING:
    from weft.store.joining import JoinedColumns

_UNSIGNED = (1 << 64) - 1  # columns have ids with a sign


class Rules(msgspec.Struct, frozen=True):
    """What says which links are followed."""

    selection: Selection
    sites: dict[str, tuple[int | None, int | None]]  # deepest and most pages, of sites that have their own

    @classmethod
    def of(cls, settings: Settings) -> Rules:
        """The rules of a crawl."""
        own = {name: (site.max_depth, site.max_pages) for name, site in settings.overrides.sites.items()}
        return cls(settings.selection, {name: limits for name, limits in own.items() if limits != (None, None)})


def note_rules(out: Path) -> None:
    """Before the settings of a crawl are written anew: see that those are noted by which it was run so far."""
    if not frontier_exists(out) or not (out / "crawl.toml").exists():
        return
    shared = open_frontier(out)
    try:
        if shared.state().offered_by is None:
            shared.note_rules(_encoded(Rules.of(Settings().with_file(out / "crawl.toml"))))
    finally:
        shared.close()


def widen(plan: Plan, shared: SharedFrontier) -> list[str]:
    """Offer what the rules of the last run refused and those of this one do not; what to say about it."""
    after, noted = Rules.of(plan.settings), shared.state().offered_by
    if noted == _encoded(after):
        return []
    before = after if noted is None else msgspec.json.decode(noted, type=Rules)
    found = changes(before.selection, after.selection)
    if plan.application is not None or not _admits_more(found, before, after):
        shared.note_rules(_encoded(after))
        return [in_words(*change[:3]) for change in found]
    from weft.store.joining import JoinedColumns  # loading DuckDB takes a fifth of a second, and most runs need it not

    _seal(plan.out)
    with (
        tempfile.TemporaryDirectory(dir=plan.out, prefix=".widening-") as room,
        JoinedColumns(plan.out, Path(room)) as columns,
    ):
        admitted = columns.redirected_seeds()
        let_in = [*shared.scope(), *admitted]
        old, new = (_Asked(rules, shared.blacklist(), let_in) for rules in (before, after))
        links = _Links(columns, old, new)
        count = shared.offer_again(links.all(), scope=admitted, rules=_encoded(after))
    said = "; ".join(in_words(*change[:3]) for change in found) or "limits of single sites are others"
    return [f"the crawl is wider: {said}", f"{count:,} URLs that were refused or cut come in again"]


def is_wider(settings: Settings, noted: str | None) -> bool:
    """Are the rules of a crawl others than those by which its links have been offered?"""
    return noted not in (None, _encoded(Rules.of(settings)))


def links_to_follow(
    columns: JoinedColumns, settings: Settings, *, blacklist: list[str], admitted: list[str]
) -> Iterator[Found]:
    """Every link of a crawl to what was not fetched, that its rules let in."""
    asked = _Asked(Rules.of(settings), blacklist, admitted)
    return _Links(columns, None, asked).not_followed()


def _encoded(rules: Rules) -> str:
    return msgspec.json.encode(rules, order="deterministic").decode()


def _admits_more(found: list[Change], before: Rules, after: Rules) -> bool:
    """Can something come in that did not? A type may be wanted, a limit be higher."""
    less = {"max_redirects", "max_site_pages", "max_bytes_page", "max_hostile"}
    found = [change for change in found if change.name not in _FROM_NOW_ON]
    higher = (change.now > change.was for change in found if change.name in less)
    return before.sites != after.sites or any(higher) or any(change.name not in less for change in found)


# Nobody knows what the first of these refused; what the others refused stays so, and those that are found come in.
_FROM_NOW_ON = {"max_page_sites", "max_domain_sites", "max_wildcard_sites", "max_site_bytes", "max_site_time"}


def _seal(out: Path) -> None:
    """Cut off what no commit of a worker covers and seal the rest, as its next start would do."""
    from weft.frontier.durable.log import Commit, FrontierLog  # large, and most runs need neither
    from weft.store.sealing import seal_leftovers

    for path in sorted(out.glob("workers/*/frontier.log")):
        if path.parent.name.isdigit():
            log = FrontierLog(path)
            try:
                last = Commit() if log.base is None else log.base.manifest.last
                for replayed in log.replay(lambda commit: intact(out, commit.marks)):
                    last = replayed.commit
            finally:
                log.close()
            seal_leftovers(out, last.marks, int(path.parent.name), number=last.number)


class _Asked:
    """Rules that are asked about links."""

    def __init__(self, rules: Rules, blacklist: list[str], admitted: list[str]) -> None:
        sites = {name: SiteSettings(max_depth=depth, max_pages=most) for name, (depth, most) in rules.sites.items()}
        self.scope = Scope(rules.selection, Overrides(sites=sites))
        self.selection = rules.selection
        self.scope.blacklist = Blacklist(blacklist)
        for url in admitted:
            self.scope.admit(url)

    def refuse(self, url: str, kind: int, depth: int) -> bool:
        """Is a URL refused that was found like this?"""
        return self.scope.refusal(url, site_of(url), kind, depth) is not None

    def most_pages(self) -> tuple[int, Any]:
        """The limits of pages."""
        sites = self.scope.overrides.sites
        return self.selection.max_site_pages, {name: site.max_pages for name, site in sites.items()}


@dataclass(frozen=True, slots=True)
class _Links:
    """The links that come in again, by the old rules and the new ones; made for one widening, and read once."""

    columns: JoinedColumns
    old: _Asked | None  # None: nothing was let in before
    new: _Asked

    def all(self) -> Iterator[Found]:
        """Pages that were fetched first, then links that were not followed."""
        yield from self._fetched()
        yield from self.not_followed()

    def _fetched(self) -> Iterator[Found]:
        assert self.old is not None
        limits = self.old.selection.max_bytes_page, self.new.selection.max_bytes_page
        for url, word, depth, via, declared, reason, size in self.columns.unfinished():
            kind = KINDS[word]
            if reason == Reason.TYPE.value:
                comes = self.new.scope.wanted.type(declared or "") or is_named(kind, depth)
            else:
                comes = limits[0] < limits[1] > size and kind != Kind.MAP
            if comes and not self.new.refuse(url, kind, depth):
                yield Found(url, kind, depth, via & _UNSIGNED, again=True)

    def not_followed(self) -> Iterator[Found]:
        """Links to pages that were not fetched, where only the old rules are to blame."""
        external = self.new.selection.external
        # Which sites were full is not written down.
        fuller = self.old is None or self.old.most_pages() != self.new.most_pages()
        # Nor is how long a chain was.
        longer = self.old is not None and self.old.selection.max_redirects < self.new.selection.max_redirects
        for url, word, depth, via, site in self.columns.not_fetched(by_site=external != "deep-link"):
            kind, meant = KINDS[word], [url]
            if external != "deep-link" and kind < FIRST_REQUISITE and site_of(url) != site:
                home = f"{origin_of(url)}/"
                meant = [home] if external == "home-page" else [home, url]
            for each in meant:
                known = not fuller and not (longer and kind == Kind.REDIRECT)
                known = known and self.old is not None and not self.old.refuse(each, kind, depth)
                if not known and not self.new.refuse(each, kind, depth):
                    yield Found(each, kind, depth, via & _UNSIGNED)
