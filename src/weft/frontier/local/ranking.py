"""Scores of a live crawl. In: pages as they are found and visited. Out: every pending page stands where its ordering
wants it, by the same rules as in the simulator.

A page is scored as soon as it is known from where it was found: on a page that was visited, or from outside (a seed, a
sitemap, another worker). For batch and partial PageRank the links of visited pages are kept, and scores are computed
anew beside the downloads.

Scores go into the log as they change, so that a crawl goes on where it stood. Where they are computed anew, the links
go there instead, and the first thing after a restart is to compute.

A batch is over when its pages are. It does not wait for a site that cannot be reached: what lies there belongs to no
batch, and is visited when the site is back.

Several workers: each orders its own pages. A link to another worker's page is told there with the score that the page
starts with, which only the worker knows that visited the page where it was found; what further links add is told in
sums, a commit later. Only batch and partial PageRank, as far as they are computed anew, know no links but their own
worker's.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, compiled, inlined, release, reserve, table_of, uncounted
from weft.frontier.durable.chain import Base
from weft.frontier.durable.log import Commit
from weft.frontier.local.holdings import Holdings
from weft.frontier.local.seen import MOST_OFFERED, Arrays, Seen, find, seen_at
from weft.frontier.oracle import Oracle
from weft.ordering import Scored
from weft.ordering.heaps import Heaps, TwoLevelHeap, heaps_at, rescore
from weft.ordering.known import NO_PAGE, Known, known_at, stays
from weft.ordering.reranking import Edges, Estimate, Every, Reranking, RerankPlan, add_edges, make_edges
from weft.ordering.rules import PYTHON, by_lot, found, linked, lower_farms, rule_of
from weft.ordering.ties import (
    FARM,
    Ties,
    as_of_now,
    begin,
    counted,
    counted_all,
    divided,
    make_ties,
    note,
    ties_at,
    weigh,
    weight,
)
from weft.ordering.weights import LinkWeights
from weft.urls import registered_domain

_MOST_LINKS = 1 << 32  # of the known graph; address space, not memory


class Ranking:
    """Keeps the scores of one local frontier."""

    scores = True  # and links to pages change them

    def __init__(  # noqa: PLR0913
        self,
        ordering: Scored,
        heaps: TwoLevelHeap,
        seen: Seen,
        *,
        terms: Reranking,
        oracle: Oracle,
        seed: int,
        holdings: Holdings,
        out_of_reach: Callable[[], list[int]],
        weights: LinkWeights,
        names: Callable[[], list[str]],
    ) -> None:
        """`names` has those of all sites, by their numbers."""
        capacity = heaps.arrays.score.size
        needs = ordering.needs
        oracle.check(ordering.name, needs)
        self._ordering = ordering
        self._heaps = heaps
        self._seen = seen
        self._oracle = oracle
        self._needs = needs
        self._holdings = holdings
        self.known = Known(
            score=heaps.arrays.score,
            old=reserve(capacity if "old" in needs else 1, np.float64),
            true=reserve(capacity if "true" in needs else 1, np.float64),
            past=oracle.past if "old" in needs else np.zeros(1),
            ranked=np.zeros(1, np.int64),
            seed=seed,
        )
        self._rule = rule_of(ordering)
        self._own_scores = bool(needs) or by_lot(self._rule)  # pages of one parent may start differently
        self._table = table_of(self.known)
        self._address = address_of(self._table)
        self._scored = 0  # pages that have been scored
        self._changed = array("i")  # pages with another score since the last commit, and -1 here and there
        # Views are read and set at a third of what arrays cost.
        self._counts = memoryview(seen.arrays.counts)  # type: ignore[arg-type]
        self._numbers = memoryview(seen.arrays.pages)  # type: ignore[arg-type]
        self._octets = self._numbers.cast("B")
        self._keys = memoryview(seen.arrays.keys).cast("B").cast("Q")  # type: ignore[arg-type]
        # What links count.
        self.ties = make_ties(heaps.arrays.length.size, weights)
        self._ties_table = table_of(self.ties)
        self._ties_address = address_of(self._ties_table)
        self._names = names
        self._placed = 0  # sites whose domain is known to the ties
        self._sums = self._rule != PYTHON and ordering.linked is not stays  # scores that links add to
        # Scores computed anew.
        self._every = ordering.rerank
        self._plan = None if self._every is None else RerankPlan(self._every, terms)
        self._edges = make_edges(capacity if self._every else 1, _MOST_LINKS if self._every else 1)
        self._estimate = Estimate(capacity if self._every else 1, terms, heaps.arrays.owner)
        self._new_edges = array("i")
        self._out_of_reach = out_of_reach  # sites that no batch waits for
        self._in_batch = reserve(capacity if self._every is Every.BATCH else 1, np.bool_)
        self._snapshot: Future[NDArray[np.float64]] | None = None
        self._begun = False
        self._beside = ThreadPoolExecutor(1, "ranking") if self._every and terms.delay else None

    def __repr__(self) -> str:
        return f"Ranking({self._ordering.name}, {self._scored} pages)"

    # As pages are found and visited.

    def visited(self, page: int, keys: Iterable[int]) -> None:
        """A page was visited that links to those with these keys; what is new among them was offered already."""
        links = dict.fromkeys(keys)
        links.pop(self._seen.key_of[page], None)
        out = len(links)
        if out == 0:
            self._note_edges(page, [])
            return
        if self.ties.on:
            self._place_sites()
        if self._rule == PYTHON or out > MOST_OFFERED:
            self._visited_slowly(page, list(links))
        else:
            self._keys[:out] = array("Q", links)
            self._look_up()
            addresses = self._seen.address, self._heaps.address, self._address, self._ties_address
            _follow_at(addresses, self._rule, self._sums, page, out, self._scored)
            if self._holdings.tells:
                self._tell_others(page, links, self._numbers[:out].tolist(), out)
            if self._every is None:
                self._changed.frombytes(self._octets[: 4 * out])
            else:
                self._note_edges(page, [number for number in self._numbers[:out].tolist() if number >= 0])
        self._end()

    def catch_up(self) -> None:
        """Score what was found otherwise than on a page, and do what is due: before a page is chosen."""
        if self._scored < self._count:
            self._look_up()
            self._score_new(NO_PAGE, 0)
            self._end()
        if self._plan is not None and self._scored:
            self._rerank(self._plan)

    def over(self, page: int, *, fetched: bool) -> None:
        """A page had its turn: it is done, put off or, without being fetched, refused."""
        if self._plan is None:
            return
        if self._every is Every.PAGES:
            self._plan.over(int(fetched))
        elif self._in_batch[page]:
            self._in_batch[page] = False
            self._plan.over(1)

    def pass_over(self, site: int) -> None:
        """A site cannot be reached for now: the batch does not wait for it."""
        if self._every is Every.BATCH:
            for page in self._heaps.pages_of(site).tolist():
                self.over(page, fetched=False)

    def located(self, site: int, address: str) -> None:
        """The address of a site is known."""
        if self.ties.on:
            self.ties.address[site] = self._seen.keyed.of(address)

    def _place_sites(self) -> None:
        """Take in the domains of sites that are new."""
        names, domain = self._names(), self.ties.domain
        for number in range(self._placed, len(names)):
            domain[number] = self._seen.keyed.of(registered_domain(names[number]))
        self._placed = len(names)

    # To and from other workers. The last page there is room for stands for one that is not known here.

    def _tell_others(self, page: int, links: Iterable[int], numbers: list[int], out: int) -> None:
        """Tell the workers of pages that are not known here what the links of a page mean for their scores."""
        told = [key for key, number in zip(links, numbers, strict=True) if number < 0 and self._holdings.told(key)]
        if not told:
            return
        before, gain = self._elsewhere(told[0], page, out)
        for key in told:
            if self._own_scores and key != told[0]:
                before, gain = self._elsewhere(key, page, out)
            self._holdings.start(key, before)
            if gain:
                self._holdings.gain(key, gain)

    def _elsewhere(self, key: int, parent: int, out: int) -> tuple[float, float]:
        """The score with which another worker's page starts that is found on one of ours, and what the link adds.

        What is left to chance is drawn by its key, since it has no number here.
        """
        spare = self.known.score.size - 1
        share = 1.0  # a page of another worker is of another domain, and at another address
        if self.ties.on and self.ties.farm[self._heaps.arrays.owner[parent]]:
            share = float(self.ties.weights[FARM])
        known = self.known._replace(seed=self.known.seed ^ (key >> 2)) if self._own_scores else self.known
        for name in self._needs:
            getattr(known, name)[spare] = self._oracle.look_up(name, np.array([key], np.uint64))[0]
        rule, pages = self._ordering, np.array([spare]) if self._rule == PYTHON else spare
        before = known.score[spare] = _alone(rule.found(known, pages, parent, out / share if share else np.inf))
        after = before if rule.linked is stays else _alone(rule.linked(known, pages, parent, float(out)))
        return before, 0.0 if after == before else share * (after - before)

    def arrived(self, score: float | None, gain: float) -> None:
        """Score the page, if it was taken, to which a link came: it starts with a score, or as one found on no page."""
        first = self._scored
        self._look_up()
        if score is None:
            self._score_new(NO_PAGE, 0)
        for page in range(first, self._count):
            start = self.known.score[page] if score is None else score
            self._heaps.rescore(int(self._heaps.arrays.owner[page]), page, start + gain)
        self._end()

    def gain(self, page: int, amount: float) -> None:
        """Links elsewhere add to the score of a page, if it is pending and its score is a sum as yet."""
        if amount and self._heaps.arrays.position[page] > 0 and (self._every is None or page >= self.known.ranked[0]):
            self._heaps.rescore(int(self._heaps.arrays.owner[page]), page, self.known.score[page] + amount)
            self._changed.append(page)

    def forget(self, first: int) -> None:
        """Pages before this one are here no more."""
        for each in (self.known.old, self.known.true):
            if each.size > 1:
                release(each, 0, first)

    def loaded(self) -> None:
        """All pages that are known now came with scores."""
        self._look_up()
        self._end()

    @property
    def _count(self) -> int:
        return int(self._counts[0])

    def _look_up(self) -> None:
        """Ask the oracle about new pages."""
        if self._needs:
            new = slice(self._scored, self._count)
            keys = self._seen.arrays.key[new]
            for name in self._needs:
                getattr(self.known, name)[new] = self._oracle.look_up(name, keys)

    def _end(self) -> None:
        """All pages are scored."""
        if self._every is None:
            self._changed.extend(range(self._scored, self._count))
        self._scored = self._count

    def _score_new(self, parent: int, out: int) -> None:
        """Score the pages that are new, by what the page says on which they were found."""
        new = np.arange(self._scored, self._count)
        if self._rule == PYTHON:
            shares = self._shares(parent, new) if parent >= 0 else None
            self._apply(new, self._ordering.found(self.known, new, parent, divided(out, shares)))
        else:
            heaps, first, end = self._heaps.arrays, self._scored, self._count
            score_new(heaps, self.known, self.ties, self._rule, first, end, parent, float(out))

    def _shares(self, parent: int, pages: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """What links from one page to others count, if some count less."""
        owner = self._heaps.arrays.owner
        return weigh(self.ties, int(owner[parent]), owner[pages]) if self.ties.on else None

    def _visited_slowly(self, page: int, links: list[int]) -> None:
        """The same in Python, for an ordering of somebody else's, or a page with thousands of links."""
        out = len(links)
        self._look_up()
        numbers = np.array([self._seen.find(key) for key in links], np.int64)
        shares = self._shares(page, numbers[numbers >= 0])  # they are noted, before any of them counts
        if self.ties.on and self._sums:
            lower_farms(self.ties, self._heaps.arrays, self.known, self._rule)
        self._score_new(page, out)
        if self._holdings.tells:
            self._tell_others(page, links, numbers.tolist(), out)
        numbers = numbers[numbers >= 0]
        if self._rule == PYTHON:
            scores = self._ordering.linked(self.known, numbers, page, out)
            self._apply(numbers, counted_all(self.known.score[numbers], scores, shares))
        else:
            link_all(self._heaps.arrays, self.known, self.ties, self._rule, numbers, page, float(out))
        if self._every is None:
            self._changed.frombytes(numbers.astype(np.int32).tobytes())
        self._note_edges(page, numbers.tolist())

    def _apply(self, pages: NDArray[np.int64], scores: Any) -> None:
        rescore_these(self._heaps.arrays, pages, np.array(np.broadcast_to(scores, pages.shape), np.float64))

    # Scores computed anew.

    def _note_edges(self, page: int, links: list[int]) -> None:
        if self._every is None:
            return
        self._new_edges.extend((page, len(links), *links))
        add_edges(self._edges, page, np.array(links, np.int32))

    def _rerank(self, plan: RerankPlan) -> None:
        """Begin to compute what is due, and let it take effect when that is due."""
        if not self._begun:
            self._begin(plan)
        if plan.snapshot_due(self._count):
            self._snapshot = self._compute()
        if plan.effect_due(self._count):
            assert self._snapshot is not None
            ranks, self._snapshot = self._snapshot.result(), None
            chosen = plan.take_effect(
                self._heaps.arrays, self.known, self._count, ranks, self._reachable, lambda: self._compute().result()
            )
            self._in_batch[chosen] = True

    def _reachable(self) -> NDArray[np.int64]:
        """The pending pages of sites that can be reached; those of the others need no batch when their site is back."""
        pending = self._pending()
        beyond = np.isin(self._heaps.arrays.owner[pending], self._out_of_reach())
        self.known.score[pending[beyond]] = 0.0
        return pending[~beyond]

    def _begin(self, plan: RerankPlan) -> None:
        """The first batch is what is known at the start: the seeds, or after a restart what is best by now."""
        self._begun = True
        pending = self._pending()
        first = pending[: plan.begin(len(pending), resumed=self._edges.counts[0] > 0)]
        self._apply(first, 0.0)
        self._in_batch[first] = True

    def _pending(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._heaps.arrays.position[: self._count] > 0)

    def _compute(self) -> Future[NDArray[np.float64]]:
        if self.ties.on:
            self._place_sites()
        ties = as_of_now(self.ties, len(self._names()))
        work = partial(self._estimate.compute, self._edges, int(self._edges.counts[0]), self._count, ties)
        if self._beside is not None:
            return self._beside.submit(work)
        done: Future[NDArray[np.float64]] = Future()
        done.set_result(work())
        return done

    # Commit and recover.

    def pack(self, commit: Commit) -> None:
        """Write down what changed since the last commit."""
        self.catch_up()
        changed, self._changed = np.frombuffer(self._changed, np.int32), array("i")
        pages = np.unique(changed[changed >= 0])
        commit.rescored = pages.astype(np.uint32).tobytes()
        commit.rescores = self.known.score[pages].tobytes()
        commit.edges, self._new_edges = self._new_edges.tobytes(), array("i")

    def load_base(self, base: Base) -> None:
        """Take back what a checkpoint has; its pages are known by now, and not yet pending."""
        self._look_up()
        self._scored = self._count
        for segment in base.manifest.segments:
            if segment.kind == "edges":
                data = os.pread(base.segment(segment), segment.length, 0)
                _restore_edges(self._edges, np.frombuffer(data, np.int32))

    def restore(self, commit: Commit) -> None:
        """Take back what a commit wrote down; its pages are known by now, and not yet pending."""
        self._look_up()
        self._scored = self._count
        self.known.score[np.frombuffer(commit.rescored, np.uint32)] = np.frombuffer(commit.rescores, np.float64)
        _restore_edges(self._edges, np.frombuffer(commit.edges, np.int32))

    def close(self) -> None:
        """End what computes."""
        if self._beside is not None:
            self._beside.shutdown(cancel_futures=True)


def _alone(score: Any) -> float:
    """The score of one page, whether a rule gave it as such or as an array."""
    return float(np.ravel(score)[0])


@uncounted
def score_new(heaps: Heaps, known: Known, ties: Ties, rule: int, first: int, end: int, parent: int, out: float) -> None:
    """Score pages that are pending without a score."""
    share = 1.0
    for page in range(first, end):
        if heaps.position[page] > 0:
            if ties.on and parent >= 0:
                share = weight(ties, heaps.owner[parent], heaps.owner[page])
            rescore(heaps, heaps.owner[page], page, found(rule, known, page, parent, out / share))


@inlined
def _link(heaps: Heaps, known: Known, ties: Ties, rule: int, page: int, parent: int, out: float) -> None:
    """Score a page again that one more visited page links to."""
    share = 1.0
    if ties.on:
        share = weight(ties, heaps.owner[parent], heaps.owner[page])
    score = counted(known.score[page], linked(rule, known, page, parent, out), share)
    if score != known.score[page]:
        rescore(heaps, heaps.owner[page], page, score)


@uncounted
def link_all(
    heaps: Heaps, known: Known, ties: Ties, rule: int, pages: NDArray[np.int64], parent: int, out: float
) -> None:
    """Score pages again that one more visited page links to."""
    for i in range(pages.size):
        if heaps.position[pages[i]] > 0:
            _link(heaps, known, ties, rule, pages[i], parent, out)


@uncounted
def rescore_these(heaps: Heaps, pages: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
    """Give pages scores, as far as they are pending."""
    for i in range(pages.size):
        if heaps.position[pages[i]] > 0:
            rescore(heaps, heaps.owner[pages[i]], pages[i], scores[i])


@uncounted
def _follow(  # noqa: PLR0913, PLR0917  tables
    seen: Arrays,
    heaps: Heaps,
    known: Known,
    ties: Ties,
    rule: int,
    sums: bool,
    page: int,
    out: int,
    first: int,
) -> None:
    """Score the new pages of a visited page, then all that it links to; write down their numbers."""
    if ties.on:
        begin(ties, heaps.owner[page])
        for i in range(out):
            number = find(seen, seen.keys[i])
            if number >= 0:
                note(ties, heaps.owner[page], heaps.owner[number])
        if sums:
            lower_farms(ties, heaps, known, rule)
    score_new(heaps, known, ties, rule, first, seen.counts[0], page, float(out))
    for i in range(out):
        number = find(seen, seen.keys[i])
        seen.pages[i] = number
        if number >= 0 and heaps.position[number] > 0:
            _link(heaps, known, ties, rule, number, page, float(out))


@compiled
def _follow_at(
    addresses: tuple[int, int, int, int],
    rule: int,
    sums: bool,
    page: int,
    out: int,
    first: int,
) -> None:
    seen, heaps, known, ties = addresses
    _follow(seen_at(seen), heaps_at(heaps), known_at(known), ties_at(ties), rule, sums, page, out, first)


@compiled
def _restore_edges(edges: Edges, logged: NDArray[np.int32]) -> None:
    at = 0
    while at < logged.size:
        count = logged[at + 1]
        add_edges(edges, logged[at], logged[at + 2 : at + 2 + count])
        at += 2 + count
