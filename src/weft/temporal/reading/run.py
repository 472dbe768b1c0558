"""All logs at once. In: logs, and how to read them. Out: `Views` and `Taken`.

The same logs in any order, split over files in any way, give the same views. Everything that does not fit into memory
lies in a scratch folder, which is gone afterwards, whatever happens.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from weft.clock import Clock, SystemClock
from weft.disk import writing
from weft.errors import UsageError
from weft.temporal.reading.counting import Intake, count, gather, views_of
from weft.temporal.reading.database import Database
from weft.temporal.reading.fates import Taken, Tally
from weft.temporal.reading.forms import is_parquet
from weft.temporal.reading.options import Reading
from weft.temporal.reading.parts import take
from weft.temporal.reading.progress import Progress
from weft.temporal.reading.times import DAY, SECOND
from weft.temporal.views import Views

# Of the time, by and large; Parquet logs are not gone through beforehand.
_SHARES = {"logs": 6.0, "spellings": 4.0, "pages": 3.0, "names": 2.0, "counting": 2.0}

SCRATCH = ".weft-"  # how the names of folders with temporary files begin

Tell = Callable[[int, int], None]


def read_views(
    logs: Sequence[Path],
    reading: Reading,
    progress: Tell | None = None,
    *,
    scratch: Path | None = None,
    clock: Clock | None = None,
) -> tuple[Views, Taken]:
    """Views of all pages over the floor, and what was dropped; temporary files go below `scratch`."""
    with taking_in(logs, reading, progress, scratch=scratch, clock=clock) as intake:
        count(intake, reading)
        return views_of(intake.db, intake.window, reading, intake.taken), intake.taken


@contextmanager
def taking_in(
    logs: Sequence[Path], reading: Reading, tell: Tell | None, *, scratch: Path | None, clock: Clock | None
) -> Iterator[Intake]:
    """The rows of all logs in a database, as long as it is needed."""
    reading.check()
    _check_files(logs)
    latest = int((clock or SystemClock()).wall() * SECOND) + DAY
    text = sum(not is_parquet(log) for log in logs) / len(logs)
    progress = Progress(tell, {**_SHARES, "logs": text * _SHARES["logs"]})
    with scratch_folder(scratch) as folder, Database(folder, reading) as db:
        parts, tally = [], Tally()
        for number, log in enumerate(logs):
            part, fates = take(log, reading, latest, folder, progress.stage("logs", number, len(logs)))
            parts.append(part)
            tally.add(fates)
        taken = Taken.of(tally, len(logs))
        window, days, timed = gather(db, parts, reading, taken)
        yield Intake(db, folder, window, days, timed, taken, progress)


def _check_files(logs: Sequence[Path]) -> None:
    if not logs:
        raise UsageError("there are no logs to read", todo="name at least one file")
    twice = {path for path in logs if [other.resolve() for other in logs].count(path.resolve()) > 1}
    if twice:
        raise UsageError("a log is named twice", where=str(min(twice)), todo="name it once")


@contextmanager
def scratch_folder(near: Path | None) -> Iterator[Path]:
    """A folder for temporary files, below another one or where the system has them."""
    with writing(near or Path(tempfile.gettempdir())):
        if near is not None:
            near.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix=SCRATCH, dir=near, ignore_cleanup_errors=True)
    with folder as name:
        yield Path(name)
