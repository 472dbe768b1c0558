"""Curves through counts, compiled. In: a page's views day by day, or hour by hour. Out: A, b, mu and sigma.

Levenberg and Marquardt's method on b, mu and log sigma, from one start: the birth as `lifetimes` has it, and the
moments of the logarithm of the ages at which views came. A needs no search: whatever the other three are, the best A
makes the sum of the expected views that of the counted ones (Poisson), or is a quotient of two sums (least squares).

Days before the activation day do not count. The bounds: b from a quarter of a day before the birth (by least squares,
which knows no hours, from a day before the activation day; from 60 days before the window where the page was active on
its first day) to the end of the activation day; sigma in [0.12, 4]; mu in [-4, 8]. With b free to go two days back,
5.7 % of the pages of a generated world were labelled wrongly in the place of 3.2 %.

Where the log has hours, the days of `FINE` days from the activation hour on are parted into hours, and later ones stay
days: a life that is over in hours shows itself, and one of weeks costs no more. Users sleep; so what is expected in an
hour is the integral of the curve over it times how busy users are at that time of the day (`Hours.clock`). Pages that
were there on the first day have no birth to see, and keep their days, as those of the paper's way do.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled

EARLIEST = 60.0  # days before the window, for pages that were there before it
EARLIER = 0.25  # days before the birth as found from the first views
EARLIER_HOURLY = 2 / 24  # the same where hours are known
FINE = 2  # days that are parted into hours, the activation day the first of them
SIGMAS = (0.12, 4.0)
MUS = (-4.0, 8.0)
STEPS = 40
ENOUGH = 0.01  # a gain in log-likelihood that changes no label
ENOUGH_OF_SQUARES = 1e-3  # the same, of what is left of the squares

_ROOT_2, _ROOT_2_PI = math.sqrt(2.0), math.sqrt(2.0 * math.pi)
_LEAST = 1e-9  # views expected on a day, so that a view on an impossible day is dear and not infinitely so

_Reals = NDArray[np.float64]
_Bins = tuple[_Reals, _Reals, _Reals]  # views, where a bin begins (and one entry more: where the last ends), busyness
_Scratch = tuple[_Reals, _Reals, _Reals]  # expected views, their slopes, values at the edges of bins
Columns = tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.int32]]
HourColumns = tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int32]]


@compiled
def normal(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The normal distribution function, value by value."""
    found = np.empty_like(values)
    for at in range(len(values)):
        found[at] = 0.5 * math.erfc(-values[at] / _ROOT_2)
    return found


@compiled
def fit_all(
    columns: Columns,
    hours: HourColumns,
    clock: _Reals,
    days: int,
    lived: tuple[NDArray[np.int16], NDArray[np.int8], _Reals],
    chosen: NDArray[np.int64],
    poisson: bool,
    found: _Reals,
) -> None:
    """Fill in A, b, mu and sigma, a row each, for the chosen pages; `lived` is activation day and hour, and birth."""
    activation, began, born = lived
    most = days + 24 * FINE
    room = (np.empty(most), np.empty(most + 1), np.empty(most))
    expected, slopes, edges = np.empty(most), np.empty((most, 3)), np.empty((most + 1, 4))
    for page in chosen:
        begin, hour = activation[page], began[page]
        fine = poisson and hour >= 0 and begin > 0
        many = _bins(columns, hours, clock, page, begin, hour if fine else -1, days, room)
        bins = (room[0][:many], room[1][: many + 1], room[2][:many])
        early = EARLIER_HOURLY if fine else EARLIER
        low = -EARLIEST if begin == 0 else (born[page] - early if poisson else begin - 1.0)
        high = bins[1][0] + 0.98 * (bins[1][1] - bins[1][0])
        scratch = (expected[:many], slopes[:many], edges)
        size, b, mu, sigma = _fit(bins, born[page], (low, high), poisson, scratch)
        found[0, page], found[1, page], found[2, page], found[3, page] = size, b, mu, sigma


@compiled
def _bins(
    columns: Columns,
    hours: HourColumns,
    clock: _Reals,
    page: int,
    begin: int,
    hour: int,
    days: int,
    room: _Bins,
) -> int:
    """Fill in the views of a page: hours from an hour on, if there is one, and days behind; how many bins these are."""
    start, day, count = columns
    of_day, of_hour, views = hours
    counts, times, busy = room
    parted = min(begin + FINE, days) if hour >= 0 else begin
    fine = (parted - begin) * 24 - max(hour, 0) if hour >= 0 else 0
    many = fine + days - parted
    counts[:many] = 0.0
    busy[:many] = 1.0
    for at in range(fine):
        times[at] = begin + (hour + at) / 24.0
        busy[at] = clock[(hour + at) % 24]
    for at in range(days - parted + 1):
        times[fine + at] = parted + at
    for at in range(start[page], start[page + 1]):
        if day[at] >= parted:
            counts[fine + day[at] - parted] = count[at]
        elif day[at] >= begin:
            for each in range(of_day[at], of_day[at + 1]):
                place = (day[at] - begin) * 24 + of_hour[each] - hour
                if place >= 0:
                    counts[place] = views[each]
    return many


@compiled
def _fit(
    bins: _Bins,
    born: float,
    bounds: tuple[float, float],
    poisson: bool,
    scratch: _Scratch,
) -> tuple[float, float, float, float]:
    """A, b, mu and sigma of a page."""
    counts, _times, _busy = bins
    expected, slopes, _edges = scratch
    low, high = bounds
    b, mu, width = _first_guess(bins, born, high)
    size, worth = _expect(bins, (b, mu, width), poisson, scratch)
    damping = 1e-2
    gradient = np.empty(3)
    curvature = np.empty((3, 3))
    for _ in range(STEPS):
        gradient[:] = 0.0
        curvature[:] = 0.0
        for at in range(len(counts)):
            weight = 1.0 / expected[at] if poisson else 1.0
            rest = (counts[at] - expected[at]) * weight
            for i in range(3):
                gradient[i] += rest * slopes[at, i]
                for j in range(i + 1):
                    curvature[i, j] += weight * slopes[at, i] * slopes[at, j]
        gained = -1.0
        while damping < 1e8:
            d_b, d_mu, d_width = _solved(curvature, gradient, damping)
            new_b = min(max(b + d_b, low), high)
            new_mu = min(max(mu + d_mu, MUS[0]), MUS[1])
            new_width = min(max(width + d_width, math.log(SIGMAS[0])), math.log(SIGMAS[1]))
            new_size, new_worth = _expect(bins, (new_b, new_mu, new_width), poisson, scratch)
            gained = new_worth - worth
            if gained >= 0.0:
                b, mu, width, size, worth = new_b, new_mu, new_width, new_size, new_worth
                damping = max(damping * 0.2, 1e-6)
                break
            damping *= 6.0
        if gained < (ENOUGH if poisson else -ENOUGH_OF_SQUARES * worth):
            break
    return size, b, mu, math.exp(width)


@compiled
def _first_guess(bins: _Bins, born: float, high: float) -> tuple[float, float, float]:
    """Birth as found, mu and log sigma from the moments of the logarithm of ages, a bin's views at its middle."""
    counts, times, _busy = bins
    total, first, second = 0.0, 0.0, 0.0
    for at in range(len(counts)):
        if counts[at] > 0.0:
            age = math.log(max(0.5 * (max(times[at], born) + times[at + 1]) - born, 0.02))
            total += counts[at]
            first += counts[at] * age
            second += counts[at] * age * age
    mu = first / total
    sigma = math.sqrt(max(second / total - mu * mu, 0.09))
    return min(born, high), min(max(mu, MUS[0]), MUS[1]), math.log(min(sigma, SIGMAS[1]))


@compiled
def _expect(bins: _Bins, curve: tuple[float, float, float], poisson: bool, scratch: _Scratch) -> tuple[float, float]:
    """Fill in the expected views of each bin and how they change with b, mu and log sigma; A, and how good it is."""
    if poisson:
        return _expect_integrals(bins, curve, scratch)
    return _expect_heights(bins, curve, scratch)


@compiled
def _expect_integrals(bins: _Bins, curve: tuple[float, float, float], scratch: _Scratch) -> tuple[float, float]:
    counts, times, busy = bins
    expected, slopes, edges = scratch
    b, mu, width = curve
    sigma = math.exp(width)
    many = len(counts)
    for at in range(many + 1):
        age = times[at] - b
        edges[at] = 0.0
        if age > 0.0:
            z = (math.log(age) - mu) / sigma
            density = math.exp(-0.5 * z * z) / _ROOT_2_PI
            edges[at, 0] = 0.5 * math.erfc(-z / _ROOT_2)
            edges[at, 1] = -density / (sigma * age)
            edges[at, 2] = -density / sigma
            edges[at, 3] = -density * z
    total, whole = 0.0, 0.0
    whole_b, whole_mu, whole_width = 0.0, 0.0, 0.0
    for at in range(many):
        total += counts[at]
        whole += busy[at] * (edges[at + 1, 0] - edges[at, 0])
        whole_b += busy[at] * (edges[at + 1, 1] - edges[at, 1])
        whole_mu += busy[at] * (edges[at + 1, 2] - edges[at, 2])
        whole_width += busy[at] * (edges[at + 1, 3] - edges[at, 3])
    whole = max(whole, 1e-12)
    worth = 0.0
    for at in range(many):
        part = busy[at] * (edges[at + 1, 0] - edges[at, 0]) / whole
        expected[at] = max(total * part, _LEAST)
        slopes[at, 0] = total * (busy[at] * (edges[at + 1, 1] - edges[at, 1]) - part * whole_b) / whole
        slopes[at, 1] = total * (busy[at] * (edges[at + 1, 2] - edges[at, 2]) - part * whole_mu) / whole
        slopes[at, 2] = total * (busy[at] * (edges[at + 1, 3] - edges[at, 3]) - part * whole_width) / whole
        if counts[at] > 0.0:
            worth += counts[at] * math.log(expected[at])
    return total / whole, worth


@compiled
def _expect_heights(bins: _Bins, curve: tuple[float, float, float], scratch: _Scratch) -> tuple[float, float]:
    counts, times, _busy = bins
    expected, slopes, _edges = scratch
    b, mu, width = curve
    sigma = math.exp(width)
    both, squares = 0.0, 1e-300
    for at in range(len(counts)):
        age = times[at] + 0.5 - b
        expected[at] = 0.0
        slopes[at] = 0.0
        if age > 0.0:
            z = (math.log(age) - mu) / sigma
            height = math.exp(-0.5 * z * z) / (_ROOT_2_PI * sigma * age)
            expected[at] = height
            slopes[at, 0] = height * (1.0 + z / sigma) / age
            slopes[at, 1] = height * z / sigma
            slopes[at, 2] = height * (z * z - 1.0)
        both += counts[at] * expected[at]
        squares += expected[at] * expected[at]
    size = both / squares
    worth = 0.0
    for at in range(len(counts)):
        expected[at] *= size
        for i in range(3):
            slopes[at, i] *= size
        worth -= (counts[at] - expected[at]) ** 2
    return size, worth


@compiled
def _solved(
    curvature: NDArray[np.float64], gradient: NDArray[np.float64], damping: float
) -> tuple[float, float, float]:
    """The step: three linear equations with the damping on their diagonal, by Cholesky's square roots."""
    a = math.sqrt(curvature[0, 0] * (1.0 + damping) + 1e-9)
    b = curvature[1, 0] / a
    c = curvature[2, 0] / a
    d = math.sqrt(max(curvature[1, 1] * (1.0 + damping) + 1e-9 - b * b, 1e-12))
    e = (curvature[2, 1] - b * c) / d
    f = math.sqrt(max(curvature[2, 2] * (1.0 + damping) + 1e-9 - c * c - e * e, 1e-12))
    x = gradient[0] / a
    y = (gradient[1] - b * x) / d
    z = (gradient[2] - c * x - e * y) / f
    z = z / f
    y = (y - e * z) / d
    x = (x - b * y - c * z) / a
    return x, y, z
