"""The console of a crawl, by real requests: each page, each action, beside a running crawl and after it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme
from tests.browsing import HERE, Caller, check_harmless, console_of, inside
from tests.commands import weft
from tests.crawling import crawl, make_web
from tests.database import database
from tests.patience import PATIENCE
from tests.siege import Siege, command_for, wait_until

from weft.cli.beside import Beside, free_place
from weft.clock import SystemClock
from weft.console.serving import Server, Wanted
from weft.errors import UsageError, WeftError
from weft.operations.options import Place
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN, Options

pytestmark = pytest.mark.xdist_group("console")  # the crawl is made once
WEB = Options(requisites=True, duplicates=0.3, failing=0.1, failing_kinds="404=3,500=1,reset=1", robots_delays=0.0)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small crawl that ended before it was done."""
    out = tmp_path_factory.mktemp("console") / "crawl"
    with serving(make_web(WEB, sites=30, pages=500)) as bed:
        crawl(bed, out, max_pages=300)
    return out


@pytest.fixture(scope="module")
def caller(crawled: Path) -> Iterator[Caller]:
    """Somebody in the console of it."""
    with inside(crawled) as caller:
        yield caller


def status(out: Path) -> dict[str, Any]:
    """How a crawl stands, by the command."""
    found: dict[str, Any] = json.loads(weft("status", out, "--json"))
    return found


def sites_of(out: Path, *options: str) -> dict[str, Any]:
    """The sites of a crawl, by the command."""
    found: dict[str, Any] = json.loads(weft("sites", out, "--json", *options))
    return found


def stored(out: Path) -> dict[str, Any]:
    """A page that came with a title, and was stored."""
    rows = weft(
        "query",
        out,
        "select url, title, site from pages where status = 200 and final and volume is not null and duplicate_of = 0 "
        "and title is not null and kind = 'a' order by url limit 1",
        "--json",
    )
    found: dict[str, Any] = json.loads(rows.splitlines()[0])
    return found


# --- pages ---


def test_overview__says_what_the_command_says(crawled: Path, caller: Caller) -> None:
    """Pages, errors by reason, sites by list, workers."""
    page, found = caller.page("/"), status(crawled)
    check_harmless(page, caller.root)
    for name in ("pages", "known", "pending"):
        assert f'data-live="{name}">{found[name]:,}<' in page
    for reason, count in found["errors"].items():
        assert re.search(rf"{reason}</td><td [^>]*>{count:,}<", page), reason
    for name, count in found["lists"].items():
        assert re.search(rf"{name.replace('_', ' ')}</td><td [^>]*>{count:,}<", page), name


def test_events__say_the_same_again_and_again(crawled: Path, caller: Caller) -> None:
    """A stream of events has what the overview shows; it is no page, and nobody keeps it."""
    connection = http.client.HTTPConnection("127.0.0.1", caller.server.port, timeout=PATIENCE)
    headers = {"Host": caller.origin.partition("://")[2], "Cookie": caller.cookie}
    connection.request("GET", f"{caller.root}/live", headers=headers)
    came = connection.getresponse()
    assert (came.status, came.getheader("content-type")) == (200, "text/event-stream; charset=utf-8")
    assert came.getheader("cache-control") == "no-store"
    lines = [came.readline() for _ in range(6)]
    connection.close()
    events = [json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: ")]
    assert len(events) == 2
    assert events[0]["values"]["pages"] == f"{status(crawled)['pages']:,}"
    assert events[0]["tables"]["workers"]
    looked = caller.ask("HEAD", f"{caller.root}/live")
    assert (looked.status, looked.text) == (200, "")


def test_sites__are_those_of_the_command_page_by_page(crawled: Path, caller: Caller) -> None:
    """Sorted, filtered and cut on the server; numbers that are none are the first page."""
    every = sites_of(crawled, "--by", "site", "--rising", "--most", "1000")
    assert every["sites"] == every["found"] == len(every["rows"]) == sum(every["waiting"].values())
    page = caller.page("/sites", by="site", rising="yes")
    shown = re.findall(r'/site\?name=[^"]*">([^<]+)</a>', page)
    assert shown == [row["site"] for row in every["rows"][:50]]
    check_harmless(page, caller.root)
    sql = "select site, count(distinct id) as pages from pages where final and kind <> 'robots' group by site"
    rows = [json.loads(line) for line in weft("query", crawled, sql, "--json").splitlines()]
    fetched = {row["site"]: row["pages"] for row in rows}
    assert {row["site"]: row["fetched"] for row in every["rows"] if row["fetched"]} == fetched
    done = sites_of(crawled, "--waits-for", "nothing", "--most", "1000")
    page = caller.page("/sites", waits_for="nothing")
    assert f"of {done['found']:,}</span>" in page
    name = every["rows"][0]["site"]
    assert re.findall(r'/site\?name=[^"]*">([^<]+)</a>', caller.page("/sites", text=name.upper())) == [name]
    assert "1 to" in caller.page("/sites", first="-7; select 1")
    assert "No site is like that" in caller.page("/sites", first="100000")
    for wrong in ({"by": "evil"}, {"waits_for": "<script>"}):
        check_harmless(caller.page("/sites", 400, **wrong), caller.root)


def test_site__has_its_limits_its_robots_and_its_history(crawled: Path, caller: Caller) -> None:
    """What the command says of it; of one that nobody knows, that nobody does."""
    name = stored(crawled)["site"]
    found = json.loads(weft("sites", crawled, name, "--json"))
    page = caller.page("/site", name=name)
    check_harmless(page, caller.root)
    for label, value in found["limits"].items():
        assert f"<dt>{label}</dt><dd>{value}</dd>" in page
    for each in found["outcomes"]:
        assert f"<td>{each['outcome']}</td>" in page
    for record in found["robots"].values():
        if record["body"]:
            assert record["body"].strip() in unescape(page)
    assert len(found["fetches"]) == page.count("/url?url=")
    assert "No worker knows this site" in caller.page("/site", name="nobody.test")
    assert "which name" in caller.page("/site", 400)
    assert "no name of a site" in caller.page("/site", 400, name="::::")


def test_url__is_explained_and_its_content_is_text(crawled: Path, caller: Caller) -> None:
    """The verdict of `weft explain`, every version, and the archived page as words or as source."""
    row = stored(crawled)
    said = weft("explain", crawled, row["url"]).splitlines()[1].strip()
    page = caller.page("/url", url=row["url"])
    assert said in unescape(page)
    version = re.search(r"version=(\d+)", page)
    assert version is not None
    words = caller.page("/url", url=row["url"], version=version[1])
    source = caller.page("/url", url=row["url"], version=version[1], **{"as": "source"})
    shown = weft("show", crawled, row["url"])
    assert "&lt;title&gt;" in source
    assert "&lt;title&gt;" not in words
    archived = re.search(r'<pre class="archived" tabindex="0">(.*?)</pre>', source, re.DOTALL)
    assert archived is not None
    assert unescape(archived[1]).strip() == shown.strip()
    for each in (page, words, source):
        check_harmless(each, caller.root)
    assert "nothing is stored" in caller.page("/url", 400, url=row["url"], version="99")
    assert "It has not been found" in caller.page("/url", url=f"http://{row['site']}/never-heard-of")
    assert "never crawled" in caller.page("/url", url="mailto:me@example.org")


def test_plots__are_files_with_their_numbers_beside(crawled: Path, caller: Caller) -> None:
    """Images and CSV, as the page names them; their sum is that of the report."""
    page = caller.page("/plots")
    check_harmless(page, caller.root)
    names = set(re.findall(rf'src="({re.escape(caller.root)}/plots/[^"]+)"', page))
    assert len(names) == 3
    for name in names:
        for shown in (name, f"{name}?tone=dark"):
            answer = caller.ask("GET", shown)
            assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    lines = caller.page("/plots/speed.csv").splitlines()
    times = json.loads(weft("report", crawled, "--json", "--no-graph"))["time"]
    assert [float(line.split(",")[1]) for line in lines[1:]] == pytest.approx(times["pages_rate"], rel=1e-4)
    for wrong in ("/plots/speed.png", "/plots/evil.svg", "/plots/../live", "/plots/speed"):
        assert caller.ask("GET", f"{caller.root}{wrong}").status == 404


def test_reports__stand_side_by_side(crawled: Path, tmp_path: Path) -> None:
    """Those that were named when the console was opened, by the numbers that they have; texts in them stay texts."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    found = json.loads(weft("report", crawled, "--json", "--no-graph"))
    first.write_text(json.dumps(found), encoding="utf-8")
    second.write_text(json.dumps(found | {"crawl": "<script>alert(1)</script>", "fetches": 77}), encoding="utf-8")
    with inside(crawled, first, second) as caller:
        page = caller.page("/reports")
        check_harmless(page, caller.root)
        assert f'<td class="number beside">{found["fetches"]:,}</td><td class="number beside">77</td>' in page
        assert "totals.pages" in page
        assert "totals.pages" not in caller.page("/reports", text="fetches")
    with inside(crawled) as caller:
        assert "None was given" in caller.page("/reports")


# --- actions ---


def test_actions__do_what_the_commands_do(crawled: Path) -> None:
    """Each form, and what the commands say of it afterwards. The crawl does not run: it holds when it does."""
    with inside(crawled) as caller:
        assert caller.act("pause").startswith("Paused. The crawl is not running")
        assert status(crawled)["paused"] is True
        assert "It is paused" in caller.page("/manage")
        assert caller.act("resume", back="overview").startswith("Resumed.")
        assert status(crawled)["paused"] is False
        assert "The target is 50 pages/s." in caller.act("speed", speed="50 pages/s")
        assert status(crawled)["speed"] == "50 pages/s"
        assert "write such as" in caller.act("speed", speed="faster")
        assert status(crawled)["speed"] == "50 pages/s"
        caller.act("speed", speed="none")
        assert "does not run" in caller.act("workers", workers="2")
        assert "tick the box" in caller.act("stop")
        assert caller.act("stop", sure="yes") == "The crawl is not running."
        assert caller.act("blacklist", add="evil.test\n*.bad.test").startswith("2 rules added, 0 removed")
        assert weft("blacklist", crawled).split() == ["evil.test", "*.bad.test"]
        page = caller.page("/manage")
        check_harmless(page, caller.root)
        assert 'name="remove" value="evil.test"' in page
        assert caller.act("blacklist", remove="evil.test").startswith("0 rules added, 1 removed")
        assert weft("blacklist", crawled).split() == ["*.bad.test"]
        assert "is not on the blacklist" in caller.act("blacklist", remove="evil.test")
        said = caller.act("seeds", seeds="http://new.test/\nmailto:x\n")
        assert said.startswith("1 seed added.")
        assert "1 skipped" in said
        assert "waits in the global frontier" in caller.page("/url", url="http://new.test/")
        assert "no nodes" in caller.act("leave", node="1")
        answer = caller.ask("POST", f"{caller.root}/act/evil", form={"csrf": caller.csrf})
        assert answer.status == 404


def test_message__is_shown_once(caller: Caller) -> None:
    """What came of an action is on the next page, and on no other."""
    said = caller.act("resume")
    assert said
    assert said not in unescape(caller.page("/manage"))


def test_crawl__is_managed_while_it_runs(tmp_path: Path) -> None:
    """Paused, resumed, slowed down, given workers and stopped from a browser; the overview follows."""
    out = tmp_path / "crawl"
    options = replace(PLAIN, sites_per_domain=3, sites_per_address=2)
    with serving(make_web(options, sites=36, pages=9000, largest=400)) as bed:
        siege = Siege(_slow(bed, out), out.with_suffix(".log"))
        try:
            wait_until(lambda: (out / "frontier.db").exists() or siege.over, "the crawl does not begin")
            wait_until(lambda: siege.over or status(out)["pages"] > 20, "nothing is fetched")
            with inside(out) as caller:
                assert "running" in caller.page("/")
                assert caller.act("pause") == "Paused. In force within seconds."
                wait_until(lambda: "running, paused" in caller.page("/"), "it is not paused")
                assert caller.act("resume") == "Resumed. In force within seconds."
                assert "30 pages/s" in caller.act("speed", speed="30 pages/s")
                assert caller.act("workers", workers="2") == "2 workers, within seconds."
                wait_until(lambda: len([w for w in status(out)["workers"] if w["alive"]]) == 2, "no second worker")
                wait_until(lambda: caller.page("/").count(">alive<") == 2, "the overview does not show it")
                assert "turn" in caller.page("/sites")
                assert caller.act("stop", sure="yes").startswith("Told to stop")
                wait_until(lambda: siege.over, "it does not stop")
                wait_until(lambda: "not running (the last run ended: stopped)" in caller.page("/"), "nobody says so")
        finally:
            siege.close()


def test_crawl__brings_its_console_with_it(tmp_path: Path) -> None:
    """The link is shown and not kept, the overview is that of the crawl, and both end together."""
    out = tmp_path / "crawl"
    with serving(make_web(PLAIN, sites=30, pages=3000)) as bed:
        siege = Siege([*_slow(bed, out), "--console"], out.with_suffix(".log"))
        try:
            said = out.with_suffix(".log")
            wait_until(lambda: "?token=" in said.read_text() or siege.over, "no link is shown")
            found = re.search(r"the console is at (http://127\.0\.0\.1:(\d+))/enter\?token=(\S+)", said.read_text())
            assert found is not None, said.read_text()
            served: Any = SimpleNamespace(
                url=found[1], port=int(found[2]), link=found[0], where=SimpleNamespace(root="")
            )
            caller = Caller(served)
            answer = caller.enter()
            assert answer.status == 303, answer
            caller.root = answer.headers["location"].rstrip("/")
            assert "running" in caller.page("/")
            assert caller.act("stop", sure="yes").startswith("Told to stop")
            wait_until(lambda: siege.over, "it does not stop")
            with pytest.raises(ConnectionRefusedError):
                caller.ask("GET", "/")
        finally:
            siege.close()
    assert not any(b"token=" in path.read_bytes() for path in out.rglob("*") if path.is_file())


def test_crawl__goes_on_when_its_console_ends(tmp_path: Path) -> None:
    """That is told, once; a second console finds a port of its own."""
    lines: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert free_place(taken.getsockname()[1]) == Place("127.0.0.1", 0)
        free = taken.getsockname()[1]
    assert free_place(free) == Place("127.0.0.1", free)
    with Beside(tmp_path / "nothing", lines.append, wanted=True) as beside:

        def ended() -> bool:
            beside.look()
            return any("the crawl goes on" in line for line in lines)

        wait_until(ended, "nobody says so")
        beside.look()
    assert "there is no crawl here" in lines[0]
    assert sum("the crawl goes on" in line for line in lines) == 1


def _slow(bed: Bed, out: Path) -> list[str]:
    """A crawl that lasts for as long as the test needs it."""
    return command_for(bed, out, "--wait", "0.1", "--per-visit", "5", "--speed", "60 pages/s", "--workers", "1")


def test_cluster__is_shown_and_managed_by_its_address() -> None:
    """A crawl in a database has no files here: what needs them says where they are, everything else works."""
    address = database().schema()
    weft("cluster", "init", address, "http://one.test/", "http://two.test/", "--contact", "me@example.org")
    with inside(address) as caller:
        page = caller.page("/")
        check_harmless(page, caller.root)
        assert "not running" in page
        assert re.search(r"to crawl</td><td [^>]*>2<", page)
        assert caller.act("pause").startswith("Paused.")
        assert json.loads(weft("status", address, "--json"))["paused"] is True
        assert "each node has workers of its own" in caller.act("workers", workers="2")
        assert "there is no node 7" in caller.act("leave", node="7")
        for path in ("/sites", "/plots"):
            assert "where its nodes are" in caller.page(path, 400)
        assert "where its nodes are" in caller.page("/site", 400, name="one.test")
        assert "where its nodes are" in caller.page("/url", 400, url="http://one.test/")


# --- where it is served ---


def test_link__is_good_once_and_another_one_is_printed(crawled: Path) -> None:
    """Who comes in is told of on the terminal, with the link for the next."""
    told: list[str] = []
    server = Server(str(crawled), Wanted(place=HERE), SystemClock(), told.append)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the console does not start")
        caller, link = Caller(server), server.link
        form = {"token": link.partition("token=")[2]}
        looked = caller.ask("GET", link.partition(caller.origin)[2])
        assert looked.status == 200
        assert "set-cookie" not in looked.headers, "looking at it uses up nothing"
        came = caller.ask("POST", "/enter", form=form)
        assert (came.status, came.headers["location"]) == (303, f"{caller.root}/")
        again = caller.ask("POST", "/enter", form=form)
        assert again.status == 403
        assert "set-cookie" not in again.headers
        assert len(told) == 1
        assert "from 127.0.0.1" in told[0]
        assert caller.ask("POST", "/enter", form={"token": told[0].partition("token=")[2]}).status == 303
        caller.enter()
        caller.act("pause")
        caller.act("resume")
        assert told[-2:] == [
            f"{what}. The crawl is not running: this holds when it is run again."
            for what in ("pause: Paused", "resume: Resumed")
        ]
    finally:
        server.stop()
        thread.join(PATIENCE)


def test_certificate__makes_the_cookie_one_of_this_host(crawled: Path, tmp_path: Path) -> None:
    """Beyond loopback there is TLS: a cookie with the prefix that binds it, for names that were given and no others."""
    authority = trustme.CA()
    own = authority.issue_cert("crawl.example.org")
    certificate, key = tmp_path / "crawl.pem", tmp_path / "crawl.key"
    own.cert_chain_pems[0].write_to_path(certificate)
    own.private_key_pem.write_to_path(key)
    context = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    wanted = Wanted(
        place=Place("0.0.0.0", 0),  # noqa: S104
        names=("crawl.example.org",),
        certificate=certificate,
        key=key,
    )
    server = Server(str(crawled), wanted, SystemClock(), lambda _line: None)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the console does not start")
        assert server.url == f"https://crawl.example.org:{server.port}"

        def ask(method: str, path: str, host: str, body: str = "") -> http.client.HTTPResponse:
            line = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
            connection = http.client.HTTPSConnection("crawl.example.org", server.port)
            connection.sock = context.wrap_socket(line, server_hostname="crawl.example.org")
            headers = {"Host": host, "Origin": f"https://{host}", "Content-Type": "application/x-www-form-urlencoded"}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.read()
            connection.close()
            return answer

        name, token = f"crawl.example.org:{server.port}", server.link.partition("token=")[2]
        assert ask("GET", "/enter", f"127.0.0.1:{server.port}").status == 421
        came = ask("POST", "/enter", name, f"token={token}")
        assert (came.status, came.getheader("location")) == (303, "/")
        cookie = str(came.getheader("set-cookie"))
        assert cookie.startswith("__Host-weft-console=")
        assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")
        assert str(came.getheader("strict-transport-security")).startswith("max-age=")
    finally:
        server.stop()
        thread.join(PATIENCE)


def test_command__ends_by_a_signal_though_somebody_watches(crawled: Path) -> None:
    """A stream of events that is open keeps nobody waiting; the link is on the terminal."""
    command = [sys.executable, "-m", "weft", "console", str(crawled), "--at", ":0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://(127\.0\.0\.1:\d+)/enter\?token=(\S+)", said)
        assert found is not None, said
        connection = http.client.HTTPConnection(found[1], timeout=PATIENCE)
        form = {"Origin": f"http://{found[1]}", "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/enter", f"token={found[2]}", form)
        came = connection.getresponse()
        came.read()
        root, cookie = str(came.getheader("location")), str(came.getheader("set-cookie")).partition(";")[0]
        connection.request("GET", f"{root}live", headers={"Cookie": cookie})
        assert connection.getresponse().readline() == b"retry: 3000\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert "somebody has come in from 127.0.0.1" in process.stdout.read()
        connection.close()


def test_leaving__ends_the_session(crawled: Path) -> None:
    """And its stream of events."""
    with inside(crawled) as caller:
        assert caller.ask("POST", f"{caller.root}/leave", form={"csrf": caller.csrf}).status == 303
        assert caller.ask("GET", f"{caller.root}/").status == 403


def test_mistakes__are_told_before_anything_is_served(crawled: Path, tmp_path: Path) -> None:
    """No crawl, a place that is taken or none, the network in the clear."""
    assert "there is no crawl here" in weft("console", tmp_path / "nothing", "--at", ":0", code=2)
    assert "ADDRESS:PORT" in weft("console", crawled, "--at", "somewhere", code=2)
    assert "ssh -L" in weft("console", crawled, "--at", "0.0.0.0:0", "--name", "a.example", code=2)
    with console_of(crawled) as server, pytest.raises(WeftError, match="cannot be served here"):
        Server(str(crawled), Wanted(place=Place("127.0.0.1", server.port)), SystemClock(), print)
    with pytest.raises(UsageError):
        Server(str(crawled), Wanted(place=Place("0.0.0.0", 0)), SystemClock(), print)  # noqa: S104
