"""What Python programs are told of weft, made from the code. In: settings, signatures, docstrings. Out: the module of
typed keywords, and the page of the reference.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
import typing
from typing import Any

import weft
from weft.cli.options import TITLES, sentence
from weft.config import SECTIONS, Settings
from weft.frontier.overrides import SiteSettings

_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


PARAMETERS = ("application",)
"""Settings that `weft.crawl` has as parameters of its own: they may be more there."""


def keywords() -> str:
    """The module of the settings as typed keywords, which is generated too."""
    lines = [
        '"""The settings as keywords of `weft.crawl`, so that editors and type checkers know them.',
        "",
        "Written by `make docs` from the settings themselves. Change those, not this file.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Literal, TypedDict",
        "",
        "",
        "class SiteKeywords(TypedDict, total=False):",
        '    """What can be set for one site, or for all under a domain."""',
        "",
        *_keywords_of(SiteSettings),
        "",
        "",
        "class Keywords(TypedDict, total=False):",
        '    """Every setting of a crawl."""',
    ]
    for section in SECTIONS:
        lines += ["", f"    # {TITLES[section]}.", "", *_keywords_of(type(getattr(Settings(), section)))]
    return "\n".join(lines) + "\n"


def _keywords_of(held: Any) -> list[str]:
    """A line for each setting of a section; its documentation stands where editors look for it."""
    kinds = typing.get_type_hints(held)
    lines = []
    for known in dataclasses.fields(held):
        if known.name in PARAMETERS:
            continue
        lines.append(f"    {known.name}: {_keyword(kinds[known.name])}")
        lines += textwrap.wrap(
            f'"""{sentence(known.metadata["doc"])}"""', 116, initial_indent="    ", subsequent_indent="    "
        )
    return lines


def _keyword(kind: Any) -> str:
    """A setting's type as a caller may give it: a list is as good as a tuple. A text with a unit is understood too,
    but a type checker that let every text pass would find no mistake.
    """
    shown = kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind).replace("typing.", "")
    shown = re.sub(r"Optional\[(.*)\]", r"\1 | None", shown).replace("'", '"')
    return re.sub(r"tuple\[([\w |]+), \.\.\.\]", r"list[\1] | tuple[\1, ...]", shown)


def api_page(note: str) -> str:
    """The page of what `import weft` gives, from signatures and docstrings."""
    lines = [
        f"{note}# From Python",
        "",
        (
            "What `import weft` gives. `crawl` and `crawl_async` take every [setting](settings.md) as a keyword, with "
            "its type: `help(weft.crawl)` tells, and so do editors and type checkers. "
            "[How to …](../how-to.md#crawl-from-python) has recipes, and [reading](../reading.md) says how to read "
            "what came of a crawl."
        ),
        "",
    ]
    crawling = ("crawl", "crawl_async", "Summary", "Application", "FetchedPage", "Request", "Together")
    for name in (*crawling, "open", "Crawl", "Rows", "Content", "Texts"):
        lines += _api_entry(name, getattr(weft, name))
    return "\n".join(lines).rstrip() + "\n"


def _api_entry(name: str, what: Any) -> list[str]:
    if inspect.isfunction(what):
        began = "async def" if inspect.iscoroutinefunction(what) else "def"
        return [f"## {name}", "", "```python", *_signature(began, name, what), "```", "", _doc(what), ""]
    lines = [f"## {name}", ""]
    if "__init__" in vars(what) and name != "FetchedPage":
        lines += ["```python", *_signature("class", name, what), "```", ""]
    lines += [_doc(what), ""]
    members = [(member, found) for member, found in vars(what).items() if not member.startswith("_")]
    rows = [
        f"| `{member}` | {_cell(_shown_type(found))} | {_doc(found)} |".replace("\n", " ")
        for member, found in members
        if isinstance(found, property) and member != "special"
    ]
    if dataclasses.is_dataclass(what):
        remarks = _remarks(what)
        rows = [
            f"| `{known.name}` | {_cell(known.type)} | {remarks[known.name]} |" for known in dataclasses.fields(what)
        ]
    if rows:
        lines += ["| attribute | type | meaning |", "| --- | --- | --- |", *rows, ""]
    for member, found in members:
        if inspect.isfunction(found):
            lines += [
                f"### {name}.{member}",
                "",
                "```python",
                *_signature("def", member, found),
                "```",
                "",
                _doc(found),
                "",
            ]
    return lines


def _signature(began: str, name: str, what: Any) -> list[str]:
    signature = inspect.signature(what)
    parameters: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not any(each[0] == "*" for each in parameters):
            parameters.append("*")
        stars = _STARS.get(parameter.kind, "")
        default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
        parameters.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    returned = signature.return_annotation
    end = ")" if began == "class" or returned is inspect.Signature.empty else f") -> {returned}"
    short = f"{began} {name}({', '.join(parameters)}{end}"
    if len(short) <= 100:
        return [short]
    return [f"{began} {name}(", *(f"    {parameter}," for parameter in parameters), end]


def _shown_type(found: Any) -> str:
    return str(inspect.signature(found.fget).return_annotation)


def _cell(kind: object) -> str:
    return f"`{str(kind).replace(' | ', ' or ')}`"


def _remarks(what: Any) -> dict[str, str]:
    """What stands behind the fields of a class, as comments."""
    found = re.findall(r"^    (\w+): [^\n]*?  # ?:? ?(.*)$", inspect.getsource(what), re.MULTILINE)
    return {known.name: dict(found).get(known.name, "") for known in dataclasses.fields(what)}


def _doc(what: Any) -> str:
    return inspect.getdoc(what) or ""
