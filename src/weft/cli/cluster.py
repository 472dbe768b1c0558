"""`weft cluster`: the global frontier in a database."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from weft.frontier.shared.address import without_password
from weft.frontier.shared.opening import make_cluster

_GRANTS = """grant usage on schema {0} to ROLE;
grant select, insert, update, delete on all tables in schema {0} to ROLE;
grant usage on all sequences in schema {0} to ROLE;"""


def init(
    address: Annotated[
        str,
        Parameter(help="postgresql://user@host/database, with ?schema=name for one of several crawls; or env:NAME."),
    ],
    /,
) -> None:
    """Make the tables of a global frontier in PostgreSQL.

    They are in a schema of their own, "weft" unless the address names another: a crawl has one. Tables of an earlier
    version are brought up to date. `weft crawl --frontier` makes them too, if its role may; with this command it need
    not be allowed to.

    For example:

        weft cluster init 'postgresql://admin@db.example/crawls?schema=news'
    """
    made = make_cluster(without_password(address, where="weft cluster init"))
    if made.new:
        print(f"made schema {made.schema}")
    for step in made.steps:
        print(f"applied {step}")
    print("\nA role that crawls needs no more than this:\n")
    print(_GRANTS.format(made.schema))
    print(f"\nNext: weft crawl … --frontier '{made.address}' --out DIRECTORY")
