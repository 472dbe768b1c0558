"""`weft duphosts`: sites of a crawl that are copies of one another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.table import Table

from weft.cli.terminal import Terminal

if TYPE_CHECKING:
    from weft.duplicates.hosts import Found

_SHOWN = 20  # pairs
_WIDTH = 130
Name = Literal["same-home", "same-home-and-1-doc", "dups60", "dups80", "dups100"]


def duphosts(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    by: Annotated[Name, Parameter(help="The heuristic whose pairs are listed and written.")] = "dups80",
    to: Annotated[Path | None, Parameter(help="File to write the pairs to, for --duphosts of the next crawl.")] = None,
    json: Annotated[bool, Parameter(help="As JSON, with the pairs of every heuristic.", negative=())] = False,
) -> None:
    """Find sites that are copies of one another.

    Five heuristics compare the contents of sites: whether home pages are the same (same-home), and one more content
    (same-home-and-1-doc), or what share of their contents is (dups60, dups80, dups100). The pairs of one of them are a
    list for the next crawl, which visits the originals in place of their replicas. Sites change: the older a crawl is,
    the less its list is worth.

    For example:

        weft duphosts crawls/first --to duphosts.txt

        weft crawl --seeds seeds.txt --out crawls/second --duphosts duphosts.txt
    """
    from weft.duplicates.hosts import find_duphosts, write_list  # Arrow

    found = find_duphosts(crawl)
    written = None if to is None else write_list(to, found, by, crawl)
    if json:
        print(msgspec.json.encode(_as_json(found)).decode())
        return
    _print(found, by)
    if to is not None:
        Terminal(soft_wrap=True).print(f"\n{written:,} replicas, by {by}, are in {to}: weft crawl --duphosts {to}")


def _as_json(found: Found) -> dict[str, object]:
    replicas = {name: [pair._asdict() for pair in pairs] for name, pairs in found.replicas.items()}
    return {"sites": found.sites, "contents": found.contents, "replicas": replicas}


def _print(found: Found, by: str) -> None:
    terminal = Terminal(soft_wrap=True)
    terminal.width = max(terminal.width, _WIDTH)
    terminal.print(f"{found.sites:,} sites with {found.contents:,} contents\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("heuristic")
    for name in ("replicas", "of all sites", "originals"):
        table.add_column(name, justify="right")
    for name, pairs in found.replicas.items():
        originals = len({pair.original for pair in pairs})
        table.add_row(name, f"{len(pairs):,}", f"{len(pairs) / found.sites:.1%}", f"{originals:,}")
    terminal.print(table)
    pairs = found.replicas[by]
    if pairs:
        terminal.print(f"\nby {by}:")
    for pair in sorted(pairs, key=lambda pair: -pair.equal)[:_SHOWN]:
        terminal.print(f"  {pair.replica} is a copy of {pair.original}: {pair.equal:,} of {pair.contents:,} contents")
    if len(pairs) > _SHOWN:
        terminal.print(f"  and {len(pairs) - _SHOWN:,} more; --to writes all of them, --json too")
