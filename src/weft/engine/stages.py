"""The stages of a crawl, ready to run. In: stages and their settings. Out: what looks at a page; and what the process
apart must know to do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from weft.parse.stage import Stage


class Stages:
    """The stages of one crawl, ready to run; what weft does itself is not among them."""

    def __init__(self, stages: Sequence[tuple[str, Stage, Any]] = ()) -> None:
        self.stages = tuple(stage for _, stage, _ in stages)
        self.runs = tuple(stage.runner(settings) for _, stage, settings in stages)
        self.orders = [
            (name, b"" if settings is None else msgspec.msgpack.encode(settings)) for name, _, settings in stages
        ]

    def __repr__(self) -> str:
        return f"Stages({', '.join(stage.name for stage in self.stages)})"

    def __bool__(self) -> bool:
        return bool(self.stages)
