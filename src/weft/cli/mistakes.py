"""What to say about a command that cannot be understood. In: what the parser says. Out: one `UsageError`.

So wrong options look like all other messages: one line, what is wrong, what to do next, exit code 2.
"""

from __future__ import annotations

import difflib
import inspect
from typing import TYPE_CHECKING

from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from weft.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORDS = {"int": "a whole number", "float": "a number", "Path": "a path", "date": "a day such as 2026-03-02"}


def mistake(error: CycloptsError) -> UsageError:
    """What is wrong with the command, in our words."""
    command = " ".join(("weft", *(error.command_chain or ())))
    seek = f"see {command} --help"
    if isinstance(error, UnknownCommandError):
        known = [name for name in error.app or () if not name.startswith("-")]
        return UsageError(f"there is no command {command} {_first(error)}", todo=_meant(_first(error), known, seek))
    if isinstance(error, UnknownOptionError):
        name = error.token.keyword or error.token.value
        options = [known for argument in error.argument_collection if argument.parse for known in argument.names]
        return UsageError(f"{command} has no option {name}", todo=_meant(name.partition("=")[0], options, seek))
    if isinstance(error, UnusedCliTokensError):
        return UsageError(f"{command} takes no further argument: {_first(error)!r}", todo=seek)
    if isinstance(error, RepeatArgumentError):
        return UsageError(f"{error.token.keyword} is given twice", todo="give it once")
    if type(error) is MissingArgumentError and error.argument is not None:
        given = error.keyword is not None or bool(error.argument.tokens)
        name = error.keyword or _name(error)
        return UsageError(f"{name} needs a value" if given else f"{command} needs {name}", todo=seek)
    if isinstance(error, ValidationError) and error.argument is not None:
        name = next((token.keyword for token in error.argument.tokens if token.keyword), None) or _name(error)
        return UsageError(f"{name} cannot be {error.argument.value}", todo=error.exception_message)
    if isinstance(error, CoercionError) and error.token is not None and error.msg is None:
        return _wrong_value(error, seek)
    return UsageError(" ".join(str(error).split()).removesuffix("."), todo=seek)


def _wrong_value(error: CoercionError, seek: str) -> UsageError:
    assert error.token is not None
    name = error.token.keyword or _name(error)
    value = error.token.value
    choices = [] if error.argument is None else list(error.argument.get_choices(force=True) or ())
    if choices:
        return UsageError(
            f"{name} cannot be {value!r}", todo=_meant(value, choices, f"choose one of: {', '.join(choices)}")
        )
    kind = getattr(error.target_type, "__name__", "")
    return UsageError(f"{name} cannot be {value!r}", todo=f"give {_WORDS[kind]}" if kind in _WORDS else seek)


def _name(error: CycloptsError) -> str:
    """An option by its name, an argument as the help writes it."""
    argument = error.argument
    if argument is None:
        return "an argument"
    return argument.name if argument.field_info.kind is inspect.Parameter.KEYWORD_ONLY else argument.name.upper()


def _first(error: CycloptsError) -> str:
    return (error.unused_tokens or [""])[0]


def _meant(name: str, known: Iterable[str], otherwise: str) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else otherwise
