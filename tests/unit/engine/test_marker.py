"""Which page is being read, and what is left of that after a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from weft.engine.marker import Marker

LARGEST = 2**64 - 1


def test_marker__of_a_first_run_has_nothing_left(tmp_path: Path) -> None:
    """There was nobody before."""
    marker = Marker(tmp_path / "reading")
    assert marker.left == 0
    marker.close()


@pytest.mark.parametrize("page", [1, 2**63, LARGEST])
def test_marker__what_was_being_read_is_left(tmp_path: Path, page: int) -> None:
    """For the next process, and for that one only: it reads the page apart."""
    marker = Marker(tmp_path / "reading")
    marker.set(page)
    again = Marker(tmp_path / "reading")
    assert again.left == page
    once_more = Marker(tmp_path / "reading")
    assert once_more.left == 0
    for each in (marker, again, once_more):
        each.close()


def test_marker__what_has_been_read_is_not_left(tmp_path: Path) -> None:
    """Nor is anything when the process ended as it should."""
    first = Marker(tmp_path / "reading")
    first.set(7)
    first.set(0)
    second = Marker(tmp_path / "reading")
    assert second.left == 0
    second.set(7)
    second.close()
    third = Marker(tmp_path / "reading")
    assert third.left == 0
    first.close()
    third.close()


@pytest.mark.parametrize("content", [b"", b"1234567", b"123456789" * 1000])
def test_marker__a_file_that_is_none_is_replaced(tmp_path: Path, content: bytes) -> None:
    """The machine may have gone down while it was made."""
    (tmp_path / "reading").write_bytes(content)
    marker = Marker(tmp_path / "reading")
    assert marker.left == 0
    marker.set(5)
    again = Marker(tmp_path / "reading")
    assert again.left == 5
    marker.close()
    again.close()


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "ctypes.string_at(0)"])
def test_marker__outlives_a_process_that_is_ended(tmp_path: Path, end: str) -> None:
    """Killed, or by a fault in C: nothing is written back by the process itself."""
    script = (
        "import ctypes, os, resource, signal, sys\n"
        "from pathlib import Path\n"
        "from weft.engine.marker import Marker\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        f"Marker(Path(sys.argv[1])).set({LARGEST})\n"
        f"{end}\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path / "reading")], check=False, timeout=30)
    assert ended.returncode < 0
    marker = Marker(tmp_path / "reading")
    assert marker.left == LARGEST
    marker.close()
