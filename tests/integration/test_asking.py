"""Where a crawl asks, and how often, when hosts mean harm: by what they saw."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.crawling import rows
from tests.hostile.asking import (
    any_name,
    bomb,
    deep_sitemaps,
    endless_imports,
    endless_redirects,
    endless_sitemaps,
    many_sitemaps,
    plain,
    robots_leads_to,
    robots_says,
    to_tls,
)
from tests.hostile.web import Asked, hostile_web, moved
from tests.patience import PATIENCE
from tests.serverside import check_polite
from tests.small_site import Answer, links

from weft.explain import explain_url

SECRET = b"User-agent: *\nDisallow: /secret\n"


def _on_odd_port() -> socket.socket:
    """A socket on a port that is not for the web: IRC's, if they are free."""
    for port in (6667, 6666, 6668, 6669, 6697):
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    pytest.skip("all ports of IRC are in use")


@contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A port that is not for the web, on which anything is taken and nothing answered; and what came."""
    came: list[bytes] = []
    with _on_odd_port() as listener:

        def hear() -> None:
            try:
                while True:
                    client, _ = listener.accept()
                    with client:
                        client.settimeout(0.2)
                        came.append(client.recv(4096))
            except OSError:
                return

        thread = threading.Thread(target=hear, daemon=True)
        thread.start()
        yield listener.getsockname()[1], came
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


# --- robots.txt that is elsewhere ---


def test_robots__is_not_asked_for_where_nothing_may_be_asked_for(tmp_path: Path) -> None:
    """A port that is not for the web, a blacklisted host, a URL that is too long, another scheme: nobody hears of it,
    the site counts as out of reach, and the log has the reason.
    """
    with listening() as (port, came), hostile_web({}, tmp_path) as web:
        targets = {
            "port.test": (f"http://good.test:{port}/x?a=b", "port"),
            "long.test": (web.url("good.test", "/" + "x" * 3000), "url-length"),
            "scheme.test": ("ftp://good.test/robots.txt", "not-a-url"),
        }
        web.hosts |= {host: robots_leads_to(target) for host, (target, _) in targets.items()}
        summary = web.crawl(tmp_path / "out", *(web.url(host) for host in targets))
        assert summary.why == "done"
        assert came == []
        assert web.names == set(targets), "good.test was asked for nothing"
        for host, (_, reason) in targets.items():
            assert set(web.paths(host)) == {"http:/robots.txt"}
            # Two pauses, and a second chance; on a busy machine one more, to see whether anybody answers.
            assert 4 <= len(web.paths(host)) <= 8
            found = rows(tmp_path / "out", "distinct reason", f"site = '{host}:{web.port}' and kind = 'robots'")
            assert found == [(reason,)]
        assert summary.refused["site-failed"] == 3


def test_robots__that_is_redirected_to_itself_by_tls_costs_one_more_request(tmp_path: Path) -> None:
    """Most of the web does so. The file is asked for once under each scheme, and both obey it."""
    with hostile_web({"a.test": to_tls(b"User-agent: *\nDisallow: /2\n")}, tmp_path) as web:
        summary = web.crawl(tmp_path / "out", web.url("a.test"), wait=0.3)
        assert summary.why == "done"
        assert summary.counts.seconds < PATIENCE
        assert web.paths("a.test") == [
            "http:/robots.txt",
            "https:/robots.txt",
            "http:/",
            "https:/",
            "https:/1",
        ]
        check_polite(web.visits, wait=0.3)


def test_robots__that_is_redirected_on_its_own_site_is_asked_for_once(tmp_path: Path) -> None:
    """As by sites that send whatever they do not have to their home page. It came on one connection, without end."""

    def says(asked: Asked) -> Answer:
        if asked.path in {"/robots.txt", "/2"}:
            return moved("/rules" if asked.name == "a.test" else "/")
        return Answer(SECRET if asked.path == "/rules" else b'<a href="/1">x</a><a href="/2">y</a>')

    with hostile_web({"a.test": says, "b.test": says}, tmp_path) as web:
        summary = web.crawl(tmp_path / "out", web.url("a.test"), web.url("b.test"), max_time=PATIENCE)
        assert summary.why == "done"
        assert web.paths("a.test")[:2] == ["http:/robots.txt", "http:/rules"]
        assert web.paths("b.test")[:2] == ["http:/robots.txt", "http:/"]
        assert [web.paths(host).count("http:/robots.txt") for host in ("a.test", "b.test")] == [1, 1]


def test_robots__of_many_sites_that_lies_on_one_is_asked_for_there_once_for_all(tmp_path: Path) -> None:
    """And politely: the sites that wait for it are not visited meanwhile."""
    hosts = {f"s{number}.test": robots_leads_to("/") for number in range(6)}
    with hostile_web({}, tmp_path) as web:
        web.hosts |= {host: robots_leads_to(web.url("all.test", "/robots.txt")) for host in hosts}
        web.hosts["all.test"] = robots_says(SECRET)
        summary = web.crawl(tmp_path / "out", *(web.url(host) for host in hosts), wait=0.2)
        assert summary.why == "done"
        assert summary.counts.pages == 6
        assert len(web.paths("all.test")) < 6
        check_polite(web.visits, wait=0.2)


@pytest.mark.parametrize("workers", [1, 2])
def test_robots__that_leads_to_a_dead_host_comes_to_an_end(tmp_path: Path, workers: int) -> None:
    """It is tried about as often as a site that is dead itself, and then given up; whoever holds the other host."""
    with hostile_web({"good.test": plain()}, tmp_path) as web, socket.create_server(("127.0.0.1", 0)) as taken:
        dead = taken.getsockname()[1]
        taken.close()
        web.hosts |= {
            f"r{number}.test": robots_leads_to(f"http://d{number}.test:{dead}/robots.txt") for number in range(4)
        }
        seeds = [web.url(f"r{number}.test") for number in range(4)]
        summary = web.crawl(tmp_path / "out", *seeds, web.url("good.test"), workers=workers)
        assert summary.why == "done"
        for number in range(4):
            asked = web.paths(f"r{number}.test")  # also to see whether anybody answers, before one is given up
            assert set(asked) == {"http:/robots.txt"}
            assert 4 <= len(asked) <= 8
        assert summary.refused["site-failed"] == 4
        told = explain_url(tmp_path / "out", web.url("r0.test"))
        assert any(f":{dead}/robots.txt was asked for" in line for line in told.because)
        reasons = {reason for (reason,) in rows(tmp_path / "out", "reason", f"url like '%:{dead}/%'")}
        assert reasons == {"connect-refused"}


def test_robots__that_goes_round_in_a_circle_is_as_good_as_none(tmp_path: Path) -> None:
    """Two sites that wait for each other's file do not wait for ever."""
    with hostile_web({}, tmp_path) as web:
        web.hosts["a.test"] = robots_leads_to(web.url("b.test", "/robots.txt"))
        web.hosts["b.test"] = robots_leads_to(web.url("a.test", "/robots.txt"))
        summary = web.crawl(tmp_path / "out", web.url("a.test"), web.url("b.test"))
        assert summary.why == "done"
        assert summary.counts.seconds < PATIENCE
        assert summary.counts.good == 2
        assert len([each for each in web.asked if each.path == "/robots.txt"]) <= 12


def test_robots__on_a_connection_that_is_closed_after_a_redirect_is_asked_for_on_the_next(tmp_path: Path) -> None:
    """Whether the server says so or not, the chain goes on where it was."""

    def says(asked: Asked) -> Answer | None:
        if asked.path == "/robots.txt":
            said = (("Connection", "close"),) if asked.name == "says.test" else ()
            return Answer(status=301, headers=(("Location", "/r.txt"), *said))
        if asked.path == "/r.txt":
            return Answer(SECRET, "text/plain") if _first_of_visit(asked) else None
        return Answer(links("/secret", "/public"))

    def _first_of_visit(asked: Asked) -> bool:
        return [each.path for each in web.asked if each.name == asked.name][-2:-1] != ["/robots.txt"] or (
            asked.name == "says.test"
        )

    with hostile_web({"says.test": says, "hides.test": says}, tmp_path) as web:
        summary = web.crawl(tmp_path / "out", web.url("says.test"), web.url("hides.test"))
        assert summary.why == "done"
        assert summary.counts.seconds < PATIENCE
        for host in ("says.test", "hides.test"):
            assert "http:/secret" not in web.paths(host)
            assert "http:/public" in web.paths(host)


# --- robots.txt that is not whole ---


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (SECRET, (("Content-Length", "4000"),)),
        (gzip.compress(SECRET, mtime=0)[:-20] + b"garbage that is no gzip" * 3, (("Content-Encoding", "gzip"),)),
        (gzip.compress(SECRET, mtime=0)[:-12], (("Content-Encoding", "gzip"),)),
        (b"\x8b\x02\x80" + SECRET, (("Content-Encoding", "br"),)),
        (b"\x00\x01" + SECRET, (("Content-Encoding", "unheard-of"),)),
    ],
    ids=["cut by time", "broken gzip", "gzip that breaks off", "broken brotli", "unknown coding"],
)
def test_robots__that_cannot_be_read_whole_forbids_everything_for_now(
    tmp_path: Path, body: bytes, headers: tuple[tuple[str, str], ...]
) -> None:
    """As if it could not be had: nothing is asked for on the strength of a part of it."""
    with hostile_web({"a.test": robots_says(body, *headers)}, tmp_path) as web:
        summary = web.crawl(tmp_path / "out", web.url("a.test"), timeout=0.5)
        assert summary.why == "done"
        assert set(web.paths("a.test")) == {"http:/robots.txt"}
        assert summary.refused["site-failed"] == 1


def test_robots__that_is_said_to_be_coded_and_is_plain_text_is_read(tmp_path: Path) -> None:
    """Nobody can mean anything else by it."""
    with hostile_web({"a.test": robots_says(SECRET, ("Content-Encoding", "gzip"))}, tmp_path) as web:
        web.crawl(tmp_path / "out", web.url("a.test"))
        assert web.paths("a.test") == ["http:/robots.txt", "http:/", "http:/public"]


def test_robots__that_expands_is_read_and_kept_as_far_as_must_be(tmp_path: Path) -> None:
    """Half a megabyte of twenty; it is told, and the next run begins with what was kept."""
    with hostile_web({}, tmp_path) as web:
        hosts = [f"b{number}.test" for number in range(5)]
        web.hosts |= {host: robots_says(bomb(20), ("Content-Encoding", "gzip")) for host in hosts}
        summary = web.crawl(tmp_path / "out", *(web.url(host) for host in hosts), max_pages=7)
        assert summary.counts.robots_truncated == {"length": 5}
        assert (tmp_path / "out/workers/0/frontier.log").stat().st_size < 1_000_000
        again = web.crawl(tmp_path / "out", *(web.url(host) for host in hosts))
        assert again.why == "done"
        for host in hosts:
            assert sorted(web.paths(host)) == ["http:/", "http:/public", "http:/robots.txt"]


# --- chains ---


@pytest.mark.parametrize("scope", ["site", "list", "all"])
@pytest.mark.parametrize("workers", [1, 2])
def test_redirects__come_to_an_end(tmp_path: Path, scope: str, workers: int) -> None:
    """After ten in a row, whoever is asked and whatever the scope; it is told."""
    with hostile_web({}, tmp_path) as web:
        web.hosts = {f"d{number}.test": endless_redirects() for number in range(3)}
        seeds = [web.url(f"www.d{number}.test") for number in range(3)]
        summary = web.crawl(tmp_path / "out", *seeds, scope=scope, workers=workers)
        assert summary.why == "done"
        assert len([each for each in web.asked if each.path != "/robots.txt"]) == 3 * 11
        assert summary.refused["chain"] == 3
        fetched = {url for (url,) in rows(tmp_path / "out", "url", "true")}
        (*_, left) = {url for (url,) in rows(tmp_path / "out", "redirect", "redirect is not null")} - fetched
        told = explain_url(tmp_path / "out", left)
        assert (told.state, told.rules["chain"]) == ("refused", "refuses")
        assert "(chain)" in told.verdict


def test_redirects__of_a_seed_let_in_where_they_end_and_not_what_they_came_by(tmp_path: Path) -> None:
    """A site that only passes a seed on is not what somebody asked for."""
    with hostile_web({}, tmp_path) as web:
        web.hosts["seed.test"] = lambda _asked: moved_to(web.url("between.test"))
        web.hosts["between.test"] = lambda asked: (
            moved_to(web.url("end.test")) if asked.path == "/" else Answer(b"page")
        )
        web.hosts["end.test"] = plain(web.url("between.test", "/page"), "/own")
        summary = web.crawl(tmp_path / "out", web.url("seed.test"))
        assert summary.refused["scope"] >= 1
        assert "http:/own" in web.paths("end.test")
        assert "http:/page" not in web.paths("between.test")


def moved_to(target: str) -> Answer:
    """A redirect that also stands for the missing robots.txt."""
    return Answer(status=301, headers=(("Location", target),))


def test_sitemaps__lead_nowhere_outside_the_scope_by_themselves(tmp_path: Path) -> None:
    """What robots.txt names is read; an index out of the scope speaks for its own site."""
    with hostile_web({}, tmp_path) as web:
        web.hosts["d.test"] = endless_sitemaps()
        summary = web.crawl(tmp_path / "out", web.url("www.d.test"))
        assert summary.why == "done"
        assert len([each for each in web.asked if each.path == "/map.xml"]) == 2
        assert len(web.names) == 3


def test_sitemaps__that_name_others_end_at_a_depth(tmp_path: Path) -> None:
    """Also on one site."""
    with hostile_web({"a.test": deep_sitemaps()}, tmp_path) as web:
        summary = web.crawl(tmp_path / "out", web.url("a.test"))
        assert summary.why == "done"
        assert len([each for each in web.asked if each.path.startswith("/map")]) == 6
        assert summary.refused["chain"] == 1


def test_sitemaps__on_other_domains_are_few(tmp_path: Path) -> None:
    """A robots.txt has nobody else's host asked a thousand times."""
    with hostile_web({}, tmp_path) as web:
        foreign = [web.url("victim.test", f"/{number}.xml") for number in range(50)]
        own = [web.url("maps.d.test", f"/{number}.xml") for number in range(50)]
        web.hosts["d.test"] = many_sitemaps(foreign + own)
        web.hosts["maps.d.test"] = lambda _asked: Answer(b"<urlset></urlset>", "text/xml")
        web.hosts["victim.test"] = plain()
        summary = web.crawl(tmp_path / "out", web.url("www.d.test"))
        assert len([each for each in web.paths("victim.test") if each != "http:/robots.txt"]) == 10
        assert len([each for each in web.paths("maps.d.test") if each.endswith(".xml")]) == 50
        assert summary.refused["sitemaps"] == 40


def test_sitemap__that_is_redirected_is_read(tmp_path: Path) -> None:
    """From http to https, as most of the web redirects: it is a sitemap there, too."""

    def says(asked: Asked) -> Answer:
        if asked.path == "/robots.txt":
            return Answer(b"Sitemap: /map.xml", "text/plain")
        if asked.path == "/map.xml":
            return moved_to("/real.xml")
        if asked.path == "/real.xml":
            return Answer(b"<urlset><url><loc>/found</loc></url></urlset>", "text/xml")
        return Answer(b"page")

    with hostile_web({"a.test": says}, tmp_path) as web:
        web.crawl(tmp_path / "out", web.url("a.test"))
        assert "http:/found" in web.paths("a.test")


def test_imports__come_to_an_end(tmp_path: Path) -> None:
    """Style sheets that import others, each from another host."""
    with hostile_web({"d.test": endless_imports()}, tmp_path) as web:
        summary = web.crawl(tmp_path / "out", web.url("www.d.test"), requisites=True)
        assert summary.why == "done"
        assert len([each for each in web.asked if each.path.endswith(".css")]) == 6
        assert summary.refused["chain"] == 1


# --- names ---


def test_names__of_a_domain_that_has_any_name_are_limited(tmp_path: Path) -> None:
    """Its name server knows a name that nobody can have given: it is told, and no end of hosts is not crawled."""
    with hostile_web({"wild.test": any_name()}, tmp_path) as web:
        summary = web.crawl(
            tmp_path / "out", web.url("www.wild.test"), scope="domain", max_wildcard_sites=40, max_time=PATIENCE
        )
        assert summary.why == "done"
        assert 40 <= len(web.names) <= 140
        assert summary.refused["wildcard"] > 0


def test_names__of_a_domain_that_gave_them_are_not(tmp_path: Path) -> None:
    """A domain with many real hosts is crawled whole."""
    with hostile_web({}, tmp_path) as web:
        hosts = [f"n{number}.tame.test" for number in range(60)]
        web.hosts["tame.test"] = plain(*(web.url(host) for host in hosts))
        web.only = {"www.tame.test", *hosts}
        summary = web.crawl(tmp_path / "out", web.url("www.tame.test"), scope="domain", max_wildcard_sites=20)
        assert len(web.names) == 61
        assert "wildcard" not in summary.refused
