"""Figures of chapter 08: number lines and spacings."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from accessibility_lib.figures import PALETTE
from accessibility_lib.precision import FLOAT_NAMES, FloatGrid, Grid, grid


def number_line(grids: dict[str, Grid], lo: float, hi: float) -> go.Figure:
    """A tick for every representable value in [lo, hi], one row for each grid."""
    figure = go.Figure()
    for i, (label, each) in enumerate(grids.items()):
        values = each.values(lo, hi)
        figure.add_scatter(
            x=values,
            y=[f"{label}: {len(values)} values"] * len(values),
            mode="markers",
            showlegend=False,
            marker={
                "symbol": "line-ns",
                "size": 22,
                "line": {"width": 1, "color": PALETTE[i % len(PALETTE)]},
            },
            hovertemplate="%{x}<extra>" + label + "</extra>",
        )
    figure.update_xaxes(range=[lo, hi], title="value")
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure.update_layout(height=110 + 65 * len(grids))


def spacings(eps: float, marks: dict[str, float]) -> go.Figure:
    """Spacing against magnitude for the float formats, a constant eps, and marked magnitudes."""
    figure = go.Figure()
    floats = [each for each in map(grid, FLOAT_NAMES) if isinstance(each, FloatGrid)]
    for i, each in enumerate(floats[1:]):  # fp64 is far below the rest
        x = 2.0 ** np.arange(-18, 13)
        x = x[x <= each.largest]
        figure.add_scatter(
            x=x,
            y=each.spacing(x),
            name=each.name,
            mode="lines",
            line={"shape": "hv", "color": PALETTE[i]},
        )
    figure.add_hline(y=eps, line={"dash": "dash", "color": PALETTE[7]})
    figure.add_scatter(
        x=list(marks.values()),
        y=[eps] * len(marks),
        text=list(marks),
        mode="markers",
        name="radii of the paper’s models, at its ε",
        marker={"symbol": "diamond", "size": 9, "color": PALETTE[7]},
        hovertemplate="%{text}: r = %{x:.1f}<extra></extra>",
    )
    figure.update_xaxes(type="log", title="magnitude", dtick=1, exponentformat="power")
    figure.update_yaxes(type="log", title="gap to the next value", exponentformat="power")
    return figure.update_layout(height=480)
