"""Answers that break HTTP: lengths that are lies, chunks that are none, connections that are cut, zero bytes."""

from __future__ import annotations

from weft.testbed.answers import HTML, Answer, Delivery, Step, plain_answer
from weft.testbed.scenarios.scenario import Ask, Place, Scenario, number_in, page, sheet

_OK = b"HTTP/1.1 200 OK\r\n" + HTML
_BODY = b"<!DOCTYPE html>\n<html><head><title>Cut</title></head><body>\n" + b"<p>some words</p>\n" * 200

LENGTHS = (
    b"Content-Length: %d\r\n" % (len(_BODY) * 2),
    b"Content-Length: %d\r\n" % (len(_BODY) // 2),
    b"Content-Length: -1\r\n",
    b"Content-Length: many\r\n",
    b"Content-Length: %d\r\nContent-Length: %d\r\n" % (len(_BODY), len(_BODY) // 3),
    b"Content-Length: 999999999999999999\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(_BODY),
)
"""Lengths that are not the body's: more, less, none, no number, two, past all counting, nothing, and a second way."""

CHUNKS = (
    b"%x\r\n%b" % (len(_BODY) * 2, _BODY),
    b"%x\r\n%b\r\n" % (len(_BODY), _BODY),
    b"zz\r\n%b\r\n0\r\n\r\n" % _BODY,
    b"-5\r\n%b\r\n0\r\n\r\n" % _BODY,
    b"%x\r\n%bXX\r\n0\r\n\r\n" % (len(_BODY), _BODY),
    b"ffffffffffffffffff\r\n%b" % _BODY,
    b"%x;%b\r\n%b\r\n0\r\n\r\n" % (len(_BODY), b"x" * 100_000, _BODY),
    b"%b" % _BODY,
    b"%x\r\n%b\r\n0\r\n" % (len(_BODY), _BODY) + b"".join(b"Trailer-%d: x\r\n" % each for each in range(500)) + b"\r\n",
)
"""Bodies in chunks that are too short, without an end, without a size, and so on; the last has many trailers."""

STAGES = (
    b"",
    b"HTTP/1.",
    b"HTTP/1.1 200 OK\r\nContent-Ty",
    _OK + b"Content-Length: %d\r\n\r\n" % len(_BODY),
    _OK + b"Content-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY[:1_000]),
    _OK + b"Content-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY[:-1]),
    _OK + b"Transfer-Encoding: chunked\r\n\r\n100\r\n" + _BODY[:256] + b"\r\n10",
)
"""What has been sent when the connection is reset: nothing, half a status line, half a header, and so on."""

ZEROS = (
    _OK + b"\r\n<html><body><p>a\0b</p><a href='/nul/after-0.html'>x</a></body></html>",
    _OK + b"\r\n<html><body><a href='/nul/after-1.html\0.png'>x</a></body></html>",
    _OK + b"\r\n<html><body><a hr\0ef='/nul/after-2.html'>x</a><!-- \0 --></body></html>",
    _OK + b"\r\n" + bytes(20_000) + b"<a href='/nul/after-3.html'>x</a>",
    _OK + b"X-Zero: a\0b\r\n\r\n<a href='/nul/after-4.html'>x</a>",
    b"HTTP/1.1 200 O\0K\r\nContent-Type: text/html\0\r\n\r\n<a href='/nul/after-5.html'>x</a>",
    b"HTTP/1.1 302 Found\r\nLocation: /nul/after-6.html\0\r\nContent-Length: 0\r\n\r\n",
    _OK + b"\r\n<a href='/nul/after-7.html%00'>x</a><a href='/nul/%00'>y</a>",
)
"""Answers with zero bytes: in text, address and tag, before everything, in the header and in the status line."""


def _broken(name: str, about: str, source: str, prefix: str, answers: list[bytes]) -> Scenario:
    """A scenario of broken answers, one at each number; then the connection ends."""

    def answer(ask: Ask) -> Answer:
        number = number_in(ask.path, prefix.encode(), b".html")
        if not 0 <= number < len(answers):
            return _other(ask, name, prefix)
        return Answer(200, name, HTML, b"", Delivery.STEPS, steps=lambda: (Step(answers[number]),))

    return Scenario(
        name=name,
        about=about,
        source=source,
        family="protocol",
        prefix=prefix.encode(),
        links=lambda _: [f"{prefix}{number}.html" for number in range(len(answers))],
        answer=answer,
    )


def _other(ask: Ask, name: str, prefix: str) -> Answer:
    """What lies behind a broken page, for who could read it."""
    if not ask.path.startswith(prefix.encode() + b"after-"):
        return plain_answer(404, name)
    return page(name, sheet(ask.place, "Behind it", draw=ask.place.draw(name, ask.path)))


def _reset(ask: Ask) -> Answer:
    """An answer that is cut off at one of the stages."""
    number = number_in(ask.path, b"/reset/", b".html")
    if not 0 <= number < len(STAGES):
        return plain_answer(404, "resets")
    # What was sent should arrive before the reset, which else would overtake it.
    steps = (Step(STAGES[number]), Step(wait=0.05, reset=True))
    return Answer(200 if number > 2 else 0, "resets", HTML, b"", Delivery.STEPS, steps=lambda: steps)


def _stages(place: Place) -> list[str]:
    return [f"/reset/{number}.html" for number in range(len(STAGES))] + [place.url("abrupt-1")]


WIRE = (
    _broken(
        "wrong-length",
        "bodies that are longer or shorter than they say, or say no length that is one",
        "RFC 9112 6.3, 8",
        "/length/",
        [_OK + length + b"\r\n" + _BODY for length in LENGTHS],
    ),
    _broken(
        "broken-chunks",
        "chunks without a size, without an end, with a size past all counting",
        "RFC 9112 7.1, 8",
        "/chunks/",
        [_OK + b"Transfer-Encoding: chunked\r\n\r\n" + text for text in CHUNKS],
    ),
    _broken(
        "nul-bytes",
        "zero bytes in text, tags, addresses, header and status line",
        "RFC 9110 5.5; the HTML standard 13.2.5",
        "/nul/",
        list(ZEROS),
    ),
    Scenario(
        name="resets",
        about="connections that are reset: at once, in the status line, the header, after it, in the body, in a chunk",
        source="RFC 9112 9.6",
        family="protocol",
        prefix=b"/reset/",
        names={"abrupt": 1},
        links=_stages,
        answer=_reset,
    ),
)
