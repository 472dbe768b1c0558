"""A web as numbers. In: arrays. Out: a frozen `Graph` that knows the pages of a site and the links of a page.

Pages are int32 ids; a site's pages are contiguous and its first one is its home page, so that neither a
page's site nor a site's pages need a table. Links are one array cut by offsets (CSR), in their order on the
page.

Invariant: no page links to itself or twice to the same page; `depth[p]` is one more than that of `parent[p]`.
The two-level view (sites, and pages under them) is that of Castillo et al. 2004, section 4.

>>> graph = Graph.from_links([2, 1], [(0, 1), (0, 2), (1, 0)], parent=[-1, 0, -1])
>>> graph
Graph(sites=2, pages=3, links=3)
>>> graph.links_of(0).tolist(), graph.pages_of(1), int(graph.site_of(1))
([1, 2], range(2, 3), 0)
>>> print(graph.describe())
2 sites, 3 pages, 3 links (1.0 a page, 33.3 % external), 33.3 % of the pages dangling, median depth 0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Summary:
    """What a graph looks like from afar."""

    sites: int
    pages: int
    links: int
    dangling_share: float
    external_share: float
    median_depth: float
    largest_site: int

    def __str__(self) -> str:
        return (
            f"{self.sites:,} sites, {self.pages:,} pages, {self.links:,} links "
            f"({self.links / max(1, self.pages):.1f} a page, {self.external_share:.1%} external), "
            f"{self.dangling_share:.1%} of the pages dangling, median depth {self.median_depth:.0f}"
        ).replace("%", " %")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph:
    """Sites, their pages and the links between pages; the arrays are read-only."""

    first_page: NDArray[np.int32]
    """Pages of site s are first_page[s] up to, not including, first_page[s + 1]."""
    offsets: NDArray[np.int64]
    """Links of page p are links[offsets[p]:offsets[p + 1]]."""
    links: NDArray[np.int32]
    parent: NDArray[np.int32]
    """The page under which a page hangs in its site's hierarchy, -1 for a home page; in graphs that were not generated
    the page where it is found first, breadth-first from the seeds, -1 for a seed."""
    depth: NDArray[np.uint8]
    """Steps down that hierarchy, at most 255."""
    seeds: NDArray[np.int32]
    """The pages a crawl starts from."""

    def __post_init__(self) -> None:
        kinds = {"first_page": np.int32, "offsets": np.int64, "links": np.int32}
        kinds |= {"parent": np.int32, "depth": np.uint8, "seeds": np.int32}
        for name, kind in kinds.items():
            frozen = np.ascontiguousarray(getattr(self, name), dtype=kind).view()
            frozen.setflags(write=False)
            object.__setattr__(self, name, frozen)

    def __repr__(self) -> str:
        return f"Graph(sites={self.sites}, pages={self.pages}, links={len(self.links)})"

    @classmethod
    def from_links(cls, sizes: Sequence[int], links: Iterable[tuple[int, int]], parent: Sequence[int]) -> Graph:
        """A small graph from pairs; self-links and repeats are dropped, the first one kept."""
        pages = sum(sizes)
        rows: list[dict[int, None]] = [{} for _ in range(pages)]
        for source, target in links:
            if source != target:
                rows[source][target] = None
        depth = np.zeros(pages, dtype=np.uint8)
        for page in range(pages):
            step = parent[page]
            while step >= 0:
                depth[page] += 1
                step = parent[step]
        first_page = np.concatenate([[0], np.cumsum(sizes)])
        return cls(
            first_page=first_page,
            offsets=np.concatenate([[0], np.cumsum([len(row) for row in rows])]),
            links=np.array([target for row in rows for target in row], dtype=np.int32),
            parent=np.asarray(parent, dtype=np.int32),
            depth=depth,
            seeds=first_page[:-1],
        )

    @property
    def sites(self) -> int:
        """How many sites there are."""
        return len(self.first_page) - 1

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return len(self.offsets) - 1

    def site_of(self, page: Any) -> NDArray[np.int64]:
        """The site of a page, or of each page of an array."""
        return np.asarray(np.searchsorted(self.first_page, page, side="right") - 1)

    def pages_of(self, site: int) -> range:
        """The pages of a site, home page first."""
        return range(int(self.first_page[site]), int(self.first_page[site + 1]))

    def links_of(self, page: int) -> NDArray[np.int32]:
        """The pages a page links to, in order."""
        return self.links[self.offsets[page] : self.offsets[page + 1]]

    def describe(self) -> Summary:
        """Count what the papers report about a web."""
        sizes = np.diff(self.first_page)
        sites = np.repeat(np.arange(self.sites, dtype=np.int32), sizes)
        out = np.diff(self.offsets)
        external = 0
        for start in range(0, self.pages, 1 << 18):  # in slices, so that 40 million links need no second copy
            end = min(start + (1 << 18), self.pages)
            source = np.repeat(sites[start:end], out[start:end])
            external += int((source != sites[self.links[self.offsets[start] : self.offsets[end]]]).sum())
        return Summary(
            sites=self.sites,
            pages=self.pages,
            links=len(self.links),
            dangling_share=float((out == 0).mean()) if self.pages else 0.0,
            external_share=external / len(self.links) if len(self.links) else 0.0,
            median_depth=float(np.median(self.depth)) if self.pages else 0.0,
            largest_site=int(sizes.max()) if self.sites else 0,
        )
