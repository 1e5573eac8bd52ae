"""What one pass over any number of embeddings leaves behind: radii, ranges, mean, covariance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import cloud
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports import Ball, Box


@dataclass(frozen=True, eq=False)
class Statistics:
    """Of ``count`` embeddings in R^d, in float64; two of them add up to that of all.

    ``l1``, ``l2``, ``linf``: the largest norm of an embedding, the radius in that norm.  ``lo``,
    ``hi``, ``mean`` (d,): of each coordinate.  ``scatter`` (d, d): the sum of the outer products of
    the deviations from the mean, count - 1 times the covariance.

    >>> whole = Statistics.of([[3.0, 4.0]]) + Statistics.of([[-1.0, 0.0], [1.0, 2.0]])
    >>> whole.count, whole.l1, whole.l2, whole.linf, whole.mean.tolist()
    (3, 7.0, 5.0, 4.0, [1.0, 2.0])
    """

    count: int
    l1: float
    l2: float
    linf: float
    lo: np.ndarray
    hi: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, points: ArrayLike) -> Self:
        """Of the (N, d) points of one batch; NaN, infinity and an empty batch are refused."""
        array = cloud(points).astype(float, copy=False)
        size = np.abs(array)
        mean = array.mean(axis=0)
        offset = array - mean
        return cls(
            count=len(array),
            l1=float(size.sum(axis=1).max()),
            l2=float(np.linalg.norm(array, axis=1).max()),
            linf=float(size.max()),
            lo=array.min(axis=0),
            hi=array.max(axis=0),
            mean=mean,
            scatter=offset.T @ offset,
        )

    def __add__(self, other: Statistics) -> Statistics:
        """Of both samples together: Chan, Golub and LeVeque's update, stable about any mean."""
        if len(self.mean) != len(other.mean):
            raise AccessibilityError(
                f"widths {len(self.mean)} and {len(other.mean)}; embeddings of one model have one."
            )
        count = self.count + other.count
        step = other.mean - self.mean
        return Statistics(
            count=count,
            l1=max(self.l1, other.l1),
            l2=max(self.l2, other.l2),
            linf=max(self.linf, other.linf),
            lo=np.minimum(self.lo, other.lo),
            hi=np.maximum(self.hi, other.hi),
            mean=self.mean + step * (other.count / count),
            scatter=self.scatter
            + other.scatter
            + np.outer(step, step * (self.count * other.count / count)),
        )

    @property
    def covariance(self) -> np.ndarray:
        """Unbiased, (d, d); refused for one embedding."""
        if self.count < 2:
            raise AccessibilityError("1 embedding has no covariance; give at least 2 prompts.")
        return self.scatter / (self.count - 1)

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of each coordinate, (d,); refused for one embedding."""
        return np.sqrt(np.diag(self.covariance))

    def radius(self, norm: str) -> float:
        """The radius in the norm "l1", "l2", "linf", or "rms": l2 / sqrt d."""
        if norm == "rms":
            return self.l2 / len(self.mean) ** 0.5
        if norm not in NORMS:
            raise AccessibilityError(f"norm = {norm!r}; there are {', '.join(NORMS)}.")
        return float(getattr(self, norm))

    def ball(self) -> Ball:
        """The l-infinity ball that holds the sample: Theorem 4.5's support with Table 2's r."""
        return Ball(len(self.mean), self.linf, self.count)

    def box(self) -> Box:
        """The box that holds the sample; refused where all embeddings are equal."""
        if (self.lo == self.hi).all():
            raise AccessibilityError(
                f"all {self.count} embeddings are equal and span no box; give different prompts."
            )
        return Box(self.lo, self.hi, self.count)


NORMS = ("l1", "l2", "linf", "rms")


def summarize(batches: Iterable[ArrayLike]) -> Statistics:
    """Statistics of a stream of batches, each (N_k, d).  One pass: beside a batch only d^2 numbers
    are held, however many prompts there are.

    Raises :class:`AccessibilityError` where there is no prompt at all, and names the batch that
    holds NaN or infinity.

    >>> stream = (np.full((1000, 2), k) for k in range(5))
    >>> whole = summarize(stream)
    >>> whole.count, whole.linf, whole.mean.tolist()
    (5000, 4.0, [2.0, 2.0])
    """

    def each() -> Iterable[Statistics]:
        for k, batch in enumerate(batches):
            try:
                yield Statistics.of(batch)
            except AccessibilityError as error:
                raise AccessibilityError(f"batch {k}: {error}") from None

    found = iter(each())
    first = next(found, None)
    if first is None:
        raise AccessibilityError("there are no prompts to measure; give at least one.")
    return reduce(lambda a, b: a + b, found, first)
