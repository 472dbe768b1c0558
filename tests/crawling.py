"""Crawls of the testbed, for tests: a web, a bed, a run, and what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
from tests.nursery import quick_workers

from weft.app import Summary, run
from weft.config import Settings
from weft.directory import Plan
from weft.graph import Recipe, generate
from weft.store.warc import base32
from weft.testbed.bed import Bed
from weft.testbed.options import Options
from weft.testbed.web import Web


def make_web(options: Options, *, sites: int, pages: int, seed: int = 1, largest: int = 200) -> Web:
    """A web of so many sites and pages."""
    return Web(generate(Recipe(sites=sites, pages=pages, largest_site=largest), seed), options, seed)


def settings_for(bed: Bed, **changes: Any) -> Settings:
    """Settings that reach the bed, do not wait long for anything, and cut nothing off."""
    values: dict[str, Any] = {
        "scope": "all",
        "wait": 0.0,
        "per_visit": 10,
        "timeout": 2.0,
        "retry_pauses": [0.1, 0.2],
        "commit_every": 0.2,
        "too_often_pause": 0.1,
        "max_depth": 1000,
        "max_depth_dynamic": 1000,
    }
    if bed.web.options.naming == "names":
        values |= {"dns": [bed.dns], "allow_address": ["127.0.0.0/8"]}
    if bed.ca_file is not None:
        values["ca_file"] = str(bed.ca_file)
    return Settings().with_values(values | changes, where="a test")


def crawl(bed: Bed, out: Path, seeds: list[str] | None = None, **changes: Any) -> Summary:
    """Crawl the bed."""
    plan = Plan(seeds=seeds or bed.seeds(), out=out, settings=settings_for(bed, **changes))
    if plan.settings.running.workers < 2:
        return run(plan)
    with quick_workers():
        return run(plan)


def digests_of(web: Web) -> dict[str, str]:
    """The digest of every page of a web, by its URL."""
    pages = range(web.graph.pages)
    return {web.url(page): base32(bytes.fromhex(web.digest(page))) for page in pages}


def rows(out: Path, what: str = "*", where: str = "true", table: str = "pages") -> list[tuple[Any, ...]]:
    """Ask the columns of a crawl."""
    with duckdb.connect() as database:
        query = f"select {what} from '{out}/{table}/*.parquet' where {where}"  # noqa: S608
        found: list[tuple[Any, ...]] = database.execute(query).fetchall()
        return found
