"""How large the experiments are. In: numbers of sites, pages and seeds. Out: the sizes and terms of every web.

The papers' webs have some 50,000 sites and 3.5 million pages, and at most 25,000 pages of a site were taken. What
decides about orders is how long a crawl takes beside its largest site, which cannot be finished before (pages of that
site) * w: the quotient is N t / (L w). In a smaller web L, the page limit, is therefore smaller in proportion, and so
are K and the size of a batch, while t and w are the same. At full size all of them are the papers' own.

>>> Size(sites=5_000, pages=350_000).of_pages(100_000), Size(sites=5_000, pages=350_000).recipe().largest_site
(10000, 2500)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from weft.errors import UsageError
from weft.graph import Recipe

SITES = 50_000  # of the papers' webs
PAGES = 3_500_000
LARGEST = 25_000  # pages of one site that the papers' crawlers took at most
PAGE_TIME = 0.04  # seconds; chosen beside the papers' figures, as they do not tell theirs
WAIT = 15.0


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a web, and what follows from it."""

    sites: int
    pages: int

    def of_pages(self, number: int) -> int:
        """A number of pages of the papers' webs, in proportion."""
        return max(1, round(number * self.pages / PAGES))

    def of_sites(self, number: int) -> int:
        """A number of sites of the papers' webs, in proportion."""
        return max(1, round(number * self.sites / SITES))

    def recipe(self, *, cap: float = 1.0, **changes: float) -> Recipe:
        """The recipe of such a web; a site's page limit is so many times the papers'."""
        largest = max(round(cap * self.of_pages(LARGEST)), 4 * self.pages // self.sites)
        return replace(Recipe(sites=self.sites, pages=self.pages, largest_site=largest), **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much is done."""

    sites: int = SITES
    pages: int = PAGES
    sweep_pages: int = 1_000_000
    seeds: int = 3
    live_pages: int = 4_000

    def check(self) -> None:
        """Refuse what cannot be done."""
        if self.seeds < 1:
            raise UsageError(f"{self.seeds} seeds were asked for", todo="give at least one")
        if self.sites < 20 or self.pages < 10 * self.sites:
            raise UsageError(
                f"a web of {self.sites} sites and {self.pages} pages is too small to say anything",
                todo="give at least 20 sites, and ten pages for each",
            )
        if self.sweep_pages < 1_000:
            raise UsageError(f"{self.sweep_pages} pages are too few for the sweeps", todo="give at least 1,000")

    def tenth(self) -> Scale:
        """A tenth of everything."""
        return replace(
            self,
            sites=self.sites // 10,
            pages=self.pages // 10,
            sweep_pages=self.sweep_pages // 10,
            live_pages=self.live_pages // 4,
        )

    @property
    def main(self) -> Size:
        """The web of the main tables."""
        return Size(self.sites, self.pages)

    @property
    def sweep(self) -> Size:
        """The web of the sweeps over K, r and t."""
        return self._with_pages(self.sweep_pages)

    @property
    def variant(self) -> Size:
        """The webs that are varied: a twentieth of the main one."""
        return self._with_pages(max(self.pages // 20, 1_000))

    def country(self, sites: int, pages: int) -> Size:
        """A web of so many sites and pages at full size, as much smaller as that of the sweeps."""
        share = self.sweep.pages / PAGES
        return Size(max(20, round(sites * share)), max(1_000, round(pages * share)))

    def _with_pages(self, pages: int) -> Size:
        return Size(max(20, round(self.sites * pages / self.pages)), pages)
