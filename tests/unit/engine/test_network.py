"""The live network: what it does before anything is sent."""

from __future__ import annotations

import asyncio
import random
import socket

from weft.clock import VirtualClock
from weft.engine.network import LiveNetwork
from weft.fetch.dns import Resolver
from weft.fetch.options import Fetching, Naming
from weft.fetch.transport import Connection, Request, Transport
from weft.model import Page


class SleepyClock(VirtualClock):
    """The clock of a machine that sleeps: the monotonic one stands still meanwhile."""

    slept = 0.0

    def elapsed(self) -> float:
        """With the time that the machine slept."""
        return self.now() + self.slept


def test_fetch__sends_nothing_behind_the_lease() -> None:
    """Whoever was frozen, or slept with the machine, since it last looked: somebody else may visit the site by now."""

    async def look() -> tuple[Page | None, int]:
        clock, loop = SleepyClock(), asyncio.get_running_loop()
        transport, resolver = Transport(loop, clock, Fetching()), Resolver(loop, clock, Naming())
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.setblocking(False)
            network = LiveNetwork(transport, resolver, Fetching(), random.Random(1), clock)
            port = server.getsockname()[1]
            network.lease = 30.0
            clock.slept = 31.0
            request = Request(f"http://127.0.0.1:{port}/", "/", ["Host: 127.0.0.1"], 1000, None, last=True)
            connection = Connection("127.0.0.1", port, "127.0.0.1", verify=False, answered=None)
            answers: list[Page | None] = []
            network.fetch(connection, request).start(answers.append)
            network.close(connection)
            try:
                server.accept()
                knocked = 1
            except BlockingIOError:
                knocked = 0
        transport.stop()
        await resolver.stop()
        return answers[0], knocked

    assert asyncio.run(look()) == (None, 0)
