"""Our own failures on real sockets: a network that is unplugged, a name server that lies, a proxy that is down, too few
open files; and names that have dead addresses beside living ones.
"""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.crawling import make_web, rows, settings_for
from tests.hostile.names import AAAA, A, NameServer, Zone, name_server
from tests.patience import PATIENCE

from weft.app import Summary, run
from weft.config import Settings
from weft.directory import Plan
from weft.engine.progress import Statistics
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN

ROOT = Path(__file__).resolve().parents[2]


def unplugged(out: Path, seconds: float, workers: int, *options: str) -> dict[str, Any]:
    """A crawl whose network is gone for so many seconds, in a network of its own."""
    apart = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*apart, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no network namespaces here")
    done = subprocess.run(
        [*apart, sys.executable, "-m", "tests.hostile.unplugged", str(out), str(seconds), str(workers), *options],
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds + PATIENCE,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check_nothing_lost(found: dict[str, Any]) -> None:
    """The crawl waited for its network, said so, went on by itself and has everything."""
    assert not found["ended"]
    assert found["outage"]
    assert (found["code"], found["why"]) == (0, "done")
    assert (found["missing"], found["twice"], found["failed"]) == (0, 0, 0)
    assert "site-failed" not in found["refused"]
    for told in (found["said"], found["messages"]):
        assert "nobody can be reached" in told
        assert "the crawl goes on" in told


@pytest.mark.parametrize("workers", [2, pytest.param(1, marks=pytest.mark.soak)])
def test_unplugged_network__costs_nothing_but_its_time(tmp_path: Path, workers: int) -> None:
    """A few seconds without any network, with pauses of a minute for sites that fail."""
    quick = ("--connect-timeout", "1", "--dns-timeout", "0.5", "--timeout", "4")
    check_nothing_lost(unplugged(tmp_path / "crawl", 4.0, workers, *quick))


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_unplugged_network__for_twelve_minutes_costs_nothing_either(tmp_path: Path) -> None:
    """Longer than all pauses between tries together."""
    found = unplugged(tmp_path / "crawl", 720.0, 2)
    print({name: found[name] for name in ("noticed", "went_on", "missing", "twice", "refused", "failed")})  # noqa: T201
    check_nothing_lost(found)


# Names and their addresses.


class _Six(ThreadingHTTPServer):
    address_family = socket.AF_INET6


@contextmanager
def page_at(address: str) -> Iterator[int]:
    """One page, at this address alone; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: Any) -> None:
            pass

    server = (_Six if ":" in address else ThreadingHTTPServer)((address, 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def crawl(out: Path, seeds: list[str], names: NameServer, watch: Any = None, **changes: Any) -> Summary:
    """Crawl names that a server of our own knows."""
    values: dict[str, Any] = {"dns": [names.at], "wait": 0.05, "scope": "list", "dns_timeout": 1.0}
    values |= {"allow_address": ["127.0.0.0/8", "::1/128"], "contact": "mailto:me@example.org", "connect_timeout": 2.0}
    settings = Settings().with_values(values | changes, where="a test")
    return run(Plan(seeds=seeds, out=out, settings=settings), watch=watch)


@pytest.mark.parametrize(
    ("lives", "zone"),
    [
        ("127.0.0.3", {("a.test", A): ["127.0.0.2", "127.0.0.3"]}),
        ("127.0.0.2", {("a.test", A): ["127.0.0.2", "127.0.0.3"]}),
        ("127.0.0.4", {("a.test", A): ["127.0.0.2", "127.0.0.3", "127.0.0.4"]}),
        ("::1", {("a.test", A): ["127.0.0.2"], ("a.test", AAAA): ["::1"]}),
        ("::1", {("a.test", AAAA): ["::1"]}),
        ("127.0.0.3", {("a.test", A): ["10.0.0.1", "127.0.0.3"]}),
    ],
    ids=["second", "first", "third", "IPv6", "IPv6 alone", "forbidden and allowed"],
)
def test_name__is_visited_at_any_of_its_addresses_that_lives(lives: str, zone: Zone, tmp_path: Path) -> None:
    """Without a pause for a site that failed: the next address is tried when the site's wait is over."""
    with page_at(lives) as port, name_server(zone) as names:
        done = crawl(tmp_path / "crawl", [f"http://a.test:{port}/"], names, retry_pauses=[2 * PATIENCE])
    assert rows(tmp_path / "crawl", "status, ip, attempt", "final and kind <> 'robots'") == [(200, lives, 1)]
    assert done.counts.seconds < PATIENCE


def test_name__with_dead_addresses_alone_is_given_up(tmp_path: Path) -> None:
    """All of them were tried, and as often as a page is."""
    with page_at("127.0.0.9") as port, name_server({("a.test", A): ["127.0.0.2", "127.0.0.3"]}) as names:
        done = crawl(tmp_path / "crawl", [f"http://a.test:{port}/"], names, retry_pauses=[0.1])
    assert done.why == "done"
    assert {address for (address,) in rows(tmp_path / "crawl", "ip")} == {"127.0.0.2", "127.0.0.3"}


def test_name_server__that_lies_for_a_while_costs_nothing(tmp_path: Path) -> None:
    """Every name has a forbidden address, then the true one: all pages are had, and nothing is refused for good."""
    hosts = [f"www.s{site}.test" for site in range(8)]
    zone: Zone = {(host, A): [f"127.0.1.{number + 1}"] for number, host in enumerate(hosts)}
    with page_at("0.0.0.0") as port, name_server(zone) as names:  # noqa: S104
        names.every = "10.0.0.1"
        seen: list[str] = []

        def watch(now: Statistics) -> None:
            if now.outage:
                seen.append(now.outage)
                names.every = ""

        done = crawl(tmp_path / "crawl", [f"http://{host}:{port}/" for host in hosts], names, watch)
    assert "10.0.0.1" in seen[0]
    assert (done.why, done.counts.good, done.refused) == ("done", len(hosts), {})
    assert done.counts.outages == 1


# The proxy.


def test_proxy__that_is_down_is_waited_for(tmp_path: Path) -> None:
    """Nothing counts against the one site there is; the crawl goes on when the proxy does."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    proxies: list[subprocess.Popen[bytes]] = []

    def watch(now: Statistics) -> None:
        if now.outage and not proxies:
            proxies.append(subprocess.Popen([sys.executable, "-c", _PROXY, str(port)]))

    settings = Settings().with_values(
        {"proxy": f"http://127.0.0.1:{port}", "wait": 0.05, "scope": "list", "contact": "mailto:me@example.org"},
        where="a test",
    )
    try:
        done = run(Plan(seeds=["http://a.test/"], out=tmp_path / "crawl", settings=settings), watch=watch)
    finally:
        for proxy in proxies:
            proxy.kill()
            proxy.wait()
    assert (done.why, done.counts.good, done.reasons) == ("done", 1, {})


_PROXY = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if "robots" in self.path else "text/html")
        self.send_header("Content-Length", "0")
        self.end_headers()

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


# Open files.


@pytest.mark.parametrize(("soft", "hard"), [(64, 64), (64, 4096), pytest.param(256, 4096, marks=pytest.mark.soak)])
def test_open_files__few_as_they_may_be_cost_no_page(tmp_path: Path, soft: int, hard: int) -> None:
    """The limit is raised where it can be; else there are fewer connections, which is said."""
    with serving(make_web(PLAIN, sites=80, pages=240, largest=20)) as bed:
        settings = settings_for(bed, connections=500, per_address=500, per_domain=500, per_visit=1, workers=1)
        code = f"from tests.integration.test_outage import crawl_within; crawl_within({soft}, {hard})"
        (tmp_path / "settings.toml").write_text(settings.to_toml(), encoding="utf-8")
        plan = json.dumps([bed.seeds(), str(tmp_path / "crawl"), str(tmp_path / "settings.toml")])
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=plan,
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=ROOT,
        )
    assert done.returncode == 0, done.stderr
    reasons = json.loads(done.stdout)
    assert reasons["good"] == 240
    assert not {"dns-failed", "connect-failed"} & set(reasons["reasons"])
    assert ("room for" in done.stderr) == (hard < 500)


def crawl_within(soft: int, hard: int) -> None:
    """Run a crawl with so many open files; for a process of its own."""
    seeds, out, file = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    settings = Settings().with_file(Path(file))
    done = run(Plan(seeds=seeds, out=Path(out), settings=settings))
    print(json.dumps({"good": done.counts.good, "reasons": done.reasons}))  # noqa: T201
