"""Webs that change: a graph plus time, whose truth is known.

`recipe` says how a web changes; `making` makes a `World` of it, by `publishing` (who publishes when) and `processes`
(chance); `world` is the value, and answers how the web is at a time. `snapshots` cuts the graph of one moment out of
it, `happenings` says what happened between two, and `files` keeps it on disk.
"""

from weft.graph.changing.making import make_world, world_of
from weft.graph.changing.recipe import Changes
from weft.graph.changing.world import World

__all__ = ["Changes", "World", "make_world", "world_of"]
