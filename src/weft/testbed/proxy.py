"""The testbed as an HTTP proxy. In: requests that name their host. Out: the sites' own answers, and lines of the log.

For crawlers that cannot be given a DNS server: what takes `http_proxy` can be pointed at the testbed. Plain requests
come with whole addresses (RFC 9112 3.2.2), and TLS through CONNECT (RFC 9110 9.3.6), which ends at the site and not
here: the client sees the site's certificate.

The log says what the sites would have seen behind a proxy that adds nothing: a connection of the client counts as one
to the site that it asks, at the site's address, and as another one when it asks the next site. What is lost is what
happens before a request: names that do not exist are the proxy's 502 here, and dead addresses are not met.

Invariant: as in `weft.testbed.http`; and all requests of one connection in the log are for one site.
"""

from __future__ import annotations

from weft.testbed.answers import plain_answer
from weft.testbed.dns import Answers
from weft.testbed.http import Connection, Shared, reset
from weft.testbed.messages import split_absolute, without_port
from weft.testbed.names import ABRUPT, LITERAL
from weft.testbed.tls import Secured

_HERE = "127.0.0.1"
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Proxied(Connection):
    """One connection of a client that takes us for its proxy."""

    UNKNOWN = 502

    __slots__ = ("_host", "_names", "_tunnel")

    def __init__(self, shared: Shared, names: Answers) -> None:
        super().__init__(shared, secure=False)
        self._names = names
        self._host = b""
        self._tunnel = False  # what comes now is for one site alone

    def find_site(self, host: bytes) -> int:
        """The site of a name, if the DNS server would tell where it is."""
        site = self._shared.web.names.site_of(without_port(host))
        return site if site < 0 or self._names.works(site) else -1

    def _request(self, head: bytes) -> None:
        """Answer one request, for the site that it names."""
        if self._tunnel:
            super()._request(head)
            return
        method, _, rest = head.partition(b" ")
        target = rest.partition(b" ")[0]
        if method == b"CONNECT":
            self._open_tunnel(target)
            return
        if target.startswith(b"/"):
            self._refuse(400)  # a request for ourselves, and we have nothing
            return
        host, _ = split_absolute(target)
        if self._turn_to(host, secure=target[:6].lower() == b"https:"):
            super()._request(head)

    def _open_tunnel(self, target: bytes) -> None:
        """Let the client talk to a site as if it were there."""
        transport, certificates = self._transport, self._shared.certificates
        secure = target.rpartition(b":")[2] != str(self._shared.web.port).encode()
        if transport is None or not self._turn_to(target.lower(), secure=secure):
            return
        if self.find_site(target.lower()) < 0 or (secure and certificates is None):
            self._send(b"CONNECT", target, b"HTTP/1.1", plain_answer(self.UNKNOWN, str(self.UNKNOWN)))
            return
        self._tunnel = True
        transport.write(_ESTABLISHED)
        if secure and certificates is not None:
            self._tls = Secured(certificates.first_context(self._address))
        # Whatever came behind the CONNECT was sent before we could agree to it.
        early, self._buffer = self._buffer, b""
        if early:
            self.data_received(early)

    def _turn_to(self, authority: bytes, *, secure: bool) -> bool:
        """Go on with this site; no: it ends connections as soon as they are there."""
        if authority == self._host and secure == self.secure and self._client is not None:
            return True
        shared = self._shared
        if self._client is not None:
            self._write_close(self._arrived)
            shared.number += shared.step
            self.number = shared.number
            self._opened = self._arrived
        self._host, self.secure = authority, secure
        self._client = None
        host = without_port(authority)
        site = self.find_site(authority)
        known = shared.web.names.addresses_of(site, host) if site >= 0 else [_HERE]
        self._address = "::1" if host == LITERAL.encode() else known[-1]
        if self._address != ABRUPT:
            return True
        if self._transport is not None:
            reset(self._transport)
        return False
