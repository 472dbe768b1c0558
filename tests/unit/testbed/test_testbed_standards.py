"""Standard webs: they are listed, found by their names, and never change."""

from __future__ import annotations

import json

import pytest
from tests.commands import weft

from weft.errors import UsageError
from weft.testbed.standards import STANDARDS, Standard, digest, standard

DIGESTS = {
    "country-10k": "edbbb5b7d03e1caf",
    "polite-100": "f45549f485df1046",
    "crowded-1k": "6851b1d8f3704e40",
    "heavy-tls": "ee52958162042916",
    "farms-500": "6455de499b4e88e4",
    "hazards-102": "dadb08f03c0140f2",
    "mixed": "9f3281a2df15b5f5",
}
"""What was measured on a standard is worth nothing once one of these changes: make a new standard instead."""


@pytest.mark.parametrize("each", STANDARDS, ids=lambda each: each.name)
def test_standard__never_changes(each: Standard) -> None:
    """Graph, addresses, traits, hazards and some pages are what they were."""
    assert digest(each.web()) == DIGESTS[each.name]


def test_standard__has_the_same_digest_on_any_port() -> None:
    """Where a web is served is no part of it; with another seed it is another one."""
    polite = standard("polite-100")
    assert digest(polite.web().at(8080, 8443)) == DIGESTS["polite-100"]
    assert digest(polite.web(seed=1)) != DIGESTS["polite-100"]


def test_standard__has_the_same_pages_by_literals() -> None:
    """Only what sites are called differs."""
    polite = standard("polite-100")
    named, literal = polite.web(), polite.web(naming="literals")
    assert literal.url(0) == "http://127.1.0.1/"
    assert [literal.path(page) for page in range(200)] == [named.path(page) for page in range(200)]
    assert (literal.graph.links == named.graph.links).all()


def test_standards__are_listed_with_a_line_each() -> None:
    """`weft testbed list --standards`, for people and for programs."""
    assert [line.split()[0] for line in weft("testbed", "list", "--standards").splitlines()] == list(DIGESTS)
    told = [json.loads(line) for line in weft("testbed", "list", "--standards", "--json").splitlines()]
    assert {each["name"]: each["sites"] for each in told} == {each.name: each.recipe.sites for each in STANDARDS}


def test_standard__is_listed_by_its_name() -> None:
    """Its seeds are the home pages of its sites."""
    assert len(weft("testbed", "list", "--standard", "polite-100").splitlines()) == 100


def test_standard__takes_no_options_that_change_it() -> None:
    """Else it would be none; what it is called by can be chosen."""
    said = weft("testbed", "list", "--standard", "polite-100", "--sites", "7", "--www", "0", "--plain", code=2)
    assert "--sites, --www, --plain cannot be given with --standard" in said
    assert weft("testbed", "list", "--standard", "polite-100", "--naming", "literals").startswith("http://127.1.0.1")


def test_standard__an_unknown_name_is_told_with_those_that_are_known() -> None:
    """The message says what to choose of."""
    with pytest.raises(UsageError, match=r"there is no standard web 'large'.*country-10k"):
        standard("large")
