"""A line to a database that can be cut, as a network does it: whoever uses it hears nothing, and is not told either."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from tests.database import Database


class Line:
    """A port of this machine behind which a database is; made in a thread of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._whole = asyncio.Event()
        self._connections: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._port = 0
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="line", daemon=True)
        self._thread.start()
        ready.wait()

    def __repr__(self) -> str:
        return f"Line({self._port}, {'whole' if self._whole.is_set() else 'cut'})"

    def address(self, of: str) -> str:
        """An address of the database, by this line."""
        parts = urlsplit(of)
        schema = parse_qs(parts.query)["schema"][0]
        return f"postgresql://{parts.username}@127.0.0.1:{self._port}{parts.path}?schema={schema}&sslmode=disable"

    def cut(self) -> None:
        """Let nothing through, and say nothing."""
        self._loop.call_soon_threadsafe(self._whole.clear)

    def mend(self) -> None:
        """Let everything through again; connections that were open are dead, as they are behind a long silence."""
        self._loop.call_soon_threadsafe(self._mend)

    def close(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self._port = int(server.sockets[0].getsockname()[1])
        self._whole.set()
        ready.set()
        self._loop.run_forever()
        self._mend()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        server.close()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _mend(self) -> None:
        for writer in self._connections:
            writer.transport.abort()
        self._connections.clear()
        self._whole.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            await self._whole.wait()
            there, back = await asyncio.open_unix_connection(str(self._database.folder / ".s.PGSQL.5432"))
            self._connections.add(back)
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        except OSError:
            return  # the database is away: so is whoever is connected to it
        finally:
            self._connections.discard(writer)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                await self._whole.wait()
                writer.write(data)
                await writer.drain()
        finally:
            self._connections.discard(writer)
            writer.transport.abort()


@contextmanager
def lines(database: Database, count: int) -> Iterator[list[Line]]:
    """So many lines."""
    made = [Line(database) for _ in range(count)]
    try:
        yield made
    finally:
        for line in made:
            line.close()
