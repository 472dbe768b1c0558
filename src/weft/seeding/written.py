"""Seeds as they are written. In: URLs. Out: a file with one a line, which `weft crawl --seeds` reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from weft.disk import replace_file, writing


def write_seeds(out: Path, urls: Iterable[str]) -> None:
    """Write seeds, or write them anew: what was there is there until they are whole."""
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        replace_file(out, "".join(f"{url}\n" for url in urls).encode())
