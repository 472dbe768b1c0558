"""What the door lets in, request by request; nobody behind it is asked who may not come in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from weft.clock import VirtualClock
from weft.console.door import LONGEST_FORM, POLICY, Door, Where
from weft.console.sessions import Sessions

HOST = "127.0.0.1:8737"
WHERE = Where(scheme="http", hosts=frozenset({HOST, "localhost:8737"}), root="/secret")
SECURE = Where(scheme="https", hosts=frozenset({"crawl.example.org"}), root="")
FORM = b"application/x-www-form-urlencoded"


class House:
    """A door with somebody behind it, who notes whom it let in."""

    def __init__(self, where: Where = WHERE) -> None:
        self.sessions = Sessions(VirtualClock())
        value = self.sessions.enter(self.sessions.token())
        assert value is not None
        session = self.sessions.find([value])
        assert session is not None
        self.cookie, self.csrf = f"{where.cookie}={value}".encode(), session.csrf
        self.came: list[dict[str, Any]] = []
        self._door = Door(self._behind, where, self.sessions)
        self.headers: dict[str, str] = {}

    async def _behind(self, scope: Any, _receive: Any, send: Any) -> None:
        self.came.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"ALLOWALL")]})
        await send({"type": "http.response.body", "body": b"inside"})

    def ask(self, method: str, path: str, headers: list[tuple[bytes, bytes]], *body: bytes) -> int:
        """The status of an answer."""
        parts = [
            {"type": "http.request", "body": part, "more_body": place + 1 < len(body)}
            for place, part in enumerate(body or (b"",))
        ]
        sent: list[dict[str, Any]] = []

        async def receive() -> Any:
            return parts.pop(0) if parts else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": headers, "query_string": b""}
        asyncio.run(self._door(scope, receive, send))
        self.headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        status: int = sent[0]["status"]
        return status

    def get(self, path: str = "/secret/", *more: tuple[bytes, bytes], host: bytes = HOST.encode()) -> int:
        """A GET of who is inside."""
        return self.ask("GET", path, [(b"host", host), (b"cookie", self.cookie), *more])

    def post(self, body: bytes | None = None, **changes: bytes | None) -> int:
        """A POST of who is inside, with some headers changed, or left out."""
        sent: dict[str, bytes | None] = {
            "host": HOST.encode(),
            "cookie": self.cookie,
            "origin": f"http://{HOST}".encode(),
        }
        sent |= {"content_type": FORM} | changes
        headers = [(name.replace("_", "-").encode(), value) for name, value in sent.items() if value is not None]
        return self.ask("POST", "/secret/act/pause", headers, f"csrf={self.csrf}".encode() if body is None else body)


@pytest.mark.parametrize(
    "host",
    [
        b"evil.example",
        b"evil.example:8737",
        b"127.0.0.1",
        b"127.0.0.1:80",
        b"127.0.0.1:8737.evil.example",
        b"127.0.0.1:8737@evil.example",
        b"127.0.0.2:8737",
        b"0.0.0.0:8737",
        b"[::1]:8737",
        b"localhost.:8737",
        b"localhost",
        b"2130706433:8737",
        b"0x7f.1:8737",
        b"",
        b" 127.0.0.1:8737",
        b"127.0.0.1:8737, evil.example",
    ],
)
def test_host__that_is_not_the_consoles_is_refused(host: bytes) -> None:
    """A name that somebody has made to lead here is none of ours, whatever else is right."""
    house = House()
    assert house.get(host=host) == 421
    assert house.came == []


def test_host__must_be_there_once() -> None:
    """Two parties could each read another of two."""
    house = House()
    assert house.ask("GET", "/secret/", [(b"cookie", house.cookie)]) == 421
    twice = [(b"host", HOST.encode()), (b"host", b"evil.example"), (b"cookie", house.cookie)]
    assert house.ask("GET", "/secret/", twice) == 421
    assert house.get(host=b"LOCALHOST:8737") == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "PROPFIND"])
def test_method__is_one_of_three(method: str) -> None:
    """What nobody needs is not there: a preflight is answered with no, so that no page elsewhere may send more."""
    house = House()
    assert house.ask(method, "/secret/", [(b"host", HOST.encode()), (b"cookie", house.cookie)]) == 405
    assert "access-control-allow-origin" not in house.headers


@pytest.mark.parametrize("site", [b"cross-site", b"same-site", b"x", b"", b"same-origin, none"])
def test_pages_elsewhere__can_ask_for_nothing(site: bytes) -> None:
    """Neither on another site nor on another port of this machine, with the right cookie and for whatever it is."""
    house = House()
    for path in ("/secret/", "/secret/live", "/static/console.css", "/enter"):
        assert house.get(path, (b"sec-fetch-site", site)) == 403, path
    assert house.post(sec_fetch_site=site) == 403
    assert house.came == []


def test_entrance__may_be_linked_to_and_nothing_else() -> None:
    """A link in a mail is followed from another site; it leads to a form and changes nothing."""
    house = House()
    linked = ((b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"navigate"))
    assert house.get("/enter", *linked) == 200
    for path in ("/secret/", "/enter/", "//enter", "/static/console.js"):
        assert house.get(path, *linked) == 403, path


def test_session__is_needed_for_every_page() -> None:
    """But for the entrance and the static files, whatever the path looks like."""
    house = House()
    for path in (
        "/",
        "/secret/",
        "/secret/live",
        "/secret/sites",
        "/secret/../enter",
        "/enter/",
        "/enterx",
        "/static",
        "",
    ):
        assert house.ask("GET", path, [(b"host", HOST.encode())]) == 403, path
        wrong = [(b"host", HOST.encode()), (b"cookie", b"weft-console=x; __Host-weft-console=y")]
        assert house.ask("GET", path, wrong) == 403, path
    assert house.came == []
    for path in ("/enter", "/static/console.css"):
        assert house.ask("GET", path, [(b"host", HOST.encode())]) == 200, path


@pytest.mark.parametrize(
    "origin",
    [
        None,
        b"null",
        b"",
        b"http://evil.example",
        b"https://127.0.0.1:8737",
        b"http://127.0.0.1:9999",
        b"http://127.0.0.1",
        b"http://localhost:8737",  # ours, too, but not of the host that was asked
        b"http://127.0.0.1:8737.evil.example",
        b"http://127.0.0.1:8737/",
    ],
)
def test_form__of_another_origin_is_refused(origin: bytes | None) -> None:
    """With the right cookie and the right secret."""
    house = House()
    assert house.post(origin=origin) == 403
    assert house.came == []


def test_form__needs_the_secret_of_its_session() -> None:
    """None, a wrong one, and that of another session are refused."""
    house, other = House(), House()
    for body in (
        b"",
        b"csrf=",
        b"csrf=x",
        f"csrf={other.csrf}".encode(),
        f"csrf={house.csrf}x".encode(),
        b"speed=none",
    ):
        assert house.post(body) == 403, body
    assert house.came == []
    assert house.post() == 200
    assert house.came[0]["state"]["form"] == {"csrf": house.csrf}


def test_form__must_be_a_form_of_bounded_length() -> None:
    """Neither JSON nor files, no field twice, no more than a million bytes however they come."""
    house = House()
    for kind in (None, b"text/plain", b"application/json", b"multipart/form-data; boundary=x"):
        assert house.post(content_type=kind) == 415, kind
    secret = f"csrf={house.csrf}".encode()
    assert house.post(secret + b"&csrf=x") == 400
    assert house.post(secret + b"&" + b"&".join(b"a%d=1" % number for number in range(50))) == 400
    assert house.post(b"\xff\xfe") == 400
    assert house.post(secret + b"&a=" + b"x" * LONGEST_FORM) == 413
    headers = [(b"host", HOST.encode()), (b"origin", f"http://{HOST}".encode()), (b"content-type", FORM)]
    assert house.ask("POST", "/enter", headers, *[b"x" * 65_536] * 20) == 413
    assert house.came == []


@pytest.mark.parametrize("path", ["/secret/", "/static/x", "/nowhere"])
def test_answers__bind_the_browser(path: str) -> None:
    """All of them, refusals too, whatever the one behind says."""
    house = House()
    house.get(path)
    allowed = dict(house.headers)
    house.ask("GET", path, [(b"host", b"evil.example")])
    for headers in (allowed, house.headers):
        assert headers["content-security-policy"] == POLICY
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


def test_policy__allows_nothing_inline_and_nobody_elsewhere() -> None:
    """No script and no style but our own files, no frame around it, no form that leads away."""
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["form-action"] == rules["script-src"] == rules["style-src"] == "'self'"


def test_cookie__is_read_by_no_script_and_sent_to_nobody_else() -> None:
    """On loopback it is bound to a path that nobody knows: cookies know no ports. With TLS it is bound to the host."""
    assert WHERE.cookie_for("v") == "weft-console=v; Path=/secret; HttpOnly; SameSite=Strict"
    assert SECURE.cookie_for("v") == "__Host-weft-console=v; Path=/; HttpOnly; SameSite=Strict; Secure"
    house = House(SECURE)
    headers = [(b"host", b"crawl.example.org"), (b"cookie", house.cookie)]
    assert house.ask("GET", "/", headers) == 200
    assert house.headers["strict-transport-security"].startswith("max-age=")
    posted = [*headers, (b"origin", b"http://crawl.example.org"), (b"content-type", FORM)]
    assert house.ask("POST", "/act/pause", posted, f"csrf={house.csrf}".encode()) == 403


def test_web_sockets__are_not_served() -> None:
    """Browsers let any page open one: there is none."""
    house = House()
    sent: list[Any] = []

    async def ask() -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        await house._door({"type": "websocket", "path": "/secret/", "headers": []}, None, send)  # type: ignore[arg-type]

    asyncio.run(ask())
    assert sent == []
    assert house.came == []
