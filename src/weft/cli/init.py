"""`weft init`: a settings file that explains itself."""

from __future__ import annotations

import dataclasses
import sys
import textwrap
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from weft.cli.options import TITLES, sentence
from weft.config import PROFILES, SECTIONS, Settings, profile, toml
from weft.disk import writing
from weft.errors import UsageError
from weft.frontier.overrides import SiteSettings
from weft.settings import allowed, rule_of

_WIDTH = 100
_PLAIN = ("a text", "true or false")  # the value says so itself
_EXAMPLES = {"bytes": "2 GB", "seconds": "10 min"}  # of what is not limited unless somebody says so


def init(
    file: Annotated[Path, Parameter(help="The file to write; - is standard output.", allow_leading_hyphen=True)] = Path(
        "crawl.toml"
    ),
    /,
    *,
    profile_name: Annotated[
        str | None, Parameter(name="--profile", help="Ready-made settings to begin with: wire, country or vn.")
    ] = None,
) -> None:
    """Write a settings file that explains itself.

    Every setting stands in it with what it is for, what is allowed and its usual value, behind a #: take the # away
    and change the value. What a profile sets stands without one. A file that is there is left as it is.

    For example:

        weft init settings.toml --profile country

        weft crawl --seeds sites.txt --out country --config settings.toml
    """
    settings = Settings() if profile_name is None else profile(profile_name)
    text = "\n".join(_lines(settings, profile_name)) + "\n"
    if str(file) == "-":
        sys.stdout.write(text)
        return
    with writing(file):
        try:
            with file.open("x", encoding="utf-8") as new:
                new.write(text)
        except FileExistsError:
            raise UsageError(
                "there is a file of this name already", where=str(file), todo="give another name, or move it away"
            ) from None
    print(f"Wrote {file}: settings to change. Then: weft crawl --config {file} --seeds FILE --out DIRECTORY")


def _lines(settings: Settings, profile_name: str | None) -> Iterator[str]:
    """The lines of a settings file with everything in it."""
    chosen = () if profile_name is None else tuple(PROFILES[profile_name])
    yield from _comment("Settings of a crawl, for `weft crawl --config`. What stands behind a # is as usual.")
    if chosen:
        yield from _comment(f"Set by the profile {profile_name}: {', '.join(chosen)}.")
    for section, names in SECTIONS.items():
        held = getattr(settings, section)
        known = {field.name: field for field in dataclasses.fields(held)}
        hints = typing.get_type_hints(type(held))
        yield from ("", f"[{section}]  # {TITLES[section]}")
        for name in names:
            yield from _setting(known[name], hints[name], getattr(held, name), stands=name in chosen)
    yield from ("", "# Settings of single sites: a section for each, by its name.", '# [sites."www.example.org"]')
    hints = typing.get_type_hints(SiteSettings)
    for field in dataclasses.fields(SiteSettings):
        yield from _setting(field, hints[field.name], None, stands=False)


def _setting(field: dataclasses.Field[Any], hint: Any, value: Any, *, stands: bool) -> Iterator[str]:
    """A setting, below what is said of it."""
    yield ""
    said, may_be = sentence(field.metadata["doc"]), allowed(hint, rule_of(field))
    yield from _comment(said if may_be in _PLAIN else f"{said} Give {may_be}.")
    shown = _example(field, hint) if value is None else toml(value)
    yield f"{'' if stands else '# '}{field.name} = {shown}"


def _example(field: dataclasses.Field[Any], hint: Any) -> str:
    """What could be given for a setting that has no value as usual."""
    rule, kinds = rule_of(field), [part for part in typing.get_args(hint) if part is not type(None)]
    if rule.unit is not None:
        return toml(_EXAMPLES[rule.unit])
    if typing.get_origin(kinds[0]) is dict:
        return toml({"Accept-Language": "pt"})
    if typing.get_origin(kinds[0]) is typing.Literal:
        return toml(typing.get_args(kinds[0])[0])
    return toml(int(max(rule.at_least or 0, 100)))


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH - 2, break_on_hyphens=False)]
