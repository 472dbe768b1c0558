"""The recipe of a country-like web: every number the generator uses, with what it means.

With 50,000 sites and 3.5 million pages the defaults give a national web as it was crawled in 2004 (Castillo
et al. 2004, Baeza-Yates et al. 2005). They were set by hand beside those papers' figures; they are no
measurement.

>>> Recipe(sites=100, pages=5).check()
Traceback (most recent call last):
weft.errors.UsageError: 5 pages are too few for 100 sites: every site has at least its home page
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.errors import UsageError
from weft.settings import setting

SHARES = (
    *("chains", "links_home", "links_index", "menus", "links_parent", "siblings", "dense", "dangling"),
    *("dense_dangling", "external", "unknown_sites", "to_home"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What kind of web to generate. Shares are between 0 and 1."""

    sites: int = setting(2_000, "number of sites")
    pages: int = setting(100_000, "number of pages on all sites together")
    largest_site: int = setting(25_000, "no site has more pages than this")
    links_per_page: float = setting(
        0.0,
        "mean number of links on a page, reached by more or fewer random ones; 0: whatever comes, about 11",
    )

    block_least: int = setting(8, "smallest block (section of a site); sizes follow a power law")
    block_exponent: float = setting(0.8, "exponent of the block sizes")
    group_mean: float = setting(5.0, "children that are hung under a page at a time: median over blocks of their mean")
    group_spread: float = setting(0.7, "spread of that mean over blocks (log-normal)")
    parent_power: float = setting(1.2, "above 1: groups hang under early pages of their block more often")
    chains: float = setting(0.15, "share of the groups that hang under the page before them, which makes chains")
    max_depth: int = setting(15, "no page is deeper below its home page")

    links_home: float = setting(0.4, "share of the sites whose pages all link to the home page")
    links_index: float = setting(0.7, "share of the blocks whose pages all link to the block's first page")
    menus: float = setting(0.4, "share of the blocks that have a menu on every page")
    menu_least: int = setting(3, "entries of the shortest menu; lengths follow a power law")
    menu_exponent: float = setting(1.5, "exponent of the menu lengths")
    menu_most: int = setting(60, "entries of the longest menu")
    links_parent: float = setting(0.6, "share of the pages that link to their parent")
    siblings: float = setting(
        0.6, "share of the groups whose pages link to each other; half to all, half to neighbours"
    )
    random_spread: float = setting(1.2, "random links in the block: Poisson, its rate log-normal with this spread")
    dense: float = setting(0.15, "share of the larger blocks that are densely linked")
    dense_least: int = setting(60, "pages a block must have to be densely linked")
    dense_links: float = setting(40.0, "random links on a page of a dense block")
    dangling: float = setting(0.25, "share of the leaves that link nowhere")
    dense_dangling: float = setting(0.7, "the same in dense blocks")

    external: float = setting(0.2, "links to other sites asked for, per link inside a site; repeats are dropped")
    site_weight_power: float = setting(1.4, "a site is linked from others in proportion to its size to this power")
    site_weight_spread: float = setting(1.5, "… and to a log-normal factor with this spread")
    unknown_sites: float = setting(0.6, "share of the sites of less than mean size that no other site links to")
    to_home: float = setting(0.7, "share of the external links that lead to a home page")
    linking_power: float = setting(
        -0.3, "pages of a site link to others in proportion to the site's size to this power"
    )

    def check(self) -> None:
        """Refuse what cannot be generated."""
        if self.sites < 1:
            raise UsageError(f"a web of {self.sites} sites cannot be made", todo="ask for at least one site")
        if self.pages < self.sites:
            raise UsageError(
                f"{self.pages} pages are too few for {self.sites} sites",
                todo="every site has at least its home page",
            )
        if self.pages > self.sites * self.largest_site or self.pages > 2**31 - 2:
            raise UsageError(
                f"{self.pages} pages do not fit on {self.sites} sites of at most {self.largest_site} pages",
                todo="ask for more sites or a larger largest_site (and fewer than 2^31 pages)",
            )
        if not 2 <= self.max_depth <= 255:
            raise UsageError(f"max_depth is {self.max_depth}", todo="it must be between 2 and 255")
        self._check_shares()

    def _check_shares(self) -> None:
        for name in SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}", todo="a share is between 0 and 1")
