"""How a transfer ended. In: libcurl's code and what its handle knows. Out: a `Reason`, what failed on our own side, a
verdict on a certificate.
"""

from __future__ import annotations

import errno
from typing import Any

import pycurl

from weft.model import Reason


def failure(curl: Any, code: int, *, answered: bool, proxied: bool) -> Reason:
    """Why a transfer failed; `answered` says whether a header line came."""
    if code == pycurl.E_COULDNT_CONNECT:
        if proxied:
            return Reason.PROXY
        return _CONNECT.get(curl.getinfo(pycurl.OS_ERRNO), Reason.CONNECT_FAILED)
    if code == pycurl.E_OPERATION_TIMEDOUT:
        if proxied and not curl.getinfo(pycurl.CONNECT_TIME):
            return Reason.PROXY
        return Reason.TIMEOUT if curl.getinfo(pycurl.REQUEST_SIZE) > 0 else Reason.CONNECT_TIMEOUT
    if code in (pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR):
        if proxied and curl.getinfo(pycurl.HTTP_CONNECTCODE) // 100 not in (0, 2):
            return Reason.PROXY
        if not answered:
            # By TLS 1.3 a client learns after its handshake that it should have shown a certificate of its own.
            return Reason.TLS if "certificate required" in curl.errstr() else Reason.NO_ANSWER
        # A chunk that is none has the same code as a broken connection.
        return Reason.BAD_ANSWER if "chunk" in curl.errstr() else Reason.RESET
    return _REASONS.get(code, Reason.BAD_ANSWER)


def fault_of_ours(curl: Any, code: int, address: str, *, proxied: bool) -> str:
    """What failed on our own side of a connection, for a person; "" where it may as well be the server's."""
    if proxied:
        unreached = code == pycurl.E_COULDNT_RESOLVE_PROXY or (
            code in (pycurl.E_COULDNT_CONNECT, pycurl.E_OPERATION_TIMEDOUT) and not curl.getinfo(pycurl.CONNECT_TIME)
        )
        if unreached:
            return "the proxy cannot be reached"
        return "the proxy wants to know who we are" if curl.getinfo(pycurl.HTTP_CONNECTCODE) == 407 else ""
    if code in (pycurl.E_OUT_OF_MEMORY, pycurl.E_FAILED_INIT):
        return _LOCAL[errno.ENOMEM]
    if code != pycurl.E_COULDNT_CONNECT:
        return ""
    number = curl.getinfo(pycurl.OS_ERRNO)
    if ":" in address and number in _ROUTES:  # most machines have no way to IPv6 addresses, and that is no outage
        return ""
    return _LOCAL.get(number, "")


def is_whole(head: bytes) -> bool:
    """Did a header come to its end? libcurl takes one that breaks off for a whole one."""
    return head.endswith((b"\n\r\n", b"\n\n"))


def is_careless_end(curl: Any, code: int, head: bytes, headers: dict[str, str]) -> bool:
    """Did a TLS server merely hang up where the end of the connection is the end of the content anyway?"""
    return (
        code == pycurl.E_RECV_ERROR
        and is_whole(head)
        and "content-length" not in headers
        and "transfer-encoding" not in headers
        and "unexpected eof" in curl.errstr()
    )


def certificate_verdict(curl: Any, code: int, *, answered: bool) -> str:
    """What is to be said of a certificate: "ok", what is wrong with it, or "" when there was none to look at."""
    if code == pycurl.E_PEER_FAILED_VERIFICATION:
        return _VERDICTS.get(curl.getinfo(pycurl.SSL_VERIFYRESULT), "untrusted")
    return "" if code and not answered else "ok"


_CONNECT: dict[int, Reason] = {
    errno.ECONNREFUSED: Reason.CONNECT_REFUSED,
    errno.ETIMEDOUT: Reason.CONNECT_TIMEOUT,
}

# What only this machine can be the cause of.
_ROUTES = (errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL)
_LOCAL: dict[int, str] = {
    errno.ENETUNREACH: "this machine has no network",
    errno.ENETDOWN: "this machine has no network",
    errno.EADDRNOTAVAIL: "this machine has no address, or no port, to connect from",
    errno.EMFILE: "this process may not open more files",
    errno.ENFILE: "this machine may not open more files",
    errno.ENOBUFS: "this machine has no memory for connections",
    errno.ENOMEM: "this machine has no memory for connections",
}

_TLS = (
    pycurl.E_SSL_CONNECT_ERROR,
    pycurl.E_SSL_CERTPROBLEM,
    pycurl.E_SSL_CIPHER,
    pycurl.E_PEER_FAILED_VERIFICATION,
    pycurl.E_SSL_ENGINE_INITFAILED,
    pycurl.E_SSL_CACERT_BADFILE,
    pycurl.E_SSL_SHUTDOWN_FAILED,
    pycurl.E_SSL_CRL_BADFILE,
    pycurl.E_SSL_ISSUER_ERROR,
    pycurl.E_SSL_INVALIDCERTSTATUS,
)

# Codes that pycurl has no names for.
_E_PROXY, _E_TOO_LARGE = 97, 100

_REASONS: dict[int, Reason] = {
    **dict.fromkeys(_TLS, Reason.TLS),
    pycurl.E_COULDNT_RESOLVE_PROXY: Reason.PROXY,
    _E_PROXY: Reason.PROXY,
    pycurl.E_COULDNT_RESOLVE_HOST: Reason.DNS_FAILED,
    pycurl.E_GOT_NOTHING: Reason.NO_ANSWER,
    pycurl.E_PARTIAL_FILE: Reason.RESET,
    _E_TOO_LARGE: Reason.HEADERS,
    pycurl.E_URL_MALFORMAT: Reason.NOT_A_URL,
    pycurl.E_WRITE_ERROR: Reason.INTERNAL,  # a callback of ours raised
}

# X509 verification results of OpenSSL.
_VERDICTS: dict[int, str] = {
    1: "wrong-name",
    9: "not-yet-valid",
    10: "expired",
    18: "self-signed",
    19: "untrusted",  # the authority signed itself, as all do, but is not one of ours
    20: "untrusted",
    21: "untrusted",
    62: "wrong-name",
}
