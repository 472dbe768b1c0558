"""Page-view worlds whose truth is known: logs on which labels, curves and lists of sites can be measured.

The life of a world: a `recipe` says what it is made from; `sites` draws who publishes, by the tables in `kinds`;
`pages` draws what is true about each page, with its curve of interest from `shapes` and its address from `addresses`;
`traffic` draws who came on which day. `world` holds it together and gives truth and views; `writing` writes it as a log
that has to be read like any other: repeats, spam, and addresses in many spellings.
"""

from weft.temporal.worlds.recipe import Recipe
from weft.temporal.worlds.world import World, make_world
from weft.temporal.worlds.writing import write_log

__all__ = ["Recipe", "World", "make_world", "write_log"]
