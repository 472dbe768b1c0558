r"""HTTP messages as bytes, without connections. In: the header fields of a request. Out: what they say.

>>> fields = Fields(b"\r\nHost: A.Test:81\r\nConnection: Close\r\nUser-Agent: Robot/1\r\nAccept-Encoding: GZip")
>>> fields.host, fields.close, fields.agent, fields.encodings
(b'a.test:81', True, b'Robot/1', b'gzip')
>>> split_absolute(b"http://a.test/x?y")
(b'a.test', b'/x?y')
>>> without_port(b"a.test:81"), without_port(b"[::1]:81")
(b'a.test', b'[::1]')
>>> in_chunks(b"hello")
b'5\r\nhello\r\n0\r\n\r\n'
"""

from __future__ import annotations

import re

CHUNK = 4_096

_HOST = re.compile(rb"\r\nhost:[ \t]*([^\r]*?)[ \t]*(?:\r|\Z)")
_AGENT = re.compile(rb"\r\nuser-agent:[ \t]*([^\r]*)")
_CONNECTION = re.compile(rb"\r\nconnection:[ \t]*([^\r]*)")
_ENCODINGS = re.compile(rb"\r\naccept-encoding:[ \t]*([^\r]*)")
_IF_NONE_MATCH = re.compile(rb"\r\nif-none-match:[ \t]*([^\r]*)")
_IF_MODIFIED_SINCE = re.compile(rb"\r\nif-modified-since:[ \t]*([^\r]*)")
_BODY = re.compile(rb"\r\n(?:transfer-encoding:|content-length:[ \t]*0*[1-9])")


class Fields:
    """What the header fields of a request say, as far as the testbed cares."""

    __slots__ = (
        *("agent", "close", "cookie", "encodings", "has_body", "host", "if_modified_since", "if_none_match", "keep"),
    )

    def __init__(self, text: bytes) -> None:
        low = text.lower()
        host, agent, tokens = _HOST.search(low), _AGENT.search(low), _CONNECTION.search(low)
        encodings = _ENCODINGS.search(low)
        self.host = host[1] if host else b""
        self.agent = text[agent.start(1) : agent.end(1)].strip() if agent else b""
        self.encodings = encodings[1] if encodings else b""
        known, since = _IF_NONE_MATCH.search(low), _IF_MODIFIED_SINCE.search(low)
        self.if_none_match = text[known.start(1) : known.end(1)].strip() if known else b""
        self.if_modified_since = text[since.start(1) : since.end(1)].strip() if since else b""
        self.close = tokens is not None and b"close" in tokens[1]
        self.keep = tokens is not None and b"keep-alive" in tokens[1]
        self.cookie = b"\r\ncookie:" in low
        self.has_body = _BODY.search(low) is not None


def split_absolute(target: bytes) -> tuple[bytes, bytes]:
    """Host and path of a target that names its host, as clients of a proxy write it."""
    scheme, mark, rest = target.partition(b"://")
    if not mark or scheme.lower() not in {b"http", b"https"}:
        return b"?", target
    host, slash, path = rest.partition(b"/")
    return host.rpartition(b"@")[2].lower(), (slash + path) or b"/"


def without_port(host: bytes) -> bytes:
    """A host as a request names it, without its port."""
    return host.partition(b"]")[0] + b"]" if host.startswith(b"[") else host.partition(b":")[0]


def in_chunks(body: bytes) -> bytes:
    """A body in chunked transfer coding."""
    parts = []
    for start in range(0, len(body), CHUNK):
        piece = body[start : start + CHUNK]
        parts += [b"%x\r\n" % len(piece), piece, b"\r\n"]
    parts.append(b"0\r\n\r\n")
    return b"".join(parts)
