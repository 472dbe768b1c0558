"""The links of a page, followed bit by bit. In: a page with many links. Out: where they lead; what is new of them
stands in the frontier.

A sitemap may list 50,000 pages, and following a link takes microseconds; between two bits others have their turn. A
link that stands in the frontier before its page is settled does no harm: should the worker end in between, the page is
fetched again, and its links are known.
"""

from __future__ import annotations

import msgspec

from weft.engine.drive import Ask, later
from weft.engine.wires import Wires
from weft.frontier.local.discovery import Links
from weft.frontier.local.visit import Visit
from weft.model import Parsed, Turn

_AT_ONCE = 1000  # links that are followed in one go
_FEWEST = 8  # where a single one may take milliseconds
_SHORT, _LONG = 0.005, 0.02  # seconds that a bit takes; a shorter one is made longer, a longer one shorter


def is_long(wires: Wires, parsed: Parsed) -> bool:
    """Are the links of a page followed bit by bit?"""
    links = len(parsed.links) + len(parsed.nofollow)
    return links > _AT_ONCE or (wires.frontier.scope.slow and links > _FEWEST)


async def follow_bit_by_bit(wires: Wires, visit: Visit, turn: Turn, parsed: Parsed) -> tuple[Links, Links]:
    """What `Discovery.follow` gives for all links of a page at once."""
    frontier, clock = wires.frontier, wires.clock
    obeyed = frontier.robots.obeys(visit.site)
    labels = bool(parsed.labels)
    found, left = (Links([], [], [] if labels else None, []) for _ in range(2))
    at, many = 0, _FEWEST
    while at < len(parsed.links) + len(parsed.nofollow):
        began = clock.now()
        more = frontier.discovery.follow(
            visit.site, turn, _part(parsed, at, at + many), offered=wires.application is None, obeyed=obeyed
        )
        _add(found, more[0])
        _add(left, more[1])
        at += many
        took = clock.now() - began
        many = min(many * 2, _AT_ONCE) if took < _SHORT else max(many // 2, _FEWEST) if took > _LONG else many
        await Ask(later)
    return found, left


def _part(parsed: Parsed, begin: int, end: int) -> Parsed:
    """A page with some of its links only, by their places among those that are followed and then those that are not."""
    first = len(parsed.links)
    return msgspec.structs.replace(
        parsed,
        links=parsed.links[begin:end],
        nofollow=parsed.nofollow[max(0, begin - first) : max(0, end - first)],
        labels=parsed.labels[begin:end],
    )


def _add(found: Links, more: Links) -> None:
    found.targets.extend(more.targets)
    found.kinds.extend(more.kinds)
    found.keys.extend(more.keys)
    if found.labels is not None and more.labels is not None:
        found.labels.extend(more.labels)
