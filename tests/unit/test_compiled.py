"""The door to numba: what is compiled is compiled anew when anything changes that went into it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.patience import PATIENCE

from weft.compiled import address_of, binder, find_byte, table_of

CALLED = """
from weft.compiled import inlined
from weft.deepest import deepest

@inlined
def answer():
    return {answer} + deepest()
"""
DEEPEST = """
from weft.compiled import inlined

@inlined
def deepest():
    return {answer}
"""
LISTED = """
def listed():
    return {answer}
"""
CALLING = """
from weft.compiled import compiled
from weft.called import answer
from weft.listed import listed

_LISTED = listed()

@compiled
def whole():
    return 100 * _LISTED + answer()
"""
ASKING = "import weft; weft.__path__.insert(0, {folder!r}); from weft.calling import whole; print(whole())"


def put(path: Path, text: str, moment: int) -> None:
    """Write a file that was changed at some second."""
    path.write_text(text, encoding="ascii")
    os.utime(path, (moment, moment))


def ask(folder: Path) -> int:
    """What the compiled function says in a process of its own."""
    command = [sys.executable, "-c", ASKING.format(folder=str(folder))]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout)


def test_cache__knows_the_files_that_a_function_took_from(tmp_path: Path) -> None:
    """A function of another file that was made a part of it, and a table that another file made."""
    put(tmp_path / "called.py", CALLED.format(answer=1), 1000)
    put(tmp_path / "deepest.py", DEEPEST.format(answer=0), 1000)
    put(tmp_path / "listed.py", LISTED.format(answer=2), 1000)
    put(tmp_path / "calling.py", CALLING, 1000)
    assert ask(tmp_path) == 201
    cached = sorted((tmp_path / "__pycache__").glob("*.nbc"))
    assert ask(tmp_path) == 201
    assert sorted((tmp_path / "__pycache__").glob("*.nbc")) == cached, "it came out of the cache"
    assert cached
    put(tmp_path / "called.py", CALLED.format(answer=3), 2000)
    assert ask(tmp_path) == 203
    put(tmp_path / "listed.py", LISTED.format(answer=4), 2000)
    assert ask(tmp_path) == 403
    put(tmp_path / "deepest.py", DEEPEST.format(answer=5), 2000)
    assert ask(tmp_path) == 408


@given(st.binary(max_size=50), st.integers(0, 60), st.integers(0, 255))
def test_find_byte__is_the_next_place_or_the_length(data: bytes, at: int, sign: int) -> None:
    """As `bytes.find` has it, from any place on."""
    place = data.find(bytes([sign]), at)
    assert find_byte(np.frombuffer(data, np.uint8), at, sign) == (place if place >= 0 else len(data))


PLAIN = """
from weft.compiled import compiled

@compiled
def answer():
    return 42
"""


def test_cache__is_among_temporary_files_where_no_other_place_can_be_written(tmp_path: Path) -> None:
    """In a folder that only its owner can write; one that anybody can write is not used, as what lies there is run."""
    code, room = tmp_path / "code", tmp_path / "room"
    code.mkdir()
    room.mkdir()
    (code / "plain.py").write_text(PLAIN)
    script = "import plain\nassert plain.answer() == 42"
    surroundings = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    surroundings["NUMBA_CACHE_LOCATOR_CLASSES"] = "UserProvidedCacheLocator"  # as where no other place can be written
    surroundings |= {"TMPDIR": str(room), "PYTHONPATH": os.pathsep.join([str(code), *sys.path])}

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", script]
        return subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)

    assert run().stderr == ""
    (folder,) = room.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("plain.answer*"))
    folder.chmod(0o777)
    assert "set NUMBA_CACHE_DIR" in run().stderr


def test_reserve__says_that_address_space_is_limited() -> None:
    """It is told from memory that is used up: more of it would not help."""
    limit = "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))"
    script = f"import resource, numpy\nfrom weft.compiled import AddressSpaceError, reserve\n{limit}\n"
    script += "try:\n    reserve(8 << 30, numpy.uint8)\nexcept AddressSpaceError as error:\n    print(error)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "8.6 GB of address space" in found.stdout


class Inner(NamedTuple):
    """What stands in another one."""

    small: NDArray[np.int8]
    right: bool


class Outer(NamedTuple):
    """Arrays of several types, single numbers, and a tuple in the middle."""

    wide: NDArray[np.float64]
    inner: Inner
    number: int
    bits: NDArray[np.bool_]


outer_at = binder(Outer)


def some_arrays() -> Outer:
    """Arrays that can be told from each other."""
    return Outer(np.array([1.5, 2.5]), Inner(np.array([-3], np.int8), right=True), -7, np.array([True, False, True]))


def test_binder__finds_the_arrays_that_the_annotations_say() -> None:
    """Out of an address come the same arrays, of the same types; what is written into them is written there."""
    arrays = some_arrays()
    table = table_of(arrays)
    found = outer_at(address_of(table))
    assert type(found) is Outer
    assert type(found.inner) is Inner
    for mine, given_back in (
        (arrays.wide, found.wide),
        (arrays.inner.small, found.inner.small),
        (arrays.bits, found.bits),
    ):
        assert (given_back.dtype, given_back.tolist()) == (mine.dtype, mine.tolist())
    assert (found.number, found.inner.right) == (-7, True)
    found.wide[1] = 9.0
    assert arrays.wide[1] == 9.0


def test_table__refuses_an_array_that_is_not_of_its_annotation() -> None:
    """Compiled code would read memory as what it is not."""
    arrays = some_arrays()
    for wrong in (
        arrays._replace(wide=np.zeros(2, np.float32)),
        arrays._replace(bits=np.zeros(6, np.bool_)[::2]),
        arrays._replace(inner=Inner(np.zeros(1, np.int16), right=True)),
        arrays._replace(number=1.5),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="is not of"):
            table_of(wrong)


def test_binder__says_what_a_table_cannot_hold() -> None:
    """A text has no address that stays."""

    class Texts(NamedTuple):
        text: str

    with pytest.raises(TypeError, match=r"Texts\.text"):
        binder(Texts)


BOUND = """
from typing import NamedTuple
import numpy as np
import pytest
from numpy.typing import NDArray
from weft.compiled import address_of, binder, compiled, table_of

class Pair(NamedTuple):
    {fields}

pair_at = binder(Pair)

@compiled
def first(address):
    return pair_at(address).one[0]

def whole():
    arrays = Pair(**{{"one": np.array([5], np.{one}), "other": np.array([8], np.{other})}})
    table = table_of(arrays)
    return int(first(address_of(table)))
"""


def test_binder__comes_out_of_the_cache_until_its_type_changes(tmp_path: Path) -> None:
    """The function that was generated is kept beside the module of the type, and made anew with another order."""
    one, other = "one: NDArray[np.int32]", "other: NDArray[np.int64]"
    put(tmp_path / "calling.py", BOUND.format(fields=f"{one}; {other}", one="int32", other="int64"), 1000)
    assert ask(tmp_path) == 5
    cached = sorted((tmp_path / "__pycache__").glob("*.nbc"))
    assert ask(tmp_path) == 5
    assert sorted((tmp_path / "__pycache__").glob("*.nbc")) == cached, "it came out of the cache"
    assert any("pair_at" in path.name for path in cached)
    put(tmp_path / "calling.py", BOUND.format(fields=f"{other}; {one}", one="int32", other="int64"), 2000)
    assert ask(tmp_path) == 5
