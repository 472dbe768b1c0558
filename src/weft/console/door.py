"""Who may come in, and what a browser may do with an answer. In: a request. Out: the same with its session and its
form, or a refusal; every answer with the headers that bind a browser.

It stands before everything else (it is the outermost ASGI application), and looks at a request in this order:

1. `Host` is a name of this console: a page elsewhere whose name was made to lead here (DNS rebinding) has another.
2. The method is GET, HEAD or POST.
3. `Sec-Fetch-Site`, where a browser sends it, is `same-origin` or `none`: no other page has asked for this, nor one of
   another port of this machine, which counts as the same site. Only the entrance may be linked to from elsewhere.
4. A POST has this console's `Origin`, and a form of bounded length.
5. There is a session, but for the entrance and for static files.
6. A POST has the secret that the forms of this session carry.

Cookies know no ports: a server of somebody else on another port of the same machine is sent them, too. On loopback the
cookie is therefore bound to a path that is drawn anew with each console (`Where.root`) and known to none of them.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.console.sessions import Session, Sessions

ENTRANCE = "/enter"
STATIC = "/static/"
LONGEST_FORM = 1 << 20  # bytes
_MOST_FIELDS = 20
_METHODS = ("GET", "HEAD", "POST")
_OURS = ("same-origin", "none")

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer the Origin of our own forms would be null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-robots-tag": "noindex, nofollow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """How a console is reached."""

    scheme: str
    hosts: frozenset[str]  # what the Host header may be
    root: str  # before the path of every page that needs a session

    @property
    def secure(self) -> bool:
        """Is it reached by TLS, its own or a proxy's?"""
        return self.scheme == "https"

    @property
    def cookie(self) -> str:
        """The name of the cookie; with TLS a browser takes it from this host alone, by its prefix."""
        return "__Host-weft-console" if self.secure else "weft-console"

    def cookie_for(self, value: str) -> str:
        """The header that sets the cookie."""
        path = "/" if self.secure else self.root
        return f"{self.cookie}={value}; Path={path}; HttpOnly; SameSite=Strict{'; Secure' if self.secure else ''}"


class Refused(Exception):  # noqa: N818  a refusal is an answer
    """A request that is not answered."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class Door:
    """Stands before an application."""

    def __init__(self, app: ASGIApp, where: Where, sessions: Sessions) -> None:
        self._app = app
        self._where = where
        self._sessions = sessions

    def __repr__(self) -> str:
        return f"Door({sorted(self._where.hosts)})"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request in, or not."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # web sockets are not served
        bound = self._bound(send)
        try:
            scope["state"] = {"session": None, "form": {}}
            await self._look(scope, receive)
        except Refused as refused:
            await _refuse(refused, bound)
            return
        await self._app(scope, receive, bound)

    async def _look(self, scope: Scope, receive: Receive) -> None:
        """Refuse a request, or add to it what the pages need to know."""
        headers, path = Headers(scope=scope), scope["path"]
        if headers.get("host", "").lower() not in self._where.hosts or len(headers.getlist("host")) != 1:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "This console is not called so.")
        if scope["method"] not in _METHODS:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET, HEAD and POST are answered.")
        posts = scope["method"] == "POST"
        site = headers.get("sec-fetch-site")
        linked = path == ENTRANCE and not posts and headers.get("sec-fetch-mode") == "navigate"
        if site is not None and site not in _OURS and not linked:
            raise Refused(HTTPStatus.FORBIDDEN, "Another page has asked for this.")
        form = await self._form(headers, receive) if posts else {}
        session = self._sessions.find(_cookies(headers, self._where.cookie))
        if path != ENTRANCE and not path.startswith(STATIC):
            if session is None:
                raise Refused(HTTPStatus.FORBIDDEN, "Come in by the link that `weft console` printed.")
            if posts and not hmac.compare_digest(form.get("csrf", "").encode(), session.csrf.encode()):
                raise Refused(HTTPStatus.FORBIDDEN, "This form is not one of this session.")
        scope["state"] |= {"session": session, "form": form}

    async def _form(self, headers: Headers, receive: Receive) -> dict[str, str]:
        ours = f"{self._where.scheme}://{headers['host']}".lower()
        if [origin.lower() for origin in headers.getlist("origin")] != [ours]:
            raise Refused(HTTPStatus.FORBIDDEN, "Another page has sent this.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Only forms are taken.")
        body = await _bounded(receive)
        try:
            fields = parse_qsl(
                body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=_MOST_FIELDS
            )
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, "This form cannot be read.") from error
        if len(dict(fields)) != len(fields):
            raise Refused(HTTPStatus.BAD_REQUEST, "A field of this form comes twice.")
        return dict(fields)

    def _bound(self, send: Send) -> Send:
        """Add to every answer what binds a browser."""

        async def sends(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
                if self._where.secure:
                    headers["strict-transport-security"] = "max-age=31536000"
            await send(message)

        return sends


def form_of(state: Mapping[str, object]) -> dict[str, str]:
    """The form of a request that has come in."""
    form = state["form"]
    assert isinstance(form, dict)
    return form


def session_of(state: Mapping[str, object]) -> Session:
    """The session of a request that has come in."""
    session = state["session"]
    assert isinstance(session, Session)
    return session


async def _bounded(receive: Receive) -> bytes:
    """The body of a request, if it is not too long."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(HTTPStatus.BAD_REQUEST, "The request broke off.")
        body += message.get("body", b"")
        if len(body) > LONGEST_FORM:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A form has {LONGEST_FORM:,} bytes at most.")
        if not message.get("more_body"):
            return bytes(body)


def _cookies(headers: Headers, name: str) -> list[str]:
    """All values that a cookie has in a request."""
    pairs = (each.strip().partition("=") for line in headers.getlist("cookie") for each in line.split(";"))
    return [value for key, _, value in pairs if key == name]


async def _refuse(refused: Refused, send: Send) -> None:
    """Say no, in plain words and as plain text."""
    body = f"{refused.why}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))  # what is left of a body is not read
    await send({"type": "http.response.start", "status": int(refused.status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
