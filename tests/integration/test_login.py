"""Requests with headers, a method and a body: logging in, and never twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crawling import rows
from tests.logging_in import PASSWORD, Login, LogsIn, login_site
from tests.patience import PATIENCE
from warcio.archiveiterator import ArchiveIterator

import weft

QUICK: Any = {"wait": 0.0, "commit_every": 0.1, "retry_pauses": [0.1]}


@pytest.fixture
def site() -> Iterator[Login]:
    """A site that one must log in to."""
    with login_site() as site:
        yield site


def start(site: Login, out: Path, *options: str) -> subprocess.Popen[bytes]:
    """Crawl it in a process of its own, which is killed."""
    return subprocess.Popen([sys.executable, "-m", "tests.logging_in", site.url, str(out), *options])


def dies(process: subprocess.Popen[bytes]) -> bool:
    """Does the process end by being killed?"""
    return process.wait(PATIENCE) == -signal.SIGKILL


def go_on(site: Login, out: Path, *, repeat: bool = False) -> LogsIn:
    """Crawl it to the end; what the application has seen."""
    application = LogsIn(repeat=repeat)
    weft.crawl(site.url, out, application=application, **QUICK)
    return application


def test_application__logs_in_and_crawls_what_is_private(site: Login, tmp_path: Path) -> None:
    """The seed leads to the form, the POST back to the seed, which is fetched again, as browsers do."""
    application = LogsIn()
    weft.crawl(site.url, tmp_path / "out", application=application, **QUICK)
    assert application.titles == ["Log in", "Home", "Private /private/1", "Private /private/2"]
    assert site.posts == 1
    assert f"POST /login user=me&password={PASSWORD}" in site.asked
    found = rows(tmp_path / "out", "id, url, kind, status", "kind <> 'robots' order by fetched_at")
    assert [(url.partition("/")[2][1:].partition("/")[2], kind, status) for _, url, kind, status in found] == [
        ("", "seed", 302),
        ("login", "redirect", 200),
        ("login", "request", 303),
        ("", "redirect", 200),
        ("private/1", "request", 200),
        ("private/2", "request", 200),
    ]
    assert len({row[0] for row in found}) == 6, "a POST and a GET of one URL have ids of their own"


def test_post__killed_before_its_outcome_is_known_is_not_sent_again(site: Login, tmp_path: Path) -> None:
    """The server has it and the crawler dies: the next run says that nobody knows, and asks for nothing."""
    running = start(site, tmp_path / "out")

    def kill() -> bool:
        os.kill(running.pid, signal.SIGKILL)
        return False

    site.on_post = kill
    assert dies(running)
    site.on_post = lambda: True
    assert go_on(site, tmp_path / "out").lost == [(f"{site.url}login", "outcome-unknown")]
    assert site.posts == 1
    assert rows(tmp_path / "out", "url", "reason = 'outcome-unknown' and final") == [(f"{site.url}login",)]
    assert go_on(site, tmp_path / "out").lost == [], "it is told once"


def test_post__that_may_be_repeated_is_sent_again(site: Login, tmp_path: Path) -> None:
    """Killed at the same moment, but the request says that it may be."""
    running = start(site, tmp_path / "out", "repeat")

    def kill() -> bool:
        os.kill(running.pid, signal.SIGKILL)
        return False

    site.on_post = kill
    assert dies(running)
    site.on_post = lambda: True
    assert go_on(site, tmp_path / "out", repeat=True).titles[-1] == "Private /private/2"
    assert site.posts == 2


@pytest.mark.parametrize(
    "point", ["weft.frontier.local.specials:Specials.intend", "weft.frontier.local.specials:Specials.sending"]
)
def test_post__killed_before_it_is_sent_is_never_sent_twice(site: Login, tmp_path: Path, point: str) -> None:
    """Before the intention is on disk nothing was sent, so it is sent then; behind that it counts as sent."""
    assert dies(start(site, tmp_path / "out", point))
    assert site.posts == 0
    seen = go_on(site, tmp_path / "out")
    if point.endswith("intend"):
        assert (site.posts, seen.titles[-1]) == (1, "Private /private/2")
    else:
        assert (site.posts, seen.lost) == (0, [(f"{site.url}login", "outcome-unknown")])


def test_post__whose_answer_does_not_come_is_not_tried_again(site: Login, tmp_path: Path) -> None:
    """The server closes the connection: it may have done what it was asked for."""
    site.on_post = lambda: False
    application = LogsIn()
    weft.crawl(site.url, tmp_path / "out", application=application, **QUICK)
    assert site.posts == 1
    assert application.lost == [(f"{site.url}login", "no-answer")]


@pytest.mark.parametrize("lets_go", [False, True])
def test_post__is_the_first_request_of_its_connection(site: Login, tmp_path: Path, lets_go: bool) -> None:
    """Also where connections are kept for many pages, and where the server lets go of them in silence: a GET is asked
    again then, and a POST never comes to be on such a connection.
    """
    site.lets_go = lets_go
    application = LogsIn()
    weft.crawl(site.url, tmp_path / "out", application=application, per_visit=10, **QUICK)
    assert application.titles == ["Log in", "Home", "Private /private/1", "Private /private/2"]
    assert application.lost == []
    (at,) = (number for number, each in enumerate(site.asked) if each.startswith("POST"))
    assert site.peers.index(site.peers[at]) == at
    assert len(set(site.peers)) < len(site.peers), "pages do share connections"


def test_post__that_is_moved_is_sent_once_more_to_its_new_place(site: Login, tmp_path: Path) -> None:
    """307 asks for the same request elsewhere: method, body and headers; there it is sent once, too."""
    site.moved = {"/login": "/enter"}
    application = LogsIn()
    weft.crawl(site.url, tmp_path / "out", application=application, **QUICK)
    form = f"user=me&password={PASSWORD}"
    assert [each for each in site.asked if each.startswith("POST")] == [f"POST /login {form}", f"POST /enter {form}"]
    assert application.titles == ["Log in", "Home", "Private /private/1", "Private /private/2"]
    found = rows(tmp_path / "out", "regexp_extract(url, '[a-z]+$'), status", "status in (303, 307) order by fetched_at")
    assert found == [("login", 307), ("enter", 303)]


def test_post__that_is_moved_to_another_site_is_not_sent_there(site: Login, tmp_path: Path) -> None:
    """A password is for who was asked."""
    with login_site() as other:
        site.moved = {"/login": f"{other.url}login"}
        weft.crawl(site.url, tmp_path / "out", application=LogsIn(), scope="all", **QUICK)
        assert site.posts == 1
        assert other.asked == []


def test_get__with_headers_is_the_page_of_its_url(site: Login, tmp_path: Path) -> None:
    """Headers go with that request only, and another request for the same URL is no other page."""

    class Asks(weft.Application):
        def visited(self, page: weft.FetchedPage) -> list[weft.Request | str]:
            wanted: list[weft.Request | str] = [
                weft.Request("/x", headers={"Cookie": "id=session-Qz9", "X-A": "1"}),
                "/x",
            ]
            return wanted if page.url.endswith("/login") else []

    weft.crawl(f"{site.url}login", tmp_path / "out", application=Asks(), **QUICK)
    assert site.asked.count("GET /x") == 1
    assert [headers.get("X-A") for headers in site.headers] == [None, None, "1"]
    assert rows(tmp_path / "out", "status", "url like '%/x'") == [(200,)]


@pytest.mark.parametrize("kept", [False, True])
def test_archive__has_a_body_only_where_that_was_asked_for(site: Login, tmp_path: Path, kept: bool) -> None:
    """The record of the POST says that it was one; readers read it either way."""
    weft.crawl(site.url, tmp_path / "out", application=LogsIn(), store_credentials=kept, **QUICK)
    found = {}
    for volume in (tmp_path / "out").glob("volumes/*.warc.gz"):
        with volume.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "request" and record.http_headers.protocol == "POST":
                    found[record.rec_headers["WARC-Target-URI"]] = record.content_stream().read()
    form = f"user=me&password={PASSWORD}".encode() if kept else b""
    assert found == {f"{site.url}login": form}


def test_request__refuses_what_cannot_be_sent() -> None:
    """At once, where it is written; and shows no secrets."""
    with pytest.raises(ValueError, match="neither GET nor POST"):
        weft.Request("http://a/", method="PUT")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a body is for POST"):
        weft.Request("http://a/", body="x")
    with pytest.raises(ValueError, match="line end"):
        weft.Request("http://a/", headers={"X": "secret\r\nY: z"})
    shown = repr(weft.Request("http://a/", headers={"X": "secret"}, method="POST", body="secret"))
    assert "secret" not in shown
