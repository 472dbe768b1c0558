"""A console that is served. In: a crawl, and where it is to be reached. Out: a socket that answers until the process is
told to end.

On loopback it is plain HTTP. Elsewhere it is refused, unless it has a certificate or stands behind a proxy that has
one.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from weft.clock import Clock
from weft.console.door import ENTRANCE, Door, Where
from weft.console.facts import Facts
from weft.console.pages import Pages
from weft.console.sessions import Sessions
from weft.errors import UsageError, WeftError
from weft.operations.options import Place

Say = Callable[[str], None]
_MOST_CONNECTIONS = 128
_IDLE = 30  # seconds that a connection may be
_LONGEST_HEAD = 32_768  # bytes of a request's header


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a console is to be served."""

    place: Place
    names: tuple[str, ...] = ()  # by which it is called, with a port where that is not the usual one
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    reports: tuple[Path, ...] = ()  # to be shown side by side

    @property
    def loopback(self) -> bool:
        """Does only this machine reach it?"""
        return ipaddress.ip_address(self.place.address).is_loopback

    @property
    def tls(self) -> bool:
        """Does it speak TLS itself?"""
        return self.certificate is not None


def check(wanted: Wanted) -> None:
    """Refuse what is not safe."""
    at = wanted.place.address
    if (wanted.certificate is None) != (wanted.key is None):
        raise UsageError("a certificate and its key belong together", todo="give --certificate and --key, or neither")
    if wanted.tls and wanted.behind_proxy:
        raise UsageError("who has the certificate, the console or the proxy?", todo="give one of them")
    if not wanted.loopback and not wanted.tls and not wanted.behind_proxy:
        raise UsageError(
            "beyond this machine everybody on the way would read the cookie of whoever comes in",
            where=at,
            todo="give --certificate and --key; or --behind-proxy where a proxy with TLS stands before it; or stay on "
            "127.0.0.1 and come by ssh -L",
        )
    if not wanted.names and (wanted.behind_proxy or ipaddress.ip_address(at).is_unspecified):
        raise UsageError(
            "by which name is the console reached?", where=at, todo="give --name, such as --name console.example.org"
        )
    if wanted.certificate is not None:
        _check_certificate(wanted.certificate, wanted.key)


def _check_certificate(certificate: Path, key: Path | None) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"the certificate cannot be used: {error.strerror or error}",
            where=f"{certificate}, {key}",
            todo="give PEM files, the key without a password",
        ) from error


def where_of(wanted: Wanted, port: int) -> Where:
    """How a console is reached that listens at a port."""
    secure = wanted.tls or wanted.behind_proxy
    scheme = "https" if secure else "http"
    names = list(wanted.names)
    if not wanted.behind_proxy and not ipaddress.ip_address(wanted.place.address).is_unspecified:
        names.append(_literal(wanted.place.address))
    if wanted.loopback and not wanted.behind_proxy:
        names.append("localhost")
    usual = 443 if secure else 80
    hosts = []
    for name in names:
        bare = name.lower()
        whole = bare if wanted.behind_proxy or _has_port(bare) else f"{bare}:{port}"
        hosts += [whole, whole.removesuffix(f":{usual}")]
    return Where(scheme=scheme, hosts=frozenset(hosts), root="" if secure else f"/{secrets.token_urlsafe(12)}")


def _literal(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _has_port(name: str) -> bool:
    return name.rpartition("]")[2].rpartition(":")[2].isdecimal() and ":" in name.rpartition("]")[2]


class Server:
    """A console on its socket."""

    def __init__(self, crawl: str, wanted: Wanted, clock: Clock, say: Say) -> None:
        check(wanted)
        facts = Facts(crawl, clock, wanted.reports)
        facts.check()
        self._say = say
        self._sessions = Sessions(clock)
        self._socket = _bound(wanted.place)
        self.port: int = self._socket.getsockname()[1]
        self.where = where_of(wanted, self.port)
        first = wanted.names[0] if wanted.names else _literal(wanted.place.address)
        whole = first.lower() if wanted.behind_proxy or _has_port(first) else f"{first.lower()}:{self.port}"
        self.url = f"{self.where.scheme}://{whole}"
        pages = Pages(
            crawl,
            facts,
            self.where,
            self._sessions,
            entered=self._entered,
            acted=say,
            ending=lambda: self._server.should_exit,
        )
        config = uvicorn.Config(
            Door(pages.app(), self.where, self._sessions),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=_LONGEST_HEAD,
            ssl_certfile=wanted.certificate,
            ssl_keyfile=wanted.key,
        )
        self._server = uvicorn.Server(config)

    def __repr__(self) -> str:
        return f"Server({self.url})"

    @property
    def link(self) -> str:
        """A new link, by which somebody comes in once."""
        return f"{self.url}{ENTRANCE}?token={self._sessions.token()}"

    def run(self) -> None:
        """Serve until the process is told to end."""
        with self._socket:
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End soon; any thread may say so."""
        self._server.should_exit = True

    @property
    def started(self) -> bool:
        """Does it answer?"""
        return self._server.started

    def _entered(self, whence: str) -> None:
        self._say(f"somebody has come in from {whence}; for another browser: {self.link}")


def _bound(place: Place) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((place.address, place.port))
        made.listen(_MOST_CONNECTIONS)
    except OSError as error:
        made.close()
        raise WeftError(
            f"the console cannot be served here: {error.strerror}",
            where=f"{_literal(place.address)}:{place.port}",
            todo="choose another place by --at; port 0 picks one that is free",
        ) from error
    return made
