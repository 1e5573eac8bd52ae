"""Ellipsoids: a general one, and the one that the final norm's weights make certain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import at_least, cloud, spacing, vector
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports.base import Support
from accessibility_lib.supports.box import log_cells


def log_sum_volume(log_axes: np.ndarray, hyperplane: bool = False) -> float:
    """ln of the least volume found of an ellipsoid that holds an ellipsoid plus the unit cube.

    ``log_axes``: ln s_i (d,), in units of the cube's side.  The cube lies in the l2 ball of radius
    rho = sqrt(d)/2, and the sum of the two lies in the ellipsoid with squared semi-axes
    (1+t) s_i^2 + (1+1/t) rho^2 for every t > 0 (compare support functions and use
    2ab <= t a^2 + b^2/t).  Every t bounds; the best one is looked for.

    ``hyperplane``: the same for the slice {s_i z_i : |z|_2 <= 1, sum z_i = 0} of dimension d-1.
    The squared semi-axes of the slice are those of diag(s^2) compressed to the complement of
    (1, .., 1), and det of a compression of M is det(M) * mean_i (M^-1)_ii: no eigenvalues needed.
    """
    from scipy.optimize import minimize_scalar  # not at the top: slower to import than all the rest

    d = len(log_axes)
    k = d - 1 if hyperplane else d
    squares = 2 * log_axes
    log_rho2 = math.log(d / 4)

    def half_log_det(u: float) -> float:  # u = ln t
        each = np.logaddexp(squares, log_rho2 - u)
        total = k * np.logaddexp(0.0, u) + each.sum()
        if hyperplane:
            total += np.logaddexp.reduce(-each) - math.log(d)
        return float(total / 2)

    ends = ((log_rho2 - squares.max()) / 2 - 1, (log_rho2 - squares.min()) / 2 + 1)
    best = minimize_scalar(half_log_det, bounds=ends, method="bounded", options={"xatol": 1e-9})
    return float(best.fun) + k / 2 * math.log(math.pi) - math.lgamma(k / 2 + 1)


def _unit_ball(n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    """Uniform in the l2 unit ball of R^d, shape (n, d)."""
    z = generator.standard_normal((n, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    return z * generator.uniform(size=(n, 1)) ** (1 / d)


@dataclass(frozen=True, eq=False)
class Ellipsoid(Support):
    """sum_i ((x_i - centre_i) / axes_i)^2 <= 1, axis-aligned; ``axes`` are the semi-axes.

    >>> from accessibility_lib.supports import Ball
    >>> Ellipsoid(axes=[1.0] * 100).log_packing(0.01) < Ball(d=100, r=1.0).log_packing(0.01) - 100
    True
    """

    name: ClassVar[str] = "ellipsoid"
    axes: np.ndarray
    centre: np.ndarray | float = 0.0
    fitted_to: int | None = None

    def __post_init__(self) -> None:
        axes = vector("axes", self.axes)
        if (axes <= 0).any():
            i = int(np.flatnonzero(axes <= 0)[0])
            raise AccessibilityError(
                f"axes[{i}] = {axes[i]:g}, but a semi-axis is above 0; drop a constant coordinate."
            )
        centre = self.centre if np.ndim(self.centre) else np.full(len(axes), self.centre)
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "centre", vector("centre", centre, len(axes)))

    @property
    def width(self) -> int:
        """d."""
        return len(self.axes)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """centre - axes and centre + axes."""
        return self.centre - self.axes, self.centre + self.axes

    def log_packing(self, eps: ArrayLike) -> float:
        """ln of the volume of a set holding K plus the cube of side eps, in cubes.

        Points at least eps apart are centres of disjoint open cubes of side eps inside K plus a
        cube, see :func:`log_sum_volume`.  The exact count of the enclosing box bounds as well; the
        smaller of the two is returned.
        """
        gap = spacing(eps, self.width)
        by_volume = log_sum_volume(np.log(self.axes) - np.log(gap))
        return min(max(by_volume, 0.0), log_cells(2 * self.axes, gap))

    def contains(self, points: ArrayLike, rtol: float = 1e-12) -> np.ndarray:
        """Inside up to a relative rounding error ``rtol`` of the distance from the centre."""
        scaled = (cloud(points, self.width) - self.centre) / self.axes
        return np.linalg.norm(scaled, axis=1) <= 1 + rtol

    def sample(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Uniform in the ellipsoid, shape (n, d)."""
        return self.centre + self.axes * _unit_ball(at_least("n", n, 1), self.width, generator)

    @classmethod
    def fit(cls, points: ArrayLike) -> Self:
        """Centre at the mean, semi-axes in the ratio of the standard deviations, just large enough.

        Holds every point; not the ellipsoid of least volume.  A constant coordinate is refused.
        """
        array = cloud(points, minimum=2)
        centre = array.mean(axis=0)
        axes = _axes_that_hold(array - centre)
        return cls(axes, centre, fitted_to=len(array))


def _axes_that_hold(offsets: np.ndarray) -> np.ndarray:
    spread = np.sqrt((offsets**2).mean(axis=0))
    if (spread == 0).any():
        i = int(np.flatnonzero(spread == 0)[0])
        raise AccessibilityError(
            f"coordinate {i} does not vary over the points, which makes a semi-axis 0; "
            "drop that coordinate or fit a Box."
        )
    return spread * np.linalg.norm(offsets / spread, axis=1).max()
