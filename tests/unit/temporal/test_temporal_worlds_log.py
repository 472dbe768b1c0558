"""A world's log has to be read like any other, and gives back exactly the world's views."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from weft.errors import UsageError
from weft.temporal.worlds import Recipe, World, make_world, write_log

EXACT = r"""
    WITH log AS (
        SELECT regexp_replace(url, '[?&](sid|utm_source)=[^&]*', '') AS page, "user", ts,
               ts::DATE - DATE '2026-03-02' AS day
        FROM read_parquet($log)),
    days AS (
        SELECT page, day, count(DISTINCT "user") AS views, min(epoch_us(ts) % 86400000000) // 1000000 AS first
        FROM log GROUP BY page, day)
    SELECT page, day, views, first FROM days
    WHERE page IN (SELECT page FROM days GROUP BY page HAVING sum(views) >= 60)
    ORDER BY page, day"""


@pytest.fixture(scope="module")
def world() -> World:
    """A small world with everything in it."""
    return make_world(Recipe(seed=11, sites=24, after=3, sessions=0.3, spam=0.02, users=20_000))


@pytest.fixture(scope="module")
def folder(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it was written to."""
    out = tmp_path_factory.mktemp("worlds") / "small"
    write_log(world, out)
    return out


def _ask(question: str, **values: Any) -> Any:
    with duckdb.connect(config={"threads": 1}) as connection:
        return connection.execute(question, values).fetchnumpy()


def test_log__read_exactly_is_the_worlds_views(world: World, folder: Path) -> None:
    """One view a user, page and day, parameters of sessions taken off: counts and first views agree to the second."""
    found, views = _ask(EXACT, log=str(folder / "log.parquet")), world.views()
    pages = np.repeat(np.array(views.urls.to_pylist()), np.diff(views.start))
    assert found["page"].tolist() == pages.tolist()
    assert np.array_equal(found["day"], views.day)
    assert np.array_equal(found["views"], views.count)
    assert np.array_equal(found["first"], views.first)


def test_log__has_repeats_spam_and_many_spellings(world: World, folder: Path) -> None:
    """Who counts rows or addresses as they stand counts something else."""
    log = str(folder / "log.parquet")
    rows = pq.read_metadata(folder / "log.parquet").num_rows
    found = _ask('SELECT count(DISTINCT url) AS urls, count(DISTINCT "user") AS users FROM read_parquet($log)', log=log)
    assert rows > 1.3 * world.traffic.count[world.traffic.day < 60].sum()
    assert found["urls"][0] > 1.5 * len(world.pages)
    assert found["users"][0] > 10_000
    most = _ask('SELECT max(n) AS n FROM (SELECT count(*) AS n FROM read_parquet($log) GROUP BY url, "user")', log=log)
    assert most["n"][0] >= 60


def test_log__is_in_the_order_of_time_and_ends_where_the_next_begins(folder: Path) -> None:
    """The window is in one file, the days behind it are in another."""
    log, after = (pq.read_table(folder / name)["ts"].to_numpy() for name in ("log.parquet", "after.parquet"))
    assert (np.diff(log) >= np.timedelta64(0)).all()
    assert log[-1] < np.datetime64("2026-05-01") <= after[0]
    assert after[-1] < np.datetime64("2026-05-04")


def test_log__comes_with_truth_sites_and_an_invented_list(world: World, folder: Path) -> None:
    """Everything that is needed to judge a reading stands beside the log."""
    assert pq.read_table(folder / "truth.parquet").equals(world.truth)
    assert pq.read_table(folder / "sites.parquet").equals(world.sites.table())
    lines = (folder / "manual.txt").read_text(encoding="utf-8").splitlines()
    assert "invented" in lines[0]
    assert lines[1:]
    assert set(lines[1:]) <= set(world.sites.name.to_pylist())
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    assert about["recipe"]["seed"] == 11
    assert about["rows"] == pq.read_metadata(folder / "log.parquet").num_rows


def test_log__is_the_same_for_the_same_recipe(folder: Path, tmp_path: Path) -> None:
    """Writing it again gives the same rows."""
    write_log(make_world(Recipe(seed=11, sites=24, after=3, sessions=0.3, spam=0.02, users=20_000)), tmp_path / "again")
    assert pq.read_table(tmp_path / "again" / "log.parquet").equals(pq.read_table(folder / "log.parquet"))


def test_log__replaces_a_world_and_nothing_else(tmp_path: Path) -> None:
    """An earlier world makes room; a directory with anything else in it stays."""
    world = make_world(Recipe(sites=2, event_sites=0))
    out = tmp_path / "world"
    write_log(world, out)
    write_log(world, out)
    (out / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UsageError, match="foreign file"):
        write_log(world, out)
    assert (out / "thesis.txt").exists()
    assert (out / "log.parquet").exists()
