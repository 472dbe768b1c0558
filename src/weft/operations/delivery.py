"""How a report gets to somebody: by SMTP, or as JSON to a webhook. In: a report, and where it goes. Out: it is there,
or an error that says what happened and what to do.

Passwords come from the environment alone, and go over a connection that is encrypted and whose certificate is good, or
to this machine. What stands behind the host of a webhook may be a secret, and is in no message. Imported only where a
crawl has somebody to report to.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import smtplib
import socket
import ssl
from contextlib import closing
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Protocol
from urllib.parse import unquote, urlsplit

from weft.errors import UsageError, WeftError
from weft.operations.options import PASSWORD, MailServer, Reporting, mail_server, target_complaint
from weft.operations.report import Report
from weft.urls import is_loopback_name
from weft.version import __version__

_LONGEST = 20.0  # seconds that a server may take to answer


class Target(Protocol):
    """Somebody who gets reports."""

    @property
    def name(self) -> str:
        """For a person: without what may be a secret."""
        ...

    @property
    def address(self) -> str:
        """As it was given."""
        ...

    def deliver(self, report: Report) -> None:
        """Have a report get there; a `WeftError` says why it does not."""
        ...


def targets_of(settings: Reporting, contact: str) -> list[Target]:
    """Everybody who gets reports; what is missing for that is told now."""
    found: list[Target] = []
    for address in settings.report_to:
        if wrong := target_complaint(address):  # it was in the environment
            raise UsageError("this is nobody to report to", where="--report-to", todo=wrong)
        if not address.startswith("mailto:"):
            found.append(Webhook(address))
            continue
        server = mail_server(settings.report_smtp)
        password = os.environ.get(PASSWORD, "")
        if server.user and not password:
            raise UsageError(
                f"the mail server wants a password for {server.user}, and the environment has no {PASSWORD}",
                where="--report-smtp",
                todo="set it, or leave the user out",
            )
        found.append(Mail(address, server, password, settings.report_from or _sender(contact)))
    return found


def _sender(contact: str) -> str:
    bare = contact.removeprefix("mailto:")
    return bare if "@" in bare and "://" not in bare else f"weft@{socket.gethostname()}"


def _is_here(host: str) -> bool:
    """Is a host this machine?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return is_loopback_name(host)


class Mail:
    """A mail address."""

    def __init__(self, address: str, server: MailServer, password: str, sender: str) -> None:
        self.address = address
        self.name = address.removeprefix("mailto:")
        self._server = server
        self._password = password
        self._sender = sender

    def __repr__(self) -> str:
        return f"Mail({self.name})"

    def deliver(self, report: Report) -> None:
        """Hand the report in at the mail server."""
        server = self._server
        where = f"{server.host}:{server.port}"
        try:
            self._send(report)
        except smtplib.SMTPAuthenticationError as error:
            todo = f"look at {PASSWORD} and at the user in --report-smtp"
            raise WeftError(f"the mail server refuses the login: {_words(error)}", where=where, todo=todo) from error
        except smtplib.SMTPException as error:
            raise WeftError(
                f"the mail server did not take the report: {_words(error)}", where=where, todo="look at --report-smtp"
            ) from error
        except OSError as error:  # a certificate that is not good is one, too
            what = getattr(error, "verify_message", "") or error.strerror or str(error)
            raise WeftError(
                f"the mail server cannot be reached: {what}", where=where, todo="look at --report-smtp"
            ) from error

    def _send(self, report: Report) -> None:
        host, port, tls, user = self._server
        name = socket.gethostname()
        hello = name if "." in name else "[127.0.0.1]"
        here = _is_here(host)
        context = ssl.create_default_context()
        connection = (
            smtplib.SMTP_SSL(host, port, timeout=_LONGEST, local_hostname=hello, context=context)
            if tls
            else smtplib.SMTP(host, port, timeout=_LONGEST, local_hostname=hello)
        )
        with connection:
            connection.ehlo_or_helo_if_needed()
            # What does not leave this machine need not be encrypted, and its server mostly has no good certificate.
            if not tls and not here and connection.has_extn("starttls"):
                connection.starttls(context=context)
                tls = True
            if user:
                if not tls and not here:
                    raise smtplib.SMTPNotSupportedError("it offers no encryption, and a password would be seen")
                connection.login(user, self._password)
            connection.send_message(self._message(report, hello))

    def _message(self, report: Report, host: str) -> EmailMessage:
        message = EmailMessage()
        message["Subject"] = " ".join(report.subject.split())
        message["From"] = self._sender
        message["To"] = self.name
        message["Date"] = formatdate(report.status.time)
        message["Message-ID"] = make_msgid(domain=host.strip("[]"))
        message["Auto-Submitted"] = "auto-generated"  # nobody's holiday answers it (RFC 3834)
        message.set_content(report.text)
        return message


class Webhook:
    """A URL that takes JSON."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._parts = urlsplit(address)
        self.name = f"{self._parts.scheme}://{self._parts.hostname}"

    def __repr__(self) -> str:
        return f"Webhook({self.name})"

    def deliver(self, report: Report) -> None:
        """Send the report as the body of a POST. Anything but 2xx is a failure, a redirect as well."""
        try:
            status, reason = self._post(report.payload())
        except (OSError, HTTPException) as error:
            what = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or type(error).__name__
            raise WeftError(f"the webhook cannot be reached: {what}", where=self.name, todo=_LOOK) from error
        if not 200 <= status < 300:
            raise WeftError(f"the webhook answers {status} {reason}".rstrip(), where=self.name, todo=_LOOK)

    def _post(self, body: bytes) -> tuple[int, str]:
        parts = self._parts
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Content-Type": "application/json", "User-Agent": f"weft/{__version__}"}
        if parts.username or parts.password:
            given = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(given.encode()).decode()}"
        with closing(kind(parts.hostname or "", parts.port, timeout=_LONGEST)) as connection:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.reason


_LOOK = "look at --report-to"


def _words(error: smtplib.SMTPException) -> str:
    """What a server said, in one line."""
    if isinstance(error, smtplib.SMTPResponseException):
        said = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        return f"{error.smtp_code} {' '.join(str(said).split())}"
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, refusal = next(iter(error.recipients.values()))
        return f"{code} {' '.join(refusal.decode('utf-8', 'replace').split())}"
    return " ".join(str(error).split()) or type(error).__name__
