"""D, the volume share of a token drawn uniformly, and D^n, the product of n independent draws.

That the n positions are independent is an assumption.  Everything is in logs: a share is
exp(-cost), so D^n is a sum of n costs, found on a grid by one Fourier transform.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

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


def log_quantiles(
    log_volumes: ArrayLike, n: int, levels: ArrayLike, points: int = 2**20
) -> np.ndarray:
    """Quantiles of ln D^n, the ln volume of a random target of length n, as intervals (K, 2).

    ``levels`` (K,) strictly between 0 and 1.  Costs go to the nearest of the ``points`` of a grid;
    what rounding adds to the sum is its mean, known, and a rest that Bernstein's inequality bounds,
    as it does the mass that leaves the grid.  Both misses and the rounding of the transform move
    the level, hence an interval, which holds the quantile unless a chance of 4e-9 is met.  Targets
    with an empty cell have volume 0: -inf up to the level that is their share.

    >>> found = log_quantiles(np.log([0.5, 0.25]), n=2, levels=[0.2, 0.9])
    >>> (found / np.log(2)).round(3).tolist()
    [[-4.0, -4.0], [-2.0, -2.0]]
    """
    costs, n = _costs(log_volumes), at_least("n", n, 1)
    size, wanted = at_least("points", points, 16), np.atleast_1d(numbers("levels", levels))
    if wanted.ndim != 1 or not ((wanted > 0) & (wanted < 1)).all():  # NaN fails too
        raise AccessibilityError(f"levels = {wanted}, but each must be between 0 and 1.")
    found = np.full((len(wanted), 2), -math.inf)
    finite = costs[np.isfinite(costs)]
    whole = math.exp(n * math.log(len(finite) / len(costs))) if len(finite) else 0.0
    some = 1 - wanted <= whole * (1 + 1e-12)  # the others are 0
    if not some.any():
        return found
    level = (1 - wanted[some]) / whole
    least, spread = float(finite.min()), float(np.ptp(finite))
    if spread <= 1e-12 * max(least, 1.0):
        found[some] = -n * float(finite.max()), -n * least
        return found
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
    miss = 2 * _MISS + noise + 1e-16 * size
    shift = n * (least + float(error.mean()))
    low = shift - slack + step * (first + np.searchsorted(sums, level - miss))
    high = shift + slack + step * (first + np.searchsorted(sums, level + miss))
    found[some] = np.stack([np.where(level + miss >= 1, -math.inf, -high), -low], axis=1)
    return found


def log_median(log_volumes: ArrayLike, n: int, points: int = 2**20) -> Median:
    """ln median(D^n): the median of ln volume over targets of length n.

    See :func:`log_quantiles`.  With a share p0 of empty cells the median is 0 once
    n > ln 2 / -ln(1 - p0).

    >>> found = log_median(np.full(8, -np.log(8)), n=100)
    >>> round(found.lower, 3), round(found.upper, 3)
    (-207.944, -207.944)
    """
    return Median(*log_quantiles(log_volumes, n, [0.5], points)[0].tolist())


def critical_length(
    log_volumes: ArrayLike, log_packing: float, m: int = 1, upper: ArrayLike | None = None
) -> CriticalLength:
    """The smallest n with median(D^n) < 1/P^m, when positions are independent.

    For equal cells it is the first integer above Corollary 4.6's threshold C m.  ``upper``: where
    shares are known up to intervals, ln of their upper ends, and ``log_volumes`` is ln of the lower
    ends, -inf for a token that was never seen; the median grows with every share, so the critical
    length of the true shares lies between those of the two.

    >>> critical_length(np.full(8, -np.log(8)), log_packing=11.0, m=2)
    CriticalLength(low=11, high=11)
    >>> critical_length(np.log([0.2, 0.5]), log_packing=9.0, upper=np.log([0.5, 0.8]))
    CriticalLength(low=8, high=20)
    """
    packing = number("log_packing", log_packing, "take it from a support's log_packing(eps)")
    budget = at_least("m", m, 1) * packing
    if not 0 <= budget < math.inf:
        raise AccessibilityError(f"m ln P = {budget}, but it must be finite and at least 0.")
    most = _costs(log_volumes)
    least = most if upper is None else _costs(upper)
    if least.shape != most.shape or (least > most).any():
        raise AccessibilityError(
            "upper has another shape than log_volumes or an entry below it; give ln of the upper "
            "end of each share in the same order."
        )
    if least.max() == 0:
        raise AccessibilityError("one token owns everything, so no length is critical.")
    low = _first_beyond(most, budget)
    return CriticalLength(low[0], (low if upper is None else _first_beyond(least, budget))[1])


def _first_beyond(costs: np.ndarray, budget: float) -> tuple[int, int]:
    """The smallest n whose median may be, and the smallest whose median is, beyond the budget."""
    median = cache(lambda n: log_median(-costs, n, 2**18))
    finite = costs[np.isfinite(costs)]
    share = len(finite) / len(costs)
    # The median is near -n times the mean; with empty cells it ends at ln 2 / -ln share.
    mean = float(finite.mean()) if len(finite) else 0.0
    guess = min(
        budget / mean if mean else math.inf,
        1 if not share else math.log(2) / -math.log(share) if share < 1 else math.inf,
    )

    def first(end: str) -> int:
        def beyond(n: int) -> bool:
            return n > 0 and getattr(median(n), end) < -budget

        low = high = max(1, math.ceil(guess))
        step = 1
        while not beyond(high):
            low, high, step = high, high + step, 2 * step
        while beyond(low):
            low, high, step = max(0, low - step), low, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return high

    return first("lower"), first("upper")
