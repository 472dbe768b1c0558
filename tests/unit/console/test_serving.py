"""Where a console may be served, and by which names it is reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.console.serving import Wanted, check, where_of
from weft.errors import UsageError
from weft.operations.options import Place


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.7", "::", "2001:db8::7"])  # noqa: S104
def test_network__is_not_served_in_the_clear(address: str) -> None:
    """Beyond loopback there is TLS, or there is nothing; the message says what else to do."""
    with pytest.raises(UsageError) as caught:
        check(Wanted(place=Place(address, 8737), names=("crawl.example.org",)))
    assert "--certificate" in caught.value.todo
    assert "--behind-proxy" in caught.value.todo


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1"])
def test_loopback__needs_nothing(address: str) -> None:
    """It is the default."""
    check(Wanted(place=Place(address, 0)))


def test_halves__are_refused(tmp_path: Path) -> None:
    """A certificate without a key, one that is none, two who have it, and no name where one is needed."""
    place = Place("0.0.0.0", 0)  # noqa: S104
    no_file = tmp_path / "no.pem"
    for wanted in (
        Wanted(place=place, names=("a.example",), certificate=no_file),
        Wanted(place=place, names=("a.example",), key=no_file),
        Wanted(place=place, names=("a.example",), certificate=no_file, key=no_file),
        Wanted(place=place, names=("a.example",), certificate=no_file, key=no_file, behind_proxy=True),
        Wanted(place=place, behind_proxy=True),
    ):
        with pytest.raises(UsageError):
            check(wanted)


def test_names__are_those_of_the_place() -> None:
    """On loopback its address and localhost, with the port; behind a proxy what it is called there and nothing else."""
    here = where_of(Wanted(place=Place("127.0.0.1", 0)), 8737)
    assert here.hosts == {"127.0.0.1:8737", "localhost:8737"}
    assert here.scheme == "http"
    assert len(here.root) > 12
    assert here.root != where_of(Wanted(place=Place("127.0.0.1", 0)), 8737).root
    six = where_of(Wanted(place=Place("::1", 0)), 80)
    assert six.hosts == {"[::1]:80", "[::1]", "localhost:80", "localhost"}
    proxied = where_of(Wanted(place=Place("127.0.0.1", 0), names=("Crawl.example.org",), behind_proxy=True), 8737)
    assert proxied.hosts == {"crawl.example.org"}
    assert (proxied.scheme, proxied.root) == ("https", "")
    certified = Wanted(place=Place("0.0.0.0", 0), names=("a.example",), certificate=Path("x"), key=Path("y"))  # noqa: S104
    assert where_of(certified, 443).hosts == {"a.example", "a.example:443"}
    assert where_of(certified, 8443).hosts == {"a.example:8443"}
