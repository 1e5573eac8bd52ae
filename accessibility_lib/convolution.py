"""D, the volume share of a token drawn uniformly, and D^n, the product of n independent draws.

That the n positions are independent is an assumption.  Everything is in logs: a share is
exp(-cost), so D^n is a sum of n costs, found on a grid by one Fourier transform.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import at_least, number, numbers
from accessibility_lib.errors import AccessibilityError

_MISS = 1e-9  # chance left to each of the two tails that are bounded, not computed


@dataclass(frozen=True)
class Median:
    """ln of the median of D^n lies in [lower, upper]; both are -inf where the median is 0."""

    lower: float
    upper: float


@dataclass(frozen=True)
class CriticalLength:
    """The smallest n with median(D^n) < 1/P^m lies in [low, high]."""

    low: int
    high: int


def _costs(log_volumes: ArrayLike) -> np.ndarray:
    logs = numbers("log_volumes", log_volumes)
    if logs.ndim != 1 or not logs.size or not (logs <= 0).all():  # NaN fails too
        raise AccessibilityError(
            f"log_volumes has shape {logs.shape} or an entry that is NaN or above 0; give ln of "
            "the share of each token, shape (|V|,), -inf for an empty cell."
        )
    return -logs


def mean_log_volume(log_volumes: ArrayLike) -> float:
    """E ln D, each token once; -inf when a cell is empty.

    >>> round(mean_log_volume(np.log([0.5, 0.5])), 6)
    -0.693147
    """
    return -float(_costs(log_volumes).mean())


def divergence_from_uniform(log_volumes: ArrayLike) -> float:
    """KL(uniform || v) = -E ln D - ln|V|, which is never below 0 for shares that sum to 1.

    >>> round(divergence_from_uniform(np.log([0.75, 0.25])), 4)
    0.1438
    """
    costs = _costs(log_volumes)
    return float(costs.mean()) - math.log(len(costs))


def _bernstein(n: int, variance: float, reach: float) -> float:
    """A distance that a sum of n centred draws, each within ``reach``, exceeds on either side with
    a chance of at most _MISS; never more than the sum can reach."""
    log_odds = math.log(2 / _MISS)
    a = log_odds * reach / 3
    return min(n * reach, a + math.sqrt(a * a + 2 * log_odds * n * variance))


def log_median(log_volumes: ArrayLike, n: int, points: int = 2**20) -> Median:
    """ln median(D^n): the median of ln volume over targets of length n.

    Costs go to the nearest of the points of a grid; what rounding adds to the sum is its mean,
    known, and a rest that Bernstein's inequality bounds, as it does the mass that leaves the grid.
    Both misses and the rounding of the transform move the level 1/2, hence an interval.  With a
    share p0 of empty cells the median is 0 once n > ln 2 / -ln(1 - p0).

    >>> found = log_median(np.full(8, -np.log(8)), n=100)
    >>> round(found.lower, 3), round(found.upper, 3)
    (-207.944, -207.944)
    """
    costs, n = _costs(log_volumes), at_least("n", n, 1)
    size = at_least("points", points, 16)
    finite = costs[np.isfinite(costs)]
    whole = math.exp(n * math.log(len(finite) / len(costs))) if len(finite) else 0.0
    if whole < 0.5 * (1 - 1e-12):
        return Median(-math.inf, -math.inf)
    least, spread = float(finite.min()), float(np.ptp(finite))
    if spread <= 1e-12 * max(least, 1.0):
        return Median(-n * float(finite.max()), -n * least)
    reach = _bernstein(n, float(finite.var()), spread)
    cells = max(1, int((size - 4) * spread / min(2 * reach, n * spread)))  # of the grid, per spread
    step = spread / cells
    grid = np.rint((finite - least) / step)
    error = finite - least - step * grid
    slack = _bernstein(n, float(error.var()), float(np.abs(error - error.mean()).max()))
    masses = np.bincount(grid.astype(int), minlength=size)[:size] / len(finite)
    transform = np.fft.rfft(masses)
    size_of = np.abs(transform)
    power = size_of**n * np.exp(1j * n * np.angle(transform))
    fits = n * cells < size  # then every sum has its own point
    first = 0 if fits else max(0, round(n * float(grid.mean())) - size // 2)
    sums = np.roll(np.fft.irfft(power, size), -(first % size)).cumsum()
    noise = 4e-15 * math.log2(size) * (n + 1) * float((size_of ** max(n - 1, 1)).sum()) / 8
    miss, level = 2 * _MISS + noise + 1e-16 * size, 0.5 / whole
    shift = n * (least + float(error.mean()))

    def quantile(at: float) -> float:
        return first + int(np.searchsorted(sums, at))

    top = math.inf if level + miss >= 1 else shift + slack + step * quantile(level + miss)
    return Median(-float(top), -float(shift - slack + step * quantile(level - miss)))


def critical_length(log_volumes: ArrayLike, log_packing: float, m: int = 1) -> CriticalLength:
    """The smallest n with median(D^n) < 1/P^m, when positions are independent.

    For equal cells it is the first integer above Corollary 4.6's threshold C m.

    >>> critical_length(np.full(8, -np.log(8)), log_packing=11.0, m=2)
    CriticalLength(low=11, high=11)
    """
    packing = number("log_packing", log_packing, "take it from a support's log_packing(eps)")
    budget = at_least("m", m, 1) * packing
    if not 0 <= budget < math.inf:
        raise AccessibilityError(f"m ln P = {budget}, but it must be finite and at least 0.")
    costs = _costs(log_volumes)
    if costs.max() == 0:
        raise AccessibilityError("one token owns everything, so no length is critical.")

    def first(end: str) -> int:
        def beyond(n: int) -> bool:
            return getattr(log_median(log_volumes, n, 2**18), end) < -budget

        high = 1
        while not beyond(high):
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return high

    return CriticalLength(first("lower"), first("upper"))
