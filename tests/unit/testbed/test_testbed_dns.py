"""DNS packets, by hand and without sockets."""

from __future__ import annotations

import dataclasses
import socket
import struct

import pytest

from weft.testbed.dns import Answers
from weft.testbed.names import Names
from weft.testbed.options import PLAIN


def server(**changes: object) -> Answers:
    """Answers for ten sites with some options changed."""
    options = dataclasses.replace(PLAIN, www=0.0, dns_ttl_s=77, **changes)  # type: ignore[arg-type]
    return Answers(Names(10, options, seed=1), options, seed=1)


def question(name: str, kind: int = 1, flags: int = 0x0100) -> bytes:
    """A query for a name."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 4711, flags, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


def test_dns__a_site_has_an_address_and_a_ttl() -> None:
    """The answer repeats id and question and holds one A record."""
    query = question("Site-3.TEST")
    reply = server().answer(query)
    assert reply is not None
    number, flags, *counts = struct.unpack_from(">6H", reply)
    assert (number, counts) == (4711, [1, 1, 0, 0])
    assert flags & 0x8000
    assert flags & 0x0400
    assert flags & 0x000F == 0
    assert reply[12 : len(query)] == query[12:]
    pointer, kind, cls, ttl, length = struct.unpack_from(">HHHIH", reply, len(query))
    assert (pointer, kind, cls, ttl, length) == (0xC00C, 1, 1, 77, 4)
    assert socket.inet_ntoa(reply[-4:]) == Names(10, PLAIN, seed=1).address(3)


@pytest.mark.parametrize(
    ("name", "kind", "code", "counts"),
    [
        ("site-99.test", 1, 3, [1, 0, 1, 0]),
        ("www.site-3.test", 1, 3, [1, 0, 1, 0]),
        ("site-3.test", 28, 0, [1, 0, 1, 0]),
        ("test", 1, 0, [1, 0, 1, 0]),
        ("example.org", 1, 5, [1, 0, 0, 0]),
    ],
)
def test_dns__other_names_have_none(name: str, kind: int, code: int, counts: list[int]) -> None:
    """Unknown names do not exist and say how long that holds; other types are empty; other zones are refused."""
    reply = server().answer(question(name, kind))
    assert reply is not None
    assert struct.unpack_from(">6H", reply)[1] & 15 == code
    assert list(struct.unpack_from(">6H", reply)[2:]) == counts
    if counts[2]:
        assert reply.endswith(struct.pack(">I", 77))


def test_dns__domains_can_fail_keep_silent_and_insist_on_tcp() -> None:
    """Shares of the domains misbehave as asked."""
    failed = server(dns_failing=1.0).answer(question("site-3.test"))
    assert failed is not None
    assert failed[3] & 15 == 2
    assert server(dns_silent=1.0).answer(question("site-3.test")) is None
    stubborn = server(dns_truncated=1.0)
    short, whole = stubborn.answer(question("site-3.test")), stubborn.answer(question("site-3.test"), udp=False)
    assert short is not None
    assert whole is not None
    assert short[2] & 2
    assert struct.unpack_from(">6H", short)[3] == 0
    assert struct.unpack_from(">6H", whole)[3] == 1
    wild = server(dns_wildcards=1.0).answer(question("any.thing.site-3.test"))
    assert wild is not None
    assert struct.unpack_from(">6H", wild)[3] == 1


@pytest.mark.parametrize(
    "query",
    [
        b"",
        b"\0" * 11,
        question("site-3.test", flags=0x8000),
    ],
)
def test_dns__what_is_no_question_is_ignored(query: bytes) -> None:
    """Too short a packet and an answer get no answer."""
    assert server().answer(query) is None


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (question("site-3.test")[:-5], 1),
        (question("site-3.test")[:15], 1),
        (struct.pack(">6H", 1, 0, 2, 0, 0, 0) + b"\0" * 20, 1),
        (question("site-3.test", flags=0x2800), 4),
        (struct.pack(">6H", 1, 0, 1, 0, 0, 0) + b"\xc0\x0c\0\1\0\1", 1),
    ],
)
def test_dns__malformed_questions_are_told_so(query: bytes, code: int) -> None:
    """A broken or unknown kind of question is answered with its error."""
    reply = server().answer(query)
    assert reply is not None
    assert reply[3] & 15 == code


def test_dns__counts_questions() -> None:
    """The number of questions is known."""
    answers = server()
    answers.answer(question("site-3.test"))
    answers.answer(question("site-4.test"))
    assert answers.questions == 2
