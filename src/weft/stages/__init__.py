"""What is found out about pages, beside what every crawl must know: one file a stage, and the tuple of them.

To add one, write its file and put its value here: its columns, its table, its settings and its line of the reference
come with it (`weft.parse.stage` says what it is).
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from weft.parse.stage import Stage
from weft.settings import setting
from weft.stages.cloaking import CLOAKING
from weft.stages.digest import DIGEST
from weft.stages.language import LANGUAGE
from weft.stages.links import LINKS
from weft.stages.misread import MISREAD
from weft.stages.simhash import SIMHASH
from weft.stages.text import TEXT

STAGES: tuple[Stage, ...] = (LINKS, DIGEST, TEXT, LANGUAGE, SIMHASH, MISREAD, CLOAKING)

BY_NAME = SimpleNamespace(**{stage.name: stage for stage in STAGES})
"""The same for a process apart, which is told `weft.stages:BY_NAME.NAME`."""


def section_of(stages: Iterable[Stage]) -> Any:
    """The settings of all stages as one section."""
    fields: list[Any] = [
        ("stage", tuple[str, ...], setting((), "further stages of your own, which look at each page, as module:NAME"))
    ]
    for held in (stage.settings for stage in stages if stage.settings is not None):
        kinds = typing.get_type_hints(held)
        fields += [(known.name, kinds[known.name], known) for known in dataclasses.fields(held)]
    made = dataclasses.make_dataclass("Staging", fields, frozen=True, kw_only=True)
    made.__module__, made.__doc__ = __name__, "What else is found out about pages."
    return made


Staging: Any = section_of(STAGES)


def settings_of(stage: Stage, section: Any) -> Any:
    """A stage's own settings, out of those of all; of one that is not shipped, as they are by themselves."""
    if stage.settings is None:
        return None
    names = [known.name for known in dataclasses.fields(stage.settings) if hasattr(section, known.name)]
    return stage.settings(**{name: getattr(section, name) for name in names})
