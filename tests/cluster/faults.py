"""What goes wrong, drawn from a seed. In: a random number generator. Out: a plan: what happens to whom, and when.

A plan has at least seven faults of at least three kinds. One that finds nobody to happen to (all workers are dead just
then) is tried again a little later; where fewer than five come to pass others are added, as long as the crawl runs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

# Each kind, and how often it is drawn in relation to others.
KINDS: dict[str, float] = {
    "kill": 3.0,  # a process, at any step
    "kill at a moment": 3.0,  # between pack, write and written; while it is asked or answered; before orders are obeyed
    "kill by a sync": 2.0,  # in the middle of whatever writes files
    "power": 2.0,  # a machine: what was not synced is lost, or cut anywhere
    "lying disk": 1.5,  # the same, and up to two commits that were synced
    "lost request": 2.0,  # of an exchange
    "lost answer": 2.0,  # of an exchange that was carried out
    "repeated": 2.0,  # an exchange is carried out twice
    "cut off": 2.0,  # from the global frontier, longer than a lease
    "wall clock": 2.0,  # is set, forwards or back
    "slow disk": 1.5,  # commits take seconds, and exchanges up to one
    "stall": 1.5,  # a process does not run for a while
    "sleep": 1.0,  # a machine sleeps
    "slow processor": 1.0,  # every look at the clock takes a millisecond
    "fewer workers": 1.5,
    "more workers": 1.0,
    "crash": 1.0,  # of everything but the global frontier: the same command is given again
    "hand-over killed": 1.0,  # the number of workers changes, and what hands over dies in the middle
}
MOMENTS = ("packed", "writing", "wrote", "written", "asked", "heard", "obeying", "obeyed", "recovered", "paused")
LATE = 0.3  # of the faults are drawn for the second half of a crawl, where little is left to do
PLANNED = 7  # faults, at least
LEAST, LEAST_KINDS = 5, 3  # that come to pass
ALWAYS = ("kill", "power", "slow disk", "stall", "wall clock")  # what can happen to anybody at any time


@dataclass(slots=True)
class Fault:
    """Something that goes wrong."""

    at: float  # seconds from the beginning
    kind: str
    worker: int
    how: str = ""
    amount: float = 0.0


def draw(chance: random.Random, workers: int) -> list[Fault]:
    """A plan of faults."""
    names, weights = list(KINDS), list(KINDS.values())
    kinds: list[str] = []
    while len(set(kinds)) < LEAST_KINDS:
        kinds = chance.choices(names, weights, k=chance.randint(PLANNED, PLANNED + 3))
    faults = [_fault(kind, chance, workers) for kind in kinds]
    return sorted(faults, key=lambda fault: fault.at)


def _fault(kind: str, chance: random.Random, workers: int) -> Fault:
    at = chance.uniform(7.0, 25.0) if chance.random() < LATE else chance.uniform(0.3, 7.0)
    fault = Fault(at, kind, chance.randrange(workers))
    if kind == "kill at a moment":
        fault.how = chance.choice(MOMENTS)
    elif kind == "lying disk":
        fault.how = chance.choice(("", "moved"))  # at once, or when a group was given away
    elif kind == "kill by a sync":
        fault.amount = chance.randint(0, 12)
    elif kind == "hand-over killed":
        fault.amount = chance.randint(0, 7)
    elif kind in ("lost request", "lost answer", "repeated"):
        fault.amount = chance.randint(1, 3)
    elif kind == "cut off":
        fault.amount = chance.uniform(4.5, 7.0)
    elif kind == "wall clock":
        fault.amount = chance.choice((-7200.0, -3600.0, -20.0, -3.0, 2.0, 30.0, 3600.0))
    elif kind == "slow disk":
        fault.amount = chance.uniform(2.0, 6.0)
    elif kind in ("stall", "sleep"):
        fault.amount = chance.choice((0.5, 2.0, 5.0, 9.0))
    elif kind == "slow processor":
        fault.amount = chance.uniform(1.0, 5.0)
    elif kind == "crash":
        fault.amount = chance.uniform(0.2, 3.0)
    return fault
