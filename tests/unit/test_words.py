"""The glossary: each word once, with one meaning; and phrases that have a word."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", GLOSSARY, re.MULTILINE)
SOURCES = sorted((ROOT / "src").rglob("*.py"))
ROUNDABOUT = {
    "of late": "recently",
    "whoever runs the crawl": "the operator",
    "fault of ours": "internal error",
    "harm who reads": "crash or stall the parser",
    "to and fro": "back and forth",
}


def test_glossary__has_each_word_once_and_in_order() -> None:
    """Who looks a word up finds one meaning, where the alphabet says."""
    assert len(ROWS) == sum(line.startswith("| **") for line in GLOSSARY.splitlines())
    words = [word for entry, _ in ROWS for word in entry.split(", ")]  # K and k are two
    assert sorted(words) == sorted(set(words))
    entries = [entry.lower() for entry, _ in ROWS]
    assert all(before < after for before, after in pairwise(entries))


@pytest.mark.parametrize("entry", [entry for entry, _ in ROWS])
def test_glossary__has_no_word_that_nobody_uses(entry: str) -> None:
    """In code or documentation, in whatever form."""
    texts = [*SOURCES, *(path for path in (ROOT / "docs").glob("*.md") if path.name != "glossary.md")]
    for word in entry.split(", "):
        stem = re.escape(word.removesuffix("y"))
        assert any(re.search(stem, path.read_text(encoding="utf-8"), re.IGNORECASE) for path in texts), word


@pytest.mark.parametrize("phrase", ROUNDABOUT)
def test_words__are_used_where_there_is_one(phrase: str) -> None:
    """A reader should not have to find out that two phrases mean the same."""
    said = re.compile(rf"\b{phrase}\b")
    found = [str(path.relative_to(ROOT)) for path in SOURCES if said.search(path.read_text(encoding="utf-8"))]
    assert found == [], f"say {ROUNDABOUT[phrase]}"
