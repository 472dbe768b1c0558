"""A world as files. In: a world. Out: a directory with its log, its truth, a manual list and what it was made from.

`log.parquet` has the window, `after.parquet` the days behind it if there are any; both are written day by day, so the
memory they take is that of a day. The directory takes its place only when it is whole.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from weft import disk
from weft.disk import replacing, writing
from weft.temporal.worlds.kinds import SITE_KIND_NAMES
from weft.temporal.worlds.requests import SCHEMA, Requests
from weft.temporal.worlds.world import World

ABOUT = "about.json"
_OURS = {ABOUT, "log.parquet", "after.parquet", "truth.parquet", "sites.parquet", "manual.txt"}
_KNOWN_FOR_NEWS = {"news": 0.85, "portal": 0.7, "mixed": 0.5, "event": 0.2, "blog": 0.1, "forum": 0.1}
_LISTED = 10  # one site in so many


def write_log(world: World, out: Path) -> dict[str, Any]:
    """Write a world, and return what `about.json` says."""
    with replacing(out, check_replaceable) as folder:
        requests, recipe = Requests(world), world.recipe
        rows = _write_days(requests, range(recipe.days), folder / "log.parquet")
        if recipe.after:
            _write_days(requests, range(recipe.days, recipe.last), folder / "after.parquet")
        about = {
            "world": 1,
            "recipe": {**dataclasses.asdict(recipe), "first": recipe.first.isoformat()},
            "pages": len(world.pages),
            "rows": rows,
        }
        with writing(folder):
            pq.write_table(world.truth, folder / "truth.parquet", compression="zstd")
            pq.write_table(world.sites.table(), folder / "sites.parquet", compression="zstd")
            (folder / "manual.txt").write_text(_manual_text(world), encoding="utf-8")
            (folder / ABOUT).write_text(json.dumps(about, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return about


def check_replaceable(out: Path) -> None:
    """Refuse a place where something else is than an earlier world."""
    disk.check_replaceable(out, "world", is_one=lambda folder: (folder / ABOUT).exists(), is_ours=_OURS.__contains__)


def manual_list(world: World) -> list[str]:
    """A list as an editor might keep it, an invention of ours: well-known sites that have to do with news.

    Whether a kind of site is thought of is chance; which site of it, its views (those of its fronts, mostly).
    """
    dice = world.recipe.dice("manual")
    count = max(1, world.recipe.sites // _LISTED)
    known = np.array([_KNOWN_FOR_NEWS.get(name, 0.0) for name in SITE_KIND_NAMES])[world.sites.kind]
    views = np.bincount(world.pages.site, weights=world.pages.size, minlength=len(known))
    rank = np.where(dice.random(len(known)) < known, views, 0.0)
    best = np.argsort(-rank, kind="stable")[:count]
    return sorted(world.sites.name[int(site)].as_py() for site in best if rank[site] > 0)


def _manual_text(world: World) -> str:
    return "\n".join(["# An invented list, as an editor might keep it by hand.", *manual_list(world)]) + "\n"


def _write_days(requests: Requests, days: range, path: Path) -> int:
    rows = 0
    with writing(path), pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for day in days:
            table = requests.of_day(day)
            writer.write_table(table)
            rows += len(table)
    return rows
