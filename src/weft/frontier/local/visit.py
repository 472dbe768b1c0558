"""A visit: one connection to one site. In: a site that may be visited. Out: what is known of it while it lasts."""

from __future__ import annotations

from weft.frontier.local.site import Errand, Site
from weft.frontier.politeness import Throttle


class Visit:
    """One connection to one site, from when it may begin to when it is left; the loop has it, the schedule owns it.

    A site has at most one at a time.
    """

    __slots__ = (
        "address",
        "address_throttle",
        "domain_throttle",
        "errand",
        "gap",
        "network_throttle",
        "number",
        "over",
        "pages",
        "pause",
        "rest",
        "scheme",
        "site",
        "spaced",
        "took",
    )

    def __init__(self, number: int, site: Site, errand: Errand | None, gap: float) -> None:
        self.number = number
        self.site = site
        self.errand = errand
        self.gap = gap  # between openings at its domain and address
        self.scheme = ""  # of its first page: one connection has one scheme
        self.address = ""  # "" until the visit has entered
        self.spaced = False  # a gap is kept behind its opening, at its domain, address or network
        self.pages = 0  # turns given
        self.took = 0.0  # seconds that its last download took
        self.pause = 0.0  # what the server, or its failure, asks for beside the wait
        self.rest: float | None = None  # seconds that the site rests behind it, once that is decided
        self.domain_throttle: Throttle | None = None
        self.address_throttle: Throttle | None = None
        self.network_throttle: Throttle | None = None  # None where networks have no limits
        self.over = False

    def __repr__(self) -> str:
        return f"Visit({self.number} to {self.site.name}, {self.pages} pages)"
