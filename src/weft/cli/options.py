"""The settings as flags. In: the settings' sections. Out: a class whose fields cyclopts turns into options.

Every setting is a flag of the same name, in a group of its section, with the setting's own documentation and bounds; a
flag that is not given is None, so that what the profile or the settings file says stands.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Collection, Mapping
from typing import Annotated, Any

from cyclopts import Group, Parameter

from weft.config import SECTIONS, Settings
from weft.settings import flag_of, read, rule_of

TITLES = {
    "identity": "Who crawls",
    "selection": "What is crawled",
    "politeness": "Politeness and speed",
    "limits": "Limits of the crawl",
    "retries": "Retries",
    "reading": "Reading pages",
    "urls": "URL rules",
    "fetching": "Fetching",
    "naming": "Names",
    "stages": "What else is found out about pages",
    "storing": "Storing",
    "running": "Running",
    "weights": "What links count",
    "watching": "Watching over workers",
    "reporting": "Who is told how it goes",
}


_ELSEWHERE = ("headers",)  # has a flag of another form: --header


def _option(held: type, known: dataclasses.Field[Any], group: Group, default: Any) -> tuple[str, Any, Any]:
    """A setting as a flag: its name, its type with what `--help` says of it, and None where it is not given."""
    rule = rule_of(known)
    kind = typing.get_type_hints(held)[known.name]
    if rule.unit is not None:  # with a unit it is a text, which the settings read
        kind = tuple[str, ...] if typing.get_origin(kind) is tuple else str
    notes = [rule.bounds, f"default: {_shown(default)}" if default not in (None, (), "") else ""]
    shown = "; ".join(filter(None, notes))
    parameter = Parameter(
        help=sentence(known.metadata["doc"]) + (f" [{shown}]" if shown else ""),
        group=group,
        metavar=None if rule.unit is None else rule.unit.upper(),
        negative=None if kind is bool else (),
        show_default=False,
    )
    # The shells' completion takes `bool | None` for an option with a value.
    return known.name, Annotated[kind if kind is bool else kind | None, parameter], dataclasses.field(default=None)


def sentence(doc: str) -> str:
    """A setting's documentation as a sentence; the names of choices stay as they are.

    >>> sentence("pages of one site"), sentence("site: the seeds' sites")
    ('Pages of one site.', "site: the seeds' sites.")
    """
    return f"{doc}." if doc.partition(" ")[0].endswith(":") else f"{doc[:1].upper()}{doc[1:]}."


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, tuple):
        return " ".join(map(_shown, default))
    return f"{default:g}" if isinstance(default, float) else str(default)


def _class_of(name: str, fields: list[tuple[str, Any, Any]]) -> Any:
    made = dataclasses.make_dataclass(name, fields, frozen=True, kw_only=True)
    made.__module__ = __name__  # cyclopts takes a class without a home for a built-in one
    return made


def _options() -> Any:
    fields = []
    for order, section in enumerate(SECTIONS):
        held = type(getattr(Settings(), section))
        group = Group(TITLES[section], sort_key=10 + order)
        fields += [
            _option(held, known, group, known.default)
            for known in dataclasses.fields(held)
            if known.name not in _ELSEWHERE
        ]
    return _class_of("CrawlOptions", fields)


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
        group = Group(title, sort_key=10 + order)
        for known in dataclasses.fields(section):
            if known.name not in but:
                default = (defaults or {}).get(known.name, known.default)
                fields.append(_option(section, known, group, default))
    return _class_of(name, fields)


def given_of(flags: Any, section: type, but: Collection[str] = ()) -> dict[str, Any]:
    """The flags of a section that were given, but for some; one that is not allowed is refused by its name."""
    names = [
        known.name for known in dataclasses.fields(section) if hasattr(flags, known.name) and known.name not in but
    ]
    values = {name: getattr(flags, name) for name in names if getattr(flags, name) is not None}
    return read(section, values, where="", spell=flag_of)
