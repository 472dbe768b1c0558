"""Who makes inputs. In: a target and its guard. Out: it has been given inputs for so long, or so many.

`grammar` makes what is nearly right, by hypothesis. `atheris` changes bytes of real inputs, and goes on from those that
reach other lines; where it is not installed, `mutation` changes them at random. `input` tries one file.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from tests.fuzz.mutation import inputs as mutated
from tests.fuzz.mutation import shrunk
from tests.fuzz.target import Target

ATHERIS = importlib.util.find_spec("atheris") is not None
# Code that is compiled must stay as it is, and so must what is not ours.
_INSTRUMENTED = ["weft.urls", "weft.parse", "weft.fetch.headers", "weft.fetch.cookies", "weft.text"]
_COMPILED = ["weft.parse.tokens", "weft.parse.globs", "weft.parse.robots_table", "weft.text.simhash", "weft.compiled"]
_AT_ONCE = 100  # examples of a grammar
_FIRST = 16_384  # bytes of what atheris begins with: it slows down what it looks at


class Tried(Protocol):
    """A guard: an input may be given to it, and it counts them."""

    tried: int

    def __call__(self, data: bytes) -> None:
        """Try one; what goes wrong with it is raised."""
        ...

    def last(self) -> bytes:
        """The input that was tried last, by whichever process."""
        ...


def by_grammar(
    target: Target,
    guard: Tried,
    _corpus: list[bytes],
    *,
    seconds: float | None,
    inputs: int | None,
    chance: random.Random,
) -> None:
    """Inputs that are nearly right; hypothesis makes one that fails as small as it can."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    until = time.monotonic() + seconds if seconds is not None else None
    while guard.tried < (inputs or sys.maxsize) and (until is None or time.monotonic() < until):
        most = min(_AT_ONCE, inputs - guard.tried) if inputs else _AT_ONCE
        once = settings(
            max_examples=most,
            database=None,
            deadline=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
        )
        seed(chance.getrandbits(64))(once(given(target.grammar())(guard.__call__)))()


def by_mutation(
    target: Target,
    guard: Tried,
    corpus: list[bytes],
    *,
    seconds: float | None,
    inputs: int | None,
    chance: random.Random,
) -> None:
    """Inputs that chance makes of others."""
    until = time.monotonic() + seconds if seconds is not None else None
    for data in islice(mutated(corpus, target.words, chance, target.largest), inputs):
        if until is not None and time.monotonic() > until:
            return
        try:
            guard(data)
        except Exception:
            guard(shrunk(lambda each: _fails(guard, each), data))
            raise


def _fails(guard: Tried, data: bytes) -> bool:
    try:
        guard(data)
    except Exception:  # noqa: BLE001  any
        return True
    return False


def by_atheris(
    target: Target,
    guard: Tried,
    corpus: list[bytes],
    *,
    seconds: float | None,
    inputs: int | None,
    chance: random.Random,
) -> None:
    """Inputs that libFuzzer makes of others, and goes on from where they reach other lines."""
    atheris: Any = importlib.import_module("atheris")
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as room:
        folder = Path(room) / "corpus"
        folder.mkdir()
        for number, data in enumerate(corpus):
            (folder / str(number)).write_bytes(data[: min(target.largest, _FIRST)])
        words = Path(room) / "words"
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))
        options = [
            f"-max_len={target.largest}",
            f"-seed={chance.getrandbits(31)}",
            f"-artifact_prefix={room}/",
            f"-dict={words}",
            "-timeout=3600",  # the guard sees to time and memory; 0 would be none at all
            "-rss_limit_mb=0",
            "-verbosity=0",
            "-len_control=20",
        ]
        until = time.monotonic() + seconds if seconds is not None else math.inf

        def try_one(data: bytes) -> None:
            guard(data)
            if guard.tried >= (inputs or sys.maxsize) or time.monotonic() > until:
                os._exit(0)

        process = os.fork()  # libFuzzer ends its process, whatever it comes to
        if process == 0:
            atheris.Setup([sys.argv[0], *options, str(folder)], try_one, enable_python_coverage=True)
            atheris.Fuzz()
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if code > 0:  # it has told why
            guard(shrunk(lambda data: _fails(guard, data), guard.last()))
        if code:
            raise RuntimeError(f"atheris ended with {code}")


def _escaped(word: bytes) -> str:
    """As libFuzzer's dictionaries have it."""
    return "".join(f"\\x{octet:02x}" for octet in word)


def by_input(target: Target, guard: Tried, _corpus: list[bytes], **_options: object) -> None:
    """One file, by its name in the environment."""
    del target
    guard(Path(os.environ["WEFT_FUZZ_INPUT"]).read_bytes())


@contextlib.contextmanager
def instrumented(engine: str) -> Iterator[None]:
    """What is imported here tells atheris which lines are reached, where that asks for it."""
    if engine != "atheris":
        yield
        return
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=_INSTRUMENTED, exclude=_COMPILED):
        yield


ENGINES: dict[str, Callable[..., None]] = {
    "grammar": by_grammar,
    "mutation": by_mutation,
    "atheris": by_atheris,
    "input": by_input,
}
