"""The one place that knows which global frontiers there are. In: the directory of a crawl. Out: its global frontier,
made or opened.

It is a file in the directory, or a database: `crawl.toml` has its address (`[running] frontier`), `secrets.toml` has it
with its password where one was given, and `frontier.id` says which of the crawls there is meant. Several machines may
share a database; no two crawls share a schema of it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, cast

from weft.clock import Clock
from weft.disk import replace_file, writing
from weft.errors import UsageError, WeftError
from weft.frontier.shared.address import ENVIRONMENT, Address, address_in
from weft.frontier.shared.contract import ALL_AT_ONCE, Remains, SharedFrontier
from weft.frontier.shared.nodes import NodesFrontier
from weft.frontier.shared.sqlite import SqliteFrontier
from weft.frontier.shared.sqlite_file import FILE, PATIENCE, files_of
from weft.settings import load_toml

if TYPE_CHECKING:
    from weft.frontier.shared.postgres import PostgresFrontier

__all__ = [
    "FILE",
    "Cluster",
    "check_frontier",
    "create_frontier",
    "files_of",
    "frontier_exists",
    "make_cluster",
    "make_private",
    "name_of",
    "node_of",
    "nodes_of",
    "note_node",
    "open_cluster",
    "open_frontier",
    "remove_frontier",
    "upgrade_cluster",
]
_ID = "frontier.id"  # in the directory of a crawl whose frontier is in a database


class Cluster(NamedTuple):
    """What was done to a database."""

    address: str  # without a password
    schema: str
    new: bool  # the schema was made
    steps: list[str]  # migrations that were applied


def create_frontier(
    place: Path,
    *,
    by_size: bool,
    seeds: Iterable[str],
    remains: Remains | None = None,
    home: Path | None = None,
    phase: int = ALL_AT_ONCE,
) -> None:
    """Make a global frontier: before any worker starts. It is there when it is complete. A database also gets the
    settings of the crawl, for other nodes.

    `home` is the directory of the crawl, where a file is made elsewhere first. A database has no elsewhere: what is
    there of this crawl is replaced, in one step.
    """
    address = _address(home or place)
    if address is None:
        SqliteFrontier.create(place / FILE, by_size=by_size, seeds=seeds, remains=remains, phase=phase)
    else:
        at = home or place
        settings = (at / "crawl.toml").read_text(encoding="utf-8")
        crawl, node = _drawn(at), _identity(at)[1] or 0
        make = _making().create
        make(address, crawl, by_size=by_size, seeds=seeds, remains=remains, node=node, settings=settings, phase=phase)


def frontier_exists(place: Path) -> bool:
    """Is there a global frontier?"""
    address, crawl = _address(place), _id(place)
    if address is None:
        return (place / FILE).exists()
    return bool(crawl) and _making().exists(address, crawl)


def open_frontier(
    place: Path, clock: Clock | None = None, *, patience: float = PATIENCE, read_only: bool = False
) -> SharedFrontier:
    """Open a global frontier, as each process does; it is waited for so many seconds before it counts as away."""
    address = _address(place)
    if address is None:
        return SqliteFrontier(place / FILE, clock, patience=patience, read_only=read_only)
    crawl, node = _identity(place)
    return _implementation()(address, crawl, node=node or 0, patience=patience, read_only=read_only)


def open_cluster(address: str, crawl: str = "", *, patience: float = PATIENCE) -> PostgresFrontier:
    """Open the global frontier at an address, as who is no node."""
    return _implementation()(address_in(_revealed(address)), crawl, node=None, patience=patience)


def nodes_of(shared: SharedFrontier) -> NodesFrontier | None:
    """The same, if several nodes can share it."""
    return None if isinstance(shared, SqliteFrontier) else cast("NodesFrontier", shared)


def note_node(place: Path, crawl: str, node: int) -> None:
    """The directory is this node's."""
    with writing(place / _ID):
        place.mkdir(parents=True, exist_ok=True)
        replace_file(place / _ID, f"{crawl} {node}\n".encode())


def check_frontier(place: Path, address: str, joins: str = "") -> None:
    """May a crawl be run in a directory with its global frontier at an address? Nothing is changed; "" is a file.
    `joins` is the crawl that is joined there.
    """
    known = _written(place)
    if (place / "crawl.toml").exists() and bool(known) != bool(address):
        raise UsageError(
            f"the global frontier of this crawl is {name_of(place)}",
            where=str(place),
            todo="repeat --frontier as it was given before, or give no seeds: then all settings are those of before"
            if known
            else "go on without --frontier, or choose another --out",
        )
    if joins and _id(place) not in ("", joins):
        raise UsageError("this directory belongs to another crawl", where=str(place), todo="choose another --out")
    if address:
        _making().check(address_in(_revealed(address)), joins or _id(place))


def make_cluster(address: str) -> Cluster:
    """Make the tables at an address, or bring them up to date; what is there already, and up to date, is refused."""
    place = address_in(_revealed(address))
    made = _making().init(place)
    if not made.steps:
        raise UsageError(
            "the tables are there already, and up to date",
            where=place.shown,
            todo=f"begin a crawl, or go on with one: weft crawl … --frontier '{place.shown}' --out DIRECTORY",
        )
    return Cluster(place.shown, place.schema, made.schema, made.steps)


def upgrade_cluster(address: str, *, wait: float, clock: Clock, say: Callable[[str], None]) -> list[str]:
    """Have the crawl at an address go on with this version of weft; the migrations that were applied."""
    steps: list[str] = _making().upgrade(address_in(_revealed(address)), wait, clock, say)
    return steps


def remove_frontier(place: Path) -> None:
    """Remove what a database has of the crawl in a directory."""
    address, (crawl, node) = _address(place), _identity(place)
    if address is not None and crawl:
        _making().remove(address, crawl, node or 0)


def node_of(place: Path) -> int | None:
    """Which node of its crawl a directory is; None where it has not joined, or there are no nodes."""
    return _identity(place)[1]


def name_of(place: Path) -> str:
    """What the global frontier of a crawl is called, for a person."""
    address = _address(place)
    return FILE if address is None else address.shown


def make_private(place: Path) -> None:
    """Let nobody but its owner read what is stored in files."""
    for path in files_of(place):
        path.chmod(0o600)


# Databases.


def _implementation() -> type[PostgresFrontier]:
    with _installed():
        from weft.frontier.shared.postgres import PostgresFrontier
    return PostgresFrontier


def _making() -> ModuleType:
    with _installed():
        from weft.frontier.shared import postgres_making
    return postgres_making


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise UsageError(
            f"PostgreSQL cannot be used: {error}", todo="install what it needs: pip install 'weft[postgres]'"
        ) from error


def _address(place: Path) -> Address | None:
    written = _written(place)
    return address_in(_revealed(written)) if written else None


def _written(place: Path) -> str:
    """The address as the directory has it, with its password where that is there; "" where it is a file."""
    found: object = ""
    for name in ("crawl.toml", "secrets.toml"):
        if (place / name).exists():
            found = load_toml(place / name).get("running", {}).get("frontier", found)
    return str(found)


def _revealed(written: str) -> str:
    """An address that is in the environment, if it is there."""
    if not written.startswith(ENVIRONMENT):
        return written
    name = written.removeprefix(ENVIRONMENT)
    found = os.environ.get(name)
    if not found:
        raise UsageError(f"the environment has no variable {name}, which --frontier names", todo="set it")
    return found


def _id(place: Path) -> str:
    return _identity(place)[0]


def _identity(place: Path) -> tuple[str, int | None]:
    """Which crawl this is, "" where nothing says so; and which of its nodes, None where it has not joined."""
    try:
        crawl, _, node = (place / _ID).read_text(encoding="ascii").strip().partition(" ")
        return crawl, int(node) if node else None
    except FileNotFoundError:
        return "", None
    except (OSError, ValueError) as error:
        raise WeftError(f"which crawl this is cannot be read: {error}", where=str(place / _ID)) from error


def _drawn(place: Path) -> str:
    """Which crawl this is; drawn where nothing says so yet."""
    known = _id(place)
    if known:
        return known
    drawn = secrets.token_hex(16)
    with writing(place / _ID):
        replace_file(place / _ID, f"{drawn}\n".encode())
    return drawn
