"""All of it, from a scale to a report. In: how large, where to. Out: a directory, and its values."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from weft.errors import UsageError
from weft.reproduce import live, real
from weft.reproduce.experiments import tasks
from weft.reproduce.report import check_replaceable, write_report
from weft.reproduce.run import Told, do_all
from weft.reproduce.scale import Scale
from weft.reproduce.values import Values, collect


def reproduce(
    scale: Scale, out: Path, *, data: Path | None = None, processes: int = 2, crawl: bool = True, tell: Told
) -> Values:
    """Do everything, and write the report; without `crawl`, no live crawls."""
    began = time.perf_counter()
    scale.check()
    check_replaceable(out)
    if processes < 1:
        raise UsageError(f"{processes} processes were asked for", todo="give at least one")
    notes = _look_for(data)
    present = data if data is not None and real.find(data) else None
    with _workshop(out) as folder:
        # First, while nothing else is going on: a crawl's time is real.
        validated = live.validate(scale.live_pages) if crawl else None
        found = do_all(tasks(scale, present), folder, processes, tell)
    values = collect(found, scale)
    values["notes"] = notes
    values["live"] = validated
    values["took"] = time.perf_counter() - began
    write_report(json.loads(json.dumps(values)), out)
    return values


def _look_for(data: Path | None) -> list[str]:
    """What is missing of the real graphs."""
    if data is None:
        return ["No real graphs were given (--data)."]
    if not data.is_dir():
        raise UsageError("there is no such directory", where=str(data), todo="leave --data out, or give another one")
    here = real.find(data)
    missing = [kind.name for kind in real.KINDS if kind.name not in here]
    return [f"Real graphs that are not in {data.name}: {', '.join(missing)}."] if missing else []


@contextlib.contextmanager
def _workshop(out: Path) -> Iterator[Path]:
    """A directory for the graphs, beside the report, while the work goes on."""
    folder = out.absolute().with_name(f".{out.name}.graphs")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
