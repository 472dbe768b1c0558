"""Sites, origins, parts and registered domains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.urls import (
    Unusable,
    host_of,
    normal_form,
    origin_of,
    registered_domain,
    site_of,
    split,
    target_of,
)


@pytest.mark.parametrize(
    ("url", "site", "origin", "parts"),
    [
        ("http://a.org/", "a.org", "http://a.org", ("http", "a.org", 80, "/")),
        ("https://a.org/b?c", "a.org", "https://a.org", ("https", "a.org", 443, "/b?c")),
        ("http://a.org:443/", "a.org:443", "http://a.org:443", ("http", "a.org", 443, "/")),
        ("https://a.org:80/", "a.org:80", "https://a.org:80", ("https", "a.org", 80, "/")),
        ("http://1.2.3.4:8080/", "1.2.3.4:8080", "http://1.2.3.4:8080", ("http", "1.2.3.4", 8080, "/")),
        ("http://[::1]/a", "[::1]", "http://[::1]", ("http", "[::1]", 80, "/a")),
        ("https://[::1]:8443/", "[::1]:8443", "https://[::1]:8443", ("https", "[::1]", 8443, "/")),
        ("http://s/", "s", "http://s", ("http", "s", 80, "/")),
    ],
)
def test_parts__are_cut_at_the_right_places(url: str, site: str, origin: str, parts: tuple[str, str, int, str]) -> None:
    """Names, addresses and ports in all combinations."""
    assert normal_form(url) == url
    assert site_of(url) == site
    assert origin_of(url) == origin
    assert split(url) == parts
    assert target_of(url) == parts[3]
    assert host_of(site) == parts[1]


@given(
    st.sampled_from(["http", "https"]),
    st.sampled_from(["a.org", "[2001:db8::1]", "10.0.0.1", "localhost"]),
    st.integers(1, 65535),
    st.text("ab/:?@.", max_size=12),
)
def test_parts__put_together_are_the_url(scheme: str, host: str, port: int, rest: str) -> None:
    """Nothing is lost or made up by cutting a URL in normal form."""
    url = normal_form(f"{scheme}://{host}:{port}/{rest}")
    assert not isinstance(url, Unusable)
    parts = split(url)
    assert (parts.scheme, parts.host, parts.port) == (scheme, host, port)
    assert origin_of(url) + parts.target == url
    assert f"{parts.scheme}://{site_of(url)}{target_of(url)}" == url


@pytest.mark.parametrize(
    ("site", "domain"),
    [
        ("www.example.org", "example.org"),
        ("www.example.org:8080", "example.org"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("someone.github.io", "someone.github.io"),
        ("github.io", "github.io"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("localhost:8080", "localhost"),
        ("127.0.0.1:8080", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("[2001:db8::1]:8080", "[2001:db8::1]"),
        ("www.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("a..b", "a..b"),
        (".", "."),
    ],
)
def test_registered_domain__of_every_kind_of_host(site: str, domain: str) -> None:
    """Ports do not matter; what cannot be registered stands for itself."""
    assert registered_domain(site) == domain
