"""The simulated crawl, compiled. In: a graph, the two-level heap and the rules of an ordering. Out: pages in the order
in which they are visited, and when.

The rules, page by page (P0 section 4, P1 section 3.2): at each instant, first the pages that finish are worked off in
the order in which they started; then sites whose wait is over are ready again, in the order of that; then, while fewer
than r connections are open, the best ready site is taken and its best page starts. A page that finishes has its links
worked off in their order; then the visit goes on with the site's best page, up to k, or the site waits w.

A page takes a constant time; or it has a latency, then moves its bytes at its site's speed, or at less when all
transfers together would ask for more than the link has. All transfers are slowed down alike, so one virtual time, which
runs slower the more the link is asked for, tells when each of them ends.

A page on a connection that is open has a part of its latency only. A connection lasts as long as its visit; where
servers have limits (P0, section 4.2), it is closed after so many pages, and it is left open for the next visit if that
comes in time.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import binder, compiled, inlined, reserve, uncounted
from weft.ordering.heaps import Heaps, add_site, heaps_at, note_copies, pop, push, rescore, set_ready, take_site
from weft.ordering.known import NO_PAGE, Known, known_at
from weft.ordering.reranking import Edges, add_edges, edges_at
from weft.ordering.rules import PYTHON, UNSCORED, found, linked, lower_farms
from weft.ordering.ties import Ties, begin, counted, note, ties_at, weight

# Why `advance` returns.
DONE: Final = 0  # nothing is left
REACHED: Final = 1  # as many pages were visited as asked for
ASK: Final = 2  # the page that has just finished has links that Python must score

# What `counts` holds.
VISITED: Final = 0
FOUND: Final = 1
BUSY: Final = 2
SEQUENCE: Final = 3
OPEN: Final = 4  # the page whose finish was interrupted, or -1
FIRST_NEW: Final = 5  # of the links to be scored in Python: the first page that was not known
STARTS: Final = 6  # visits begun

# What `clock` holds.
NOW: Final = 0
VIRTUAL: Final = 1  # time of the link: runs slower when it is full
ASKED: Final = 2  # bytes a second that all transfers together would move
MOVED: Final = 3  # bytes
_CLOCKS: Final = 4

# Kinds of events, in the order of their turn at one instant.
_FINISH, _ANSWER, _RELEASE = 0, 1, 2
_KIND: Final = 1 << 60


class Events(NamedTuple):
    """What happens later: a binary heap by time, kind, and the order in which it was set."""

    time: NDArray[np.float64]
    rank: NDArray[np.int64]
    what: NDArray[np.int32]
    length: NDArray[np.int64]


class Web(NamedTuple):
    """The graph, by page as the graph numbers them."""

    offsets: NDArray[np.int64]
    links: NDArray[np.int32]
    site: NDArray[np.int32]
    address: NDArray[np.uint64]  # by site, as `Ties` have it; known once a site was visited
    copy: NDArray[np.bool_]  # is it a copy? One element where that does not matter
    old: NDArray[np.float64]  # scores, for the orderings that look at them
    true: NDArray[np.float64]


class Terms(NamedTuple):
    """The conditions of a simulation as compiled code reads them; they never change during one."""

    rule: int
    fixed: bool  # further links to a page do not change its score
    ranked: bool  # the links of visited pages are kept, to compute scores from
    connections: int  # r
    per_visit: int  # k
    wait: float  # w
    small_wait: float  # w for sites with few pages
    small: int  # pages below which a site has few
    page_time: float  # seconds; a page that moves bytes has its own
    timed: bool
    bandwidth: float  # bytes a second
    kept_latency: float  # the part of the latency that a page on an open connection still has
    keep_pages: int  # after which a server closes a connection
    keep_time: float  # for which a server keeps it open after a page; negative: not beyond the visit


class Times(NamedTuple):
    """What a page takes, by page as the graph numbers them, and a site's speed."""

    latency: NDArray[np.float32]
    size: NDArray[np.float32]
    speed: NDArray[np.float32]  # by site, bytes a second


class State(NamedTuple):
    """Everything that changes, beside the heaps. Pages are numbered in the order of discovery."""

    number: NDArray[np.int32]  # by page of the graph: its number, or -1
    page: NDArray[np.int32]  # by number: the page of the graph
    taken: NDArray[np.bool_]  # by number: started or visited
    order: NDArray[np.int32]  # pages of the graph as they were visited
    started: NDArray[np.float64]  # … and when each began
    answered: NDArray[np.float64]  # … when its first byte came …
    finished: NDArray[np.float64]  # … and its last
    began: NDArray[np.float64]  # by site: when its page under way began …
    replied: NDArray[np.float64]  # … and was answered
    ended: NDArray[np.float64]  # by site: when its last page was in
    fetched: NDArray[np.int32]  # by site: pages fetched on the visit under way …
    kept: NDArray[np.int32]  # … and on its connection
    size: NDArray[np.int32]  # by site: pages found
    over: NDArray[np.int32]  # by site: pages visited, where copies matter
    copies: NDArray[np.int32]  # … and copies among them
    later: Events
    transfers: Events  # by virtual time
    buffer: NDArray[np.int32]  # the links of one page, as numbers
    counts: NDArray[np.int64]
    clock: NDArray[np.float64]


def make_state(pages: int, sites: int, connections: int, most_links: int) -> State:
    """The state before anything is known."""
    return State(
        number=np.full(pages, -1, np.int32),
        page=reserve(pages, np.int32),
        taken=reserve(pages, np.bool_),
        order=reserve(pages, np.int32),
        started=reserve(pages, np.float64),
        answered=reserve(pages, np.float64),
        finished=reserve(pages, np.float64),
        began=np.zeros(sites, np.float64),
        replied=np.zeros(sites, np.float64),
        ended=np.zeros(sites, np.float64),
        fetched=np.zeros(sites, np.int32),
        kept=np.zeros(sites, np.int32),
        size=np.zeros(sites, np.int32),
        over=np.zeros(sites, np.int32),
        copies=np.zeros(sites, np.int32),
        later=_make_events(sites + connections + 1),
        transfers=_make_events(min(sites, connections) + 1),
        buffer=np.zeros(max(1, most_links), np.int32),
        counts=np.array([0, 0, 0, 0, -1, 0, 0], np.int64),
        clock=np.zeros(_CLOCKS, np.float64),
    )


def _make_events(most: int) -> Events:
    return Events(np.zeros(most), np.zeros(most, np.int64), np.zeros(most, np.int32), np.zeros(1, np.int64))


# A compiled function that makes arrays counts who uses them, array by array and call by call, which would take most of
# the time here. So these make none, and are given addresses where the arrays are found that Python has made.


class Tables(NamedTuple):
    """Addresses of tables of arrays."""

    web: int
    times: int
    state: int
    heaps: int
    known: int
    edges: int
    ties: int


_web_at, _times_at, _state_at = binder(Web), binder(Times), binder(State)


# Discovery.


@uncounted
def open_sites(heaps: Heaps, sites: int) -> None:
    """All sites are there, and ready."""
    for site in range(sites):
        add_site(heaps, site)
        set_ready(heaps, site)


@uncounted
def number_seeds(web: Web, terms: Terms, state: State, known: Known, seeds: NDArray[np.int32]) -> None:
    """Find the seeds, in their order, and score them if this is not left to Python."""
    for page in seeds:
        if state.number[page] < 0:
            number = _find(web, state, known, page)
            if terms.rule not in (PYTHON, UNSCORED):
                known.score[number] = found(terms.rule, known, number, NO_PAGE, 0.0)


@uncounted
def push_seeds(web: Web, state: State, heaps: Heaps) -> None:
    """Let the seeds be pending."""
    for number in range(state.counts[FOUND]):
        push(heaps, web.site[state.page[number]], number)


@inlined
def _find(web: Web, state: State, known: Known, page: int) -> int:
    """Give a page of the graph the next number."""
    number = state.counts[FOUND]
    state.counts[FOUND] = number + 1
    state.number[page] = number
    state.page[number] = page
    state.size[web.site[page]] += 1
    if known.old.size > 1:
        known.old[number] = web.old[page]
    if known.true.size > 1:
        known.true[number] = web.true[page]
    return int(number)


@uncounted
def _note_links(web: Web, terms: Terms, heaps: Heaps, known: Known, ties: Ties, page: int) -> None:
    """Note who links to whom, before any link of a page counts."""
    begin(ties, web.site[page])
    for i in range(web.offsets[page], web.offsets[page + 1]):
        note(ties, web.site[page], web.site[web.links[i]])
    if not terms.fixed:
        lower_farms(ties, heaps, known, terms.rule)


@inlined
def _follow(
    web: Web, terms: Terms, state: State, heaps: Heaps, known: Known, edges: Edges, ties: Ties, number: int
) -> None:
    """Work off the links of a page that has finished."""
    page = state.page[number]
    start, end = web.offsets[page], web.offsets[page + 1]
    out = end - start
    if ties.on:
        _note_links(web, terms, heaps, known, ties, page)
    share = 1.0
    for i in range(start, end):
        target = web.links[i]
        if ties.on:
            share = weight(ties, web.site[page], web.site[target])
        at = state.number[target]
        is_new = at < 0
        if is_new:
            at = _find(web, state, known, target)
        if terms.ranked:
            state.buffer[i - start] = at
        if terms.rule == UNSCORED:
            if is_new:
                push(heaps, web.site[target], at)
        elif is_new:
            known.score[at] = found(terms.rule, known, at, number, out / share)
            known.score[at] = counted(known.score[at], linked(terms.rule, known, at, number, float(out)), share)
            push(heaps, web.site[target], at)
        elif not terms.fixed and not state.taken[at]:
            score = counted(known.score[at], linked(terms.rule, known, at, number, float(out)), share)
            if score != known.score[at]:
                rescore(heaps, web.site[target], at, score)
    if terms.ranked:
        add_edges(edges, number, state.buffer[:out])


@uncounted
def _number_links(web: Web, state: State, known: Known, number: int) -> None:
    """Give the links of a page that has finished their numbers; Python scores them."""
    page = state.page[number]
    start = web.offsets[page]
    state.counts[FIRST_NEW] = state.counts[FOUND]
    for i in range(start, web.offsets[page + 1]):
        target = web.links[i]
        if state.number[target] < 0:
            _find(web, state, known, target)
        state.buffer[i - start] = state.number[target]


@uncounted
def apply_scores(web: Web, state: State, heaps: Heaps, known: Known, scores: NDArray[np.float64]) -> None:
    """Take in what Python said about the links in `buffer`."""
    new = state.counts[FIRST_NEW]
    for i in range(scores.size):
        at = state.buffer[i]
        site = web.site[state.page[at]]
        if at >= new:
            known.score[at] = scores[i]
            push(heaps, site, at)
        elif not state.taken[at]:
            rescore(heaps, site, at, scores[i])


# Time.


@uncounted
def advance(  # noqa: PLR0913, PLR0917  tables
    web: Web, times: Times, terms: Terms, state: State, heaps: Heaps, known: Known, edges: Edges, ties: Ties, goal: int
) -> int:
    """Crawl until so many pages are visited, or until Python is needed; the reason why it stopped.

    It stops after the links of a page were worked off and before its visit goes on: what is computed then counts for
    the next page.
    """
    counts = state.counts
    while True:
        if counts[OPEN] >= 0:
            _conclude(web, times, terms, state, heaps, counts[OPEN])
            counts[OPEN] = -1
        number = _next_finish(state, times, terms, web)
        if number >= 0:
            _finish(web, state, heaps, number)
            counts[OPEN] = number
            if terms.rule == PYTHON:
                _number_links(web, state, known, number)
                return ASK
            _follow(web, terms, state, heaps, known, edges, ties, number)
            if counts[VISITED] >= goal:
                return REACHED
            continue
        _release(state, heaps)
        while counts[BUSY] < terms.connections:
            site = take_site(heaps)
            if site < 0:
                break
            counts[BUSY] += 1
            counts[STARTS] += 1
            state.fetched[site] = 0
            if ties.on:
                ties.address[site] = web.address[site]
            _start(times, terms, state, site, pop(heaps, site))
        if not _jump(state, terms):
            return DONE


@compiled
def apply_scores_at(tables: Tables, scores: NDArray[np.float64]) -> None:
    """`apply_scores` on the arrays at some addresses."""
    apply_scores(_web_at(tables.web), _state_at(tables.state), heaps_at(tables.heaps), known_at(tables.known), scores)


@compiled
def advance_at(tables: Tables, terms: Terms, goal: int) -> int:
    """`advance` on the arrays at some addresses."""
    return advance(
        _web_at(tables.web),
        _times_at(tables.times),
        terms,
        _state_at(tables.state),
        heaps_at(tables.heaps),
        known_at(tables.known),
        edges_at(tables.edges),
        ties_at(tables.ties),
        goal,
    )


@inlined
def _start(times: Times, terms: Terms, state: State, site: int, number: int) -> None:
    """Begin to fetch a page."""
    now = state.clock[NOW]
    state.taken[number] = True
    state.began[site] = now
    state.replied[site] = now
    connected = state.kept[site] > 0 and state.kept[site] < terms.keep_pages
    if state.fetched[site] == 0 and not now - state.ended[site] <= terms.keep_time:
        connected = False
    state.kept[site] = state.kept[site] + 1 if connected else 1
    state.fetched[site] += 1
    rank = state.counts[SEQUENCE]
    state.counts[SEQUENCE] = rank + 1
    if terms.timed:
        latency = np.float64(times.latency[state.page[number]])
        after = now + (terms.kept_latency * latency if connected else latency)
        _push_event(state.later, after, _ANSWER * _KIND + rank, number)
    else:
        _push_event(state.later, now + terms.page_time, _FINISH * _KIND + rank, number)


@inlined
def _finish(web: Web, state: State, heaps: Heaps, number: int) -> None:
    """Write a page down, and whether it was a copy."""
    at = state.counts[VISITED]
    page = state.page[number]
    site = web.site[page]
    state.order[at] = page
    state.started[at] = state.began[site]
    state.answered[at] = state.replied[site]
    state.finished[at] = state.clock[NOW]
    state.ended[site] = state.clock[NOW]
    state.counts[VISITED] = at + 1
    if web.copy.size > 1:
        state.over[site] += 1
        state.copies[site] += web.copy[page]
        note_copies(heaps, site, state.over[site], state.copies[site])


@inlined
def _conclude(web: Web, times: Times, terms: Terms, state: State, heaps: Heaps, number: int) -> None:
    """The visit goes on with the site's best page, or the site waits."""
    site = web.site[state.page[number]]
    if state.fetched[site] < terms.per_visit:
        following = pop(heaps, site)
        if following >= 0:
            _start(times, terms, state, site, following)
            return
    state.counts[BUSY] -= 1
    wait = terms.small_wait if state.size[site] < terms.small else terms.wait
    rank = state.counts[SEQUENCE]
    state.counts[SEQUENCE] = rank + 1
    _push_event(state.later, state.clock[NOW] + wait, _RELEASE * _KIND + rank, site)


@inlined
def _next_finish(state: State, times: Times, terms: Terms, web: Web) -> int:
    """A page that finishes at this instant, or -1."""
    later, now = state.later, state.clock[NOW]
    if terms.timed:
        while later.length[0] > 0 and later.time[0] <= now and later.rank[0] < _RELEASE * _KIND:
            rank = later.rank[0] - _ANSWER * _KIND
            number = _pop_event(later)
            page = state.page[number]
            speed = np.float64(times.speed[web.site[page]])
            state.replied[web.site[page]] = now
            state.clock[ASKED] += speed
            end = state.clock[VIRTUAL] + np.float64(times.size[page]) / speed
            _push_event(state.transfers, end, rank, number)
        if state.transfers.length[0] > 0 and state.transfers.time[0] <= state.clock[VIRTUAL]:
            number = _pop_event(state.transfers)
            page = state.page[number]
            state.clock[ASKED] -= np.float64(times.speed[web.site[page]])
            if state.transfers.length[0] == 0:
                state.clock[ASKED] = 0.0
            state.clock[MOVED] += np.float64(times.size[page])
            return int(number)
        return -1
    if later.length[0] > 0 and later.time[0] <= now and later.rank[0] < _ANSWER * _KIND:
        return int(_pop_event(later))
    return -1


@inlined
def _release(state: State, heaps: Heaps) -> None:
    """Sites whose wait is over are ready."""
    later, now = state.later, state.clock[NOW]
    while later.length[0] > 0 and later.time[0] <= now:
        set_ready(heaps, _pop_event(later))


@inlined
def _jump(state: State, terms: Terms) -> bool:
    """Let time pass until something happens; False when nothing will."""
    clock, later, transfers = state.clock, state.later, state.transfers
    following = later.time[0] if later.length[0] > 0 else np.inf
    if transfers.length[0] == 0:
        if following == np.inf:
            return False
        clock[NOW] = max(following, clock[NOW])
        return True
    speed = min(1.0, terms.bandwidth / clock[ASKED])
    end = clock[NOW] + (transfers.time[0] - clock[VIRTUAL]) / speed
    if end <= following:
        clock[VIRTUAL] = transfers.time[0]
        clock[NOW] = max(end, clock[NOW])
    else:
        clock[VIRTUAL] += (following - clock[NOW]) * speed
        clock[NOW] = following
    return True


# The heap of events.


@inlined
def _push_event(events: Events, time: float, rank: int, what: int) -> None:
    at = events.length[0]
    events.length[0] = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if events.time[above] < time or (events.time[above] == time and events.rank[above] < rank):
            break
        events.time[at], events.rank[at], events.what[at] = events.time[above], events.rank[above], events.what[above]
        at = above
    events.time[at], events.rank[at], events.what[at] = time, rank, what


@inlined
def _pop_event(events: Events) -> int:
    what = events.what[0]
    n = events.length[0] - 1
    events.length[0] = n
    time, rank, last = events.time[n], events.rank[n], events.what[n]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        right = below + 1
        if right < n and (
            events.time[right] < events.time[below]
            or (events.time[right] == events.time[below] and events.rank[right] < events.rank[below])
        ):
            below = right
        if time < events.time[below] or (time == events.time[below] and rank < events.rank[below]):
            break
        events.time[at], events.rank[at], events.what[at] = events.time[below], events.rank[below], events.what[below]
        at = below
    events.time[at], events.rank[at], events.what[at] = time, rank, last
    return int(what)
