"""The theorems as functions of a packing count and numbers; nothing here knows a model.

``log_packing`` is always ln of an upper bound on the packing number P(E, eps) of one memory
vector, as a support of :mod:`accessibility_lib.supports` gives it.  Powers of P overflow at once,
so everything is a logarithm (natural unless the name says log10).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import at_least, positive, vocabulary
from accessibility_lib.errors import AccessibilityError


def _log_packing(value: float) -> float:
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise AccessibilityError(
            f"log_packing = {value!r}, but ln of a count is finite and at least 0; "
            "take it from a support's log_packing(eps)."
        )
    return number


def _memory(m: int) -> int:
    return at_least("m", m, 1, "a prompt has at least one memory vector")


def _lengths(n: ArrayLike) -> np.ndarray:
    array = np.asarray(n, dtype=float)
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        raise AccessibilityError(
            f"n = {float(array[bad][0])}, but a length is finite and "
            "at least 0; give a number of tokens."
        )
    return array


def _plain(array: np.ndarray) -> float | np.ndarray:
    """A float for a scalar question, an array for an array."""
    return array if array.shape else float(array)


def log_accessible_count(log_packing: float, m: int) -> float:
    """ln of the most sequences, of all lengths together, that m memory vectors can name.

    Theorem 4.5: the count is at most P(E, eps)^m.

    >>> log_accessible_count(10.0, m=3)
    30.0
    """
    return _memory(m) * _log_packing(log_packing)


def slope(log_packing: float, vocab: int) -> float:
    """C, in tokens per memory vector: ln P / ln|V| (Corollary 4.6).

    >>> from accessibility_lib.supports import Ball
    >>> round(slope(Ball(d=768, r=63.62).log_packing(2**-10), vocab=50304), 1)
    835.5
    """
    return _log_packing(log_packing) / math.log(vocabulary(vocab))


def threshold(log_packing: float, vocab: int, m: int) -> float:
    """n* = C m, in tokens: beyond it the accessible share falls by |V| a token (Corollary 4.6).

    >>> round(threshold(11.0, vocab=8, m=2), 3)
    10.58
    """
    return _memory(m) * slope(log_packing, vocab)


def log_accessible_fraction(
    log_packing: float, vocab: int, m: int, n: ArrayLike
) -> float | np.ndarray:
    """ln of the largest accessible share of the |V|^n targets of length n (Corollary 4.6).

    min(0, m ln P - n ln|V|); ``n`` may be an array and the result has its shape.

    >>> log_accessible_fraction(2.0, vocab=8, m=1, n=[0, 3]).round(3).tolist()
    [0.0, -4.238]
    """
    logs = log_accessible_count(log_packing, m) - _lengths(n) * math.log(vocabulary(vocab))
    return _plain(np.minimum(0.0, logs))


def accessible_fraction(log_packing: float, vocab: int, m: int, n: ArrayLike) -> float | np.ndarray:
    """The largest accessible share of the targets of length n, in [0, 1] (Corollary 4.6).

    Underflows to 0 far beyond the threshold; there, use :func:`log_accessible_fraction`.

    >>> accessible_fraction(2.0, vocab=8, m=1, n=1) > 0.92
    True
    """
    return _plain(np.exp(np.asarray(log_accessible_fraction(log_packing, vocab, m, n))))


def log_hard_prompt_fraction(vocab: int, m: int, n: ArrayLike) -> float | np.ndarray:
    """ln of the largest accessible share for prompts of m *tokens*: min(0, (m - n) ln|V|).

    There are only |V|^m such prompts, whatever the geometry; so the slope is 1.

    >>> round(log_hard_prompt_fraction(vocab=10, m=2, n=3), 3)
    -2.303
    """
    return _plain(np.minimum(0.0, (_memory(m) - _lengths(n)) * math.log(vocabulary(vocab))))


def storage_slope(d: int, bits: float, vocab: int) -> float:
    """Tokens per memory vector if every bit of it named a sequence: b d ln 2 / ln|V|.

    Kuratov et al., "Cramming 1568 tokens into a single vector and back again": d numbers of
    ``bits`` bits take at most 2^(b d) values.

    >>> round(storage_slope(d=768, bits=16, vocab=50304), 1)
    786.8
    """
    width = at_least("d", d, 1)
    return width * positive("bits", bits) * math.log(2) / math.log(vocabulary(vocab))
