"""`weft simulate --continuous`: try revisit policies on a web that changes before a crawl uses one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table

from weft.cli.options import given_of
from weft.cli.terminal import Terminal
from weft.errors import UsageError
from weft.graph.changing.files import load_world
from weft.graph.rank import pagerank
from weft.readiness import make_ready
from weft.revisit import policy_named, policy_names
from weft.sim.continuous import Crawl, Terms
from weft.sim.continuous_report import TITLES, row_of, write_continuous_report
from weft.sim.moving import moving_of

_SHOWN = ("freshness", "age, days", "stale views", "mean delay, h", "within 6 h", "held", "GB")  # of the report's


def simulate_continuous(
    world: Path, revisit: str, hubs: str, new_shares: str, out: Path, seed: int, *, json: bool, flags: Any
) -> int:
    """Crawl a world continuously, once for each policy and share of new pages, and compare."""
    policies = _some(revisit if revisit != "all" else ",".join(policy_names()), "revisit policy")
    shares = [_share(each) for each in _some(new_shares, "share of new pages")]
    for name in [*policies, hubs]:
        policy_named(name)
    terms = [replace(Terms(**given_of(flags, Terms), seed=seed), new_share=share) for share in shares]
    for each in terms:
        each.check()
    loaded = load_world(world)
    make_ready("simulate")
    web = moving_of(loaded, pagerank(loaded.graph.offsets, loaded.graph.links), seed)
    results = [Crawl(web, policy_named(name), policy_named(hubs), each).run() for each in terms for name in policies]
    summary = write_continuous_report(results, out, {"web": repr(loaded), "world": str(world), "hubs": hubs})
    if json:
        print(msgspec.json.encode(summary).decode())
        return 0
    terminal, table = Terminal(), Table(box=None, pad_edge=False)
    shown = [0, *(1 + TITLES.index(title) for title in _SHOWN)]
    for at in shown:
        table.add_column(("policy", *TITLES)[at], justify="right" if at else "left", no_wrap=not at)
    for result in results:
        row = row_of(result)
        table.add_row(*(row[at] for at in shown))
    terminal.print(table)
    for warning in summary["warnings"]:
        terminal.print(f"! {warning}", soft_wrap=True)
    terminal.print(f"report: {out / 'index.html'}", soft_wrap=True)
    return 0


def _some(text: str, what: str) -> list[str]:
    """What is named with commas between; each once."""
    found = [each.strip() for each in text.split(",") if each.strip()]
    if not found or len(set(found)) < len(found):
        raise UsageError(f"no {what} is named" if not found else f"a {what} is named twice", todo="name each once")
    return found


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise UsageError(
            f"'{text}' is no share of the capacity", todo="give numbers from 0 to below 1 with --new-shares"
        )
    return share
