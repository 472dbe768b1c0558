"""A web of any number of hosts on one socket of this machine, each of which answers as it likes.

In: what each host answers. Out: what the server saw. Names are answered by a name server of its own, http and https on
the same port. What is asked for, by whom and when, is noted here and not by the crawler.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import trustme
from tests.nursery import quick_workers
from tests.serverside import Visit
from tests.small_site import Answer

from weft.app import Summary, run
from weft.config import Settings
from weft.directory import Plan


class Asked(NamedTuple):
    """A request as the server saw it."""

    at: float
    scheme: str
    host: str  # with its port
    path: str

    @property
    def name(self) -> str:
        """The host's name."""
        return self.host.partition(":")[0]


Says = Callable[[Asked], "Answer | None"]
"""What a host answers; None: the connection is closed without an answer."""

MISSING = Answer(b"", "text/plain", 404)


def moved(target: str) -> Answer:
    """A redirect."""
    return Answer(status=301, headers=(("Location", target),))


class HostileWeb:
    """Hosts by the end of their names; the longest that fits answers."""

    def __init__(self, hosts: dict[str, Says], port: int, dns_port: int, ca_file: Path) -> None:
        self.hosts = hosts
        self.port = port
        self.dns = f"127.0.0.1:{dns_port}"
        self.ca_file = ca_file
        self.asked: list[Asked] = []
        self.visits: list[Visit] = []
        self.named: Counter[str] = Counter()  # names that were asked for
        self.only: set[str] = set()  # the names that exist; none: every name does

    def url(self, host: str, path: str = "/", scheme: str = "http") -> str:
        """The URL of a path of a host."""
        return f"{scheme}://{host}:{self.port}{path}"

    def paths(self, host: str) -> list[str]:
        """What was asked of a host, in order."""
        return [f"{each.scheme}:{each.path}" for each in self.asked if each.name == host]

    @property
    def names(self) -> set[str]:
        """The hosts that were asked for something."""
        return {each.name for each in self.asked}

    def answer(self, asked: Asked) -> Answer | None:
        """What is said to a request."""
        fits = [end for end in self.hosts if asked.name == end or asked.name.endswith(f".{end}")]
        return self.hosts[max(fits, key=len)](asked) if fits else MISSING

    def crawl(self, out: Path, *seeds: str, **changes: Any) -> Summary:
        """Crawl it, without long waits for anything."""
        values: dict[str, Any] = {
            "wait": 0.0,
            "timeout": 3.0,
            "retry_pauses": [0.1, 0.2],
            "dns": [self.dns],
            "allow_address": ["127.0.0.0/8"],
            "ca_file": str(self.ca_file),
        }
        settings = Settings().with_values(values | changes, where="a test")
        with quick_workers():
            return run(Plan(seeds=list(seeds), out=out, settings=settings))


@contextlib.contextmanager
def hostile_web(hosts: dict[str, Says], folder: Path) -> Iterator[HostileWeb]:
    """Serve some hosts."""
    authority = trustme.CA()
    ca_file = folder / "authority.pem"
    authority.cert_pem.write_to_path(ca_file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    names = [name for host in hosts for name in (host, f"*.{host}")]
    authority.issue_cert(*names, "127.0.0.1").configure_cert(context)
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    questions = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    questions.bind(("127.0.0.1", 0))
    web = HostileWeb(hosts, listener.getsockname()[1], questions.getsockname()[1], ca_file)
    threads = [
        threading.Thread(target=_accept, args=(web, listener, context), daemon=True),
        threading.Thread(target=_answer_names, args=(web, questions), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield web
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # which ends an accept that waits
        listener.close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", questions.getsockname())
        for thread in threads:
            thread.join()
        questions.close()


def _accept(web: HostileWeb, listener: socket.socket, context: ssl.SSLContext) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_serve, args=(web, client, context), daemon=True).start()


def _serve(web: HostileWeb, client: socket.socket, context: ssl.SSLContext) -> None:
    opened = time.time()
    visit: Visit | None = None
    with contextlib.suppress(OSError), client:
        client.settimeout(30.0)
        first = client.recv(1, socket.MSG_PEEK)
        scheme = "http"
        if first == b"\x16":  # how a TLS handshake begins
            scheme, client = "https", context.wrap_socket(client, server_side=True)
        with client, client.makefile("rb") as stream:
            while True:
                line, headers = _request(stream)
                if not line:
                    return
                asked = Asked(time.time(), scheme, headers.get("host", ""), line.split()[1])
                web.asked.append(asked)
                if visit is None:
                    visit = Visit(asked.host, "127.0.0.1", opened, asked.at, asked.at, [])
                    web.visits.append(visit)
                answer = web.answer(asked)
                if answer is None:
                    return
                _send(client, answer)
                visit.paths.append(asked.path)
                web.visits[web.visits.index(visit)] = visit = visit._replace(last=time.time())


def _request(stream: Any) -> tuple[str, dict[str, str]]:
    line = stream.readline().decode("latin-1").strip()
    headers = {}
    while line and (field := stream.readline().decode("latin-1").strip()):
        name, _, value = field.partition(":")
        headers[name.lower()] = value.strip()
    return line, headers


def _send(client: socket.socket, answer: Answer) -> None:
    fields = [("Content-Type", answer.type), *answer.headers]
    if not any(name == "Content-Length" for name, _ in fields):
        fields.append(("Content-Length", str(len(answer.body))))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    client.sendall(f"HTTP/1.1 {answer.status} Status\r\n{head}\r\n".encode() + answer.body)


def _answer_names(web: HostileWeb, questions: socket.socket) -> None:
    """Every name has the address of this machine, or only those that exist."""
    while True:
        data, client = questions.recvfrom(512)
        if not data:
            return
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        (kind,) = struct.unpack_from(">H", data, at + 1)
        name = ".".join(labels).lower()
        web.named[name] += 1
        known = not web.only or name in web.only
        answers = int(known and kind == 1)
        reply = struct.pack(">2s5H", data[:2], 0x8180 | (0 if known else 3), 1, answers, 0, 0) + data[12 : at + 5]
        if answers:
            reply += b"\xc0\x0c" + struct.pack(">HHIH4s", 1, 1, 300, 4, socket.inet_aton("127.0.0.1"))
        questions.sendto(reply, client)
