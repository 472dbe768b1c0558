"""`weft status`: how a crawl stands."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from weft.cli.terminal import Terminal
from weft.frontier.shared.contract import ALL_AT_ONCE, PHASES
from weft.manage import managing
from weft.operations.status import Status
from weft.operations.words import left_out_of, short, stage_rows, state_of, target_of, troubles_of, worker_state
from weft.units import size

_MOST_STOPPED = 5  # sites that are named
_WIDTH = 80  # a narrower terminal breaks the lines itself, a pipe need not
_MOST_REASONS = 8


def status(
    crawl: Annotated[str, Parameter(help="Directory of the crawl, or the address of its database.")],
    /,
    *,
    json: Annotated[bool, Parameter(help="As JSON.", negative=())] = False,
) -> None:
    """Show how a crawl stands: pages, speed, sites, errors, where the time goes, and every worker.

    Works beside a running crawl, as of the last second, and when it is not running. Of a crawl on several machines all
    nodes are shown, wherever it is asked.
    """
    with managing(crawl) as managed:
        found = managed.status()
    if json:
        print(msgspec.json.encode(found).decode())
    else:
        _print(found)


def _print(found: Status) -> None:
    terminal = Terminal(soft_wrap=True)
    terminal.width = max(terminal.width, _WIDTH)
    terminal.print(Text.assemble((state_of(found), "bold"), f"  {found.crawl}\n"))
    terminal.print(_totals(found))
    for title, table in (("errors", found.errors), ("refused by a rule", found.refused)):
        if table:
            terminal.print(f"\n  {title}: {_counts(table)}")
    if found.stopped:
        terminal.print(f"\n  followed no further: {_counts(Counter(found.stopped.values()))}")
        for name, reason in list(found.stopped.items())[:_MOST_STOPPED]:
            terminal.print(f"    {name}: {reason}")
        if len(found.stopped) > _MOST_STOPPED:
            terminal.print(f"    and {len(found.stopped) - _MOST_STOPPED:,} others (--json)")
    for line in troubles_of(found):
        terminal.print(f"\n  {line}")
    lines = left_out_of(found)
    if lines:
        terminal.print()
    for line in lines:
        terminal.print(f"  {line}")
    terminal.print()
    terminal.print(_stages(found))
    for line in _machine(found):
        terminal.print(f"  {line}")
    terminal.print()
    terminal.print(_workers(found))
    if found.nodes:
        terminal.print()
        terminal.print(_nodes(found))
        for node in found.nodes:
            terminal.print(f"node {node.number} is {node.name}")


def _totals(found: Status) -> Table:
    table = _table(4)
    lists = [f"{sites:,} {name.replace('_', ' ')}" for name, sites in found.lists.items()]
    table.add_row("pages", f"{found.pages:,}", "pages/s", f"{found.pages_rate:,.1f}")
    table.add_row("content", decimal(found.bytes), "bytes/s", decimal(int(found.bytes_rate)))
    table.add_row("pages pending", f"{found.pending:,}", "URLs known", f"{found.known:,}")
    if found.phase != PHASES[ALL_AT_ONCE]:
        table.add_row("phase", found.phase, "", "")
    if found.shelved:
        table.add_row("domains put away", f"{found.shelved:,}", "", "")
    table.add_row("run for", f"{found.seconds:,.0f} s", "blacklist", f"{found.blacklist:,} rules")
    wide = Table.grid(padding=(0, 3))
    wide.add_row(table)
    below = _table(2)
    for first in range(0, len(lists), 2):  # two a line: all of them are too wide with large numbers
        below.add_row("sites" if first == 0 else "", ", ".join(lists[first : first + 2]))
    below.add_row("speed target", target_of(found))
    wide.add_row(below)
    return wide


def _stages(found: Status) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 2))
    for heading in ("operation", "device"):
        table.add_column(heading, no_wrap=True)
    for heading in ("operations", "seconds", "mean"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in stage_rows(found):
        table.add_row(*row)
    return table


def _machine(found: Status) -> list[str]:
    """What workers had of their machine."""
    had = found.machine
    spent = had.cpu_user + had.cpu_system
    return [
        f"processors: {spent:,.1f} s ({had.cpu_system:,.1f} s in the kernel), waited for {had.cpu_queued:,.1f} s",
        f"disk: {size(had.disk_written)} written, {size(had.disk_read)} read",
    ]


def _workers(found: Status) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("worker")
    for heading in ("pid", "state", "pages", "pages/s", "pending", "memory", "silent"):
        table.add_column(heading, justify="left" if heading == "state" else "right", no_wrap=True)
    for worker in found.workers:
        table.add_row(
            str(worker.number),
            str(worker.pid or "-"),
            worker_state(worker),
            f"{worker.pages:,}",
            f"{worker.pages_rate:,.1f}",
            f"{worker.pending:,}",
            decimal(worker.memory) if worker.memory else "-",
            short(worker.heard),
        )
    return table


def _nodes(found: Status) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("node")
    for heading in ("state", "workers", "groups", "pages", "silent", "weft"):
        left = heading in ("state", "weft")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for node in found.nodes:
        table.add_row(
            str(node.number),
            node.state,
            str(node.workers),
            f"{node.groups:,}",
            f"{node.pages:,}",
            short(node.heard),
            node.version,
        )
    return table


def _table(columns: int) -> Table:
    """Names and figures side by side."""
    table = Table.grid(padding=(0, 3))
    for number in range(columns):
        table.add_column(style="bold" if number % 2 else "", justify="left", min_width=13)
    return table


def _counts(counts: dict[str, int]) -> str:
    shown = [f"{name} {count:,}" for name, count in list(counts.items())[:_MOST_REASONS]]
    more = sum(list(counts.values())[_MOST_REASONS:])
    return ", ".join([*shown, *([f"others {more:,}"] if more else [])])
