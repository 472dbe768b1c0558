"""What a server says to a request, before any socket is involved: a value the tests can look at.

`headers` are whole lines without those that depend on the way of sending (Content-Length,
Transfer-Encoding, Connection, Date); the server adds these. `delivery` says how the answer reaches the
client, or how it does not; one that is sent in steps says every byte itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from http import HTTPStatus
from typing import NamedTuple


class Delivery(IntEnum):
    """How an answer is sent."""

    WHOLE = 0
    CHUNKED = 1
    CLOSED = 2
    """Nothing is sent, the connection ends."""
    SHORT = 3
    """Half of the body, then the connection ends."""
    RESET = 4
    """Half of the body, then the connection is reset."""
    HANG = 5
    """Nothing is sent for a long time, then the connection ends."""
    ENDLESS = 6
    """Header, then a few bytes now and then, for a long time."""
    MALFORMED = 7
    """The body is the whole answer, and it is no HTTP."""
    STEPS = 8
    """Byte by byte as `Answer.steps` says, then the connection ends."""


class Step(NamedTuple):
    """A part of an answer that is sent in steps."""

    text: bytes = b""
    wait: float = 0.0
    """Seconds before it is sent."""
    reset: bool = False
    """The connection is reset after it."""


class Asked(NamedTuple):
    """What in a request, beside its address, decides about the answer."""

    secure: bool = False
    encodings: bytes = b""
    """The Accept-Encoding header, in lower case."""
    cookie: bool = False
    """Whether the client sent one."""
    host: bytes = b""
    """The name the client asked for, in lower case, without a port; empty for the site's own."""
    agent: bytes = b""
    connection: int = 0
    """The number of the connection: what is drawn by it is another draw when the client comes back."""
    if_none_match: bytes = b""
    if_modified_since: bytes = b""
    """These two as they were sent; looked at where a web changes."""
    at: float = 0.0
    """The web's time, where a web changes."""


class Answer(NamedTuple):
    """One answer."""

    status: int
    kind: str
    """What it is: page, duplicate, redirect, robots, …, or how it fails (see `options.KINDS`)."""
    headers: bytes
    body: bytes
    delivery: Delivery = Delivery.WHOLE
    wait: float = 0.0
    """Seconds before it is sent."""
    steps: Callable[[], Iterable[Step]] | None = None
    """What is sent, for the delivery in steps; without an end if it likes, for the server has one."""


REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}

HTML = b"Content-Type: text/html; charset=utf-8\r\n"
TEXT = b"Content-Type: text/plain; charset=utf-8\r\n"


def plain_answer(status: int, kind: str, headers: bytes = b"") -> Answer:
    """A short page that says nothing but its status, the same for all addresses."""
    body = b"<!DOCTYPE html>\n<html><head><title>%d %b</title></head>\n<body><h1>%b</h1></body></html>\n"
    reason = REASONS[status]
    return Answer(status, kind, HTML + headers, body % (status, reason, reason))
