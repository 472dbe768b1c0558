"""What a crawl of the whole web should see. In: a web. Out: every address a crawler comes across, and its answer.

Worked out from the same codes the pages are written from, without asking a server: a test compares it with
a crawl's records or with the servers' log. robots.txt itself and what pages embed are not in it.

Invariant: every address appears once, in the order in which a breadth-first crawl finds it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from weft.testbed.dns import Answers
from weft.testbed.links import GONE, MOVED, codes_of, gone_number, gone_site, says_nofollow
from weft.testbed.traits import DUPLICATE, PRIVATE, ROBOTS_ERROR
from weft.testbed.web import Web


class Expected(NamedTuple):
    """One address and what becomes of it."""

    url: str
    status: int
    """0 if there is no answer, or if it is not asked for one."""
    kind: str
    """As in the servers' answers; or why it is not asked for: disallowed, robots-error, unresolved."""


def expected(web: Web, *, obey_robots: bool = True, obey_nofollow: bool = True) -> Iterator[Expected]:
    """Every address that a crawler of the whole web finds, beginning with the seeds."""
    for code, site, refused in _met(web, obey_robots=obey_robots, obey_nofollow=obey_nofollow):
        yield Expected(web.link_url(code), 0, refused) if refused else _answered(web, code, site)


def reachable(web: Web) -> list[int]:
    """The pages of the graph that a crawler of the whole web may fetch, in the order of a breadth-first crawl."""
    return [
        code for code, _, refused in _met(web, obey_robots=True, obey_nofollow=True) if code < MOVED and not refused
    ]


def _met(web: Web, *, obey_robots: bool, obey_nofollow: bool) -> Iterator[tuple[int, int, str]]:
    """Code, site and reason of refusal of everything a crawler meets."""
    names = Answers(web.names, web.options, web.seed)
    seen = {int(page) for page in web.graph.seeds}
    queue = deque(int(page) for page in web.graph.seeds)
    while queue:
        code = queue.popleft()
        site = gone_site(code) if code >= GONE else int(web.scene.site[code % MOVED])
        refused = _refused(web, code, site, names, obey_robots=obey_robots)
        yield code, site, refused
        if refused:
            continue
        for found in _followed(web, code, obey_nofollow=obey_nofollow):
            if found not in seen:
                seen.add(found)
                queue.append(found)


def _refused(web: Web, code: int, site: int, names: Answers, *, obey_robots: bool) -> str:
    """Why an address is never asked for; empty if it is."""
    if not names.works(site):
        return "unresolved"
    if not obey_robots:
        return ""
    if web.traits.robots[site] == ROBOTS_ERROR:
        return "robots-error"
    if code < MOVED:
        forbidden = bool(web.traits.special[code] & PRIVATE)
    else:
        forbidden = code >= GONE and web.disallowed(site, web.hazards.path(site, gone_number(code)))
    return "disallowed" if forbidden else ""


def _answered(web: Web, code: int, site: int) -> Expected:
    url = web.link_url(code)
    if code >= GONE:
        number = gone_number(code)
        return Expected(url, web.hazards.answer(site, number).status, web.hazards.kind(site, number))
    if code >= MOVED:
        return Expected(url, web.redirect_status(code - MOVED), "redirect")
    return Expected(url, 200, "duplicate" if web.traits.special[code] & DUPLICATE else "page")


def _followed(web: Web, code: int, *, obey_nofollow: bool) -> list[int]:
    """The codes that a crawler goes on to from an address."""
    if code >= GONE:
        return []
    if code >= MOVED:
        return [code - MOVED]
    page = web.pages.original(code)
    codes = codes_of(web.scene, page)
    if not obey_nofollow:
        return codes
    if _forbids(web.pages.meta_robots(code)) or _forbids(web.pages.x_robots(code)):
        return []
    key, share = web.scene.key, web.scene.nofollow
    if not share:
        return codes
    return [found for number, found in enumerate(codes) if not says_nofollow(key, share, page, number)]


def _forbids(directive: str) -> bool:
    return "nofollow" in directive or directive == "none"
