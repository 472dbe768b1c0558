"""`weft duplicates`: pages of a crawl that are the same, or almost so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter
from cyclopts.validators import Number

from weft.cli.terminal import Terminal
from weft.readiness import make_ready

if TYPE_CHECKING:
    from weft.duplicates.clusters import Cluster, Found

_WIDTH = 130  # a narrower terminal breaks the lines itself, a pipe need not
_SITES = 5  # of a cluster that are named


def duplicates(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    within: Annotated[
        int, Parameter(help="Bits in which the SimHashes of two alike pages differ.", validator=Number(gte=0, lte=8))
    ] = 5,
    most: Annotated[int, Parameter(help="Clusters that are listed.", validator=Number(gte=0))] = 20,
    urls: Annotated[int, Parameter(help="URLs of each that are listed.", validator=Number(gte=1))] = 5,
    json: Annotated[bool, Parameter(help="As JSON.", negative=())] = False,
) -> None:
    """List clusters of pages that are the same, or almost so.

    Exact duplicates have the same content. Near-duplicates have texts that differ little: they are known by the
    SimHashes that a crawl with --simhash makes. Works beside a running crawl. The largest clusters come first,
    with their sites and some of their URLs; a page stands for its cluster, and the others count as duplicates.

    For example:

        weft duplicates crawls/first

        weft duplicates crawls/first --within 0 --most 100 --json
    """
    from weft.duplicates.clusters import find_duplicates  # Arrow, and what is compiled

    make_ready("duplicates")
    found = find_duplicates(crawl, within=within, most=most, urls=urls)
    if json:
        print(msgspec.json.encode({**msgspec.to_builtins(found), "share": found.share}).decode())
    else:
        _print(found)


def _print(found: Found) -> None:
    terminal = Terminal(soft_wrap=True)
    terminal.width = max(terminal.width, _WIDTH)
    terminal.print(
        f"{found.pages:,} pages: {found.exact:,} exact duplicates ({_share(found.exact, found)}), {found.near:,} near "
        f"ones within {found.within} bits ({_share(found.near, found)}), in {found.clusters:,} clusters"
    )
    if not found.simhashes:
        terminal.print("no page has a SimHash: near-duplicates are found in crawls that ran with --simhash")
    elif found.simhashes < found.pages:
        terminal.print(f"{found.pages - found.simhashes:,} pages have no SimHash: no text, or too few words of it")
    if found.cut:
        terminal.print(f"{found.cut:,} SimHashes have so many alike in some bits that not all were compared")
    for cluster in found.largest:
        _print_cluster(terminal, cluster)
    if found.clusters > len(found.largest):
        terminal.print(f"\nand {found.clusters - len(found.largest):,} more clusters; --most lists them")


def _share(count: int, found: Found) -> str:
    return f"{count / found.pages:.1%}"


def _print_cluster(terminal: Terminal, cluster: Cluster) -> None:
    same = "one content" if cluster.contents == 1 else f"{cluster.contents:,} contents, up to {cluster.furthest} bits"
    sites = [f"{site} {pages:,}" for site, pages in list(cluster.sites.items())[:_SITES]]
    more = len(cluster.sites) - len(sites)
    terminal.print(f"\n{cluster.pages:,} pages, {same}; on {', '.join(sites)}{f' and {more:,} more' if more else ''}")
    for url in cluster.urls:
        terminal.print(f"  {url}")
    if cluster.pages > len(cluster.urls):
        terminal.print(f"  and {cluster.pages - len(cluster.urls):,} more")
