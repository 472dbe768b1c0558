"""What labels and curves cost: a million pages on one core; CPU seconds, best of three.

    python -m benchmarks.temporal_labels [pages]

The pages are those of a generated world, again and again under other host names. What is compiled is loaded (or, the
first time, compiled) by a small world before, and told apart. Run it with OMP_NUM_THREADS=1: the CPU seconds are those
of all threads.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.machine import description
from weft.temporal.curves import fit_curves, paper_curves
from weft.temporal.labels import METHODS, Method, Rules, classify
from weft.temporal.lifetimes import lives_of
from weft.temporal.views import Views
from weft.temporal.worlds import Recipe, make_world

PAGES = 1_000_000
SITES = 3_400  # of the world that is repeated: some 200,000 pages
FITS = 20_000
LIMIT = 15.0  # CPU seconds for a million pages
LEAST_FITS = 10_000  # a CPU second


def several(views: Views, times: int) -> Views:
    """The same pages as often, each time of other sites."""

    def renamed(texts: Any, start: str) -> Any:
        again = [
            pc.replace_substring(texts, start, f"{start[:-4]}w{at:03d}.", max_replacements=1) for at in range(times)
        ]
        return pa.concat_arrays([each.cast(pa.string()) for each in again])

    days = len(views.day)
    start = [views.start[:-1] + at * days for at in range(times)]
    site = [views.site + at * len(views.sites) for at in range(times)]
    return Views(
        views.window,
        renamed(views.urls, "http://www."),
        renamed(views.sites, "www."),
        np.concatenate(site).astype(np.int32),
        np.concatenate([*start, [times * days]]),
        np.tile(views.day, times),
        np.tile(views.count, times),
        np.tile(views.first, times),
    )


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """CPU seconds of the fastest run."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def run(pages: int = PAGES) -> dict[str, Any]:
    """Label them all, and fit curves to some."""
    small = make_world(Recipe(seed=2, sites=20)).views(floor=60)
    began = time.process_time()
    for method in METHODS:
        classify(small, Rules(method=method))
    found: dict[str, Any] = {"machine": description(), "compiled": time.process_time() - began}
    world = make_world(Recipe(seed=1, sites=SITES)).views(floor=60)
    views = several(world, max(1, round(pages / world.pages)))
    found["pages"], found["days"] = views.pages, len(views.day)
    counting: tuple[Method, ...] = ("share", "robust")
    for method in counting:
        found[method] = seconds(partial(classify, views, Rules(method=method)))
    lives, some = lives_of(world), np.arange(0, world.pages, max(1, world.pages // FITS))
    for name, fit in (("poisson", fit_curves), ("squares", paper_curves)):
        found[name] = len(some) / seconds(partial(fit, world, lives, some))
    return found


def show(found: dict[str, Any]) -> None:
    """Print the figures."""
    print(f"\n{found['pages']:,} pages, {found['days']:,} days with views")
    print(f"loaded, or compiled, in {found['compiled']:.1f} CPU s")
    for method in ("share", "robust"):
        print(f"classify, {method:<8}{found[method]:>10.2f} CPU s   (goal {LIMIT:.0f})")
    for name in ("poisson", "squares"):
        print(f"fit, {name:<8}{found[name]:>15,.0f} curves a CPU second   (goal {LEAST_FITS:,})")


if __name__ == "__main__":
    show(run(*map(int, sys.argv[1:2])))
