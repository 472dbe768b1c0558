"""Templates escape everything, and have nothing in them that the policy would refuse."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

TEMPLATES = {each.name: each.read_text(encoding="utf-8") for each in (files("weft.console") / "templates").iterdir()}
STATIC = {each.name: each.read_text(encoding="utf-8") for each in (files("weft.console") / "static").iterdir()}


@pytest.mark.parametrize("name", TEMPLATES)
def test_template__escapes_and_quotes_what_it_is_given(name: str) -> None:
    """No value is trusted, and none stands in an attribute without quotes, where a blank would end it."""
    text = TEMPLATES[name]
    assert not re.search(r"\|\s*safe|autoescape|Markup", text)
    assert not re.search(r"=\s*\{\{", re.sub(r"\{%.*?%\}", "", text))


@pytest.mark.parametrize("name", TEMPLATES)
def test_template__has_no_script_or_style_of_its_own(name: str) -> None:
    """Scripts and styles are files; nothing comes from elsewhere."""
    text = TEMPLATES[name]
    assert all(' src="/static/' in tag for tag in re.findall(r"<script[^>]*>", text))
    assert not re.search(r"<style|\bstyle=|\son[a-z]+=|javascript:|https?://(?!www\.example\.org)", text)


@pytest.mark.parametrize("name", [name for name in STATIC if name.endswith(".js")])
def test_script__writes_text_and_never_mark_up(name: str) -> None:
    """What the server says is put into the page by ways that cannot run it."""
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(", STATIC[name])


def test_style__loads_nothing() -> None:
    """Works offline."""
    assert not re.search(r"url\(|@import|https?:", STATIC["console.css"])
