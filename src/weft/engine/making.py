"""Applications by name. In: `module:Class`, and options. Out: an application that is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.engine.hosting import check_application, described
from weft.errors import UsageError
from weft.settings import named


def made(name: str, options: Iterable[str] = ()) -> Any:
    """An application by the name of its class, or of whatever makes one, made with these options (name=value)."""
    make, given = named(name, "the application"), {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"an option of an application is name=value, not {option!r}", where="application_options")
        given[key] = value
    try:
        application = make(**given)
    except Exception as error:  # the same
        raise UsageError(f"the application {name} cannot be made: {described(error)}", where=name) from error
    check_application(application)
    return application
