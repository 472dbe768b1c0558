"""How a web changes: every number that the maker of worlds uses, with what it means and where it comes from.

Rates of edits spread over sites and pages as in Cho and Garcia-Molina (2000, 2003): edits of a page are a Poisson
process, and the rates cover some orders of magnitude. Lives are exponential, with a half-life of some five months
(Ntoulas, Cho and Olston 2004), and births are such that some 60 % of a country's pages were there four months ago, and
hold some 71 % of its PageRank (Baeza-Yates et al. 2005, section 5: 55 % and 72 %). They follow the hours and days of
newsrooms, and few sites publish most of what is temporal (Wang et al., P2). All were set by hand beside those papers;
they are no measurement.

>>> Changes(days=0.5).check()
Traceback (most recent call last):
weft.errors.UsageError: a world of 0.5 days is too short: give at least one day
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from weft.errors import UsageError
from weft.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What happens in a world beside what its graph is at the start. Shares are between 0 and 1."""

    first: date = setting(date(2026, 3, 2), "the day on which the world starts, at midnight")
    days: float = setting(60.0, "how long pages go on being born and edited", at_least=1)

    news: float = setting(0.1, "share of the sites that publish news, most of them larger ones", at_least=0, at_most=1)
    news_births_least: float = setting(
        0.2, "pages a day that a slow news site publishes; rates are log-uniform", above=0
    )
    news_births_most: float = setting(8.0, "pages a day that a fast news site publishes", above=0)
    births_least: float = setting(0.002, "pages a day that a slow site of another sort publishes", above=0)
    births_most: float = setting(0.1, "pages a day that a fast site of another sort publishes", above=0)
    temporal: float = setting(0.85, "share of the new pages of news sites that are temporal", at_least=0, at_most=1)
    temporal_elsewhere: float = setting(0.1, "the same at other sites", at_least=0, at_most=1)
    weekend: float = setting(0.53, "births on a day of the weekend, of those on another, at news sites", at_least=0)
    peak_spread_h: float = setting(3.0, "by how many hours the busiest hour of sites differs", at_least=0)

    events: float = setting(0.02, "share of the sites that publish for an event", at_least=0, at_most=1)
    event_days: float = setting(14.0, "how long an event lasts", above=0)
    event_births: float = setting(12.0, "pages a day that a site publishes for it, all temporal", at_least=0)

    half_life_days: float = setting(157.0, "after so many days half of the leaf pages are gone", above=0)
    still: float = setting(0.3, "share of the pages that are never edited", at_least=0, at_most=1)
    edits_least: float = setting(0.003, "edits a day of pages of a slow site; sites are log-uniform", above=0)
    edits_most: float = setting(1.0, "edits a day of pages of a fast site", above=0)
    edits_spread: float = setting(0.8, "spread of the rate over the pages of a site (log-normal)", at_least=0)
    news_edits: float = setting(0.7, "edits that a temporal page gets in its life", at_least=0)
    news_edits_h: float = setting(6.0, "mean hours from its birth to such an edit", above=0)
    cosmetic: float = setting(
        0.2, "share of the sites whose pages have a clock, a counter or an ad", at_least=0, at_most=1
    )
    cosmetic_least_s: float = setting(60.0, "shortest time between changes of it; log-uniform over sites", above=0)
    cosmetic_most_s: float = setting(86_400.0, "longest time between changes of it", above=0)

    fronts: int = setting(4, "section fronts of a site that list new pages, beside its home page", at_least=0)
    listed: int = setting(20, "new pages that a front lists", at_least=1)
    feeds: float = setting(
        0.6, "share of the news sites with a feed; of the others half as many", at_least=0, at_most=1
    )
    fed: int = setting(15, "pages that a feed lists", at_least=1)
    feed_lag_s: float = setting(300.0, "median delay of a feed; log-normal over sites", at_least=0)
    sitemap_lag_s: float = setting(21_600.0, "median delay of a sitemap; log-normal over sites", at_least=0)
    lag_spread: float = setting(1.2, "spread of these delays", at_least=0)
    lies: float = setting(0.15, "share of feeds and of sitemaps whose dates are wrong", at_least=0, at_most=1)
    lie_s: float = setting(2_592_000.0, "by how much their dates are too late, though never after now", at_least=0)

    unvalidated: float = setting(0.3, "share of the sites without ETag and Last-Modified", at_least=0, at_most=1)
    restless: float = setting(
        0.1, "share of the sites whose ETag and Last-Modified are new at every request", at_least=0, at_most=1
    )
    stale: float = setting(
        0.03, "share of the sites whose ETag and Last-Modified stay when a page is edited", at_least=0, at_most=1
    )
    gone_410: float = setting(0.15, "share of the dead pages that are answered with 410", at_least=0, at_most=1)
    gone_away: float = setting(0.1, "share of the dead pages that are redirected to their front", at_least=0, at_most=1)

    def check(self) -> None:
        """Refuse what cannot be made."""
        if not 1 <= self.days <= 10_000:
            long = "short" if self.days < 1 else "long"
            raise UsageError(
                f"a world of {self.days:g} days is too {long}",
                todo="give at least one day" if self.days < 1 else "give at most 10,000 days",
            )
        ranges = {
            "births": (self.births_least, self.births_most),
            "news_births": (self.news_births_least, self.news_births_most),
            "edits": (self.edits_least, self.edits_most),
            "cosmetic": (self.cosmetic_least_s, self.cosmetic_most_s),
        }
        for name, (least, most) in ranges.items():
            if not 0 < least <= most:
                raise UsageError(
                    f"{name} reaches from {least:g} to {most:g}", todo="the first is above 0 and at most the second"
                )
        if self.unvalidated + self.restless + self.stale > 1 or self.gone_410 + self.gone_away > 1:
            raise UsageError(
                "shares of the same thing are more than 1 together",
                todo="lower unvalidated, restless and stale, or gone_410 and gone_away",
            )
