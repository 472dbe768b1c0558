"""What can go wrong because of the user or the machine, said so that a person knows what to do next.

Every message has three parts: what happened, where, and what to do. The command line prints it as one paragraph and
ends with the error's exit code: 2 for misuse, 1 for a failure. A page that cannot be fetched is no error: it is a
`Reason` in the record (see `weft.model`).

>>> print(UsageError("unknown setting 'wiat'", where="crawl.toml, line 3", todo="did you mean 'wait'?"))
unknown setting 'wiat' (crawl.toml, line 3): did you mean 'wait'?
"""

from __future__ import annotations


class WeftError(Exception):
    """A failure with a message for a person: what happened, where, what to do next."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", todo: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.todo = todo

    def __str__(self) -> str:
        text = f"{self.what} ({self.where})" if self.where else self.what
        return f"{text}: {self.todo}" if self.todo else text


class UsageError(WeftError):
    """The command, a setting or an input file is wrong; nothing was done."""

    exit_code = 2


def no_crawl(where: str) -> UsageError:
    """What to say where a crawl's directory was to be, and is not."""
    if where.startswith(("postgresql:", "postgres:", "env:")):
        return UsageError(
            "a database has no files of a crawl: they are where its nodes are",
            where=where,
            todo="give the directory of a node, there",
        )
    return UsageError("there is no crawl here", where=where, todo="give the directory of a crawl (its --out)")
