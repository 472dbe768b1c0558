"""`make bench`: what weft costs, printed and kept as JSON with the machine's description.

    python -m benchmarks                    # the crawlers: weft beside the bare loop and Scrapy
    python -m benchmarks workers modern     # some parts
    python -m benchmarks all                # all that docs/performance.md shows, some hours

Every part is one run, and can be had alone with options of its own: `python -m benchmarks.PART --help`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import (
    against,
    audit,
    changing,
    crawlers,
    duphosts,
    feeds,
    focus,
    frontier,
    frontier_memory,
    frontier_shared,
    frontier_worker,
    hazards,
    instant,
    intervals,
    judged,
    language,
    learning,
    million,
    modern,
    near_duplicates,
    orderings,
    partitions,
    revisit,
    scaling,
    simulate,
    spam,
    stages,
    start,
    stretches,
    temporal_accuracy,
    temporal_events,
    temporal_hours,
    temporal_labels,
    temporal_reading,
    temporal_sites,
    testbed,
    text,
    with_stages,
    workers,
)

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
    "against": Part(
        "this tree's processor time a page against that of the revision REV, on the same pages",
        against.run,
        against.show,
    ),
    "start": Part(
        "a crawl of one page; memory of a watchdog, and of a worker that knows a million URLs",
        start.run,
        start.show,
    ),
    "workers": Part(
        "the same web: one worker against two, durability on against off, stalls of the event loop",
        workers.run,
        workers.show,
    ),
    "stalls": Part(
        "one worker ten times, durable and not in turn: the longest stall of its loop, and what durability costs",
        partial(workers.run, rounds=5, only="durable"),
        workers.show,
    ),
    "scaling": Part(
        "a web that is slow to answer: pages/s at 1, 2, 4 and 8 workers, and at 1, 2 and 3 nodes",
        scaling.run,
        scaling.show,
    ),
    "changing": Part(
        "a web that changes: what its world, its versions and its answers cost, and what is old after four months",
        changing.run,
        changing.show,
    ),
    "million": Part(
        "one live crawl of a million pages: rate, memory and files, minute by minute",
        million.run,
        million.show,
    ),
    "modern": Part(
        "today's web: pages of 240 KB over TLS, a new connection a visit, beside its own floor",
        modern.run,
        modern.show,
    ),
    "stretches": Part(
        "the longest stretch between two awaits while a worker is attacked, and over other people's contents",
        stretches.run,
        stretches.show,
    ),
    "audit": Part(
        "what an audit of 250,000 and of a million fetches takes",
        audit.run,
        audit.show,
    ),
    "stages": Part(
        "microseconds of each stage of a page by itself",
        stages.run,
        stages.show,
    ),
    "with-stages": Part(
        "CPU a page of a crawl with text, language and near-duplicates, with each and with none of them",
        with_stages.run,
        with_stages.show,
    ),
    "near-duplicates": Part(
        "precision and recall of near-duplicates by 64 bits on pages with known edits, and what they cost",
        near_duplicates.run,
        near_duplicates.show,
    ),
    "spam": Part(
        "webs with link farms: PageRank gathered and farm pages crawled, all links alike and some counting less",
        spam.run,
        spam.show,
    ),
    "duphosts": Part(
        "precision and relative coverage of the five heuristics for duplicate hosts on webs with known mirrors",
        duphosts.run,
        duphosts.show,
    ),
    "focus": Part(
        "harvest rate and recall of focused crawls beside breadth-first, on webs with topics; the order alone on CARS",
        focus.run,
        focus.show,
    ),
    "judged": Part(
        "weft beside Scrapy, wget and Heritrix on a standard web, by its servers' word: pages, waste, manners, order",
        judged.run,
        judged.show,
    ),
    "hazards": Part(
        "the standard mixed web against the same without hazards: CPU a good page, good pages, copies; on four seeds",
        hazards.run,
        hazards.show,
    ),
    "testbed": Part(
        "what the testbed serves, to wrk where that is there and to a client of its own",
        testbed.run,
        testbed.show,
    ),
    "text": Part(
        "texts by format, on real contents and on files made here: extracted, why not, ms and MB, beside others",
        text.run,
        text.show,
    ),
    "language": Part(
        "languages of texts of 100 and of 1,000 characters: how many are right, by four libraries",
        language.run,
        language.show,
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
    "partitions": Part(
        "what it costs when workers order by the links that they saw, not by all",
        partitions.run,
        partitions.show,
    ),
    "revisit": Part(
        "when to come again: policies against the optimum for known rates, rates from nothing, hubs, a plan's cost",
        revisit.run,
        revisit.show,
    ),
    "learning": Part(
        "rates learned from nothing: freshness and age of plans after so many fetches a page, beside what can be known",
        learning.run,
        learning.show,
    ),
    "feeds": Part(
        "feeds read by us and by fastfeedparser, broken ones included: entries and milliseconds",
        feeds.run,
        feeds.show,
    ),
    "intervals": Part(
        "50,000 sites with least and most intervals, 10 million pages, half a year: who is on time, at what cost",
        intervals.run,
        intervals.show,
    ),
    "instant": Part(
        "hubs polled by different policies: how long temporal pages wait until they are stored, simulated",
        instant.run,
        instant.show,
    ),
    "temporal-reading": Part(
        "page-view logs of 10 and of 50 million rows, to views by page and day",
        temporal_reading.run,
        temporal_reading.show,
    ),
    "temporal-labels": Part(
        "labels of a million pages and interest curves, on one core",
        temporal_labels.run,
        temporal_labels.show,
    ),
    "temporal-accuracy": Part(
        "how many labels are right, on generated worlds and on real logs, beside naive ways",
        temporal_accuracy.run,
        temporal_accuracy.show,
    ),
    "temporal-sites": Part(
        "how good lists of temporal sites are, and what ranking a million pages costs",
        temporal_sites.run,
        temporal_sites.show,
    ),
    "temporal-hours": Part(
        "births, curves and labels of logs with times, beside the same logs by the day",
        temporal_hours.run,
        temporal_hours.show,
    ),
    "temporal-events": Part(
        "sites that live for one event: how soon `weft temporal update` finds them, and how soon it drops them",
        temporal_events.run,
        temporal_events.show,
    ),
    "frontier": Part(
        f"a frontier of {frontier.URLS:,} URLs\n\n{frontier.HEADER}",
        frontier.run,
        frontier.show,
    ),
    "frontier-memory": Part(
        f"a worker with {frontier_memory.MEMORY} that is offered {frontier_memory.URLS:,} URLs, against one with a "
        "tenth of them and no bound",
        frontier_memory.run,
        frontier_memory.show,
    ),
    "frontier-shared": Part(
        "the global frontier of a million sites and 50 workers: check-outs and exchanges, PostgreSQL beside SQLite",
        frontier_shared.run,
        frontier_shared.show,
    ),
    "frontier-worker": Part(
        "a whole worker that knows so many URLs against one with a million: pages/s, and how soon it goes on",
        frontier_worker.run,
        frontier_worker.show,
    ),
}


def main(names: list[str]) -> None:
    """Run the parts that are asked for, one after the other."""
    unknown = sorted(set(names) - PARTS.keys() - {"all"})
    if unknown:
        sys.exit(f"there is no benchmark called {', '.join(unknown)}: choose of {', '.join(PARTS)}, or all")
    everything = [name for name in PARTS if name != "against" or os.environ.get("REV")]
    for name in everything if "all" in names else dict.fromkeys(names or ["crawlers"]):
        part = PARTS[name]
        print(f"{name}: {part.about}\n", flush=True)
        result = part.run()
        part.show(result)
        path = RESULTS / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.json"
        crawlers.save(result, path)
        print(f"\nkept as {path}\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
