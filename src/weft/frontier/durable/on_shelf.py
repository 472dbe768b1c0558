"""What is on the shelf, for whoever reads a frontier's files. In: what they say. Out: the content of each group that
was put away, with its mail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np

from weft.errors import WeftError
from weft.frontier.durable.chain import commits_left, remains
from weft.frontier.durable.log import FrontierLog
from weft.frontier.durable.parcels import DONE, PENDING, Content, SiteParcel, pages_of
from weft.frontier.durable.past import Past
from weft.frontier.durable.putting_away import decoded
from weft.frontier.durable.shelf import MAIL, WHOLE, Piece, Shelf, pieces_left
from weft.frontier.shared.contract import Found, Gain, Notice
from weft.urls import registered_domain, site_of

_notices = msgspec.msgpack.Decoder(list[Notice]).decode


def on_shelf(
    past: Past, log: FrontierLog, keys: Collection[int] | None = None, *, rest: dict[str, list[Notice]] | None = None
) -> Iterator[tuple[str, Content]]:
    """The groups on the shelf, but for those that are on the way there; all, or those with some keys. Mail for groups
    that came back, and is yet to be taken in, goes to the `rest`, by group.
    """
    if log.base is None or not past.shelved:
        return
    returned: dict[int, int] = {}
    for key, upto in past.returned:
        returned[key] = max(upto, returned.get(key, 0))
    shelf, since = Shelf(log.base), past.letters(keys)
    found = shelf.groups() if keys is None else ((key, shelf.pieces(key)) for key in keys)
    for key, pieces in found:
        counts = [piece for piece in pieces if piece.checkpoint > returned.get(key, -1)]
        whole = next((decoded(piece.data) for piece in counts if piece.kind == WHOLE), None)
        if whole is not None:
            yield whole.group, with_mail(whole.content, [*_letters(counts), *since.pop(key, [])])
        elif rest is not None:
            _sort(_letters(counts), rest)
    leaving = {group.key for group in past.leaving}
    for key, letters in since.items():
        if rest is not None and key not in leaving:
            _sort(letters, rest)


def _sort(letters: Iterable[Notice], rest: dict[str, list[Notice]]) -> None:
    """Sort letters by the groups that they are for."""
    for notice in letters:
        if isinstance(notice, Found | Gain):
            rest.setdefault(registered_domain(site_of(notice.url)), []).append(notice)


def _letters(pieces: list[Piece]) -> Iterator[Notice]:
    for piece in pieces:
        if piece.kind == MAIL:
            yield from _notices(piece.data)


def links_left(path: Path) -> Iterator[Found]:
    """Every page and link that can be read of the shelf of a damaged frontier, and of what its logs have for it."""
    for commit in commits_left(path):
        for _key, _count, _worth, data in commit.mail:
            yield from (notice for notice in _notices(data) if isinstance(notice, Found))
    for file in remains(path, kinds=("shelf",)):
        for piece in pieces_left(file):
            with suppress(WeftError, msgspec.MsgspecError, ValueError):
                if piece.kind == MAIL:
                    yield from (notice for notice in _notices(piece.data) if isinstance(notice, Found))
                elif piece.kind == WHOLE:
                    yield from links_of(decoded(piece.data).content)


def links_of(content: Content) -> Iterator[Found]:
    """The pages of a group as links."""
    urls, _site, via, depth, kind, _state, _scores, steps = pages_of(content)
    columns = (via.tolist(), depth.tolist(), kind.tolist(), steps.tolist())
    for url, source, deep, how, far in zip(urls, *columns, strict=True):
        yield Found(url, how, deep, source, steps=far)


def with_mail(content: Content, notices: list[Notice]) -> Content:
    """A group with what was told of it: links are pages that wait, unless they are known.

    >>> links = [Found("http://a.example/x", 1, 2, 7), Found("http://a.example/x", 1, 3, 8)]
    >>> pages_of(with_mail(Content([SiteParcel("a.example")]), links)).urls
    ['http://a.example/x']
    """
    if not notices:
        return content
    urls, site, via, depth, kind, state, scores, steps = pages_of(content)
    special = dict(content.requests)
    known = {(url, special.get(place, b"")): place for place, url in enumerate(urls)}
    places = {each.name: place for place, each in enumerate(content.sites)}
    state, worth = state.copy(), [*scores.tolist()]
    rows = list[tuple[str, int, int, int, int, int]]()
    for notice in notices:
        if isinstance(notice, Found):
            name = site_of(notice.url)
            if name not in places:
                places[name] = len(content.sites)
                content.sites.append(SiteParcel(name))
            which = (notice.url, notice.special)
            place = known.get(which)
            if place is None:
                place = known[which] = len(urls) + len(rows)
                rows.append((notice.url, places[name], notice.via, notice.depth, notice.kind, notice.steps))
                worth.append(notice.score or 0.0)
                if notice.special:
                    content.requests.append((place, notice.special))
            elif notice.again and place < len(urls) and state[place] == DONE:
                state[place] = PENDING
            if len(scores) or not urls:
                worth[place] += notice.gain
        elif isinstance(notice, Gain) and (place := known.get((notice.url, b""))) is not None and len(worth) > place:
            worth[place] += notice.amount
    if rows:
        new = list(zip(*rows, strict=True))
        content.urls = "\n".join([*urls, *new[0]]).encode()
        content.site = site.tobytes() + np.array(new[1], np.int32).tobytes()
        content.via = via.tobytes() + np.array(new[2], np.uint64).tobytes()
        content.depth = depth.tobytes() + np.array(new[3], np.uint16).tobytes()
        content.kind = kind.tobytes() + np.array(new[4], np.uint8).tobytes()
        content.steps = steps.tobytes() + np.array(new[5], np.uint8).tobytes()
    content.state = state.tobytes() + bytes(len(rows))
    if len(scores) or not urls:
        content.scores = np.array(worth, np.float64).tobytes() if any(worth) or len(scores) else b""
    return content
