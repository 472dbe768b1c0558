"""The settings as flags. In: the settings' sections. Out: a class whose fields cyclopts turns into options.

Every setting is a flag of the same name, in a group of its section, with the setting's own documentation; a flag
that is not given is None, so that what the profile or the settings file says stands.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Group, Parameter

from weft.config import SECTIONS, Settings

TITLES = {
    "identity": "Who crawls",
    "selection": "What is crawled",
    "politeness": "Politeness and speed",
    "limits": "Limits of the crawl",
    "retries": "Retries",
    "reading": "Reading pages",
    "urls": "URL rules",
    "fetching": "Exchanges",
    "naming": "Names",
    "storing": "Storing",
    "running": "Running",
    "watching": "Watching over workers",
}


_ELSEWHERE = ("headers",)  # has a flag of another form: --header


def _option(section: str, held: Any, known: dataclasses.Field[Any], order: int) -> tuple[str, Any, Any]:
    kind = typing.get_type_hints(held)[known.name]
    group = Group(TITLES[section], sort_key=10 + order)
    negative = None if kind is bool else ()
    default = known.default
    shown = "" if default in (None, (), "") or isinstance(default, bool) else f" [default: {_shown(default)}]"
    parameter = Parameter(
        help=f"{sentence(known.metadata['doc'])}{shown}",
        group=group,
        negative=negative,
        show_default=False,
    )
    return known.name, Annotated[kind | None, parameter], dataclasses.field(default=None)


def sentence(doc: str) -> str:
    """A setting's documentation as a sentence; r, w and k and the names of choices stay as they are.

    >>> sentence("pages of one site"), sentence("k: pages a visit")
    ('Pages of one site.', 'k: pages a visit.')
    """
    word = doc.partition(" ")[0]
    return f"{doc}." if (len(word) == 1 and word != "a") or word.endswith(":") else f"{doc[:1].upper()}{doc[1:]}."


def _shown(default: Any) -> str:
    if isinstance(default, tuple):
        return " ".join(map(str, default))
    return f"{default:g}" if isinstance(default, float) else str(default)


def _options() -> type:
    fields = []
    for order, section in enumerate(SECTIONS):
        held = type(getattr(Settings(), section))
        fields += [
            _option(section, held, known, order) for known in dataclasses.fields(held) if known.name not in _ELSEWHERE
        ]
    made = dataclasses.make_dataclass("CrawlOptions", fields, frozen=True, kw_only=True)
    made.__module__ = __name__  # cyclopts takes a class without a home for a built-in one
    return made


CrawlOptions = _options()


def given(options: Any) -> dict[str, Any]:
    """The settings that were given as flags."""
    values = ((known.name, getattr(options, known.name)) for known in dataclasses.fields(options))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values if value is not None}


def flags_of(
    name: str, sections: dict[str, tuple[type, tuple[str, ...]]], defaults: Mapping[str, Any] | None = None
) -> Any:
    """A class whose fields are flags: each setting of the sections, by title, but for those named with them.

    A flag that is not given is None; `defaults` are those of the command, where they are not the settings' own.
    """
    fields: list[tuple[str, Any, Any]] = []
    for order, (title, (section, but)) in enumerate(sections.items()):
        kinds = typing.get_type_hints(section)
        for known in dataclasses.fields(section):
            if known.name in but:
                continue
            default = (defaults or {}).get(known.name, known.default)
            shown = "" if default is None or isinstance(default, bool) else f" [default: {default}]"
            parameter = Parameter(
                help=f"{sentence(known.metadata['doc'])}{shown}",
                group=Group(title, sort_key=10 + order),
                negative=None if kinds[known.name] is bool else (),
                show_default=False,
            )
            kind: Any = kinds[known.name] | None
            fields.append((known.name, Annotated[kind, parameter], dataclasses.field(default=None)))
    made = dataclasses.make_dataclass(name, fields, frozen=True, kw_only=True)
    made.__module__ = __name__  # cyclopts takes a class without a home for a built-in one
    return made


def given_of(flags: Any, section: type) -> dict[str, Any]:
    """The flags of a section that were given."""
    names = [known.name for known in dataclasses.fields(section) if hasattr(flags, known.name)]
    return {name: getattr(flags, name) for name in names if getattr(flags, name) is not None}
