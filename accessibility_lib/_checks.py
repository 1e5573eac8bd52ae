"""Checks of numbers that come from outside; each error says the value, the limit and the remedy."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from accessibility_lib.errors import AccessibilityError

# Far above anything measured, and twice or d times as much still fits a float.
LARGEST = 1e300
LARGEST_INTEGER = 10**18


def number(name: str, value: Any, remedy: str = "give one") -> float:
    """``value`` as a float, which may be NaN or infinite; text and booleans are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise AccessibilityError(f"{name} = {value!r} is not a number; {remedy}.")
    try:
        return float(value)
    except OverflowError:  # an integer of more than 308 digits
        return math.inf


def numbers(name: str, value: Any, keep: bool = False) -> np.ndarray:
    """``value`` as a float64 array of any shape; text and booleans are refused.  ``keep``: float32
    stays float32."""
    try:
        array = np.asarray(value)
        if array.dtype.kind in "bcSU":
            raise TypeError(f"its dtype is {array.dtype}")
        return array if keep and array.dtype == np.float32 else array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        shown = repr(value)
        shown = shown if len(shown) < 80 else f"{shown[:80]}..."
        raise AccessibilityError(
            f"{name} = {shown} holds no numbers ({error}); give some."
        ) from None


def positive(name: str, value: Any, remedy: str = "") -> float:
    """``value`` as a finite float above zero."""
    found = number(name, value, remedy or "give one")
    if not 0 < found <= LARGEST:  # NaN fails too
        raise AccessibilityError(
            f"{name} = {found!r}, but it must be finite and above 0, at most {LARGEST:g}"
            f"; {remedy or 'give a positive number'}."
        )
    return found


def at_least(name: str, value: Any, minimum: int, remedy: str = "") -> int:
    """``value`` as an integer not below ``minimum``; 576.0 counts as 576, 576.5 is refused."""
    found = number(name, value, "give an integer")
    if not minimum <= found <= LARGEST_INTEGER or not found.is_integer():  # NaN fails too
        raise AccessibilityError(
            f"{name} = {found:.15g}, but it must be an integer of at least {minimum} "
            f"and at most 10^18{'; ' + remedy if remedy else ''}."
        )
    return int(value)


def vocabulary(value: Any) -> int:
    """|V|, at least 2: ln 1 = 0 would make every length accessible."""
    return at_least("|V|", value, 2, "with one token every length has one sequence only")


def spacing(eps: Any, d: int) -> np.ndarray:
    """A precision as an array that broadcasts over ``d`` coordinates: shape () or (d,)."""
    array = numbers("eps", eps)
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


def cloud(points: Any, d: int | None = None, minimum: int = 1, keep: bool = False) -> np.ndarray:
    """Points as a finite float64 array (N, d); one vector is read as N = 1.  ``keep``: float32
    stays float32, which halves the memory of a large sample."""
    try:
        array = numbers("points", points, keep)
    except AccessibilityError as error:
        raise AccessibilityError(f"{error} Give rows of one width, shape (N, d).") from None
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2 or 0 in array.shape:
        raise AccessibilityError(
            f"points have shape {array.shape}; give at least one row, shape (N, d)."
        )
    if d is not None and array.shape[1] != d:
        raise AccessibilityError(
            f"points have width {array.shape[1]}, but the support has d = {d}; give shape (N, {d})."
        )
    # A thousand rows at a time: no temporary as large as the points.
    parts = (array[start : start + 1024] for start in range(0, len(array), 1024))
    limit = min(LARGEST, float(np.finfo(array.dtype).max))
    fits = np.concatenate([(np.abs(part) <= limit).all(axis=1) for part in parts])
    if not fits.all():
        raise AccessibilityError(
            f"row {int(np.flatnonzero(~fits)[0])} of the points holds NaN or infinity or more than "
            f"{LARGEST:g}; drop it or compute in a wider dtype."
        )
    if len(array) < minimum or (minimum > 1 and (array == array[0]).all()):
        raise AccessibilityError(
            f"{len(array)} point(s), all equal, span no support; give at least {minimum} "
            "different points."
        )
    return array


def vector(name: str, value: Any, d: int | None = None) -> np.ndarray:
    """A finite float64 vector (d,)."""
    array = numbers(name, value).copy()
    if array.ndim != 1 or not array.size or (d is not None and len(array) != d):
        raise AccessibilityError(
            f"{name} has shape {array.shape}; give a vector of "
            f"{'at least one number' if d is None else f'{d} numbers'}."
        )
    if not (np.abs(array) <= LARGEST).all():
        raise AccessibilityError(
            f"{name} holds NaN or infinity or more than {LARGEST:g}; every entry must be finite."
        )
    return array


def adamw(weight_decay: float, betas: tuple[float, float]) -> None:
    """Settings of AdamW that it can run with; anything else is refused."""
    if not 0 <= weight_decay < math.inf or not all(0 <= beta < 1 for beta in betas):
        raise AccessibilityError(
            f"weight_decay = {weight_decay} and betas = {betas}; give a decay of at least 0 and "
            "betas from 0 to below 1."
        )
