"""Redirects that lead far, nowhere, away, or back to where they began."""

from __future__ import annotations

import re

from weft.testbed.answers import Answer, plain_answer
from weft.testbed.scenarios.scenario import Ask, Scenario, number_in, page, sheet

CHAIN = 30
"""Redirects of a chain before there is a page."""

_LINK = re.compile(rb"/(?:go|round)/([0-9]{1,6})-([0-9]{1,6})\Z")


def _to(kind: str, target: str, more: bytes = b"", status: int = 302) -> Answer:
    return plain_answer(status, kind, b"Location: %b\r\n%b" % (target.encode(), more))


def _chain(ask: Ask) -> Answer:
    """The next of many redirects, and in the end a page."""
    found = _LINK.match(ask.path)
    if found is None:
        return plain_answer(404, "redirect-chain")
    number, step = int(found[1]), int(found[2])
    if step < CHAIN:
        return _to("redirect-chain", f"/go/{number}-{step + 1}", status=(301, 302, 303, 307, 308)[step % 5])
    return page("redirect-chain", sheet(ask.place, f"The end of {number}", draw=ask.place.draw("chain", number)))


def _loop(ask: Ask) -> Answer:
    """A redirect in a circle of three, or to itself."""
    found = _LINK.match(ask.path)
    if found is None:
        return plain_answer(404, "redirect-loop")
    number, step = int(found[1]), int(found[2])
    size = 1 + number % 3
    return _to("redirect-loop", f"{ask.place.base}/round/{number}-{(step + 1) % size}", status=301 + number % 2)


def _away(ask: Ask) -> Answer:
    """A hundred doors to other sites."""
    if ask.path == b"/out/":
        return page("redirect-away", sheet(ask.place, "Partners", [f"/out/{number}" for number in range(100)]))
    number = number_in(ask.path, b"/out/")
    if not 0 <= number < 100:
        return plain_answer(404, "redirect-away")
    return _to("redirect-away", ask.place.homes(ask.place.draw("out", number)))


def _cookie(ask: Ask) -> Answer:
    """A redirect to itself until the client sends a cookie."""
    number = number_in(ask.path, b"/door/", b".html")
    if not 0 <= number < 20:
        return plain_answer(404, "redirect-cookie")
    if not ask.asked.cookie:
        return _to("redirect-cookie", ask.path.decode(), b"Set-Cookie: seen=1; Path=/\r\n")
    links = [f"/door/{number + 1}.html"]
    return page("redirect-cookie", sheet(ask.place, f"Room {number}", links, draw=ask.place.draw("room", number)))


REDIRECTS = (
    Scenario(
        name="redirect-chain",
        about=f"redirects of every status, {CHAIN} in a row before there is a page",
        source="P3 3.4; RFC 9110 15.4",
        family="pages",
        prefix=b"/go/",
        links=lambda _: [f"/go/{number}-0" for number in range(6)],
        answer=_chain,
    ),
    Scenario(
        name="redirect-loop",
        about="redirects in circles of one, two and three",
        source="P3 3.4; RFC 9110 15.4",
        family="pages",
        prefix=b"/round/",
        links=lambda _: [f"/round/{number}-0" for number in range(6)],
        answer=_loop,
    ),
    Scenario(
        name="redirect-away",
        about="a hundred redirects to the home pages of other sites",
        source="P3 3.4, 4.3",
        family="pages",
        prefix=b"/out/",
        links=lambda _: ["/out/"],
        answer=_away,
    ),
    Scenario(
        name="redirect-cookie",
        about="pages that redirect to themselves until the client sends the cookie they set",
        source="P3 4.1 (cookies): to who keeps none, and to who has seen the URL, the page is lost",
        family="pages",
        prefix=b"/door/",
        links=lambda _: ["/door/0.html"],
        answer=_cookie,
    ),
)
