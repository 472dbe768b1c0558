"""Who is told how a crawl goes: settings alone, and how addresses are written. In: texts. Out: what they stand for, or
what is wrong with them.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from weft.settings import HIDDEN, setting

ENVIRONMENT = "env:"  # before the name of a variable that has the value
PASSWORD = "WEFT_SMTP_PASSWORD"  # noqa: S105  the variable that has it

_LOOPBACK = "127.0.0.1"
_is_mail_address = re.compile(r"[^\s@<>(),;:\"\\]+@[^\s@<>(),;:\"\\]+", re.ASCII).fullmatch
_METRICS = "write ADDRESS:PORT, such as 127.0.0.1:9100 or [::1]:9100; port 0 picks one"
_SMTP = "write smtp://mail.example:587 (STARTTLS) or smtps://mail.example:465, with user@ before the name for a login"
_TARGET = "write mailto:you@example.org, or the URL of a webhook such as https://hooks.example/crawls"


class Place(NamedTuple):
    """Where metrics are served."""

    address: str  # an IP address
    port: int  # 0: one that is free


def place_of(text: str) -> Place:
    """Read an address and a port; without an address it is this machine alone.

    >>> place_of("127.0.0.1:9100"), place_of(":9100"), place_of("[::1]:0")
    (Place(address='127.0.0.1', port=9100), Place(address='127.0.0.1', port=9100), Place(address='::1', port=0))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise ValueError(_METRICS)
    if host in ("", "localhost"):
        return Place(_LOOPBACK, int(port))
    inner = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        address = ipaddress.ip_address(inner)
    except ValueError:
        raise ValueError(_METRICS) from None
    if (address.version == 6) != (inner != host):  # where the port begins must be clear
        raise ValueError(_METRICS)
    return Place(str(address), int(port))


def metrics_complaint(text: str) -> str:
    """What is wrong with the place of metrics; nothing: it is good.

    >>> metrics_complaint("0.0.0.0:9100"), metrics_complaint("")
    ('', '')
    >>> metrics_complaint("9100") == metrics_complaint("::1:9100") == metrics_complaint("a.example:9100") != ""
    True
    """
    try:
        if text:
            place_of(text)
    except ValueError as error:
        return str(error)
    return ""


def target_complaint(text: str) -> str:
    """What is wrong with a place that reports go to; nothing: it is good.

    >>> target_complaint("mailto:me@example.org"), target_complaint("https://a.example/x"), target_complaint("env:X")
    ('', '', '')
    >>> target_complaint("me@example.org") == target_complaint("mailto:a@b.example,c@d.example") == _TARGET
    True
    """
    if text.startswith(ENVIRONMENT):
        return "" if text != ENVIRONMENT else _TARGET
    if text.startswith("mailto:"):
        return "" if _is_mail_address(text.removeprefix("mailto:")) else _TARGET
    given = text.replace(HIDDEN, "x")
    parts = _split(given)
    good = parts is not None and parts.scheme in ("http", "https") and parts.hostname and given.isprintable()
    return "" if good and given.isascii() and " " not in given else _TARGET


def smtp_complaint(text: str) -> str:
    """What is wrong with a mail server; nothing: it is good.

    >>> smtp_complaint("smtp://me@mail.example:587"), smtp_complaint("smtps://mail.example"), smtp_complaint("")
    ('', '', '')
    >>> smtp_complaint("mail.example") == _SMTP
    True
    """
    if not text:
        return ""
    parts = _split(text)
    if parts is None or parts.scheme not in ("smtp", "smtps") or not parts.hostname or parts.path not in ("", "/"):
        return _SMTP
    return f"leave the password out: the environment has it, as {PASSWORD}" if parts.password else ""


def from_complaint(text: str) -> str:
    """What is wrong with a sender; nothing: it is good."""
    return "" if not text or _is_mail_address(text) else "give a mail address, such as weft@example.org"


def _split(text: str) -> SplitResult | None:
    """The parts of a URL; None where it is none, or its port is none."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return None
    return parts


class MailServer(NamedTuple):
    """Where mail is handed in."""

    host: str
    port: int
    tls: bool  # from the first byte on; otherwise by STARTTLS
    user: str  # "" where nobody logs in


def mail_server(text: str) -> MailServer:
    """Read a mail server's URL.

    >>> mail_server("smtp://me%40a.example@mail.example")
    MailServer(host='mail.example', port=587, tls=False, user='me@a.example')
    """
    parts = urlsplit(text)
    tls = parts.scheme == "smtps"
    return MailServer(parts.hostname or "", parts.port or (465 if tls else 587), tls, unquote(parts.username or ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """Who is told how the crawl goes."""

    metrics: str = setting(
        "",
        "serve metrics for Prometheus at this ADDRESS:PORT, such as 127.0.0.1:9100; without an address on this machine "
        "alone, port 0 picks one; empty: do not",
        check=metrics_complaint,
    )
    report_every: float = setting(
        0.0, "send a report so often, and when the run ends; 0: only then", at_least=0, unit="seconds"
    )
    report_to: tuple[str, ...] = setting(
        (),
        "where reports go: mailto:you@example.org, or the URL of a webhook, which gets JSON; or env:NAME",
        check=target_complaint,
    )
    report_smtp: str = setting(
        "smtp://127.0.0.1:25",
        "the server that takes mail: smtp://host:587 or smtps://host:465; with user@ before the host for a login, "
        f"whose password is in the environment, as {PASSWORD}",
        check=smtp_complaint,
    )
    report_from: str = setting(
        "", "who reports are from; the contact when it is a mail address, or weft@ this machine", check=from_complaint
    )
