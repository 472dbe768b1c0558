"""`weft explain`: why a URL was crawled or not, and when it will be."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from weft.explain import explain_url
from weft.store.reading import ids_as_text


def explain(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    url: Annotated[str, Parameter(help="The URL to ask about.")],
    /,
    *,
    json: Annotated[bool, Parameter(help="As JSON; ids are text.", negative=())] = False,
) -> None:
    """Say why a URL was crawled or not.

    It was fetched, when and with what result; or waits, behind what, and until about when; or was refused, by which
    rule.

    Works beside a running crawl, as of its last commit.
    """
    answer = explain_url(crawl, url)
    if json:
        answer.fetches = [ids_as_text(row) for row in answer.fetches]
        values = msgspec.to_builtins(answer, builtin_types=(datetime,))
        values["order"] = answer.order and answer.order._asdict()
        values["expected"] = answer.expected and answer.expected._asdict()
        print(msgspec.json.encode(values, enc_hook=str).decode())
        return
    print(f"{answer.url}\n  {answer.verdict}")
    for line in answer.because:
        print(f"  {line}")
    for row in answer.fetches:
        print(f"  {_fetch(row)}")
    for rule, says in answer.rules.items():
        print(f"    {rule:<16} {says}")


def _fetch(row: dict[str, Any]) -> str:
    when = row["fetched_at"].strftime("%Y-%m-%d %H:%M:%S")
    result = row["reason"] or "fetched"
    status = f"status {row['status']}, " if row["status"] else ""
    stored = f", stored in {row['volume']} at {row['offset']}" if row["volume"] else ""
    again = "" if row["final"] else ", to be tried again"
    return f"{when} try {row['attempt']}: {status}{result}{again}{stored}"
