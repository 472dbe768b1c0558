"""Read by every Python that a node of a test starts: it cannot open, list or change what belongs to another node.

WEFT_TEST_CONFINED names the directories that are none of its business.
"""

from __future__ import annotations

import os
import sys

_FORBIDDEN = tuple(filter(None, os.environ.get("WEFT_TEST_CONFINED", "").split(":")))
_ABOUT_FILES = frozenset({"open", "os.listdir", "os.scandir", "os.rename", "os.remove", "os.mkdir", "os.truncate"})


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event in _ABOUT_FILES and arguments and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100  which opens nothing itself
        if f"{path}/".startswith(_FORBIDDEN):
            raise PermissionError(13, "this belongs to another node", path)


if _FORBIDDEN:
    sys.addaudithook(_refuse)
