"""Number grids: spacing, rounding constants and exact counts of representable values.

Three constants are often called "the precision", and they differ.  For p stored mantissa bits:

- *spacing* at x: the gap between neighbours, 2^(e-p) for 2^e <= |x| < 2^(e+1);
- *machine epsilon*: the spacing at 1, 2^-p (fp16: 2^-10; bf16: 2^-7);
- *unit roundoff*: half of it, 2^-(p+1), the largest relative error of rounding to nearest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import number, numbers, positive
from accessibility_lib.errors import AccessibilityError


@dataclass(frozen=True)
class FloatGrid:
    """The finite values of a binary floating-point format.

    ``mantissa``: stored bits p; ``min_exponent``: exponent of the smallest normal number;
    ``largest``: the largest finite value, which e4m3fn has below the end of its last binade.

    >>> grid("fp16").spacing(40.0), grid("bf16").machine_epsilon == 2**-7
    (0.03125, True)
    """

    name: str
    mantissa: int
    min_exponent: int
    largest: float

    @property
    def machine_epsilon(self) -> float:
        """The gap above 1: 2^-p."""
        return math.ldexp(1.0, -self.mantissa)

    @property
    def unit_roundoff(self) -> float:
        """Half of the machine epsilon: 2^-(p+1)."""
        return math.ldexp(1.0, -self.mantissa - 1)

    @property
    def smallest(self) -> float:
        """The smallest positive value, a subnormal; also the spacing around 0."""
        return math.ldexp(1.0, self.min_exponent - self.mantissa)

    def _exponent(self, magnitude: np.ndarray) -> np.ndarray:
        exponent = np.where(magnitude > 0, np.frexp(magnitude)[1] - 1, self.min_exponent)
        return np.maximum(exponent, self.min_exponent)

    def spacing(self, x: ArrayLike) -> Any:
        """Gap between x and the next value away from 0, in the units of x; shape of x.

        Raises when |x| is beyond the largest finite value.
        """
        magnitude = np.abs(_finite("x", x))
        if (magnitude > self.largest).any():
            raise AccessibilityError(
                f"x = {float(magnitude.max())} is beyond the largest {self.name} value "
                f"{self.largest}; use a wider format."
            )
        return _scalar(np.ldexp(1.0, self._exponent(magnitude) - self.mantissa))

    def _rank_below(self, x: np.ndarray) -> np.ndarray:
        """Signed index of the largest value <= x, with index 0 at zero (int64).

        The values of a format, in order, are numbered by their bit patterns: the index of x >= 0 is
        (e - e_min) 2^p + floor(x / 2^(e-p)).  Scaling by a power of two is exact in fp64.
        """
        magnitude = np.minimum(np.abs(x), self.largest)
        e = self._exponent(magnitude)
        scaled = np.ldexp(magnitude, self.mantissa - e)
        base = (e - self.min_exponent).astype(np.int64) << self.mantissa
        up = base + np.ceil(scaled).astype(np.int64) + (np.abs(x) > self.largest)
        return np.where(x >= 0, base + np.floor(scaled).astype(np.int64), -up)

    def count(self, lo: ArrayLike, hi: ArrayLike) -> Any:
        """How many values lie in [lo, hi], exactly; +0 and -0 are one value.

        Closed form, so a coordinate of a model costs the same in fp64 as in fp8.  Returns an int,
        or a uint64 array where lo or hi is an array.

        >>> grid("fp16").count(1, 2), grid("fp8_e4m3fn").count(-448, 448)
        (1025, 253)
        """
        low, high = np.broadcast_arrays(_finite("lo", lo), _finite("hi", hi))
        _ordered(low, high)
        # The sum of two int64 can pass 2^63 (fp64), but the count fits uint64: add modulo 2^64.
        with np.errstate(over="ignore"):
            total = self._rank_below(high).astype(np.uint64)
            total = total + self._rank_below(-low).astype(np.uint64) + np.uint64(1)
        return total if total.shape else int(total)

    def values(self, lo: float, hi: float, limit: int = 1 << 17) -> np.ndarray:
        """The values in [lo, hi] in ascending order; raises when there are more than ``limit``."""
        lo, hi = number("lo", lo), number("hi", hi)
        _at_most(self.count(lo, hi), limit, self.name)
        first = -int(self._rank_below(-np.asarray(lo, dtype=float)))
        rank = np.arange(first, first + self.count(lo, hi), dtype=np.int64)
        index = np.abs(rank)
        binade = np.maximum((index >> self.mantissa) - 1, 0)
        significand = (index - (binade << self.mantissa)).astype(float)
        size = np.ldexp(significand, (binade + self.min_exponent - self.mantissa).astype(np.int32))
        return np.sign(rank) * size


@dataclass(frozen=True)
class IntegerGrid:
    """The values scale * k for integers k in [lowest, highest]: a quantised number.

    One scale for the whole grid, as in round-to-nearest quantisation of one row or block.

    >>> grid("int4", scale=0.5).values(-1, 9).tolist()
    [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]
    """

    name: str
    lowest: int
    highest: int
    scale: float = 1.0

    @property
    def largest(self) -> float:
        """The largest value, ``highest * scale``."""
        return self.highest * self.scale

    def spacing(self, x: ArrayLike) -> Any:
        """The scale, wherever x is within the grid; shape of x."""
        array = _finite("x", x)
        if ((array < self.lowest * self.scale) | (array > self.largest)).any():
            raise AccessibilityError(
                f"x leaves the {self.name} grid [{self.lowest * self.scale}, {self.largest}]; "
                "use a larger scale."
            )
        return _scalar(np.full(array.shape, self.scale))

    def count(self, lo: ArrayLike, hi: ArrayLike) -> Any:
        """How many values lie in [lo, hi]: an int, or a uint64 array for arrays."""
        low, high = np.broadcast_arrays(_finite("lo", lo), _finite("hi", hi))
        _ordered(low, high)
        last = self._index_below(high)
        total = np.maximum(last - self._first(low) + 1, 0).astype(np.uint64)
        return total if total.shape else int(total)

    def _index_below(self, x: np.ndarray) -> np.ndarray:
        """The largest k with k * scale <= x; the one below ``lowest`` where there is none."""
        with np.errstate(over="ignore"):
            k = np.clip(np.floor(x / self.scale), self.lowest - 1, self.highest)
        # The quotient is rounded, so it may be one off where x is a value of the grid.
        k += ((k + 1) * self.scale <= x) & (k < self.highest)
        return k - ((k * self.scale > x) & (k >= self.lowest))

    def _first(self, x: np.ndarray) -> np.ndarray:
        """The smallest k with k * scale >= x; the one above ``highest`` where there is none."""
        k = self._index_below(x)
        return k + ((k < self.lowest) | (k * self.scale < x))

    def values(self, lo: float, hi: float, limit: int = 1 << 17) -> np.ndarray:
        """The values in [lo, hi] in ascending order; raises when there are more than ``limit``."""
        lo, hi = number("lo", lo), number("hi", hi)
        _at_most(self.count(lo, hi), limit, self.name)
        first = self._first(np.asarray(lo))
        return (first + np.arange(self.count(lo, hi))) * self.scale


Grid = FloatGrid | IntegerGrid

_GRIDS: dict[str, Grid] = {
    "fp64": FloatGrid("fp64", 52, -1022, float(np.finfo(np.float64).max)),
    "fp32": FloatGrid("fp32", 23, -126, float(np.finfo(np.float32).max)),
    "fp16": FloatGrid("fp16", 10, -14, 65504.0),
    "bf16": FloatGrid("bf16", 7, -126, math.ldexp(255, 120)),
    "fp8_e4m3fn": FloatGrid("fp8_e4m3fn", 3, -6, 448.0),
    "fp8_e5m2": FloatGrid("fp8_e5m2", 2, -14, 57344.0),
    "int8": IntegerGrid("int8", -128, 127),
    "int4": IntegerGrid("int4", -8, 7),
}
_ALIASES = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8_e4m3fn",
    "float8_e5m2": "fp8_e5m2",
    "e4m3fn": "fp8_e4m3fn",
    "e5m2": "fp8_e5m2",
}
NAMES = tuple(_GRIDS)
FLOAT_NAMES = tuple(name for name, each in _GRIDS.items() if isinstance(each, FloatGrid))


def grid(dtype: Any, scale: float | None = None) -> Grid:
    """The grid of a dtype, by name or by the dtype object of numpy or torch.

    ``scale`` is the step of int8 and int4 (1 when left out).  Raises for a dtype without a grid.

    >>> grid("torch.bfloat16").name, grid(np.float32).name
    ('bf16', 'fp32')
    """
    label = str(getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or dtype)
    label = label.removeprefix("torch.").lower()
    found = _GRIDS.get(_ALIASES.get(label, label))
    if found is None:
        raise AccessibilityError(f"{label!r} has no number grid here; known: {', '.join(NAMES)}.")
    if scale is None:
        return found
    if isinstance(found, FloatGrid):
        raise AccessibilityError(f"{label} is a float format and takes no scale; leave it out.")
    return replace(found, scale=positive("scale", scale))


def _finite(name: str, x: ArrayLike) -> np.ndarray:
    array = numbers(name, x)
    if not np.isfinite(array).all():
        raise AccessibilityError(f"{name} holds NaN or infinity; give finite numbers.")
    return array


def _ordered(lo: np.ndarray, hi: np.ndarray) -> None:
    if (lo > hi).any():
        i = np.flatnonzero(np.ravel(lo > hi))[0]
        raise AccessibilityError(
            f"lo = {float(lo.flat[i])} is above hi = {float(hi.flat[i])}; exchange them."
        )


def _at_most(count: int, limit: int, name: str) -> None:
    if count > limit:
        raise AccessibilityError(
            f"{count} {name} values lie there, more than limit = {limit}; narrow the interval, "
            "or ask count() instead."
        )


def _scalar(array: np.ndarray) -> Any:
    return array if array.shape else float(array)
