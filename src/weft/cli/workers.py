"""`weft workers`: how many workers a running crawl has."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from weft.cli.manage import Crawl
from weft.manage import managing


def workers(
    crawl: Crawl,
    count: Annotated[int | None, Parameter(help="So many from now on.")] = None,
    /,
) -> None:
    """Add workers to a running crawl, or take some away. Without a number, show how many there are.

    One that is taken away finishes its visits and commits; what it held goes to the others. When some are added all
    finish and start again, so that everything is shared. The next run has as many as its command says. Of a crawl on
    several machines each node has its own: its directory says which one is meant.

    For example:

        weft workers example 4
    """
    with managing(crawl) as managed:
        if count is None:
            nodes = [node for node in managed.nodes() if node.workers]
            for node in nodes if managed.out is None else ():
                print(f"node {node.number}: {node.workers} ({node.name})")
            if managed.out is not None:
                print(managed.workers)
            return
        managed.set_workers(count)
        print(f"{count} workers, within seconds.")
