"""What can be set of requests and of names: settings alone, so that who only starts a crawl need not load
what reads them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from weft.fetch.headers import check_headers, headers_complaint
from weft.settings import header_complaint, setting


def _proxy_complaint(proxy: str) -> str:
    if proxy and re.fullmatch(r"(?i:(?:https?|socks(?:4a?|5h?))://)?(?:.*@)?[^\s/@]+/?", proxy) is None:
        return "give a URL such as http://localhost:3128 or socks5h://localhost:9050"
    return header_complaint(proxy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """Settings: limits of one fetch, and the way out."""

    timeout: float = setting(
        60.0, "seconds for one page, connecting included", at_least=0.001, at_most=86_400, unit="seconds"
    )
    connect_timeout: float = setting(
        20.0, "seconds to establish a connection", at_least=0.001, at_most=86_400, unit="seconds"
    )
    max_header_bytes: int = setting(
        65_536, "an answer with a larger header is refused", at_least=1, at_most=100_000_000, unit="bytes"
    )
    max_bytes_coming: int = setting(
        256_000_000,
        "bytes that all answers of a worker may hold, beyond a megabyte each, until they are read; "
        "the one that began first is cut then",
        at_least=0,
        unit="bytes",
    )
    accept_encoding: str = setting(
        "gzip, deflate",
        "content codings to ask for; br and zstd are understood too, but archive readers do not replay them",
        check=header_complaint,
    )
    proxy: str = setting(
        "",
        "send every request through this proxy (http://…, socks5h://…); env:NAME: see headers",
        check=_proxy_complaint,
    )
    headers: dict[str, str] | None = setting(
        None,
        "further headers of every request, robots.txt included; a value env:NAME is taken from the environment",
        check=headers_complaint,
    )
    verify_tls: bool = setting(False, "refuse expired, self-signed and otherwise doubtful certificates")
    ca_file: str = setting("", "certificate authorities to trust, as PEM; the system's own when empty")

    def __post_init__(self) -> None:
        check_headers(self.headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Where names are resolved, and how long an answer holds."""

    dns: tuple[str, ...] = setting((), "name servers to ask, as ADDRESS or ADDRESS:PORT; the system's when empty")
    dns_timeout: float = setting(
        5.0, "seconds a name server has to answer, before the next try", above=0, at_most=3_600, unit="seconds"
    )
    dns_tries: int = setting(3, "how often each server is tried", at_least=1, at_most=100)
    dns_shortest: float = setting(60.0, "an answer holds at least so many seconds", at_least=0, unit="seconds")
    dns_longest: float = setting(86_400.0, "an answer holds at most so many seconds", at_least=0, unit="seconds")
    dns_negative: float = setting(
        300.0, "the answer that there is no such name holds so many seconds", at_least=0, unit="seconds"
    )
