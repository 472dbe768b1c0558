"""Certificates. In: the name a client asks for, or the address it came to. Out: a context with a certificate for it.

The testbed is its own certificate authority (trustme, ECDSA P-256); its certificate can be written to a
file for clients to trust. Certificates are made when they are first asked for: one for each registered
domain and the names under it. A share of the sites has a bad one, always of the same kind: signed by
itself, expired, or for another name; so have the further names of sites that play a scenario of that kind, or they
speak nothing newer than TLS 1.1.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import ssl
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.testbed.dice import Dice
from weft.testbed.names import OLD_FASHIONED, Names
from weft.testbed.options import Options

GOOD, SELF_SIGNED, EXPIRED, WRONG_NAME, OLD = "good", "self-signed", "expired", "wrong-name", "old"

_NOBODY = "nobody.invalid"
_KEPT = 4_000
"""Contexts kept ready; each takes some tens of kilobytes."""


def certificate_flaws(sites: int, options: Options, seed: int) -> list[str]:
    """What is wrong with the certificate of each site."""
    draws = Dice(seed, "certificate").shares(np.arange(sites))
    bad = options.bad_certificates
    return [
        GOOD if draw >= bad else (SELF_SIGNED, EXPIRED, WRONG_NAME)[min(int(3 * draw / bad), 2)]
        for draw in draws.tolist()
    ]


class Certificates:
    """Makes certificates on demand and keeps them."""

    def __init__(self, names: Names, options: Options, seed: int, *, resumption: bool = True) -> None:
        try:
            import trustme
        except ImportError as error:
            raise WeftError(
                "serving TLS needs trustme, which is not installed", todo="install weft[testbed]"
            ) from error
        self._trustme = trustme
        self._authority = trustme.CA(organization_name="weft testbed", key_type=trustme.KeyType.ECDSA)
        self._names = names
        self._flaws = certificate_flaws(names.sites, options, seed)
        self._resumption = resumption
        self._contexts: dict[tuple[str, str], ssl.SSLContext] = {}

    def write_authority(self, path: Path) -> None:
        """Write the authority's certificate, which clients must trust, as PEM."""
        try:
            path.write_bytes(self._authority.cert_pem.bytes())
        except OSError as error:
            raise WeftError(f"cannot write the CA certificate: {error.strerror}", where=str(path)) from error

    def first_context(self, address: str) -> ssl.SSLContext:
        """The context to begin with. Clients name a host, except for those that go to an address."""
        if address == OLD_FASHIONED:
            return self._kept(OLD, _NOBODY, _NOBODY)
        return self.context(address if self._names.site_at(address) >= 0 else _NOBODY)

    def context(self, host: str) -> ssl.SSLContext:
        """The context for a name or an address literal; unknown names get a certificate for themselves."""
        site = self._names.site_of(host.encode())
        flaw = self._flaws[site] if site >= 0 else GOOD
        further = site >= 0 and self._names.label(site, host.encode())
        if further:
            flaw = self._names.scenarios[site].flaw or GOOD
        owner = self._names.domain(site) if site >= 0 and flaw == GOOD and not further else host
        return self._kept(flaw, owner, host)

    def _kept(self, flaw: str, owner: str, host: str) -> ssl.SSLContext:
        """A context, made now if it is not there yet."""
        made = self._contexts.get((flaw, owner))
        if made is None:
            made = self._make(flaw, owner, host)
            if len(self._contexts) >= _KEPT:
                self._contexts.pop(next(iter(self._contexts)))
            self._contexts[flaw, owner] = made
        return made

    def _make(self, flaw: str, owner: str, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = self._choose
        context.set_alpn_protocols(["http/1.1"])
        if flaw == OLD:
            with warnings.catch_warnings():  # that it is old is the point
                warnings.simplefilter("ignore", DeprecationWarning)
                context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
        if not self._resumption:
            context.options |= ssl.OP_NO_TICKET
            context.num_tickets = 0
        with self._certificate(flaw, owner, host).tempfile() as path:
            context.load_cert_chain(path)
        return context

    def _certificate(self, flaw: str, owner: str, host: str) -> Any:
        """Key and certificate in one text."""
        if flaw == SELF_SIGNED:
            itself = self._trustme.CA(organization_name=host, key_type=self._trustme.KeyType.ECDSA)
            return self._trustme.Blob(itself.private_key_pem.bytes() + itself.cert_pem.bytes())
        if flaw == WRONG_NAME:
            return self._issue("somebody-else.invalid")
        if flaw == EXPIRED:
            return self._issue(host, until=dt.datetime(2002, 1, 1, tzinfo=dt.UTC))
        is_literal = owner.replace(".", "").isdigit()
        return self._issue(owner) if is_literal else self._issue(owner, f"*.{owner}")

    def _issue(self, *names: str, until: dt.datetime | None = None) -> Any:
        since = None if until is None else until - dt.timedelta(days=365)
        key_type = self._trustme.KeyType.ECDSA
        leaf = self._authority.issue_cert(*names, key_type=key_type, not_before=since, not_after=until)
        return leaf.private_key_and_cert_chain_pem

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, host: str | None, _: ssl.SSLContext) -> None:
        if host is not None:
            connection.context = self.context(host)


class Secured:
    """TLS on the server's side of one connection: bytes in, bytes out, no sockets."""

    __slots__ = ("_incoming", "_object", "_outgoing", "_shaken", "broken")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._shaken = False
        self.broken = False
        """The client does not trust us, or does not speak TLS; nothing more will be understood."""

    def opened(self, data: bytes) -> tuple[bytes, bytes]:
        """What the client said, and what must be sent to it for the protocol's sake."""
        self._incoming.write(data)
        plain = b""
        try:
            if not self._shaken:
                self._object.do_handshake()
                self._shaken = True
            while piece := self._object.read(65536):
                plain += piece
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            self.broken = True
        return plain, self._outgoing.read()

    def sealed(self, text: bytes) -> bytes:
        """What must be sent so that the client reads this text."""
        written = 0
        while written < len(text):
            written += self._object.write(memoryview(text)[written:])
        return self._outgoing.read()

    def farewell(self) -> bytes:
        """What must be sent last."""
        with contextlib.suppress(ssl.SSLError):
            self._object.unwrap()
        return self._outgoing.read()
