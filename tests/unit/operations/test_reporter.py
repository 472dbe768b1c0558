"""Reports: on a schedule, to real servers on this machine; what fails is told, tried again, and ends nothing."""

from __future__ import annotations

import asyncio
import base64
import email
import email.policy
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from tests.patience import PATIENCE
from tests.unit.operations.made import snapshot

from weft.clock import VirtualClock
from weft.config import Settings
from weft.errors import UsageError, WeftError
from weft.operations import delivery
from weft.operations.delivery import Target, targets_of
from weft.operations.options import PASSWORD, Reporting, smtp_complaint, target_complaint
from weft.operations.report import compose, remembered
from weft.operations.reporter import FILE, Reporter
from weft.operations.status import Snapshot
from weft.operations.telling import telling

DAY = 86_400.0


class Post:
    """What a mail server was given, and what it answers."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.answer = "250 Message accepted for delivery"
        self.encrypted: list[bool] = []
        self.logins: list[tuple[bytes, bytes]] = []

    async def handle_DATA(self, _server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        """A mail has come."""
        assert isinstance(envelope.content, bytes)
        if self.answer.startswith("250"):
            self.mails.append(email.message_from_bytes(envelope.content, policy=email.policy.default))
            self.encrypted.append(session.ssl is not None)
        return self.answer

    def check(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, given: Any) -> AuthResult:
        """Somebody logs in."""
        assert isinstance(given, LoginPassword)
        self.logins.append((given.login, given.password))
        return AuthResult(success=given.password == b"s3cret", handled=False)


@contextmanager
def mail_server(**options: Any) -> Iterator[tuple[Post, int]]:
    """A mail server on this machine, and its port."""
    post = Post()
    loop = asyncio.new_event_loop()

    def session() -> SMTP:
        return SMTP(post, hostname="localhost", loop=loop, authenticator=post.check, **options)

    server = loop.run_until_complete(loop.create_server(session, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield post, server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_closed(server), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _closed(server: asyncio.Server) -> None:
    """End a server, and what still talks to it."""
    server.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Hook:
    """What a webhook was given, and what it answers."""

    def __init__(self) -> None:
        self.status = 204
        self.posts: list[tuple[str, dict[str, str], dict[str, Any]]] = []


@contextmanager
def webhook() -> Iterator[tuple[Hook, str]]:
    """An HTTP server on this machine, and its URL."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        """Takes what comes."""

        def do_POST(self) -> None:
            """Somebody posts."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if hook.status < 300:
                hook.posts.append((self.path, dict(self.headers), json.loads(body)))
            self.send_response(hook.status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield hook, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def targets(contact: str = "", **values: Any) -> list[Target]:
    """Who gets reports, by settings."""
    return targets_of(Settings().with_values(values, where="a test").revealed().reporting, contact)


class Desk:
    """A reporter with a clock, a crawl that grows, and what was said."""

    def __init__(self, folder: Path, to: list[Target], every: float = 6 * 3600.0, start: float = 1_000_000.0) -> None:
        self.clock = VirtualClock(start)
        self.said: list[str] = []
        self.pages = 100
        self.away = False
        self.reporter = Reporter(to, every, look=self.look, clock=self.clock, say=self.said.append, folder=folder)

    def look(self) -> Snapshot:
        """How the crawl stands."""
        if self.away:
            raise WeftError("the global frontier does not answer")
        return snapshot(self.pages, time=self.clock.wall())

    def wait(self, seconds: float, *, step: float = 30.0) -> None:
        """Let time pass, with a look now and then."""
        until = self.clock.now() + seconds
        while self.clock.now() < until:
            self.clock.advance(min(step, until - self.clock.now()))
            self.reporter.step()


# --- the text ---


def test_report__says_how_it_stands_and_what_changed() -> None:
    """Figures with their changes, failures since the last report and in all, and when the disk is full."""
    before = remembered(snapshot(100, time=0.0).status)
    now = snapshot(600, time=3600.0).status
    now.disk_free -= 10**9
    now.errors = now.errors | {"timeout": 20}
    report = compose(now, before)
    assert report.subject == "weft: crawls/country: running, 1,201 pages (+1,000)"
    for line in (
        "crawls/country: running",
        "pages          1,201 (+1,000)",
        "content        1.2 MB (+1.0 MB)",
        "speed          12.5 pages/s, 12.5 kB/s; target: 20 pages/s",
        "pages pending  75 (±0)",
        "sites          4 to crawl, 3 being crawled, 2 crawled, 1 set aside",
        "workers        1 of 2 alive, 5 connections busy",
        "disk           4.0 GB free of 100.0 GB (-1.0 GB); full in 4.0 h at this pace",
        "failures in 60 min: timeout 12",
        "failures in all: timeout 20, status-4xx 10",
        "refused by a rule: scope 80, robots 4",
        "workers were started again 2 times (±0), last worker 1 by signal 9",
        "weft itself failed 2 times (±0) (log/faults.log)",
    ):
        assert line in report.text.splitlines(), report.text
    found = json.loads(report.payload())
    assert found["status"]["pages"] == 1201
    assert (found["changes"]["pages"], found["changes"]["errors"]) == (1000, {"timeout": 12})
    assert found["text"].startswith(report.subject)


def test_report__that_is_the_first_has_nothing_to_compare_with() -> None:
    """No difference is made up; that the run has ended is said, with why."""
    report = compose(snapshot().status, None, ended="done")
    assert report.subject == "weft: crawls/country: ended (done), 201 pages"
    assert "(+" not in report.text
    assert report.changes == {}


# --- the schedule ---


class Note:
    """A target that takes everything down, or fails."""

    name = address = "somebody"

    def __init__(self) -> None:
        self.subjects: list[str] = []
        self.tried = 0
        self.fails = False

    def deliver(self, report: Any) -> None:
        """Take a report."""
        self.tried += 1
        if self.fails:
            raise WeftError("nobody is there", where="a place", todo="look")
        self.subjects.append(report.subject)


def test_reporter__sends_every_so_often(tmp_path: Path) -> None:
    """The first when the time has come for it, not at once; each says what changed since the one before."""
    note = Note()
    desk = Desk(tmp_path, [note])
    desk.wait(6 * 3600.0 - 30)
    assert note.subjects == []
    desk.wait(30)
    desk.pages = 150
    desk.wait(DAY / 4)
    assert [subject.rpartition(",")[2] for subject in note.subjects] == [" 201 pages", " 301 pages (+100)"]
    desk.wait(DAY)
    assert len(note.subjects) == 6
    desk.reporter.end("done")
    assert "ended (done)" in note.subjects[-1]
    assert desk.said == []


def test_reporter__without_a_schedule_tells_of_the_end_alone(tmp_path: Path) -> None:
    """--report-to without --report-every."""
    note = Note()
    desk = Desk(tmp_path, [note], every=0.0)
    desk.wait(3 * DAY)
    desk.reporter.end("page limit")
    assert len(note.subjects) == 1
    assert "ended (page limit)" in note.subjects[0]


def test_reporter__tries_again_later_and_later_and_says_so_once(tmp_path: Path) -> None:
    """After 1, 2, 4 … minutes, an hour at most; the others get theirs, and what was missed is in the next report."""
    broken, note = Note(), Note()
    broken.address, broken.fails = "another", True
    desk = Desk(tmp_path, [broken, note])
    desk.wait(DAY / 4)
    tried = [broken.tried]
    for minutes in (1, 2, 4, 8, 16, 32, 60, 60):
        desk.wait(minutes * 60.0, step=10.0)
        tried.append(broken.tried)
    assert tried == list(range(1, 10))
    assert len(note.subjects) == 1
    assert desk.said == [
        "a report to somebody was not sent, and is tried again in 60 s: nobody is there (a place): look"
    ]
    broken.fails = False
    desk.wait(3600.0)
    assert len(broken.subjects) == 1
    assert desk.said[1:] == ["reports to somebody get there again"]


def test_reporter__survives_whatever_fails(tmp_path: Path) -> None:
    """A frontier that is away, a folder that is not there: it is told, and reports go on."""
    note = Note()
    desk = Desk(tmp_path / "missing", [note])
    desk.away = True
    desk.wait(DAY / 4)
    desk.away = False
    desk.wait(120.0)
    assert len(note.subjects) == 1
    assert "the global frontier does not answer" in desk.said[0]
    assert "cannot be kept" in desk.said[2]
    desk.away = True
    desk.reporter.end("done")
    assert desk.said[-1].startswith("the last report to somebody was not sent: ")


def test_reporter__remembers_the_last_report_over_runs(tmp_path: Path) -> None:
    """A crawl that is started again and again sends as many reports as one that is not; a broken note begins anew."""
    note = Note()
    desk = Desk(tmp_path, [note])
    desk.wait(DAY / 4)
    assert len(note.subjects) == 1
    for hours in (2, 3):
        desk.pages += 50
        start = desk.clock.wall() + 60
        desk = Desk(tmp_path, [note], start=start)
        desk.wait(hours * 3600.0)
    assert [subject.rpartition(",")[2] for subject in note.subjects] == [" 201 pages"]
    desk.wait(3600.0)
    assert len(note.subjects) == 2
    assert "somebody" not in (tmp_path / FILE).read_text("utf-8"), "an address may be a secret"
    (tmp_path / FILE).write_text("{", encoding="utf-8")
    desk = Desk(tmp_path, [note])
    assert "reports begin anew" in desk.said[0]


# --- mail ---


def test_mail__gets_there(tmp_path: Path) -> None:
    """A plain text with a subject, a sender, a date and no invitation to answer it."""
    with mail_server() as (post, port):
        to = targets(
            "mailto:me@example.org", report_to=["mailto:you@example.net"], report_smtp=f"smtp://127.0.0.1:{port}"
        )
        desk = Desk(tmp_path, to)
        desk.wait(DAY / 4)
    (mail,) = post.mails
    assert (mail["From"], mail["To"]) == ("me@example.org", "you@example.net")
    assert mail["Subject"] == "weft: crawls/country: running, 201 pages"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Date"].datetime.timestamp() == 1_000_000 + DAY / 4
    assert mail.get_content_type() == "text/plain"
    assert "pages pending  75" in mail.get_content()
    assert desk.said == []


def test_mail__that_is_refused_is_told_with_the_servers_words(tmp_path: Path) -> None:
    """And sent when it is taken."""
    with mail_server() as (post, port):
        post.answer = "451 try again"
        to = targets(report_to=["mailto:you@example.net"], report_smtp=f"smtp://127.0.0.1:{port}")
        desk = Desk(tmp_path, to)
        desk.wait(DAY / 4)
        assert post.mails == []
        assert f"451 try again (127.0.0.1:{port})" in desk.said[0]
        post.answer = "250 OK"
        desk.wait(60.0)
        assert len(post.mails) == 1
    desk.wait(DAY / 4)
    assert "the mail server cannot be reached: Connection refused" in desk.said[-1]


@pytest.fixture
def authority(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ssl.SSLContext:
    """A server's certificate, by an authority that this machine trusts."""
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost", "127.0.0.1").configure_cert(context)
    return context


def test_mail__logs_in_over_an_encrypted_connection(
    authority: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By STARTTLS where the server is elsewhere; the password is in the environment, and in no message."""
    monkeypatch.setattr(delivery, "_is_here", lambda _host: False)
    monkeypatch.setenv(PASSWORD, "s3cret")
    with mail_server(tls_context=authority, auth_required=True) as (post, port):
        smtp = f"smtp://me%40example.org@127.0.0.1:{port}"
        Desk(tmp_path, targets(report_to=["mailto:you@example.net"], report_smtp=smtp)).reporter.end("done")
        assert post.encrypted == [True]
        assert post.logins == [(b"me@example.org", b"s3cret")]
        monkeypatch.setenv(PASSWORD, "wr0ng")
        desk = Desk(tmp_path, targets(report_to=["mailto:you@example.net"], report_smtp=smtp))
        desk.reporter.end("done")
        assert "the mail server refuses the login: 535" in desk.said[0]
        assert "wr0ng" not in desk.said[0]
    assert len(post.mails) == 1


def test_mail__sends_no_password_in_the_clear(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not to a server elsewhere that offers no encryption, or has a certificate that nobody vouches for."""
    monkeypatch.setattr(delivery, "_is_here", lambda _host: False)
    monkeypatch.setenv(PASSWORD, "s3cret")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    for options, words in (
        ({"auth_require_tls": False}, "no encryption"),
        ({"tls_context": context}, "cannot be reached"),
    ):
        with mail_server(**options) as (post, port):
            to = targets(report_to=["mailto:you@example.net"], report_smtp=f"smtp://me@127.0.0.1:{port}")
            desk = Desk(tmp_path, to)
            desk.reporter.end("done")
            assert words in desk.said[0]
            assert (post.logins, post.mails) == ([], [])


def test_password__is_asked_for_before_the_crawl_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from the environment alone."""
    monkeypatch.delenv(PASSWORD, raising=False)
    with pytest.raises(UsageError, match=PASSWORD):
        targets(report_to=["mailto:you@example.net"], report_smtp="smtp://me@mail.example")
    assert PASSWORD in smtp_complaint("smtp://me:s3cret@mail.example")


# --- webhooks ---


def test_webhook__gets_json(tmp_path: Path) -> None:
    """At its path, with what is given in the URL; the figures are those of `weft status --json`."""
    with webhook() as (hook, url):
        to = targets(report_to=[f"{url.replace('://', '://me:s3cret@')}/T0/x?y=1"])
        desk = Desk(tmp_path, to)
        desk.wait(DAY / 4)
        desk.pages = 200
        desk.wait(DAY / 4)
    (path, headers, first), (_, _, second) = hook.posts
    assert path == "/T0/x?y=1"
    assert headers["Content-Type"] == "application/json"
    assert headers["Authorization"] == f"Basic {base64.b64encode(b'me:s3cret').decode()}"
    assert (first["changes"], second["changes"]["pages"]) == ({}, 200)
    assert second["status"]["pages"] == 401
    assert second["text"].startswith("weft: crawls/country: running, 401 pages (+200)\n")
    assert desk.said == []


@pytest.mark.parametrize("status", [302, 404, 500])
def test_webhook__that_does_not_take_it_is_told_without_its_path(status: int, tmp_path: Path) -> None:
    """A redirect is no delivery either; what is behind the host may be a secret."""
    with webhook() as (hook, url):
        hook.status = status
        desk = Desk(tmp_path, targets(report_to=[f"{url}/T0KEN"]))
        desk.wait(DAY / 4)
        assert f"the webhook answers {status}" in desk.said[0]
        hook.status = 200
        desk.wait(60.0)
        assert len(hook.posts) == 1
    desk.reporter.end("done")
    assert "the webhook cannot be reached: Connection refused" in desk.said[-1]
    assert "T0KEN" not in "".join(desk.said)


# --- settings ---


@pytest.mark.parametrize(
    "text", ["", "you@example.org", "mailto:", "mailto:a b@c", "ftp://x/", "https://", "https://x:y/"]
)
def test_target__that_is_none_is_refused(text: str) -> None:
    """With what to write instead."""
    assert "mailto:" in target_complaint(text)


def test_webhook__is_a_secret_in_the_settings() -> None:
    """`crawl.toml` has its host alone; with `secrets.toml` it is whole again."""
    given = ["https://me:p4ss@hooks.example/T0KEN?x=1", "mailto:me@example.org", "env:HOOK", "http://bare.example"]
    settings = Settings().with_values({"report_to": given}, where="a test")
    shown = settings.to_toml()
    for secret in ("T0KEN", "p4ss"):
        assert secret not in shown
        assert secret in settings.secrets_toml()
    assert "hooks.example" in shown
    assert "mailto:me@example.org" in shown
    assert "env:HOOK" in shown
    assert not settings.incomplete
    assert not settings.secret, "what servers are asked for is not changed by it"


def test_target__may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is looked at when it is known."""
    monkeypatch.setenv("HOOK", "https://hooks.example/T0KEN")
    (found,) = targets(report_to=["env:HOOK"])
    assert found.address == "https://hooks.example/T0KEN"
    monkeypatch.setenv("HOOK", "nonsense")
    with pytest.raises(UsageError, match="nobody to report to"):
        targets(report_to=["env:HOOK"])


def test_reports__to_nobody_are_refused() -> None:
    """Before anything is written."""
    with (
        pytest.raises(UsageError, match="nobody to send them to"),
        telling(Reporting(report_every=60.0), VirtualClock()),
    ):
        pass
