"""The rules that refuse. In: what a rule looks at, as a frozen value. Out: nothing, or the reason why not.

A URL is judged at three moments, each with its own tuple of rules: when it is *found* (`FOUND`), when its *turn* has
come (`TURN`), and when the *address* of its site is known (`weft.engine.gate.ADDRESS`). Rules are asked in order and
the first that says no decides. `weft explain` and the reference page read the same tuples as the crawler.

Where a rule is asked for every link, the crawler has a short cut that says the same: `Scope.refusal` for the rules that
look at a URL, URL-seen in compiled code for the last two. A property test holds them to these tuples. What cannot be
read as a URL at all never comes this far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

import msgspec

from weft.frontier.overrides import PLAIN, SiteSettings
from weft.frontier.scope import Scope, is_free
from weft.frontier.traps import repeats
from weft.model import FIRST_REQUISITE, Kind, Reason, is_named
from weft.parse.robots import Robots
from weft.urls import site_of, split, target_of, web_port

Laws = TypeVar("Laws")  # of a crawl: its scope, or its gate
Case = TypeVar("Case")

NESTED = 5  # sitemaps that name one another, or parts of parts; redirects of them included
MOST_SITEMAPS = 1000  # that one robots.txt names
SOME_COPIES = 50  # of a site, before their share says anything
MOST_FOREIGN = 10  # of these, on other domains than its own


class Moment(Enum):
    """When rules are asked."""

    FOUND = "found"
    TURN = "turn"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True)
class Rule(Generic[Laws, Case]):
    """One rule: it refuses for one reason, at one moment."""

    reason: Reason
    moment: Moment
    looks_at: str
    """What it looks at, in words; settings by their names."""
    refuses: Callable[[Laws, Case], bool]
    """Does it refuse this, in a crawl with these laws (its scope, or its gate)?"""


def first_refusal(rules: Iterable[Rule[Laws, Case]], laws: Laws, case: Case) -> Reason | None:
    """The reason of the first rule that says no."""
    for rule in rules:
        if rule.refuses(laws, case):
            return rule.reason
    return None


def answers(rules: Iterable[Rule[Laws, Case]], laws: Laws, case: Case) -> list[tuple[Reason, bool]]:
    """What every rule says, in their order."""
    return [(rule.reason, rule.refuses(laws, case)) for rule in rules]


# When a URL is found.


class Room(NamedTuple):
    """What there is room for where a URL would go. Unless something is said, there is plenty."""

    new_site: bool = False  # its site is not known yet
    sites: bool = True  # its worker can take another site
    domain_sites: int = 0  # sites of its domain, beside those of the domain's own name
    wild: bool = False  # the domain's name servers know any name
    doorways: int = 0  # sites of a domain that has any name whose first pages look the same
    page_sites: int = 0  # new sites that its page led to, this one not among them; 0 where no page led to it
    dead: bool = False  # there was no such name when it was asked for, a short time ago
    pages: bool = True  # its worker can take another page
    site_pages: int = 0  # pages of its site, their parts not counted


class Candidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL in normal form that was found, with everything that rules look at."""

    url: str
    site: str
    kind: int
    depth: int
    steps: int = 0  # redirects in a row that led to it; of a sitemap or a part: such as it above it
    source: str = ""  # the site of the page that it was found on, "" where that is not known
    nofollow: bool = False  # the link, or its page, asks that it not be followed
    listed: int = 0  # sitemaps that its robots.txt names before it
    foreign: int = 0  # of sitemaps on another domain than their robots.txt: such as it up to it
    room: Room = Room()


def candidate(url: str, kind: int, depth: int, steps: int = 0) -> Candidate:
    """A URL with what is known of any."""
    return Candidate(url=url, site=site_of(url), kind=kind, depth=depth, steps=steps)


def _beyond_the_list(_scope: Scope, found: Candidate) -> bool:
    return found.listed >= MOST_SITEMAPS or found.foreign > MOST_FOREIGN


def _unfollowed(scope: Scope, found: Candidate) -> bool:
    return found.nofollow and scope.obeys(scope.overrides.of(found.source))


def _too_long(scope: Scope, found: Candidate) -> bool:
    return len(found.url) > scope.selection.max_url


def _blacklisted(scope: Scope, found: Candidate | Waiting) -> bool:
    return scope.blacklist.names(found.url, found.site)


def _no_web_port(_scope: Scope, found: Candidate) -> bool:
    return not web_port(split(found.url).port)


def _copied(scope: Scope, found: Candidate) -> bool:
    return found.kind != Kind.REDIRECT and scope.is_replica(found.site)


def _excluded(scope: Scope, found: Candidate) -> bool:
    return scope.excludes(found.url)


def _outside(scope: Scope, found: Candidate) -> bool:
    if is_named(found.kind, found.depth) or scope.holds(found.url, found.site):
        return False
    return not is_free(found.kind) or scope.strays(found.kind, found.site, found.source)


def _not_included(scope: Scope, found: Candidate) -> bool:
    return found.kind < FIRST_REQUISITE and found.kind != Kind.SEED and not scope.includes(found.url)


def _unwanted_name(scope: Scope, found: Candidate) -> bool:
    return not (is_free(found.kind) or is_named(found.kind, found.depth) or scope.wanted.link(found.url))


def _repeats(scope: Scope, found: Candidate) -> bool:
    return _can_be_a_trap(found) and repeats(found.url, scope.selection.max_repeats)


def _is_ahead(scope: Scope, found: Candidate) -> bool:
    return _can_be_a_trap(found) and scope.trap(found.url) is Reason.CALENDAR


def _can_be_a_trap(found: Candidate) -> bool:
    """Is it a page that nobody asked for by name?"""
    return found.kind < FIRST_REQUISITE and not is_named(found.kind, found.depth)


def _too_deep(scope: Scope, found: Candidate) -> bool:
    return found.kind < FIRST_REQUISITE and found.depth > scope.deepest(found.url, found.site)


def _too_far(scope: Scope, found: Candidate) -> bool:
    return found.steps > longest_chain(scope, found.kind)


def longest_chain(scope: Scope, kind: int) -> float:
    """How far down a chain of its kind a URL may be."""
    if kind == Kind.REDIRECT:
        return scope.selection.max_redirects
    return NESTED if kind == Kind.MAP or kind >= FIRST_REQUISITE else float("inf")


def _no_room_for_sites(_scope: Scope, found: Candidate) -> bool:
    return found.room.new_site and not found.room.sites


def _too_many_of_domain(scope: Scope, found: Candidate) -> bool:
    return _is_stranger(found) and found.room.domain_sites >= scope.selection.max_domain_sites


def _wild(scope: Scope, found: Candidate) -> bool:
    most = scope.selection.max_wildcard_sites
    full = found.room.domain_sites >= most or found.room.doorways >= scope.selection.max_doorways
    return _is_stranger(found) and found.room.wild and full


def _too_many_of_page(scope: Scope, found: Candidate) -> bool:
    return _is_stranger(found) and found.room.page_sites >= scope.selection.max_page_sites


def _is_stranger(found: Candidate) -> bool:
    """Is it of a site that is not known, and that nobody asked for by name?"""
    return found.room.new_site and found.kind != Kind.SEED


def _nameless(_scope: Scope, found: Candidate) -> bool:
    return found.room.dead and not (is_named(found.kind, found.depth) or found.kind == Kind.REQUEST)


def _no_room_for_pages(_scope: Scope, found: Candidate) -> bool:
    return not found.room.pages


def _site_is_full(scope: Scope, found: Candidate) -> bool:
    return found.kind < FIRST_REQUISITE and found.room.site_pages >= scope.most_pages(found.site)


_LENGTH = Rule(Reason.URL_LENGTH, Moment.FOUND, "the length of the URL: `max_url`", _too_long)
_BLACKLIST: Rule[Scope, Candidate] = Rule(
    Reason.BLACKLISTED, Moment.FOUND, "URL and site: `weft blacklist`", _blacklisted
)
_PORT = Rule(Reason.PORT, Moment.FOUND, "the port", _no_web_port)

ANY_REQUEST: tuple[Rule[Scope, Candidate], ...] = (_LENGTH, _BLACKLIST, _PORT)
"""What nothing at all is asked for by, not even a robots.txt."""

NEW_SITE: tuple[Rule[Scope, Candidate], ...] = (
    Rule(Reason.FRONTIER_FULL, Moment.FOUND, "sites that its worker knows, where its own is new", _no_room_for_sites),
    Rule(
        Reason.DOMAIN_SITES,
        Moment.FOUND,
        "sites of its domain, where its own is new (seeds apart): `max_domain_sites`",
        _too_many_of_domain,
    ),
    Rule(
        Reason.WILDCARD,
        Moment.FOUND,
        "the same, of a domain that has any name (seeds apart): `max_wildcard_sites`, `max_doorways`",
        _wild,
    ),
    Rule(
        Reason.PAGE_SITES,
        Moment.FOUND,
        "new sites that the page led to (seeds apart): `max_page_sites`",
        _too_many_of_page,
    ),
)
"""What is asked of a URL whose site is not known yet."""

FOUND: tuple[Rule[Scope, Candidate], ...] = (
    Rule(Reason.SITEMAPS, Moment.FOUND, "the place in the robots.txt that names it", _beyond_the_list),
    Rule(
        Reason.NOFOLLOW,
        Moment.FOUND,
        "link and page, unless `robots` is ignore, of the crawl or of the page's site",
        _unfollowed,
    ),
    *ANY_REQUEST,
    Rule(
        Reason.DUPHOST,
        Moment.FOUND,
        "the site: `duphosts`, `www`; the same page of its original is asked for in its place. Where a server "
        "redirects to is taken as it is",
        _copied,
    ),
    Rule(Reason.EXCLUDED, Moment.FOUND, "the URL: `exclude`", _excluded),
    Rule(
        Reason.SCOPE,
        Moment.FOUND,
        "the URL: `scope` and the seeds. Seeds, where these redirect to, parts of pages, and sitemaps that a "
        "robots.txt or one of their own site names, may lie anywhere",
        _outside,
    ),
    Rule(Reason.NOT_INCLUDED, Moment.FOUND, "the URL, of pages that are no seed: `include`", _not_included),
    Rule(
        Reason.EXTENSION,
        Moment.FOUND,
        "the file name, of pages that are neither a seed nor where one redirects to: `types`",
        _unwanted_name,
    ),
    Rule(
        Reason.REPEATS,
        Moment.FOUND,
        "the URL, of pages that are neither a seed nor where one redirects to: `max_repeats`",
        _repeats,
    ),
    Rule(Reason.CALENDAR, Moment.FOUND, "the same: `max_years_ahead`", _is_ahead),
    Rule(
        Reason.DEPTH,
        Moment.FOUND,
        "the depth of pages: `max_depth`, the site's own where it has one; of dynamic ones `max_depth_dynamic` too",
        _too_deep,
    ),
    Rule(
        Reason.CHAIN,
        Moment.FOUND,
        f"redirects in a row: `max_redirects`; sitemaps or parts of pages that lead to one another: {NESTED}",
        _too_far,
    ),
    *NEW_SITE,
    Rule(
        Reason.DNS_NOT_FOUND,
        Moment.FOUND,
        "the name of its site, which did not exist: `name_recheck` (what somebody asked for by name apart)",
        _nameless,
    ),
    Rule(Reason.FRONTIER_FULL, Moment.FOUND, "pages that its worker knows", _no_room_for_pages),
    Rule(
        Reason.SITE_PAGES,
        Moment.FOUND,
        "pages of its site: `max_site_pages`, the site's own `max_pages` where it has one",
        _site_is_full,
    ),
)


def forbidden(scope: Scope, url: str) -> Reason | None:
    """Why nothing at all may be asked for at this URL, not even a robots.txt: the rules that choose pages apart."""
    return first_refusal(ANY_REQUEST, scope, candidate(url, Kind.ROBOTS, 0))


# When its turn has come.


class Waiting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A page whose turn has come, with everything that rules look at."""

    url: str
    site: str
    settings: SiteSettings = PLAIN  # the site's own
    robots: Robots | None = None  # its site's robots.txt, as far as it is known
    strikes: int = 0  # pages of its site that harmed who read them
    copies: int = 0  # pages of its site that are copies of others
    share: float = 0.0  # of these among the last hundred, about
    sent: int = 0  # bytes that came from its site
    spent: float = 0.0  # seconds that downloads from its site took
    barren: int = 0  # URLs of its site that differ from it in numbers alone, which came to nothing new, in a row


def _disallowed(scope: Scope, page: Waiting) -> bool:
    if page.robots is None or page.robots.allows(target_of(page.url)):
        return False
    return scope.obeys(page.settings)


def _hostile(scope: Scope, page: Waiting) -> bool:
    return page.strikes >= scope.selection.max_hostile


def _repetitive(scope: Scope, page: Waiting) -> bool:
    most = scope.selection.max_site_duplicates
    all_of_it = page.copies >= SOME_COPIES and page.share > scope.selection.max_duplicate_share
    return bool(most and page.copies >= most) or all_of_it


def _sent_enough(scope: Scope, page: Waiting) -> bool:
    own, most = page.settings.max_bytes, scope.selection.max_site_bytes
    return 0 < (most if own is None else own) <= page.sent


def _took_enough(scope: Scope, page: Waiting) -> bool:
    own, most = page.settings.max_time, scope.selection.max_site_time
    return 0 < (most if own is None else own) <= page.spent


def _barren(scope: Scope, page: Waiting) -> bool:
    return bool(scope.selection.max_barren) and page.barren >= scope.selection.max_barren


TURN: tuple[Rule[Scope, Waiting], ...] = (
    Rule(
        Reason.ROBOTS,
        Moment.TURN,
        "the robots.txt of its origin, unless `robots` is ignore, of the crawl or of the site",
        _disallowed,
    ),
    Rule(Reason.SITE_HOSTILE, Moment.TURN, "harmful pages of its site: `max_hostile`", _hostile),
    Rule(
        Reason.SITE_DUPLICATES,
        Moment.TURN,
        "copies among the pages of its site: `max_site_duplicates`, `max_duplicate_share`",
        _repetitive,
    ),
    Rule(
        Reason.SITE_BYTES,
        Moment.TURN,
        "bytes that its site has sent: `max_site_bytes`, the site's own `max_bytes` where it has one",
        _sent_enough,
    ),
    Rule(
        Reason.SITE_TIME,
        Moment.TURN,
        "time that its site has taken: `max_site_time`, the site's own `max_time` where it has one",
        _took_enough,
    ),
    Rule(Reason.BARREN, Moment.TURN, "URLs of its site that differ from it in numbers alone: `max_barren`", _barren),
    Rule(Reason.BLACKLISTED, Moment.TURN, "URL and site: `weft blacklist`", _blacklisted),
)
