"""A name server of one's own, in a thread: by name and type it gives addresses, or an answer's code; what it says may
be changed while it runs, and it can be struck dumb.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

A, AAAA = 1, 28
NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3

Zone = dict[tuple[str, int], list[str] | int]


class NameServer:
    """Answers on a port of this machine."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.every = ""  # the address of every name, for one that lies
        self.dumb = False
        self.asked: list[tuple[str, int]] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.at = f"127.0.0.1:{self._socket.getsockname()[1]}"

    def serve(self) -> None:
        """Answer until the socket is closed."""
        while True:
            try:
                data, whom = self._socket.recvfrom(4096)
            except OSError:
                return
            if data and not self.dumb:
                self._socket.sendto(self.answer(data), whom)
            elif not data:
                return

    def answer(self, data: bytes) -> bytes:
        """What is said to a question."""
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        (kind,) = struct.unpack_from(">H", data, at + 1)
        name = ".".join(labels).lower()
        self.asked.append((name, kind))
        known = any(other == name for other, _ in self.zone)
        found = self.zone.get((name, kind), NOERROR if known else NXDOMAIN)
        if self.every and kind == A and name:
            found = [self.every]
        code, addresses = (found, []) if isinstance(found, int) else (NOERROR, found)
        said = struct.pack(">2s5H", data[:2], 0x8180 | code, 1, len(addresses), 0, 0) + data[12 : at + 5]
        for address in addresses:
            packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
            said += b"\xc0\x0c" + struct.pack(">HHIH", A if len(packed) == 4 else AAAA, 1, 60, len(packed)) + packed
        return said

    def stop(self) -> None:
        """Wake the thread, and end it."""
        host, _, port = self.at.partition(":")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", (host, int(port)))


@contextmanager
def name_server(zone: Zone) -> Iterator[NameServer]:
    """A name server that knows these names."""
    server = NameServer(zone)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
        server._socket.close()
