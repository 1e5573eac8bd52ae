"""How r and theta grow with the number of prompts, and what a fitted tail says of more (E11)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import at_least, cloud, number, numbers
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports.angles import largest_angle, largest_angles

FEWEST = 30  # exceedances that a tail is fitted to
SHARE = 0.1  # of the draws that count as its tail


@dataclass(frozen=True)
class Tail:
    """A generalised Pareto tail: a draw is above ``threshold`` with chance ``rate``, and what it
    has in excess follows (1 + shape e / scale)^(-1/shape).

    ``exceedances``: how many draws the fit has seen.  ``ceiling``: what no draw can be above.
    """

    threshold: float
    rate: float
    shape: float
    scale: float
    exceedances: int
    ceiling: float = math.inf

    def largest(self, draws: ArrayLike, probability: ArrayLike = 0.5) -> np.ndarray:
        """The level that the largest of so many independent draws stays below with this
        probability; the threshold where that level is below it.

        >>> halves = Tail(threshold=0.0, rate=1.0, shape=-1.0, scale=1.0, exceedances=99)  # uniform
        >>> halves.largest([1, 2], 0.25).round(4).tolist()
        [0.25, 0.5]
        """
        from scipy import stats

        beyond = -np.expm1(np.log(probability) / np.asarray(draws, dtype=float))
        share = np.minimum(beyond / self.rate, 1.0)
        excess = stats.genpareto.isf(share, self.shape, scale=self.scale)
        return np.minimum(self.threshold + excess, self.ceiling)


@dataclass(frozen=True)
class Prediction:
    """The largest of ``draws`` draws: median and the interval that should hold it."""

    draws: int
    median: float
    low: float
    high: float


def fit_tail(
    values: ArrayLike,
    draws: int | None = None,
    share: float = SHARE,
    ceiling: float = math.inf,
) -> Tail:
    """Peaks over threshold: a generalised Pareto tail of the largest ``share`` of the values, by
    maximum likelihood (scipy).

    ``values`` (N,): independent draws.  With ``draws``, they are the largest of so many, and all
    of them but the least, which is the threshold, are fitted.

    Raises :class:`AccessibilityError` for fewer than 30 exceedances, NaN, and no spread.

    >>> tail = fit_tail(np.random.default_rng(0).exponential(size=4000))
    >>> abs(tail.shape) < 0.1, tail.exceedances
    (True, 400)
    """
    threshold, excess, total = _peaks(values, draws, share)
    shape, scale = _pareto(excess)
    return Tail(threshold, len(excess) / total, shape, scale, len(excess), ceiling)


def predict(
    values: ArrayLike,
    at: Sequence[int],
    generator: np.random.Generator,
    *,
    draws: int | None = None,
    share: float = SHARE,
    ceiling: float = math.inf,
    level: float = 0.9,
    resamples: int = 100,
) -> list[Prediction]:
    """What the tail of ``values`` says about the largest of each of ``at`` draws.

    The interval is one for the maximum itself, not for its mean: each of ``resamples`` bootstrap
    tails (Poisson number of exceedances, drawn with replacement) gives the maximum of a sample of
    that size, so both the fit's error and the maximum's own scatter count.

    Arguments and errors as for :func:`fit_tail`.

    >>> draws = np.random.default_rng(0).uniform(size=1000)
    >>> (found,) = predict(draws, [10**6], np.random.default_rng(1), resamples=20)
    >>> 0.98 < found.low <= found.median <= found.high < 1.05
    True
    """
    tail = fit_tail(values, draws, share, ceiling)
    threshold, excess, total = _peaks(values, draws, share)
    if not 0 < number("level", level) < 1:
        raise AccessibilityError(f"level = {level}; give a share between 0 and 1, such as 0.9.")
    sizes = np.array([at_least("a number of draws", n, 1) for n in at])
    seen = np.empty((at_least("resamples", resamples, 1), len(sizes)))
    for row in seen:
        count = max(2, int(generator.poisson(len(excess))))
        again = generator.choice(excess, count)
        shape, scale = _pareto(again, (tail.shape, tail.scale))
        other = Tail(threshold, min(count / total, 1.0), shape, scale, count, ceiling)
        row[:] = other.largest(sizes, generator.uniform(size=len(sizes)))
    low, high = np.quantile(seen, [(1 - level) / 2, (1 + level) / 2], axis=0)
    middle = tail.largest(sizes)
    return [
        Prediction(int(n), float(m), float(a), float(b))
        for n, m, a, b in zip(sizes, middle, low, high, strict=True)
    ]


def radius_by_count(linf: ArrayLike, counts: Sequence[int]) -> np.ndarray:
    """r of the first ``counts`` prompts, from the norm of each: (..., N) -> (..., len(counts)).

    >>> radius_by_count([1.0, 3.0, 2.0], [1, 3]).tolist()
    [1.0, 3.0]
    """
    values = numbers("linf", linf, keep=True)
    return np.maximum.accumulate(values, axis=-1)[..., _places(counts, values.shape[-1])]


def angle_by_count(points: ArrayLike, counts: Sequence[int]) -> np.ndarray:
    """theta, the largest pairwise angle in radians, of the first ``counts`` of the (N, d) points;
    exact.

    >>> np.degrees(angle_by_count([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]], [2, 3])).round(3).tolist()
    [45.0, 180.0]
    """
    array = cloud(points, keep=True)
    return np.array([largest_angle(array[: k + 1]) for k in _places(counts, len(array))])


def predict_angle(
    points: ArrayLike,
    at: Sequence[int],
    generator: np.random.Generator,
    pairs: int = 200,
    **options: Any,
) -> list[Prediction]:
    """theta of each of ``at`` prompts, from the tail of the largest ``pairs`` pairwise angles.

    N prompts are N (N - 1) / 2 draws of a pair.  Pairs that share a prompt are not independent, so
    the interval is too narrow where a few prompts make most of the large angles: set the spread
    over seeds beside it.  ``options``: level and resamples of :func:`predict`.
    """
    array = cloud(points, keep=True)
    n = len(array)
    top = largest_angles(array, pairs).radians
    sizes = [at_least("a number of prompts", k, 2) for k in at]
    draws = [k * (k - 1) // 2 for k in sizes]
    found = predict(top, draws, generator, draws=n * (n - 1) // 2, ceiling=math.pi, **options)
    return [
        Prediction(k, each.median, each.low, each.high)
        for k, each in zip(sizes, found, strict=True)
    ]


def _places(counts: Sequence[int], n: int) -> list[int]:
    found = [at_least("a count", count, 1) - 1 for count in counts]
    if not found or max(found) >= n:
        raise AccessibilityError(f"counts = {list(counts)}, but there are {n} prompts.")
    return found


def _peaks(values: ArrayLike, draws: int | None, share: float) -> tuple[float, np.ndarray, int]:
    """(threshold, excesses above it, number of draws)."""
    array = np.sort(numbers("values", values).ravel().astype(float))
    if not np.isfinite(array).all():
        raise AccessibilityError("the values hold NaN or infinity; drop them before the fit.")
    total = len(array) if draws is None else at_least("draws", draws, max(1, len(array)))
    if draws is None and not 0 < number("share", share) <= 0.5:
        raise AccessibilityError(f"share = {share}; give a share of the draws up to a half.")
    tail = math.ceil(share * total) if draws is None else len(array) - 1
    if tail < FEWEST:
        raise AccessibilityError(
            f"{len(array)} values leave {max(tail, 0)} above the threshold, but a tail needs "
            f"{FEWEST}; give more prompts."
        )
    threshold = float(array[-tail - 1])
    excess = array[-tail:] - threshold
    if excess[-1] == excess[0]:
        raise AccessibilityError(
            f"the {tail} largest values are all equal, so they have no tail; "
            "give different prompts."
        )
    return threshold, excess, total


def _pareto(excess: np.ndarray, start: tuple[float, float] | None = None) -> tuple[float, float]:
    from scipy import stats

    shape, scale = start or (0.1, float(excess.mean()))
    shape, _, scale = stats.genpareto.fit(excess, shape, floc=0, scale=scale)
    return float(shape), float(scale)
