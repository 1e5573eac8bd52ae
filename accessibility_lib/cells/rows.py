"""The rows of an unembedding: how they come in, and which of them are special."""

from __future__ import annotations

import hashlib
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


def finite(unembedding: Any, bias: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
    """F (|V|, d), float32 as it is and anything else in float64, and b (|V|,) or None.

    Raises :class:`AccessibilityError` for wrong shapes and, naming the token, NaN and infinity.
    """
    F = numbers("the unembedding", matrix(unembedding), keep=True)
    b = None if bias is None else offsets(bias, len(F))
    good = np.concatenate(
        [np.isfinite(F[start : start + 8192]).all(axis=1) for start in range(0, len(F), 8192)]
    )
    good &= True if b is None else np.isfinite(b)
    if not good.all():
        raise AccessibilityError(
            f"the row or the bias of token {int(np.flatnonzero(~good)[0])} holds NaN or infinity; "
            "load the model in float32, or repair its weights."
        )
    return F, b


def first_of_equal(F: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    """For each token the first token of the same row and bias, (|V|,) ids.

    Tokens that are equal in both tie everywhere, and the lowest id wins a tie: the others own no
    point.  Padded vocabularies have many such rows.

    >>> first_of_equal(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, -0.0]])).tolist()
    [0, 1, 0]
    """
    seen: dict[bytes, int] = {}
    first = np.empty(len(F), dtype=np.int64)
    for token, row in enumerate(F):
        # + 0.0: -0.0 is 0.0.  A digest of 16 bytes: the rows themselves would double the memory.
        digest = hashlib.blake2b((row + 0.0).tobytes(), digest_size=16)
        if b is not None:
            digest.update((b[token] + 0.0).tobytes())
        first[token] = seen.setdefault(digest.digest(), token)
    return first
