"""What came of a turn, judged: final or tried again, and what follows from it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.engine.test_exchange import NOW, answer

from weft.engine.outcome import Terms, judge, nothing_came
from weft.frontier.local.site import Site
from weft.frontier.overrides import SiteSettings
from weft.frontier.politeness import Politeness
from weft.model import NO_ID, Kind, Outcome, Page, PageNumber, Parsed, Reason, SiteNumber, Turn
from weft.urls import fingerprint

URL = "http://site.test/a/b"
TURN = Turn(PageNumber(1), fingerprint(URL), URL, 1, Kind.A, NO_ID, 1)
PARSED = Parsed("text/html", "utf-8", "", "", URL, [], [], follow=True, reason=None)


def judged(page: Page, parsed: Parsed | None = None, site: Site | None = None, **changes: Any) -> Outcome:
    """What came of it, where a reason that is worth it is tried again."""

    def will_retry(turn: Turn, reason: Reason | None) -> bool:
        return reason is not None and reason.retry and turn.attempt < 3

    terms = Terms(Politeness(), will_retry, verify_tls=changes.pop("verify_tls", False))
    return judge(
        changes.pop("turn", TURN), page, parsed, site or Site(SiteNumber(1), "site.test", SiteSettings()), terms, NOW
    )


def test_outcome__of_a_good_page_is_final() -> None:
    """It has what was read, no reason, no pause."""
    page = answer("HTTP/1.1 200 OK")
    assert judged(page, PARSED) == Outcome(TURN, page, PARSED, None)


def test_outcome__of_a_page_that_cannot_be_read_has_that_reason() -> None:
    """Whatever its status says."""
    hostile = msgspec.structs.replace(PARSED, reason=Reason.HOSTILE)
    outcome = judged(answer("HTTP/1.1 200 OK"), hostile)
    assert (outcome.reason, outcome.final) == (Reason.HOSTILE, True)


@pytest.mark.parametrize(("attempt", "final"), [(1, False), (2, False), (3, True)])
def test_outcome__of_an_error_that_passes_is_final_with_the_last_try(attempt: int, final: bool) -> None:
    """Until then it is tried again after a pause of its own."""
    turn = msgspec.structs.replace(TURN, attempt=attempt)
    outcome = judged(answer("HTTP/1.1 500 x"), turn=turn)
    assert (outcome.reason, outcome.final, outcome.again) == (Reason.STATUS_5XX, final, False)


def test_outcome__has_the_pause_that_the_server_asks_for() -> None:
    """By its Retry-After."""
    assert judged(answer("HTTP/1.1 503 x\nRetry-After: 17")).pause == 17.0
    assert judged(answer("HTTP/1.1 200 x\nRetry-After: 17"), PARSED).pause == 0.0


def test_outcome__of_a_redirect_says_where_it_leads() -> None:
    """In normal form, and is final."""
    outcome = judged(answer("HTTP/1.1 301 x\nLocation: ../c#d"))
    assert (outcome.redirect, outcome.reason, outcome.final) == ("http://site.test/c", None, True)


@pytest.mark.parametrize(
    ("cookies", "attempt", "again"),
    [(["a=1"], 1, True), ([], 1, False), (["a=1"], 2, False)],
    ids=["with its cookie", "without one", "for the second time"],
)
def test_redirect__to_itself_is_asked_for_once_more(cookies: list[str], attempt: int, again: bool) -> None:
    """A server that looks whether its cookie comes back; a second time it means what it says."""
    site = Site(SiteNumber(1), "site.test", SiteSettings())
    site.jar.store(cookies, NOW)
    turn = msgspec.structs.replace(TURN, attempt=attempt)
    outcome = judged(answer(f"HTTP/1.1 302 x\nLocation: {URL}"), site=site, turn=turn)
    assert (outcome.again, outcome.final) == (again, not again)


@pytest.mark.parametrize(
    ("known", "verify", "again"),
    [("", False, True), ("expired", False, False), ("", True, False)],
    ids=["seen first", "known", "refused"],
)
def test_certificate__that_is_bad_is_looked_at_once(known: str, verify: bool, again: bool) -> None:
    """The next visit takes it as it is, unless bad ones are refused."""
    site = Site(SiteNumber(1), "site.test", SiteSettings())
    site.tls = known
    page = msgspec.structs.replace(nothing_came(TURN, Reason.TLS, NOW), tls="expired")
    outcome = judged(page, site=site, verify_tls=verify)
    assert (outcome.again, outcome.final, outcome.reason) == (again, False, Reason.TLS)


def test_outcome__says_how_a_content_is_cut() -> None:
    """As WARC-Truncated has it."""
    assert judged(answer("HTTP/1.1 200 OK", truncated="length"), PARSED).cut == "length"
    assert judged(answer("HTTP/1.1 200 OK", reason=Reason.RESET)).cut == "disconnect"
