"""The cone: a ball cut down to directions near an axis.  Its count is heuristic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import at_least, cloud, positive, vector
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports.angles import BLOCK, largest_angle, row_lengths
from accessibility_lib.supports.ball import Ball
from accessibility_lib.supports.base import Support

JOIN = 128  # rows that join the few of an enclosing cone at a time


def log_cap_fraction(d: int, half_angle: float) -> float:
    """ln of the share of the directions of R^d within ``half_angle`` (radians) of an axis.

    0.5 I_{sin^2 phi}((d-1)/2, 1/2) up to a right angle; its complement beyond.  Stable where the
    share underflows: the incomplete beta function is then summed as a power series.

    >>> round(math.exp(log_cap_fraction(3, math.pi / 3)), 12)
    0.25
    """
    from scipy import special  # not at the top: slower to import than the explorer needs

    a, x = (at_least("d", d, 2) - 1) / 2, math.sin(half_angle) ** 2
    half = float(special.betainc(a, 0.5, x)) / 2
    if half_angle > math.pi / 2:
        return math.log1p(-half)
    if half > 1e-280:
        return math.log(half)
    # I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * sum_k prod_{j<k} (a+b+j)/(a+1+j) x; ratios below x.
    j = np.arange(math.ceil(40 / (1 - x)))
    series = 1 + np.cumprod((a + 0.5 + j) / (a + 1 + j) * x).sum()
    log_front = 2 * a * math.log(math.sin(half_angle)) + math.log(math.cos(half_angle))
    return float(log_front + math.log(series / (2 * a)) - special.betaln(a, 0.5))


@dataclass(frozen=True, eq=False)
class Cone(Support):
    """|x|_inf <= r within ``half_angle`` radians of ``axis``.

    ``half_angle_floor``: proved lower bound on the half-angle of every cone that holds the points
    this one was fitted to, so half_angle - half_angle_floor is the certified gap.  ``rule``: how
    the half-angle was found.

    >>> cone = Cone(axis=[0.0, 0.0, 1.0], r=1.0, half_angle=math.pi / 3)
    >>> round(Ball(3, 1.0).log_packing(0.1) - cone.log_packing(0.1), 6) == round(math.log(4), 6)
    True
    """

    name: ClassVar[str] = "cone"
    rigorous: ClassVar[bool] = False
    heuristic: ClassVar[str] = "an l-infinity count times an l2 share of directions"
    axis: np.ndarray
    r: float
    half_angle: float
    half_angle_floor: float = 0.0
    rule: str = "given"
    fitted_to: int | None = None

    def __post_init__(self) -> None:
        axis = vector("axis", self.axis)
        length = float(np.linalg.norm(axis))
        if length == 0 or len(axis) < 2:
            raise AccessibilityError("axis is zero or has d = 1; give a direction in d >= 2.")
        angle = positive("half_angle", self.half_angle, "give radians in (0, pi]")
        if angle > math.pi:
            raise AccessibilityError(f"half_angle = {angle:g} is above pi; give radians.")
        object.__setattr__(self, "axis", axis / length)
        object.__setattr__(self, "r", positive("r", self.r, "give the radius of the support"))

    @property
    def width(self) -> int:
        """d."""
        return len(self.axis)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Those of the ball: -r and r."""
        return Ball(self.width, self.r).bounds()

    def log_packing(self, eps: ArrayLike) -> float:
        """Ball plus ln of the share of directions, at least 0.  Not a proved bound: see heuristic.

        The ball of radius r is the proved bound for this set.
        """
        ball = Ball(self.width, self.r).log_packing(eps)
        return max(0.0, ball + log_cap_fraction(self.width, self.half_angle))

    def contains(self, points: ArrayLike, atol: float = 1e-9) -> np.ndarray:
        """|x|_inf <= r and the angle to the axis at most half_angle, up to ``atol`` in cosine."""
        array = cloud(points, self.width)
        length = np.linalg.norm(array, axis=1)
        near = array @ self.axis >= (math.cos(self.half_angle) - atol) * length
        return near & (np.abs(array).max(axis=1) <= self.r)

    def sample_directions(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Uniform unit vectors within the half-angle, shape (n, d); exact in every dimension.

        Enough for cell volumes without a bias, which depend on the direction only.
        """
        from scipy import special

        count, d = at_least("n", n, 1), self.width
        # The square of the sine follows Beta((d-1)/2, 1/2) on each half of the sphere, cut at phi.
        a, most = (d - 1) / 2, math.sin(self.half_angle) ** 2
        cut = float(special.betainc(a, 0.5, most)) / 2
        if self.half_angle > math.pi / 2 or cut > 1e-250:
            share = generator.uniform(size=count)
            share *= cut if self.half_angle <= math.pi / 2 else 1 - cut
            squared = special.betaincinv(a, 0.5, 2 * np.minimum(share, 1 - share))
            sign = np.where(share <= 0.5, 1, -1)
        else:
            # That share underflows; then x^(a-1) alone is nearly the density on [0, most].
            squared, sign = np.empty(0), np.ones(count)
            while len(squared) < count:
                x = most * generator.uniform(size=count) ** (1 / a)
                keep = generator.uniform(size=count) <= np.sqrt((1 - most) / (1 - x))
                squared = np.concatenate([squared, x[keep]])[:count]
        cosine = np.sqrt(1 - squared) * sign
        side = generator.standard_normal((count, d))
        side -= np.outer(side @ self.axis, self.axis)
        side /= np.linalg.norm(side, axis=1, keepdims=True)
        return np.outer(cosine, self.axis) + np.sqrt(squared)[:, None] * side

    def sample(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Uniform in the cone cut by the l-inf ball, shape (n, d), by rejection from an l2 ball.

        The cube fills less and less of the l2 ball around it as d grows; when fewer than one draw
        in 10,000 is kept this stops with an error.  :meth:`sample_directions` has no such limit.
        """
        wanted, tried = at_least("n", n, 1), 0
        kept = np.empty((0, self.width))
        while len(kept) < wanted:
            u = self.sample_directions(max(wanted, 1000), generator)
            reach = self.r * math.sqrt(self.width)
            x = u * reach * generator.uniform(size=(len(u), 1)) ** (1 / self.width)
            kept = np.concatenate([kept, x[np.abs(x).max(axis=1) <= self.r]])
            tried += len(u)
            if len(kept) < 1e-4 * tried:
                raise AccessibilityError(
                    f"d = {self.width} is too wide for uniform samples of a cone by rejection; "
                    "use sample_directions."
                )
        return kept[:wanted]

    @classmethod
    def fit(cls, points: ArrayLike, gap: float = 1e-3, steps: int = 2000) -> Self:
        """The smallest cone around the points, to within ``gap`` radians or after ``steps`` steps.

        The best axis is the point c nearest 0 of the convex hull of the unit vectors, which is also
        the centre of their smallest enclosing ball.  Weight moves from the nearest unit vector to
        the farthest: Badoiu and Clarkson's step with Wolfe's away step.  The certificate, at any
        step: the cosines to an axis a have the weighted mean c.a <= |c|, so one of them is at most
        |c| and no cone around the points is narrower than arccos|c|.  With 0 in the hull the floor
        is a right angle, and the cone returned is the best one met.
        """
        array = cloud(points, minimum=2, keep=True)
        length = row_lengths(array)
        axis, floor = _enclosing_axis(
            array, length, positive("gap", gap), at_least("steps", steps, 1)
        )
        cosine = float(_cosines(array, length, axis).min()) - 1e-12  # rounding of one dot product
        angle = math.acos(min(max(cosine, -1.0), 1.0))
        return cls(axis, _largest(array), angle, floor, "smallest cone", len(array))

    @classmethod
    def fit_half_angle(cls, points: ArrayLike) -> Self:
        """The paper's rule: half of the largest pairwise angle, about the mean direction.

        The points need not lie in it: d orthonormal vectors give 45 degrees, and the smallest cone
        around them has arccos(1/sqrt d).
        """
        array = cloud(points, minimum=2, keep=True)
        half = largest_angle(array) / 2
        length = row_lengths(array)
        mean = sum((part / size[:, None]).sum(axis=0) for part, size in _parts(array, length))
        rule = "cone by half the largest angle"
        return cls(mean / len(array), _largest(array), half, half, rule, len(array))


def _parts(array: np.ndarray, length: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows and their lengths, some at a time and in float64: float32 points need no wide copy."""
    for start in range(0, len(array), BLOCK):
        part = slice(start, start + BLOCK)
        yield array[part].astype(float), length[part]


def _cosines(array: np.ndarray, length: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return np.concatenate([part @ axis / size for part, size in _parts(array, length)])


def _largest(array: np.ndarray) -> float:
    return max(abs(float(array.min())), abs(float(array.max())))


def _enclosing_axis(
    array: np.ndarray, length: np.ndarray, gap: float, steps: int
) -> tuple[np.ndarray, float]:
    """(axis, floor): the best axis met, and the least half-angle that any axis can have.

    Solved for a few rows at first; the rows farthest from that axis join them until the cone around
    the few holds all.  The floor for the few is one for all.
    """
    few = np.linspace(0, len(array) - 1, min(len(array), 2 * JOIN)).astype(int)
    best, angle, floor = np.empty(0), math.inf, 0.0
    while True:
        axis, bound = _axis_of_few(array[few] / length[few, None], gap / 2, steps)
        floor = max(floor, bound)
        cosines = _cosines(array, length, axis)
        here = math.acos(min(max(float(cosines.min()), -1.0), 1.0))
        if here < angle:
            best, angle = axis, here
        more = np.setdiff1d(np.argsort(cosines, kind="stable")[:JOIN], few)
        # With 0 in the hull the floor ends at a right angle, and no more rows would raise it.
        if angle - floor <= gap or floor >= math.pi / 2 - gap or not len(more):
            return best, floor
        few = np.concatenate([few, more])


def _axis_of_few(unit: np.ndarray, gap: float, steps: int) -> tuple[np.ndarray, float]:
    """The same for a few unit vectors (k, d)."""
    weight = np.zeros(len(unit))
    weight[0] = 1.0
    axis, angle, floor = unit[0], math.pi, 0.0
    for _ in range(steps):
        c = weight @ unit
        norm, dots = float(np.linalg.norm(c)), unit @ c
        floor = max(floor, math.acos(min(norm, 1.0)))
        far = int(dots.argmin())
        if norm > 1e-9:
            here = math.acos(min(max(float(dots[far]) / norm, -1.0), 1.0))
            if here < angle:
                axis, angle = c / norm, here
        if norm <= 1e-9 or angle - floor <= gap:
            break
        near = int(np.where(weight > 0, dots, -np.inf).argmax())
        if near == far:
            break
        direction = unit[far] - unit[near]
        move = -float(c @ direction) / float(direction @ direction)
        move = min(max(move, 0.0), float(weight[near]))
        weight[far] += move
        weight[near] = 0.0 if move == weight[near] else weight[near] - move
        weight /= weight.sum()
    return axis, floor
