"""What a crawl should see."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from weft.graph import Graph
from weft.testbed.options import PLAIN, Options
from weft.testbed.traits import ROBOTS_ERROR
from weft.testbed.truth import Expected, expected
from weft.testbed.web import Web

Reader = Callable[[Web, int], list[tuple[str, bool]]]


def crawl(web: Web, links_on: Reader) -> list[Expected]:
    """A crawl by a careless robot that knows nothing but bodies and headers: it asks for everything."""
    queue = web.seeds()
    seen = set(queue)
    for url in queue:
        site, path = web.locate(url)
        answer = web.answer(site, path)
        page = web.page(url)
        found = [link for link, _ in links_on(web, page)] if page is not None else []
        if answer.kind == "redirect":
            location = answer.headers.split(b"Location: ")[1].split(b"\r\n")[0].decode()
            found = [location if "://" in location else web.bases[site].decode() + location]
        queue += [link for link in dict.fromkeys(found) if link not in seen]
        seen.update(found)
    answers = ((url, web.answer(*web.locate(url))) for url in queue)
    return [Expected(url, answer.status, answer.kind) for url, answer in answers]


@pytest.mark.parametrize("options", [PLAIN, Options(robots_missing=0.0)])
def test_expected__is_what_a_crawl_finds(graph: Graph, options: Options, links_on: Reader) -> None:
    """The truth is the list, in order, of a breadth-first crawl that reads the pages themselves."""
    web = Web(graph, options, seed=5, port=8080)
    wanted = list(expected(web, obey_robots=False, obey_nofollow=False))
    assert wanted == crawl(web, links_on)
    assert sum(row.kind in {"page", "duplicate"} for row in wanted) == graph.pages


def test_expected__forbidden_pages_are_not_asked_for(graph: Graph) -> None:
    """A page under /private/ is met but not fetched; what only it links to is never met."""
    web = Web(graph, dataclasses.replace(PLAIN, robots_rules=1.0), seed=5)
    rows = list(expected(web))
    forbidden = [row for row in rows if row.kind == "disallowed"]
    assert forbidden
    assert all("/private/" in row.url and row.status == 0 for row in forbidden)
    assert all("/private/" not in row.url for row in rows if row.kind == "page")


def test_expected__sites_with_failing_robots_are_left_alone(graph: Graph) -> None:
    """robots.txt that cannot be had forbids the whole site (RFC 9309)."""
    web = Web(graph, dataclasses.replace(PLAIN, robots_errors=0.5), seed=5)
    errors = {
        web.url(graph.pages_of(site)[0]) for site in range(graph.sites) if web.traits.robots[site] == ROBOTS_ERROR
    }
    rows = {row.url: row for row in expected(web)}
    assert errors
    assert all(rows[url].kind == "robots-error" for url in errors)


def test_expected__nofollow_is_obeyed(graph: Graph) -> None:
    """With all links marked nofollow only the seeds are visited; so too with all pages marked."""
    for options in (dataclasses.replace(PLAIN, nofollow=1.0), dataclasses.replace(PLAIN, meta_robots=1.0)):
        web = Web(graph, options, seed=5)
        rows = list(expected(web))
        assert len(rows) < len(list(expected(web, obey_nofollow=False)))
    assert len(list(expected(Web(graph, dataclasses.replace(PLAIN, nofollow=1.0), seed=5)))) == graph.sites


def test_expected__sites_without_an_address_are_known_by_name_only(graph: Graph) -> None:
    """A domain whose DNS fails is met but cannot be asked."""
    web = Web(graph, dataclasses.replace(PLAIN, dns_failing=0.3, dns_silent=0.3), seed=5)
    kinds = [row.kind for row in expected(web)][: graph.sites]
    assert 0.3 < kinds.count("unresolved") / len(kinds) < 0.8
