"""What the operator can do. In: a form. Out: what came of it, in a sentence.

Each is one function of `weft.manage`, which the command of the same name calls, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from weft.app import usable_seeds
from weft.errors import UsageError
from weft.manage import Managed

Form = Mapping[str, str]
_MOST_NAMED = 5  # seeds that cannot be used


def _pause(managed: Managed, _form: Form) -> str:
    managed.pause()
    return f"Paused. {managed.in_force()}"


def _resume(managed: Managed, _form: Form) -> str:
    managed.resume()
    return f"Resumed. {managed.in_force()}"


def _stop(managed: Managed, form: Form) -> str:
    if form.get("sure") != "yes":
        raise UsageError("nothing was stopped", todo="tick the box beside the button")
    if not managed.running:
        return "The crawl is not running."
    managed.stop()
    return "Told to stop: pages under way are finished, everything is written."


def _speed(managed: Managed, form: Form) -> str:
    target = _given(form, "speed")
    managed.set_speed(target)
    return f"The target is {managed.speed}. {managed.in_force()}"


def _workers(managed: Managed, form: Form) -> str:
    text = _given(form, "workers")
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise UsageError(f"workers cannot be {text!r}", todo="give a whole number")
    managed.set_workers(int(text))
    return f"{int(text)} workers, within seconds."


def _blacklist(managed: Managed, form: Form) -> str:
    added, removed = managed.change_blacklist(add=_lines(form, "add"), remove=_lines(form, "remove"))
    return f"{len(added):,} rules added, {len(removed):,} removed. {managed.in_force()}"


def _seeds(managed: Managed, form: Form) -> str:
    usable, unusable = usable_seeds(_lines(form, "seeds"), where="the form")
    managed.add(usable)
    skipped = f" {len(unusable):,} skipped: {'; '.join(unusable[:_MOST_NAMED])}." if unusable else ""
    return f"{len(usable):,} {'seed' if len(usable) == 1 else 'seeds'} added. {managed.in_force()}{skipped}"


def _leave(managed: Managed, form: Form) -> str:
    text = _given(form, "node")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UsageError(f"a node cannot be {text!r}", todo="give its number")
    return f"Node {managed.leave(int(text))} was told to leave: it finishes its pages and hands over what it holds."


ACTIONS: dict[str, Callable[[Managed, Form], str]] = {
    "pause": _pause,
    "resume": _resume,
    "stop": _stop,
    "speed": _speed,
    "workers": _workers,
    "blacklist": _blacklist,
    "seeds": _seeds,
    "leave": _leave,
}


def _given(form: Form, name: str) -> str:
    text = form.get(name, "").strip()
    if not text:
        raise UsageError(f"{name} needs a value", todo="fill the field in")
    return text


def _lines(form: Form, name: str) -> list[str]:
    return [line.strip() for line in form.get(name, "").splitlines() if line.strip()]
