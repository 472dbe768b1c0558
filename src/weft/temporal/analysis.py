"""The way through, from logs to files. In: logs, a place, and what is asked for. Out: the place filled, and a summary.

Two ways in, one way on: `analyse` reads all logs at once, `update` adds some days of logs to those that a directory
holds. Behind that, each step is a function of the steps before it (see the package), so both give the same for the same
logs. What labelled pages teach is learned before pages are labelled and sites ranked, so that these follow it.

Invariant: the place changes at the very end, as a whole. Whatever happens before, what was there stays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from weft.disk import replacing, writing
from weft.errors import UsageError
from weft.temporal.comparing import compare, compare_later
from weft.temporal.curves import fit_curves, paper_curves
from weft.temporal.evaluation import Measures
from weft.temporal.findings import Findings
from weft.temporal.folders import rank_folders
from weft.temporal.hubs import find_hubs, hubs_of
from weft.temporal.labels import Rules, classify
from weft.temporal.learning import Learned, learn
from weft.temporal.output import DAYS, check_no_days, check_replaceable, write_output
from weft.temporal.reading import Reading, Taken, add_days, read_views, views_of_days
from weft.temporal.sites import SiteRules, rank_sites
from weft.temporal.views import Views

Tell = Callable[[str, int, int], None]  # what is being done, how much of it is done, and how much there is


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is asked for."""

    reading: Reading = Reading()
    rules: Rules = Rules()
    sites: SiteRules = SiteRules()
    labelled: Path | None = None  # pages that people have labelled
    against: Path | None = None  # a list of sites to compare with
    later: tuple[Path, ...] = ()  # logs of the days behind the window, to hold lists against
    drawn: tuple[str, ...] = ()  # sites whose Phi(1) is drawn

    def check(self) -> None:
        """Refuse what cannot be done before anything is."""
        self.reading.check()
        self.rules.check()
        self.sites.check()
        for path in (self.labelled, self.against, *self.later):
            if path is not None and not path.is_file():
                raise UsageError("there is no such file", where=str(path), todo="look at its name")

    def settings(self) -> dict[str, Any]:
        """Everything that was asked for, as it can be written down."""
        files = {"labelled": self.labelled, "list": self.against}
        return {
            "reading": asdict(self.reading),
            "rules": asdict(self.rules),
            "sites": asdict(self.sites),
            **{name: None if path is None else str(path) for name, path in files.items()},
            "later": [str(path) for path in self.later],
        }


def analyse(logs: Sequence[Path], out: Path, task: Task, tell: Tell) -> dict[str, Any]:
    """Analyse logs, all at once."""
    task.check()
    with replacing(out, check_no_days) as folder:
        views, taken = read_views(logs, task.reading, partial(tell, "reading"), scratch=folder)
        return write_output(find(views, taken, task, tell), folder)


def update(out: Path, logs: Sequence[Path], task: Task, tell: Tell, *, again: bool) -> dict[str, Any]:
    """Add days of logs to those of earlier updates, and analyse them all; `again` replaces days that are there."""
    task.check()
    with replacing(out, _check_grows) as folder:
        days = folder / DAYS
        _link(out / DAYS, days)
        taken = add_days(days, logs, task.reading, partial(tell, "reading"), again=again)
        return write_output(find(views_of_days(days, task.reading), taken, task, tell), folder)


def _check_grows(out: Path) -> None:
    """Refuse a place whose days are not known."""
    check_replaceable(out)
    if (out / "summary.json").exists() and not (out / DAYS).is_dir():
        todo = "begin another directory by `weft temporal update` with all logs"
        raise UsageError("this analysis was made at once and cannot grow by days", where=str(out), todo=todo)


def _link(old: Path, new: Path) -> None:
    """The days that are there, in the new directory too: they are written once and never changed."""
    with writing(new):
        new.mkdir()
        for path in sorted(old.iterdir()) if old.is_dir() else ():
            os.link(path, new / path.name)


def find(views: Views, taken: Taken, task: Task, tell: Tell) -> Findings:
    """Everything that is to be found in some views."""
    steps = ("labelling pages", "fitting curves", "ranking sites", "writing")

    def begin(step: str) -> None:
        tell(step, steps.index(step), len(steps))

    begin("labelling pages")
    learned = _labelled(views, task)
    labels = learned.labels
    begin("fitting curves")
    curves = (paper_curves if task.rules.method == "paper" else fit_curves)(views, labels)
    begin("ranking sites")
    hub = find_hubs(views, labels)
    ranking = rank_sites(views, labels, learned.sites)
    found = Findings(
        views=views,
        taken=taken,
        labels=labels,
        curves=curves,
        hub=hub,
        hubs=hubs_of(views, labels, hub),
        sites=ranking,
        folders=rank_folders(views, labels, learned.sites),
        lists=_compared(views, learned, ranking.seeds(), task),
        training=learned.told,
        settings=task.settings(),
        drawn=task.drawn,
    )
    begin("writing")
    return found


def _labelled(views: Views, task: Task) -> Learned:
    """Labels by the rules, or by what people's labels teach."""
    if task.labelled is None:
        return Learned(classify(views, task.rules), task.rules, task.sites, {})
    return learn(views, task.labelled, task.reading, task.rules, task.sites)


def _compared(views: Views, learned: Learned, ours: Sequence[str], task: Task) -> dict[str, Measures]:
    """Lists of sites side by side, where somebody asks for it."""
    found = compare(views, learned.labels, ours, task.against) if task.against or task.later else {}
    if task.later:
        found |= compare_later(views, ours, task.against, task.later, task.reading, learned.rules)
    return found
