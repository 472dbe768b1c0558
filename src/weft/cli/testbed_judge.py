"""`weft testbed judge`: how crawlers did, by the word of the servers that they crawled."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from weft.cli.bounds import within
from weft.cli.options import flags_of
from weft.cli.testbed import USUAL, WEB_SECTIONS, AnySource, web_of
from weft.disk import replace_file, writing
from weft.errors import UsageError
from weft.testbed.judge.page import made_page
from weft.testbed.judge.verdict import judge as judged

_LOGS = "Logs of the servers, one for each crawler, as NAME=LOG; without a name the crawler is called as the file is."
JudgeFlags = flags_of("JudgeFlags", WEB_SECTIONS)


def judge(
    *logs: Annotated[str, Parameter(help=_LOGS)],
    source: AnySource = USUAL,
    requests: Annotated[
        int | None,
        Parameter(
            help="Judge by the first so many requests of each log, so that slow crawlers compare.",
            validator=within(at_least=1),
        ),
    ] = None,
    out: Annotated[
        Path | None, Parameter(help="The page to write; judged.html in the current directory if not given.")
    ] = None,
    json: Annotated[bool, Parameter(help="Print the numbers as JSON, and write no page.", negative=())] = False,
    flags: Any = JudgeFlags(),  # noqa: B008  every field is None
) -> int:
    """Judge crawlers by the servers' log alone: one HTML page, or JSON.

    Good pages found of those that could be, repeats and copies, what each hazard cost, politeness by site, domain and
    address, robots.txt, and PageRank gathered by requests and by time. Give the options that the web was served with.
    What each number means, and what servers cannot see, is in docs/testbed.md.

    For example:

        weft testbed judge --standard mixed weft=weft.tsv scrapy=scrapy.tsv --out judged.html
    """
    named = _named(logs)
    web = web_of(flags, source)
    if web.world is not None:
        raise UsageError("a web that changes is judged by time", todo="use `weft testbed delays`")
    found = judged(web, named, name=source.standard or "", first=requests)
    if json:
        print(msgspec.json.encode(found).decode())
        return 0
    path = out or Path("judged.html")
    with writing(path):
        replace_file(path, made_page(found).html().encode())
    for name, each in found["crawlers"].items():
        if each["cut"]:
            print(f"weft: the last line of the log of {name} is not whole, and was left out", file=sys.stderr)
    print(f"weft: {path} has the judgement of {', '.join(named)}", file=sys.stderr)
    return 0


def _named(logs: tuple[str, ...]) -> dict[str, Path]:
    """The logs by the names of their crawlers."""
    if not logs:
        raise UsageError(
            "no log is given", todo="give what `weft testbed serve --log` wrote, as NAME=LOG for each crawler"
        )
    named: dict[str, Path] = {}
    for text in logs:
        name, mark, path = text.partition("=")
        if not mark or not name or Path(text).exists():
            name, path = Path(text).stem, text
        if name in named:
            raise UsageError(f"two logs are called '{name}'", where=text, todo="name them: FIRST=LOG SECOND=LOG")
        named[name] = Path(path)
    return named


judge.__annotations__["flags"] = Annotated[JudgeFlags, Parameter(name="*")]
