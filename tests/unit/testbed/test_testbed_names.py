"""Hosts and addresses."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from weft.errors import UsageError
from weft.testbed.names import Names
from weft.testbed.options import PLAIN, Options


def named(sites: int, **changes: object) -> Names:
    """Names of a web with some options changed."""
    return Names(sites, dataclasses.replace(PLAIN, **changes), seed=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("naming", "per_domain"), [("names", 1), ("names", 3), ("names", 30), ("literals", 1), ("literals", 5)]
)
def test_names__every_host_leads_back_to_its_site(naming: str, per_domain: int) -> None:
    """A site is found by its host, in any case of letters, and by no other."""
    names = named(1_000, naming=naming, sites_per_domain=per_domain)
    hosts = [names.host(site) for site in range(1_000)]
    assert len(set(hosts)) == 1_000
    assert [names.site_of(host.upper().encode()) for host in hosts] == list(range(1_000))


@pytest.mark.parametrize(
    "host",
    [
        *(b"", b"test", b"site-1000.test", b"site-01.test", b"site--1.test", b"site-1.example", b"x.site-1.test"),
        *(b"dom-1.test", b"127.1.0.1", b"site-1.test.evil", b"\xff", b"site-\xb2.test"),
    ],
)
def test_names__what_is_no_host_is_not_found(host: bytes) -> None:
    """Names that look like ours but are not belong to no site."""
    assert named(1_000, www=0.0).site_of(host) == -1


@pytest.mark.parametrize("host", [b"127.1.0.0", b"127.1.0.251", b"127.1.4.1", b"127.0.0.1", b"127.1.0.01", b"10.1.0.1"])
def test_names__other_addresses_are_no_sites(host: bytes) -> None:
    """Literals are found only in the one form we write."""
    assert named(1_000, naming="literals").site_of(host) == -1


def test_names__sites_of_one_domain_lie_on_different_addresses() -> None:
    """An address's limit can be tested apart from a domain's."""
    names = named(400, sites_per_domain=4, sites_per_address=4)
    for first in range(0, 400, 4):
        assert len({names.address(site) for site in range(first, first + 4)}) == 4
    assert set(Counter(names.address(site) for site in range(400)).values()) == {4}


def test_names__share_of_www_is_as_asked() -> None:
    """About half of the sites begin with www."""
    names = named(2_000, www=0.5)
    assert sum(names.host(site).startswith("www.") for site in range(2_000)) == pytest.approx(1_000, rel=0.1)


def test_names__wildcard_domains_answer_to_any_name() -> None:
    """Where DNS answers every name, so does the server, with the domain's first site."""
    names = named(10, dns_wildcards=1.0)
    assert names.site_of(b"whatever.site-7.test") == 7
    assert names.site_of(b"whatever.site-70.test") == -1


def test_names__loopback_has_an_end() -> None:
    """More sites than loopback has addresses are refused."""
    with pytest.raises(UsageError, match="more than loopback has"):
        Names(20_000_000, Options(naming="literals", www=0.0), seed=1)
