"""The support that the final norm's weights make certain, with no sampling at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import at_least, cloud, spacing, vector
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports.ball import Ball
from accessibility_lib.supports.base import Support
from accessibility_lib.supports.box import Box, log_cells
from accessibility_lib.supports.ellipsoid import _axes_that_hold, _unit_ball, log_sum_volume


@dataclass(frozen=True, eq=False)
class NormEllipsoid(Support):
    """x = gain * z + shift with |z|_2 <= sqrt(d), and sum z_i = 0 when ``centred``.

    A final RMSNorm or LayerNorm divides by sqrt(mean square + eps), so |z|_2 < sqrt(d) for every
    input: this set holds the last-layer embedding of every prompt, hard or soft, of any length.
    That is a statement about real arithmetic.  Computed embeddings leave it by rounding, for which
    :meth:`contains` has a tolerance; a LayerNorm loses its sum zero more than that when the mean of
    its input exceeds the spread by orders of magnitude.

    >>> support = NormEllipsoid.rms_norm([2.0, 0.5])
    >>> support.contains([[2.0, 0.5], [2.9, 0.0]]).tolist()
    [True, False]
    """

    name: ClassVar[str] = "norm ellipsoid"
    gain: np.ndarray
    shift: np.ndarray | float = 0.0
    centred: bool = False
    fitted_to: int | None = None

    def __post_init__(self) -> None:
        gain = vector("gain", self.gain)
        if not gain.any():
            raise AccessibilityError(
                "every gain is 0, so every embedding is the shift; no support."
            )
        shift = self.shift if np.ndim(self.shift) else np.full(len(gain), self.shift)
        object.__setattr__(self, "gain", gain)
        object.__setattr__(self, "shift", vector("shift", shift, len(gain)))
        if self.centred and len(gain) < 2:
            raise AccessibilityError("a LayerNorm of d = 1 always gives its shift; no support.")

    @classmethod
    def rms_norm(cls, weight: ArrayLike) -> Self:
        """x = w * z (Llama, Qwen, Mistral)."""
        return cls(vector("weight", weight))

    @classmethod
    def gemma_rms_norm(cls, weight: ArrayLike) -> Self:
        """x = (1 + w) * z, with w as Gemma stores it."""
        return cls(1 + vector("weight", weight))

    @classmethod
    def layer_norm(cls, weight: ArrayLike, bias: ArrayLike | None = None) -> Self:
        """x = w * z + b with sum z_i = 0 (GPT-NeoX, GPT-2)."""
        return cls(vector("weight", weight), 0.0 if bias is None else vector("bias", bias), True)

    @classmethod
    def of_norm(cls, norm: Any) -> Self:
        """From the final norm of a model, ``models.load(name).adapter.norm``.

        Reads ``kind`` ("rmsnorm" or "layernorm"), ``gain`` (1 + w already added) and ``shift``
        (or None), whatever kind of tensors they are.
        """
        shift = 0.0 if norm.shift is None else np.array(norm.shift.tolist())
        return cls(np.array(norm.gain.tolist()), shift, norm.kind == "layernorm")

    @property
    def width(self) -> int:
        """d."""
        return len(self.gain)

    @property
    def dimension(self) -> int:
        """Of the set itself: the number of gains above zero, less one when centred."""
        return int(np.count_nonzero(self.gain)) - self._sliced

    @property
    def _sliced(self) -> bool:
        # A zero gain hides one coordinate of z, which balances the sum of the others; dropping the
        # sum then gives a slightly larger set.
        return self.centred and bool(self.gain.all())

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """shift -+ |gain| sqrt(d), or |gain| sqrt(d-1) when centred."""
        return self.shift - self._reach, self.shift + self._reach

    @property
    def _reach(self) -> np.ndarray:
        return np.abs(self.gain) * math.sqrt(self.width - self._sliced)

    def box(self) -> Box:
        """The smallest box around the set: the box that is certain from the same weights."""
        return Box(*self.bounds())

    def ball(self) -> Ball:
        """The smallest l-inf ball about 0 around the set: Theorem 4.5 with a certain radius."""
        return Ball(self.width, float(np.abs(self.bounds()).max()))

    def log_packing(self, eps: ArrayLike) -> float:
        """Volume of the set plus a cube, in cubes, or the exact count of its box if smaller.

        Without centring this is :class:`Ellipsoid` with semi-axes |gain| sqrt(d).  Centred, the set
        lies in a hyperplane.  The cubes around the points, cut by it, are disjoint, lie in the set
        plus the central cut of a cube, and have (d-1)-volume of at least eps^(d-1): no central cut
        of the unit cube is smaller than 1 (Vaaler, 1979).  A zero gain freezes its coordinate.
        """
        gap = np.broadcast_to(spacing(eps, self.width), self.gain.shape)
        free = self.gain != 0
        axes = np.log(np.abs(self.gain[free])) + math.log(self.width) / 2 - np.log(gap[free])
        by_volume = log_sum_volume(axes, hyperplane=self._sliced)
        return min(max(by_volume, 0.0), log_cells(2 * self._reach, gap))

    def contains(self, points: ArrayLike, rtol: float = 1e-5) -> np.ndarray:
        """Inside up to rounding: an error of rtol (|x_i| + |shift_i|) in each coordinate.

        Default for embeddings computed in fp32; use 2e-2 for bf16.  Booleans (N,).
        """
        x = cloud(points, self.width)
        free = self.gain != 0
        error = rtol * (np.abs(x) + np.abs(self.shift))
        frozen = (np.abs(x - self.shift) <= error)[:, ~free].all(axis=1)
        z = (x - self.shift)[:, free] / self.gain[free]
        slack = error[:, free] / np.abs(self.gain[free])
        root = math.sqrt(self.width)
        inside = np.linalg.norm(z, axis=1) <= root * (1 + rtol) + np.linalg.norm(slack, axis=1)
        if self._sliced:
            inside &= np.abs(z.sum(axis=1)) <= slack.sum(axis=1) + rtol * self.width
        return inside & frozen

    def sample(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Uniform in the set, shape (n, d)."""
        count, free = at_least("n", n, 1), self.gain != 0
        z = np.zeros((count, self.width))
        z[:, free] = _unit_ball(count, int(free.sum()), generator)
        if self._sliced:
            # Drop the mean of the direction, then draw the radius for dimension d-1.
            z -= z.mean(axis=1, keepdims=True)
            z /= np.linalg.norm(z, axis=1, keepdims=True)
            z *= generator.uniform(size=(count, 1)) ** (1 / (self.width - 1))
        return self.shift + self.gain * math.sqrt(self.width) * z

    @classmethod
    def fit(cls, points: ArrayLike) -> Self:
        """The uncentred ellipsoid about 0 with gains in the ratio of the root mean squares.

        For when the weights are not at hand: a sample's support, and no bound for the model.
        """
        array = cloud(points, minimum=2)
        return cls(_axes_that_hold(array) / math.sqrt(array.shape[1]), fitted_to=len(array))
