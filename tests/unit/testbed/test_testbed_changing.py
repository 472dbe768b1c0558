"""A web that changes is served as its world says: pages, listings, feeds, sitemaps, and conditional requests."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from html import unescape
from urllib.parse import urljoin
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from weft.graph import Recipe
from weft.graph.changing import Changes, make_world
from weft.graph.changing.happenings import keeping_up
from weft.graph.changing.snapshots import snapshot
from weft.graph.changing.world import DAY, HOUR, NONE, RESTLESS, STALE, TRUE
from weft.testbed.answers import Answer, Asked
from weft.testbed.bed import Bed, serving
from weft.testbed.keeping_up import fetches_of
from weft.testbed.options import PLAIN, Options
from weft.testbed.serve import ServerSettings
from weft.testbed.web import Web

CHANGES = Changes(
    days=20, news=0.3, cosmetic=0.5, half_life_days=40, feeds=1.0, restless=0.2, stale=0.2, gone_410=0.3, gone_away=0.3
)
WORLD = make_world(Recipe(sites=30, pages=1_500), CHANGES, seed=4)
WEB = Web(WORLD, PLAIN, seed=4, port=8080)
WILD = Web(WORLD, Options(sitemaps=1.0, robots_missing=0.0, robots_errors=0.0), seed=4, port=8080)
PAGES = st.integers(0, WORLD.graph.pages - 1)
TIMES = st.floats(0, WORLD.end)


def _ask(web: Web, page: int, asked: Asked) -> Answer:
    return web.answer(int(web.scene.site[page]), web.path(page), asked)


def _text(body: bytes) -> str:
    return LexborHTMLParser(body).text(separator=" ")


@given(PAGES, TIMES)
def test_page__is_there_while_it_lives(page: int, at: float) -> None:
    """Before its birth a page is missing; after its death it is missing, gone, or redirected to its front."""
    answer = _ask(WEB, page, Asked(at=at))
    if WORLD.birth[page] > at:
        assert (answer.status, answer.kind) == (404, "unborn")
    elif WORLD.death[page] > at:
        assert (answer.status, answer.kind) == (200, "page")
    elif answer.status == 301:
        assert b"Location: %b\r\n" % WEB.path(int(WORLD.front[page])) in answer.headers
    else:
        assert (answer.status, answer.kind) in {(404, "dead"), (410, "dead")}


def test_page__the_dead_are_answered_in_all_three_ways() -> None:
    """404, 410 and 301 all happen."""
    dead = np.flatnonzero(WORLD.death <= WORLD.end)
    found = {_ask(WEB, int(page), Asked(at=WORLD.end)).status for page in dead}
    assert found == {404, 410, 301}


@pytest.mark.parametrize("at", [0.0, 7.2 * DAY, 20 * DAY])
def test_snapshot__is_what_is_served(at: float) -> None:
    """The links on a served page that lead to pages alive are those of the snapshot, and nothing else is alive."""
    graph, pages = snapshot(WORLD, at)
    number = {int(page): place for place, page in enumerate(pages)}
    for page in [*WORLD.hubs.tolist(), *range(0, WORLD.graph.pages, 11)]:
        if page not in number:
            assert _ask(WEB, page, Asked(at=at)).status != 200
            continue
        body = _ask(WEB, page, Asked(at=at)).body
        hrefs = [node.attributes["href"] for node in LexborHTMLParser(body).css("a[href]")]
        base = WEB.url(page)
        targets = {WEB.page(urljoin(base, href or "")) for href in hrefs}
        assert None not in targets
        assert {number[target] for target in targets if target in number} == set(graph.links_of(number[page]).tolist())


@given(PAGES, TIMES, TIMES)
@settings(max_examples=200)
def test_page__same_version_same_bytes(page: int, one: float, other: float) -> None:
    """Bytes change when a version does, and only then; a cosmetic edit leaves nearly all of the text."""
    before, after = WORLD.version_of(page, one), WORLD.version_of(page, other)
    first, second = WEB.body(page, one), WEB.body(page, other)
    assert (first == second) == (before == after)
    if before.real == after.real and before != after:
        words, others = _text(first).split(), _text(second).split()
        assert len(words) == len(others)
        assert sum(a != b for a, b in zip(words, others, strict=True)) <= 1
    if before.real != after.real and page not in WORLD.hubs:
        assert abs(len(_text(first)) - len(_text(second))) > 0 or _text(first) != _text(second)


@given(PAGES, TIMES, TIMES)
@settings(max_examples=200)
def test_conditional__says_unchanged_when_it_is(page: int, one: float, other: float) -> None:
    """Asked again with what it was told, an honest site says 304 if the bytes are the same and 200 if not."""
    begin, end = sorted((one, other))
    first = _ask(WEB, page, Asked(at=begin))
    worth = WORLD.publishing.validators[int(WEB.scene.site[page])]
    if first.status != 200 or worth == NONE:
        assert b"ETag" not in first.headers
        return
    etag, modified = _validators(first)
    gone = _ask(WEB, page, Asked(at=end)).status != 200
    same = WEB.body(page, begin) == WEB.body(page, end)
    for asked in (
        Asked(at=end, if_none_match=etag),
        Asked(at=end, if_none_match=b'"another", W/' + etag),
        Asked(at=end, if_modified_since=modified),
    ):
        answer = _ask(WEB, page, asked)
        if gone:
            assert answer.status not in {200, 304}
        elif worth == TRUE:
            assert answer.status == (304 if same else 200)
        elif worth == STALE:
            assert answer.status == 304
        elif worth == RESTLESS and end - begin > 1:
            assert answer.status == 200
        assert answer.status != 304 or (answer.body == b"" and b"ETag: " in answer.headers)
    assert gone or _ask(WEB, page, Asked(at=end, if_none_match=b'"another"', if_modified_since=modified)).status == 200


def _validators(answer: Answer) -> tuple[bytes, bytes]:
    found = re.search(rb"ETag: (.*)\r\nLast-Modified: (.*)\r\n", answer.headers)
    assert found is not None
    return found[1], found[2]


def test_validators__of_all_sorts_are_there() -> None:
    """A world of thirty sites has honest ones and all who are not."""
    assert set(WORLD.publishing.validators.tolist()) == {TRUE, NONE, RESTLESS, STALE}


def test_feed__lists_what_was_new_when_it_was_written() -> None:
    """A feed lags by what the world says, its dates are true or too late, and its front names it."""
    at, forms = 9.3 * DAY, set()
    for site in range(WORLD.graph.sites):
        home = int(WORLD.graph.first_page[site])
        lag = WORLD.publishing.feed_lag_s[site]
        link = LexborHTMLParser(WEB.body(home, at)).css_first("link[rel=alternate]")
        if np.isnan(lag):
            assert link is None
            continue
        assert link is not None
        answer = WEB.answer(site, (link.attributes["href"] or "").encode(), Asked(at=at))
        assert (answer.status, answer.kind) == (200, "feed")
        forms.add(link.attributes["type"])
        listed = [WEB.page(url) for url, _ in _items(answer.body)]
        assert listed == WORLD.newest(home, at - lag, CHANGES.fed).tolist()
        for (_, said), page in zip(_items(answer.body), listed, strict=True):
            truth = WORLD.epoch + WORLD.birth[page]
            assert said == min(truth + WORLD.publishing.feed_lie_s[site], np.floor(WORLD.epoch + at))
        again = WEB.answer(
            site, (link.attributes["href"] or "").encode(), Asked(at=at, if_none_match=_validators(answer)[0])
        )
        assert again.status == 304
    assert forms == {"application/rss+xml", "application/atom+xml", "application/feed+json"}


def _items(body: bytes) -> list[tuple[str, float]]:
    """Addresses and dates in a feed of any form."""
    if body.startswith(b"{"):
        items = json.loads(body)["items"]
        return [(item["url"], datetime.fromisoformat(item["date_published"]).timestamp()) for item in items]
    root = ET.fromstring(body)  # noqa: S314  we wrote it
    if root.tag == "rss":
        return [
            (item.findtext("link") or "", parsedate_to_datetime(item.findtext("pubDate") or "").timestamp())
            for item in root.iter("item")
        ]
    atom = "{http://www.w3.org/2005/Atom}"
    return [
        (link.attrib["href"], datetime.fromisoformat(item.findtext(f"{atom}published") or "").timestamp())
        for item in root.iter(f"{atom}entry")
        for link in item.iter(f"{atom}link")
    ]


def test_sitemap__lists_who_lived_when_it_was_written() -> None:
    """A sitemap lags, and says when each page was changed, truly or too late."""
    at = 9.3 * DAY
    for site in range(0, WORLD.graph.sites, 5):
        written = at - WORLD.publishing.sitemap_lag_s[site]
        rows = WILD.changing.in_sitemap(site, at)  # type: ignore[union-attr]
        alive = [page for page in WORLD.graph.pages_of(site) if WORLD.alive(page, written)]
        assert [page for page, _ in rows] == alive
        name = WILD.crawling.sitemap(site).encode()
        text = WILD.answer(site, name, Asked(at=at)).body
        if name == b"/sitemap.xml":
            assert text.count(b"<lastmod>") == len(alive)
    assert any(WORLD.publishing.sitemap_lie_s > 0)


def test_news_sitemap__has_the_last_two_days() -> None:
    """A news site with a feed also has a sitemap of news, which its robots.txt names."""
    at, seen = 9.3 * DAY, 0
    for site in range(WORLD.graph.sites):
        told = WILD.answer(site, b"/robots.txt", Asked(at=at)).body
        answer = WILD.answer(site, b"/sitemap-news.xml", Asked(at=at))
        lag = WORLD.publishing.feed_lag_s[site]
        if not WORLD.publishing.news[site] or np.isnan(lag):
            assert b"news" not in told
            assert answer.status == 404
            continue
        seen += 1
        assert b"/sitemap-news.xml" in told
        pages = {WILD.page(unescape(loc)) for loc in re.findall(r"<loc>(.*?)</loc>", answer.body.decode())}
        home = int(WORLD.graph.first_page[site])
        newest = WORLD.newest(home, at - lag, 1_000)
        assert pages == set(newest[WORLD.birth[newest] > at - lag - 2 * DAY].tolist())
    assert seen


def test_wild__other_charsets_and_hazards_change_too() -> None:
    """Pages of a web with everything unusual have other bytes after an edit, in their own charset."""
    edited = [
        page for page in range(WORLD.graph.pages) if len(WORLD.edits_of(page, 0, WORLD.end)) and WORLD.birth[page] < 0
    ]
    for page in edited[:150]:
        after = float(WORLD.edits_of(page, 0, WORLD.end)[-1])
        assert WILD.body(page, 0.0) != WILD.body(page, after)
        WILD.body(page, after).decode(WILD.pages.charset(page)[0])


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """The world on the network, an hour in a millisecond, from its third day on."""
    web = Web(WORLD, PLAIN, seed=4)
    with serving(web, ServerSettings(speed_up=3_600_000.0, begin_s=3 * DAY)) as served:
        yield served


@pytest.mark.xdist_group("changing-bed")
def test_bed__its_time_passes_and_its_log_says_so(bed: Bed) -> None:
    """Answers, dates and log are in the web's time, which passes as fast as asked for."""
    page = int(WORLD.hubs[0])
    site = int(bed.web.scene.site[page])
    client = http.client.HTTPConnection(bed.web.names.address(site), bed.port)
    name = bed.web.authority(site, secure=False).decode()
    bodies, dates = [], []
    for _ in range(3):
        client.request("GET", bed.web.path(page).decode(), headers={"Host": name})
        answer = client.getresponse()
        bodies.append(answer.read())
        dates.append(parsedate_to_datetime(answer.headers["Date"]).timestamp())
    entries = [entry for entry in bed.log() if entry.event == "request"][-3:]
    times = [entry.web_time for entry in entries]
    assert times == sorted(times)
    assert 3 * DAY < times[0] < times[2] <= bed.web_time()
    assert bodies == [bed.web.body(page, at) for at in times]
    assert [int(WORLD.epoch + at) for at in times] == dates
    pages, at = fetches_of(bed.web, entries)
    assert (pages.tolist(), at.tolist()) == ([page] * 3, times)
    assert keeping_up(WORLD, pages, at, begin=0.0, end=WORLD.end).found == 0
    client.close()


@pytest.mark.xdist_group("changing-bed")
def test_bed__304_on_the_wire_has_no_body_and_the_connection_goes_on() -> None:
    """A conditional request on a web whose time stands still is answered with 304, and the next one as usual."""
    site = int(np.flatnonzero(WORLD.publishing.validators == TRUE)[0])
    page = int(WORLD.graph.first_page[site])
    with serving(Web(WORLD, PLAIN, seed=4), ServerSettings(speed_up=0.0, begin_s=5 * DAY)) as still:
        client = http.client.HTTPConnection(still.web.names.address(site), still.port)
        host = {"Host": still.web.authority(site, secure=False).decode()}
        client.request("GET", "/", headers=host)
        first = client.getresponse()
        assert (first.status, first.read()) == (200, still.web.body(page, 5 * DAY))
        client.request("GET", "/", headers={**host, "If-None-Match": first.headers["ETag"]})
        second = client.getresponse()
        assert (second.status, second.read(), second.headers["Content-Length"]) == (304, b"", None)
        assert second.headers["ETag"] == first.headers["ETag"]
        client.request("GET", "/", headers={**host, "If-Modified-Since": first.headers["Last-Modified"]})
        assert client.getresponse().status == 304
        client.close()
        assert {entry.web_time for entry in still.log() if entry.event == "request"} == {5 * DAY}
        assert still.web_time() == 5 * DAY


def test_delay__of_a_crawl_that_asks_every_hour() -> None:
    """Who asks each newborn an hour after its birth is an hour late: the log's times are what is judged."""
    born = np.flatnonzero(WORLD.birth > 0)
    kept = keeping_up(WORLD, born, WORLD.birth[born] + HOUR, begin=0.0, end=WORLD.end)
    found = np.isfinite(kept.delay_s)
    assert (kept.delay_s[found] == HOUR).all()
    assert found.mean() > 0.95
