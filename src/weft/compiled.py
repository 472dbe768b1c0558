"""The one door to numba. In: plain functions over arrays. Out: the same functions, compiled and cached on disk.

Importing numba takes half a second, and compiling the frontier's core some ten; `weft doctor --warm` (run by `make
setup`) fills the cache, so that a crawl only loads it. mypy sees the plain Python function.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile on first call for the types it is given, and keep the result on disk."""
    return cast("Function", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def reserve(length: int, dtype: type[np.generic] | np.dtype[Any]) -> NDArray[Any]:
    """An array of zeros that takes address space now and memory only where it is written.

    An array that must grow to tens of millions of entries grows in place, without the copy (and the peak of memory)
    that a reallocation costs.
    """
    kind = np.dtype(dtype)
    no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000)  # named by Python 3.12 and later only; the number is Linux's
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
    room = mmap.mmap(-1, max(1, length) * kind.itemsize, flags=flags)
    return np.frombuffer(room, dtype=kind, count=length)
