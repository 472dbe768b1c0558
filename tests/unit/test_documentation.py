"""The documentation that cannot rot: generated pages are as generated, commands are documented, doctests run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

import weft
from weft.cli.reference import pages
from weft.config import SECTIONS

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT) for pattern in ("*.md", "docs/**/*.md", "examples/*.md") for path in ROOT.glob(pattern)
)
REFERENCE = sorted(path.name for path in (ROOT / "docs" / "reference").iterdir())
MODULES = [
    module.name for module in pkgutil.walk_packages(weft.__path__, "weft.") if not module.name.endswith("__main__")
]


written = cache(pages)  # seconds of a core: once, and not while tests are collected


@pytest.mark.xdist_group("reference")
@pytest.mark.parametrize("name", REFERENCE)
def test_reference__is_what_the_code_says(name: str) -> None:
    """Run `make docs` after changing a command, a setting, a reason or a column."""
    assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == written()[name]


@pytest.mark.xdist_group("reference")
def test_reference__has_a_page_for_each_that_is_written() -> None:
    """None is missing, and none is left over."""
    assert sorted(written()) == REFERENCE


@pytest.mark.parametrize("name", MODULES)
def test_doctests__hold(name: str) -> None:
    """What a docstring shows is what happens."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_settings__have_one_name_each() -> None:
    """A flag belongs to one section."""
    names = [name for section in SECTIONS.values() for name in section]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links__between_pages_lead_somewhere(page: Path) -> None:
    """A relative link names a file that is there."""
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / page).read_text(encoding="utf-8")):
        assert (ROOT / page.parent / target).exists(), target


def test_attacks__name_tests_that_are_there() -> None:
    """Every finding has one."""
    text = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    for file, test in re.findall(r"`([a-z_/]+\.py)::(\w+)`", text):
        assert re.search(
            rf"^(async )?def {test}\(", (ROOT / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE
        ), test
    found = set(re.findall(r"^\| ([LHAIN]\d) \|.*`\w[\w/]*\.py::\w+`", text, re.MULTILINE))
    assert found == {
        f"{kind}{number + 1}" for kind, many in zip("LHAIN", (6, 5, 7, 4, 9), strict=True) for number in range(many)
    }
