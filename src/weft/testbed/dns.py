"""The testbed's own DNS server. In: a question. Out: an answer, over UDP or TCP on one local port.

It knows the sites' names and nothing else: A records with a TTL, NXDOMAIN with an SOA record for other
names below the testbed's top-level domain, REFUSED for the rest. Shares of the domains can fail, keep
silent, answer to every name (wildcards) or insist on TCP; sites that play a scenario may have further names, and
addresses that are dead. Written by hand from RFC 1035: one question, one
record type, no compression but of the question's own name.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import cast

import numpy as np

from weft.testbed.dice import Dice
from weft.testbed.names import Names
from weft.testbed.options import Options

_HEADER = struct.Struct(">6H")
_QUESTION = struct.Struct(">HH")
_RECORD = struct.Struct(">HHIH")
_A, _SOA, _ANY, _IN = 1, 6, 255, 1
_RESPONSE, _AUTHORITATIVE, _TRUNCATED, _RECURSION_DESIRED = 0x8000, 0x0400, 0x0200, 0x0100
_NOERROR, _FORMERR, _SERVFAIL, _NXDOMAIN, _NOTIMP, _REFUSED = range(6)
_QUESTION_NAME = b"\xc0\x0c"  # a pointer to byte 12, where the question begins


class Answers:
    """What is answered to which question; without sockets."""

    def __init__(self, names: Names, options: Options, seed: int) -> None:
        self._names = names
        self._zone = options.tld.lower()
        self._ttl = options.dns_ttl_s
        domains = np.arange(names.domains)
        self._failing = Dice(seed, "dns-failing").shares(domains) < options.dns_failing
        self._silent = Dice(seed, "dns-silent").shares(domains) < options.dns_silent
        self._truncated = Dice(seed, "dns-truncated").shares(domains) < options.dns_truncated
        self.questions = 0

    def works(self, site: int) -> bool:
        """Whether the address of a site can be found out; literals need no finding out."""
        domain = self._names.domain_number(self._names.host(site))
        return domain < 0 or not (self._failing[domain] or self._silent[domain])

    def answer(self, query: bytes, *, udp: bool = True) -> bytes | None:
        """The answer to a question; None if it is left without one."""
        self.questions += 1
        if len(query) < _HEADER.size:
            return None
        number, flags, count, *_ = _HEADER.unpack_from(query)
        if flags & _RESPONSE:
            return None
        flags = _RESPONSE | (flags & (_RECURSION_DESIRED | 0x7800))
        question = _parse_question(query) if count == 1 else None
        if question is None or flags & 0x7800:
            return _HEADER.pack(number, flags | (_FORMERR if question is None else _NOTIMP), 0, 0, 0, 0)
        name, kind, text = question
        domain = self._names.domain_number(name)
        if domain >= 0 and self._silent[domain]:
            return None
        flags, records, authority = self._decide(name, kind, domain, flags, udp=udp)
        head = _HEADER.pack(number, flags, 1, len(records), int(bool(authority)), 0)
        return head + text + b"".join(records) + authority

    def _decide(self, name: str, kind: int, domain: int, flags: int, *, udp: bool) -> tuple[int, list[bytes], bytes]:
        """Flags, the records that answer, and the one that tells who says no."""
        if name != self._zone and not name.endswith("." + self._zone):
            return flags | _REFUSED, [], b""
        flags |= _AUTHORITATIVE
        if domain >= 0 and self._failing[domain]:
            return flags | _SERVFAIL, [], b""
        if udp and domain >= 0 and self._truncated[domain]:
            return flags | _TRUNCATED, [], b""
        site = self._names.site_of(name.encode("latin-1"))
        if site >= 0 and kind in {_A, _ANY}:
            record = _QUESTION_NAME + _RECORD.pack(_A, _IN, self._ttl, 4)
            addresses = self._names.addresses_of(site, name.encode("latin-1"))
            return flags, [record + socket.inet_aton(address) for address in addresses], b""
        # A domain exists when there are sites below it, even if it has no address of its own.
        exists = site >= 0 or name == self._zone or (domain >= 0 and name.count(".") == 1)
        return flags | (_NOERROR if exists else _NXDOMAIN), [], self._start_of_authority()

    def _start_of_authority(self) -> bytes:
        """The record that says how long a "no" may be kept."""
        zone = b"".join(bytes([len(label)]) + label.encode() for label in self._zone.split(".")) + b"\0"
        text = zone + b"\x05admin" + zone + struct.pack(">5I", 1, 3600, 600, 86_400, self._ttl)
        return zone + _RECORD.pack(_SOA, _IN, self._ttl, len(text)) + text


def _parse_question(query: bytes) -> tuple[str, int, bytes] | None:
    """Name in lower case, type, and the question's own bytes; None if it is malformed."""
    at = _HEADER.size
    labels = []
    while at < len(query) and query[at]:
        length = query[at]
        if length > 63 or at + 1 + length > len(query):
            return None
        labels.append(query[at + 1 : at + 1 + length].decode("latin-1").lower())
        at += 1 + length
    if at + 1 + _QUESTION.size > len(query):
        return None
    kind, _ = _QUESTION.unpack_from(query, at + 1)
    return ".".join(labels), kind, query[_HEADER.size : at + 1 + _QUESTION.size]


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._answers.answer(data)
        if reply is not None and self._transport is not None:
            self._transport.sendto(reply, addr)


class _Stream(asyncio.Protocol):
    """Questions over TCP: each one after its length in two bytes."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._data = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while len(self._data) >= 2:
            end = 2 + int.from_bytes(self._data[:2], "big")
            if len(self._data) < end or self._transport is None:
                return
            reply = self._answers.answer(self._data[2:end], udp=False)
            self._data = self._data[end:]
            if reply is not None:
                self._transport.write(len(reply).to_bytes(2, "big") + reply)


async def start_dns(answers: Answers, udp: socket.socket, tcp: socket.socket) -> None:
    """Answer on two bound sockets until the loop ends."""
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: _Datagrams(answers), sock=udp)
    await loop.create_server(lambda: _Stream(answers), sock=tcp)
