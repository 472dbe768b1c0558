"""How many pages are labelled rightly: generated worlds, a given one, and real logs where they lie beside the project.

    python -m benchmarks.temporal_accuracy [seed]...

The truth of a world is exact: `phi` is whether more than 0.7 of a page's interest lies in its first three days, without
noise and without a window; `human` is whether it reports a recent event. The strata are those of docs/temporal.md.
Real logs have no such truth. For the Globo articles it is the exact share of views within 72 hours of the first view,
of the activation day or, where a stray view decides it, of all days; members of parliament are all called untemporal.
Both favour counting over curves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.machine import description
from weft.temporal.labels import METHODS, Rules, classify
from weft.temporal.lifetimes import Lives, first_seen, lives_of, share_within
from weft.temporal.reading import Reading, read_views
from weft.temporal.views import Views, Window
from weft.temporal.worlds import Recipe, make_world

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SEEDS = (501, 502)  # of these every second world has few news sites
SITES = 700
FEW_NEWS = 0.10
GOALS = {
    "phi": 0.970,
    "human": 0.962,
    "mixed": 0.955,
    "clean": 0.988,
    "right": 0.67,
    "left": 0.90,
    "stray": 0.94,
    "burst": 0.86,
}

_EPOCH, _MEMBERS = date(1970, 1, 1), date(2022, 1, 1)

Mask = NDArray[np.bool_]


def naive(views: Views) -> Mask:
    """What anybody would do first: the share of the first three calendar days with views."""
    return share_within(views, first_seen(views), 3.0) > 0.7


def labelled_by(rules: Rules) -> Callable[[Views], Mask]:
    """The decisions under some rules."""
    return lambda views: classify(views, rules).temporal


WAYS: dict[str, Callable[[Views], Mask]] = {
    "raw 3-day share": naive,
    **{method: labelled_by(Rules(method=method)) for method in METHODS},
    "robust, alone": labelled_by(Rules(neighbours=0.0)),
}


@dataclass(frozen=True)
class Truth:
    """What is true of the pages of some views, and which strata they are in."""

    temporal: Mask
    recent: Mask  # reports a recent event
    strata: dict[str, Mask]

    @classmethod
    def of(cls, views: Views, table: pa.Table) -> Truth:
        """From the rows of a truth table, one a page."""

        def column(name: str) -> Any:
            return table[name].to_numpy(zero_copy_only=False)

        hosts = np.asarray(pc.match_substring_regex(views.sites, r"^(www\.)?mixed"), np.bool_)
        borderline = (column("phi3") >= 0.6) & (column("phi3") <= 0.8)
        left, right = column("cut_left"), column("cut_right")
        temporal = column("temporal_by_definition")
        strata = {
            "mixed": hosts[views.site],
            "clean": ~left & ~right & ~borderline,
            "right temporal": right & temporal,
            "right untemporal": right & ~temporal,
            "left": left & temporal,
            "stray": column("stray_early_view"),
            "burst": column("many_user_burst"),
        }
        return cls(temporal, column("reports_recent_event"), strata)

    def measure(self, called: Mask) -> dict[str, float]:
        """The share of right labels, in all and in each stratum."""
        found = {"phi": np.mean(called == self.temporal), "human": np.mean(called == self.recent)}
        for name, which in self.strata.items():
            truth = self.recent if name == "mixed" else self.temporal
            found[name] = np.mean((called == truth)[which]) if which.any() else np.nan
        found["right"] = 0.5 * (found["right temporal"] + found["right untemporal"])
        return {name: float(value) for name, value in found.items()}


def worlds(seeds: tuple[int, ...]) -> Iterator[tuple[str, Views, Truth]]:
    """The generated worlds, and the given one."""
    for at, seed in enumerate(seeds):
        recipe = Recipe(seed=seed, sites=SITES)
        world = make_world(replace(recipe, news=FEW_NEWS) if at % 2 else recipe)
        views = world.views(floor=60)
        yield f"world {seed}", views, Truth.of(views, world.truth_of(views))
    folder = SHARED / "views-world-a"
    if folder.is_dir():
        views, _ = read_views([folder / "log.parquet"], Reading())
        table = pq.read_table(folder / "truth.parquet")
        yield (
            "views-world-a",
            views,
            Truth.of(views, table.take(pc.index_in(views.urls, table["url"].combine_chunks()))),
        )


def globo(lives: Callable[[Views], Lives]) -> dict[str, float]:
    """Agreement with the exact share, of articles whose lives began on the days 1 to 8 of 17."""
    log = SHARED / "views-globo-a" / "clicks.csv.zst"
    reading = Reading(user="user_id", ts="timestamp_ms", url="article_id", ids=True, first="2017-10-01", days=17)
    views, _ = read_views([log], reading)
    activation = lives(views).activation
    exact = _exact_shares(log, views.window, pa.table({"page": views.urls, "activation": activation}))
    born = (activation >= 1) & (activation <= 8)
    found = {name: float(np.mean((way(views) == (exact > 0.7))[born])) for name, way in WAYS.items()}
    return {"articles": float(born.sum()), "temporal": float((exact > 0.7)[born].mean()), **found}


def _exact_shares(log: Path, window: Window, births: pa.Table) -> NDArray[np.float64]:
    """By the seconds of the log: views within 72 hours of the first one of the activation day."""
    with duckdb.connect() as db:
        db.execute("SET threads = 1")
        db.register("births", births)
        rows = db.execute(
            """
            WITH viewed AS (
              SELECT article_id::VARCHAR AS page, user_id, timestamp_ms // 86400000 - $first AS day,
                min(timestamp_ms) / 86400000.0 AS moment
              FROM read_csv($log) WHERE day BETWEEN 0 AND $days - 1 GROUP BY ALL
            ), lived AS (SELECT page, moment, min(moment) OVER (PARTITION BY page) AS born
              FROM viewed JOIN births USING (page) WHERE day >= activation)
            SELECT page, avg((moment - born < 3)::INT) FROM lived GROUP BY page ORDER BY page
            """,
            {"log": str(log), "first": (window.first - _EPOCH).days, "days": window.days},
        ).fetchall()
    shares = dict(rows)
    return np.array([shares[page] for page in births["page"].to_pylist()])


def members() -> dict[str, float]:
    """False alarms among members of parliament, in windows of 17 days."""
    log = SHARED / "views-wikipedia-mps" / "views.csv.gz"
    alarms, pages = dict.fromkeys(WAYS, 0), 0
    for start in range(0, 112 - 17 + 1, 16):
        first = (_MEMBERS + timedelta(start)).isoformat()
        reading = Reading(views="views", ts="timestamp", url="article", ids=True, first=first, days=17)
        views, _ = read_views([log], reading)
        pages += views.pages
        for name, way in WAYS.items():
            alarms[name] += int(way(views).sum())
    return {"windows": float(pages), **{name: count / pages for name, count in alarms.items()}}


def run(seeds: tuple[int, ...] = SEEDS) -> dict[str, Any]:
    """Every way of labelling on every world, and on the real logs that are there."""
    found: dict[str, Any] = {"machine": description(), "worlds": {}}
    for name, views, truth in worlds(seeds):
        ways = {way: truth.measure(label(views)) for way, label in WAYS.items()}
        sizes = {stratum: int(which.sum()) for stratum, which in truth.strata.items()}
        found["worlds"][name] = {"pages": views.pages, "temporal": float(truth.temporal.mean()), **sizes, "ways": ways}
        print(f"  {name}: {views.pages:,} pages", flush=True)
    if (SHARED / "views-globo-a").is_dir():
        found["views-globo-a, from the activation day"] = globo(lives_of)
        found["views-globo-a, from the first view of all"] = globo(first_seen)
    if (SHARED / "views-wikipedia-mps").is_dir():
        found["views-wikipedia-mps, false alarms"] = members()
    return found


def show(found: dict[str, Any]) -> None:
    """Print a table for each world, one for all of them, and what there is of real logs."""
    for name, world in found["worlds"].items():
        strata = ", ".join(f"{world[each]:,} {each}" for each in world if each not in ("pages", "temporal", "ways"))
        print(f"\n{name}: {world['pages']:,} pages, {world['temporal']:.0%} temporal; {strata}")
        _table(world["ways"])
    generated = [world["ways"] for name, world in found["worlds"].items() if name.startswith("world ")]
    if len(generated) > 1:
        print(f"\nmean of {len(generated)} generated worlds")
        _table({way: _mean([each[way] for each in generated]) for way in WAYS})
    for name, values in found.items():
        if name.startswith("views-"):
            print(f"\n{name}: " + ", ".join(f"{key} {value:,.4g}" for key, value in values.items()))


def _mean(measures: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([each[name] for each in measures])) for name in measures[0]}


def _table(ways: dict[str, dict[str, float]]) -> None:
    names = [*GOALS, "right temporal", "right untemporal"]
    print("| method | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
    for way, values in ways.items():
        print(f"| {way} | " + " | ".join(f"{values[name]:.3f}" for name in names) + " |")
    print("| goal | " + " | ".join(f"{GOALS[name]:.3f}" if name in GOALS else "" for name in names) + " |")


if __name__ == "__main__":
    show(run(tuple(map(int, sys.argv[1:])) or SEEDS))
