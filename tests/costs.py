"""What work costs, on any machine and beside any load: no limit is in seconds.

In: the work. It is compared with other work in the same process: with a small piece of the same kind
(`check_linear`), or with steps of a loop in Python (`check_costs`). Margins are wide, CPU time is what counts, and only
what is too dear time after time fails: load makes work dearer now and then, a bad algorithm always.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

Piece = TypeVar("Piece")
TIMES = 64  # so many times the small piece
MOST = 8 * TIMES  # it may cost so many times as much; what is quadratic costs TIMES * TIMES times as much
ATTEMPTS = 6
STEPS = 20_000  # of the loop that work is compared with


def seconds(work: Callable[[], object]) -> float:
    """CPU time of this thread. Objects are not counted and looked through meanwhile: that takes the longer, the more
    other tests have left.
    """
    gc.disable()
    try:
        began = time.thread_time()
        work()
        return time.thread_time() - began
    finally:
        gc.enable()


def check_linear(make: Callable[[int], Piece], work: Callable[[Piece], object], *, size: int) -> None:
    """Work on a piece of this size costs at most a few times as much, byte for byte, as on a small one."""
    small, large = make(size // TIMES), make(size)
    work(small)  # what is compiled is loaded, and what is filled once is filled
    ratio = 0.0
    for _ in range(ATTEMPTS):
        ratio = seconds(lambda: work(large)) / max(min(seconds(lambda: work(small)) for _ in range(5)), 1e-6)
        if ratio < MOST:
            return
    raise AssertionError(f"{TIMES} times as much costs {ratio:.0f} times as much")


def check_costs(work: Callable[[], object], *, steps: int) -> None:
    """Work costs no more than so many steps of a loop in Python; a step takes some 30 ns where computers are fast."""
    work()
    cost = 0.0
    for _ in range(ATTEMPTS):
        cost = seconds(work) / seconds(_loop) * STEPS
        if cost < steps:
            return
    raise AssertionError(f"it costs {cost:,.0f} steps, and may cost {steps:,}")


def _loop() -> None:
    total = 0
    for step in range(STEPS):
        total += step
