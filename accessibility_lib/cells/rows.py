"""The rows of an unembedding: how they come in, and which of them are special."""

from __future__ import annotations

from typing import Any

import numpy as np

from accessibility_lib._checks import numbers
from accessibility_lib.errors import AccessibilityError


def matrix(unembedding: Any) -> np.ndarray:
    """F as numpy reads it, (|V|, d), in its own dtype; anything else is refused."""
    F = np.asarray(unembedding)
    if F.ndim != 2 or 0 in F.shape:
        raise AccessibilityError(f"the unembedding has shape {F.shape}; give (|V|, d).")
    return F


def offsets(bias: Any, vocab_size: int) -> np.ndarray:
    """The bias in float64, (|V|,)."""
    b = numbers("the bias", bias)
    if b.shape != (vocab_size,):
        raise AccessibilityError(f"the bias has shape {b.shape}; give ({vocab_size},) or None.")
    return b
