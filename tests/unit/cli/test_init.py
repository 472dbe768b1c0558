"""A settings file that explains itself: it is read back, and says everything there is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from tests.commands import weft

from weft.config import PROFILES, SECTIONS, Settings, profile
from weft.frontier.overrides import SiteSettings

SETTING = re.compile(r"^(# )?(\w+) = ", re.MULTILINE)


@pytest.mark.parametrize("name", [None, *PROFILES])
def test_file__is_read_back_as_the_profile_it_was_made_of(tmp_path: Path, name: str | None) -> None:
    """With nothing changed it changes nothing, and what the profile sets stands in it."""
    file = tmp_path / "crawl.toml"
    weft("init", file, *(() if name is None else ("--profile", name)))
    assert Settings().with_file(file) == (Settings() if name is None else profile(name))
    standing = {found[2] for found in SETTING.finditer(file.read_text()) if not found[1]}
    assert standing == set(() if name is None else PROFILES[name])


def test_every_setting__is_there_once_and_can_be_uncommented(tmp_path: Path) -> None:
    """As it stands it is allowed, an example too; those with a usual value keep it."""
    file = tmp_path / "crawl.toml"
    weft("init", file)
    text = file.read_text()
    names = [found[2] for found in SETTING.finditer(text)]
    sites = [field.name for field in dataclasses.fields(SiteSettings)]
    assert names == [name for each in SECTIONS.values() for name in each] + sites
    whole = re.sub(r"^# (?=\w+ = |\[sites\.)", "", text, flags=re.MULTILINE)
    (tmp_path / "whole.toml").write_text(whole)
    read = Settings().with_file(tmp_path / "whole.toml")
    usual = Settings()
    for section, known in SECTIONS.items():
        for name in known:
            value = getattr(getattr(usual, section), name)
            assert value is None or getattr(getattr(read, section), name) == value, name
    assert list(read.overrides.sites) == ["www.example.org"]


def test_file__that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    """Nothing of anybody's is written over; standard output always works."""
    file = tmp_path / "crawl.toml"
    file.write_text("# mine\n")
    assert "there is a file of this name already" in weft("init", file, code=2)
    assert file.read_text() == "# mine\n"
    assert "[politeness]" in weft("init", "-")
    assert "no profile called 'city'" in weft("init", "-", "--profile", "city", code=2)
    assert "cannot" in weft("init", tmp_path / "nowhere" / "crawl.toml", code=1)
