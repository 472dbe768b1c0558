"""Links that count less than others. In: who links to whom, site by site; where sites are. Out: the weight of a link.

A link within a site, a domain or one address may be a vote that somebody gives to himself, and so may the links of a
*link farm*: sites that were made to link to one another. A scored ordering may count these less. The weight is applied
to what a link adds to a score, outside of the ordering's rules, so that it holds for every ordering, and in the same
code live and in simulation.

What makes a farm, as far as a crawler can see it while it crawls: most sites that link to a site are linked back, and
so are most that it links to, of those that were visited and could link back. On an honest web links between sites go
one way mostly. A farm whose members do not link back (a star around one target, say) is not seen; what such a farm has
in one domain, or at one address, the weights of these catch.

Which sites are a farm may change with every page. A link counts by what is known when it is followed.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import binder, compiled, inlined, reserve, uncounted
from weft.ordering.weights import LinkWeights

MOST_LINKED: Final = 250  # sites to which a site links that are noted; what it is like shows in fewer
LEAST_MUTUAL: Final = 8  # sites that link to each other with a site of a farm, at least
MUTUAL_SHARE: Final = 0.8  # … and their share of those it links to, and of those that link to it

_FIRST: Final = 1 << 10  # slots of the table of pairs in the beginning
_MOST_PAIRS: Final = 1 << 29  # what is known by then must do; address space, not memory
_SITE, _DOMAIN, _ADDRESS, FARM = 0, 1, 2, 3  # places of the weights …
_LEAST, _SHARE = 4, 5  # … and of what makes a farm
PAIRS, SLOTS, TURNED = 0, 1, 2  # what `counts` holds


class Ties(NamedTuple):
    """What is known of sites, by their numbers. Where all links count alike the arrays have one element."""

    domain: NDArray[np.uint64]  # the same number for sites of one registered domain
    address: NDArray[np.uint64]  # the same for sites at one address; 0 where that is not known yet
    begun: NDArray[np.bool_]  # was a page of it visited?
    linked: NDArray[np.int32]  # sites that it links to, as far as they are noted
    answered: NDArray[np.int32]  # those of them that were visited: they could link back
    linking: NDArray[np.int32]  # sites that link to it
    mutual: NDArray[np.int32]  # those that do, and are linked back
    farm: NDArray[np.bool_]  # is it taken for a part of a farm?
    turned: NDArray[np.int32]  # the sites that were taken for that since somebody looked
    # Who links to whom, pair by pair.
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    before: NDArray[np.int32]  # the last pair before it with the same target, from 1; 0: none
    last: NDArray[np.int32]  # by site: the last pair of which it is the target, from 1
    table: NDArray[np.int32]  # pairs by a hash of both sites, from 1; 0: empty
    counts: NDArray[np.int64]
    weights: NDArray[np.float64]
    on: bool  # do some links count less?


def make_ties(sites: int, weights: LinkWeights) -> Ties:
    """Nothing is known of so many sites; only what is used takes memory."""
    on = weights.given
    by_site, by_pair = (sites, _MOST_PAIRS) if on else (1, 1)
    return Ties(
        domain=reserve(by_site, np.uint64),
        address=reserve(by_site, np.uint64),
        begun=reserve(by_site, np.bool_),
        linked=reserve(by_site, np.int32),
        answered=reserve(by_site, np.int32),
        linking=reserve(by_site, np.int32),
        mutual=reserve(by_site, np.int32),
        farm=reserve(by_site, np.bool_),
        turned=reserve(by_site, np.int32),
        source=reserve(by_pair, np.int32),
        target=reserve(by_pair, np.int32),
        before=reserve(by_pair, np.int32),
        last=reserve(by_site, np.int32),
        table=reserve(2 * by_pair, np.int32),
        counts=np.array([0, _FIRST, 0], np.int64),
        weights=np.array([*weights.values, LEAST_MUTUAL, MUTUAL_SHARE]),
        on=on,
    )


def as_of_now(ties: Ties, sites: int) -> Ties:
    """The same as it is now, of the first so many sites, for somebody who weighs beside the crawl."""
    if not ties.on:
        return ties
    return ties._replace(address=ties.address[:sites].copy(), farm=ties.farm[:sites].copy())


@inlined
def weight(ties: Ties, source: int, target: int) -> float:
    """What a link from a site to a site counts."""
    if source == target:
        found = ties.weights[_SITE]
    elif ties.domain[source] == ties.domain[target]:
        found = ties.weights[_DOMAIN]
    elif ties.address[source] != 0 and ties.address[source] == ties.address[target]:
        found = ties.weights[_ADDRESS]
    else:
        found = 1.0
    return float(min(found, ties.weights[FARM])) if ties.farm[source] else float(found)


@inlined
def counted(before: float, after: float, share: float) -> float:
    """The score of a page when a link that counts so much would have taken it from one to another."""
    return after if share == 1.0 or after == before else before + share * (after - before)


@uncounted
def begin(ties: Ties, site: int) -> None:
    """A page of a site is visited: from the first one on the site could link back to those that link to it."""
    if ties.begun[site]:
        return
    ties.begun[site] = True
    pair = ties.last[site]
    while pair > 0:
        ties.answered[ties.source[pair - 1]] += 1
        _judge(ties, ties.source[pair - 1])
        pair = ties.before[pair - 1]


@uncounted
def note(ties: Ties, source: int, target: int) -> None:
    """A page of a site links to one of a site."""
    if source == target or ties.linked[source] >= MOST_LINKED or not _add(ties, source, target):
        return
    ties.linked[source] += 1
    ties.linking[target] += 1
    if ties.begun[target]:
        ties.answered[source] += 1
    if _find(ties, target, source) < 0:
        ties.mutual[source] += 1
        ties.mutual[target] += 1
    _judge(ties, source)
    _judge(ties, target)


@inlined
def _judge(ties: Ties, site: int) -> None:
    """Does a site look like a part of a farm?"""
    mutual = ties.mutual[site]
    most = max(ties.answered[site], ties.linking[site])
    farm = mutual >= ties.weights[_LEAST] and mutual >= ties.weights[_SHARE] * most
    if farm and not ties.farm[site] and ties.counts[TURNED] < ties.turned.size:
        ties.turned[ties.counts[TURNED]] = site
        ties.counts[TURNED] += 1
    ties.farm[site] = farm


# The table of pairs.


@inlined
def _find(ties: Ties, source: int, target: int) -> int:
    """The slot that is free for a pair; -1 less the slot where it stands."""
    mask = ties.counts[SLOTS] - 1
    mixed = ((np.uint64(source) << np.uint64(32)) | np.uint64(target)) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
    while ties.table[slot] != 0:
        pair = ties.table[slot] - 1
        if ties.source[pair] == source and ties.target[pair] == target:
            return int(-1 - slot)
        slot = (slot + 1) & mask
    return int(slot)


@uncounted
def _add(ties: Ties, source: int, target: int) -> bool:
    """Note a pair; False where it was noted before, or nothing more can be."""
    pair = ties.counts[PAIRS]
    slot = _find(ties, source, target)
    if slot < 0 or pair == ties.source.size:
        return False
    ties.source[pair] = source
    ties.target[pair] = target
    ties.before[pair] = ties.last[target]
    ties.last[target] = pair + 1
    ties.table[slot] = pair + 1
    ties.counts[PAIRS] = pair + 1
    if 2 * (pair + 1) > ties.counts[SLOTS] and ties.counts[SLOTS] < ties.table.size:
        _grow(ties)
    return True


@uncounted
def _grow(ties: Ties) -> None:
    """Double the table, and put all pairs into it anew."""
    for slot in range(ties.counts[SLOTS]):
        ties.table[slot] = 0
    ties.counts[SLOTS] *= 2
    for pair in range(ties.counts[PAIRS]):
        ties.table[_find(ties, ties.source[pair], ties.target[pair])] = pair + 1


ties_at = binder(Ties)
"""The arrays whose table lies at an address."""


@compiled
def weigh(ties: Ties, source: int, targets: NDArray[np.int32]) -> NDArray[np.float64]:
    """What links from a site to some sites count, once they are noted: for a caller in Python."""
    shares = np.empty(targets.size, np.float64)
    begin(ties, source)
    for i in range(targets.size):
        note(ties, source, targets[i])
    for i in range(targets.size):
        shares[i] = weight(ties, source, targets[i])
    return shares


def divided(out: int, shares: NDArray[np.float64] | None) -> Any:
    """How many links a page would need to have, so that each gave as little as these do."""
    with np.errstate(divide="ignore"):
        return out if shares is None else out / shares


def counted_all(before: NDArray[np.float64], after: Any, shares: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """`counted` of many pages, as an ordering in Python scores them."""
    scores = np.array(np.broadcast_to(np.asarray(after, np.float64), before.shape))
    if shares is not None:
        less = (shares != 1.0) & (scores != before)
        scores[less] = before[less] + shares[less] * (scores[less] - before[less])
    return scores
