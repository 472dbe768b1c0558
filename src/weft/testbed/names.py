"""Which site has which name and address. In: a site's number. Out: host and address, and back without a table.

Names: `site-17.test`, half of them `www.site-17.test`; with several sites to a domain `a.dom-3.test`,
`b.dom-3.test`, … (an unknown top-level domain counts as a public suffix, so `dom-3.test` is a registered
domain). Sites that follow one another lie on different addresses, so that a domain's limit and an address's
limit are two things to test. Literals: every site has an address of its own, and is called by it.

A site that plays a scenario may have further names: domains like `mirror-2-of-17.test`, all names below its own, or its
twin with or without www. They lead to the same site, and its `label` says which of them it was.

>>> from weft.testbed.options import Options
>>> names = Names(6, Options(sites_per_domain=3, sites_per_address=2), seed=1)
>>> [(names.host(site), names.address(site)) for site in (0, 1, 5)]
[('a.dom-0.test', '127.1.0.1'), ('b.dom-0.test', '127.1.0.2'), ('c.dom-1.test', '127.1.0.3')]
>>> names.site_of(b"c.dom-1.test"), names.site_of(b"d.dom-1.test")
(5, -1)
"""

from __future__ import annotations

import re

import numpy as np

from weft.errors import UsageError
from weft.testbed.dice import Dice
from weft.testbed.options import Options
from weft.testbed.scenarios.dealing import deal

DEAD = "127.255.255.255"
"""An address at which nobody ever is: the network's broadcast address, to which no connection can be made."""
ABRUPT = "127.254.0.1"
"""An address at which connections are reset as soon as they are there."""
OLD_FASHIONED = "127.254.0.2"
"""An address at which nothing newer than TLS 1.1 is spoken: the version is settled before the name is heard."""
LITERAL = "[::1]"
"""What sites at the IPv6 address are called."""

_FURTHER = re.compile(r"([^\W\d_]+)-([1-9][0-9]{0,5})-of-(0|[1-9][0-9]{0,8})")
_PER_BLOCK = 250  # addresses 127.x.y.1 to 127.x.y.250, y from 0 to 249, x from 1


class Names:
    """Hosts and addresses of all sites."""

    def __init__(self, sites: int, options: Options, seed: int) -> None:
        self.sites = sites
        self._literals = options.naming == "literals"
        self._tld = options.tld
        self._per_domain = options.sites_per_domain
        # Sites below this number have a domain of their own, and those from it on share.
        self._alone = sites if self._per_domain == 1 else sites - min(options.domain_sharers or sites, sites)
        # Sites below this number share addresses, and those from it on have one of their own.
        self._together = 0 if self._literals else min(options.address_sharers or sites, sites)
        self._shared_addresses = -(-self._together // options.sites_per_address)
        self.addresses = self._shared_addresses + sites - self._together
        if self.addresses > 250 * _PER_BLOCK * 250:
            raise UsageError(
                f"{self.addresses} addresses are more than loopback has", todo="serve fewer sites, or names"
            )
        self._www = Dice(seed, "www").shares(np.arange(sites)) < options.www
        wildcards = Dice(seed, "dns-wildcard").shares(np.arange(self.domains)) < options.dns_wildcards
        self._wildcards = wildcards & (not self._literals)
        self.scenarios = deal(sites, options, seed)
        """What hazardous sites play."""
        self._literal = next((site for site, played in sorted(self.scenarios.items()) if played.literal), -1)
        self._known: dict[bytes, int] = {}

    @property
    def domains(self) -> int:
        """How many registered domains the sites lie in."""
        return self._alone - (self._alone - self.sites) // self._per_domain

    def host(self, site: int) -> str:
        """The name of a site, without a port."""
        if self._literals:
            return self.address(site)
        if site >= self._alone:
            return f"{_letters((site - self._alone) % self._per_domain)}.{self.domain(site)}"
        return f"www.{self.domain(site)}" if self._www[site] else self.domain(site)

    def domain(self, site: int) -> str:
        """The registered domain of a site; of a literal, the literal."""
        if self._literals:
            return self.address(site)
        if site >= self._alone:
            return f"dom-{(site - self._alone) // self._per_domain}.{self._tld}"
        return f"site-{site}.{self._tld}"

    def address(self, site: int) -> str:
        """The loopback address a site is served from."""
        shared = site < self._together
        number = site % self._shared_addresses if shared else self._shared_addresses + site - self._together
        block, last = divmod(number, _PER_BLOCK)
        return f"127.{1 + block // 250}.{block % 250}.{last + 1}"

    def site_of(self, host: bytes) -> int:
        """The site with this name (no port, any case); -1 if there is none."""
        site = self._known.get(host)
        if site is None:
            site = self._find(_spelt(host))
            site = site if site >= 0 or not self.scenarios else self._find_further(_spelt(host))
            if site >= 0 and len(self._known) < 1_000_000:  # a wildcard domain has names without end
                self._known[host] = site
        return site

    def label(self, site: int, host: bytes) -> str:
        """Which of a site's further names this is; empty if it is its own, or none was given."""
        if site not in self.scenarios or not host:
            return ""
        name, own = _spelt(host), self.host(site)
        if name in {own, LITERAL}:
            return "" if name == own else name
        further = _FURTHER.fullmatch(name.removesuffix("." + self._tld))
        if further is not None:
            return f"{further[1]}-{further[2]}"
        return name.removesuffix("." + own) if name.endswith("." + own) else "twin"

    def addresses_of(self, site: int, host: bytes) -> list[str]:
        """The addresses that a name of a site leads to, in this order."""
        played = self.scenarios.get(site)
        if played is None:
            return [self.address(site)]
        if played.dead_first:
            return [DEAD, self.address(site)]
        label = self.label(site, host)
        if label.startswith("abrupt-"):
            return [ABRUPT]
        return [OLD_FASHIONED if label and played.flaw == "old" else self.address(site)]

    @property
    def has_literal(self) -> bool:
        """Whether a site is to be had at the IPv6 address."""
        return self._literal >= 0

    def site_at(self, address: str) -> int:
        """The site whose own address this is (literals only); -1 if there is none."""
        return self.site_of(address.encode()) if self._literals else -1

    def _find(self, host: str) -> int:
        if self._literals:
            return self._find_literal(host)
        number = self._domain_number(host)
        sites = self._of_domain(number)
        for site in sites:
            if self.host(site) == host:
                return site
        return sites[0] if number >= 0 and self._wildcards[number] else -1

    def _find_further(self, host: str) -> int:
        """The site one of whose further names this is; -1 if there is none."""
        if host == LITERAL:
            return self._literal
        if self._literals:
            return -1
        further = _FURTHER.fullmatch(host.removesuffix("." + self._tld))
        if further is not None and host.endswith("." + self._tld):
            played = self.scenarios.get(int(further[3]))
            return int(further[3]) if played and int(further[2]) <= played.names.get(further[1], 0) else -1
        for site in self._of_domain(self._domain_number(host)):
            played, own = self.scenarios.get(site), self.host(site)
            if played and played.below and host.endswith("." + own):
                return site
            if played and played.twin and host in {f"www.{own}", own.removeprefix("www.")}:
                return site
        return -1

    def _of_domain(self, number: int) -> range:
        """The sites of a registered domain."""
        if number < 0:
            return range(0)
        first, many = number, 1
        if number >= self._alone:
            first, many = self._alone + (number - self._alone) * self._per_domain, self._per_domain
        return range(first, min(first + many, self.sites))

    def _find_literal(self, host: str) -> int:
        parts = host.split(".")
        if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts):
            return -1
        second, third, last = (int(part) for part in parts[1:])
        site = ((second - 1) * 250 + third) * _PER_BLOCK + last - 1
        return site if 0 <= site < self.sites and self.address(site) == host else -1

    def _domain_number(self, host: str) -> int:
        """The number of the registered domain a name lies in; -1 if there is none."""
        labels = host.split(".")
        kind, _, digits = labels[-2].partition("-") if len(labels) > 1 else ("", "", "")
        if labels[-1] != self._tld or not (digits.isascii() and digits.isdigit()):
            return -1
        number = int(digits)
        if str(number) != digits:
            return -1
        if kind == "site":
            return number if number < self._alone else -1
        number += self._alone
        return number if kind == "dom" and number < self.domains else -1

    def domain_number(self, host: str) -> int:
        """The number of the registered domain a name lies in, for the DNS server; -1 if there is none."""
        return -1 if self._literals else self._domain_number(host)


def _spelt(host: bytes) -> str:
    """A host in the form that names are compared in: lower case, no dot at its end, letters of any script."""
    name = host.decode("latin-1").lower().rstrip(".")
    if "xn--" not in name:
        return name
    try:
        return name.encode("ascii").decode("idna")
    except UnicodeError:
        return name


def _letters(number: int) -> str:
    """0, 1, …, 25, 26 as a, b, …, z, aa."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(97 + digit) + text
    return text
