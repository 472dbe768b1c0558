"""A testbed in a child process, for tests and benchmarks. In: a web. Out: ports, addresses, and the servers' log.

    with serving(web) as bed:
        crawl(bed.seeds())
        for entry in bed.log(): ...

The child leads a process group of its own and ends with its parent, whatever ends that (PDEATHSIG, and the
end of the pipe between them). PDEATHSIG looks at the thread that started the child: call `serving` from one
that lasts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from weft.errors import WeftError
from weft.graph import Graph
from weft.graph.changing import Changes
from weft.graph.changing.files import arrays_of, world_from
from weft.processes import die_with_parent
from weft.testbed.log import Entry, LogReader
from weft.testbed.options import Options
from weft.testbed.serve import ServerSettings, Status, serve
from weft.testbed.web import Web

_STOP_S = 10.0


class Bed:
    """A running testbed in a child process; who opened it by `serving` owns it, and it ends with the block."""

    def __init__(
        self, process: subprocess.Popen[bytes], web: Web, settings: ServerSettings, told: dict[str, Any]
    ) -> None:
        self._process = process
        self.web = web
        """The web as it is served: with the ports in its addresses."""
        self.port = web.port
        self.tls_port = web.tls_port
        self.dns_port = int(told["dns_port"])
        self.proxy_port = told["proxy_port"]
        assert settings.log is not None, "`serving` names a file"
        self.log_file = settings.log
        self._log = LogReader(settings.log)
        self.ca_file = settings.ca_out

    def __repr__(self) -> str:
        return f"Bed(pid={self.pid}, port={self.port}, tls_port={self.tls_port}, dns_port={self.dns_port})"

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    @property
    def dns(self) -> str:
        """Address and port of the DNS server."""
        return f"127.0.0.1:{self.dns_port}"

    def url(self, page: int) -> str:
        """The address of a page."""
        return self.web.url(page)

    def seeds(self) -> list[str]:
        """The addresses a crawl starts from."""
        return self.web.seeds()

    def log(self) -> list[Entry]:
        """Everything the servers have answered so far."""
        self._ask()
        return self._log.entries()

    def dns_questions(self) -> int:
        """How often the DNS server has been asked."""
        return int(self._ask()["dns_questions"])

    def web_time(self) -> float:
        """Of a web that changes: its time, in seconds from its start."""
        return float(self._ask()["web_time"])

    def _ask(self) -> dict[str, Any]:
        """Have the server write its log out and say how it is."""
        stdin = _pipe(self._process.stdin)
        stdin.write(b"?\n")
        stdin.flush()
        return _hear(self._process)

    def cpu_s(self) -> float:
        """Processor time that the server has used (user and system; its first process)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(web: Web, settings: ServerSettings | None = None) -> Iterator[Bed]:
    """Serve a web in a child process while the block runs; log and CA certificate go to files that are removed."""
    with tempfile.TemporaryDirectory(prefix="weft-testbed-") as name:
        settings = settings or ServerSettings()
        if settings.log is None:
            settings = dataclasses.replace(settings, log=Path(name) / "requests.tsv")
        if settings.tls and settings.ca_out is None:
            settings = dataclasses.replace(settings, ca_out=Path(name) / "ca.pem")
        process = subprocess.Popen(
            [sys.executable, "-m", "weft.testbed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended: what it said tells why
                _send_web(process, web, settings)
            told = _hear(process)
            placed = web.at(told["port"], told["tls_port"])
            yield Bed(process, placed, settings, told)
        finally:
            _stop(process)


def child_main() -> None:
    """What the child process runs: read a web from the standard input, serve it, tell where it is."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    told = json.loads(stdin.readline())
    die_with_parent(told["parent"], signal.SIGTERM)
    arrays = {
        name: np.frombuffer(stdin.read(length * np.dtype(kind).itemsize), dtype=kind)
        for name, kind, length in told["arrays"]
    }
    graph = Graph(**{field.name: arrays.pop(field.name) for field in dataclasses.fields(Graph)})
    world = world_from(graph, msgspec.convert(told["changes"], Changes), told["world_seed"], arrays) if arrays else None
    web = Web(world or graph, msgspec.convert(told["options"], Options), told["seed"])
    settings = msgspec.convert(told["settings"], ServerSettings, dec_hook=lambda kind, text: kind(text))

    def ready(status: Status) -> None:
        web_ports = {"port": status.web.port, "tls_port": status.web.tls_port}
        ports = {**web_ports, "dns_port": status.dns_port, "proxy_port": status.proxy_port}
        more = {"dns_questions": status.dns_questions, "web_time": status.web_time}
        stdout.write(json.dumps({**ports, **more}).encode() + b"\n")
        stdout.flush()

    try:
        serve(web, settings, ready, control=stdin.fileno())
    except WeftError as error:
        stdout.write(json.dumps({"what": error.what, "where": error.where, "todo": error.todo}).encode() + b"\n")
        stdout.flush()
        raise SystemExit(error.exit_code) from None


def _send_web(process: subprocess.Popen[bytes], web: Web, settings: ServerSettings) -> None:
    stdin = _pipe(process.stdin)
    arrays = {field.name: getattr(web.graph, field.name) for field in dataclasses.fields(Graph)}
    if web.world is not None:
        arrays |= arrays_of(web.world)
    head = {
        "parent": os.getpid(),
        "seed": web.seed,
        "options": web.options,
        "changes": None if web.world is None else web.world.changes,
        "world_seed": None if web.world is None else web.world.seed,
        "settings": settings,
        "arrays": [(name, array.dtype.str, len(array)) for name, array in arrays.items()],
    }
    stdin.write(msgspec.json.encode(head, enc_hook=str) + b"\n")
    for array in arrays.values():
        stdin.write(np.ascontiguousarray(array).data)
    stdin.flush()


def _hear(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """One line from the child, which is a message or an error."""
    line = _pipe(process.stdout).readline()
    if not line:
        raise WeftError("the testbed's server process ended unexpectedly", todo="see what it printed above")
    told: dict[str, Any] = json.loads(line)
    if "what" in told:
        raise WeftError(told["what"], where=told["where"], todo=told["todo"])
    return told


def _stop(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        _pipe(process.stdin).close()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _pipe(process.stdout).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
