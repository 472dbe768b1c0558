"""`weft node`: one machine of a crawl that several share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from weft.app import run
from weft.cli.bounds import within
from weft.cli.display import Display, print_summary
from weft.frontier.shared.address import without_password
from weft.manage import managing
from weft.membership import node_plan

Address = Annotated[
    str, Parameter(help="Address of the crawl's database, postgresql://…, as it was begun with; or env:NAME.")
]


def start(
    address: Address,
    /,
    *,
    out: Annotated[Path, Parameter(help="Directory of the node. The same again: the node goes on.")],
    workers: Annotated[
        int | None,
        Parameter(help="Processes that crawl here; one per core unless given.", validator=within(at_least=1)),
    ] = None,
    volumes: Annotated[tuple[str, ...], Parameter(help="Directories for the volumes of this node.", negative=())] = (),
    config: Annotated[
        Path | None, Parameter(help="Settings file (TOML) with what belongs to this machine, and with secrets.")
    ] = None,
    json: Annotated[bool, Parameter(help="Print the summary as JSON, and nothing else.", negative=())] = False,
) -> int:
    """Join a crawl as one more machine, and crawl until it is over.

    What is crawled and how, the database says; secrets (headers, a proxy) come from --config or the environment. What
    is collected lies in the directory, which no other node reads. Ctrl-C, SIGTERM and `weft node stop` have it finish
    its pages, hand over what it holds, and leave. A node that dies goes on when it is started again in time; later it
    joins as a new one.

    For example:

        weft cluster init postgresql://weft@db.example/crawls --seeds sites.txt --contact me@example.org

        weft node start postgresql://weft@db.example/crawls --out /data/node
    """
    flags: dict[str, object] = {}
    if workers is not None:
        flags["workers"] = workers
    if volumes:
        flags["volumes"] = list(volumes)
    plan = node_plan(without_password(address, where="weft node start"), out, config, flags)
    display = Display(quiet=json)
    with display:
        summary = run(plan, watch=display.show, show=display.say)
    if json:
        print(msgspec.json.encode(msgspec.to_builtins(summary, enc_hook=str)).decode())
    else:
        print_summary(summary)
    return 0


def stop(
    crawl: Annotated[str, Parameter(help="Directory of the node, or the address of the crawl's database.")],
    /,
    *,
    node: Annotated[int | None, Parameter(help="Which node, where an address is given.")] = None,
) -> None:
    """Have a node finish its pages, hand over what it holds, and leave the crawl; the others go on.

    For example:

        weft node stop /data/node

        weft node stop postgresql://weft@db.example/crawls --node 2
    """
    with managing(crawl) as managed:
        print(f"Node {managed.leave(node)} is told to leave.")
