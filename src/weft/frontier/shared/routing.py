"""Where a notice goes. In: notices. Out: the group of each, by which its worker is found."""

from __future__ import annotations

from collections.abc import Iterable

from weft.frontier.shared.contract import Notice, RobotsBrought
from weft.urls import registered_domain, site_of


def group_of(notice: Notice) -> str:
    """The group that a notice is about: of the page, or of the site that waits for a robots.txt.

    >>> from weft.frontier.shared.contract import Gain
    >>> group_of(Gain("http://www.a.example/x", 1.0)), group_of(RobotsBrought("www.b.example", "http", None))
    ('a.example', 'b.example')
    """
    return registered_domain(notice.owner if isinstance(notice, RobotsBrought) else site_of(notice.url))


def by_group(notices: Iterable[Notice]) -> dict[str, list[Notice]]:
    """Notices by their group, each in its order."""
    groups: dict[str, list[Notice]] = {}
    for notice in notices:
        groups.setdefault(group_of(notice), []).append(notice)
    return groups
