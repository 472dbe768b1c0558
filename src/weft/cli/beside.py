"""The console that `weft crawl --console` brings with it. In: a crawl that is about to run. Out: a process that shows
it in a browser, and ends with the command.

It is a process of its own: whatever it does costs the crawl nothing but its share of the processor, and when it fails
that is told and the crawl goes on. Its link is shown and never kept: `log/messages.log` has no token.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from weft.clock import SystemClock
from weft.engine.messages import Ear
from weft.errors import UsageError, WeftError
from weft.operations.options import Place
from weft.processes import die_with_parent

ADDRESS, PORT = "127.0.0.1", 8737
_PATIENCE = 5.0  # seconds for it to end


class Beside:
    """The console beside a crawl; the command owns it. It begins when the crawl has something to show."""

    def __init__(self, crawl: Path, say: Callable[[str], None], *, wanted: bool) -> None:
        if wanted and any(find_spec(name) is None for name in ("starlette", "jinja2", "uvicorn")):
            raise UsageError("the console needs Starlette, Jinja and uvicorn", todo="pip install 'weft[console]'")
        self._crawl = crawl
        self._say = say
        self._wanted = wanted
        self._process: subprocess.Popen[bytes] | None = None
        self._ear: Ear | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        process, ear = self._process, self._ear
        if process is None or ear is None:
            return
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        ear.close()

    def look(self) -> None:
        """Start it, or hear what it says: to be called now and then while the crawl runs."""
        if self._wanted:
            self._wanted = False
            command = [sys.executable, "-m", "weft.cli.beside", str(self._crawl), str(os.getpid())]
            # A session of its own: Ctrl-C is for the crawl.
            self._process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
            )
            self._ear = Ear(self._process.stdout, self._say)
        elif self._process is not None and self._ear is not None:
            gone = self._process.poll() is not None
            self._ear.listen()
            if gone:
                self._ear.close()
                self._process = None
                self._say("weft: the console has ended, the crawl goes on; weft console shows it again")


def free_place(port: int = PORT) -> Place:
    """Where the console is served: at its usual port, or at any where another console has that."""
    with suppress(OSError), socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return Place(ADDRESS, port if tried.connect_ex((ADDRESS, port)) == errno.ECONNREFUSED else 0)
    return Place(ADDRESS, 0)


def main(crawl: str, parent: int) -> int:
    """Serve a crawl until the process that runs it ends."""
    from weft.console.serving import Server, Wanted

    die_with_parent(parent)
    try:
        server = Server(crawl, Wanted(place=free_place()), SystemClock(), _say)
        _say(f"the console is at {server.link}")
        _say("this link is good for one browser; the console ends with this command")
        server.run()
    except WeftError as error:
        _say(f"no console: {error}")
        return 1
    return 0


def _say(text: str) -> None:
    print(f"weft: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
