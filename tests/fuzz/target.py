"""What is fuzzed. In: the name of a target. Out: a check, and what inputs for it look like."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

NAMES = ("urls", "robots", "headers", "html", "charset", "sitemap", "codings", "texts")
"""The targets: each is a module of this folder with a `TARGET`."""


class Target(NamedTuple):
    """One room that reads what others wrote."""

    check: Callable[[bytes], None]
    """Give an input to it, and assert what must hold of the answer whatever the input is. It raises nothing else."""
    own: tuple[bytes, ...]
    """Inputs of our own making, for where there are no others."""
    real: Callable[[Path], list[bytes]]
    """Inputs out of the folder of real data, as far as they are there."""
    words: tuple[bytes, ...]
    """What means something in such inputs."""
    grammar: Callable[[], SearchStrategy[bytes]]
    """Inputs that are nearly right, by hypothesis."""
    largest: int = 65_536
    """Bytes of an input."""
    memory: int = 256
    """Megabytes by which the process may grow, over all inputs."""


def load(name: str) -> Target:
    """A target by its name; what it checks is imported then, and not before."""
    found: Target = importlib.import_module(f"tests.fuzz.{name}").TARGET
    return found


def words(written: str) -> tuple[bytes, ...]:
    r"""Words that are written with blanks between them; bytes that cannot stand there as in a literal.

    >>> words(r"a \x20 \xe4\n")
    (b'a', b' ', b'\xe4\n')
    """
    return tuple(each.encode("ascii").decode("unicode_escape").encode("latin-1") for each in written.split())


def texts(written: str) -> tuple[str, ...]:
    """The same as texts, of bytes in UTF-8."""
    return tuple(each.decode("utf-8", "surrogatepass") for each in words(written))
