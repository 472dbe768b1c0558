"""What the papers say: values in print, and statements that are true or not. In: nothing. Out: `Value`s and `Claim`s.

P0 is Castillo et al. 2004, P1 is Baeza-Yates et al. 2005. A value's tolerance is the spread that the paper prints;
where it prints none, one that is said here. Curves are in the figures only, and no value was read off them.
"""

from __future__ import annotations

from dataclasses import dataclass

AVERAGE = 0.02
"""Tolerance of averages that are printed without a spread: those of a single pair of collections."""
TAU = 0.05
"""Tolerance of tau: printed without a spread, from one sample of 5,000 pages in each of four collections."""
SHARE = 0.03
"""Tolerance of shares that are read from a sentence (about 80 %)."""
RELATIVE = 0.1
"""Tolerance of times and speed-ups, in proportion."""


@dataclass(frozen=True, slots=True)
class Value:
    """A number in print."""

    place: str
    name: str
    key: str
    """By which our own values are found, see `weft.reproduce.values`."""
    published: float
    tolerance: float
    printed: str = ""
    """As it stands there, where that is not just the number."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that a simulation can contradict."""

    place: str
    name: str
    key: str


# Strategy, average, its spread (None: one collection), tau.
TABLE_2: tuple[tuple[str, float, float | None, float], ...] = (
    ("backlink", 0.50, 0.01, 0.0157),
    ("partial", 0.52, 0.01, 0.0236),
    ("breadth-first", 0.64, 0.04, 0.1293),
    ("batch", 0.63, 0.03, 0.1961),
    ("opic", 0.67, 0.03, 0.2229),
    ("larger-sites-first", 0.67, 0.01, 0.2498),
    ("historical-zero", 0.68, None, 0.3573),
    ("historical-random", 0.70, None, 0.3689),
    ("historical-parent", 0.70, None, 0.3520),
    ("historical-omniscient", 0.77, None, 0.6385),
    ("omniscient", 0.74, 0.04, 0.6504),
)

# Bandwidth, then the speed-ups for r = 1, 64, 256.
TABLE_1: tuple[tuple[int, float, float, float], ...] = (
    (20_000_000, 1.0, 54.6, 220.1),
    (2_000_000, 1.0, 54.3, 204.3),
    (200_000, 1.0, 43.0, 114.1),
    (20_000, 1.0, 27.0, 83.3),
    (2_000, 0.7, 3.8, 16.0),
    (200, 0.2, 1.6, 3.0),
)

_HALF = "half of the PageRank after this share of the pages"


def values() -> list[Value]:
    """Every number in print."""
    found = []
    for name, average, spread, tau in TABLE_2:
        printed = f"{average:.2f}" + (f" ± {spread:.2f}" if spread else "")
        found.append(Value("P1, table 2", f"average, {name}", f"average/{name}", average, spread or AVERAGE, printed))
        found.append(Value("P1, table 2", f"tau, {name}", f"tau/{name}", tau, TAU))
    found += [
        Value("P1, section 5.2", f"{_HALF}, {name}", f"half/{name}", 0.25, 0.05, "20-30 %")
        for name in ("batch", "larger-sites-first", "opic")
    ]
    for bandwidth, *speeds in TABLE_1:
        for robots, speed in zip((1, 64, 256), speeds, strict=True):
            name = f"speed-up at {bandwidth:,} B/s with r = {robots}"
            within = max(0.05, RELATIVE * speed)
            found.append(Value("P0, table 1", name, f"speed-up/{bandwidth}/{robots}", speed, within))
    for k, bandwidth, hours in ((1, 2_000, 33.0), (100, 2_000, 29.0), (1, 20_000, 9.0), (100, 20_000, 3.0)):
        name = f"hours for a batch at {bandwidth // 1000} KB/s with k = {k}"
        found.append(
            Value("P0, figure 7", name, f"batch/k={k}, {bandwidth}", hours, RELATIVE * hours, f"about {hours:g}")
        )
    return [
        *found,
        Value("P0, figure 8", "PageRank after half of the pages", "timed/0.5", 0.80, SHARE, "about 80 %"),
        Value("P0, figure 8", "PageRank after 80 % of the pages", "timed/0.8", 0.95, SHARE, "more than 95 %"),
        Value("P0, figure 8", "days until half of the pages are in", "days/0.5", 2.0, 0.5, "end of day 2"),
        Value("P0, figure 8", "days until 80 % of the pages are in", "days/0.8", 4.0, 0.5, "end of day 4"),
        Value("P0, section 7", "days that the crawl takes", "days/1.0", 8.0, 0.8, "8"),
    ]


def claims() -> list[Claim]:
    """The sentences."""
    return [
        Claim("P0, figure 3", "most pages are on few sites: a power law", "power-law"),
        Claim("P0, figure 5", "Optimal begins best, and is passed later by others", "optimal-passed"),
        Claim("P0, figure 5", "Batch and Depth are similar, Batch slightly better", "batch-depth"),
        Claim("P0, figure 5", "Partial is close to random", "partial-random"),
        Claim("P0, figure 5", "Length is better than Depth, Batch and Partial", "length-best"),
        Claim("P0, figure 6", "with r = 1, 64, 256 Length changes less than Depth", "length-stable"),
        Claim(
            "P0, table 1", "a full link makes more robots useless: the speed-up falls with the bandwidth", "saturation"
        ),
        Claim("P0, figure 7", "100 pages a connection take less time than one, on both links", "more-per-visit"),
        Claim("P0, figure 9", "average PageRank falls by half or more within the first days", "falls-by-day"),
        Claim("P0, figure 10", "PageRank falls with depth first, and hardly from depth 4 on", "flat-when-deep"),
        Claim("P0, figure 10", "home pages have a low PageRank on average", "low-homes"),
        Claim(
            "P1, figure 3", "the distribution of PageRank is almost the same in all collections", "same-distribution"
        ),
        Claim("P1, figure 4", "omniscient is the best of all", "omniscient-best"),
        Claim("P1, figure 4", "backlink and partial are worse than random", "worse-than-random"),
        Claim("P1, figure 4", "breadth-first is close to the best for the first 20-30 % of the pages", "early-breadth"),
        Claim("P1, figure 4", "batch, larger-sites-first and opic are better than the others", "good-three"),
        Claim("P1, figure 4", "of these three, larger-sites-first is ahead when much is covered", "late-larger"),
        Claim("P1, figure 5", "historical strategies are better than opic", "history-helps"),
        Claim("P1, figure 5", "and at most by .03, leaving omniscient out", "history-little"),
        Claim("P1, table 2", "larger-sites-first has the highest tau without history", "larger-tau"),
        Claim(
            "P1, table 2", "historical-random has the highest tau with history, leaving omniscient out", "random-tau"
        ),
        Claim("P1, figure 6", "by time, larger-sites-first is ahead in pages", "faster-pages"),
        Claim("P1, figure 6", "by time, larger-sites-first is ahead in PageRank", "faster-pagerank"),
    ]
