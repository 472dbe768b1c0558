"""What frontiers know of many URLs at once. In: a crawl's directory, and URLs. Out: where each stands that a worker's
frontier has.

Read from the same files and by the same class (`Past`) as everybody does who asks a frontier about its pages. One page
is looked for by its text in all of a log (`Ledger.standing`); for many, pages are looked at by site, and each at most
once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.frontier.durable import parcels
from weft.frontier.durable.log import FrontierLog
from weft.frontier.durable.memory import SiteMemory
from weft.frontier.durable.memory import decoded as memory_of
from weft.frontier.durable.on_shelf import on_shelf
from weft.frontier.durable.parcels import pages_of
from weft.frontier.durable.past import GONE, PENDING, REPLACED, Past
from weft.frontier.special import Special
from weft.urls import site_of


class Place(NamedTuple):
    """Where a page stands in a frontier."""

    state: Literal["done", "refused", "retry", "pending"]
    reason: str  # why it was refused, if so
    tries: int
    due: float | None  # wall time before which it is not tried again
    set_aside: bool  # its site kept failing, and is tried once more in the end


def places(out: Path, urls: Collection[str]) -> dict[str, Place]:
    """Where some URLs stand, of those that a worker has; as of the last commits."""
    found: dict[str, Place] = {}
    wanted: dict[str, set[str]] = {}
    for url in urls:
        wanted.setdefault(site_of(url), set()).add(url)
    for path in sorted(out.glob("workers/*/frontier.log")):
        log = FrontierLog(path, read_only=True)
        try:
            found |= _of_worker(log, wanted)
        finally:
            log.close()
    return found


def _of_worker(log: FrontierLog, wanted: dict[str, set[str]]) -> dict[str, Place]:
    past = Past(log)
    for replayed in log.replay():
        past.take(replayed)
    sites, states = past.sites(leaving=True), past.page_states()
    numbers = {number: name for number, name in enumerate(past.names) if name in wanted and number not in past.left}
    aside = _set_aside(past, numbers)
    found: dict[str, Place] = {}
    for number, pages in _by_site(sites, numbers):
        missing = set(wanted[numbers[number]])
        for page in pages.tolist():
            if not missing:
                break
            if states[page] == REPLACED:
                continue
            at = past.first + page
            url = log.entry(at).url
            if url in missing and _is_plain(past, at, url):
                missing.discard(url)
                found[url] = _place(past, at, int(states[page]), set_aside=number in aside)
    return found | _on_shelf(past, log, wanted)


def _on_shelf(past: Past, log: FrontierLog, wanted: dict[str, set[str]]) -> dict[str, Place]:
    """Where those stand whose groups were put away."""
    found: dict[str, Place] = {}
    for _group, content in on_shelf(past, log):
        if wanted.keys().isdisjoint(site.name for site in content.sites):
            continue
        aside = {site.name for site in content.sites if site.memory and memory_of(site.memory).set_aside}
        reasons = {
            place: reason
            for reason, places in content.refused.items()
            for place in np.frombuffer(places, np.uint32).tolist()
        }
        retries = {place: (tries, wall) for place, tries, wall in content.retries}
        special = {place for place, _ in content.requests}
        pages = pages_of(content)
        for place, (url, state) in enumerate(zip(pages.urls, pages.state.tolist(), strict=True)):
            if place in special or url not in wanted.get(site_of(url), ()):
                continue
            tries, due = retries.get(place, (0, None))
            waits: Literal["retry", "pending"] = "retry" if due is not None and tries else "pending"
            said = reasons.get(place, "")
            where = "refused" if said else "done" if state == parcels.DONE else waits
            due = due if where == waits else None
            found[url] = Place(where, said, tries, due, site_of(url) in aside)
    return found


def _by_site(sites: NDArray[np.int32], numbers: Collection[int]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The pages of each of some sites, those first that were found first."""
    if not numbers:
        return
    ours = np.flatnonzero(np.isin(sites, np.fromiter(numbers, np.int32, len(numbers))) & (sites != GONE))
    ours = ours[np.argsort(sites[ours], kind="stable")]
    first = np.flatnonzero(np.diff(sites[ours], prepend=GONE))
    for pages in np.split(ours, first[1:]):
        if len(pages):
            yield int(sites[pages[0]]), pages


def _set_aside(past: Past, numbers: Collection[int]) -> set[int]:
    memories = ((number, past.states.get(number)) for number in numbers)
    return {
        number
        for number, memory in memories
        if memory is not None and msgspec.msgpack.decode(memory, type=SiteMemory).set_aside
    }


def _is_plain(past: Past, page: int, url: str) -> bool:
    """Is a page asked for by its URL alone? A POST, or what one led to, is another page."""
    request = past.requests.get(page)
    return request is None or msgspec.msgpack.decode(request, type=Special).name(url) == url.encode()


def _place(past: Past, page: int, state: int, *, set_aside: bool) -> Place:
    tries, due = past.retries.get(page, (0, None))
    reason = past.reason(page)
    if reason:
        return Place("refused", reason, tries, None, set_aside)
    if state != PENDING:
        return Place("done", "", tries, None, set_aside)
    return Place("retry" if due is not None and tries else "pending", "", tries, due, set_aside)
