"""Web graphs: the value simulations and synthetic webs are made from, and a generator of country-like ones.

`model` is the value; `generate` makes one from a `Recipe` and a seed, by `sizes`, `trees` and `wiring`.
"""

from weft.graph.generate import generate
from weft.graph.model import Graph, Summary
from weft.graph.recipe import Recipe

__all__ = ["Graph", "Recipe", "Summary", "generate"]
