"""What the bound explorer shows, computed by the library: the reference for its ES module."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from accessibility_lib import bounds
from accessibility_lib.precision import FloatGrid, grid
from accessibility_lib.supports import Ball, Box, Cone, Ellipsoid, NormEllipsoid, Support
from accessibility_lib.widgets.bound_explorer.fields import BITS, START


def spread(profile: Any, d: int) -> np.ndarray:
    """A summary of L relative sizes over ``d`` coordinates, (d,): coordinate i takes floor(iL/d).

    >>> spread([0.5, 2.0], 4).tolist()
    [0.5, 0.5, 2.0, 2.0]
    """
    sizes = np.asarray(profile, dtype=float)
    return sizes[np.arange(d) * len(sizes) // d]


def support_of(settings: Mapping[str, Any]) -> Support:
    """The support that the settings describe."""
    d, r, shape = settings["d"], settings["r"], settings["support"]
    if shape == "ball":
        return Ball(d, r)
    if shape == "cone":
        return Cone(np.eye(1, d)[0], r, settings["angle"] * math.pi / 180)
    if shape == "box":
        half = np.full(d, r * settings["share"])
        return Box(-half, half)
    sizes = spread(settings["profile"], d)
    if shape == "ellipsoid":
        return Ellipsoid(sizes * settings["axis"])
    return NormEllipsoid(sizes * settings["gain"], centred=shape == "layernorm")


def _reach(support: Support) -> float:
    """The largest |x_i| in the support."""
    return float(np.abs(support.bounds()).max())


def _eps_of(settings: Mapping[str, Any], reach: float) -> float | None:
    """The precision that the settings name; None where representable numbers are counted."""
    each = grid(settings["dtype"])
    assert isinstance(each, FloatGrid)
    match settings["precision"]:
        case "eps":
            return settings["eps"]
        case "spacing":
            return each.spacing(reach)
        case "machine":
            return each.machine_epsilon
        case "roundoff":
            return each.unit_roundoff
    return None


def slope_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of what :func:`compute` returns, the numbers for m memory vectors."""
    settings = {**START, **settings}
    vocab = settings["vocab"]
    support = support_of(settings)
    eps = _eps_of(settings, _reach(support))
    if eps is None:
        log_packing = support.log_representable(settings["dtype"])
    else:
        log_packing = support.log_packing(eps)
    return {
        "rigorous": support.rigorous or eps is None,
        "eps": eps,
        "log_packing": log_packing,
        "slope": bounds.slope(log_packing, vocab),
        "threshold": bounds.threshold(log_packing, vocab, settings["m"]),
        "storage_slope": bounds.storage_slope(settings["d"], BITS[settings["dtype"]], vocab),
    }


def any_length_of(settings: Mapping[str, Any]) -> dict[str, float]:
    """Of what :func:`compute` returns, the numbers for prompts of any length."""
    settings = {**START, **settings}
    vocab, factor = settings["vocab"], int(settings["factor"])
    at = settings["d"], _reach(support_of(settings))
    return {
        "log10_any_length": bounds.log10_threshold_any_length(
            *at, settings["eps_w"], vocab, factor=factor
        ),
        "eps_w_for_length": bounds.wasserstein_eps_for_length(
            settings["reach_n"], *at, vocab, factor=factor
        ),
    }


def compute(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the explorer shows for ``settings``; its ES module exports the same function.

    Parameters
    ----------
    settings
        Any of the explorer's settings (the others are as in a fresh explorer), and ``lengths``, the
        target lengths (tokens) of the two curves.

    Returns
    -------
    dict
        ``rigorous``, whether the count is proved for this set; ``eps``, the precision in use, None
        where representable numbers are counted; ``log_packing``, ln of the packing number (Theorem
        4.5); ``slope`` C in tokens per memory vector and ``threshold`` n* in tokens (Corollary
        4.6); ``storage_slope``, tokens per memory vector if every bit counted;
        ``log10_any_length``, log10 of the threshold in tokens for prompts of any length (Corollary
        4.10), and ``eps_w_for_length``, the Wasserstein precision at which it would be ``reach_n``
        tokens; ``log10_fraction`` and ``log10_hard_fraction``, log10 of the largest accessible
        fraction at each length, for memory vectors and for prompts of m tokens.

    Raises
    ------
    AccessibilityError
        If a number is not positive and finite, |V| is below 2, or the support and the number format
        do not fit together.

    >>> shown = compute(dict(d=768, r=63.62, eps=2**-10, vocab=50304, m=2, lengths=[0, 2000]))
    >>> round(shown["threshold"], 1), [round(x) for x in shown["log10_fraction"]]
    (1671.0, [0, -1547])
    """
    settings = {**START, **settings}
    vocab, m = settings["vocab"], settings["m"]
    shown = slope_of(settings)
    lengths = list(settings.get("lengths", ()))
    fraction = bounds.log_accessible_fraction(shown["log_packing"], vocab, m, lengths)
    hard = bounds.log_hard_prompt_fraction(vocab, m, lengths)
    return {
        **shown,
        **any_length_of(settings),
        "log10_fraction": (np.asarray(fraction) / math.log(10)).tolist(),
        "log10_hard_fraction": (np.asarray(hard) / math.log(10)).tolist(),
    }
