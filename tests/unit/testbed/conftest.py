"""Small webs that the tests of the testbed share, and a reader for pages."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urljoin

import pytest
from selectolax.lexbor import LexborHTMLParser

from weft.graph import Graph, Recipe, generate
from weft.testbed.options import PLAIN, Options
from weft.testbed.web import Web

Reader = Callable[[Web, int], list[tuple[str, bool]]]


@pytest.fixture(scope="session")
def graph() -> Graph:
    """A web of 40 sites and 2,000 pages."""
    return generate(Recipe(sites=40, pages=2_000), seed=5)


@pytest.fixture(scope="session")
def plain(graph: Graph) -> Web:
    """The graph as it is."""
    return Web(graph, PLAIN, seed=5, port=8080)


@pytest.fixture(scope="session")
def wild(graph: Graph) -> Web:
    """The graph with every hazard the default options have."""
    return Web(graph, Options(), seed=5, port=8080)


def _tree(web: Web, page: int) -> LexborHTMLParser:
    return LexborHTMLParser(web.body(page).decode(web.pages.charset(page)[0]))


@pytest.fixture(scope="session")
def links_on() -> Reader:
    """Reads the links on a page as a browser would: absolute addresses, and whether they say nofollow."""

    def read(web: Web, page: int) -> list[tuple[str, bool]]:
        here = web.url(page)
        found = [node.attributes for node in _tree(web, page).css("a[href]")]
        return [(urljoin(here, values["href"] or ""), values.get("rel") == "nofollow") for values in found]

    return read


@pytest.fixture(scope="session")
def embedded_in() -> Callable[[Web, int], list[str]]:
    """What on a page, beside its links, would make a browser fetch something."""

    def read(web: Web, page: int) -> list[str]:
        asking = "[src], [srcset], [action], [data], link, iframe, base, area"
        return [str(node.tag) for node in _tree(web, page).css(asking)]

    return read
