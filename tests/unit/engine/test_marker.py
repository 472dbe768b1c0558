"""Which page is being read, and what is left of that after a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from weft.engine.marker import Marker

LARGEST = 2**64 - 1


def suspects(path: Path) -> list[int]:
    """What a process would find that began now; it ends at once, as one that dies does."""
    return list(Marker(path).suspects)


def test_marker__of_a_first_run_has_nothing_left(tmp_path: Path) -> None:
    """There was nobody before."""
    assert suspects(tmp_path / "reading") == []


@pytest.mark.parametrize("page", [1, 2**63, LARGEST])
def test_marker__what_was_being_read_is_left(tmp_path: Path, page: int) -> None:
    """It is a suspect for the next process, and for all that follow, until its outcome is on disk."""
    marker = Marker(tmp_path / "reading")
    marker.set(page)
    assert suspects(tmp_path / "reading") == [page]
    again = Marker(tmp_path / "reading")
    assert list(again.suspects) == [page]
    again.clear(page)
    assert suspects(tmp_path / "reading") == []
    again.close()


def test_marker__every_process_that_dies_adds_a_suspect(tmp_path: Path) -> None:
    """The page that ended the last one does not make those before it be forgotten."""
    for page in (3, 5, 7, 3):
        Marker(tmp_path / "reading").set(page)
    marker = Marker(tmp_path / "reading")
    assert set(marker.suspects) == {3, 5, 7}
    marker.clear(5)
    marker.close()
    assert set(suspects(tmp_path / "reading")) == {3, 7}


def test_marker__forgets_the_oldest_of_too_many(tmp_path: Path) -> None:
    """The file has an end."""
    for page in range(1, 1100):
        Marker(tmp_path / "reading").set(page)
    left = suspects(tmp_path / "reading")
    assert len(left) == 1023
    assert 1099 in left
    assert 1 not in left


def test_marker__what_has_been_read_is_not_left(tmp_path: Path) -> None:
    """Nor is anything when the process ended as it should."""
    first = Marker(tmp_path / "reading")
    first.set(7)
    first.set(0)
    assert suspects(tmp_path / "reading") == []
    second = Marker(tmp_path / "reading")
    second.set(7)
    second.close()
    assert suspects(tmp_path / "reading") == []
    first.close()


def test_marker__of_the_version_before_is_understood(tmp_path: Path) -> None:
    """It had place for one."""
    (tmp_path / "reading").write_bytes((77).to_bytes(8, "little"))
    assert suspects(tmp_path / "reading") == [77]


@pytest.mark.parametrize("content", [b"", b"1234567", b"123456789" * 1000])
def test_marker__a_file_that_is_none_is_replaced(tmp_path: Path, content: bytes) -> None:
    """The machine may have gone down while it was made."""
    (tmp_path / "reading").write_bytes(content)
    marker = Marker(tmp_path / "reading")
    assert list(marker.suspects) == []
    marker.set(5)
    assert suspects(tmp_path / "reading") == [5]
    marker.close()


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
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path / "reading")], check=False, timeout=PATIENCE)
    assert ended.returncode < 0
    assert suspects(tmp_path / "reading") == [LARGEST]
