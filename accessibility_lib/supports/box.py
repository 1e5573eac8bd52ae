"""The box: one interval per coordinate.  The paper's rows named "Ellipsoid" are this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import at_least, cloud, spacing, vector
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports.ball import log1p_ratio
from accessibility_lib.supports.base import Support


def log_cells(sides: np.ndarray, gap: np.ndarray) -> float:
    """sum_i ln(floor(sides_i/gap_i) + 1): the packing number of a box with these sides.

    A quotient within rounding of an integer is rounded up, so the count never falls short.
    """
    with np.errstate(over="ignore"):
        cells = np.floor(sides / gap * (1 + 2.0**-50))
    return float(log1p_ratio(sides, gap, cells).sum())


@dataclass(frozen=True, eq=False)
class Box(Support):
    """lo_i <= x_i <= hi_i.

    >>> box = Box(lo=[0, 0], hi=[1, 3])
    >>> round(np.exp(box.log_packing(1.0))), round(np.exp(box.log_packing_continuous(0.5)))
    (8, 21)
    """

    name: ClassVar[str] = "box"
    lo: np.ndarray
    hi: np.ndarray
    fitted_to: int | None = None

    def __post_init__(self) -> None:
        lo = vector("lo", self.lo)
        hi = vector("hi", self.hi, len(lo))
        if (lo > hi).any():
            i = int(np.flatnonzero(lo > hi)[0])
            raise AccessibilityError(
                f"lo[{i}] = {lo[i]:g} is above hi[{i}] = {hi[i]:g}; exchange them."
            )
        if (lo == hi).all():
            raise AccessibilityError("lo equals hi in every coordinate; one point is no support.")
        object.__setattr__(self, "lo", lo)
        object.__setattr__(self, "hi", hi)

    @property
    def width(self) -> int:
        """d."""
        return len(self.lo)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi."""
        return self.lo, self.hi

    def log_packing(self, eps: ArrayLike) -> float:
        """sum_i ln(floor((hi_i - lo_i)/eps_i) + 1): the packing number itself.

        Half-open cells of side eps hold one point each, and the lattice lo + eps k has one in each.
        """
        return log_cells(self.hi - self.lo, spacing(eps, self.width))

    def log_packing_continuous(self, eps: ArrayLike) -> float:
        """sum_i ln(1 + (hi_i - lo_i)/eps_i): the paper's form, never below the exact count."""
        return float(log1p_ratio(self.hi - self.lo, spacing(eps, self.width)).sum())

    def contains(self, points: ArrayLike) -> np.ndarray:
        """lo <= x <= hi, without tolerance."""
        array = cloud(points, self.width)
        return np.all((array >= self.lo) & (array <= self.hi), axis=1)

    def sample(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Uniform in the box, shape (n, d)."""
        return generator.uniform(self.lo, self.hi, (at_least("n", n, 1), self.width))

    @classmethod
    def fit(cls, points: ArrayLike) -> Self:
        """The smallest box that holds the points."""
        array = cloud(points, minimum=2)
        return cls(array.min(axis=0), array.max(axis=0), fitted_to=len(array))
