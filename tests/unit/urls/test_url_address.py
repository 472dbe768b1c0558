"""Special addresses, allowed ranges, ports."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.urls import (
    Allowed,
    SpecialRange,
    is_loopback,
    is_loopback_name,
    literal_address,
    normal_form,
    refused_range,
    special_range,
    split,
    web_port,
)

# Globally reachable by the registry, though inside special ranges.
ISLANDS = ["192.0.0.9", "192.0.0.10", "2001:1::1", "2001:1::2", "2001:1::3"]
ISLANDS += ["2001:3::/32", "2001:4:112::/48", "2001:20::/28", "2001:30::/28"]
EMBEDDING = ["::ffff:0:0/96", "2002::/16", "2001::/32", "64:ff9b::/96"]


@pytest.mark.parametrize(
    ("address", "name", "network"),
    [
        ("0.0.0.0", "unspecified", "0.0.0.0/32"),  # noqa: S104
        ("0.1.2.3", "this network", "0.0.0.0/8"),
        ("10.255.0.1", "private", "10.0.0.0/8"),
        ("100.64.0.1", "shared by carriers", "100.64.0.0/10"),
        ("127.0.0.1", "loopback", "127.0.0.0/8"),
        ("169.254.169.254", "link-local", "169.254.0.0/16"),
        ("172.31.255.255", "private", "172.16.0.0/12"),
        ("192.0.0.1", "protocol assignments", "192.0.0.0/24"),
        ("192.0.2.1", "documentation", "192.0.2.0/24"),
        ("192.88.99.1", "6to4 relays, deprecated", "192.88.99.0/24"),
        ("192.168.0.1", "private", "192.168.0.0/16"),
        ("198.19.255.255", "benchmarking", "198.18.0.0/15"),
        ("198.51.100.1", "documentation", "198.51.100.0/24"),
        ("203.0.113.1", "documentation", "203.0.113.0/24"),
        ("224.0.0.1", "multicast", "224.0.0.0/4"),
        ("250.0.0.1", "reserved", "240.0.0.0/4"),
        ("255.255.255.255", "broadcast", "255.255.255.255/32"),
        ("::", "unspecified", "::/128"),
        ("::1", "loopback", "::1/128"),
        ("::127.0.0.1", "reserved", "::/0"),
        ("64:ff9b:1::1", "local translation", "64:ff9b:1::/48"),
        ("100::1", "discard", "100::/64"),
        ("2001:2::1", "benchmarking", "2001:2::/48"),
        ("2001:5::1", "protocol assignments", "2001::/23"),
        ("2001:db8::1", "documentation", "2001:db8::/32"),
        ("3fff::1", "documentation", "3fff::/20"),
        ("5f00::1", "segment routing", "5f00::/16"),
        ("fd12::1", "unique local", "fc00::/7"),
        ("fe80::1%eth0", "link-local", "fe80::/10"),
        ("fec0::1", "site-local, deprecated", "fec0::/10"),
        ("ff02::1", "multicast", "ff00::/8"),
        ("4000::1", "reserved", "::/0"),
        # Another address inside is the one that counts.
        ("::ffff:127.0.0.1", "loopback", "127.0.0.0/8"),
        ("2002:a00:1::", "private", "10.0.0.0/8"),
        ("64:ff9b::192.168.0.1", "private", "192.168.0.0/16"),
        ("2001:0:808:808:0:0:f5ff:fffe", "private", "10.0.0.0/8"),
    ],
)
def test_special_range__names_every_range(address: str, name: str, network: str) -> None:
    """Each range of the registries is known by name and network."""
    assert special_range(address) == SpecialRange(name, network)


@pytest.mark.parametrize(
    "address",
    [
        *["8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.0", "223.255.255.255"],
        *["192.31.196.1", "2606:4700::1111", "2001:4860:4860::8888", "2a00::1", *ISLANDS],
        *["::ffff:8.8.8.8", "2002:808:808::", "64:ff9b::8.8.8.8", "2001:0:808:808:0:0:f7f7:f7f7"],
    ],
)
def test_special_range__leaves_public_addresses_alone(address: str) -> None:
    """Neighbours of special ranges, reachable islands in them and public embedded addresses are public."""
    assert special_range(address.partition("/")[0]) is None


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_special_range__misses_nothing_that_python_knows(address: IPv4Address | IPv6Address) -> None:
    """What Python calls private, loopback, link-local, multicast, reserved or unspecified is not public."""
    if any(address in ip_network(island, strict=False) for island in (*ISLANDS, *EMBEDDING)):
        return  # reachable by the registry, or judged by the address inside
    if (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
    ):
        assert special_range(str(address)) is not None


def test_special_range__of_no_address_is_an_error() -> None:
    """A name where an address should be is a mistake of ours, not a public address."""
    with pytest.raises(ValueError, match="example"):
        special_range("example.org")


def test_allowed__lifts_only_what_it_names() -> None:
    """A range that the user allows is not refused, its neighbours still are, embedded addresses included."""
    allowed = Allowed.parse(["10.1.0.0/16", " 127.0.0.1 ", "fd00::/8"])
    assert refused_range("10.1.2.3", allowed) is None
    assert refused_range("::ffff:10.1.2.3", allowed) is None
    assert refused_range("127.0.0.1", allowed) is None
    assert refused_range("fd00::1", allowed) is None
    assert refused_range("8.8.8.8", allowed) is None
    assert refused_range("10.2.0.1", allowed) == SpecialRange("private", "10.0.0.0/8")
    assert refused_range("127.0.0.2", allowed) == SpecialRange("loopback", "127.0.0.0/8")


def test_allowed__grows_by_the_range_of_a_literal_seed() -> None:
    """A seed that is a special address allows its own range, once."""
    seen = special_range("127.0.0.1")
    assert seen is not None
    allowed = Allowed().with_range(seen).with_range(seen)
    assert len(allowed.networks) == 1
    assert refused_range("127.9.9.9", allowed) is None
    assert refused_range("10.0.0.1", allowed) is not None


@pytest.mark.parametrize("text", ["10.0.0.1/8", "localhost", "", "10.0.0.0/33", "10.0.0"])
def test_allowed__refuses_what_is_no_range(text: str) -> None:
    """The message names the text and says what to write instead."""
    with pytest.raises(UsageError, match="is not an address range") as caught:
        Allowed.parse([text], where="--allow-address")
    assert repr(text) in str(caught.value)
    assert caught.value.todo


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "a.localhost", "localhost."])
def test_is_loopback_name__knows_localhost(host: str) -> None:
    """RFC 6761 names mean this machine without asking the DNS."""
    assert is_loopback_name(host)


def test_is_loopback_name__is_not_fooled() -> None:
    """Names that only look like it are names."""
    assert not is_loopback_name("notlocalhost")
    assert not is_loopback_name("localhost.example.org")


def test_is_loopback__knows_every_spelling() -> None:
    """IPv4, IPv6 and IPv4 inside IPv6."""
    assert is_loopback("127.1.2.3")
    assert is_loopback("::1")
    assert is_loopback("::ffff:127.0.0.1")
    assert not is_loopback("128.0.0.1")
    assert not is_loopback("::2")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("[::ffff:127.0.0.1]", "::ffff:7f00:1"),
        ("example.org", None),
        ("1.example", None),
        ("a1", None),
    ],
)
def test_literal_address__sees_addresses_through_their_spelling(host: str, address: str | None) -> None:
    """After the normal form no spelling of an address passes for a name."""
    assert literal_address(split(normal_form(f"http://{host}/")).host) == address


def test_web_port__blocks_the_ports_of_other_protocols() -> None:
    """Web ports and unassigned ones pass, those of mail, shells and the like and impossible ones do not."""
    assert all(map(web_port, [80, 443, 8000, 8080, 8443, 3000, 65535]))
    assert not any(map(web_port, [0, 1, 21, 22, 23, 25, 53, 110, 143, 587, 993, 2049, 6000, 6667, 10080]))
    assert not any(map(web_port, [-1, 65536]))
