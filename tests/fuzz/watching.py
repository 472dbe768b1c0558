"""Runs targets in processes of their own. In: a target and how long. Out: how many inputs it was given, or the file
with the one that it failed on.

Compiled code is compiled anew for these processes, with checks of its bounds, and kept apart from the usual one: the
cache does not tell the two from each other.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.child import last_input
from tests.fuzz.corpora import DATA
from tests.fuzz.engines import ATHERIS

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / ".fuzz"
"""Where inputs that failed are kept, and compiled code."""
BYTES = "atheris" if ATHERIS else "mutation"
_PATIENCE = 900.0  # seconds by the clock, beside those that were asked for: to compile, and on a machine that is busy
_SAID = 4_000  # characters of what a process said that are shown


class Result(NamedTuple):
    """What came of an engine's inputs."""

    target: str
    engine: str
    tried: int
    failed: str = ""  # how, with what to do next; nothing: it did not
    said: str = ""  # by the process

    def __str__(self) -> str:
        return f"{self.target} by {self.engine}: {self.tried:,} inputs" + (f"; {self.failed}" if self.failed else "")


def run(
    target: str,
    engine: str,
    *,
    seconds: float | None = None,
    inputs: int | None = None,
    seed: int = 0,
    data: Path = DATA,
    own: Path = OWN,
    single: Path | None = None,
    further: tuple[str, ...] = (),
) -> Result:
    """Run one engine on a target."""
    (own / "compiled").mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(own / "compiled"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "WEFT_FUZZ_INPUT": str(single or ""),
    }
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as room:
        state, failing = Path(room) / "state", Path(room) / "failing"
        state.touch()
        command = [sys.executable, "-m", "tests.fuzz.child", target, engine, str(state), str(failing), str(data)]
        command += [f"--seed={seed}", *further]
        command += [f"--seconds={seconds}"] if seconds is not None else []
        command += [f"--inputs={inputs}"] if inputs is not None else []
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=room,
                check=False,
                text=True,
                errors="replace",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=(seconds or 0) + _PATIENCE,
            )
            code, said = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            code, said = -signal.SIGKILL, str(error.stdout or "")
        tried, last = last_input(state)
        if code == 0:
            return Result(target, engine, tried, said=said)
        found = failing.read_bytes() if failing.exists() else last if tried else None
    return Result(target, engine, tried, _told(target, code, found, own), said[-_SAID:])


def _told(target: str, code: int, found: bytes | None, own: Path) -> str:
    """How it failed; the input is kept."""
    how = "failed"
    if code < 0:
        ended = signal.Signals(-code).name
        how = {"SIGPROF": "took too much processor time", "SIGKILL": "hung"}.get(ended, f"was ended by {ended}")
    if found is None:
        return f"{how} before its first input"
    path = own / f"{target}-{hashlib.sha1(found, usedforsecurity=False).hexdigest()[:12]}"
    path.write_bytes(found)
    return f"{how} on {len(found):,} bytes, kept as {path}: python -m tests.fuzz {target} --input {path}"
