"""From successes to numbers: the accessibility curve, its n50, and the slope of n50 over m.

The curve is a falling logistic function of the length itself,

    p(n) = 1 / (1 + exp((n - n50) / scale)),        scale > 0,

fitted by maximum likelihood.  An observation is a pair (reached, failed): a target was reached at
the first length and not at the second, with -infinity and infinity where one is unknown.  A trial
of one length is such a pair (a success says "reached", a failure "failed"), and so is the longest
prefix of a target that could be reached; :func:`fit_curve` and :func:`fit_horizons` share the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from accessibility_lib.errors import AccessibilityError

_STEEPNESS = (math.log(1e-9), math.log(1e6))  # of ln(unit / scale); a unit spans the lengths


@dataclass(frozen=True)
class Curve:
    """An accessibility curve.  Lengths, ``n50`` and ``scale`` are in tokens.

    ``low`` and ``high``: the profile-likelihood interval of n50; ``high`` is infinite and n50 NaN
    where every trial succeeded, ``low`` is 0 and n50 NaN where every trial failed.  An n50 that the
    line of the few shares puts below 0 has ``low`` = -infinity.
    ``deviance``: twice the log-likelihood the curve loses against a free share at every length
    (for horizons: a free share of every horizon), on ``freedom`` degrees of freedom.
    ``r2``: of the shares at ``lengths``, weighted by the trials; NaN where they do not vary.
    ``separated``: no success is longer than a failure.  The likelihood then has no maximum at a
    positive scale: ``scale`` is 0 and n50 the middle of the gap between the two, an arbitrary
    choice inside the interval.
    """

    n50: float
    low: float
    high: float
    scale: float
    confidence: float
    deviance: float
    freedom: int
    r2: float
    separated: bool
    lengths: tuple[float, ...]
    shares: tuple[float, ...]

    def __call__(self, n: ArrayLike) -> np.ndarray:
        """The fitted share at lengths ``n`` (any shape); a step where the scale is 0.

        >>> fit_curve([4, 8, 12], [9, 5, 1], [10, 10, 10])(8.0).round(2).item()
        0.5
        """
        away = np.asarray(self.n50 - np.asarray(n, dtype=float))
        if self.scale > 0:
            return special.expit(away / self.scale)
        return np.where(np.isnan(away), np.nan, (np.sign(away) + 1) / 2)


@dataclass(frozen=True)
class Slope:
    """A line, ``intercept`` + ``slope`` x; for n50 over m in tokens and tokens per memory vector.

    ``low`` and ``high``: the interval of the slope.  It starts from the errors of the points alone
    and is widened by ``inflation`` = max(1, sqrt(chi-squared per degree of freedom)) where they
    scatter more than these say.  ``used``: the x of the points that had a finite interval.
    """

    slope: float
    low: float
    high: float
    intercept: float
    confidence: float
    r2: float
    inflation: float
    used: tuple[float, ...]

    def __call__(self, m: ArrayLike) -> np.ndarray:
        """The line at ``m`` memory vectors, or x (any shape)."""
        return self.intercept + self.slope * np.asarray(m, dtype=float)


def wilson(
    successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Wilson score interval (low, high) of shares; arrays of the broadcast shape.

    >>> low, high = wilson(8, 16)
    >>> low.round(3).item(), high.round(3).item()
    (0.28, 0.72)
    """
    y, n = np.broadcast_arrays(*_counts(successes, trials))
    confidence = _confidence(confidence)
    ends = [
        stats.binomtest(int(a), int(b)).proportion_ci(confidence, method="wilson")
        for a, b in zip(y.ravel(), n.ravel(), strict=True)
    ]
    low = np.array([end.low for end in ends]).reshape(y.shape)
    return low, np.array([end.high for end in ends]).reshape(y.shape)


def fit_curve(
    lengths: ArrayLike, successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> Curve:
    """Fit the curve to ``successes`` of ``trials`` at ``lengths`` (all of shape (k,), k >= 1).

    The trials count as independent, as they are when every length has targets of its own.  Where
    the prefixes of the same targets are tried, use :func:`fit_horizons`: its interval is wider.

    Raises :class:`AccessibilityError` for lengths that are not positive, counts that are no
    integers, and successes above trials.

    >>> curve = fit_curve([4, 8, 12, 16], [20, 16, 5, 0], [20] * 4)
    >>> round(curve.n50, 2), curve.low < curve.n50 < curve.high
    (10.21, True)
    """
    n = np.atleast_1d(np.asarray(lengths, dtype=float))
    y, trial = (np.atleast_1d(a) for a in _counts(successes, trials))
    if n.ndim != 1 or not n.shape == y.shape == trial.shape or not n.size:
        raise AccessibilityError(
            f"lengths, successes and trials have shapes {n.shape}, {y.shape} and {trial.shape}; "
            "give three rows of one size, at least 1."
        )
    _positive(n)
    missed = trial - y
    reached = np.concatenate([n, np.full(len(n), -np.inf)])
    failed = np.concatenate([np.full(len(n), np.inf), n])
    count = np.concatenate([y, missed])
    best = float((special.xlogy(y, y / trial) + special.xlogy(missed, missed / trial)).sum())
    return _fit(_Data.of(reached, failed, count), confidence, best, len(n) - 2, n, y / trial, trial)


def fit_horizons(reached: ArrayLike, failed: ArrayLike, confidence: float = 0.95) -> Curve:
    """Fit the curve to one pair of lengths per target, shape (targets,): the longest prefix that
    was ``reached`` (0: none) and the shortest that ``failed`` (infinity: none).

    The targets count as independent; the lengths tried on one target do not.

    >>> curve = fit_horizons([7, 9, 10, 14], [8, 10, 11, 15])
    >>> round(curve.n50, 1), curve.low < 9 < 11 < curve.high
    (10.3, True)
    """
    a = np.atleast_1d(np.asarray(reached, dtype=float))
    b = np.atleast_1d(np.asarray(failed, dtype=float))
    if a.ndim != 1 or a.shape != b.shape or not a.size:
        raise AccessibilityError(
            f"reached and failed have shapes {a.shape} and {b.shape}; give one pair per target."
        )
    if not ((a >= 0) & np.isfinite(a) & (b > a)).all():
        bad = int(np.flatnonzero(~((a >= 0) & np.isfinite(a) & (b > a)))[0])
        raise AccessibilityError(
            f"target {bad} was reached at {a[bad]} and failed at {b[bad]}; the first must be "
            "finite, at least 0 and below the second."
        )
    pairs, count = np.unique(np.stack([a, b]), axis=1, return_counts=True)
    ends = np.unique(pairs[np.isfinite(pairs) & (pairs > 0)])
    if not ends.size:
        raise AccessibilityError(
            "no target has a positive finite length; give lengths that were tried."
        )
    # Targets that were neither reached nor seen to fail at a length are not counted there.
    known = ((a[:, None] >= ends) | (b[:, None] <= ends)).sum(0)
    shares = (a[:, None] >= ends).sum(0) / known
    best = float(special.xlogy(count, count / len(a)).sum())
    reach = np.where(pairs[0] > 0, pairs[0], -np.inf)
    data = _Data.of(reach, pairs[1], count)
    return _fit(data, confidence, best, len(count) - 3, ends, shares, known)


def fit_slope(
    m: ArrayLike, curves: Sequence[Curve], intercept: bool = True, confidence: float = 0.95
) -> Slope:
    """Weighted least squares of n50 over the number of memory vectors ``m``, shape (k,).

    The error of an n50 is half its interval over the normal quantile.  Curves without an n50 or
    with an infinite interval are left out (see ``used``).  With ``intercept=False`` the line goes
    through the origin: no memory, no tokens.  The paper's slope is a line with an intercept.

    Raises :class:`AccessibilityError` where fewer points are left than the line has parameters.

    >>> curves = [fit_curve([n50 - 2, n50, n50 + 2], [9, 5, 1], [10] * 3) for n50 in (10, 16, 22)]
    >>> line = fit_slope([1, 2, 3], curves)
    >>> round(line.slope, 6), round(line.intercept, 6), line.low < 6 < line.high
    (6.0, 4.0, True)
    """
    x = np.atleast_1d(np.asarray(m, dtype=float))
    if x.shape != (len(curves),):
        raise AccessibilityError(
            f"m has shape {x.shape}, but there are {len(curves)} curves; give one m per curve."
        )
    _positive(x, "m")
    y = [curve.n50 for curve in curves]
    error = [
        (c.high - c.low) / (2 * stats.norm.ppf((1 + c.confidence) / 2))
        if math.isfinite(c.high)
        else math.inf
        for c in curves
    ]
    return fit_line(x, y, error, intercept, confidence)


def fit_line(
    x: ArrayLike, y: ArrayLike, error: ArrayLike, intercept: bool = True, confidence: float = 0.95
) -> Slope:
    """Weighted least squares of ``y`` over ``x`` with standard errors ``error``, all (k,).

    Points without a finite y or a finite error above 0 are left out.  Of logarithms it is a power
    law, whose exponent is the slope.

    Raises :class:`AccessibilityError` where fewer points are left than the line has parameters.

    >>> d = np.array([32.0, 64.0, 128.0])
    >>> round(fit_line(np.log(d), np.log(5 * d**0.5), [0.1, 0.1, 0.1]).slope, 6)
    0.5
    """
    z = stats.norm.ppf((1 + _confidence(confidence)) / 2)
    points = np.array([x, y, error], dtype=float)
    at, value, scatter = points[:, np.isfinite(points).all(0) & (points[2] > 0)]
    parameters = 2 if intercept else 1
    if len(set(at.tolist())) < parameters:
        raise AccessibilityError(
            f"{len(at)} of {points.shape[1]} points have a value with a finite interval, and the "
            f"line needs {parameters} different x; try lengths on both sides of n50."
        )
    design = np.stack([at, np.ones_like(at)] if intercept else [at], axis=1)
    q, r = np.linalg.qr(design / scatter[:, None])
    coefficients = np.linalg.solve(r, q.T @ (value / scatter))
    covariance = np.linalg.inv(r.T @ r)
    rest = (value - design @ coefficients) / scatter
    freedom = len(at) - parameters
    inflation = max(1.0, math.sqrt(rest @ rest / freedom)) if freedom else 1.0
    centre = np.average(value, weights=scatter**-2)
    spread = float((((value - centre) / scatter) ** 2).sum())
    half = z * math.sqrt(covariance[0, 0]) * inflation
    return Slope(
        slope=float(coefficients[0]),
        low=float(coefficients[0] - half),
        high=float(coefficients[0] + half),
        intercept=float(coefficients[1]) if intercept else 0.0,
        confidence=confidence,
        r2=1 - float(rest @ rest) / spread if spread else math.nan,
        inflation=inflation,
        used=tuple(at.tolist()),
    )


@dataclass(frozen=True)
class _Data:
    """Pairs of lengths between which targets stop, and how often each pair was seen."""

    reached: np.ndarray
    failed: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, reached: np.ndarray, failed: np.ndarray, count: np.ndarray) -> _Data:
        seen = count > 0
        return cls(reached[seen], failed[seen], count[seen])

    def loss(self, n50: float, scale: float) -> float:
        """Minus the log-likelihood; p(a) - p(b) = p(a) (1 - p(b)) (1 - exp((a - b) / scale))."""
        up = (n50 - self.reached) / scale
        down = (n50 - self.failed) / scale
        with np.errstate(divide="ignore"):  # a pair closer than the scale can resolve
            log = special.log_expit(up) + special.log_expit(-down) + np.log(-np.expm1(down - up))
        return -float(self.count @ log)

    def profile(self, n50: float, unit: float) -> float:
        """The smallest loss over the scale; it is convex in 1 / scale."""
        found = optimize.minimize_scalar(
            lambda s: self.loss(n50, unit * math.exp(-s)), bounds=_STEEPNESS, method="bounded"
        )
        return min(float(found.fun), *(self.loss(n50, unit * math.exp(-s)) for s in _STEEPNESS))

    def fit(self, middle: float, unit: float) -> tuple[float, float, float]:
        """(n50, scale, loss) of the maximum, where there is one at a positive scale."""

        def loss(v: np.ndarray) -> float:  # convex in (n50 / scale, 1 / scale)
            scale = unit * math.exp(-min(max(v[1], _STEEPNESS[0]), _STEEPNESS[1]))
            return self.loss(middle + scale * v[0], scale)

        options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 2000}
        found = optimize.minimize(loss, [0.0, 1.5], method="Nelder-Mead", options=options)
        scale = unit * math.exp(-found.x[1])
        return float(middle + scale * found.x[0]), scale, float(found.fun)

    def step(self, longest: float, shortest: float, unit: float) -> tuple[float, float, float]:
        """(n50, loss, a point inside the interval) where the best curve is a step: in the middle
        of the gap, or beside the one length that has both successes and failures."""
        n50 = (longest + shortest) / 2
        yes = self.count[self.reached == n50].sum()
        no = self.count[self.failed == n50].sum()
        both = yes + no
        if not both:
            return n50, 0.0, n50
        loss = -float(special.xlogy([yes, no], [yes / both, no / both]).sum())
        return n50, loss, n50 + float(np.sign(yes - no)) * 1e-4 * unit


def _fit(
    data: _Data,
    confidence: float,
    best: float,
    freedom: int,
    lengths: np.ndarray,
    shares: np.ndarray,
    trials: np.ndarray,
) -> Curve:
    """``best``: the log-likelihood of the free shares the deviance compares with."""
    limit = stats.chi2.ppf(_confidence(confidence), 1)
    unit = max(float(np.ptp(lengths)), float(lengths.max()) / 4)
    longest, shortest = float(data.reached.max()), float(data.failed.min())
    separated = longest <= shortest
    if not separated:
        n50, scale, loss = data.fit(float(lengths.mean()), unit)
        start = n50
    elif math.isinf(longest) or math.isinf(shortest):
        n50, scale, loss = math.nan, 0.0, 0.0
        start = shortest / 2 if math.isinf(longest) else longest + unit
    else:
        (n50, loss, start), scale = data.step(longest, shortest, unit), 0.0
    if scale > 1e4 * unit:  # the shares do not fall with the length
        n50, low, high = math.nan, 0.0, math.inf
    else:
        low, high = _ends(lambda n: 2 * (data.profile(n, unit) - loss) - limit, start, unit)
    curve = Curve(
        n50=n50,
        low=min(low, n50) if separated else low,  # min(low, nan) is low
        high=max(high, n50) if separated else high,
        scale=scale,
        confidence=confidence,
        deviance=max(0.0, 2 * (best + loss)),
        freedom=max(0, freedom),
        r2=1.0,  # a step fits the shares exactly
        separated=separated,
        lengths=tuple(lengths.tolist()),
        shares=tuple(shares.tolist()),
    )
    spread = float(trials @ (shares - np.average(shares, weights=trials)) ** 2)
    if spread == 0:
        return replace(curve, r2=math.nan)
    if separated:
        return curve
    return replace(curve, r2=1 - float(trials @ (shares - curve(lengths)) ** 2) / spread)


def _ends(excess: Callable[[float], float], start: float, unit: float) -> tuple[float, float]:
    """Where ``excess``, not positive at ``start``, crosses zero on both sides: a profile of a
    concave likelihood crosses once on each."""
    if start <= 0:
        low = -math.inf
    else:
        low = 0.0 if excess(0.0) <= 0 else optimize.brentq(excess, 0.0, start)
    far = unit
    while excess(start + far) <= 0:
        far *= 4
        if far > 1e5 * unit:
            return low, math.inf
    return low, optimize.brentq(excess, start, start + far)


def _confidence(value: float) -> float:
    if not 0 < value < 1:
        raise AccessibilityError(
            f"confidence = {value!r}, but it must lie between 0 and 1; give a share such as 0.95."
        )
    return float(value)


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    y, n = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    if not ((y == np.round(y)) & (y >= 0)).all() or not ((n == np.round(n)) & (n >= 1)).all():
        raise AccessibilityError(
            "successes and trials must be whole numbers, successes at least 0 and trials at least "
            "1; drop lengths that were not tried."
        )
    if (y > n).any():
        raise AccessibilityError(
            f"{float(y[y > n][0]) if y.shape else float(y):g} successes are more than the trials; "
            "give both for the same length."
        )
    return y, n


def _positive(array: np.ndarray, name: str = "length") -> None:
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        raise AccessibilityError(
            f"{name} = {float(array[bad][0])}, but it must be finite and above 0; "
            "give a number of at least 1."
        )
