"""What kind of web the testbed serves: every share and size, with what it means. All shares can be 0.

`PLAIN` is the web that equals its graph: page p links to exactly the pages the graph says, in order, every
page answers 200 with its own bytes in UTF-8, and nothing is forbidden, moved, missing or slow. Hazards
beyond it follow what real crawls met: a seventh of the links leads nowhere (Baeza-Yates et al. 2005,
section 3.2), and the list of Gomes and Silva 2006.

>>> Options(failing=0.2).failing, PLAIN.failing
(0.2, 0.0)
>>> parse_kinds("404=3 closed=1")
(('404', 0.75), ('closed', 1.0))
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

from weft.errors import UsageError
from weft.settings import setting

KINDS = (
    *("404", "410", "403", "500", "503", "429"),
    *("soft-404", "closed", "short", "reset", "hang", "endless", "malformed"),
)
"""How a missing page can fail: a status, or one of these. `weft.testbed.hazards` says what each one does."""

USUAL_KINDS = (
    "404=70 410=6 403=5 500=5 503=4 429=1 soft-404=1 closed=2 short=1.5 reset=1.5 hang=1 endless=1 malformed=1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The web beside its graph. Shares are between 0 and 1."""

    naming: Literal["names", "literals"] = setting(
        "names",
        "names: host names, for which the testbed has a DNS server; literals: one loopback address a site",
    )
    tld: str = setting("test", "top-level domain of the names; keep to reserved ones")
    www: float = setting(
        0.5, "share of the sites whose name begins with www. (where a domain has one site)", at_least=0, at_most=1
    )
    sites_per_domain: int = setting(1, "sites under one registered domain", at_least=1)
    domain_sharers: int = setting(0, "only the last so many sites share domains; 0: all do", at_least=0)
    sites_per_address: int = setting(4, "sites on one address (names only)", at_least=1)
    address_sharers: int = setting(0, "only the first so many sites share addresses; 0: all do", at_least=0)
    https: float = setting(
        1.0, "share of the sites that live under https, when TLS is served at all", at_least=0, at_most=1
    )
    bad_certificates: float = setting(
        0.0,
        "share of the https sites whose certificate is self-signed, expired or for another name",
        at_least=0,
        at_most=1,
    )

    median_bytes: int = setting(15_000, "median size of a page", at_least=1_000, unit="bytes")
    size_spread: float = setting(
        0.69, "spread of the sizes (log-normal); 0.69 makes the mean 1.27 times the median", at_least=0
    )
    dynamic: float = setting(0.05, "share of the leaf pages with a query (?id=) in their URL", at_least=0, at_most=1)
    duplicates: float = setting(
        0.05, "share of the pages that are the same bytes as another page of their site", at_least=0, at_most=1
    )
    charsets: float = setting(
        0.05, "share of the pages in another charset than UTF-8, not always declared", at_least=0, at_most=1
    )
    compressed: float = setting(
        0.5, "share of the pages sent in gzip, deflate, br or zstd, if the client accepts it", at_least=0, at_most=1
    )
    chunked: float = setting(0.2, "share of the pages sent in chunks", at_least=0, at_most=1)
    latency_ms: float = setting(0.0, "median wait before an answer; 0 is none", at_least=0)
    latency_spread: float = setting(0.8, "spread of the waits over pages (log-normal)", at_least=0)
    rate_kbs: float = setting(0.0, "most kilobytes a second on one connection; 0 is no limit", at_least=0)

    failing: float = setting(0.15, "share of the links that lead to missing or failing pages", at_least=0, at_most=0.9)
    failing_kinds: str = setting(USUAL_KINDS, "how they fail, with weights")
    retry_after_s: int = setting(2, "what 503 and 429 say in Retry-After", at_least=0)
    hang_s: float = setting(30.0, "after this a hanging or endless answer ends", at_least=0)
    redirects: float = setting(0.03, "share of the links that go through a 301 or 302", at_least=0, at_most=1)
    nofollow: float = setting(0.02, "share of the links with rel=nofollow", at_least=0, at_most=1)
    meta_robots: float = setting(0.01, "share of the pages with a robots meta tag", at_least=0, at_most=1)
    x_robots: float = setting(0.01, "share of the pages with X-Robots-Tag", at_least=0, at_most=1)

    cookies: float = setting(0.2, "share of the sites that set a cookie", at_least=0, at_most=1)
    requisites: bool = setting(False, "pages embed images, a style sheet and a script")
    robots_missing: float = setting(0.2, "share of the sites without robots.txt", at_least=0, at_most=1)
    robots_errors: float = setting(
        0.01, "share of the sites whose robots.txt is answered with 503", at_least=0, at_most=1
    )
    robots_rules: float = setting(
        0.2, "share of the sites whose robots.txt forbids a section, /private/", at_least=0, at_most=1
    )
    robots_delays: float = setting(
        0.05, "share of the sites whose robots.txt asks for a crawl-delay", at_least=0, at_most=1
    )
    crawl_delay_s: float = setting(1.0, "the crawl-delay they ask for", at_least=0)
    sitemaps: float = setting(
        0.3, "share of the sites with a sitemap, which lists some pages nothing links to", at_least=0, at_most=1
    )

    dns_ttl_s: int = setting(300, "how long a DNS answer may be kept", at_least=0, at_most=2**31 - 1)
    dns_failing: float = setting(0.0, "share of the domains whose DNS answer is SERVFAIL", at_least=0, at_most=1)
    dns_silent: float = setting(0.0, "share of the domains whose DNS questions are not answered", at_least=0, at_most=1)
    dns_wildcards: float = setting(0.0, "share of the domains in which every name exists", at_least=0, at_most=1)
    dns_truncated: float = setting(
        0.0, "share of the domains whose DNS answers come over TCP only", at_least=0, at_most=1
    )

    topic_words: int = setting(
        0,
        "topics of which pages, links and URLs have words, of a graph that was generated with as many and by the same "
        "seed; 0: none",
        at_least=0,
        at_most=100_000,
    )
    hazardous: float = setting(
        0.0, "share of the sites that play a scenario: a trap, or another hazard", at_least=0, at_most=1
    )
    scenarios: str = setting(
        "", "which scenarios, with weights, as 'calendar=1 bomb-gzip=2'; when empty, all in equal share"
    )

    def check(self) -> None:
        """Refuse what cannot be served."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in SHARES and not 0 <= value <= 1:
                raise UsageError(f"{field.name} is {value}", todo="a share is between 0 and 1")
            if not isinstance(value, (str, bool)) and value < 0:
                raise UsageError(f"{field.name} is {value}", todo="it cannot be negative")
        if self.failing > 0.9:
            raise UsageError(f"failing is {self.failing}", todo="at most 0.9, or the web would be nothing else")
        if self.sites_per_domain < 1 or self.sites_per_address < 1:
            raise UsageError("no sites on a domain or an address", todo="there is at least one on each")
        if self.median_bytes < 1_000:
            raise UsageError(f"median_bytes is {self.median_bytes}", todo="a page needs some 1,000 bytes for its frame")
        parse_kinds(self.failing_kinds)


SHARES = (
    *(
        "www",
        "https",
        "bad_certificates",
        "dynamic",
        "duplicates",
        "charsets",
        "compressed",
        "chunked",
        "failing",
    ),
    *("redirects", "nofollow", "meta_robots", "x_robots", "cookies", "robots_missing", "robots_errors"),
    *("robots_rules", "robots_delays", "sitemaps", "dns_failing", "dns_silent", "dns_wildcards", "dns_truncated"),
    "hazardous",
)

PLAIN = Options(
    dynamic=0.0,
    duplicates=0.0,
    charsets=0.0,
    compressed=0.0,
    chunked=0.0,
    failing=0.0,
    redirects=0.0,
    nofollow=0.0,
    meta_robots=0.0,
    x_robots=0.0,
    cookies=0.0,
    robots_missing=0.0,
    robots_errors=0.0,
    robots_rules=0.0,
    robots_delays=0.0,
    sitemaps=0.0,
)
"""Everything unusual off: the web equals its graph."""


def parse_kinds(text: str) -> tuple[tuple[str, float], ...]:
    """Read '404=70 closed=2' into kinds of failure with cumulative shares that end at 1."""
    return shares_of(text, KINDS, "kind of failure")


def shares_of(text: str, known: tuple[str, ...], what: str) -> tuple[tuple[str, float], ...]:
    """Read 'one=70 other=2' into names, which must be known, with cumulative shares that end at 1."""
    weights: dict[str, float] = {}
    for word in text.replace(",", " ").split():
        name, _, number = word.partition("=")
        try:
            weights[name] = float(number or 1)
        except ValueError:
            weights[name] = -1.0
        if name not in known or not 0 <= weights[name] < math.inf:
            raise UsageError(f"'{word}' is no {what}", todo=f"write NAME=WEIGHT, of {', '.join(known)}")
    total = sum(weights.values())
    if not total:
        raise UsageError(f"no {what} is left", todo="give at least one of them a weight, or ask for a share of 0")
    shares: list[tuple[str, float]] = []
    reached = 0.0
    for name, weight in weights.items():
        reached += weight / total
        shares.append((name, reached))
    return (*shares[:-1], (shares[-1][0], 1.0))
