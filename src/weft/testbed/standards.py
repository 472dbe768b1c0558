"""Webs that never change, so that what is measured on one can be compared with what was measured before.

Each asks something else of a crawler: scale and order, manners, manners where many share a domain or an address, bytes
over TLS, order where others want to steer it, hazards of every kind. A recipe is not edited once it is here (a test
holds `digest` of each); a better web gets a new name.

`MIXED` was written down before any defence against hazards was tuned; defences are tried on it, and on the same recipe
with seeds that nobody has tuned with.

>>> standard("polite-100").recipe.sites
100
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Literal, NamedTuple

from weft.errors import UsageError
from weft.graph import Recipe, generate
from weft.testbed.options import Options
from weft.testbed.web import Web


class Standard(NamedTuple):
    """A web by its recipe."""

    name: str
    about: str
    recipe: Recipe
    options: Options
    seed: int
    tls: bool = False
    """It is served over TLS."""

    def web(
        self,
        seed: int | None = None,
        *,
        hazards: bool = True,
        naming: Literal["names", "literals"] | None = None,
    ) -> Web:
        """The web; with another seed another one of its kind, and without hazards the same sites and pages.

        By literals it has the same pages and links, and of the hazards only those that need no names.
        """
        options = self.options if hazards else dataclasses.replace(self.options, hazardous=0.0)
        if naming is not None:
            options = dataclasses.replace(options, naming=naming)
        chosen = self.seed if seed is None else seed
        return Web(generate(self.recipe, chosen), options, chosen)


STANDARD_MIXED = Standard(
    name="mixed",
    about="1,275 sites with 30,000 pages; every one of 51 hazards is played by five sites, which are a fifth of them",
    recipe=Recipe(sites=1_275, pages=30_000, largest_site=1_000),
    options=Options(
        hazardous=0.2,
        duplicates=0.02,
        failing=0.05,
        failing_kinds="404=80 410=10 500=5 403=5",
        retry_after_s=1,
        nofollow=0.0,
        meta_robots=0.0,
        x_robots=0.0,
        robots_errors=0.0,
        robots_delays=0.0,
        sitemaps=0.1,
    ),
    seed=2006,
)
"""The web on which the cost of hazards is measured."""

STANDARD_COUNTRY = Standard(
    name="country-10k",
    about="10,000 sites with 200,000 pages, as a country's web is: for scale and order; a site in fifty plays a hazard",
    recipe=Recipe(sites=10_000, pages=200_000, largest_site=5_000),
    options=Options(
        hazardous=0.02,
        sites_per_domain=5,
        domain_sharers=2_000,
        address_sharers=8_000,
        sites_per_address=8,
        failing=0.14,
        failing_kinds="404=85 410=5 403=5 500=5",
        median_bytes=10_000,
        robots_delays=0.01,
        hang_s=5.0,
    ),
    seed=2004,
)
"""The web on which orders and speed are compared."""

STANDARD_POLITE = Standard(
    name="polite-100",
    about="100 sites with 2,000 pages: rules in robots.txt, crawl-delays of 1 s, robots.txt that fail, 429 and 503",
    recipe=Recipe(sites=100, pages=2_000, largest_site=100),
    options=Options(
        failing=0.05,
        failing_kinds="404=60 503=25 429=15",
        retry_after_s=2,
        robots_missing=0.1,
        robots_errors=0.05,
        robots_rules=0.5,
        robots_delays=0.2,
        crawl_delay_s=1.0,
        nofollow=0.05,
        meta_robots=0.03,
        x_robots=0.03,
        sitemaps=0.2,
        median_bytes=4_000,
    ),
    seed=9309,
)
"""The web on which manners are judged; small, so that a polite crawler ends in minutes."""

STANDARD_CROWDED = Standard(
    name="crowded-1k",
    about="1,000 sites with 20,000 pages under 40 domains and on 20 addresses, each answer after some 20 ms",
    recipe=Recipe(sites=1_000, pages=20_000, largest_site=500),
    options=Options(
        sites_per_domain=25,
        sites_per_address=50,
        latency_ms=20.0,
        failing=0.05,
        failing_kinds="404=100",
        robots_rules=0.2,
        robots_errors=0.0,
        robots_delays=0.0,
        median_bytes=6_000,
    ),
    seed=754,
)
"""The web on which a limit by site alone is not enough."""

STANDARD_HEAVY = Standard(
    name="heavy-tls",
    about="200 sites with 4,000 pages of 240 kB in the median, over TLS; one certificate in fifty is bad",
    recipe=Recipe(sites=200, pages=4_000, largest_site=200),
    options=Options(
        median_bytes=240_000,
        compressed=0.8,
        bad_certificates=0.02,
        failing=0.05,
        failing_kinds="404=90 500=10",
        robots_errors=0.0,
        robots_delays=0.0,
    ),
    seed=240,
    tls=True,
)
"""Today's web, as far as bytes and handshakes go."""

STANDARD_FARMS = Standard(
    name="farms-500",
    about="500 sites with 15,000 pages, a fifth of which have mirrors, farms of links, parked or wildcard names",
    recipe=Recipe(sites=500, pages=15_000, largest_site=500),
    options=Options(
        hazardous=0.2,
        scenarios="link-farm=3 mirrors=3 parked=2 www-bare=1 wildcard-names=1",
        duplicates=0.1,
        failing=0.05,
        failing_kinds="404=100",
        robots_errors=0.0,
        robots_delays=0.0,
        median_bytes=6_000,
    ),
    seed=2005,
)
"""The web on which others try to steer the order, and everything is there more than once."""

STANDARD_HAZARDS = Standard(
    name="hazards-102",
    about="102 sites with 2,000 pages, half of which play a hazard, each another one: small, for slow crawlers, too",
    recipe=Recipe(sites=102, pages=2_000, largest_site=100),
    options=Options(
        hazardous=0.5,
        https=0.0,
        hang_s=5.0,
        retry_after_s=1,
        duplicates=0.02,
        failing=0.05,
        failing_kinds="404=80 410=10 500=5 403=5",
        nofollow=0.0,
        meta_robots=0.0,
        x_robots=0.0,
        robots_errors=0.0,
        robots_delays=0.0,
        sitemaps=0.1,
        median_bytes=4_000,
    ),
    seed=2026,
    tls=True,
)
"""The web on which what a crawler wastes in each hazard can be seen in a minute or two; TLS is there for bad TLS."""

STANDARDS = (
    STANDARD_COUNTRY,
    STANDARD_POLITE,
    STANDARD_CROWDED,
    STANDARD_HEAVY,
    STANDARD_FARMS,
    STANDARD_HAZARDS,
    STANDARD_MIXED,
)
"""Every standard there is, in the order in which it is listed."""


def standard(name: str) -> Standard:
    """The standard of this name."""
    for each in STANDARDS:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in STANDARDS)
    raise UsageError(f"there is no standard web '{name}'", todo=f"choose of {known}")


def digest(web: Web) -> str:
    """What tells one web from another, without reading all of its pages: its graph, addresses, traits, and some bodies.

    Ports are no part of it: it is taken of the web at the usual ones.
    """
    web = web.at(80, 443)
    whole = hashlib.sha256()
    graph, traits = web.graph, web.traits
    for array in (
        graph.first_page,
        graph.offsets,
        graph.links,
        graph.seeds,
        traits.special,
        traits.size,
        traits.robots,
    ):
        whole.update(array.tobytes())
    whole.update(b"\n".join(web.bases))
    played = ((site, played.scenario.name) for site, played in sorted(web.played.items()))
    whole.update(repr(list(played)).encode())
    for page in range(0, web.graph.pages, max(1, web.graph.pages // 50)):
        whole.update(web.url(page).encode() + web.body(page))
    return whole.hexdigest()[:16]
