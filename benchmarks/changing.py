"""What a web that changes costs, and what it is like after four months.

    python -m benchmarks.changing

The default country (2,000 sites, 100,000 pages at the start): processor time to make its world, to ask for all versions
at a time, and for an answer of the testbed beside that of the same web standing still; the best of three. And what
of the pages after 120 days was there at the start, with how much of the PageRank (P1: 55 % and 72 %).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.machine import description
from weft.graph import Recipe, generate
from weft.graph.changing import Changes, world_of
from weft.graph.changing.snapshots import snapshot
from weft.graph.changing.world import DAY
from weft.graph.rank import pagerank
from weft.testbed.answers import Asked
from weft.testbed.options import PLAIN
from weft.testbed.web import Web

SEED, DAYS, ANSWERS = 1, 120, 2_000


def _best(act: Callable[[], object]) -> float:
    """Processor time of the quickest of three."""
    times = []
    for _ in range(3):
        before = time.process_time()
        act()
        times.append(time.process_time() - before)
    return min(times)


def run() -> dict[str, Any]:
    """Make the world, and ask it."""
    start = generate(Recipe(), SEED)
    world = world_of(start, Changes(), SEED)
    pages = np.arange(world.graph.pages)
    asked = Asked(at=10 * DAY)
    some = (np.arange(ANSWERS) * 7919) % start.pages

    def answers(web: Web, of: list[int]) -> Callable[[], None]:
        def act() -> None:
            for page in of:
                web.answer(int(web.scene.site[page]), web.path(page), asked)

        return act

    still, changing = Web(start, PLAIN, SEED), Web(world, PLAIN, SEED)
    hubs = world.hubs[:ANSWERS].tolist()
    seconds = {
        "world": _best(lambda: world_of(start, Changes(), SEED)),
        "versions": _best(lambda: world.version_of(pages, 10 * DAY)),
        "answer_still": _best(answers(still, some.tolist())) / ANSWERS,
        "answer_changing": _best(answers(changing, some.tolist())) / ANSWERS,
        "answer_hub": _best(answers(changing, hubs)) / len(hubs),
    }
    return {"machine": description(), "pages": len(pages), "seconds": seconds, "old": _old()}


def _old() -> dict[str, float]:
    """What of the last day was there on the first."""
    world = world_of(generate(Recipe(), SEED), Changes(days=DAYS), SEED)
    last = snapshot(world, DAYS * DAY)
    scores = pagerank(last.graph.offsets, last.graph.links)
    there = world.birth[last.pages] <= 0
    return {"days": DAYS, "pages": float(there.mean()), "score": float(scores[there].sum() / scores.sum())}


def show(found: dict[str, Any]) -> None:
    """Print it."""
    seconds, old = found["seconds"], found["old"]
    print(f"world of 60 days beside its graph   {seconds['world']:8.3f} s")
    print(f"versions of {found['pages']:,} pages         {1e3 * seconds['versions']:8.1f} ms")
    for name in ("still", "changing", "hub"):
        print(f"answer, {name:<12}                {1e6 * seconds[f'answer_{name}']:8.0f} µs")
    print(f"after {old['days']} days {old['pages']:.1%} of the pages are old, with {old['score']:.1%} of the PageRank")


if __name__ == "__main__":
    show(run())
