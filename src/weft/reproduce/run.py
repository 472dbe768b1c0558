"""Many tasks in few processes. In: tasks. Out: what came of each, by key.

Processes are started afresh (spawn), take one task at a time, the longest first, and die with their parent. The first
task that fails ends everything.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from weft.processes import die_with_parent
from weft.reproduce.simulations import Found, Make, Read, Task, perform

Told = Callable[[int, int, str, float], None]
"""Called after each task: how many are done, how many there are, its key, and the seconds it took."""

_SLOW = ("batch", "partial")  # orderings that compute PageRank again and again


def do_all(tasks: Sequence[Task], folder: Path, processes: int, tell: Told) -> dict[str, Found]:
    """Do all tasks; webs go before the crawls of them."""
    keys = [task.key for task in tasks]
    assert len(keys) == len(set(keys)), "two tasks have the same key"
    found: dict[str, Found] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=die_with_parent, initargs=(os.getpid(),)) as pool:
        webs = [task for task in tasks if isinstance(task, Make | Read)]
        rest = [task for task in tasks if not isinstance(task, Make | Read)]
        try:
            for some in (webs, rest):
                waiting: dict[Future[Found], str] = {
                    pool.submit(perform, task, folder): task.key for task in sorted(some, key=_length, reverse=True)
                }
                while waiting:
                    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                        key = waiting.pop(future)
                        found[key] = future.result()
                        tell(len(found), len(tasks), key, found[key]["took"])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return found


def _length(task: Task) -> tuple[int, int]:
    """About how long a task takes, to begin with the longest."""
    if isinstance(task, Make | Read):
        return task.recipe.pages if isinstance(task, Make) else 0, 0
    return int(task.graph.startswith(("main/", "even/"))), int(task.ordering in _SLOW)
