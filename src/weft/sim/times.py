"""How long pages take. In: distributions or a crawl's columns. Out: a latency and a size for each page, a speed for
each site.

Real latencies, sizes and speeds are near to log-normal; the means of P0's crawl are not published. The defaults are
those that agree with its figure 7: 21 KB a page by the time that a batch of 10,000 takes on a slow link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.settings import setting
from weft.sim.core import Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """Means and spreads of what the network and the servers do."""

    latency: float = setting(5.0, "mean seconds until a server answers", at_least=0, unit="seconds")
    latency_spread: float = setting(1.0, "spread of that over sites (log-normal)", at_least=0)
    size: float = setting(21_000.0, "mean bytes of a page", above=0, unit="bytes")
    size_spread: float = setting(1.0, "spread of that (log-normal)", at_least=0)
    speed: float = setting(20_000.0, "mean bytes a second of a server", above=0)
    speed_spread: float = setting(1.0, "spread of that over sites (log-normal)", at_least=0)


@dataclass(frozen=True, slots=True)
class PageTimes:
    """What each page takes."""

    latency: NDArray[np.float32]  # by page, seconds
    size: NDArray[np.float32]  # by page, bytes
    speed: NDArray[np.float32]  # by site, bytes a second

    def arrays(self) -> Times:
        """For compiled code."""
        return Times(self.latency, self.size, self.speed)


def draw_times(page_sites: NDArray[np.int32], sites: int, weather: Weather, seed: int) -> PageTimes:
    """Draw a latency and a speed for every site and a size for every page."""
    rng = np.random.Generator(np.random.PCG64([seed, 0x71]))
    latency = _log_normal(rng, sites, weather.latency, weather.latency_spread)
    return PageTimes(
        latency=latency[page_sites],
        size=np.maximum(1, _log_normal(rng, len(page_sites), weather.size, weather.size_spread)),
        speed=np.maximum(1, _log_normal(rng, sites, weather.speed, weather.speed_spread)),
    )


def _log_normal(rng: np.random.Generator, count: int, mean: float, spread: float) -> NDArray[np.float32]:
    """Draws with this mean; from uniform ones, so that they are the same with every version of NumPy."""
    normal = np.sqrt(-2 * np.log1p(-rng.random(count))) * np.cos(2 * np.pi * rng.random(count))
    return np.asarray(mean * np.exp(spread * normal - spread**2 / 2), np.float32)
