"""Where a notice goes. In: notices. Out: the group of each, by which its worker is found."""

from __future__ import annotations

from collections.abc import Container, Iterable

import msgspec

from weft.frontier.shared.contract import Found, Message, Notice, RobotsBrought, RobotsWanted
from weft.model import is_named
from weft.urls import registered_domain, site_of

EARLY = 1 << 40  # behind it are the places of groups that were found; before it, of those that were held


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


def comes_first(notices: Iterable[Notice]) -> bool:
    """Is one of them a seed, where one redirects to, or a robots.txt that somebody waits for? Groups of these are the
    seeds' own.

    >>> from weft.model import Kind, UrlId
    >>> links = [Found("http://a.example/", kind, 0, UrlId(1)) for kind in (Kind.A, Kind.SEED, Kind.REDIRECT)]
    >>> [comes_first([link]) for link in links]
    [False, True, True]
    """
    return any(
        is_named(notice.kind, notice.depth) if isinstance(notice, Found) else isinstance(notice, RobotsWanted)
        for notice in notices
    )


def of_holder(message: Message, held: Container[str]) -> Message:
    """A message without groups that were given away since: who lost its last commits is given it once more, and they
    are another's by now.

    >>> of_holder(Message(groups=["a.example", "b.example"]), {"b.example"}).groups
    ['b.example']
    """
    if all(group in held for group in message.groups):
        return message
    groups = [group for group in message.groups if group in held]
    return msgspec.structs.replace(
        message, groups=groups, parcels=[parcel for parcel in message.parcels if parcel.group in held]
    )
