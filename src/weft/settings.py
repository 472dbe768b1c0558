"""Settings as data: typed, documented where they are defined, refused when unknown or out of range.

A section is a frozen dataclass beside the code that reads it; each field is made by `setting(default, doc)`, with what
is allowed beside its type. The same fields become the flags of `weft crawl`, the keys of the settings file and the
reference page. Nothing reads a setting by a string.

`build` is the one place where values come in, whoever wrote them: what it returns is within its bounds, no number is
NaN, and every text can be written to a file.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, kw_only=True)
... class Tea:
...     draws: float = setting(180.0, "how long it draws", above=0, unit="seconds")
>>> build(Tea, {"draws": "4 min"}, where="tea.toml")
Tea(draws=240.0)
>>> build(Tea, {"draws": -1}, where="tea.toml")
Traceback (most recent call last):
weft.errors.UsageError: draws cannot be -1 (tea.toml): give seconds, above 0, such as 90, '10 min' or '2 h'
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import math
import re
import sys
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from weft.errors import UsageError
from weft.units import EXAMPLES, Unit, quantity

T = TypeVar("T")
Check = Callable[[Any], str]

HIDDEN = "(in secrets.toml)"  # stands for a secret in crawl.toml
_LONGEST_SHOWN = 60  # characters of a wrong value in a message
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_odd_surrogate = re.compile("[\ud800-\udfff]").search
_userinfo = re.compile(r"//[^/\s]*@")  # in a URL: a password is not repeated
_TOO_LARGE = 2**63  # for what stores and counts numbers


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """What is allowed beside the type. A check looks at a value and says what is wrong with it, or nothing."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    unit: Unit | None = None
    check: Check | None = None

    @property
    def bounds(self) -> str:
        """The bounds in words.

        >>> Rule(at_least=1, at_most=86_400).bounds
        'at least 1, at most 86,400'
        """
        named = (("at least", self.at_least), ("above", self.above), ("at most", self.at_most))
        return ", ".join(f"{word} {number:,}" for word, number in named if number is not None and number < math.inf)

    def holds(self, number: float) -> bool:
        """Is a number within the bounds? NaN never is."""
        if math.isinf(number) and self.at_most != math.inf:
            return False
        return (
            number >= -_TOO_LARGE
            and (number < _TOO_LARGE or number == self.at_most)
            and (self.at_least is None or number >= self.at_least)
            and (self.above is None or number > self.above)
            and (self.at_most is None or number <= self.at_most)
        )


def setting(
    default: T,
    doc: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    unit: Unit | None = None,
    check: Check | None = None,
) -> T:
    """A documented field of a settings section.

    Bounds and checks hold for each value of a tuple. A setting with a unit may be written as a text with another
    ("10 min", "2 GB"); what is kept is the number.
    """
    rule = Rule(at_least, above, at_most, unit, check)
    made: T = dataclasses.field(default=default, metadata={"doc": doc, "rule": rule})
    return made


def rule_of(known: dataclasses.Field[Any]) -> Rule:
    """What is allowed for a setting."""
    rule: Rule = known.metadata.get("rule", Rule())
    return rule


def flag_of(name: str) -> str:
    """A setting's name on the command line.

    >>> flag_of("per_visit")
    '--per-visit'
    """
    return f"--{name.replace('_', '-')}"


def header_complaint(text: str) -> str:
    r"""What is wrong with a text that goes into the header of every request; nothing: it is good.

    >>> header_complaint("weft/1.0"), header_complaint("weft\r\nHost: else.example")
    ('', 'give printable ASCII characters in one line')
    """
    return "" if text.isascii() and (not text or text.isprintable()) else "give printable ASCII characters in one line"


def load_toml(path: Path) -> dict[str, Any]:
    """Read a settings file, or say what is wrong with it."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the settings file: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError("the settings file is not in UTF-8", where=str(path)) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the settings file is not valid TOML: {error}", where=str(path)) from error


def build(section: type[T], values: dict[str, Any], *, where: str, spell: Callable[[str], str] = str) -> T:
    """Make a section from plain values; see `read`."""
    return section(**read(section, values, where=where, spell=spell))


def read(section: type, values: dict[str, Any], *, where: str, spell: Callable[[str], str] = str) -> dict[str, Any]:
    """The values of some settings as the section keeps them. An unknown name, a wrong type or a value that is not
    allowed is refused by name, as `spell` writes it.
    """
    known = {field.name: field for field in dataclasses.fields(section)}
    hints = typing.get_type_hints(section)
    made = {}
    for name, value in values.items():
        if name not in known:
            raise unknown(spell(name), map(spell, known), where=where)
        try:
            made[name] = _value(value, hints[name], rule_of(known[name]))
        except ValueError as error:
            raise UsageError(f"{spell(name)} cannot be {_shown(value)}", where=where, todo=str(error)) from None
    return made


def unknown(name: str, known: Iterable[str], *, where: str) -> UsageError:
    """What to say about a name that nobody knows."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    todo = f"did you mean '{close[0]}'?" if close else f"known here: {', '.join(names)}"
    return UsageError(f"unknown setting '{name}'", where=where, todo=todo)


def named(name: str, what: str) -> Any:
    """What `module:name` stands for, in a setting that names something of the user's. The current directory is looked
    into first, as `python -m` does.

    >>> named("collections:Counter", "the counter")
    <class 'collections.Counter'>
    """
    module, colon, inside = name.partition(":")
    if not (module and colon and inside):
        raise UsageError(f"{what} is named as module:name, not {name!r}", todo="such as my_crawl:MyApplication")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in inside.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module of the user's may raise anything
        raise UsageError(
            f"{what} {name} cannot be loaded: {type(error).__name__}: {error}",
            where=name,
            todo="give the name of a module that Python finds from here, and of what is in it",
        ) from error
    return found


def _value(value: Any, hint: Any, rule: Rule) -> Any:
    """A value as it is kept, or a `ValueError` with what is allowed."""
    if rule.unit is not None:
        value = _plain(value, rule.unit)
    try:
        made = msgspec.convert(value, hint, strict=True)
    except (msgspec.ValidationError, OverflowError):
        raise ValueError(f"give {allowed(hint, rule)}") from None
    for item in _items(made):
        if isinstance(item, str):
            if _odd_surrogate(item):
                raise ValueError("give text: these bytes are no UTF-8")
        elif isinstance(item, (int, float)) and not isinstance(item, bool) and not rule.holds(item):
            raise ValueError(f"give {allowed(hint, rule)}")
    if rule.check is not None and made is not None:
        for item in made if isinstance(made, tuple) else [made]:
            if complaint := rule.check(item):
                raise ValueError(complaint)
    return made


def _plain(value: Any, unit: Unit) -> Any:
    """Texts with a unit as numbers."""
    if isinstance(value, (list, tuple)):
        return [_plain(item, unit) for item in value]
    return quantity(value, unit) if isinstance(value, str) else value


def _items(value: Any) -> Iterator[Any]:
    """The single values of a setting."""
    if isinstance(value, dict):
        for pair in value.items():
            yield from pair
    elif isinstance(value, (list, tuple)):
        yield from value
    else:
        yield value


def allowed(hint: Any, rule: Rule) -> str:
    """What may be given, in words.

    >>> allowed(tuple[float, ...], Rule(at_least=0)), allowed(bool | None, Rule())
    ('a list: a number, at least 0', 'true or false')
    """
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return allowed(next(part for part in parts if part is not type(None)), rule)
    if origin is tuple:
        return f"a list: {allowed(parts[0], rule)}"
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin is dict:
        return "a table of texts"
    word = _WORDS.get(hint, str(getattr(hint, "__name__", hint))) if rule.unit is None else rule.unit
    example = "" if rule.unit is None else f"such as {EXAMPLES[rule.unit]}"
    return ", ".join(part for part in (word, rule.bounds, example) if part)


def _shown(value: Any) -> str:
    """A value for a message: short, and without characters that move a cursor."""
    if isinstance(value, dict):  # headers, whose values may be secrets
        value = list(value)
    text = _userinfo.sub("//…@", repr(value) if isinstance(value, str) else str(value))
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
