"""The page for webmasters says what the settings say, and nothing more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.commands import weft
from tests.hostile.markup import TEXTS

from weft.config import Settings
from weft.errors import UsageError
from weft.parse.robots import parse_robots
from weft.webmasters import made_page


def page_for(**changes: Any) -> str:
    """The page of a crawl with some settings."""
    values = {"contact": "https://archive.example/crawler"} | changes
    return made_page(Settings().with_values(values, where="a test")).html()


def test_page__says_who_crawls_and_why() -> None:
    """The operator, what the crawl is for, its User-Agent and its contact."""
    page = page_for(operator="An Archive", description="To keep a web.", agent="archivist/1.0 (+https://a.example/)")
    for text in (
        "An Archive",
        "To keep a web.",
        "archivist/1.0 (+https://a.example/)",
        "https://archive.example/crawler",
    ):
        assert text in page


def test_rules__that_it_tells_are_obeyed() -> None:
    """What the page tells webmasters to write into robots.txt has the effect that it says, by our own reader of it."""
    page = page_for(agent="archivist/1.0")
    rules = [part.split("</code>")[0] for part in page.split("<pre><code>")[1:]]
    whole, part, slower = (parse_robots(text.encode(), "archivist") for text in rules)
    assert not whole.allows("/")
    assert part.allows("/a")
    assert not part.allows("/private/a")
    assert slower.crawl_delay == 30


def test_page__promises_what_is_set() -> None:
    """Waits and bounds are those of the settings; a crawl that ignores robots.txt says so at once."""
    page = page_for(wait=7.0, per_visit=3, max_site_pages=123)
    assert "up to 3 pages; then the site rests: 7 s" in page
    assert "At most 123 pages of a site." in page
    assert "does not follow robots.txt" in page_for(robots="ignore")
    assert "does not follow robots.txt" not in page


def test_page__needs_a_contact() -> None:
    """It is what the page is for."""
    with pytest.raises(UsageError, match="no contact"):
        made_page(Settings())


def test_texts__are_escaped() -> None:
    """Settings are an operator's own, and still no mark-up."""
    for text in TEXTS[:10]:
        page = page_for(operator=text, description=text)
        assert "alert(1)</script>" not in page
        assert "<img" not in page


def test_command__writes_the_page_of_a_settings_file(tmp_path: Path) -> None:
    """Before there is a crawl; the addresses are those that are given."""
    file, out = tmp_path / "settings.toml", tmp_path / "page.html"
    file.write_text('[identity]\ncontact = "me@example.org"\n', encoding="utf-8")
    weft("webmasters", file, "--address", "192.0.2.0/28", "--out", out)
    page = out.read_text(encoding="utf-8")
    assert "me@example.org" in page
    assert "192.0.2.0/28" in page
    assert "<script" not in page
    assert "no settings file here" in weft("webmasters", tmp_path / "nothing", code=2)
