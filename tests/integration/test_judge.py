"""Scripted clients on the real testbed, also through its proxy, and what a judge says of them by the servers' log."""

from __future__ import annotations

import dataclasses
import http.client
import io
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pycurl
import pytest

from weft.graph import Recipe, generate
from weft.testbed.bed import Bed, serving
from weft.testbed.judge.verdict import judge
from weft.testbed.options import PLAIN
from weft.testbed.serve import ServerSettings
from weft.testbed.truth import reachable
from weft.testbed.web import Web

pytestmark = pytest.mark.xdist_group("judge")

OPTIONS = dataclasses.replace(
    PLAIN, robots_rules=1.0, hazardous=0.2, scenarios="calendar", https=0.5, median_bytes=2_000, sites_per_address=1
)


@pytest.fixture(scope="module")
def web() -> Web:
    """Ten sites, half of them under https, that all forbid a section; two have a calendar."""
    return Web(generate(Recipe(sites=10, pages=120), seed=8), OPTIONS, seed=8)


@pytest.fixture(scope="module")
def bed(web: Web) -> Iterator[Bed]:
    """The web behind its proxy."""
    with serving(web, ServerSettings(tls=True, proxy=True)) as running:
        yield running


def on(bed: Bed, site: int) -> http.client.HTTPConnection:
    """A connection to a site."""
    return http.client.HTTPConnection(bed.web.names.address(site), bed.port, timeout=30)


def ask(bed: Bed, connection: http.client.HTTPConnection, site: int, path: str) -> int:
    """One request; the status."""
    host = bed.web.authority(site, secure=False).decode()
    connection.request("GET", path, headers={"Host": host, "User-Agent": "Script/1"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def verdict_on(web: Web, tmp_path: Path, crawl: Any) -> dict[str, Any]:
    """What is said of a crawl of the web over plain connections."""
    plain = Web(web.graph, dataclasses.replace(web.options, https=0.0), web.seed)
    log = tmp_path / "requests.tsv"
    with serving(plain, ServerSettings(log=log)) as bed:
        crawl(bed)
        bed.log()
    found: dict[str, Any] = judge(plain, {"script": log})["crawlers"]["script"]
    return found


def polite(bed: Bed) -> None:
    """robots.txt, then every page that may be had, once, on one connection at a time."""
    pages = reachable(bed.web)
    for site in range(bed.web.graph.sites):
        connection = on(bed, site)
        ask(bed, connection, site, "/robots.txt")
        for page in pages:
            if bed.web.scene.site[page] == site:
                assert ask(bed, connection, site, bed.web.path(page).decode()) == 200
        connection.close()
        bed.log()  # the server has seen the end


def impolite(bed: Bed) -> None:
    """No robots.txt; two connections at once; what is forbidden; the same page thrice; into the calendar."""
    web = bed.web
    site = next(site for site in web.played if web.traits.private_root[site] >= 0)
    first, second = on(bed, site), on(bed, site)
    for _ in range(3):
        ask(bed, first, site, "/")
    ask(bed, second, site, web.path(int(web.traits.private_root[site])).decode())
    for month in range(1, 6):
        ask(bed, first, site, f"/calendar/2031/0{month}/")
    first.close()
    second.close()


def test_judge__tells_a_polite_crawler_from_an_impolite_one(web: Web, tmp_path: Path) -> None:
    """Everything that one does well and the other does not."""
    (tmp_path / "impolite").mkdir()
    good = verdict_on(web, tmp_path, polite)
    bad = verdict_on(web, tmp_path / "impolite", impolite)
    assert good["worth"]["good"] == good["worth"]["could"] == good["order"]["pages"]
    assert good["order"]["gathered"] == 1.0
    assert (good["robots"]["asked_first"], bad["robots"]["asked_first"]) == (10, 0)
    assert (good["robots"]["forbidden"], bad["robots"]["forbidden"]) == (0, 1)
    assert (good["manners"]["site"]["most_connections"], bad["manners"]["site"]["most_connections"]) == (1, 2)
    assert (good["worth"]["repeated"], bad["worth"]["repeated"]) == (0, 2)
    assert good["worth"]["hazards"]["calendar"]["requests"] == 0
    assert bad["worth"]["hazards"]["calendar"]["requests"] == 5
    assert bad["worth"]["hazards"]["calendar"]["bytes"] > 0


def test_proxy__serves_names_to_any_client(bed: Bed) -> None:
    """As urllib does it: plain requests by whole addresses, and no such name is a bad gateway."""
    handler = urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{bed.proxy_port}"})
    opener = urllib.request.build_opener(handler)
    page = next(page for page in range(bed.web.graph.pages) if bed.url(page).startswith("http:"))
    with opener.open(bed.url(page), timeout=30) as answer:
        assert answer.read() == bed.web.body(page)
    with pytest.raises(urllib.error.HTTPError, match="502"):
        opener.open("http://nobody.test/", timeout=30)
    entry = next(entry for entry in bed.log() if entry.event == "request" and entry.agent.startswith("Python-urllib"))
    site = int(bed.web.scene.site[page])
    assert entry.address == bed.web.names.address(site)
    assert entry.site == bed.web.authority(site, secure=False).decode()


def test_proxy__lets_tls_through(bed: Bed) -> None:
    """As libcurl does it, by CONNECT: the certificate is the site's own, and is checked."""
    page = next(page for page in range(bed.web.graph.pages) if bed.url(page).startswith("https:"))
    body = io.BytesIO()
    curl = pycurl.Curl()
    for option, value in (
        (pycurl.URL, bed.url(page)),
        (pycurl.PROXY, f"http://127.0.0.1:{bed.proxy_port}"),
        (pycurl.CAINFO, str(bed.ca_file)),
        (pycurl.WRITEDATA, body),
        (pycurl.TIMEOUT, 30),
    ):
        curl.setopt(option, value)
    curl.perform()
    assert curl.getinfo(pycurl.RESPONSE_CODE) == 200
    curl.close()
    assert body.getvalue() == bed.web.body(page)
    assert any(entry.scheme == "https" and entry.kind == "page" for entry in bed.log())


def test_proxy__a_connection_in_the_log_is_to_one_site(bed: Bed) -> None:
    """A client that asks several sites on one connection to the proxy has one to each, one after the other."""
    pages = [page for page in range(bed.web.graph.pages) if bed.url(page).startswith("http:")]
    sites = {int(bed.web.scene.site[page]): page for page in pages}
    first, second = list(sites.values())[:2]
    connection = http.client.HTTPConnection("127.0.0.1", bed.proxy_port, timeout=30)
    for page in (first, first, second, first):
        connection.request("GET", bed.url(page), headers={"User-Agent": "Several/1"})
        assert connection.getresponse().read() == bed.web.body(page)
    connection.close()
    log = [entry for entry in bed.log() if entry.agent == "Several/1"]
    requests = [entry for entry in log if entry.event == "request"]
    numbers = [entry.connection for entry in requests]
    assert numbers[0] == numbers[1]
    assert len(set(numbers)) == 3
    ended = {entry.connection: entry.last_byte for entry in log if entry.event == "close"}
    assert ended[numbers[1]] <= requests[2].opened <= requests[2].first_byte


def test_proxy__has_nothing_of_its_own(bed: Bed) -> None:
    """Who takes it for a site is refused."""
    connection = http.client.HTTPConnection("127.0.0.1", bed.proxy_port, timeout=30)
    connection.request("GET", "/")
    assert connection.getresponse().status == 400
    connection.close()
