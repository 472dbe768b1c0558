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
    *("dense_dangling", "external", "unknown_sites", "to_home", "farms", "topic_links"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What kind of web to generate. Shares are between 0 and 1."""

    sites: int = setting(2_000, "number of sites", at_least=1)
    pages: int = setting(100_000, "number of pages on all sites together", at_least=1)
    largest_site: int = setting(25_000, "no site has more pages than this", at_least=1)
    links_per_page: float = setting(
        0.0,
        "mean number of links on a page, reached by more or fewer random ones; 0: whatever comes, about 11",
        at_least=0,
    )

    block_least: int = setting(8, "smallest block (section of a site); sizes follow a power law", at_least=1)
    block_exponent: float = setting(0.8, "exponent of the block sizes", at_least=0)
    group_mean: float = setting(
        5.0, "children that are hung under a page at a time: median over blocks of their mean", above=0
    )
    group_spread: float = setting(0.7, "spread of that mean over blocks (log-normal)", at_least=0)
    parent_power: float = setting(1.2, "above 1: groups hang under early pages of their block more often", at_least=0)
    chains: float = setting(
        0.15, "share of the groups that hang under the page before them, which makes chains", at_least=0, at_most=1
    )
    max_depth: int = setting(15, "no page is deeper below its home page", at_least=2, at_most=255)

    links_home: float = setting(0.4, "share of the sites whose pages all link to the home page", at_least=0, at_most=1)
    links_index: float = setting(
        0.7, "share of the blocks whose pages all link to the block's first page", at_least=0, at_most=1
    )
    menus: float = setting(0.4, "share of the blocks that have a menu on every page", at_least=0, at_most=1)
    menu_least: int = setting(3, "entries of the shortest menu; lengths follow a power law", at_least=1)
    menu_exponent: float = setting(1.5, "exponent of the menu lengths", at_least=0)
    menu_most: int = setting(60, "entries of the longest menu", at_least=1)
    links_parent: float = setting(0.6, "share of the pages that link to their parent", at_least=0, at_most=1)
    siblings: float = setting(
        0.6,
        "share of the groups whose pages link to each other; half to all, half to neighbours",
        at_least=0,
        at_most=1,
    )
    random_spread: float = setting(
        1.2, "random links in the block: Poisson, its rate log-normal with this spread", at_least=0
    )
    dense: float = setting(0.15, "share of the larger blocks that are densely linked", at_least=0, at_most=1)
    dense_least: int = setting(60, "pages a block must have to be densely linked", at_least=1)
    dense_links: float = setting(40.0, "random links on a page of a dense block", at_least=0)
    dangling: float = setting(0.25, "share of the leaves that link nowhere", at_least=0, at_most=1)
    dense_dangling: float = setting(0.7, "the same in dense blocks", at_least=0, at_most=1)

    external: float = setting(
        0.2, "links to other sites asked for, per link inside a site; repeats are dropped", at_least=0, at_most=1
    )
    site_weight_power: float = setting(
        1.4, "a site is linked from others in proportion to its size to this power", at_least=0
    )
    site_weight_spread: float = setting(1.5, "… and to a log-normal factor with this spread", at_least=0)
    unknown_sites: float = setting(
        0.6, "share of the sites of less than mean size that no other site links to", at_least=0, at_most=1
    )
    to_home: float = setting(0.7, "share of the external links that lead to a home page", at_least=0, at_most=1)
    linking_power: float = setting(
        -0.3, "pages of a site link to others in proportion to the site's size to this power", at_least=-10, at_most=10
    )

    topics: int = setting(0, "topics that sites and pages have; 0: none", at_least=0, at_most=100_000)
    topic_links: float = setting(
        0.8,
        "share of the links to other sites that lead to a page of the same topic, where there are topics",
        at_least=0,
        at_most=1,
    )
    farms: float = setting(
        0.0,
        "share of all pages that are on link farms, beside the pages asked for",
        at_least=0,
        at_most=0.9,
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
        if self.farms > 0.9:
            raise UsageError(f"farms is {self.farms}", todo="a web has at least a tenth of ordinary pages")
        if self.farms and self.topics:
            raise UsageError(
                "a web has farms or topics, not both: pages of farms have none", todo="leave one of them out"
            )

    def _check_shares(self) -> None:
        for name in SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}", todo="a share is between 0 and 1")
