"""Compiled code that is there before it is needed. In: what is about to run. Out: a full cache.

The first use on a machine compiles for about a minute. That is done ahead, in a process of its own, so that who waits
is told, no two workers do the same, and no worker is taken for hung meanwhile. A note beside the code says for which
sources, libraries and processor the cache was filled; as long as that holds, nothing is started.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from time import perf_counter

PARTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "crawl": (50, ("weft.warming", "crawl")),
    "simulate": (40, ("weft.warming", "simulate")),
    "temporal": (45, ("weft.warming", "temporal")),
    "duplicates": (5, ("weft.warming", "duplicates")),
    "testbed": (20, ("weft.testbed.warm",)),
}
"""What can be made ready: about how many functions that are, and the module that is run for it."""

_LANES = (("crawl", "simulate"), ("temporal", "duplicates", "testbed"))
"""What is compiled at the same time: those of one lane share functions, and come one behind the other."""

_HERE = Path(__file__).parent
_EVERY = 10.0  # seconds between lines where there is no terminal


def make_ready(
    part: str,
    *,
    force: bool = False,
    say: Callable[[str, bool], None] | None = None,
    keep: Callable[[str], None] | None = None,
) -> bool:
    """Compile what a part of weft needs, unless that was done before; is it ready?

    `say` is given each line, and whether it stands for good or is to be replaced by the next; `keep` those that stand.
    """
    note, key = _note(part), _key()
    if not force and _read(note) == key:
        return True
    began = perf_counter()
    show = _Shown(say or _to_standard_error, keep)
    about, module = PARTS[part]
    command = [sys.executable, "-m", *module]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            for line in process.stdout:
                ready, compiled = map(int, line.split())
                if compiled:
                    show.progress(part, ready, about)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        return False
    show.done(part, perf_counter() - began)
    _write(note, key)
    return True


def make_all_ready(parts: Collection[str] = tuple(PARTS)) -> list[str]:
    """Look at all these parts, on two processors where there are as many; those that cannot be made ready."""

    def along(lane: tuple[str, ...]) -> list[str]:
        return [part for part in lane if part in parts and not make_ready(part, force=True)]

    with ThreadPoolExecutor(len(_LANES)) as lanes:
        return [part for failed in lanes.map(along, _LANES) for part in failed]


class _Shown:
    """What is said of compiling: nothing at all where everything is cached."""

    def __init__(self, say: Callable[[str, bool], None], keep: Callable[[str], None] | None) -> None:
        self._show = say
        self._keep = keep
        self._began = False

    def _say(self, text: str, final: bool) -> None:
        self._show(text, final)
        if final and self._keep is not None:
            self._keep(text)

    def progress(self, part: str, ready: int, about: int) -> None:
        """So many functions are there."""
        if not self._began:
            self._began = True
            text = f"weft: compiling what {part} needs for this machine, which is done once and takes about a minute"
            self._say(text, True)
        self._say(f"weft: {part}: {ready} of {max(ready, about)} functions", False)

    def done(self, part: str, seconds: float) -> None:
        """All of them."""
        if self._began:
            self._say(f"weft: {part}: compiled in {seconds:.0f} s", True)


class _Stderr:
    """Writes lines to the standard error; what is to be replaced every few seconds only where there is no terminal."""

    def __init__(self) -> None:
        self._last = 0.0
        self._one = Lock()  # parts may be compiled at the same time

    def __call__(self, text: str, final: bool) -> None:
        terminal = sys.stderr.isatty()
        with self._one:
            now = perf_counter()
            if terminal:
                sys.stderr.write(f"\r\x1b[K{text}" + ("\n" if final else ""))
            elif final or now - self._last >= _EVERY:
                sys.stderr.write(f"{text}\n")
                self._last = now
            sys.stderr.flush()


_to_standard_error = _Stderr()


def _key() -> str:
    """What compiled code depends on."""
    key = hashlib.sha256(f"{sys.version} {platform.machine()} {_processor()}".encode())
    for name in ("numba", "llvmlite", "numpy"):
        try:
            key.update(f"{name} {version(name)}".encode())
        except PackageNotFoundError:
            key.update(f"{name} unknown".encode())
    for path in sorted(_HERE.rglob("*.py")):
        stat = path.stat()
        key.update(f"{path.relative_to(_HERE)} {stat.st_size} {stat.st_mtime_ns}".encode())
    return key.hexdigest()


def _processor() -> str:
    """The model and the instructions of the processor, by which code is chosen."""
    try:
        with Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as file:
            return file.read(4096).partition("\n\n")[0].partition("model name")[2]
    except OSError:
        return platform.processor()


def _note(part: str) -> Path:
    folder = os.environ.get("NUMBA_CACHE_DIR")
    if folder is None:
        beside = _HERE / "__pycache__"
        writable = os.access(beside if beside.exists() else _HERE, os.W_OK)
        folder = str(beside) if writable else str(_own_folder())
    return Path(folder) / f"{part}.ready"


def _own_folder() -> Path:
    """A folder of the user's; where there is no home, the one of `weft.compiled` among temporary files."""
    with contextlib.suppress(RuntimeError):
        if os.access(Path.home(), os.W_OK):
            return Path.home() / ".cache" / "weft"
    return Path(tempfile.gettempdir()) / f"weft-{os.getuid()}"


def _read(note: Path) -> str:
    try:
        return note.read_text(encoding="ascii")
    except OSError:
        return ""


def _write(note: Path, key: str) -> None:
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(key, encoding="ascii")
    except OSError:
        return  # the next start looks again
