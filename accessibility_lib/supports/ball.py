"""The l-infinity ball of Theorem 4.5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import at_least, cloud, positive, spacing
from accessibility_lib.supports.base import Support


def log1p_ratio(width: ArrayLike, gap: np.ndarray, ratio: np.ndarray | None = None) -> np.ndarray:
    """ln(1 + width/gap), finite where the quotient overflows; ``ratio`` replaces the quotient."""
    with np.errstate(over="ignore", divide="ignore"):
        quotient = np.asarray(width) / gap if ratio is None else ratio
        return np.where(np.isfinite(quotient), np.log1p(quotient), np.log(width) - np.log(gap))


@dataclass(frozen=True)
class Ball(Support):
    """The cube |x_i| <= r, the support of Theorem 4.5.

    >>> round(Ball(d=768, r=63.62).log_packing(2**-10), 1)
    9045.2
    """

    name: ClassVar[str] = "ball"
    d: int
    r: float
    fitted_to: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", at_least("d", self.d, 1))
        object.__setattr__(self, "r", positive("r", self.r, "give the radius of the support"))

    @property
    def width(self) -> int:
        """d."""
        return self.d

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """-r and r in every coordinate."""
        return np.full(self.d, -self.r), np.full(self.d, self.r)

    def log_packing(self, eps: ArrayLike) -> float:
        """d ln(1 + 2r/eps), or the sum over coordinates when eps has one entry for each.

        An upper bound: points at least eps apart are centres of disjoint open cubes of side eps,
        which all lie in the cube of half-side r + eps/2.  Finite even where 2r/eps overflows.
        """
        gap = spacing(eps, self.d)
        each = log1p_ratio(2 * self.r, gap)
        return float(np.sum(each) if each.shape else self.d * each)

    def contains(self, points: ArrayLike) -> np.ndarray:
        """|x|_inf <= r, without tolerance."""
        return np.abs(cloud(points, self.d)).max(axis=1) <= self.r

    def sample(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Uniform in the cube, shape (n, d)."""
        return generator.uniform(-self.r, self.r, (at_least("n", n, 1), self.d))

    @classmethod
    def fit(cls, points: ArrayLike) -> Self:
        """The smallest such ball about the origin: r = the largest |x_i|."""
        array = cloud(points, minimum=2)
        return cls(d=array.shape[1], r=float(np.abs(array).max()), fitted_to=len(array))
