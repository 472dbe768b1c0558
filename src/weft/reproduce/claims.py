"""Whether the papers' sentences hold in our simulations. In: what came of the tasks, a seed. Out: yes or no.

Each sentence is a small function; what it takes "close", "similar" or "hardly" to mean stands in it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.reproduce.experiments import BANDWIDTHS, BATCH_TERMS, RERANKS, ROBOTS, TABLE_2
from weft.reproduce.simulations import Found

Results = dict[str, Found]

CLOSE = 0.02  # of averages and of cumulative PageRank
_K = RERANKS[-1]


def average(found: Results, key: str) -> float:
    """Average cumulative PageRank of a crawl."""
    return float(found[key]["average"])


def at(found: Results, key: str, fraction: float) -> float:
    """Cumulative PageRank of a crawl after a share of the pages."""
    return float(np.interp(fraction, found[key]["fraction"], found[key]["pagerank"]))


def _power_law(found: Results, seed: int) -> bool:
    """A tenth of the sites has four fifths of the pages or more."""
    rows = found[f"main/{seed}"]["site_sizes"]
    many = np.array([row[2] for row in rows], dtype=np.float64)
    pages = np.array([(row[0] + row[1]) / 2 for row in rows]) * many
    top = np.cumsum(many[::-1]) <= 0.1 * many.sum()
    return bool(pages[::-1][top].sum() > 0.8 * pages.sum())


def _optimal_passed(found: Results, seed: int) -> bool:
    best, other = f"sweep/{seed}/omniscient", f"sweep/{seed}/length"
    rivals = [other, f"sweep/{seed}/depth", f"sweep/{seed}/batch,K={_K}"]
    late = np.linspace(0.5, 0.99, 50)
    first = all(at(found, best, 0.1) >= at(found, key, 0.1) for key in rivals)
    return first and any(at(found, best, place) < at(found, key, place) for key in rivals for place in late)


def _batch_depth(found: Results, seed: int) -> bool:
    gain = average(found, f"sweep/{seed}/batch,K={_K}") - average(found, f"sweep/{seed}/depth")
    return 0 <= gain <= 2 * CLOSE


def _partial_random(found: Results, seed: int) -> bool:
    return abs(average(found, f"sweep/{seed}/partial,K={_K}") - average(found, f"sweep/{seed}/random")) <= 2 * CLOSE


def _length_best(found: Results, seed: int) -> bool:
    others = ("depth", *(f"{name},K={k}" for name in ("batch", "partial") for k in RERANKS))
    return all(average(found, f"sweep/{seed}/length") > average(found, f"sweep/{seed}/{name}") for name in others)


def _length_stable(found: Results, seed: int) -> bool:
    spans = [
        np.ptp([average(found, f"sweep/{seed}/{name},r={robots}") for robots in ROBOTS]) for name in ("length", "depth")
    ]
    return bool(spans[0] < spans[1])


def _saturation(found: Results, seed: int) -> bool:
    times = [[found[f"main/{seed}/bandwidth={each},r={robots}"]["time"] for each in BANDWIDTHS] for robots in ROBOTS]
    rising = all(np.all(np.diff(row) >= -CLOSE * np.array(row[:-1])) for row in times)
    return rising and times[1][-1] < 2 * times[2][-1]


def _more_per_visit(found: Results, seed: int) -> bool:
    runs = found[f"main/{seed}/batches"]["best"]["runs"]
    links = {bandwidth for _, bandwidth in BATCH_TERMS}
    return all(runs[f"k=100, {link}"]["hours"] < runs[f"k=1, {link}"]["hours"] for link in links)


def _falls_by_day(found: Results, seed: int) -> bool:
    days = found[f"main/{seed}/timed/length"]["by_day"]
    return len(days) > 1 and min(days[1:4]) <= days[0] / 2


def _levels(found: Results, seed: int) -> list[float]:
    return [float(level[2]) for level in found[f"main/{seed}"]["depths"]]


def _flat_when_deep(found: Results, seed: int) -> bool:
    levels = _levels(found, seed)
    deep = levels[4:9]
    return levels[1] > levels[3] and len(deep) > 1 and max(deep) <= 2 * min(deep)


def _low_homes(found: Results, seed: int) -> bool:
    levels = _levels(found, seed)
    return levels[0] < max(1.0, levels[1])


def _omniscient_best(found: Results, seed: int) -> bool:
    return all(average(found, f"main/{seed}/omniscient") >= average(found, f"main/{seed}/{name}") for name in TABLE_2)


def _worse_than_random(found: Results, seed: int) -> bool:
    chance = average(found, f"main/{seed}/random")
    return all(average(found, f"main/{seed}/{name}") < chance for name in ("backlink", "partial"))


def _early_breadth(found: Results, seed: int) -> bool:
    rivals = ("batch", "opic", "larger-sites-first")
    best = max(at(found, f"main/{seed}/{name}", 0.2) for name in rivals)
    return at(found, f"main/{seed}/breadth-first", 0.2) >= best - 2 * CLOSE


def _good_three(found: Results, seed: int) -> bool:
    good = min(average(found, f"main/{seed}/{name}") for name in ("batch", "larger-sites-first", "opic"))
    return all(average(found, f"main/{seed}/{name}") < good for name in ("backlink", "partial", "breadth-first"))


def _late_larger(found: Results, seed: int) -> bool:
    others = max(at(found, f"main/{seed}/{name}", 0.8) for name in ("batch", "opic"))
    return at(found, f"main/{seed}/larger-sites-first", 0.8) > others


_HISTORICAL = ("historical-zero", "historical-random", "historical-parent")


def _history_helps(found: Results, seed: int) -> bool:
    return all(average(found, f"main/{seed}/{name}") > average(found, f"main/{seed}/opic") for name in _HISTORICAL)


def _history_little(found: Results, seed: int) -> bool:
    most = max(average(found, f"main/{seed}/{name}") for name in _HISTORICAL)
    return 0 < most - average(found, f"main/{seed}/opic") <= 0.035  # .03 in two digits


def _larger_tau(found: Results, seed: int) -> bool:
    taus = {name: found[f"main/{seed}/{name}"]["tau"] for name in TABLE_2[:6]}
    return max(taus, key=lambda name: taus[name]) == "larger-sites-first"


def _random_tau(found: Results, seed: int) -> bool:
    taus = {name: found[f"main/{seed}/{name}"]["tau"] for name in _HISTORICAL}
    return max(taus, key=lambda name: taus[name]) == "historical-random"


def _faster(what: str) -> Callable[[Results, int], bool]:
    def faster(found: Results, seed: int) -> bool:
        one, other = (found[f"main/{seed}/timed/{name}"]["by_time"] for name in ("larger-sites-first", "breadth-first"))
        times = np.linspace(0.1, 0.9, 17) * other["time"][-1]
        gains = np.interp(times, one["time"], one[what]) - np.interp(times, other["time"], other[what])
        return bool(gains.mean() > 0)

    return faster


def same_distribution(found: Results, seeds: int) -> bool:
    """Whether the curves of PageRank's concentration lie together; about all webs at once."""
    curves = np.array([found[f"main/{seed}"]["concentration"] for seed in range(1, seeds + 1)])
    return bool(np.ptp(curves, axis=0).max() <= CLOSE)


CLAIMS: dict[str, Callable[[Results, int], bool]] = {
    "power-law": _power_law,
    "optimal-passed": _optimal_passed,
    "batch-depth": _batch_depth,
    "partial-random": _partial_random,
    "length-best": _length_best,
    "length-stable": _length_stable,
    "saturation": _saturation,
    "more-per-visit": _more_per_visit,
    "falls-by-day": _falls_by_day,
    "flat-when-deep": _flat_when_deep,
    "low-homes": _low_homes,
    "omniscient-best": _omniscient_best,
    "worse-than-random": _worse_than_random,
    "early-breadth": _early_breadth,
    "good-three": _good_three,
    "late-larger": _late_larger,
    "history-helps": _history_helps,
    "history-little": _history_little,
    "larger-tau": _larger_tau,
    "random-tau": _random_tau,
    "faster-pages": _faster("pages"),
    "faster-pagerank": _faster("pagerank"),
}
