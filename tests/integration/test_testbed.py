"""The testbed on real sockets: what any client sees, and what the servers write down about it."""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest
from tests.patience import PATIENCE

import weft.testbed.bed
from weft.cli import main
from weft.errors import WeftError
from weft.graph import Graph, Recipe, generate
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN, Options
from weft.testbed.serve import ServerSettings
from weft.testbed.sockets import require_files
from weft.testbed.tls import certificate_flaws
from weft.testbed.web import Web

FAILURES = "closed=1 short=1 reset=1 hang=1 endless=1 malformed=1 503=1 404=1"
WEFT = [sys.executable, "-m", "weft"]
SINGLE_PAGE = Graph.from_links([1], [], parent=[-1])


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A web of 30 sites and 1,000 pages."""
    return generate(Recipe(sites=30, pages=1_000), seed=3)


@pytest.fixture(scope="module")
def bed(graph: Graph) -> Iterator[Bed]:
    """A web of names with failing pages that do not take long to fail."""
    options = dataclasses.replace(
        PLAIN, failing=0.5, failing_kinds=FAILURES, hang_s=0.3, redirects=0.1, dns_truncated=0.3, dns_ttl_s=60
    )
    with ExitStack() as until_the_end:
        with mock.patch.object(weft.testbed.bed, "subprocess", subprocess):  # it is started as anybody would
            running = until_the_end.enter_context(serving(Web(graph, options, seed=3)))
        yield running


@pytest.fixture(scope="module")
def secure_bed(graph: Graph) -> Iterator[Bed]:
    """A web under https, some of its certificates bad."""
    options = dataclasses.replace(PLAIN, https=0.8, bad_certificates=0.5)
    with serving(Web(graph, options, seed=3), ServerSettings(tls=True)) as running:
        yield running


def connected(bed: Bed, site: int) -> http.client.HTTPConnection:
    """A connection to a site's address."""
    return http.client.HTTPConnection(bed.web.names.address(site), bed.port, timeout=PATIENCE)


def ask_alone(bed: Bed, url: str) -> tuple[int, bytes]:
    """Status and body of one address, over a connection of its own."""
    connection = connected(bed, bed.web.locate(url)[0])
    try:
        return ask(connection, bed, url)
    finally:
        connection.close()


def ask(connection: http.client.HTTPConnection, bed: Bed, url: str, **fields: str) -> tuple[int, bytes]:
    """Status and body of one address."""
    site, path = bed.web.locate(url)
    host = bed.web.authority(site, secure=False).decode()
    connection.request("GET", path.decode("latin-1"), headers={"Host": host, "User-Agent": "tester/1", **fields})
    answer = connection.getresponse()
    return answer.status, answer.read()


def missing(bed: Bed, kind: str) -> str:
    """The address of a page that fails in this way."""
    web = bed.web
    for site in range(web.graph.sites):
        for number in range(web.hazards.count(site)):
            if web.hazards.kind(site, number) == kind:
                return (web.bases[site] + web.hazards.path(site, number)).decode()
    raise AssertionError(f"no page fails by {kind}")


def test_testbed__serves_what_the_web_says(bed: Bed) -> None:
    """Pages, redirects and missing pages answer on their sites' addresses as they do without sockets."""
    for page in range(0, bed.web.graph.pages, 40):
        assert ask_alone(bed, bed.url(page)) == (200, bed.web.body(page))
    moved = bed.url(500).replace(bed.web.path(500).decode(), "/old" + bed.web.path(500).decode())
    assert ask_alone(bed, moved)[0] in {301, 302}
    assert ask_alone(bed, bed.seeds()[0] + "robots.txt")[0] == 200
    assert ask_alone(bed, bed.seeds()[0] + "no-such-page")[0] == 404


def test_testbed__a_connection_is_kept_and_its_times_are_true(bed: Bed) -> None:
    """Requests on one connection have its number; first and last byte lie between asking and having the answer."""
    site = max(range(bed.web.graph.sites), key=lambda site: len(bed.web.graph.pages_of(site)))
    pages = bed.web.graph.pages_of(site)[:3]
    connection = connected(bed, site)
    moments = [time.time()]
    for page in pages:
        ask(connection, bed, bed.url(page), **{"User-Agent": "keeper/1"})
        moments.append(time.time())
    connection.close()
    entries = [entry for entry in bed.log() if entry.agent == "keeper/1"]
    requests = [entry for entry in entries if entry.event == "request"]
    assert [entry.path for entry in requests] == [bed.web.path(page).decode() for page in pages]
    assert len({entry.connection for entry in entries}) == 1
    for before, entry, after in zip(moments, requests, moments[1:], strict=False):
        assert entry.opened <= entry.first_byte <= entry.last_byte
        assert before - 0.01 < entry.first_byte
        assert entry.last_byte < after + 0.01
    assert {entry.address for entry in requests} == {bed.web.names.address(site)}
    assert {entry.site for entry in requests} == {bed.web.authority(site, secure=False).decode()}


def test_testbed__last_byte_waits_for_a_slow_reader() -> None:
    """While a client does not read, answers are not out; their lines are written when the kernel takes them."""
    options = dataclasses.replace(PLAIN, median_bytes=900_000, size_spread=0.0, naming="literals")
    requests = 30  # more than all buffers of the kernel hold
    with serving(Web(SINGLE_PAGE, options, seed=1)) as bed, socket.socket() as client:
        client.settimeout(PATIENCE)
        client.connect((bed.web.names.address(0), bed.port))
        client.sendall(b"GET / HTTP/1.1\r\n\r\n" * (requests - 1) + b"GET / HTTP/1.0\r\n\r\n")
        client.recv(1)
        time.sleep(0.3)
        early = len(bed.log())
        while client.recv(1 << 20):
            pass
        entries = [entry for entry in bed.log() if entry.event == "request"]
    assert early < requests == len(entries)
    assert entries[early].last_byte - entries[0].first_byte > 0.25
    assert {entry.size > 890_000 for entry in entries} == {True}


@pytest.mark.parametrize("kind", ["closed", "short", "reset", "hang", "endless", "malformed"])
def test_testbed__failures_can_be_observed(bed: Bed, kind: str) -> None:
    """Every way of not answering is one a client can tell from the others."""
    url = missing(bed, kind)
    site, path = bed.web.locate(url)
    with socket.create_connection((bed.web.names.address(site), bed.port), timeout=PATIENCE) as client:
        host = bed.web.authority(site, secure=False)
        client.sendall(b"GET %b HTTP/1.1\r\nHost: %b\r\nUser-Agent: %b\r\n\r\n" % (path, host, kind.encode()))
        began = time.perf_counter()
        received, ended = _read_all(client)
        took = time.perf_counter() - began
    length = re.search(rb"Content-Length: (\d+)", received)
    body = received.partition(b"\r\n\r\n")[2]
    if kind in {"closed", "hang"}:
        assert received == b""
    if kind in {"short", "reset"}:
        assert length is not None
        assert len(body) == int(length[1]) // 2
    if kind in {"hang", "endless"}:
        assert took > 0.25
    if kind == "endless":
        assert body.count(b"and so on") >= 2
    if kind == "malformed":
        with pytest.raises(http.client.HTTPException):
            _parse(received)
    assert ended == ("reset" if kind == "reset" else "end")
    entry = next(entry for entry in bed.log() if entry.agent == kind and entry.event == "request")
    assert entry.kind == kind
    assert entry.last_byte >= entry.first_byte


def _read_all(client: socket.socket) -> tuple[bytes, str]:
    received = b""
    while True:
        try:
            piece = client.recv(65536)
        except ConnectionResetError:
            return received, "reset"
        if not piece:
            return received, "end"
        received += piece


def _parse(text: bytes) -> None:
    """Read an answer strictly, as a careful client does."""
    head = text.partition(b"\r\n\r\n")[0].split(b"\r\n")
    if not head[0].startswith(b"HTTP/1."):
        raise http.client.BadStatusLine(head[0].decode())
    lengths = set()
    for line in head[1:]:
        name, colon, value = line.partition(b":")
        if not colon:
            raise http.client.HTTPException("no colon")
        if name.lower() == b"content-length":
            lengths.add(value.strip())
    if len(lengths) != 1 or not lengths.pop().isdigit():
        raise http.client.HTTPException("no length")


def test_testbed__certificates_verify_against_the_authority(secure_bed: Bed) -> None:
    """A good certificate is trusted by who trusts the CA file; a bad one is refused for what is wrong with it."""
    web = secure_bed.web
    context = ssl.create_default_context(cafile=str(secure_bed.ca_file))
    flaws = certificate_flaws(web.graph.sites, web.options, web.seed)
    seen = {}
    for site, flaw in enumerate(flaws):
        if not web.bases[site].startswith(b"https") or flaw in seen:
            continue
        with socket.create_connection((web.names.address(site), secure_bed.tls_port or 0), timeout=PATIENCE) as client:
            try:
                with context.wrap_socket(client, server_hostname=web.names.host(site)) as secured:
                    host = web.authority(site, secure=True)
                    secured.sendall(b"GET / HTTP/1.0\r\nHost: %b\r\n\r\n" % host)
                    body = _read_all(secured)[0].partition(b"\r\n\r\n")[2]
                    assert body == web.body(web.graph.pages_of(site)[0])
                    seen[flaw] = "trusted"
            except ssl.SSLCertVerificationError as error:
                seen[flaw] = error.verify_message
    assert seen["good"] == "trusted"
    assert "self-signed" in seen["self-signed"] or "self signed" in seen["self-signed"]
    assert "expired" in seen["expired"]
    assert "mismatch" in seen["wrong-name"].lower()
    assert any(entry.scheme == "https" and entry.status == 200 for entry in secure_bed.log())


def test_testbed__plain_requests_to_https_sites_are_sent_there(secure_bed: Bed) -> None:
    """http://site/ answers 301 to https://site/, as nearly everywhere."""
    web = secure_bed.web
    site = next(site for site in range(web.graph.sites) if web.bases[site].startswith(b"https"))
    connection = http.client.HTTPConnection(web.names.address(site), secure_bed.port, timeout=PATIENCE)
    connection.request("GET", "/x", headers={"Host": web.authority(site, secure=False).decode()})
    answer = connection.getresponse()
    assert answer.status == 301
    assert answer.headers["Location"] == web.bases[site].decode() + "/x"
    connection.close()


def test_testbed__addresses_have_certificates_of_their_own(graph: Graph) -> None:
    """Where sites are addresses, no name is sent; the certificate fits the address."""
    web = Web(graph, dataclasses.replace(PLAIN, naming="literals"), seed=3)
    with serving(web, ServerSettings(tls=True, resumption=False)) as bed:
        context = ssl.create_default_context(cafile=str(bed.ca_file))
        for site in (0, 7):
            host = bed.web.names.address(site)
            connection = http.client.HTTPSConnection(host, bed.tls_port, timeout=PATIENCE, context=context)
            connection.request("GET", "/")
            assert connection.getresponse().read() == bed.web.body(graph.pages_of(site)[0])
            connection.close()


def _dns_question(name: str) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 99, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)


def test_testbed__names_are_in_its_dns(bed: Bed) -> None:
    """A question over UDP is answered with the site's address, or with leave to ask over TCP; then there."""
    over_tcp, asked = 0, bed.dns_questions()
    for site in range(bed.web.graph.sites):
        query = _dns_question(bed.web.names.host(site))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(PATIENCE)
            client.sendto(query, ("127.0.0.1", bed.dns_port))
            reply = client.recv(512)
        if reply[2] & 2:
            over_tcp += 1
            with socket.create_connection(("127.0.0.1", bed.dns_port), timeout=PATIENCE) as stream:
                stream.sendall(struct.pack(">H", len(query)) + query)
                length = struct.unpack(">H", stream.recv(2, socket.MSG_WAITALL))[0]
                reply = stream.recv(length, socket.MSG_WAITALL)
        assert reply[:2] == query[:2]
        assert socket.inet_ntoa(reply[-4:]) == bed.web.names.address(site)
        assert struct.unpack(">I", reply[-10:-6])[0] == 60
    assert 0 < over_tcp < bed.web.graph.sites
    assert bed.dns_questions() - asked == bed.web.graph.sites + over_tcp


def test_testbed__several_processes_share_the_ports(graph: Graph) -> None:
    """Connections are spread over processes and still have different numbers in one log."""
    web = Web(graph, dataclasses.replace(PLAIN, naming="literals"), seed=3)
    with serving(web, ServerSettings(processes=2)) as bed:
        for _ in range(60):
            connection = connected(bed, 0)
            assert ask(connection, bed, bed.url(0))[0] == 200
            connection.close()
        numbers = [entry.connection for entry in bed.log() if entry.event == "request"]
    assert len(set(numbers)) == len(numbers) == 60
    assert {number % 2 for number in numbers} == {0, 1}


def test_testbed__idle_connections_are_closed_by_the_server(graph: Graph) -> None:
    """After the time it allows, the server ends a connection that is not used."""
    web = Web(graph, dataclasses.replace(PLAIN, naming="literals"), seed=3)
    with serving(web, ServerSettings(keep_alive_s=0.1)) as bed, socket.socket() as client:
        client.settimeout(PATIENCE)
        client.connect((bed.web.names.address(0), bed.port))
        assert client.recv(1) == b""


def test_testbed__waits_and_rates_are_kept() -> None:
    """Latency comes before the first byte, and a page of 60 KB at 200 KB/s takes its time."""
    options = dataclasses.replace(
        PLAIN,
        naming="literals",
        latency_ms=100.0,
        latency_spread=0.0,
        median_bytes=60_000,
        size_spread=0.0,
        rate_kbs=200.0,
    )
    with serving(Web(SINGLE_PAGE, options, seed=1)) as bed:
        connection = connected(bed, 0)
        ask(connection, bed, bed.url(0))
        connection.close()
        request = bed.log()[0]
    assert 0.25 < request.last_byte - request.first_byte < PATIENCE


def test_testbed__is_not_seen_from_outside(bed: Bed) -> None:
    """A connection to another address of this machine gets nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; finds out our own address
        except OSError:
            pytest.skip("this machine has no other address")
        address = probe.getsockname()[0]
    if address.startswith("127."):
        pytest.skip("this machine has no other address")
    try:
        with socket.create_connection((address, bed.port), timeout=5) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert client.recv(1) == b""
    except OSError:
        pass  # refused or reset: just as well


def test_testbed__a_port_in_use_is_told(bed: Bed) -> None:
    """The message says which port, and what to do."""
    for settings, message in (
        (ServerSettings(port=bed.port), f"port {bed.port} is in use: choose another with --port"),
        (ServerSettings(port=bed.port, processes=2), f"port {bed.port} is in use: choose another with --port"),
        (ServerSettings(dns_port=bed.dns_port), f"port {bed.dns_port} is in use: choose another with --dns-port"),
    ):
        with pytest.raises(WeftError, match=message), serving(bed.web, settings):
            pass


def test_testbed__too_few_file_descriptors_are_told() -> None:
    """The message says how many are needed, and what to do."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY:
        pytest.skip("this machine has no limit")
    with pytest.raises(WeftError, match=r"file descriptors, but only \d+ are allowed: raise the limit"):
        require_files(hard + 1)


def test_testbed__ends_with_its_parent(tmp_path: Path) -> None:
    """When the process that started a testbed is killed, the testbed ends, too."""
    program = tmp_path / "parent.py"
    program.write_text(
        "import time\n"
        "from weft.graph import Graph\n"
        "from weft.testbed.bed import serving\n"
        "from weft.testbed.options import PLAIN\n"
        "from weft.testbed.web import Web\n"
        "with serving(Web(Graph.from_links([1], [], parent=[-1]), PLAIN, seed=1)) as bed:\n"
        "    print(bed.pid, flush=True)\n"
        "    time.sleep(60)\n",
        encoding="utf-8",
    )
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    deadline = time.perf_counter() + PATIENCE
    while Path(f"/proc/{child}").exists() and time.perf_counter() < deadline:
        if ") Z " in Path(f"/proc/{child}/stat").read_text(encoding="ascii"):
            break  # dead, and nobody has asked for its status yet
        time.sleep(0.02)
    else:
        assert not Path(f"/proc/{child}").exists()


def test_testbed_command__serves_until_told_to_stop(tmp_path: Path) -> None:
    """`weft testbed serve` says where the web is, writes seeds and log, and ends with 0."""
    seeds, log = tmp_path / "seeds.txt", tmp_path / "log.tsv"
    command = [*WEFT, "testbed", "serve", "--sites", "5", "--pages", "50", "--naming", "literals", "--plain", "--json"]
    command += ["--port", "0", "--dns-port", "0", "--seeds-out", str(seeds), "--log", str(log), "--seed", "9"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        first = seeds.read_text(encoding="ascii").splitlines()[0]
        assert first == told["first_url"]
        connection = http.client.HTTPConnection(first.split("/")[2], timeout=PATIENCE)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert [line.split("\t")[0] for line in log.read_text(encoding="ascii").splitlines()] == [
        "event",
        "request",
        "close",
    ]
    web = Web(
        generate(Recipe(sites=5, pages=50), 9), dataclasses.replace(PLAIN, naming="literals"), 9, port=told["port"]
    )
    assert seeds.read_text(encoding="ascii").split() == web.seeds()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """A command in this process: its exit code and what it printed."""
    with pytest.raises(SystemExit) as left:
        main(["testbed", *arguments])
    printed = capsys.readouterr()
    return int(left.value.code or 0), printed.out, printed.err


def test_testbed_command__lists_what_it_serves(capsys: pytest.CaptureFixture[str]) -> None:
    """`weft testbed list` prints the seeds, all pages, or everything a crawl should meet."""
    options = ["list", "--sites", "5", "--pages", "50", "--port", "8080"]
    web = Web(generate(Recipe(sites=5, pages=50), 1), Options(), 1, port=8080)
    assert run(capsys, *options) == (0, "".join(f"{url}\n" for url in web.seeds()), "")
    printed = run(capsys, *options, "--all", "--json")[1].splitlines()
    assert [json.loads(line)["url"] for line in printed] == list(web.urls())
    kinds = [line.split("\t")[2] for line in run(capsys, *options, "--truth")[1].splitlines()]
    assert "page" in kinds
    assert "404" in kinds


def test_testbed_command__a_wrong_option_ends_with_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Misuse is told in one paragraph; a failure of the machine ends with 1."""
    code, _, said = run(capsys, "serve", "--failing", "2")
    assert (code, said) == (2, "weft: --failing cannot be 2.0: give a number, at least 0, at most 0.9\n")
    small = ["serve", "--sites", "1", "--pages", "1", "--port", "0", "--dns-port", "0"]
    code, _, said = run(capsys, *small, "--log", str(tmp_path / "no" / "log"))
    assert code == 1
    assert "cannot write the request log" in said
