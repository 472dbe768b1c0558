"""Links that were followed before: what is kept, what is forgotten, and how slowly."""

from __future__ import annotations

import pytest

from weft.frontier import remembered
from weft.frontier.remembered import Remembered

ORIGIN = "http://a.example"


def filled(links: Remembered, site: int, count: int) -> dict[str, int]:
    """Have so many relative links of a site remembered."""
    relative = links.of(site, ORIGIN)[0]
    relative.update((f"/{number}", number + 1) for number in range(count))
    links.added(count)
    return relative


def test_absolute_links__are_shared_by_all_sites_where_they_mean_the_same() -> None:
    """Relative ones never are, and another origin of a site has its own."""
    shared, separate = Remembered(shared=True), Remembered(shared=False)
    assert shared.of(1, ORIGIN) is shared.of(1, ORIGIN)
    assert shared.of(1, ORIGIN)[1] is shared.of(2, "http://b.example")[1]
    assert separate.of(1, ORIGIN)[1] is not separate.of(2, "http://b.example")[1]
    for links in (shared, separate):
        assert links.of(1, ORIGIN)[0] is not links.of(2, ORIGIN)[0]
        assert links.of(1, ORIGIN)[0] is not links.of(1, "https://a.example")[0]
        assert links.of(1, ORIGIN)[2] is not links.of(1, ORIGIN)[0]


@pytest.mark.parametrize("shared", [True, False])
def test_links__are_forgotten_when_there_are_too_many(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once for who asks, and a few with each page for the processor."""
    monkeypatch.setattr(remembered, "_MOST", 1000)
    monkeypatch.setattr(remembered, "_AT_ONCE", 200)
    links = Remembered(shared=shared)
    first = filled(links, 1, 600)
    absolute = links.of(1, ORIGIN)[1]
    absolute["http://b.example/"] = 7
    assert links.of(1, ORIGIN)[0] is first
    second = filled(links, 2, 600)
    assert links.of(1, ORIGIN)[0] == links.of(2, ORIGIN)[0] == links.of(1, ORIGIN)[1] == {}
    left = len(first) + len(second) + len(absolute)
    assert 1201 - 200 <= left < 1201
    pages = 0
    while first or second or absolute:
        links.added(0)
        pages += 1
    assert 5 <= pages <= 10


def test_links__are_let_go_faster_than_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that have hundreds of new links each do not keep twice what is to be remembered."""
    monkeypatch.setattr(remembered, "_MOST", 20_000)
    links = Remembered(shared=True)
    kept: dict[int, dict[str, int]] = {}
    most = 0
    for page in range(400):
        relative = links.of(1, ORIGIN)[0]
        kept[id(relative)] = relative
        relative.update((f"/{page}/{number}", number + 1) for number in range(300))
        links.added(300)
        most = max(most, sum(map(len, kept.values())))
    assert 19_000 < most < 22_000


def test_links__of_a_site_without_pages_are_let_go() -> None:
    """Its own; what it shares with others stays."""
    links = Remembered(shared=True)
    own = filled(links, 1, 50)
    links.of(1, ORIGIN)[1]["http://b.example/"] = 7
    links.forget(1)
    links.added(0)
    assert own == {}
    assert links.of(1, ORIGIN)[0] == {}
    assert links.of(2, ORIGIN)[1] == {"http://b.example/": 7}
