"""Checks of numbers that come from outside; each error says the value, the limit and the remedy."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from accessibility_lib.errors import AccessibilityError


def positive(name: str, value: Any, remedy: str = "") -> float:
    """``value`` as a finite float above zero."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise AccessibilityError(f"{name} = {value!r} is not a number; {remedy or 'give one'}.")
    number = float(value)
    if not math.isfinite(number) or number <= 0:
        raise AccessibilityError(
            f"{name} = {value!r}, but it must be finite and above 0"
            f"; {remedy or 'give a positive number'}."
        )
    return number


def at_least(name: str, value: Any, minimum: int, remedy: str = "") -> int:
    """``value`` as an integer not below ``minimum``; 576.0 counts as 576, 576.5 is refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise AccessibilityError(f"{name} = {value!r} is not a number; give an integer.")
    number = value if isinstance(value, Integral) else float(value)
    whole = isinstance(number, Integral) or number.is_integer()  # False for NaN and infinity
    if not whole or int(number) < minimum:
        raise AccessibilityError(
            f"{name} = {value!r}, but it must be an integer of at least {minimum}"
            f"{'; ' + remedy if remedy else ''}."
        )
    return int(number)


def vocabulary(value: Any) -> int:
    """|V|, at least 2: ln 1 = 0 would make every length accessible."""
    return at_least("|V|", value, 2, "with one token every length has one sequence only")


def spacing(eps: Any, d: int) -> np.ndarray:
    """A precision as an array that broadcasts over ``d`` coordinates: shape () or (d,)."""
    array = np.asarray(eps, dtype=float)
    if array.shape not in ((), (d,)):
        raise AccessibilityError(
            f"eps has shape {array.shape}, but the support has d = {d}; "
            f"give one number or one per coordinate, shape ({d},)."
        )
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        raise AccessibilityError(
            f"eps = {float(array[bad][0])}, but it must be finite and "
            "above 0; give a spacing such as 2**-10."
        )
    return array


def cloud(points: Any, d: int | None = None, minimum: int = 1) -> np.ndarray:
    """Points as a finite float64 array (N, d); one vector is read as N = 1."""
    try:
        array = np.asarray(points, dtype=float)
    except (TypeError, ValueError) as error:
        raise AccessibilityError(
            f"points do not form an array ({error}); give rows of one width, shape (N, d)."
        ) from None
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape:
        raise AccessibilityError(
            f"points have shape {array.shape}; give at least one row, shape (N, d)."
        )
    if d is not None and array.shape[1] != d:
        raise AccessibilityError(
            f"points have width {array.shape[1]}, but the support has d = {d}; give shape (N, {d})."
        )
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise AccessibilityError(
            f"row {row} of the points holds NaN or infinity; drop it or compute in a wider dtype."
        )
    if len(array) < minimum or (minimum > 1 and (array == array[0]).all()):
        raise AccessibilityError(
            f"{len(array)} point(s), all equal, span no support; give at least {minimum} "
            "different points."
        )
    return array


def vector(name: str, value: Any, d: int | None = None) -> np.ndarray:
    """A finite float64 vector (d,)."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise AccessibilityError(f"{name} is not a vector ({error}); give d numbers.") from None
    if array.ndim != 1 or not array.size or (d is not None and len(array) != d):
        raise AccessibilityError(
            f"{name} has shape {array.shape}; give a vector of "
            f"{'at least one number' if d is None else f'{d} numbers'}."
        )
    if not np.isfinite(array).all():
        raise AccessibilityError(f"{name} holds NaN or infinity; every entry must be finite.")
    return array
