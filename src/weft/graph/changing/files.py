"""A world on disk. In: a world. Out: a directory that is also that of a graph, the one of all pages that ever are.

`world.json` says how it changes and by which seed; its arrays stand beside those of the graph as `.npy` files, and are
mapped into memory. A directory is written beside its place and renamed when it is whole.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.clock import Clock, SystemClock
from weft.disk import replacing, write_new, writing
from weft.errors import UsageError
from weft.graph.changing.recipe import Changes
from weft.graph.changing.world import Publishing, World
from weft.graph.files import Stored, check_replaceable, load, npy, read_array, write
from weft.graph.hosting import Hosting

NOTE = "world.json"
FORMAT = 1

_CLOCK = SystemClock()
_REAL, _FLAG, _SMALL, _PAGE, _PLACE = np.float64, np.bool_, np.uint8, np.int32, np.int64
_OF_PAGES: dict[str, type[np.generic]] = {
    **dict.fromkeys(("birth", "death", "edits_a_day", "edit_times", "cosmetic_s"), _REAL),
    **dict.fromkeys(("edit_offsets", "listing_offsets", "front_offsets"), _PLACE),
    **dict.fromkeys(("front", "listing", "front_listing"), _PAGE),
    "temporal": _FLAG,
    "ending": _SMALL,
}
_OF_SITES: dict[str, type[np.generic]] = {
    **dict.fromkeys(("births_a_day", "hours", "event_begins", "feed_lag_s", "feed_lie_s"), _REAL),
    **dict.fromkeys(("sitemap_lag_s", "sitemap_lie_s"), _REAL),
    "news": _FLAG,
    "validators": _SMALL,
}


def save_world(
    world: World, path: Path, about: dict[str, Any], *, hosting: Hosting | None = None, clock: Clock = _CLOCK
) -> None:
    """Write a world into a directory; a graph or world that is there already is replaced."""
    with replacing(path, check_replaceable) as folder, writing(path):
        write(Stored(graph=world.graph, hosting=hosting, about=about), folder, clock)
        lengths = {}
        for name, array in arrays_of(world).items():
            lengths[name] = len(array)
            write_new(folder / f"{name}.npy", npy(array))
        note = {"format": FORMAT, "seed": world.seed, "changes": dataclasses.asdict(world.changes), "lengths": lengths}
        text = msgspec.json.format(msgspec.json.encode(note), indent=2) + b"\n"
        write_new(folder / NOTE, lambda file: file.write(text))


def load_world(path: Path) -> World:
    """The world of a directory, mapped into memory."""
    where = str(path / NOTE)
    stored = load(path)
    try:
        note = msgspec.json.decode((path / NOTE).read_bytes())
        lengths, changes = note["lengths"], msgspec.convert(note["changes"], Changes)
        form, seed = note["format"], int(note["seed"])
    except FileNotFoundError as error:
        todo = "make a world by `weft graph generate --changing`"
        raise UsageError("this graph does not change", where=str(path), todo=todo) from error
    except (OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"cannot read the world: {error}", where=where, todo="make it again") from error
    if form != FORMAT:
        raise UsageError(
            f"this world has format {form}, and this version of weft reads format {FORMAT}",
            where=where,
            todo="make it again",
        )
    known = {**_OF_PAGES, **_OF_SITES}
    if set(lengths) != set(known):
        raise UsageError("this does not say what the world holds", where=where, todo="make it again")
    arrays = {name: read_array(path, name, dtype, lengths[name]) for name, dtype in known.items()}
    return world_from(stored.graph, changes, seed, arrays)


def arrays_of(world: World) -> dict[str, NDArray[Any]]:
    """Everything of a world beside its graph, its changes and its seed: flat arrays."""
    pages = {name: getattr(world, name) for name in _OF_PAGES}
    sites = {name: getattr(world.publishing, name).ravel() for name in _OF_SITES}
    return {**pages, **sites}


def world_from(graph: Any, changes: Changes, seed: int, arrays: dict[str, NDArray[Any]]) -> World:
    """The world of which these are the arrays."""
    sites = {name: arrays[name] for name in _OF_SITES}
    sites["hours"] = sites["hours"].reshape(graph.sites, -1)
    pages = {name: arrays[name] for name in _OF_PAGES}
    return World(changes=changes, seed=seed, graph=graph, publishing=Publishing(**sites), **pages)
