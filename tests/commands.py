"""Commands of the command line, run in the process of the test: what is the same but for the start of a process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.nursery import quick_workers
from tests.siege import command_for

from weft.cli import main
from weft.testbed.bed import Bed


def weft(*arguments: str | os.PathLike[str], code: int = 0) -> str:
    """Run a command; what it says: its output, or its message where it fails as it should."""
    ended, out, err = ending(*arguments)
    assert ended == code, (arguments, out, err)
    return out if code == 0 else err


def ending(*arguments: str | os.PathLike[str]) -> tuple[int, str, str]:
    """Run a command; its exit code, its output, and what it says beside that."""
    done = completed(*arguments)
    return done.returncode, done.stdout, done.stderr


def completed(*arguments: str | os.PathLike[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The same as `subprocess.run` gives it."""
    words = [str(argument) for argument in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    given = mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
    with redirect_stdout(out), redirect_stderr(err), given, quick_workers(), pytest.raises(SystemExit) as ended:
        main(words)
    assert isinstance(ended.value.code, int), ended.value.code
    said, told = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(words, ended.value.code, said, told)


def crawling(bed: Bed, out: Path, *options: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """Crawl the whole web of a bed with two workers; the summary."""
    code, said, err = ending(*command_for(bed, out, "--wait", "0", "--workers", "2", *options)[3:], "--json")
    assert code in codes, err
    found: dict[str, Any] = json.loads(said)
    return found
