"""A worker that kills itself at a chosen point: `python -m tests.doomed POINT CALL WHEN DIRECTORY NUMBER PARENT`.

POINT names a function (`module:Class.method`), CALL says at which of its calls, WHEN is `before`, `after` or `half`:
of what is written to a file, half.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from functools import reduce
from typing import Any

from weft import work


def doom(point: str, call: int, when: str) -> None:
    """Have the process die at a point."""
    module, _, path = point.partition(":")
    *owners, name = path.split(".")
    owner: Any = reduce(getattr, owners, importlib.import_module(module))
    original = getattr(owner, name)
    calls = 0

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and when == "before":
            _die()
        if calls == call and when == "half":
            file, data = args
            os.write(file, data[: len(data) // 2])
            _die()
        result = original(*args, **kwargs)
        if calls == call:
            _die()
        return result

    setattr(owner, name, dying)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    point, call, when, *rest = sys.argv[1:]
    doom(point, int(call), when)
    sys.exit(work.main(rest))
