"""When a log is closed, and what becomes of it. In: a log that grows. Out: checkpoints, made by a process beside the
crawl, and no more log than changed since the last one.

1. The log has grown beyond a bound: the next commit begins another file (`FrontierLog.pack`).
2. Two further commits are on disk, so that nothing that the closed file says can be taken back: a process is started
   that folds it into a checkpoint (`checkpoint`).
3. That is there: pages and robots.txt files are read from its segments from now on, which is told to those who know
   places, some thousand at a commit.
4. Two further commits are on disk: the checkpoint before, and the log, are removed.

The loop never waits for any of it. A crash at any step leaves a checkpoint and the logs that are not in it; the next
run goes on with 2. A process that is killed is started again when the log has grown once more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np

from weft.errors import WeftError
from weft.frontier.durable.chain import TOLD, Base
from weft.frontier.durable.log import Extent, FrontierLog
from weft.frontier.durable.past import ROBOTS, SCHEMES
from weft.frontier.local.robots import RobotsFiles
from weft.store.files import SETTLED

AFTER = 64 << 20  # bytes of a log that are closed at once, at least
_MOVED_AT_ONCE = 10_000  # robots.txt files whose places are told anew at one commit


class Rolling:
    """The checkpoints of one local frontier."""

    def __init__(self, log: FrontierLog, robots: RobotsFiles, *, after: int, say: Callable[[str], None]) -> None:
        self._log = log
        self._robots = robots
        self._after = after
        self._say = say
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0  # of the checkpoint that is being made
        self._since = 0  # commits since the log began that grows
        self._moves: Iterator[None] | None = None  # places are being told anew
        self._removed_in = -1  # commits until what a checkpoint stands for is removed
        self._not_below = 0  # bytes of a log below which it is not tried again
        self.hurry = False  # is a checkpoint waited for?
        self.taken = 0  # checkpoints, since the start of this process

    def __repr__(self) -> str:
        return f"Rolling({self._log}, {self.taken} checkpoints)"

    def go_on(self) -> None:
        """The log was read back."""
        self._since = SETTLED if self._log.settled() else 0

    def closes(self) -> bool:
        """Is the log closed by the commit that is packed now?"""
        base = self._log.base
        tables = 0 if base is None else sum(file.length for file in base.manifest.files.values())
        enough = 1 if self.hurry else max(self._after, tables)
        if self._log.closed or self._clearing or self._log.size < enough:
            return False
        self.hurry = False
        self._since = 0
        return True

    @property
    def _clearing(self) -> bool:
        """Is what a checkpoint stands for still there? What is removed then is told by the files that count: another
        checkpoint must not be under way.
        """
        return self._moves is not None or self._removed_in >= 0

    def look(self) -> None:
        """On the loop, before a commit: take up a checkpoint that is there, and tell places anew."""
        if self._process is not None and self._process.poll() is not None:
            self._take_up(self._process)
            self._process = None
        if self._moves is not None and next(self._moves, _END) is _END:
            self._moves = None
            self._log.retire()
            self._removed_in = SETTLED

    def written(self) -> None:
        """A commit is on disk."""
        self._since += 1
        if self._removed_in > 0:
            self._removed_in -= 1

    def work(self, applied: int) -> None:
        """Beside the loop, behind a commit: start a process that is due, remove what nobody needs."""
        if self._removed_in == 0:
            self._removed_in = -1
            self._log.tidy()
        settled = self._log.closed and self._since >= SETTLED
        if settled and self._process is None and not self._clearing and self._log.size >= self._not_below:
            self._number = self._log.number
            command = [sys.executable, "-m", "weft.frontier.durable.checkpoint", str(self._log.path), str(applied)]
            self._process = subprocess.Popen(  # noqa: S603
                [*command, str(os.getpid())], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
            )

    def close(self) -> None:
        """Make no more checkpoints."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None
            self._log.tidy()

    def _take_up(self, process: subprocess.Popen[bytes]) -> None:
        said = b"" if process.stdout is None else process.stdout.read()
        if process.stdout is not None:
            process.stdout.close()
        if process.returncode == TOLD:
            raise WeftError(f"no checkpoint can be made: {said.decode(errors='replace').strip()}")
        if process.returncode != 0:
            self._not_below = self._log.size + self._after
            how = f"signal {-process.returncode}" if process.returncode < 0 else f"exit code {process.returncode}"
            self._say(f"no checkpoint was made: its process ended by {how}; it is tried again when the log has grown")
            self._log.tidy()  # half a checkpoint may be there
            return
        base = Base(self._log.path, self._number)
        self._log.adopt(base)
        self._moves = self._tell_places(base)
        self.taken += 1

    def _tell_places(self, base: Base) -> Iterator[None]:
        """Tell where robots.txt files stand that have moved, some at a time."""
        table = np.frombuffer(base.read("robots"), ROBOTS)
        self._robots.rebase(table, base.manifest.agents)
        moved = table[table["file"] == base.manifest.number]
        for start in range(0, len(moved), _MOVED_AT_ONCE):
            some = moved[start : start + _MOVED_AT_ONCE]
            extents = zip(some["at"].tolist(), some["length"].tolist(), strict=True)
            owners = zip(some["site"].tolist(), some["scheme"].tolist(), strict=True)
            for (number, scheme), extent in zip(owners, extents, strict=True):
                self._robots.moved(number, SCHEMES[scheme], Extent(f"{base.manifest.number}.robots", *extent))
            yield


_END = object()
