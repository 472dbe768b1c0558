"""Everything that is compiled, run once on something small. In: a part of weft. Out: a full cache.

`python -m weft.warming PART` is what `weft.readiness` starts, and says on its standard output how far it is.
"""

from __future__ import annotations

import sys
import tempfile
from hashlib import sha1
from pathlib import Path
from typing import Any

from weft.compiled import tell_loading


def warm_crawl() -> None:
    """What a worker runs: the frontier, reading pages, knowing contents again."""
    from weft.frontier.local.bounds import Bound
    from weft.ordering import Ordering
    from weft.ordering.opic import Opic
    from weft.ordering.partial import Partial
    from weft.ordering.priority import Priority
    from weft.parse.robots_table import load

    orderings: list[tuple[Ordering, Bound | None]] = [
        (Priority(), None),
        (Opic(), None),
        (Opic(), Bound(1, 64)),
        (Partial(), None),
    ]
    for ordering, bound in orderings:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "frontier.log"
            _warm_frontier(path, ordering, bound)
            if bound is None:
                _warm_frontier(path, ordering, bound)  # which goes on
    load()
    _warm_contents()
    _warm_texts()


def _warm_frontier(path: Path, ordering: Any, bound: Any) -> None:
    """A worker's own frontier: pages that are found and visited, or what a log has of them."""
    from weft.clock import VirtualClock
    from weft.frontier.local.frontier import LocalFrontier
    from weft.frontier.local.parts import Terms
    from weft.frontier.overrides import Overrides
    from weft.frontier.politeness import Politeness
    from weft.frontier.retries import Retries
    from weft.frontier.scope import Selection
    from weft.ordering.reranking import Reranking
    from weft.ordering.rules import rule_of
    from weft.parse.directives import NOTHING_ASKED
    from weft.parse.html import parse_html
    from weft.urls import UrlRules

    html = b"<a href=/x><a rel=next href=y>"
    parsed = parse_html(html, "utf-8", "http://a.example/", "weft", requisites=False, header=NOTHING_ASKED)
    terms = Terms(
        ordering=ordering,
        politeness=Politeness(wait=0.0),
        selection=Selection(),
        retries=Retries(),
        overrides=Overrides(),
        rules=UrlRules(),
        agent="weft",
        secret=bytes(16),
        capacity=1 << 10,
        bound=bound,
        reranking=Reranking(pages=1),
    )
    goes_on = path.exists()
    frontier = LocalFrontier(terms, path=path, clock=VirtualClock())
    if goes_on:
        frontier.commits.recover()
    for seed in ("http://a.example/", "http://b.example/"):
        frontier.add_seed(seed)
    while (visit := frontier.visit()) is not None and not goes_on:
        turn = frontier.turn(visit)
        if turn is not None:
            frontier.give_back(visit, turn)
            turn = frontier.turn(visit)
            frontier.pages.numbers_of(["http://a.example/"])
            frontier.pages.knows("http://a.example/")
            if turn is not None:
                frontier.discovery.follow(visit.site, turn, parsed)
                frontier.ranking.visited(turn.page, [1, 2])
        frontier.enter(visit, "127.0.0.1")
        frontier.leave(visit)
    _warm_heaps(frontier.pages.heaps)
    _warm_rare(frontier, rule_of(ordering))
    _warm_due(frontier.pages.due)
    frontier.commits.commit(marks={})
    if frontier.exchanges.shelving is not None:
        frontier.add_seed("http://b.example/x")  # is mail by now
        frontier.commits.commit(marks={})
        _warm_index(frontier.exchanges.shelving.index)
    frontier.close()


def _warm_contents() -> None:
    """Knowing contents again."""
    from weft.store.contents import Contents

    with tempfile.TemporaryDirectory() as folder:
        for worker in (0, 1):
            contents = Contents(Path(folder), worker, b"")
            for number in range(worker, 3000 + worker):  # more than the first index has room for
                contents.first(sha1(b"%d" % number, usedforsecurity=False).digest(), number, "", 0.0)
            contents.mark(1)
            contents.settle(1)
            contents.close()


def _warm_texts() -> None:
    """The fingerprint of a text."""
    from weft.text.simhash import simhash

    simhash("a text of some words")


def _warm_rare(frontier: Any, rule: int) -> None:
    """What comes with groups of other workers, and what orderings need that are somebody else's."""
    import numpy as np

    from weft.frontier.local.ranking import link_all, rescore_these
    from weft.frontier.local.seen import restore
    from weft.ordering.heaps import push_all
    from weft.ordering.rules import UNSCORED

    heaps, nothing = frontier.pages.heaps.arrays, np.empty(0, np.int32)
    push_all(heaps, nothing, nothing)
    restore(frontier.pages.seen.arrays, np.empty(0, np.uint64))
    rescore_these(heaps, np.empty(0, np.int64), np.empty(0))
    if rule > UNSCORED:
        ranking = frontier.ranking
        link_all(heaps, ranking.known, ranking.ties, rule, np.empty(0, np.int64), 0, 1.0)


def _warm_heaps(heaps: Any) -> None:
    """What is done with a site that rests, fails, is given up or has copies, and with a page that is worth more."""
    from weft.ordering.heaps import note_copies

    heaps.set_ready(0)
    heaps.set_unready(0)
    if len(heaps.arrays.position) > 1:  # scores change
        for page in heaps.pages_of(0)[:1].tolist():
            heaps.rescore(0, page, heaps.arrays.score[page])
    for page in reversed(heaps.drain(0)):
        heaps.push(0, page)
    note_copies(heaps.arrays, 0, 1, 0)


def _warm_due(due: Any) -> None:
    """What is done with pages that have a time."""
    due.put(0, 0, 1.0, 1)
    due.note(0, 0, due.tries(0) + due.wake(0))
    due.put(0, 0, 0.0, 1)
    due.wake_all(0.0)
    due.forget(0)


def _warm_index(index: Any) -> None:
    """What is done with groups on the shelf."""
    import numpy as np

    from weft.frontier.durable.shelved import ASIDE, AWAY, ROW

    index.put(7, log=0, pending=1, pages=1, worth=0.0, at=0.0, flags=AWAY | ASIDE)
    index.add_mail([(7, 1, 0.0, b"")], 0)
    index.rouse()
    if index.find(7) >= 0 and index.has(7):
        index.take(7, 1)
    index.load(np.zeros(0, ROW), 0.0, 0.0)


def warm_simulator() -> None:
    """Graphs, PageRank and the simulator, on arrays and on files that are mapped."""
    from weft.graph import Graph
    from weft.graph.files import Stored, load, save
    from weft.graph.rank import pagerank
    from weft.ordering import ordering_named
    from weft.sim.measured import measure
    from weft.sim.run import Conditions, Scores, simulate

    made = Graph.from_links([2, 1], [(0, 1), (0, 2), (1, 0)], parent=[-1, 0, -1])
    scores = pagerank(made.offsets, made.links)
    with tempfile.TemporaryDirectory() as folder:
        save(Stored(graph=made, scores=scores, old_scores=scores), Path(folder) / "graph")
        stored = load(Path(folder) / "graph")  # what is mapped into memory must not be written to: another type
        pagerank(stored.graph.offsets, stored.graph.links)
        for graph, known in ((made, Scores(scores, scores)), (stored.graph, Scores(stored.scores, stored.old_scores))):
            for name in ("opic", "partial", "omniscient", "historical-omniscient"):
                result = simulate(graph, ordering_named(name), Conditions(wait=0.0, rerank=1), known)
                measure(result, scores)


def warm_labels() -> None:
    """Reading logs of page views and labelling pages."""
    from weft.temporal.labels import METHODS, Rules, classify
    from weft.temporal.reading import Reading, read_views
    from weft.temporal.worlds import Recipe, make_world

    views = make_world(Recipe(sites=2, event_sites=0, days=20)).views()
    for method in METHODS:
        classify(views, Rules(method=method))
    lines = {
        "squid": "1772409600.250 5 10.0.0.1 TCP_MISS/200 10 GET http://a.example/ - DIRECT/192.0.2.1 text/html\n",
        "combined": 'a.example 10.0.0.1 - - [02/Mar/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "Lynx"\n',
        "csv": "user,ts,url\nu,2026-03-02T00:00:00,http://a.example/\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in lines.items():
            log = Path(folder) / name
            log.write_text(text)
            read_views([log], Reading(floor=1))


def warm_duplicates() -> None:
    """Which fingerprints are alike."""
    import numpy as np

    from weft.duplicates.alike import alike, unite

    found = alike(np.array([0, 1, 1 << 40], np.uint64), 3)
    unite(found.sets, np.array([0]), np.array([1]))


WARM = {"crawl": warm_crawl, "simulate": warm_simulator, "temporal": warm_labels, "duplicates": warm_duplicates}

if __name__ == "__main__":
    tell_loading()
    WARM[sys.argv[1]]()
