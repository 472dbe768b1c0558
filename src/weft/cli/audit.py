"""`weft audit`: was the crawl polite?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.table import Table

from weft.audit import Audit, Finding, Place, audit_crawl
from weft.cli.terminal import Terminal

_MOST_SHOWN = 20
_WIDTH = 110  # a narrower terminal breaks the lines itself, a pipe need not

_RULES = {
    "site-wait": "rest of a site",
    "site-connections": "connections to a site",
    "domain-gap": "gap at a domain",
    "domain-connections": "connections to a domain",
    "address-gap": "gap at an address",
    "address-connections": "connections to an address",
    "network-gap": "gap in a network",
    "network-connections": "connections to a network",
    "robots-age": "age of robots.txt",
    "robots-missing": "no robots.txt before a page",
    "disallowed": "disallowed by robots.txt",
    "crawl-delay": "crawl-delay of robots.txt",
    "retry-after": "asked to be left alone",
    "keep-alive": "asked on a connection that was over",
    "blacklist": "on the blacklist",
    "nofollow": "found by a link that asks not to be followed",
}


def audit(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    json: Annotated[bool, Parameter(help="As JSON, with up to 10,000 violations of each rule.", negative=())] = False,
) -> int:
    """Hold every request against the rules of politeness, and list where one was broken.

    Requests and their times are read from the columns, what servers said (robots.txt, Retry-After, nofollow) from the
    volumes, what was asked of the crawl from its settings and its blacklist; not what the crawler made of it. The exit
    code is 1 if a rule was broken. Works beside a running crawl.

    It cannot see what was never written down: a request without a row, or a row with a wrong time. For that one has to
    ask the servers.
    """
    found = audit_crawl(crawl)
    if json:
        print(msgspec.json.encode({"ok": found.ok, **msgspec.to_builtins(found)}).decode())
    else:
        _print(found)
    return 0 if found.ok else 1


def _print(found: Audit) -> None:
    terminal = Terminal(soft_wrap=True)
    terminal.width = max(terminal.width, _WIDTH)
    if found.visits == 0:
        terminal.print(f"Nothing to audit yet: {found.rows:,} fetches, no connection.")
        return
    networks = f" of {found.networks:,} networks" if found.networks else ""
    terminal.print(
        f"{found.rows:,} fetches in {found.visits:,} visits to {found.sites:,} sites "
        f"of {found.domains:,} domains at {found.addresses:,} addresses{networks}\n"
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("rule", no_wrap=True)
    table.add_column("closest", justify="right", no_wrap=True)
    table.add_column("limit", justify="right", no_wrap=True)
    table.add_column("where", overflow="fold")
    table.add_column("when", no_wrap=True)
    extremes = [*found.most_connections.values(), *found.smallest_gap.values()]
    for extreme in [*extremes, *([found.oldest_robots] if found.oldest_robots else [])]:
        sign = "≤" if _is_most(extreme.rule) else "≥"
        limit = f"{sign} {_figure(extreme, extreme.limit)}"
        table.add_row(_RULES[extreme.rule], _figure(extreme, extreme.figure), limit, extreme.who, _when(extreme))
    terminal.print(table)
    _print_judged(terminal, found)
    if found.ok:
        terminal.print("\nNo rule was broken.")
        return
    total = sum(found.broken.values())
    counts = ", ".join(f"{rule} {count:,}" for rule, count in found.broken.items())
    terminal.print(f"\nRules were broken {total:,} times: {counts}")
    for violation in found.violations[:_MOST_SHOWN]:
        for line in _violation(violation):
            terminal.print(f"  {line}")
    if total > _MOST_SHOWN:
        terminal.print(f"  and {total - _MOST_SHOWN:,} more; --json lists them")


def _print_judged(terminal: Terminal, found: Audit) -> None:
    judged = {_RULES[rule]: count for rule, count in found.judged.items() if rule != "robots-age" and count}
    if judged:
        terminal.print("\nrequests judged: " + ", ".join(f"{count:,} {rule}" for rule, count in judged.items()))
    for what, count in found.unjudged.items():
        terminal.print(f"not judged: {count:,} {what}")


def _violation(found: Finding) -> list[str]:
    what = f"{_when(found)}  {_RULES[found.rule]}, {found.who}"
    since = f", since {found.since:%Y-%m-%d %H:%M:%S.%f}" if found.since is not None else ""
    if found.figure is not None:
        sign = "more than" if _is_most(found.rule) else "less than"
        what += f": {_figure(found, found.figure)}, {sign} {_figure(found, found.limit)}{since}"
    lines = [what, f"    {found.url}{_place(found.asked)}"]
    return [*lines, f"    {found.says}{_place(found.said)}"] if found.says else lines


def _place(place: Place | None) -> str:
    return "" if place is None else f"  [{place.volume} at {place.offset}]"


def _is_most(rule: str) -> bool:
    return rule.endswith(("connections", "age"))


def _figure(found: Finding, value: float | None) -> str:
    if value is None:
        return "none"
    if found.rule.endswith("connections"):
        return f"{value:,.0f}"
    return f"{value:,.0f} s" if found.rule == "robots-age" else f"{value:,.3f} s"


def _when(found: Finding) -> str:
    return f"{found.when:%Y-%m-%d %H:%M:%S.%f}"
