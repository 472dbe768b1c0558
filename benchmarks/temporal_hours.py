"""What hours are good for: births, curves and labels from logs with times, beside the same logs by the day.

    python -m benchmarks.temporal_hours

*Below a day*: worlds whose pages live for hours (`weft.temporal.worlds.by_hour`), read as logs are; the truth is the
exact share of interest. The same views without their hours, and without the times of first views, as a log of dates
would have them. *Above*: a recipe's worlds (births and hours of users, n = 3), written as logs and read again: hours
must not cost anything there. *Reading*: CPU seconds of counting by the hour and by the day, on the same rows.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.machine import description
from weft.temporal.curves import fit_curves
from weft.temporal.labels import Method, Rules, classify
from weft.temporal.lifetimes import lives_of
from weft.temporal.reading import Reading, read_views
from weft.temporal.views import Views
from weft.temporal.worlds import Recipe, make_world, write_log
from weft.temporal.worlds.by_hour import FIRST, hourly_world

SEEDS = (601, 602)
NS = (1 / 12, 0.25, 0.5, 1.0, 3.0)
WAYS: tuple[Method, ...] = ("robust", "share", "curve")
FORMS: dict[str, Callable[[Views], Views]] = {
    "hours": lambda views: views,
    "days, first views timed": lambda views: replace(views, hours=None),
    "days alone": lambda views: replace(views, hours=None, first=np.full_like(views.first, -1)),
}


def run() -> dict[str, Any]:
    """All tables."""
    return {
        "machine": description(),
        "below_a_day": [below(seed) for seed in SEEDS],
        "above": [above(seed) for seed in SEEDS],
    }


def below(seed: int) -> dict[str, Any]:
    """Pages that live for hours."""
    world = hourly_world(seed, pages=4000)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        pq.write_table(world.log, log)
        views, _ = read_views([log], Reading(first=FIRST.isoformat(), days=30))
    at = np.asarray(pc.index_in(views.urls, pa.array(world.urls)), np.int64)
    brief = np.exp(world.mu[at]) < 0.5
    forms: dict[str, Any] = {}
    for name, form in FORMS.items():
        seen = form(views)
        began = time.process_time()
        curves = fit_curves(seen)
        cpu = time.process_time() - began
        forms[name] = {
            "birth_off_hours": float(np.median(np.abs(lives_of(seen).born - world.birth[at])[brief]) * 24),
            "curve_birth_off_hours": float(np.median(np.abs(curves.b - world.birth[at])[brief]) * 24),
            "mu_off": float(np.median(np.abs(curves.mu - world.mu[at])[brief])),
            "curves_a_cpu_second": views.pages / cpu,
            "right": {
                f"{n * 24:g} h": {
                    way: float((classify(seen, Rules(n=n, method=way)).temporal == (world.phi(n)[at] > 0.7)).mean())
                    for way in WAYS
                }
                for n in NS
            },
        }
    shares = {f"{n * 24:g} h": float((world.phi(n)[at] > 0.7).mean()) for n in NS}
    return {"seed": seed, "pages": views.pages, "temporal": shares, "forms": forms}


def above(seed: int) -> dict[str, Any]:
    """The usual worlds, n = 3."""
    world = make_world(Recipe(seed=seed, sites=300))
    with tempfile.TemporaryDirectory() as folder:
        rows = write_log(world, Path(folder) / "world")["rows"]
        log = Path(folder) / "world" / "log.parquet"
        began = time.process_time()
        views, _ = read_views([log], Reading())
        by_hour = time.process_time() - began
        table = pq.read_table(log)
        days = pc.cast(pc.floor_temporal(table["ts"], unit="day"), table.schema.field("ts").type)
        pq.write_table(table.set_column(1, "ts", days), log, compression="zstd")
        began = time.process_time()
        by_day_views, _ = read_views([log], Reading())
        by_day = time.process_time() - began
    assert by_day_views.unit == "day"
    truth = world.truth_of(views)
    phi, human = (
        np.asarray(truth[name].to_pylist(), np.bool_) for name in ("temporal_by_definition", "reports_recent_event")
    )
    forms = {}
    for name, form in FORMS.items():
        labels = {way: classify(form(views), Rules(method=way)).temporal for way in WAYS}
        forms[name] = {
            way: {"definition": float((called == phi).mean()), "human": float((called == human).mean())}
            for way, called in labels.items()
        }
    return {
        "seed": seed,
        "pages": views.pages,
        "rows": rows,
        "read_cpu_s": {"hours": by_hour, "days": by_day},
        "forms": forms,
    }


def show(found: dict[str, Any]) -> None:
    """Print the tables."""
    for world in found["below_a_day"]:
        print(f"\nseed {world['seed']}: {world['pages']:,} pages; right labels by n; temporal {world['temporal']}")
        for name, form in world["forms"].items():
            off = f"birth off by {form['birth_off_hours']:.2f} h, by curve {form['curve_birth_off_hours']:.2f} h"
            print(f"  {name}: {off}, mu by {form['mu_off']:.3f}; {form['curves_a_cpu_second']:,.0f} curves a CPU s")
            for n, ways in form["right"].items():
                print(f"    {n:>5} " + "  ".join(f"{way} {right:.3f}" for way, right in ways.items()))
    for world in found["above"]:
        cpu = world["read_cpu_s"]
        print(f"\nseed {world['seed']}, n = 3: {world['pages']:,} pages, {world['rows']:,} rows; {cpu}")
        for name, ways in world["forms"].items():
            print(
                f"  {name:26}" + "  ".join(f"{way} {r['definition']:.4f} {r['human']:.4f}" for way, r in ways.items())
            )


if __name__ == "__main__":
    show(run())
