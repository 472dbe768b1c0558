"""What came of a turn, judged. In: an answer, or that none came. Out: an `Outcome`, from which everything else follows.

Pure: what only the frontier knows (is there another try?) comes in as a function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from weft.fetch.headers import header_values, keep_alive, retry_after
from weft.frontier.local.site import Site
from weft.frontier.politeness import Politeness
from weft.model import Outcome, Page, Parsed, Reason, Turn
from weft.urls import fingerprint, normal_form

# The site could not be reached: nothing is known of the page, and the next one would fare no better.
UNREACHED = frozenset(
    (
        Reason.DNS_NOT_FOUND,
        Reason.DNS_FAILED,
        Reason.DNS_SPECIAL,
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
        Reason.TLS,
        Reason.PROXY,
    )
)

# Nothing came, or not all of it: that may be our own failure.
LOST = UNREACHED | {Reason.NO_ANSWER, Reason.TIMEOUT, Reason.RESET}


class Terms(NamedTuple):
    """By what outcomes are judged, in one crawl."""

    politeness: Politeness
    will_retry: Callable[[Turn, Reason | None], bool]  # is there another try, after this reason?
    verify_tls: bool  # sites whose certificate is bad are refused


def judge(turn: Turn, page: Page, parsed: Parsed | None, site: Site, terms: Terms, now: float) -> Outcome:
    """What a page came to; `parsed` where there was something to read, `now` is wall time."""
    reason = verdict(page)
    redirect = redirect_of(page) if 300 <= page.status < 400 else None
    if parsed is not None and parsed.reason is not None:
        reason = parsed.reason
    if reason is None and redirect is None:
        return Outcome(turn, page, parsed, None, redirect, cut_of(page))
    # Its certificate is looked at once: what is wrong with it is noted, and the next visit takes it as it is.
    again = reason is Reason.TLS and page.tls != "" and site.tls == "" and not terms.verify_tls
    # Or it redirects to itself to see whether its cookie comes back; which it was given before it is judged.
    again |= redirect is not None and turn.attempt == 1 and fingerprint(redirect) == turn.id and bool(site.jar.cookies)
    final = not again and not terms.will_retry(turn, reason)
    pause = pause_of(page, terms.politeness, now)
    return Outcome(turn, page, parsed, reason, redirect, cut_of(page), pause, final=final, again=again)


def verdict(page: Page) -> Reason | None:
    """Why a page counts as failed, or None: by what happened on the wire, then by its status."""
    if page.reason is not None:
        return page.reason
    status = page.status
    if 200 <= status < 400:
        return None
    if status == 429:
        return Reason.STATUS_429
    if 400 <= status < 500:
        return Reason.STATUS_4XX
    if 500 <= status < 600:
        return Reason.STATUS_5XX
    return Reason.STATUS


def is_lost(page: Page) -> bool:
    """Did nothing come, or not all of it, for whatever reason but a limit of ours?"""
    return page.reason in LOST or page.truncated == "time"


_CUT = {
    Reason.RESET: "disconnect",
    Reason.TIMEOUT: "time",
    Reason.BAD_ANSWER: "unspecified",
    Reason.HEADERS: "unspecified",
}


def cut_of(page: Page) -> str:
    """How the content is not whole, as WARC-Truncated says it; "" when it is."""
    if page.truncated or page.reason is None:
        return page.truncated
    return _CUT.get(page.reason, "")


def redirect_of(page: Page) -> str | None:
    """Where a redirect leads, in normal form; None when the page is none, or leads nowhere."""
    if page.status in (301, 302, 303, 307, 308):
        # The bytes are UTF-8 more often than not, whatever the standard says; what is no UTF-8 stays as it came.
        first = next(iter(header_values(page.head, "location")), page.headers.get("location", ""))
        written = first.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
        url = normal_form(written, page.url) if written else None
        if type(url) is str:
            return url
    return None


def pause_of(page: Page, settings: Politeness, now: float) -> float:
    """How long a server that is asked too often, or is out of service, wants to be left alone."""
    if page.status not in (429, 503):
        return 0.0
    asked = retry_after(page.headers.get("retry-after", ""), now)
    if asked is not None:
        return min(asked, settings.retry_after_most)
    return settings.too_often_pause if page.status == 429 else 0.0


def keeps_open(page: Page) -> bool:
    """Will the server answer another request on this connection?"""
    if page.closed or page.status < 200:
        return False
    connection = page.headers.get("connection", "").lower()
    if "close" in connection or (page.head.startswith(b"HTTP/1.0") and "keep-alive" not in connection):
        return False
    if "keep-alive" in page.headers:
        further, idle = keep_alive(page.headers)
        return further != 0 and idle != 0
    return True


def nothing_came(turn: Turn, reason: Reason, now: float) -> Page:
    """A page for which nothing went over the wire."""
    return Page(turn.url, 0, reason, b"", b"", {}, b"", "", "", "", 0.0, now, 0.0, closed=True)
