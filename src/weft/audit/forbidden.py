"""What the operator had forbidden when. In: the rules of the blacklist, with their times. Out: the rule that a request
broke.

A rule is a URL (with `*` at its end: all that begin like this), a site, a domain with all below it (`*.example.org`),
or an address or range of addresses. Workers hear of a new one with their next exchange; until then they may go on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import NamedTuple

from weft.audit.terms import NEVER
from weft.urls import host_of, site_of


class Forbidding(NamedTuple):
    """A rule, and when it held: microseconds."""

    rule: str
    since: int
    until: int


class Forbidden:
    """Every rule that ever was on the blacklist of a crawl."""

    def __init__(self, rules: Iterable[tuple[str, float | None, float | None]]) -> None:
        self._urls: dict[str, list[Forbidding]] = {}  # by site
        self._sites: dict[str, list[Forbidding]] = {}
        self._domains: dict[str, list[Forbidding]] = {}
        self._ranges: list[tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, Forbidding]] = []
        self.undated = 0  # rules of which it is not known when they were set
        for rule, since, ended in rules:
            if since is None:
                self.undated += 1
                continue
            held = Forbidding(rule, int(since * 1e6), NEVER if ended is None else int(ended * 1e6))
            network = _network(rule)
            if network is not None:
                self._ranges.append((network, held))
            elif "://" in rule:
                self._urls.setdefault(site_of(rule.removesuffix("*")), []).append(held)
            elif rule.startswith("*."):
                self._domains.setdefault(rule[2:], []).append(held)
            else:
                self._sites.setdefault(rule, []).append(held)

    def __repr__(self) -> str:
        return f"Forbidden({len(self._urls)} sites with URLs, {len(self._sites)} sites, {len(self._domains)} domains)"

    def of(self, site: str) -> list[Forbidding]:
        """The rules that may name a URL of a site; those for addresses are not among them."""
        found = [*self._urls.get(site, ()), *self._sites.get(site, ())]
        rest = host_of(site) if self._domains else ""
        while rest:
            found += self._domains.get(rest, ())
            rest = rest.partition(".")[2]
        return found

    def at(self, address: str | None) -> list[Forbidding]:
        """The rules that name an address."""
        if not self._ranges or address is None:
            return []
        number = ipaddress.ip_address(address)
        return [held for network, held in self._ranges if number in network]


def names(rule: str, url: str) -> bool:
    """Does a rule that may name URLs of a site name this one?

    >>> names("http://a/b*", "http://a/bc"), names("http://a/b", "http://a/bc"), names("a", "http://a/")
    (True, False, True)
    """
    if "://" not in rule:
        return True
    return url.startswith(rule[:-1]) if rule.endswith("*") else url == rule


def _network(rule: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(rule.strip("[]"), strict=False)
    except ValueError:
        return None
