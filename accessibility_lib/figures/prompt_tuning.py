"""Figures of chapter 09: what a tuned prompt can memorise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from accessibility_lib import bounds
from accessibility_lib._checks import at_least
from accessibility_lib.figures import PALETTE

POINTS = 200  # of a curve, at most: near eps = r/3 the threshold has any number of digits


def memorised(
    prompt_lengths: Sequence[int],
    pair_length: int,
    d: int,
    r: float,
    eps: float,
    lipschitz: float,
    k_max: int,
) -> go.Figure:
    """log10 of the largest memorised share of sets of k pairs, one curve for each prompt length."""
    most = at_least("k_max", k_max, 1)
    k = np.unique(np.linspace(1, most, min(most, POINTS)).round())
    figure = go.Figure()
    for i, length in enumerate(prompt_lengths):
        logs = bounds.log_prompt_tuning_fraction(k, d, length, pair_length, r, eps, lipschitz)
        figure.add_scatter(
            x=k,
            y=np.asarray(logs) / math.log(10),
            name=f"prompt of {length}",
            mode="lines+markers",
            line={"color": PALETTE[i]},
        )
    figure.update_xaxes(title="pairs to memorise, k")
    figure.update_yaxes(title="log₁₀ of the share, at most")
    return figure.update_layout(height=440)


def mean_field(widths: Sequence[int], eps: float, k: int, c: float) -> go.Figure:
    """log10 of the exponent of the mean-field rate against width, published and corrected."""
    figure = go.Figure()
    for i, (words, corrected) in enumerate((("published", False), ("corrected", True))):
        figure.add_scatter(
            x=list(widths),
            y=[bounds.log10_mean_field_exponent(k, d, eps, corrected, c) for d in widths],
            name=words,
            mode="lines",
            line={"color": PALETTE[i], "dash": "dash" if not corrected else "solid"},
        )
    figure.update_xaxes(title="width d")
    figure.update_yaxes(title="log₁₀ x, the share being O(exp(−x))", rangemode="tozero")
    return figure.update_layout(height=440)
