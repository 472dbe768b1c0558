"""Web graphs: the value simulations and synthetic webs are made from, and a generator of country-like ones.

`model` is the value; `generate` makes one from a `Recipe` and a seed, by `sizes`, `trees` and `wiring`; `importing`
reads one from text files, by `lines`, `names` and `assembly`. `files` keeps it on disk. `rank` is PageRank, `ageing`
what it was in an earlier snapshot, `scores` its file; `describe` draws the papers' figures.
"""

from weft.graph.generate import generate
from weft.graph.model import Graph, Summary
from weft.graph.recipe import Recipe

__all__ = ["Graph", "Recipe", "Summary", "generate"]
