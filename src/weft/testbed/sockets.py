"""The sockets of the testbed. In: ports. Out: bound sockets, or an error that says which port is taken.

One socket listens on all loopback addresses, another for TLS: thousands of sites need no thousands of
sockets. They are bound to the loopback device where the system permits it (and connections to other
addresses are refused later, one by one), so that the testbed is never seen from outside.
"""

from __future__ import annotations

import contextlib
import errno
import resource
import socket
from dataclasses import dataclass

from weft.errors import UsageError, WeftError

_ALL = "0.0.0.0"  # noqa: S104 -- see above
_HERE = "127.0.0.1"
_SPARE_FILES = 64
_BACKLOG = 4096


@dataclass(frozen=True, slots=True)
class Sockets:
    """Sockets that listen already; nobody accepts yet."""

    http: socket.socket
    https: socket.socket | None
    dns_udp: socket.socket
    dns_tcp: socket.socket
    http6: socket.socket | None = None
    """The sites' port at ::1, where one was asked for and the system has it."""
    proxy: socket.socket | None = None

    @property
    def port(self) -> int:
        """The port of the sites."""
        return int(self.http.getsockname()[1])

    @property
    def tls_port(self) -> int | None:
        """The port of the https sites; None if there is no TLS."""
        return None if self.https is None else int(self.https.getsockname()[1])

    @property
    def proxy_port(self) -> int | None:
        """The port of the proxy; None if there is none."""
        return None if self.proxy is None else int(self.proxy.getsockname()[1])

    @property
    def dns_port(self) -> int:
        """The port of the DNS server."""
        return int(self.dns_udp.getsockname()[1])

    def close(self) -> None:
        """Let go of all ports."""
        for sock in (self.http, self.https, self.dns_udp, self.dns_tcp, self.http6, self.proxy):
            if sock is not None:
                sock.close()


def open_sockets(
    *,
    port: int,
    tls_port: int | None,
    dns_port: int,
    proxy_port: int | None = None,
    shared: bool = False,
    literal: bool = False,
) -> Sockets:
    """Take the ports, 0 for any free one; `shared` lets other processes of ours take the same ones.

    `literal`: the first of them at ::1, too, if that can be had.
    """
    with contextlib.ExitStack() as opened:
        http = opened.enter_context(_listen(_ALL, port, "--port", shared=shared))
        https = None
        if tls_port is not None:
            https = opened.enter_context(_listen(_ALL, tls_port, "--tls-port", shared=shared))
        proxy = None
        if proxy_port is not None:
            proxy = opened.enter_context(_listen(_HERE, proxy_port, "--proxy-port", shared=shared))
        udp, tcp = _dns_sockets(dns_port)
        opened.pop_all()  # all went well: they stay open
        return Sockets(http, https, udp, tcp, _literal(int(http.getsockname()[1])) if literal else None, proxy)


def join_sockets(sockets: Sockets) -> Sockets:
    """Sockets of another process on the same ports; the DNS server's stay with the first one."""
    http = _bound(_ALL, sockets.port, "--port", shared=True)
    tls_port = sockets.tls_port
    https = None if tls_port is None else _bound(_ALL, tls_port, "--tls-port", shared=True)
    proxy_port = sockets.proxy_port
    proxy = None if proxy_port is None else _bound(_HERE, proxy_port, "--proxy-port", shared=True)
    return Sockets(http, https, sockets.dns_udp, sockets.dns_tcp, None, proxy)


def require_files(connections: int) -> None:
    """Make sure that so many connections can be open at once."""
    needed = connections + _SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise WeftError(
            f"{connections} connections need {needed} file descriptors, but only {hard} are allowed",
            todo=f"raise the limit (ulimit -Hn {needed}) or ask for fewer with --connections",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _listen(host: str, port: int, option: str, *, shared: bool) -> socket.socket:
    if shared and port:
        # Sharing would share the port with a stranger, too: first see that nobody has it.
        _bound(host, port, option, shared=False).close()
    return _bound(host, port, option, shared=shared)


def _bound(host: str, port: int, option: str, *, shared: bool, udp: bool = False) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
    try:
        if not udp:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        with contextlib.suppress(OSError):  # not everybody may; the connections are looked at anyway
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        sock.setblocking(False)
        sock.bind((host, port))
        if not udp:
            sock.listen(_BACKLOG)
    except OverflowError as error:
        sock.close()
        raise UsageError(f"{port} is no port", todo=f"give {option} a number from 0 to 65535") from error
    except OSError as error:
        sock.close()
        raise _why_not(port, option, error) from error
    return sock


def _literal(port: int) -> socket.socket | None:
    """The same port at ::1; None where there is no IPv6, or somebody else has it."""
    try:
        sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    except OSError:
        return None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setblocking(False)
        sock.bind(("::1", port))
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        return None
    return sock


def _why_not(port: int, option: str, error: OSError) -> WeftError:
    if error.errno == errno.EADDRINUSE:
        return WeftError(f"port {port} is in use", todo=f"choose another with {option}, or 0 for any free one")
    if error.errno == errno.EACCES:
        return WeftError(f"port {port} needs privileges", todo=f"choose one above 1023 with {option}")
    return WeftError(f"cannot listen on port {port}: {error.strerror}", todo=f"choose another with {option}")


def _dns_sockets(port: int) -> tuple[socket.socket, socket.socket]:
    """The same port for UDP and TCP; if any will do, one that is free in both."""
    for _ in range(20):
        udp = _bound("127.0.0.1", port, "--dns-port", shared=False, udp=True)
        try:
            return udp, _bound("127.0.0.1", udp.getsockname()[1], "--dns-port", shared=False)
        except WeftError:
            udp.close()
            if port:
                raise
    raise WeftError("no port is free for the DNS server", todo="choose one with --dns-port")
