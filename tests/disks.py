"""Disks that are full: small file systems of our own, where they can be mounted."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A file system of so many bytes; the test is skipped where none can be mounted."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here (it takes root)")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)  # files of the test may still be open


def remount(place: Path, options: str) -> None:
    """Change a file system that was mounted: its size, or whether it can be written."""
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


def fill(place: Path) -> None:
    """Leave next to no room: a file system cannot be made smaller than what is in it, which grows meanwhile."""
    for _ in range(50):
        about = os.statvfs(place)
        used = (about.f_blocks - about.f_bfree) * about.f_frsize
        with suppress(subprocess.CalledProcessError):
            remount(place, f"size={used + (64 << 10)}")
            return
    pytest.fail(f"{place} cannot be made small")
