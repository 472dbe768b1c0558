"""Where a page leads to: its links in the frontier, and in their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.model import Parsed, Reason, Turn
from weft.parse.stage import Stage

if TYPE_CHECKING:  # who only reads settings need not load a frontier
    from weft.frontier.local.discovery import Links
    from weft.frontier.local.frontier import LocalFrontier
    from weft.frontier.local.visit import Visit
    from weft.store.store import Store


def follow(
    frontier: LocalFrontier,
    store: Store,
    visit: Visit,
    turn: Turn,
    parsed: Parsed,
    followed: tuple[Links, Links] | None,
    offered: bool,
) -> int:
    """Offer the links of a page, unless they stand in the frontier already (`followed`) or an application chooses by
    itself (not `offered`), and write them down; how many they are.
    """
    if parsed.left_out:
        frontier.discovery.refused[Reason.PAGE_LINKS] += parsed.left_out
    if followed is None:
        obeyed = (parsed.follow and not parsed.nofollow) or frontier.robots.obeys(visit.site)
        followed = frontier.discovery.follow(visit.site, turn, parsed, offered=offered, obeyed=obeyed)
    found, left = followed
    store.note_links(turn.id, found.targets, found.kinds, labels=found.labels)
    if left.targets:
        store.note_links(turn.id, left.targets, left.kinds, nofollow=True, labels=left.labels)
    frontier.ranking.visited(turn.page, found.keys)
    return len(found.targets) + len(left.targets)


LINKS = Stage(
    name="links",
    doc="where each page that was read leads to: the table `links`, and `links` of `pages`",
    run=follow,
    own=True,
)
