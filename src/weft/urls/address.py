"""Addresses and ports that are not the public web's. In: addresses, ports, hosts. Out: their range, or None.

The ranges are those of the IANA special-purpose registries (RFC 6890 and its updates) that are not globally
reachable, multicast, and all of IPv6 outside the block from which global addresses are given out. An IPv6
address that carries an IPv4 address inside (mapped, 6to4, Teredo, NAT64) is judged by the one inside, or a
name server could lead the crawler to ``127.0.0.1`` under another spelling. The ports are those that the
WHATWG Fetch standard blocks.

>>> special_range("192.168.1.1")
SpecialRange(name='private', network='192.168.0.0/16')
>>> special_range("::ffff:10.0.0.1").network, special_range("8.8.8.8")
('10.0.0.0/8', None)
>>> refused_range("10.1.2.3", Allowed.parse(["10.1.0.0/16"])) is None
True
>>> web_port(8080), web_port(25)
(True, False)
>>> network_of("192.0.2.77"), network_of("2001:db8:1:2::3")
('192.0.2.0/24', '2001:db8:1::/48')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from weft.errors import UsageError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class SpecialRange(NamedTuple):
    """A range of addresses that is not the public internet."""

    name: str
    network: str


# The narrowest range comes first where two overlap; None marks globally reachable islands inside a special
# range.
_RANGES: list[tuple[str, str | None]] = [
    ("0.0.0.0/32", "unspecified"),
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by carriers"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.9/32", None),  # Port Control Protocol anycast
    ("192.0.0.10/32", None),  # TURN anycast
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relays, deprecated"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("64:ff9b:1::/48", "local translation"),
    ("100::/64", "discard"),
    ("100:0:0:1::/64", "dummy prefix"),
    ("2001:1::1/128", None),  # Port Control Protocol anycast
    ("2001:1::2/128", None),  # TURN anycast
    ("2001:1::3/128", None),  # DNS service discovery anycast
    ("2001:2::/48", "benchmarking"),
    ("2001:3::/32", None),  # automatic multicast tunnelling
    ("2001:4:112::/48", None),  # AS112
    ("2001:20::/28", None),  # ORCHIDv2
    ("2001:30::/28", None),  # drone identifiers
    ("2001::/23", "protocol assignments"),
    ("2001:db8::/32", "documentation"),
    ("3fff::/20", "documentation"),
    ("2000::/3", None),  # the only block from which global addresses are given out
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local, deprecated"),
    ("ff00::/8", "multicast"),
    ("::/0", "reserved"),
]
_TABLE: list[tuple[Network, SpecialRange | None]] = [
    (ip_network(text), SpecialRange(name, text) if name else None) for text, name in _RANGES
]
_NAT64 = IPv6Network("64:ff9b::/96")

_BAD_PORTS = frozenset(
    {0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95}
    | {101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179}
    | {389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587}
    | {601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061}
    | {6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """Special ranges that this crawl may visit all the same."""

    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str], *, where: str = "") -> Allowed:
        """Ranges as a user writes them: ``10.0.0.0/8`` or one address; anything else is refused by name.

        >>> Allowed.parse(["10.0.0.1/8"])
        Traceback (most recent call last):
        weft.errors.UsageError: '10.0.0.1/8' is not an address range: did you mean '10.0.0.0/8'?
        """
        return cls(tuple(_network(text, where) for text in texts))

    def with_range(self, special: SpecialRange) -> Allowed:
        """These ranges and one more, such as the one that a seed given as an address lies in."""
        network = ip_network(special.network)
        return self if network in self.networks else Allowed((*self.networks, network))

    def __contains__(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def _network(text: str, where: str) -> Network:
    """One range, or an error that says what is wrong with it."""
    try:
        return ip_network(text.strip())
    except ValueError:
        try:
            todo = f"did you mean '{ip_network(text.strip(), strict=False)}'?"
        except ValueError:
            todo = "write a range such as 10.0.0.0/8 or fd00::/8, or one address"
        raise UsageError(f"'{text}' is not an address range", where=where, todo=todo) from None


@lru_cache(maxsize=16384)
def special_range(address: str) -> SpecialRange | None:
    """The special range an IP address lies in, or None where it is public. Not an address: ValueError.

    >>> special_range("fe80::1%eth0").name, special_range("2002:7f00:1::").name
    ('link-local', 'loopback')
    """
    return refused_range(address, Allowed())


def refused_range(address: str, allowed: Allowed) -> SpecialRange | None:
    """The special range that forbids visiting an address: None where it is public or allowed."""
    for meant in _meant(address):
        special = _look_up(meant)
        if special and meant not in allowed:
            return special
    return None


def network_of(address: str) -> str:
    """The network of an address, of which a whole is mostly one provider's: /24, in IPv6 /48. An IPv4 address that is
    written inside of one of IPv6 has the network of the one inside; what is no address (a proxy stands for it) is one
    of its own.

    >>> network_of("::ffff:192.0.2.1"), network_of("[no address]")
    ('192.0.2.0/24', '[no address]')
    """
    try:
        meant = _meant(address)[-1]
    except ValueError:
        return address
    return str(ip_network((meant, 24 if meant.version == 4 else 48), strict=False))


def is_loopback(address: str) -> bool:
    """Whether an address is this machine itself, whatever its spelling.

    >>> is_loopback("127.8.8.8"), is_loopback("::1"), is_loopback("::ffff:127.0.0.1"), is_loopback("10.0.0.1")
    (True, True, True, False)
    """
    return all(meant.is_loopback for meant in _meant(address))


def is_loopback_name(host: str) -> bool:
    """Whether a host name always means this machine (RFC 6761): ``localhost`` and names under it."""
    name = host.lower().removesuffix(".")
    return name == "localhost" or name.endswith(".localhost")


def literal_address(host: str) -> str | None:
    """The IP address that a host of a URL in normal form is, without brackets, or None where it is a name.

    >>> literal_address("127.0.0.1"), literal_address("[::1]"), literal_address("example.org")
    ('127.0.0.1', '::1', None)
    """
    if host[:1] == "[":
        return host[1:-1]
    # The URL standard takes every host whose last label is a number for an IPv4 address, and writes it in
    # four parts.
    return host if host.rpartition(".")[2].isdecimal() else None


def web_port(port: int) -> bool:
    """Whether a port may be a web server's: false for those of mail, remote shells, names and their like."""
    return port not in _BAD_PORTS and 0 < port < 65536


def _look_up(address: Address) -> SpecialRange | None:
    """The range of one address as it stands."""
    return next((special for network, special in _TABLE if address in network), None)


def _meant(text: str) -> list[Address]:
    """The addresses that a connection to this one could reach: those inside it, or itself."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped:
        return [address.ipv4_mapped]
    if address.sixtofour:
        return [address.sixtofour]
    if address.teredo:
        return list(address.teredo)
    if address in _NAT64:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address]
