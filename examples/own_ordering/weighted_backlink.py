"""An ordering of one's own: backlinks, each counted by how sparingly the page that links was with its links.

Install it beside weft, and use it by its name in both worlds, first in a simulation, then in a crawl:

    pip install ./examples/own_ordering
    weft simulate GRAPH --ordering weighted-backlink,backlink,opic --out report
    weft crawl --seeds seeds.txt --out crawl --ordering weighted-backlink

Rules are given arrays: all pages that one page links to, at once.
"""

from typing import Any

from weft.ordering import Scored
from weft.ordering.known import Known


class WeightedBacklink(Scored):
    """The page that was linked most sparingly and most often first."""

    name = "weighted-backlink"
    by_size = False  # the site of the best page first, not the largest site

    def found(self, known: Known, page: Any, parent: int, out: int) -> Any:
        """A page that is found has nothing yet; `page` is an array of page numbers."""
        del known, page, parent, out
        return 0.0

    def linked(self, known: Known, page: Any, parent: int, out: int) -> Any:
        """Page `parent`, with `out` links, was visited and links to these: their scores from now on."""
        del parent
        return known.score[page] + 1.0 / out
