"""`weft robots check`: what a robots.txt says about URLs, and which of its lines says so.

In: URLs, or questions as JSON, one per line on standard input. Out: one answer per line, in order, as they
come.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from weft.cli.url import blocks
from weft.errors import UsageError
from weft.parse.robots import Robots, parse_robots, path_of

_EXAMPLE = '{"file": "robots.txt", "agent": "weft", "url": "https://example.org/"}'


def check(
    file: Annotated[Path | None, Parameter(help="a robots.txt file")] = None,
    agent: Annotated[str | None, Parameter(help="product token of the crawler that asks, such as weft")] = None,
    /,
    *,
    jsonl: Annotated[bool, Parameter(help="read questions as JSON, one object per line")] = False,
    directory: Annotated[Path, Parameter(name="--dir", help="where the files of JSON questions lie")] = Path(),
) -> None:
    """Say for each URL on standard input whether a robots.txt allows it.

    The answer to a URL is "allow" or "disallow", the rule that decided (or "no rule") and the URL, parted by
    tabs. With --jsonl there is no FILE and no AGENT: each line is a question with "file", "agent" and "url",
    and is printed with "allowed" and "rule" added.

    Example: echo https://example.org/private/ | weft robots check robots.txt weft
    """
    if jsonl:
        if file is not None:
            raise UsageError("--jsonl takes no FILE and no AGENT", todo="each question names its own")
        answer = _questions(directory)
    else:
        if file is None or agent is None:
            raise UsageError("FILE and AGENT are missing", todo="give both, or --jsonl")
        answer = _urls(file, agent)
    number = 0
    for lines in blocks(sys.stdin.buffer):
        answers = []
        try:
            for number, line in enumerate(lines, number + 1):  # noqa: B020
                answers.append(answer(line, number))
        finally:
            # What was answered before a broken line is not lost.
            sys.stdout.buffer.write("".join(answers).encode("utf-8", "surrogateescape"))
            sys.stdout.buffer.flush()


def _urls(file: Path, agent: str) -> Callable[[str, int], str]:
    """How to answer a URL by one file."""
    robots = parse_robots(_bytes(file), agent)

    def answer(url: str, _number: int) -> str:
        allowed, rule, _ = robots.verdict(path_of(url))
        shown = "no rule" if rule is None else rule.replace("\t", " ")
        return f"{'allow' if allowed else 'disallow'}\t{shown}\t{url}\n"

    return answer


def _questions(directory: Path) -> Callable[[str, int], str]:
    """How to answer a JSON question by the file that it names."""
    # Questions about one file usually come together: a few files suffice, and a large one does not stay for
    # long.
    read = lru_cache(maxsize=16)(_bytes)

    @lru_cache(maxsize=64)
    def robots(file: str, agent: str) -> Robots:
        return parse_robots(read(directory / file), agent)

    def answer(line: str, number: int) -> str:
        where = f"standard input, line {number}"
        try:
            question = json.loads(line)
            file, agent, url = (question[key] for key in ("file", "agent", "url"))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UsageError("this is no question", where=where, todo=f"write such as {_EXAMPLE}") from None
        if not (isinstance(file, str) and isinstance(agent, str) and isinstance(url, str)):
            raise UsageError("file, agent and url must be texts", where=where, todo=f"write such as {_EXAMPLE}")
        try:
            verdict = robots(file, agent).verdict(path_of(url))
        except UsageError as error:
            raise UsageError(error.what, where=where, todo=error.todo) from error
        question |= {"allowed": verdict.allowed, "rule": verdict.rule}
        return json.dumps(question) + "\n"

    return answer


def _bytes(file: Path) -> bytes:
    """The file's bytes, or a clear word on why there are none."""
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot read '{file}' ({reason})", todo="name a readable file") from error
