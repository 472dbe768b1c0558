"""`weft report`: what a crawl is like."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter


def report(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(help="The page to write; report.html in the current directory if not given.")
    ] = None,
    json: Annotated[bool, Parameter(help="Print the numbers as JSON, and write no page.", negative=())] = False,
    graph: Annotated[
        bool, Parameter(help="Also degrees and PageRank, for which the links must fit into memory.")
    ] = True,
) -> None:
    """Characterise a crawl: one HTML page with plots, or JSON.

    Sites by size; pages by depth, type, status, language, size and latency; degrees and PageRank; duplicates, robots,
    thresholds and texts; speed, and bandwidth used and wasted, over time. Works beside a running crawl. The page needs
    no other file.

    For example:

        weft report crawls/first --out first.html
    """
    from weft.report.numbers import measure  # others do without DuckDB

    found = measure(crawl, graph=graph)
    if json:
        print(msgspec.json.encode(found).decode())
        return
    from weft.disk import replace_file, writing
    from weft.report.page import made_page

    path = out or Path("report.html")
    with writing(path):
        replace_file(path, made_page(found).html().encode())
    print(f"weft: {path} has the report of {found['totals']['pages']:,} pages", file=sys.stderr)
