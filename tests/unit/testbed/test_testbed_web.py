"""Addresses and answers of a web, without sockets."""

from __future__ import annotations

import dataclasses
import gzip
import re
import zlib
from xml.etree import ElementTree as ET

import brotli
import numpy as np
import pytest
import zstandard

from weft.errors import UsageError
from weft.graph import Graph
from weft.testbed.answers import Asked, Delivery
from weft.testbed.options import KINDS, PLAIN, Options
from weft.testbed.traits import PRIVATE, ROBOTS_ERROR, ROBOTS_MISSING, ROBOTS_OPEN, ROBOTS_RULES
from weft.testbed.web import Web


def changed(graph: Graph, *, tls_port: int | None = None, **changes: object) -> Web:
    """The plain web with some options changed."""
    options = dataclasses.replace(PLAIN, **changes)  # type: ignore[arg-type]
    return Web(graph, options, seed=5, port=8080, tls_port=tls_port)


def test_web__every_address_leads_back_to_its_page(wild: Web) -> None:
    """Page → URL → page, without a table."""
    assert [wild.page(wild.url(page)) for page in range(wild.graph.pages)] == list(range(wild.graph.pages))


def test_web__paths_follow_the_hierarchy(plain: Web) -> None:
    """Down to the fourth level a page lies in the directory of its parent."""
    graph = plain.graph
    for page in np.flatnonzero((graph.depth > 0) & (graph.depth < 5)).tolist():
        assert plain.path(page).startswith(plain.path(int(graph.parent[page])))


@pytest.mark.parametrize(
    "path",
    [
        *(b"/section-1", b"/index.html", b"/page-999999.html", b"/page--1.html", b"/old/", b"/sitemap.xml", b"//"),
        *(b"/gone-1.html", b"/orphan-0.html", b"/assets/img-0.png", b"/page-\xc2\xb2.html", b"/?id=0", b"*", b"/\xff"),
    ],
)
def test_web__everything_else_is_missing(plain: Web, path: bytes) -> None:
    """What is no page of a plain web is answered with 404."""
    assert plain.answer(0, path).status == 404


def test_web__dynamic_pages_have_queries(graph: Graph) -> None:
    """A share of the leaves has a question mark in its address, some an ampersand; both lead back."""
    web = changed(graph, dynamic=0.5)
    dynamic = [page for page in range(graph.pages) if b"?" in web.path(page)]
    leaves = int(web.traits.leaf.sum())
    assert len(dynamic) / leaves == pytest.approx(0.5, abs=0.05)
    assert any(b"&" in web.path(page) for page in dynamic)
    assert all(web.page(web.url(page)) == page for page in dynamic)
    assert all(web.answer(*web.locate(web.url(page))).status == 200 for page in dynamic)


def test_web__at_other_ports_only_the_ports_change(plain: Web) -> None:
    """The same web can be moved: where it is served is no part of it."""
    moved = plain.at(9090)
    assert moved.url(3) == plain.url(3).replace(":8080", ":9090")
    assert moved.body(3) == plain.body(3).replace(b":8080", b":9090")
    assert plain.at(80).url(3) == plain.url(3).replace(":8080", "")


def test_web__missing_pages_fail_as_they_must(graph: Graph) -> None:
    """Every kind of failure comes with its status or way of not answering, always the same one."""
    web = changed(graph, failing=0.3, failing_kinds=" ".join(f"{kind}=1" for kind in KINDS), retry_after_s=7)
    seen = {}
    for site in range(graph.sites):
        for number in range(web.hazards.count(site)):
            path = web.hazards.path(site, number)
            assert web.hazards.number(site, path) == number
            answer = web.answer(site, path)
            assert answer == web.answer(site, path)
            assert answer.kind == web.hazards.kind(site, number)
            seen[answer.kind] = answer
    assert set(seen) == set(KINDS)
    assert {kind: answer.status for kind, answer in seen.items() if kind.isdigit()} == {
        kind: int(kind) for kind in KINDS if kind.isdigit()
    }
    assert b"Retry-After: 7\r\n" in seen["503"].headers
    assert b"Retry-After: 7\r\n" in seen["429"].headers
    assert seen["soft-404"].status == 200
    assert seen["closed"].delivery is Delivery.CLOSED
    assert seen["malformed"].status == 0


def test_web__without_failing_nothing_fails(plain: Web) -> None:
    """With failing=0 no address is known to fail."""
    assert all(plain.hazards.count(site) == 0 for site in range(plain.graph.sites))


def test_web__old_addresses_redirect(graph: Graph) -> None:
    """/old/… answers 301 or 302 with the page's address, absolute or not."""
    web = changed(graph, redirects=0.1)
    answers = [web.answer(int(web.scene.site[page]), b"/old" + web.path(page)) for page in range(50)]
    assert {answer.status for answer in answers} == {301, 302}
    for page, answer in enumerate(answers):
        location = re.search(rb"Location: (.*)\r\n", answer.headers)
        assert location is not None
        assert location[1].decode() in {web.url(page), web.path(page).decode()}
    assert {b"http" in answer.headers for answer in answers} == {True, False}


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_web__compressed_pages_are_the_same_pages(graph: Graph, plain: Web, name: str) -> None:
    """What is sent compressed decodes to the page; a client that does not accept it gets it as it is."""
    web = changed(graph, compressed=1.0)
    answer = web.answer(0, b"/", Asked(encodings=name.encode()))
    assert b"Content-Encoding: %b\r\n" % name.encode() in answer.headers
    decode = {"gzip": gzip.decompress, "deflate": zlib.decompress, "br": brotli.decompress}
    decode["zstd"] = zstandard.ZstdDecompressor().decompress
    assert decode[name](answer.body) == plain.body(0)
    assert len(answer.body) < len(plain.body(0)) / 2
    assert web.answer(0, b"/").body == plain.body(0)


def test_web__chunks_and_latency_are_asked_for(graph: Graph) -> None:
    """The answer says how it wants to be sent, and when: the waits are log-normal."""
    web = changed(graph, chunked=1.0, latency_ms=100.0)
    waits = [web.answer(*web.locate(web.url(page))).wait for page in range(0, graph.pages, 5)]
    assert web.answer(0, b"/").delivery is Delivery.CHUNKED
    assert float(np.median(waits)) == pytest.approx(0.1, rel=0.2)
    assert max(waits) > 0.4


def test_web__cookies_are_set_once(graph: Graph) -> None:
    """A site that sets a cookie does so until the client has one."""
    web = changed(graph, cookies=1.0)
    assert b"Set-Cookie: session=" in web.answer(0, b"/").headers
    assert b"Set-Cookie" not in web.answer(0, b"/", Asked(cookie=True)).headers


def test_web__x_robots_tag_is_sent(graph: Graph) -> None:
    """A page drawn for it carries the header the truth knows."""
    web = changed(graph, x_robots=1.0)
    said = web.pages.x_robots(0).encode()
    assert b"X-Robots-Tag: %b\r\n" % said in web.answer(0, b"/").headers


def test_robots__kinds_have_their_shares_and_answers(graph: Graph) -> None:
    """Missing, failing, open and with rules: each answers as it should."""
    web = changed(
        graph, robots_missing=0.25, robots_errors=0.25, robots_rules=0.25, robots_delays=1.0, crawl_delay_s=3.5
    )
    kinds = web.traits.robots
    assert set(kinds.tolist()) == {ROBOTS_OPEN, ROBOTS_MISSING, ROBOTS_ERROR, ROBOTS_RULES}
    for site in range(graph.sites):
        answer = web.answer(site, b"/robots.txt")
        wanted = {ROBOTS_MISSING: 404, ROBOTS_ERROR: 503}.get(int(kinds[site]), 200)
        assert answer.status == wanted
        if wanted == 200:
            assert (b"Disallow: /private/\n" in answer.body) == (kinds[site] == ROBOTS_RULES)
            assert b"Crawl-delay: 3.5\n" in answer.body


def test_robots__a_section_is_moved_to_private(graph: Graph) -> None:
    """Where rules are, some pages lie under /private/, a whole branch of the site, and exist."""
    web = changed(graph, robots_rules=1.0)
    private = [page for page in range(graph.pages) if web.traits.special[page] & PRIVATE]
    assert private
    for page in range(graph.pages):
        below = web.path(page).startswith(b"/private/")
        assert below == bool(web.traits.special[page] & PRIVATE)
        site = int(web.scene.site[page])
        assert web.disallowed(site, web.path(page)) == below
        assert web.answer(site, web.path(page)).status == 200
        above = int(graph.parent[page])
        if above >= 0 and web.traits.special[above] & PRIVATE:
            assert below


def test_sitemaps__list_every_page_and_some_more(graph: Graph) -> None:
    """A file, a compressed one and an index: all list the site's pages, and pages only they know."""
    web = changed(graph, sitemaps=1.0, dynamic=0.5)
    forms = set()
    for site in range(graph.sites):
        name = web.crawling.sitemap(site)
        forms.add(name)
        assert f"Sitemap: {web.bases[site].decode()}{name}\n".encode() in web.answer(site, b"/robots.txt").body
        listed = _listed(web, site, name.encode())
        pages = [web.url(page) for page in graph.pages_of(site)]
        orphans = [web.crawling.orphan_url(site, number) for number in range(web.crawling.orphans(site))]
        assert orphans
        assert listed == pages + orphans
        assert web.answer(*web.locate(orphans[0])).status == 200
        assert web.answer(site, b"/orphan-%d.html" % len(orphans)).status == 404
    assert len(forms) == 3


def _listed(web: Web, site: int, path: bytes) -> list[str]:
    """The pages a sitemap lists, by way of its parts."""
    answer = web.answer(site, path)
    assert answer.status == 200
    text = gzip.decompress(answer.body) if path.endswith(b".gz") else answer.body
    root = ET.fromstring(text)  # noqa: S314  our own
    found = [element.text or "" for element in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    if not root.tag.endswith("sitemapindex"):
        return found
    return [url for part in found for url in _listed(web, site, web.locate(part)[1])]


def test_requisites__what_pages_embed_is_there(graph: Graph) -> None:
    """Images, style sheets and scripts answer with their types; some come from other sites; styles name more."""
    web = changed(graph, requisites=True)
    assert web.assets is not None
    kinds = set()
    foreign = 0
    for page in range(40):
        site = int(web.scene.site[page])
        for url in web.assets.requisites(site, page):
            owner, path = web.locate(url)
            foreign += owner != site
            answer = web.answer(owner, path)
            assert answer.status == 200
            kinds.add(answer.headers)
            assert path in web.body(page)
    assert foreign > 0
    assert len(kinds) == 4
    style = web.answer(0, b"/assets/style-0.css").body
    assert b'@import url("style-3.css")' in style
    assert web.answer(0, b"/assets/style-3.css").status == 200
    assert web.answer(0, b"/assets/img-3.png").body.startswith(b"\x89PNG\r\n")
    assert web.answer(0, b"/assets/img-3-2x.png").body != web.answer(0, b"/assets/img-3.png").body
    assert web.answer(0, b"/assets/img-99.png").status == 404


def test_web__https_sites_live_on_their_own_port(graph: Graph) -> None:
    """A site under https sends plain requests there; the others are not served over TLS."""
    web = changed(graph, https=0.5, tls_port=8443)
    schemes = {site: web.bases[site].split(b":")[0] for site in range(graph.sites)}
    assert set(schemes.values()) == {b"http", b"https"}
    for site, scheme in schemes.items():
        secure = scheme == b"https"
        assert web.answer(site, b"/", Asked(secure=secure)).status == 200
        other = web.answer(site, b"/", Asked(secure=not secure))
        assert other.status == (301 if secure else 421)
        if secure:
            assert b"Location: %b/\r\n" % web.bases[site] in other.headers


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(failing=1.5), "between 0 and 1"),
        (Options(failing=0.95), "at most 0.9"),
        (Options(failing_kinds="404=1 402=1"), "no kind of failure"),
        (Options(failing_kinds="404=x"), "no kind of failure"),
        (Options(failing_kinds="404=0"), "at least one"),
        (Options(sites_per_domain=0), "at least one"),
        (Options(median_bytes=10), "1,000 bytes"),
        (Options(hang_s=-1.0), "negative"),
    ],
)
def test_options__what_cannot_be_served_is_refused(graph: Graph, options: Options, message: str) -> None:
    """A wrong option is refused with what to do."""
    with pytest.raises(UsageError, match=message):
        Web(graph, options, seed=1)
