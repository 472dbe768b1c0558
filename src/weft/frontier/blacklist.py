"""What must not be visited any more, by order of the operator. In: rules. Out: whether one names a URL.

A rule is a URL (with `*` at its end: all that begin like this), a site, a domain with all below it (`*.example.org`),
or an address or range of addresses.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from weft.errors import UsageError
from weft.urls import host_of, normal_form, site_of


class Blacklist:
    """The blacklist in force, as one worker knows it; its scope owns it. A rule is in force for all URLs at once."""

    def __init__(self, rules: Iterable[str] = ()) -> None:
        self._urls: set[str] = set()
        self._sites: set[str] = set()
        self._domains: set[str] = set()
        prefixes = []
        ranges = []
        self.rules = tuple(rules)
        for rule in self.rules:
            network = _network(rule)
            if network is not None:
                ranges.append(network)
            elif "://" in rule:
                prefixes += [rule[:-1]] if rule.endswith("*") else []
                self._urls.add(rule)
            elif rule.startswith("*."):
                self._domains.add(rule[2:])
            else:
                self._sites.add(rule)
        self._prefixes = tuple(prefixes)
        self.ranges = tuple(ranges)  # of addresses

    def __repr__(self) -> str:
        return f"Blacklist({len(self.rules)} rules)"

    def names(self, url: str, site: str) -> bool:
        """Does a rule name this URL of a site?

        >>> Blacklist(["*.example.org"]).names("http://a.example.org/", "a.example.org")
        True
        """
        if site in self._sites or url in self._urls or url.startswith(self._prefixes):
            return True
        rest = host_of(site) if self._domains else ""
        while rest:
            if rest in self._domains:
                return True
            rest = rest.partition(".")[2]
        return False


def usable_rule(text: str) -> str:
    """A rule as it is kept, or an error that says what a rule may be.

    >>> usable_rule("HTTP://Example.org/a b/*"), usable_rule("Example.org"), usable_rule("10.0.0.1")
    ('http://example.org/a%20b/*', 'example.org', '10.0.0.1/32')
    """
    text = text.strip()
    network = _network(text)
    if network is not None:
        return str(network)
    bare = text.removesuffix("*") if "://" in text else text.removeprefix("*.")
    url = normal_form(bare if "://" in bare else f"http://{bare}/")
    odd = "://" not in bare and (not set(bare).isdisjoint("/*?#@ ") or (text.startswith("*.") and ":" in bare))
    if type(url) is not str or odd:
        raise UsageError(
            f"'{text}' is no rule for a blacklist",
            todo="give a URL (http://host/path, with * at its end for all below), a site (host or host:port), "
            "*.domain, or an address range such as 192.0.2.0/24",
        )
    if "://" in bare:
        return url + ("*" if text.endswith("*") else "")
    return ("*." if text.startswith("*.") else "") + site_of(url)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text.strip("[]"), strict=False)
    except ValueError:
        return None
