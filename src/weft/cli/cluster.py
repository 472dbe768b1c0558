"""`weft cluster`: the global frontier in a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from weft.cli.bounds import within
from weft.cli.options import CrawlOptions, given
from weft.clock import SystemClock
from weft.errors import UsageError
from weft.frontier.shared.address import without_password
from weft.frontier.shared.opening import Cluster, make_cluster, upgrade_cluster

_GRANTS = """grant usage on schema {0} to ROLE;
grant select, insert, update, delete on all tables in schema {0} to ROLE;
grant usage on all sequences in schema {0} to ROLE;"""
Address = Annotated[
    str,
    Parameter(help="postgresql://user@host/database, with ?schema=name for one of several crawls; or env:NAME."),
]


def init(
    address: Address,
    /,
    *seed: Annotated[str, Parameter(help="URL to begin with; a host name alone is its home page.")],
    seeds: Annotated[Path | None, Parameter(help="File with seeds, one URL a line; - is standard input.")] = None,
    config: Annotated[Path | None, Parameter(help="Settings file (TOML).")] = None,
    profile_name: Annotated[
        str | None, Parameter(name="--profile", help="Ready-made settings: wire, country or vn.")
    ] = None,
    header: Annotated[
        tuple[str, ...],
        Parameter(
            help="Header of every request, as 'Name: value'; nodes are given its value, the database is not, unless it "
            "is env:NAME.",
            negative=(),
        ),
    ] = (),
    strict: Annotated[bool, Parameter(help="Refuse a seed list with an unusable line.", negative=())] = False,
    options: Any = CrawlOptions(),  # noqa: B008  every field is None
) -> None:
    """Make the tables of a global frontier in PostgreSQL.

    They are in a schema of their own, "weft" unless the address names another: a crawl has one. Tables of an earlier
    version are brought up to date. `weft crawl --frontier` makes them too, if its role may; with this command it need
    not be allowed to.

    With seeds a crawl is begun there, by the options of `weft crawl`; nodes join it (`weft node start`).

    For example:

        weft cluster init 'postgresql://admin@db.example/crawls?schema=news'

        weft cluster init postgresql://weft@db.example/crawls --seeds sites.txt --contact me@example.org
    """
    place = without_password(address, where="weft cluster init")
    if not seed and seeds is None:
        flags = given(options)
        if flags or config is not None or profile_name is not None or header:
            raise UsageError("settings are given, and no seeds", todo="give seeds, or leave the settings out")
        _tell(make_cluster(place))
        return
    from weft.app import begin  # most of weft comes with it
    from weft.cli.crawl import headers_of, plan_of

    flags = given(options) | {"frontier": place}
    if header:
        flags["headers"] = headers_of(header)
    plan = plan_of(list(seed), seeds, Path(), config, profile_name, flags, strict=strict)
    begin(plan)
    print(f"A crawl is begun: {len(plan.seeds):,} seeds.\n\nNext: weft node start '{place}' --out DIRECTORY")


init.__annotations__["options"] = Annotated[CrawlOptions, Parameter(name="*")]


def _tell(made: Cluster) -> None:
    if made.new:
        print(f"made schema {made.schema}")
    for step in made.steps:
        print(f"applied {step}")
    print("\nA role that crawls needs no more than this:\n")
    print(_GRANTS.format(made.schema))
    print(f"\nNext: weft crawl … --frontier '{made.address}' --out DIRECTORY")


def upgrade(
    address: Address,
    /,
    *,
    wait: Annotated[
        float,
        Parameter(help="Wait so many seconds for nodes to end their runs.", validator=within(at_least=0)),
    ] = 600.0,
) -> None:
    """Have a crawl in a database go on with this version of weft.

    All nodes end their runs: pages under way are finished, and everything is written. When no worker can visit anybody
    any more the tables are brought up to date. Then start the nodes again, with this version: an earlier one is
    refused.
    """
    place = without_password(address, where="weft cluster upgrade")
    steps = upgrade_cluster(place, wait=wait, clock=SystemClock(), say=print)
    for step in steps:
        print(f"applied {step}")
    print("The crawl is this version's. Start its nodes again: weft node start, or weft crawl --out DIRECTORY")
