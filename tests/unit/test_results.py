"""Figures that documents name are kept: every result that is cited is there, and every benchmark can be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.__main__ import PARTS, RESULTS

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT) for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")))
# A whole name, or its end where the file before it begins alike.
CITED = re.compile(r"`(?:benchmarks/results/)?([a-z-]*-(?:[\d*]+-)?[\d*]+\.json)`")


def cited(text: str) -> list[str]:
    """The result files that a page names, as patterns."""
    found: list[str] = []
    for name in CITED.findall(text):
        if name.startswith("-"):
            name = re.sub(r"-\d+\.json$", name, found[-1])  # noqa: PLW2901
        found.append(name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_results__that_are_cited_are_kept(page: Path) -> None:
    """A figure without its file is hearsay."""
    for name in cited((ROOT / page).read_text(encoding="utf-8")):
        assert list(RESULTS.glob(name)), name


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_parts__that_pages_name_can_be_run(page: Path) -> None:
    """`make bench PARTS=…`."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r'PARTS=(?:"([^"]*)"|([a-z-]+))', text)
    for part in " ".join(" ".join(each) for each in named).split():
        assert part in {*PARTS, "all"}


def test_performance__every_section_has_a_result_or_says_how_to_get_one() -> None:
    """Or a test that says it."""
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        assert cited(section) or "PARTS=" in section or "tests/" in section, section.partition("\n")[0]
