"""Applications that come with weft: `weft.applications:Focused`, `weft.applications:Recrawl`.

They are made as one's own would be, by name (`weft crawl --application`) or as objects, and have nothing that one's own
could not have. What a focused crawl is about is written in words (`wording`), of terms that are functions (`criteria`).
"""

from __future__ import annotations

from weft.applications.focused import Focused
from weft.applications.recrawl import Recrawl

__all__ = ["Focused", "Recrawl"]
