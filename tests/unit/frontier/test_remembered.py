"""Links that were followed before: what is known again, where, and what is forgotten."""

from __future__ import annotations

import numpy as np
import pytest

from weft.frontier.local.remembered import ID_BITS, Remembered
from weft.model import Kind
from weft.parse.links import Link, PageLinks

SECRET = np.array([3, 7], np.uint64)
BASE = "http://a.example/news/index.html"
SITE = ("a.example", "http://a.example", "http://a.example/news/", BASE)
FOLDER = ("a.example", "http://a.example", "http://a.example/", "http://a.example/")
QUERY = ("a.example", "http://a.example", "http://a.example/news/", f"{BASE}?x")
OTHER = ("b.example", "http://b.example", "http://b.example/news/", "http://b.example/news/index.html")
WRITTEN = (
    "/a",
    "b",
    "?c",
    "http://c.example/",
    "https://c.example/d",
    "//c.example/e",
    "httpx",
    "http:/",
    "ü",
    " ",
    "\n?c",
)


def made(*texts: str, kind: int = Kind.A) -> list[Link]:
    """Links that are texts."""
    return [(text, int(kind)) for text in texts]


def on_page(*texts: str) -> PageLinks:
    """Links of a page; those that are not in ASCII are no spans."""
    page = b""
    spans: list[int] = []
    others: list[Link] = []
    places: list[int] = []
    for text in texts:
        if text.isascii():
            page += b"<"
            spans += (len(page), len(page) + len(text))
            page += text.encode()
        else:
            others.append((text, int(Kind.A)))
            places.append(len(spans) // 2)
    return PageLinks(page, np.frombuffer(page, np.uint8), np.array(spans, np.int64), others, places)


def learn(links: Remembered, *texts: str, at: tuple[str, str, str, str] = SITE, kind: int = Kind.A) -> None:
    """Have links remembered, each with a number of its own."""
    _, unknown = links.look_up(made(*texts, kind=kind), *at)
    links.remember({key: place + 1 for place, key, _, _ in unknown})


@pytest.mark.parametrize("form", [made, on_page])
def test_links__are_known_again_in_whatever_form_a_page_has_them(form: object) -> None:
    """As spans of the page or as texts; what is not known is told in the order of the page, with its text."""
    links = Remembered(SECRET, shared=True, ranked=False)
    learn(links, *WRITTEN)
    on = form(*WRITTEN, "/new", "ünew", "#top", "/a")  # type: ignore[operator]
    found, unknown = links.look_up(on, *SITE)
    assert found == [*range(1, len(WRITTEN) + 1), 0, 0, 0, 1]
    assert [(place, written) for place, _, written, _ in unknown] == [
        (len(WRITTEN), "/new"),
        (len(WRITTEN) + 1, "ünew"),
    ]
    assert list(on) == made(*WRITTEN, "/new", "ünew", "#top", "/a")


@pytest.mark.parametrize(
    ("at", "shared", "known"),
    [
        (FOLDER, True, {"/a", "//c.example/e", "http://c.example/", "https://c.example/d"}),
        (QUERY, True, set(WRITTEN) - {"?c", " ", "\n?c"}),
        (OTHER, True, {"http://c.example/", "https://c.example/d"}),
        (OTHER, False, set()),
    ],
)
def test_links__mean_something_relative_to_where_they_are(
    at: tuple[str, str, str, str], shared: bool, known: set[str]
) -> None:
    """A path is the origin's, another link its folder's; a query, and nothing but whitespace, the page's own. An
    absolute link is the same on every site, where nothing depends on the site.
    """
    links = Remembered(SECRET, shared=shared, ranked=False)
    learn(links, *WRITTEN)
    found, _ = links.look_up(on_page(*WRITTEN), *at)
    assert {text for text, target in zip(WRITTEN, found, strict=True) if target} == known


def test_parts_and_links_not_followed__are_remembered_apart() -> None:
    """A part of a page may be let in where a page is not, and what is not followed was never offered."""
    links = Remembered(SECRET, shared=True, ranked=False)
    learn(links, "/a", kind=Kind.IMAGE)
    assert links.look_up(made("/a"), *SITE)[0] == [0]
    assert links.look_up(made("/a", kind=Kind.STYLE), *SITE)[0] == [1]
    assert links.look_up(made("/a"), *SITE, followed=False)[0] == [0]
    assert links.look_up(made("/a", kind=Kind.AREA), *SITE)[0] == [0]


def test_links__that_lead_nowhere_are_known_too() -> None:
    """They are not resolved again."""
    links = Remembered(SECRET, shared=True, ranked=False)
    _, unknown = links.look_up(made("mailto:a@b.example"), *SITE)
    links.remember({unknown[0][1]: 0})
    assert links.look_up(made("mailto:a@b.example"), *SITE) == ([0], [])


def test_keys_of_urls__come_back_with_their_ids_where_pages_are_ranked() -> None:
    """Above them, as they were given."""
    links = Remembered(SECRET, shared=True, ranked=True)
    targets = [(1 << 63 | number) << ID_BITS | 1 << 63 | number for number in range(len(WRITTEN))]
    _, unknown = links.look_up(on_page(*WRITTEN), *SITE)
    links.remember({key: targets[place] for place, key, _, _ in unknown})
    assert links.look_up(on_page(*WRITTEN), *SITE) == (targets, [])


def test_links__that_are_very_long_are_never_remembered() -> None:
    """Others beside them are."""
    links = Remembered(SECRET, shared=True, ranked=False)
    _, unknown = links.look_up(on_page("/" + 70_000 * "a", "/b"), *SITE)
    assert [key != 0 for _, key, _, _ in unknown] == [False, True]


def test_links__take_the_place_of_the_oldest_where_there_is_no_room() -> None:
    """So many are remembered and no more; what is remembered is true, whatever was forgotten."""
    links = Remembered(SECRET, shared=True, ranked=True, sets=64)
    texts = [f"/{number}" for number in range(3000)]
    for begin in range(0, 3000, 10):
        _, unknown = links.look_up(on_page(*texts[begin : begin + 10]), *SITE)
        links.remember({key: (begin + at + 1) << ID_BITS | begin + at + 1 for at, key, _, _ in unknown})
    found, unknown = links.look_up(on_page(*texts), *SITE)
    known = [place for place, target in enumerate(found) if target]
    assert all(found[place] == (place + 1) << ID_BITS | place + 1 for place in known)
    assert len(known) == 256 == 3000 - len(unknown)
    assert min(known) > 2000


def test_many_links__of_one_page_fit() -> None:
    """Room grows with what comes."""
    links = Remembered(SECRET, shared=True, ranked=False)
    texts = [f"/{number}" for number in range(5000)]
    learn(links, *texts, at=(*SITE[:3], BASE + 100_000 * "x"))
    assert sum(map(bool, links.look_up(on_page(*texts), *SITE)[0])) > 4990
