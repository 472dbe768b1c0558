"""Settings as keywords: what type checkers and editors see of `weft.crawl`."""

from __future__ import annotations

import re
import subprocess
import sys
import typing
from pathlib import Path

from tests.patience import PATIENCE

import weft.keywords
from weft.cli.reference_api import PARAMETERS, keywords
from weft.config import SECTIONS
from weft.keywords import Keywords

ROOT = Path(__file__).parents[2]

PROGRAM = """
import weft

weft.crawl("http://a/", "out", max_pages=3, wait=2, dns=["127.0.0.1"], scope="site", headers={"X": "y"})
weft.crawl(["http://a/"], "out", sites={"a": {"wait": 1.0}}, fresh=True)
weft.crawl("http://a/", "out", max_pagse=3)
weft.crawl("http://a/", "out", wait="x")
weft.crawl("http://a/", "out", scope="everything")
weft.crawl("http://a/", "out", sites={"a": {"wiat": 1.0}})
weft.Request("http://a/", method="PUT")
"""


def test_keywords__are_the_settings() -> None:
    """Run `make docs` after changing a setting."""
    assert Path(weft.keywords.__file__).read_text(encoding="utf-8") == keywords()
    settings = {name for names in SECTIONS.values() for name in names}
    assert set(typing.get_type_hints(Keywords)) == settings - set(PARAMETERS)


def test_keywords__let_a_type_checker_find_mistakes(tmp_path: Path) -> None:
    """A misspelt name, a wrong type, an unknown choice; and nothing where there is none."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(program)]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    found = re.findall(r"program\.py:(\d+): error: (.*)", done.stdout)
    assert [int(line) for line, _ in found] == [6, 7, 8, 9, 10], done.stdout + done.stderr
    for (_, said), word in zip(found, ("max_pagse", "wait", "scope", "wiat", "method"), strict=True):
        assert word in said
