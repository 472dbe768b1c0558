"""The order in which seeds are written: by name, label by label from the right, so that sites of one domain stand side
by side; then by port, scheme and path.

>>> sorted(["http://b.a.org/", "http://a.com/", "https://a.org/x", "http://a.org/", "http://a-b.org/"], key=by_name)
['http://a.com/', 'http://a.org/', 'https://a.org/x', 'http://b.a.org/', 'http://a-b.org/']
"""

from __future__ import annotations

from weft.urls import literal_address, split


def turned(host: str) -> str:
    """A host name as it is sorted; an address stays as it is.

    >>> turned("www.example.org"), turned_back(turned("1.example.org")), turned("127.0.0.1")
    ('org,example,www', '1.example.org', '127.0.0.1')
    """
    return host if literal_address(host) is not None else ",".join(reversed(host.split(".")))


def turned_back(key: str) -> str:
    """The name that was turned."""
    return ".".join(reversed(key.split(",")))


def by_name(url: str) -> tuple[str, int, str, str]:
    """What URLs in normal form are sorted by."""
    parts = split(url)
    usual = parts.port == (443 if parts.scheme == "https" else 80)
    return turned(parts.host), 0 if usual else parts.port, parts.scheme, parts.target
