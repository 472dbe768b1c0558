"""Settings as data: typed, documented where they are defined, refused when unknown.

A section is a frozen dataclass beside the code that reads it; each field is made by `setting(default, doc)`. The
same fields become the flags of `weft crawl`, the keys of the settings file and the reference page. Nothing reads a
setting by a string.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, kw_only=True)
... class Tea:
...     minutes: float = setting(3.0, "how long it draws")
>>> describe(Tea)
[Field(name='minutes', kind='float', default=3.0, doc='how long it draws')]
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from weft.errors import UsageError

T = TypeVar("T")


class Field(NamedTuple):
    """One setting as the reference page and the command line show it."""

    name: str
    kind: Any
    default: Any
    doc: str


def setting(default: T, doc: str) -> T:
    """A documented field of a settings section."""
    made: T = dataclasses.field(default=default, metadata={"doc": doc})
    return made


def describe(section: type) -> list[Field]:
    """The settings of a section, in the order they were written."""
    return [
        Field(field.name, field.type, field.default, field.metadata.get("doc", ""))
        for field in dataclasses.fields(section)
    ]


def load_toml(path: Path) -> dict[str, Any]:
    """Read a settings file, or say what is wrong with it."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the settings file: {error}", where=str(path)) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the settings file is not valid TOML: {error}", where=str(path)) from error


def build(section: type[T], values: dict[str, Any], *, where: str, key: str = "") -> T:
    """Make a section from plain values; an unknown name or a wrong type is refused by name."""
    known = [field.name for field in dataclasses.fields(section)]  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            todo = f"did you mean '{close[0]}'?" if close else f"known here: {', '.join(known)}"
            raise UsageError(f"unknown setting '{key}{name}'", where=where, todo=todo)
    try:
        return msgspec.convert(values, section, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(f"wrong value for a setting under '{key}': {error}", where=where) from error
