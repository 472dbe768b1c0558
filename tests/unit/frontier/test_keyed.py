"""Keys of URLs, and what they decide: nobody who does not have the secret can have a page taken for another."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hostile.collisions import FORGED, VICTIM

from weft.errors import WeftError
from weft.frontier.durable.log import Commit
from weft.frontier.keyed import Keyed
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.holdings import Holdings
from weft.frontier.oracle import Oracle
from weft.frontier.politeness import Politeness
from weft.frontier.shared.contract import Found
from weft.model import Kind, PageNumber, Turn, UrlId
from weft.ordering import ordering_named
from weft.urls import fingerprint

from .conftest import Make, parsed

ATTACKER = "http://attacker.example/"
# The outputs of SipHash-2-4 for the bytes 0, 1, … of lengths 0 to 8 and 15, from its authors' reference code.
VECTORS = {
    0: 0x726FDB47DD0E0E31,
    1: 0x74F839C593DC67FD,
    2: 0x0D6C8009D9A94F5A,
    3: 0x85676696D7FB7E2D,
    4: 0xCF2794E0277187B7,
    5: 0x18765564CD99A68D,
    6: 0xCBC9466E58FEE3CE,
    7: 0xAB0200F58B01D137,
    8: 0x93F5F5799A932462,
    15: 0xA129CA6149BE45E5,
}


def quick(make: Make, **changes: Any) -> LocalFrontier:
    """A frontier without waits."""
    return make(politeness=Politeness(wait=0.0, connections=1, per_visit=100, margin=0.0), **changes)


def first_turn(frontier: LocalFrontier, seed: str) -> tuple[Any, Turn]:
    """Begin with a seed."""
    frontier.add_seed(seed)
    visit = frontier.visit()
    assert visit is not None
    turn = frontier.turn(visit)
    assert turn is not None
    return visit, turn


def test_key__is_siphash() -> None:
    """As its authors' code computes it."""
    keyed = Keyed(bytes(range(16)))
    assert {length: keyed.of_bytes(bytes(range(length))) for length in VECTORS} == VECTORS


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1)))
def test_key__is_the_same_one_by_one_and_many_at_a_time(urls: list[str]) -> None:
    """Of any text, and of any number of them."""
    keyed = Keyed(random.Random(3).randbytes(16))
    expected = [keyed.of(url) for url in urls]
    assert keyed.array_of(urls).tolist() == expected
    assert list(keyed.of_all(urls)) == expected


def test_key__of_more_than_there_is_room_for() -> None:
    """Long texts and many of them find room."""
    keyed = Keyed(bytes(16))
    urls = [f"http://a.example/{'x' * 30}{number}" for number in range(10_000)]
    long = "http://a.example/" + "y" * 200_000
    assert keyed.of_all([*urls, long]).tolist() == [Keyed(bytes(16)).of(url) for url in (*urls, long)]


def test_forged__has_the_public_fingerprint_of_the_victim_and_another_key() -> None:
    """The attack works on what is public, and on nothing else."""
    assert FORGED != VICTIM
    assert fingerprint(FORGED) == fingerprint(VICTIM)
    for secret in (bytes(16), bytes(range(16))):
        assert Keyed(secret).of(FORGED) != Keyed(secret).of(VICTIM)


@pytest.mark.parametrize("ordering", ["breadth-first", "opic"])
def test_frontier__takes_a_url_whose_id_was_forged_before_it(make: Make, ordering: str) -> None:
    """A page links to the forged URL first, to the victim then: both become pages."""
    frontier = quick(make, ordering=ordering_named(ordering))
    visit, turn = first_turn(frontier, ATTACKER)
    found, _ = frontier.discovery.follow(visit.site, turn, parsed(turn.url, FORGED, VICTIM, "/x"))
    assert found.targets == [fingerprint(FORGED), fingerprint(VICTIM), fingerprint(f"{ATTACKER}x")]
    frontier.ranking.visited(turn.page, found.keys)
    assert [frontier.pages.url_of(PageNumber(page)) for page in range(len(frontier.pages))] == [
        ATTACKER,
        FORGED,
        VICTIM,
        f"{ATTACKER}x",
    ]
    again, _ = frontier.discovery.follow(visit.site, turn, parsed(turn.url, VICTIM, FORGED))
    assert (again.targets, len(frontier.pages)) == ([fingerprint(VICTIM)] * 2, 4)
    if ordering == "opic":
        scores = frontier._heaps.arrays.score
        assert scores[1] == scores[2] == scores[3] > 0, "each has its own share"


def test_frontier__knows_its_pages_again(make: Make) -> None:
    """After a restart both are known, and neither is found anew; with another secret nothing is done at all."""
    frontier = quick(make)
    for url in (FORGED, VICTIM):
        frontier.add_seed(url)
    frontier.commits.commit(marks={})
    again = quick(make)
    again.commits.recover()
    for url in (VICTIM, FORGED):
        again.add_seed(url)
    assert len(again.pages) == 2
    with pytest.raises(WeftError, match="hash key"):
        quick(make, secret=bytes(16)).commits.recover()


@pytest.mark.parametrize("gaining", [False, True])
def test_workers__send_a_link_whose_id_was_forged_before_it(*, gaining: bool) -> None:
    """What was sent recently is not sent again, and that is told by keys, too."""
    holdings = Holdings(Keyed(bytes(16)), gaining=gaining)
    holdings.alone = False
    for url in (FORGED, VICTIM, FORGED):
        holdings.send("example", Found(url, Kind.A, 1, UrlId(7)))
    told = holdings.pack(Commit()).notices["example"]
    assert [link.url for link in told if isinstance(link, Found)] == [FORGED, VICTIM]


def test_oracle__gives_each_url_its_own_score(tmp_path: Path) -> None:
    """Scores from outside are found by keys."""
    keyed = Keyed(bytes(16))
    (tmp_path / "scores").write_text(f"{FORGED}\t0.5\n{VICTIM}\t0.25\n")
    oracle = Oracle.read(("true",), str(tmp_path / "scores"), "", keyed)
    found = oracle.look_up("true", keyed.array_of([VICTIM, FORGED, ATTACKER]))
    assert found[:2].tolist() == [0.25, 0.5]
    assert found[2] != found[2], "it is not there"


def test_chain__of_redirects_is_known_after_a_restart(make: Make) -> None:
    """A page that redirects over two others back to itself is fetched again, also where the crawl stopped meanwhile."""
    start, one, two = (f"http://a.example/{name}" for name in ("", "one", "two"))
    frontier = quick(make)
    visit, turn = first_turn(frontier, start)
    for steps, following in enumerate((one, two), 1):
        frontier.settle(visit, turn, None)
        frontier.redirects.follow(turn, following, Kind.REDIRECT, steps)
        found = frontier.turn(visit)
        assert found is not None
        turn = found
    visit.site.jar.store(["a=b"], 0.0)
    frontier.give_back(visit, turn)
    frontier.leave(visit)
    frontier.commits.commit(marks={})
    again = quick(make)
    again.commits.recover()
    resumed = again.visit()
    assert resumed is not None
    turn_again = again.turn(resumed)
    assert turn_again is not None
    assert turn_again.url == two
    resumed.site.jar.store(["a=b"], 0.0)
    assert again.redirects.comes_back(turn_again, start)
    assert not again.redirects.comes_back(turn_again, start), "once"
