"""`weft sites`: the sites of a crawl, and what each waits for."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import Parameter
from rich.table import Table

from weft.cli.bounds import within
from weft.cli.terminal import Terminal
from weft.clock import SystemClock
from weft.sites.one import Site, look_at_site
from weft.sites.survey import Survey, survey

Waits = Literal["turn", "wait", "retry", "set aside", "shelf", "dead", "nothing"]
By = Literal["site", "waits_for", "until", "pending", "known", "fetched", "refused", "failures", "worker"]
_WIDTH = 110


def sites(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    site: Annotated[str | None, Parameter(help="Everything about this one.")] = None,
    /,
    *,
    waits_for: Annotated[Waits | None, Parameter(help="Those that wait for this.")] = None,
    text: Annotated[str, Parameter(help="Those that have this in their names.")] = "",
    by: Annotated[By, Parameter(help="The column to sort by.")] = "pending",
    rising: Annotated[bool, Parameter(help="The smallest first.", negative=())] = False,
    most: Annotated[int, Parameter(help="List so many at most.", validator=within(at_least=1))] = 50,
    json: Annotated[bool, Parameter(help="As JSON.", negative=())] = False,
) -> None:
    """List the sites of a crawl and what each waits for, or say everything about one.

    A site waits for its turn, for the end of its wait, for a retry, or for nothing any more; it may be set aside, dead,
    or on its way to the shelf. Of one site its limits, its robots.txt and what came of requests to it are shown. Works
    beside a running crawl, as of its last commit. Sites that no worker has checked out are not listed.

    For example:

        weft sites crawls/first --waits-for retry --by failures

        weft sites crawls/first www.example.org
    """
    now = SystemClock().wall()
    if site is not None:
        found = look_at_site(crawl, site, now)
        if json:
            print(msgspec.json.encode(_as_json(found), enc_hook=str).decode())
        else:
            _print_one(found)
        return
    every = survey(crawl, now)
    page = every.page(waits_for=waits_for or "", text=text, by=by, rising=rising, most=most)
    if json:
        rows = [row._asdict() for row in page.rows]
        values = {"sites": len(every), "found": page.found, "waiting": every.waiting(), "rows": rows}
        print(msgspec.json.encode(values).decode())
        return
    _print(every, page.rows, page.found)


def _as_json(found: Site) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(found, builtin_types=(datetime, bytes))
    values["row"] = found.row and found.row._asdict()
    values["outcomes"] = [each._asdict() for each in found.outcomes]
    for record in values["robots"].values():
        record["body"] = None if record.get("body") is None else record["body"].decode(errors="replace")
    if values["memory"]:
        values["memory"].pop("cookies", None)  # a login's are secret
    return values


def _print(every: Survey, rows: list[Any], found: int) -> None:
    terminal = Terminal(soft_wrap=True)
    terminal.width = max(terminal.width, _WIDTH)
    counts = ", ".join(f"{count:,} {name}" for name, count in every.waiting().items() if count)
    terminal.print(f"{len(every):,} sites, by what they wait for: {counts or 'none'}\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("site", "waits for", "until"):
        table.add_column(name)
    for name in ("pending", "known", "fetched", "refused", "failures", "worker"):
        table.add_column(name, justify="right")
    for row in rows:
        numbers = (row.pending, row.known, row.fetched, row.refused, row.failures, row.worker)
        table.add_row(row.site, row.waits_for, _when(row.until), *(f"{number:,}" for number in numbers))
    terminal.print(table)
    if found > len(rows):
        terminal.print(f"\n{found - len(rows):,} more: --most")


def _print_one(found: Site) -> None:
    terminal = Terminal(soft_wrap=True)
    terminal.print(found.site)
    if not found.known:
        terminal.print("  No worker knows it, and nothing was asked of it.")
    if found.row is not None:
        until = f" until {_when(found.row.until)}" if found.row.until else ""
        terminal.print(f"  waits for: {found.row.waits_for}{until}")
        terminal.print(f"  pages: {found.row.known:,} known, {found.row.pending:,} pending, {found.row.fetched:,} done")
    elif found.shelved:
        terminal.print("  waits for: shelf")
    for name, value in found.limits.items():
        terminal.print(f"  {name}: {value}")
    for each in found.outcomes:
        terminal.print(f"  {each.outcome}: {each.fetches:,} fetches, the last {_when(each.last)}")
    for scheme, record in found.robots.items():
        terminal.print(f"\n{scheme} robots.txt, had {_when(record.fetched_at)}:")
        terminal.print("none" if record.body is None else record.body.decode(errors="replace"))


def _when(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
