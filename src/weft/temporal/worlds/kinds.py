"""Which kinds of pages and of sites there are. In: nothing. Out: two tables that `sites` and `pages` draw from.

The kinds and their shares are those of the generated world that this project's definitions were tried on, as far as
its log and its truth show them; the figures here were chosen so that worlds look like it, kind by kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.temporal.worlds.shapes import EXPONENTIAL, FLAT, LOG_NORMAL, POWER_LAW

Range = tuple[float, float]
TAIL = 200.0  # days over which the tail of news with a tail goes on


@dataclass(frozen=True, slots=True)
class PageKind:
    """How pages of a kind live."""

    first_days: Range  # mean and deviation of the normal variate x for which N(x) of the interest is in 3 days
    shapes: dict[int, float] = field(default_factory=lambda: {LOG_NORMAL: 1.0})  # how often which curve
    sigma: Range = (0.65, 1.1)  # of log-normal curves
    rest: Range | None = None  # beta distribution of the share of interest that is no part of the curve
    again: Range = (0.0, 0.0)  # days after which the rest comes as a second climax; none: it is a flat tail
    recent: bool = False  # a person would say that it reports a recent event
    old: bool = False  # published long before the window
    spiky: bool = False  # at times many people come for some days, for a reason outside the page
    seasonal: bool = False


_NEWS = {LOG_NORMAL: 0.75, EXPONENTIAL: 0.15, POWER_LAW: 0.1}
_ALWAYS = (-2.968, 0.0)  # 0.0015 of the interest in three days: even interest for 2,000 days
PAGE_KINDS = {
    "news_fast": PageKind((2.25, 0.56), _NEWS, recent=True),
    "news": PageKind((1.42, 0.47), _NEWS, sigma=(0.7, 1.05), recent=True),
    "news_slow": PageKind((0.47, 0.48), sigma=(0.55, 0.9), recent=True),
    "news_tail": PageKind((2.1, 0.5), _NEWS, rest=(2.0, 6.0), recent=True),
    "reignite": PageKind((1.9, 0.4), rest=(2.5, 3.9), again=(8.0, 40.0), recent=True),
    "thread": PageKind((-0.21, 0.64), sigma=(0.8, 1.2)),
    "slowburn": PageKind((-2.3, 0.72), sigma=(0.6, 1.1), spiky=True),
    "evergreen_new": PageKind((-2.53, 0.28), {FLAT: 0.8, LOG_NORMAL: 0.2}, sigma=(1.0, 2.0), spiky=True),
    "evergreen_old": PageKind(_ALWAYS, {FLAT: 1.0}, old=True, spiky=True),
    "hub": PageKind(_ALWAYS, {FLAT: 1.0}, old=True),
    "seasonal": PageKind(_ALWAYS, {FLAT: 1.0}, old=True, spiky=True, seasonal=True),
    "event": PageKind((-0.6, 0.3), sigma=(0.5, 0.8), recent=True),
}
KIND_NAMES = tuple(PAGE_KINDS)


@dataclass(frozen=True, slots=True)
class SiteKind:
    """How sites of a kind publish and are visited."""

    share: float  # of the sites of its group: news and portals, mixed, the others; the recipe says how large they are
    pages: float  # in 100 days, in the middle
    spread: float  # deviation of the logarithm of that
    weekend: float  # views on a day of the weekend, of those on another
    views: float  # factor on the views of a page
    mix: dict[str, float]  # how many of its pages are of which kind


_COLUMNS = tuple(kind for kind in PAGE_KINDS if kind not in {"hub", "event"})


def _mix(*shares: float) -> dict[str, float]:
    """Shares of kinds, in the order of the columns."""
    return {kind: share for kind, share in zip(_COLUMNS, shares, strict=True) if share}


SITE_KINDS = {  # of 100 pages:              fast news slow tail again thread slowburn evergreen old seasonal
    "news": SiteKind(0.6, 350, 0.4, 0.80, 1.15, _mix(42, 35, 8, 5, 3, 0, 2.7, 3.5, 1.5, 0.3)),
    "portal": SiteKind(0.4, 260, 0.45, 0.87, 1.1, _mix(24, 28, 4, 4, 1.5, 10, 10, 12, 5.5, 1)),
    "mixed": SiteKind(1.0, 98, 0.35, 0.70, 0.9, _mix(11, 14, 5, 5.5, 1, 8, 10, 23, 20, 2.5)),
    "reference": SiteKind(0.31, 58, 0.5, 0.62, 0.95, _mix(0, 0, 0, 0, 0, 0, 5.5, 17.5, 67, 10)),
    "shop": SiteKind(0.18, 72, 0.7, 1.13, 0.9, _mix(0, 1, 0, 0, 0, 4, 18, 26, 46, 5)),
    "forum": SiteKind(0.22, 90, 0.75, 1.05, 0.7, _mix(4, 5, 0, 0, 0, 55, 6, 16, 12.5, 1.5)),
    "blog": SiteKind(0.24, 31, 0.8, 1.0, 0.7, _mix(6, 11, 3.5, 8, 0, 20, 20, 13.5, 16, 2)),
    "spam": SiteKind(0.05, 22, 0.6, 1.0, 0.65, _mix(0, 0, 0, 0, 0, 0, 0, 38, 56, 6)),
    "event": SiteKind(0.0, 0, 0.4, 1.0, 1.3, {"news_fast": 84, "news": 10, "event": 6}),
    "tiny": SiteKind(0.0, 0, 0.0, 1.0, 0.1, {"news_fast": 25, "news": 25, "evergreen_new": 15, "evergreen_old": 35}),
}
SITE_KIND_NAMES = tuple(SITE_KINDS)
