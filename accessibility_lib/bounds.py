"""The theorems as functions of a packing count and numbers; nothing here knows a model.

``log_packing`` is always ln of an upper bound on the packing number P(E, eps) of one memory
vector, as a support of :mod:`accessibility_lib.supports` gives it.  Powers of P overflow at once,
so everything is a logarithm (natural unless the name says log10).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import LARGEST, at_least, number, numbers, positive, vocabulary
from accessibility_lib.errors import AccessibilityError


def _log_packing(value: float) -> float:
    remedy = "take it from a support's log_packing(eps)"
    found = number("log_packing", value, remedy)
    if not math.isfinite(found) or found < 0:
        raise AccessibilityError(
            f"log_packing = {found!r}, but ln of a count is finite and at least 0; {remedy}."
        )
    return found


def _memory(m: int) -> int:
    return at_least("m", m, 1, "a prompt has at least one memory vector")


def _counts(n: ArrayLike, name: str = "n", unit: str = "tokens") -> np.ndarray:
    array = numbers(name, n)
    bad = ~((array >= 0) & (array <= LARGEST))
    if bad.any():
        raise AccessibilityError(
            f"{name} = {float(array[bad][0])}, but it must be finite and at least 0, at most "
            f"{LARGEST:g}; give a number of {unit}."
        )
    return array


def _plain(array: np.ndarray) -> float | np.ndarray:
    """A float for a scalar question, an array for an array."""
    return array if array.shape else float(array)


def log_accessible_count(log_packing: float, m: int) -> float:
    """ln of the most accessible targets of any one length that m memory vectors can name.

    Theorem 4.5: the count is at most P(E, eps)^m.  It is a count for each length by itself: the
    prefixes of an accessible target are accessible too, from the same prompts.

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
    logs = log_accessible_count(log_packing, m) - _counts(n) * math.log(vocabulary(vocab))
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
    return _plain(np.minimum(0.0, (_memory(m) - _counts(n)) * math.log(vocabulary(vocab))))


def storage_slope(d: int, bits: float, vocab: int) -> float:
    """Tokens per memory vector if every bit of it named a sequence: b d ln 2 / ln|V|.

    Kuratov et al., "Cramming 1568 tokens into a single vector and back again": d numbers of
    ``bits`` bits take at most 2^(b d) values.

    >>> round(storage_slope(d=768, bits=16, vocab=50304), 1)
    786.8
    """
    width = at_least("d", d, 1)
    return width * positive("bits", bits) * math.log(2) / math.log(vocabulary(vocab))


def slope_from_cells(log_packing: float, mean_log_volume: float) -> float:
    """C when cells have unequal volumes: ln P / -E ln D, in tokens per memory vector.

    D is the volume share of a token drawn uniformly, and the shares of the n positions are taken to
    be independent.  The shares sum to at most 1, so -E ln D >= ln|V|: unequal cells only lower C,
    and equal ones give Corollary 4.6 back.

    >>> slope_from_cells(30.0, mean_log_volume=-3.0)
    10.0
    """
    remedy = "give E ln D, the mean of ln of shares below 1"
    return _log_packing(log_packing) / positive(
        "-mean_log_volume", -number("mean_log_volume", mean_log_volume, remedy), remedy
    )


def log10_log_count_any_length(
    d: int, r: float, eps_w: float, q: float = 1.0, factor: int = 2
) -> float:
    """log10 of ln N, N the sequences that prompts of *any* length can name (Theorem 4.9).

    ln N <= (1 + 2r/eps_w)^d ln(e + e (2r)^q / eps_w^q), with ``eps_w`` the precision in the
    Wasserstein distance of order ``q`` >= 1; the paper writes eps for it as for the other.
    ``factor`` 4 puts 4r for 2r, as Corollary 4.10 prints it.  ln N itself overflows for real d.

    >>> round(log10_log_count_any_length(d=768, r=63.62, eps_w=2**-10), 1)
    3929.4
    """
    log_x = _log_quotient(r, eps_w, factor)
    order = positive("q", q, "give the order of the Wasserstein distance, 1 or more")
    if order < 1:
        raise AccessibilityError(f"q = {q}, but a Wasserstein distance has an order of at least 1.")
    nats = at_least("d", d, 1) * np.logaddexp(0.0, log_x)
    return float(nats + math.log1p(np.logaddexp(0.0, order * log_x))) / math.log(10)


def _log_quotient(r: float, eps_w: float, factor: int) -> float:
    return _log_factor(factor) + math.log(positive("r", r)) - math.log(positive("eps_w", eps_w))


def _log_factor(factor: int) -> float:
    if number("factor", factor) not in (2, 4):
        raise AccessibilityError(
            f"factor = {factor!r}; give 2 (Theorem 4.9) or 4 (Corollary 4.10)."
        )
    return math.log(factor)


def log10_threshold_any_length(
    d: int, r: float, eps_w: float, vocab: int, q: float = 1.0, factor: int = 2
) -> float:
    """log10 of the length, in tokens, beyond which the accessible share falls for every prompt.

    Corollary 4.10: ln N of Theorem 4.9 over ln|V|.

    >>> round(log10_threshold_any_length(d=768, r=63.62, eps_w=2**-10, vocab=50304), 1)
    3928.3
    """
    return log10_log_count_any_length(d, r, eps_w, q, factor) - math.log10(
        math.log(vocabulary(vocab))
    )


def wasserstein_eps_for_length(
    n: float, d: int, r: float, vocab: int, q: float = 1.0, factor: int = 2
) -> float:
    """The eps_w at which Corollary 4.10 gives a threshold of ``n`` tokens.

    >>> eps_w = wasserstein_eps_for_length(200, d=768, r=63.62, vocab=50304)
    >>> round(10 ** log10_threshold_any_length(768, 63.62, eps_w, 50304), 6)
    200.0
    """
    from scipy.optimize import brentq  # not at the top: slower to import than the explorer needs

    want = math.log10(positive("n", n))
    least = -math.log10(math.log(vocabulary(vocab)))  # ln N is never below 1
    if want <= least:
        raise AccessibilityError(
            f"n = {n} is not above 1/ln|V| = {10**least:.3g}, the least threshold; ask for more."
        )
    log_r, log_factor = math.log(positive("r", r)), _log_factor(factor)

    def excess(log_x: float) -> float:
        eps_w = math.exp(min(max(log_factor + log_r - log_x, -700.0), 700.0))
        return log10_threshold_any_length(d, r, eps_w, vocab, q, factor) - want

    ends = math.log(2) + log_r - 690.0, math.log(2) + log_r + 690.0
    if excess(ends[0]) > 0 or excess(ends[1]) < 0:
        raise AccessibilityError(f"no eps_w that fits a float gives n = {n}; change n or r.")
    log_x = brentq(excess, *ends, xtol=1e-14, rtol=1e-14)
    return math.exp(log_factor + log_r - log_x)


def radius_for_slope(slope: float, d: int, vocab: int, eps: float) -> float:
    """The r of an l-infinity ball whose C is ``slope``: eps/2 (|V|^(C/d) - 1), from Corollary 4.6.

    For a length n reached with m vectors, the slope is n/m.

    >>> round(radius_for_slope(14.3 * 137.8, d=2048, vocab=128256, eps=2**-10), 1)
    40.1
    """
    return _exp("r", math.log(positive("eps", eps)) - math.log(2) + _log_cells(slope, d, vocab))


def eps_for_slope(slope: float, d: int, vocab: int, r: float) -> float:
    """The eps at which an l-infinity ball of radius r has C = ``slope``: 2r / (|V|^(C/d) - 1).

    >>> from accessibility_lib.supports import Ball
    >>> C = slope(Ball(768, 63.62).log_packing(2**-10), 50304)
    >>> round(1 / eps_for_slope(C, 768, 50304, 63.62), 6)
    1024.0
    """
    return _exp("eps", math.log(2) + math.log(positive("r", r)) - _log_cells(slope, d, vocab))


def _log_cells(slope: float, d: int, vocab: int) -> float:
    """ln(|V|^(C/d) - 1) = ln(2r/eps)."""
    log_y = math.log(positive("slope", slope)) + math.log(
        math.log(vocabulary(vocab)) / at_least("d", d, 1)
    )
    if log_y < -50:  # e^y - 1 = y to rounding, and y itself may underflow
        return log_y
    y = _exp("|V|^(slope/d)", log_y)
    return y + math.log(-math.expm1(-y))


def _exp(name: str, log: float) -> float:
    if not -700 < log < 700:
        raise AccessibilityError(f"{name} = exp({log:.4g}) does not fit a float; change the slope.")
    return math.exp(log)


def prompt_tuning_threshold(
    prompt_length: int, pair_length: int, r: float, eps: float, lipschitz: float
) -> float:
    """k*, the number of pairs beyond which a tuned prompt cannot memorise most sets of pairs.

    (m_p/m) ln(1 + 2rL/eps) / ln(r/(3 eps)): the predecessor, arXiv 2509.00421.  The prompt has
    ``prompt_length`` vectors, each pair ``pair_length``, and the model is ``lipschitz``-continuous.

    >>> round(prompt_tuning_threshold(10, 5, r=1.0, eps=0.01, lipschitz=1.0), 3)
    3.025
    """
    scale = _log_packable(r, eps)
    log_reach = (
        math.log(2) + math.log(r) - math.log(eps) + math.log(positive("lipschitz", lipschitz))
    )
    reach = float(np.logaddexp(0.0, log_reach))
    return (
        at_least("prompt_length", prompt_length, 1)
        / at_least("pair_length", pair_length, 1)
        * (reach / scale)
    )


def _log_packable(r: float, eps: float) -> float:
    """ln(r / (3 eps)), without forming a quotient that may overflow."""
    log = math.log(positive("r", r)) - math.log(3) - math.log(positive("eps", eps))
    if log <= 0:
        raise AccessibilityError(
            f"r / (3 eps) = {math.exp(log):g} is not above 1, so the bound says nothing; "
            "take eps < r/3."
        )
    return log


def log_prompt_tuning_fraction(
    k: ArrayLike,
    d: int,
    prompt_length: int,
    pair_length: int,
    r: float,
    eps: float,
    lipschitz: float,
) -> float | np.ndarray:
    """ln of the largest share of sets of ``k`` pairs that one tuned prompt can memorise.

    (1 + 2rL/eps)^(d m_p) / (r/(3 eps))^(d m k), capped at 1: the predecessor, arXiv 2509.00421.
    ``k`` may be an array.

    >>> round(log_prompt_tuning_fraction(4, 2, 10, 5, r=1.0, eps=0.01, lipschitz=1.0), 1)
    -34.2
    """
    star = prompt_tuning_threshold(prompt_length, pair_length, r, eps, lipschitz)
    per_pair = at_least("d", d, 1) * pair_length * _log_packable(r, eps)
    return _plain(np.minimum(0.0, per_pair * (star - _counts(k, "k", "pairs"))))


def log10_mean_field_exponent(
    k: float, d: int, eps: float, corrected: bool, c: float = 1.0
) -> float:
    """log10 of x in the predecessor's mean-field rate O(exp(-x)) for ``k`` pairs, at radius 1.

    Published: x = k 3^d / eps^d.  Its argument packs balls of radius 3 eps, and that supports
    x = c k / (3 eps)^d, with a constant ``c`` it does not give.  The two differ by 9^d / c.

    >>> round(log10_mean_field_exponent(1, 2, 0.1, corrected=False), 3)
    2.954
    >>> round(log10_mean_field_exponent(1, 2, 0.1, corrected=True), 3)
    1.046
    """
    pairs, width = math.log10(positive("k", k)), at_least("d", d, 1)
    if corrected:
        log_eps = math.log10(positive("eps", eps)) + math.log10(3)
        return math.log10(positive("c", c)) + pairs - width * log_eps
    return pairs + width * (math.log10(3) - math.log10(positive("eps", eps)))
