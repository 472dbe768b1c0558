"""The one door to numba. In: plain functions over arrays. Out: the same functions, compiled and cached on disk.

Importing numba takes half a second, and compiling the frontier's core some ten; `weft doctor --warm` (run by `make
setup`) fills the cache, so that a crawl only loads it. mypy sees the plain Python function.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import mmap
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numba
import numpy as np
from llvmlite.binding import add_symbol  # type: ignore[import-untyped]
from numba import carray  # type: ignore[attr-defined]
from numba.core import cgutils, config, types
from numba.core.runtime._nrt_python import c_helpers  # type: ignore[import-not-found]
from numba.extending import intrinsic
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = config
_njit: Any = numba.njit  # its types know nothing of `_nrt`, which is the switch for counted arrays


def compiled(function: Function) -> Function:
    """Compile on first call for the types it is given, and keep the result on disk."""
    return _compiled(function, _nrt=True)


def uncounted(function: Function) -> Function:
    """The same for a function that makes no arrays: who uses those it is given is not counted, call by call."""
    return _compiled(function, _nrt=False)


def _compiled(function: Function, **options: bool) -> Function:
    compile_cached = _njit(cache=True, nogil=True, error_model="numpy", **options)
    try:
        dispatcher: Any = compile_cached(function)
    except RuntimeError:  # neither the folder of the code nor one in the user's home can be written
        _config.CACHE_DIR = str(_spare_folder())
        dispatcher = compile_cached(function)
    with contextlib.suppress(AttributeError):  # where a later numba keeps its files differently
        cache: Any = dispatcher._cache  # noqa: SLF001
        file = cache._cache_file  # noqa: SLF001
        file._load_index = _tolerant(file._load_index)  # noqa: SLF001
        file._source_stamp = (file._source_stamp, *sorted(_stamps(function).items()))  # noqa: SLF001
        name = f"{function.__module__}.{function.__qualname__}"
        cache.load_overload = partial(_load, cache, name, cache._load_overload)  # noqa: SLF001
    return cast("Function", dispatcher)


def _spare_folder() -> Path:
    """Where compiled code is kept if there is no better place: a folder for temporary files that nobody else can write.

    What is loaded from there is run: a folder that somebody else made is not used.
    """
    folder = Path(tempfile.gettempdir()) / f"weft-{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return folder
    raise RuntimeError(
        f"there is no folder to keep compiled code in, and {folder} is none of ours: "
        "set NUMBA_CACHE_DIR to one that you can write"
    )


class AddressSpaceError(MemoryError):
    """The process may not reserve as much address space as its arrays could need."""


class Loading:
    """Which functions were loaded so far, and how many of them were not cached."""

    def __init__(self) -> None:
        self.loaded: set[str] = set()
        self.compiled = 0
        self.listener: Callable[[], None] = lambda: None
        self.missing: Callable[[str], None] = lambda _: None
        """Is told the name of each function that is not cached, before it is compiled."""


loading = Loading()


def tell_loading() -> None:
    """Print from now on how many functions are ready, and how many of them had to be compiled."""

    def tell() -> None:
        print(len(loading.loaded), loading.compiled, flush=True)

    loading.listener = tell


@functools.cache
def give_back_compiler() -> None:
    """Give back the memory in which LLVM's own code lies, now that functions are loaded: 35 MB that nobody reads.

    Done once. It is a part of a file, unchanged, and read again if something must be compiled after all.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        place, rights, *_, name = line.split(maxsplit=5)
        if rights == "r-xp" and "libllvmlite" in name:
            first, last = (int(each, 16) for each in place.split("-"))
            libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), 4)  # MADV_DONTNEED


def _load(cache: Any, name: str, load: Callable[[Any, Any], Any], signature: Any, target: Any) -> Any:
    """Load a function from the cache, or nothing if it is not there.

    numba readies its whole compiler first, 0.2 s and 17 MB; what is loaded needs no more than the names of the runtime.
    Where something must be compiled the compiler sees to itself.
    """
    _name_runtime()
    with cache._guard_against_spurious_io_errors():  # noqa: SLF001
        found = load(signature, target)
        loading.loaded.add(name)
        if found is None:
            loading.compiled += 1
            loading.missing(name)
        loading.listener()
        return found


@functools.cache
def _name_runtime() -> None:
    """Tell LLVM where the functions of numba's runtime are, as numba does when it readies its compiler."""
    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _stamps(function: Callable[..., Any]) -> dict[str, Any]:
    """When the files were changed whose functions this one may have made its own; numba asks for its file alone."""
    package = __name__.partition(".")[0] + "."
    own = function.__module__
    stamps: dict[str, Any] = {}
    for value in function.__globals__.values():
        module = getattr(value, "__module__", None)
        if isinstance(module, str) and module.startswith(package) and module not in (own, __name__):
            cache = getattr(getattr(value, "_cache", None), "_cache_file", None)
            if cache is not None:
                stamps[f"{module}.{value.__name__}"] = cache._source_stamp  # noqa: SLF001
            elif (path := getattr(sys.modules.get(module), "__file__", None)) is not None:
                stamps[module] = Path(path).stat().st_mtime_ns
                stamps |= _stamps(value.py_func) if hasattr(value, "py_func") else {}
    return stamps


def inlined(function: Function) -> Function:
    """Compile as a part of whatever calls it: for the smallest functions in the hottest loops.

    A tuple of arrays is handed over by value, a hundred words of it, at every call that remains one. Like `uncounted`
    it makes no arrays.
    """
    dispatcher: Any = _njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function)
    return cast("Function", dispatcher)


def _tolerant(load: Callable[[], dict[Any, Any]]) -> Callable[[], dict[Any, Any]]:
    """What an older weft left in the cache may name classes that are no more: then nothing is cached."""

    def load_index() -> dict[Any, Any]:
        try:
            return load()
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            return {}

    return load_index


# What calling a compiled function costs is mostly the unpacking of the arrays it is given, some 300 ns each. A function
# that is called for every page is given an address instead, where the addresses and lengths of its arrays stand. The
# arrays are the fields of a named tuple; `table_of` writes the table, and the function made by `binder` reads it.


def table_of(arrays: tuple[Any, ...]) -> NDArray[np.int64]:
    """Addresses and lengths of arrays one after the other, single numbers as they are with 0 behind, the fields of a
    tuple in a tuple in its place; keep it, and them, as long as its address is in use.

    A field of a named tuple that is not as its annotation says is a TypeError.
    """
    if hasattr(arrays, "_fields"):
        for name, field in _fields_of(type(arrays)).items():
            _check(f"{type(arrays).__name__}.{name}", getattr(arrays, name), field)
    pairs: list[Any] = []
    for each in arrays:
        if isinstance(each, tuple):
            pairs += table_of(each).reshape(-1, 2).tolist()
        else:
            pairs.append((each.ctypes.data, each.size) if isinstance(each, np.ndarray) else (int(each), 0))
    return np.array(pairs, dtype=np.int64).reshape(-1)


def address_of(table: NDArray[np.int64]) -> int:
    """What a compiled function is given to find its arrays."""
    return int(table.ctypes.data)


def _cast(_context: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


_pointer: Any = intrinsic(_cast)


@compiled
def array_at(table: NDArray[np.int64], place: int, dtype: type[np.generic]) -> NDArray[Any]:
    """The array at a place of a table."""
    return carray(_pointer(table[2 * place]), (table[2 * place + 1],), dtype=dtype)


@compiled
def table_at(address: int, places: int) -> NDArray[np.int64]:
    """The table at an address."""
    return carray(_pointer(address), (2 * places,), dtype=np.int64)


Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


def binder(form: type[Arrays]) -> Callable[[int], Arrays]:
    """A compiled function that takes the address of a table and returns the named tuple of this form whose table that
    is. Which array stands where, and of what it is, comes from the annotations of the type alone.

    It is to be called once, in the module of the type: numba keeps what is compiled beside that module's file.
    """
    names: dict[str, Any] = {"array_at": array_at, "table_at": table_at}
    places = itertools.count()
    written = _written(form, places, names)
    name = f"{form.__name__.lower()}_at"
    source = f"def {name}(address):\n    table = table_at(address, {next(places)})\n    return {written}\n"
    function: Callable[[int], Arrays] = generated(name, source, names, form.__module__)
    return compiled(function)


def generated(name: str, source: str, names: dict[str, Any], module: str) -> Any:
    """A function out of source that weft has written, as if it stood in a module's file: there numba keeps it when it
    is compiled, and that file's changes have it compiled anew. `names` are those that the source uses.
    """
    names["__name__"] = module
    exec(compile(source, str(sys.modules[module].__file__), "exec"), names)  # noqa: S102
    return names[name]


def _written(form: type[tuple[Any, ...]], places: Iterator[int], names: dict[str, Any]) -> str:
    """What makes such a tuple from a table, as Python; the types that it names go into `names`."""
    names[form.__name__] = form
    parts = []
    for field in _fields_of(form).values():
        if hasattr(field, "_fields"):
            parts.append(_written(field, places, names))
        elif issubclass(field, np.generic):
            names[field.__name__] = field
            parts.append(f"array_at(table, {next(places)}, {field.__name__})")
        else:
            parts.append(f"table[{2 * next(places)}]" + (" != 0" if field is bool else ""))
    return f"{form.__name__}({', '.join(parts)})"


@functools.cache
def _fields_of(form: type[tuple[Any, ...]]) -> dict[str, type]:
    """For each field what it is: int, bool, another named tuple, or what its array is an array of."""
    found: dict[str, type] = {}
    for name, hint in get_type_hints(form).items():
        if get_origin(hint) is np.ndarray:
            found[name] = get_args(get_args(hint)[1])[0]
        elif hint in (int, bool) or hasattr(hint, "_fields"):
            found[name] = hint
        else:
            raise TypeError(f"{form.__name__}.{name}: a table holds arrays, int and bool, and not {hint}")
    return found


def _check(name: str, value: Any, field: type) -> None:
    """Is a field what it says it is? Else compiled code would read memory as what it is not."""
    if issubclass(field, np.generic):
        sound = isinstance(value, np.ndarray) and value.dtype == field and value.flags.c_contiguous
    else:
        sound = isinstance(value, (field, np.integer) if field is int else field)
    if not sound:
        raise TypeError(f"{name} is not of {field.__name__}: {value!r:.100}")


_memcpy: Any = types.ExternalFunction("memcpy", types.intp(types.intp, types.intp, types.uintp))


@uncounted
def copy_bytes(to: int, start: int, count: int) -> None:
    """Copy bytes from one address to another, by the C library."""
    _memcpy(to, start, count)


_memchr: Any = types.ExternalFunction("memchr", types.intp(types.intp, types.intc, types.uintp))


@uncounted
def find_byte(data: NDArray[np.uint8], at: int, byte: int) -> int:
    """The next place of a byte from a place on, or the length of the array; by the C library, which is fast."""
    if at >= data.size:
        return data.size
    start = data.ctypes.data
    found: int = _memchr(start + at, byte, data.size - at)
    return found - start if found else data.size


def release(array: NDArray[Any], begin: int, end: int) -> None:
    """Give back the memory of a part of an array that was reserved: it is zeros again."""
    first = array.ctypes.data + begin * array.itemsize
    last = array.ctypes.data + end * array.itemsize
    first += -first % mmap.PAGESIZE
    last -= last % mmap.PAGESIZE
    if last > first:
        _libc().madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), mmap.MADV_DONTNEED)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def reserve(length: int, dtype: type[np.generic] | np.dtype[Any], *, large: bool = False) -> NDArray[Any]:
    """An array of zeros that takes address space now and memory only where it is written.

    An array that must grow to tens of millions of entries grows in place, without the copy (and the peak of memory)
    that a reallocation costs. With `large` it is in large pages of memory where the system has them: for arrays that
    fill up from their beginning and are looked at in no order.
    """
    kind = np.dtype(dtype)
    no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000)  # named by Python 3.12 and later only; the number is Linux's
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
    size = max(1, length) * kind.itemsize
    try:
        room = mmap.mmap(-1, size, flags=flags)
    except OSError as error:
        raise AddressSpaceError(f"cannot reserve {size / 1e9:.1f} GB of address space: {error.strerror}") from error
    if large:
        with contextlib.suppress(OSError):
            room.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(room, dtype=kind, count=length)
