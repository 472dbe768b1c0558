"""Settings of single sites, in place of the crawl's own. In: the settings file. Out: what counts for a site."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from weft.fetch.headers import check_headers, headers_complaint
from weft.settings import setting

MOST_SITE_PAGES = 2**31 - 1  # that URL-seen can count


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """What can be set for one site, or for all under a domain, in the settings file."""

    wait: float | None = setting(None, "seconds between visits, fixed", at_least=0, unit="seconds")
    per_visit: int | None = setting(None, "pages fetched on one connection", at_least=1)
    max_pages: int | None = setting(None, "pages of this site", at_least=1, at_most=MOST_SITE_PAGES)
    max_bytes: int | None = setting(
        None, "bytes that this site may send, in place of the crawl's max_site_bytes", at_least=0, unit="bytes"
    )
    max_time: float | None = setting(
        None,
        "seconds that downloads from this site may take, in place of the crawl's max_site_time",
        at_least=0,
        unit="seconds",
    )
    max_depth: int | None = setting(None, "links away from a seed, in place of the crawl's max_depth", at_least=0)
    robots: Literal["obey", "ignore"] | None = setting(
        None, "what to do about robots.txt, robots meta tags and nofollow"
    )
    headers: dict[str, str] | None = setting(
        None,
        "further headers of every request to it; a value env:NAME is taken from the environment",
        check=headers_complaint,
    )

    def __post_init__(self) -> None:
        check_headers(self.headers)


PLAIN = SiteSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The settings of single sites: by name, or by `*.domain` for all below a domain."""

    sites: dict[str, SiteSettings] = field(default_factory=dict)

    def of(self, site: str) -> SiteSettings:
        """The most specific settings for a site.

        >>> Overrides(sites={"*.org": SiteSettings(wait=1.0)}).of("www.example.org").wait
        1.0
        """
        if not self.sites:
            return PLAIN
        found = self.sites.get(site)
        rest = site
        while found is None and rest:
            found = self.sites.get(f"*.{rest}")
            rest = rest.partition(".")[2]
        return found or PLAIN
