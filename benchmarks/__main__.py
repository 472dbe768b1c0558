"""`make bench`: what weft costs, printed and kept as JSON with the machine's description.

    python -m benchmarks                    # the crawlers: weft beside the bare loop and Scrapy
    python -m benchmarks workers modern     # some parts
    python -m benchmarks all                # all of them, three quarters of an hour

Every part is one run, and can be had alone with options of its own: `python -m benchmarks.PART --help`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import crawlers, frontier, modern, orderings, simulate, workers

RESULTS = Path(__file__).parent / "results"


class Part(NamedTuple):
    """A benchmark."""

    about: str
    run: Callable[[], dict[str, Any]]
    show: Callable[[dict[str, Any]], None]


PARTS = {
    "crawlers": Part(
        "weft beside the bare loop and Scrapy: 2,000 sites, pages of 15 KB (median), 22 links a page, nothing fails",
        crawlers.run,
        crawlers.show,
    ),
    "workers": Part(
        "the same web: one worker against two, durability on against off, stalls of the event loop",
        workers.run,
        workers.show,
    ),
    "modern": Part(
        "today's web: pages of 240 KB over TLS, a new connection a visit, beside its own floor",
        modern.run,
        modern.show,
    ),
    "simulate": Part(
        "simulations of 1 and of 3.5 million pages, on one core",
        simulate.run,
        simulate.show,
    ),
    "orderings": Part(
        "the ordering's share of the live crawler's processor time",
        orderings.run,
        orderings.show,
    ),
    "frontier": Part(
        f"a frontier of {frontier.URLS:,} URLs\n\n{frontier.HEADER}",
        frontier.run,
        frontier.show,
    ),
}


def main(names: list[str]) -> None:
    """Run the parts that are asked for, one after the other."""
    unknown = sorted(set(names) - PARTS.keys() - {"all"})
    if unknown:
        sys.exit(f"there is no benchmark called {', '.join(unknown)}: choose of {', '.join(PARTS)}, or all")
    for name in PARTS if "all" in names else dict.fromkeys(names or ["crawlers"]):
        part = PARTS[name]
        print(f"{name}: {part.about}\n", flush=True)
        result = part.run()
        part.show(result)
        path = RESULTS / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.json"
        crawlers.save(result, path)
        print(f"\nkept as {path}\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
