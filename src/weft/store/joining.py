"""The columns of a crawl that does not run, joined. In: its directory, and room for what memory does not hold. Out:
links to what was not fetched, and pages of which something is missing.

DuckDB does the joins, within a bound of memory and otherwise on disk. What was fetched is told by the text as well: two
URLs may have one id, and somebody may have made them so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow.dataset as ds

from weft.model import FIRST_REQUISITE, KINDS, Kind
from weft.store.superseded import superseded

_MEMORY = "500MB"
_ROWS = 10_000  # read in one go
_SAME_DEPTH = frozenset((Kind.REDIRECT, Kind.MAP))


def _counted(out: Path, table: str) -> str:
    """Which rows of a table count; links of pages that do not are links all the same, and lead somewhere."""
    if table != "pages":
        return ""
    others = [f"(worker = {worker} and commit > {after})" for worker, after in superseded(out).items()]
    return f" where not ({' or '.join(others)})" if others else ""


class JoinedColumns:
    """The columns of a crawl that does not run, to be joined."""

    def __init__(self, out: Path, room: Path) -> None:
        self._base = duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": str(room), "threads": 2})
        self._tables: set[str] = set()
        for table in ("pages", "links", "urls"):
            files = sorted(map(str, (out / table).glob("*.parquet")))
            if files:
                self._tables.add(table)
                self._base.register(f"all_{table}", ds.dataset(files))
                self._base.execute(f"create view {table} as from all_{table}{_counted(out, table)}")

    def __repr__(self) -> str:
        return f"JoinedColumns({', '.join(sorted(self._tables))})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def redirected_seeds(self) -> list[str]:
        """Where redirects of seeds end, which is in the scope as they are."""
        query = (
            "select distinct url from pages where final and redirect is null and reason is null and depth = 0 "
            "and kind = 'redirect' order by 1"
        )
        return [url for (url,) in self._rows(query, "pages")]

    def fetched(self) -> Iterator[tuple[Any, ...]]:
        """Every page that is done, in the order in which they were: URL, kind, depth, via."""
        return self._rows(
            "select url, arg_min(kind, fetched_at), arg_min(depth, fetched_at), arg_min(via, fetched_at) from pages "
            "where final and kind not in ('robots', 'check') group by url order by min(fetched_at)",
            "pages",
        )

    def unfinished(self) -> Iterator[tuple[Any, ...]]:
        """Pages of which nothing, or not all, was kept the last time: URL, kind, depth, via, type, reason, bytes."""
        return self._rows(
            "with last as (select id, url as text, max(fetched_at) as latest from pages "
            "where final and kind not in ('robots', 'check') group by all) "
            "select url, kind, depth, via, declared_type, reason, coalesce(bytes, 0) from pages join last "
            "on pages.id = last.id and url = text and fetched_at = latest "
            "where final and kind not in ('robots', 'check') "
            "and (reason = 'type' or (reason is null and truncated = 'length')) order by fetched_at",
            "pages",
        )

    def not_fetched(self, *, by_site: bool) -> Iterator[tuple[Any, ...]]:
        """Links to what was not fetched, each by the shortest way: URL, kind, depth, source, and its site if wanted."""
        flat = ", ".join(f"'{word}'" for word, kind in KINDS.items() if kind >= FIRST_REQUISITE or kind in _SAME_DEPTH)
        parts = ", ".join(f"'{word}'" for word, kind in KINDS.items() if kind >= FIRST_REQUISITE)
        site = "any_value(site)" if by_site else "''"
        return self._rows(
            f"with sources as (select id, min(depth) as depth, {site} as site from pages "  # noqa: S608
            "where final and kind not in ('robots', 'check') group by id), "
            "found as (select target, source, kind::varchar as kind, site, "
            f"kind::varchar in ({parts}) as part, depth + (kind::varchar not in ({flat}))::int as depth "
            "from links join sources on source = sources.id where not nofollow), "
            "ways as (select target, arg_min(kind, depth) as kind, min(depth) as depth, arg_min(source, depth) as via, "
            "site from found group by target, part, site), "
            "fetched as (select distinct id, url from pages where final and kind not in ('robots', 'check')) "
            "select urls.url, kind, depth, via, site from ways join urls on target = urls.id "
            "anti join fetched on target = fetched.id and urls.url = fetched.url",
            "pages",
            "links",
            "urls",
        )

    def _rows(self, query: str, *tables: str) -> Iterator[tuple[Any, ...]]:
        if self._tables.issuperset(tables):
            for batch in self._base.sql(query).to_arrow_reader(_ROWS):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
