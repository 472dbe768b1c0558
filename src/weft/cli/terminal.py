"""Where the commands print tables and colours. In: what to show. Out: text on a terminal, in a pipe or in a file.

Nothing printed here is read as markup: seeds, paths, titles and messages come from outside, and may have brackets in
them. A reader that goes away ends the command quietly (see `weft.cli.main`).
"""

from __future__ import annotations

from typing import Any

import rich.console


class Terminal(rich.console.Console):
    """rich's, without markup and highlighting."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False} | options)

    def on_broken_pipe(self) -> None:
        """Leave it to the command line: rich would end with code 1."""
        raise BrokenPipeError
