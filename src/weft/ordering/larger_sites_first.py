"""Larger sites first (P1): the site with most pending pages; within it, pages in the order in which they were
found.

It keeps the large sites busy from the start, so that the crawl does not end with few sites that each allow one
connection at a time.
"""

from __future__ import annotations

from weft.ordering.contract import Ordering


class LargerSitesFirst(Ordering):
    """The site with most pending pages first."""

    name = "larger-sites-first"
    by_size = True
    scored = False
