"""Figures of chapter 02: a packing in the plane, and the threshold for prompts of any length."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from accessibility_lib import bounds
from accessibility_lib._checks import positive
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.figures import PALETTE
from accessibility_lib.supports import Ball, Box


def packing(r: float, eps: float, limit: int = 2000) -> go.Figure:
    """The largest packing of the l-infinity ball of the plane, with the cells of side eps it owns.

    Points eps apart are centres of squares of half-side eps/2 that do not overlap and that all lie
    in the ball of radius r + eps/2: hence at most (1 + 2r/eps)^2 of them (Theorem 4.5).

    Raises
    ------
    AccessibilityError
        If there would be more than ``limit`` points to draw.
    """
    r, eps = positive("r", r), positive("eps", eps)
    log_count = Box(np.array([-r, -r]), np.array([r, r])).log_packing(eps)
    if log_count > math.log(limit + 0.5):
        raise AccessibilityError(
            f"r = {r:g} and eps = {eps:g} make 10^{log_count / math.log(10):.1f} points, more than "
            f"limit = {limit}; take a larger eps."
        )
    count = round(math.exp(log_count))
    line = -r + eps * np.arange(math.isqrt(count))
    x, y = (axis.ravel() for axis in np.meshgrid(line, line))
    figure = go.Figure()
    square = np.array([[-1, 1, 1, -1, -1, np.nan], [-1, -1, 1, 1, -1, np.nan]])
    figure.add_scatter(
        x=np.add.outer(x, square[0] * eps / 2).ravel(),
        y=np.add.outer(y, square[1] * eps / 2).ravel(),
        mode="lines",
        name="cells of side ε",
        line={"color": PALETTE[0], "width": 1},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=x, y=y, mode="markers", name=f"{count} points", marker={"color": PALETTE[0], "size": 5}
    )
    outer = math.exp(Ball(2, r).log_packing(eps))
    for half, name, dash in (
        (r, "support, radius r", "solid"),
        (r + eps / 2, f"radius r + ε/2: room for {outer:.1f} cells", "dash"),
    ):
        figure.add_scatter(
            x=square[0] * half,
            y=square[1] * half,
            mode="lines",
            name=name,
            line={"color": PALETTE[1], "dash": dash, "width": 2},
            hoverinfo="skip",
        )
    figure.update_xaxes(title="x₁", showgrid=False, constrain="domain")
    figure.update_yaxes(title="x₂", showgrid=False, scaleanchor="x")
    return figure.update_layout(height=480)


def any_length(
    widths: Sequence[int], r: float, vocab: int, target: float, q: float = 1.0
) -> go.Figure:
    """log10 of Corollary 4.10's threshold against eps_W / r, for each width and either constant.

    A dotted line marks ``target`` tokens.  Shown up to 1e6 of them, where the curves part.
    """
    eps_w = r * np.logspace(0, 4, 201)
    figure = go.Figure()
    for i, d in enumerate(widths):
        for factor, dash in ((2, "solid"), (4, "dot")):
            logs = np.array(
                [
                    bounds.log10_threshold_any_length(d, r, float(each), vocab, q, factor)
                    for each in eps_w
                ]
            )
            figure.add_scatter(
                x=np.where(logs < 6, eps_w / r, np.nan),
                y=logs,
                name=f"d = {d}, {factor}r",
                mode="lines",
                line={"color": PALETTE[i], "dash": dash},
                hovertemplate="ε_W = %{x:.3g} r: 10^%{y:.2f} tokens",
            )
    figure.add_hline(
        y=math.log10(target), line={"color": PALETTE[7]}, annotation_text=f"{target:g} tokens"
    )
    figure.update_xaxes(type="log", title="ε_W / r", exponentformat="power", dtick=1)
    figure.update_yaxes(title="log₁₀ of the threshold (tokens)", range=[-1.5, 6])
    return figure.update_layout(height=460)
