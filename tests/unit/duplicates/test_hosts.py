"""Duplicate hosts by the five heuristics of P3 4.3, on sites whose contents are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.duplicates.hosts import HEURISTICS, SiteContents, judge, write_list
from weft.frontier.duphosts import read_duphosts


def site(name: str, contents: list[int], home: int | None = None) -> SiteContents:
    """A site; its home page is the first content."""
    return SiteContents(name, contents[0] if home is None else home, np.unique(np.array(contents, np.int64)))


def pairs(sites: list[SiteContents]) -> dict[str, set[tuple[str, str]]]:
    """By heuristic: replica and original."""
    found = judge(sites).replicas
    return {name: {(pair.replica, pair.original) for pair in some} for name, some in found.items()}


def test_heuristics__say_what_the_paper_says() -> None:
    """Equal home pages; one more content; so many per cent of the contents of both, and at least two."""
    found = pairs(
        [
            site("a.example", list(range(1, 11))),
            site("mirror.example", list(range(1, 11))),
            site("aged.example", [*range(1, 9), 90, 91]),
            site("new-home.example", [99, *range(2, 8), 92, 93, 94], home=99),
            site("under-construction.example", [200]),
            site("parked.example", [200]),
            site("shares-one.example", [1, 300, 301, 302]),
            site("other.example", [1, 400, 401, 5]),
        ]
    )
    mirror, aged, other = (f"{name}.example" for name in ("mirror", "aged", "other"))
    built = ("under-construction.example", "parked.example")
    assert {original for some in found.values() for _, original in some} == {"a.example", "parked.example"}
    assert {replica for replica, _ in found["same-home"]} == {mirror, aged, other, "shares-one.example", built[0]}
    assert {replica for replica, _ in found["same-home-and-1-doc"]} == {mirror, aged, other}
    assert {replica for replica, _ in found["dups100"]} == {mirror}
    assert {replica for replica, _ in found["dups80"]} == {mirror, aged}
    assert {replica for replica, _ in found["dups60"]} == {mirror, aged, "new-home.example"}
    assert built in found["same-home"]


def test_original__is_the_larger_one_and_then_by_the_rule_of_www() -> None:
    """Of a registered domain the name with www., of longer names that without."""
    twins = [site(name, [1, 2, 3]) for name in ("example.org", "www.example.org")]
    assert pairs(twins)["dups100"] == {("example.org", "www.example.org")}
    longer = [site(name, [1, 2, 3]) for name in ("www.a.example.org", "a.example.org")]
    assert pairs(longer)["dups100"] == {("www.a.example.org", "a.example.org")}
    sizes = [site("www.example.org", [1, 2, 3, 4]), site("example.org", [1, 2, 3, 4, 5])]
    assert pairs(sizes)["dups80"] == {("www.example.org", "example.org")}


@settings(max_examples=60)
@given(st.lists(st.sets(st.integers(0, 12), min_size=1, max_size=8), min_size=1, max_size=14), st.integers(0, 2))
def test_dups__finds_what_comparing_each_with_each_finds(contents: list[set[int]], which: int) -> None:
    """Every replica has so much in common with its original; no two originals have with one another."""
    name, share = [("dups60", 0.6), ("dups80", 0.8), ("dups100", 1.0)][which]
    of = {f"s{number}.example": some for number, some in enumerate(contents)}

    def equal(one: str, other: str) -> bool:
        both = len(of[one] & of[other])
        return both >= 2 and both >= share * max(len(of[one]), len(of[other])) - 1e-9

    found = pairs([site(each, sorted(some)) for each, some in of.items()])[name]
    replicas = {replica for replica, _ in found}
    assert all(equal(*pair) and pair[1] not in replicas for pair in found)
    kept = [each for each in of if each not in replicas]
    assert not [(one, other) for one in kept for other in kept if one < other and equal(one, other)]


def test_list__is_read_back_by_the_next_crawl(tmp_path: Path) -> None:
    """What is written is what stands for what."""
    found = judge([site(name, [1, 2, 3]) for name in ("a.example", "bb.example", "127.0.0.1:8080")])
    path = tmp_path / "duphosts.txt"
    assert write_list(path, found, "dups100", tmp_path) == 2
    read = read_duphosts(str(path), www=False)
    assert read is not None
    names = ("a.example", "bb.example", "127.0.0.1:8080")
    assert {read.original_of(name) for name in names} == {"127.0.0.1:8080"}, "an address has no www."
    assert read.original_of("c.example") == "c.example"
    assert set(HEURISTICS) == set(found.replicas)
