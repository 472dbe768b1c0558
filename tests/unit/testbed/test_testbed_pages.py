"""Page bodies and what they link to."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import statistics
import zlib
from collections.abc import Callable

import pytest

from weft.graph import Graph, Recipe, generate
from weft.testbed.links import GONE, MOVED, codes_of
from weft.testbed.options import PLAIN, Options
from weft.testbed.pages import CHARSETS
from weft.testbed.topics import words
from weft.testbed.traits import CHARSET, DUPLICATE, META_ROBOTS
from weft.testbed.web import Web

Reader = Callable[[Web, int], list[tuple[str, bool]]]


def changed(graph: Graph, **changes: object) -> Web:
    """The plain web with some options changed."""
    return Web(graph, dataclasses.replace(PLAIN, **changes), seed=5, port=8080)  # type: ignore[arg-type]


def test_pages__plain_web_equals_its_graph(
    plain: Web, links_on: Reader, embedded_in: Callable[[Web, int], list[str]]
) -> None:
    """On every page a browser finds exactly the graph's links, in order, and nothing else to fetch."""
    for page in range(plain.graph.pages):
        wanted = [plain.url(int(target)) for target in plain.graph.links_of(page)]
        assert [url for url, _ in links_on(plain, page)] == wanted
        assert embedded_in(plain, page) == []


def test_pages__links_are_what_the_web_says(wild: Web, links_on: Reader) -> None:
    """With all hazards the links on a page are those that the truth is worked out from."""
    for page in range(0, wild.graph.pages, 3):
        original = wild.pages.original(page)
        assert [url for url, _ in links_on(wild, page)] == wild.links(page)
        assert wild.links(page) == wild.links(original)


def test_pages__links_are_written_in_several_ways(plain: Web) -> None:
    """From the root, relative and absolute, most of them from the root."""
    hrefs = [href for page in range(500) for href in re.findall(rb'href="([^"]*)"', plain.body(page))]
    inside = [href for href in hrefs if plain.bases[0] not in href]
    absolute = sum(href.startswith(b"http://") for href in inside) / len(inside)
    rooted = sum(href.startswith(b"/") for href in inside) / len(inside)
    assert rooted > 0.5
    assert absolute > 0.1
    assert 1 - rooted - absolute > 0.02


def test_pages__same_seed_same_bytes(graph: Graph, wild: Web) -> None:
    """A page's bytes follow from seed and page, in any order, with any ports of the same length."""
    again = Web(graph, Options(), seed=5).at(8080)
    for page in reversed(range(0, graph.pages, 17)):
        assert again.body(page) == wild.body(page)


def test_pages__bytes_never_change_between_versions(plain: Web) -> None:
    """The bytes of a seed are a promise: other machines and later versions serve the same."""
    digest = hashlib.sha1(usedforsecurity=False)
    for page in range(0, plain.graph.pages, 10):
        digest.update(plain.body(page))
    assert digest.hexdigest() == "2b71501d519801cb1587704e8a0128a69f05119d"


def test_pages__other_seed_other_bytes(graph: Graph, plain: Web) -> None:
    """Another seed is another web on the same graph."""
    other = Web(graph, PLAIN, seed=6, port=8080)
    assert other.body(0) != plain.body(0)


def test_pages__no_two_are_the_same(wild: Web) -> None:
    """Pages differ, except for the share that is meant to be the same as its neighbour."""
    bodies = [wild.digest(page) for page in range(wild.graph.pages)]
    duplicates = [page for page in range(wild.graph.pages) if wild.traits.special[page] & DUPLICATE]
    assert len(set(bodies)) == len(bodies) - len(duplicates)
    assert all(bodies[page] == bodies[page - 1] for page in duplicates)
    assert len(duplicates) / len(bodies) == pytest.approx(0.05, abs=0.02)


def test_pages__look_like_real_ones() -> None:
    """Size, tags and compression are those of archived pages."""
    web = Web(generate(Recipe(sites=200, pages=10_000, links_per_page=22), seed=2), PLAIN, seed=2)
    bodies = [web.body(page) for page in range(0, 10_000, 10)]
    total = sum(map(len, bodies))
    assert statistics.median(map(len, bodies)) == pytest.approx(15_000, rel=0.1)
    assert total / len(bodies) == pytest.approx(19_000, rel=0.1)
    assert 38 < total / sum(len(re.findall(rb"<[a-z]", body)) for body in bodies) < 50
    assert 0.20 < sum(len(zlib.compress(body, 1)) for body in bodies) / total < 0.26


def test_pages__share_of_failing_links_is_as_asked(wild: Web) -> None:
    """About 15 % of the links lead nowhere, about 3 % of the others through a redirect."""
    codes = [code for page in range(wild.graph.pages) for code in codes_of(wild.scene, page)]
    gone = [code for code in codes if code >= GONE]
    moved = [code for code in codes if MOVED <= code < GONE]
    assert len(gone) / len(codes) == pytest.approx(0.15, abs=0.01)
    assert len(moved) / (len(codes) - len(gone)) == pytest.approx(0.03, abs=0.01)


def test_pages__hazards_leave_the_graph_whole(wild: Web) -> None:
    """Without the missing pages, and with redirects followed, a page links to what the graph says."""
    for page in range(wild.graph.pages):
        kept = [code % MOVED for code in codes_of(wild.scene, page) if code < GONE]
        assert kept == wild.graph.links_of(page).tolist()


def test_pages__nofollow_is_written_where_it_is_meant(graph: Graph, links_on: Reader) -> None:
    """A share of the links says nofollow."""
    web = changed(graph, nofollow=0.2)
    said = [nofollow for page in range(300) for _, nofollow in links_on(web, page)]
    assert sum(said) / len(said) == pytest.approx(0.2, abs=0.03)


def test_pages__charsets_are_declared_where_they_say(graph: Graph) -> None:
    """A page in another charset decodes in it and declares it in its header, in meta, or nowhere."""
    web = changed(graph, charsets=1.0)
    seen = set()
    for page in range(200):
        assert web.traits.special[page] & CHARSET
        charset, declared = web.pages.charset(page)
        seen.add((charset, declared))
        web.body(page).decode(charset)
        header = web.answer(*web.locate(web.url(page))).headers
        assert (b"charset=" in header) == (declared == "header")
        assert (b"charset=%b" % charset.encode() in web.body(page)[:300]) == (declared == "meta")
    assert seen == set(CHARSETS)


def test_pages__robots_meta_tags_are_written(graph: Graph) -> None:
    """A page with a robots meta tag says what the truth thinks it says."""
    web = changed(graph, meta_robots=0.5)
    for page in range(200):
        said = re.search(rb'<meta name="robots" content="([^"]*)">', web.body(page))
        assert bool(said) == bool(web.traits.special[page] & META_ROBOTS)
        assert (said[1].decode() if said else "") == web.pages.meta_robots(page)


def test_pages__very_many_links_and_bytes_fit() -> None:
    """A page with thousands of links and one of a megabyte are written whole."""
    star = Graph.from_links([5_000], [(0, page) for page in range(1, 5_000)], parent=[-1] + [0] * 4_999)
    web = Web(star, dataclasses.replace(PLAIN, median_bytes=900_000, size_spread=0.0), seed=1)
    assert web.body(0).count(b"href=") == 4_999
    assert len(web.body(1)) == pytest.approx(900_000, rel=0.01)
    assert web.body(0).endswith(b"</html>\n")


@pytest.mark.parametrize("links", [1, 99, 100, 101, 400])
def test_pages__every_page_fits_into_its_buffers(links: int) -> None:
    """However many links fail, move or say nofollow, whatever the charset: no byte is written past the buffers."""
    star = Graph.from_links([links + 1], [(0, page) for page in range(1, links + 1)], parent=[-1] + [0] * links)
    wild = Options(failing=0.9, redirects=1.0, nofollow=1.0, charsets=1.0, dynamic=1.0, size_spread=0.0)
    for median in (1_000, 300_000):
        web = Web(star, dataclasses.replace(wild, median_bytes=median), seed=links)
        body = web.body(0)
        assert body.count(b"href=") == len(web.links(0))
        hrefs, buffer = web.pages._hrefs, web.pages._buffer
        assert len(hrefs) > sum(map(len, re.findall(rb'href="([^"]*)', body)))
        assert len(buffer) > len(body) - 1_000


def test_topics__words_are_in_titles_texts_links_and_urls(links_on: Reader) -> None:
    """Each page has words of its topic, and links often say what they lead to; where they lead, and which page an
    address is, stays as it was.
    """
    graph = generate(Recipe(sites=10, pages=200, largest_site=60, topics=4), seed=5)
    web = changed(graph, topic_words=4)
    assert web.topics is not None
    topics, told, named = web.topics.topics, [0, 0], 0
    for page in range(graph.pages):
        body, own = web.body(page).decode(), words(int(topics[page]))
        assert any(word in body.partition("</title>")[0].partition("<title>")[2] for word in own)
        assert sum(body.count(word) for word in own) >= 5
        assert [url for url, _ in links_on(web, page)] == [web.url(int(target)) for target in graph.links_of(page)]
        assert web.page(web.url(page)) == page
        named += any(word in web.url(page).rsplit("/", 2)[-1] + web.url(page).rsplit("/", 2)[-2] for word in own)
        said = re.findall(r"<a [^>]*>([^<]*)</a>", body)
        for target, text in zip(graph.links_of(page), said, strict=True):
            told[any(word in text for word in words(int(topics[target])))] += 1
    assert 0.5 < told[1] / sum(told) < 0.7
    assert 0.35 < named / graph.pages < 0.65
