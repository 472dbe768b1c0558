"""The door to numba: what is compiled is compiled anew when anything changes that went into it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.compiled import find_byte

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
    return int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)


@pytest.mark.timeout(120)
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


@pytest.mark.timeout(120)
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
