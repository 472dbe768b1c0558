"""How far the files of a worker are committed. In: the path of its frontier's log. Out: the marks of its last commit.

For who reads a crawl's files beside it, or after it was killed: what lies behind a mark was never promised. Only the
lengths of records are looked at, and the last one is read; nothing is replayed, and nothing is changed.
"""

from __future__ import annotations

import os
from pathlib import Path

from weft.frontier.durable.chain import open_chain
from weft.frontier.durable.records import Commit, LogFile, places, record_at
from weft.store.files import Mark

_KEPT = 3  # the last records, of which one that is being written may not be whole


def committed_marks(log: Path) -> dict[str, Mark]:
    """How far every open file of a worker is valid; one that is not named has nothing yet that counts. Nothing is known
    to who may not read the log, which of some crawls only its owner may.
    """
    if not log.exists() or not os.access(log, os.R_OK):
        return {}
    chain = open_chain(log)
    try:
        for file in reversed(chain.logs):
            last = _last(file)
            if last is not None:
                return last.marks
        return {} if chain.base is None else chain.base.manifest.last.marks
    finally:
        chain.close()


def _last(log: LogFile) -> Commit | None:
    """The last commit of a log that is whole."""
    size = os.fstat(log.file).st_size
    for at in reversed([*places(log.file, log.begin, size)][-_KEPT:]):
        record = record_at(log.file, at, size)
        if record is not None:
            return record.commit()
    return None
