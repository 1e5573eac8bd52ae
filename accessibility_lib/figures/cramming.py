"""Figures of chapter 03: how long a target a few memory vectors reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from accessibility_lib import fits
from accessibility_lib.figures import PALETTE

POINTS = 24  # lengths at which a curve is drawn


def accessibility_curves(
    reached: Mapping[tuple[str, int], Mapping[str, np.ndarray]], whole: int
) -> go.Figure:
    """Share of targets reached against the length, with Wilson intervals and the fitted curve.

    ``reached``: for each kind of target and each m, by notion of success, the tokens (targets,)
    that the memories give of targets of ``whole`` tokens.  A slider chooses m, buttons the notion.
    """
    figure = go.Figure()
    kinds = list(dict.fromkeys(kind for kind, _ in reached))
    ms = sorted({m for _, m in reached})
    notions = list(next(iter(reached.values())))
    drawn: list[tuple[int, list[Any]]] = []  # of each trace: m, and what it shows under each notion
    for (kind, m), lengths in reached.items():
        grid = _grid(lengths.values(), whole)
        looks = [_looks(lengths[notion], grid, whole) for notion in notions]
        colour = PALETTE[kinds.index(kind) % len(PALETTE)]
        shown = m == ms[0]
        figure.add_scatter(
            x=grid, y=looks[0]["share"], mode="markers", name=kind, visible=shown,
            marker={"color": colour},
            error_y={
                "array": looks[0]["up"], "arrayminus": looks[0]["down"], "color": colour,
                "thickness": 1,
            },
        )  # fmt: skip
        drawn.append((m, [(look["share"], look["up"], look["down"]) for look in looks]))
        figure.add_scatter(
            x=grid, y=looks[0]["fit"], mode="lines", name=f"{kind}, fitted", visible=shown,
            line={"color": colour},
        )  # fmt: skip
        drawn.append((m, [(look["fit"], None, None) for look in looks]))
    buttons = [
        {
            "label": notion,
            "method": "restyle",
            "args": [
                {
                    "y": [looks[k][0] for _, looks in drawn],
                    "error_y.array": [looks[k][1] for _, looks in drawn],
                    "error_y.arrayminus": [looks[k][2] for _, looks in drawn],
                }
            ],
        }
        for k, notion in enumerate(notions)
    ]
    steps = [
        {"label": str(m), "method": "restyle", "args": [{"visible": [of == m for of, _ in drawn]}]}
        for m in ms
    ]
    figure.update_layout(
        xaxis_title="target length n, tokens",
        yaxis={"title": "share of targets reached", "range": [-0.03, 1.03]},
        updatemenus=[
            {"buttons": buttons, "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"}
        ],
        sliders=[{"steps": steps, "currentvalue": {"prefix": "memory vectors m = "}}],
        margin={"t": 70},
    )
    return figure


def _grid(lengths: Iterable[np.ndarray], whole: int) -> list[int]:
    end = min(whole, max(int(each.max()) for each in lengths) + 2)
    return sorted({int(n) for n in np.linspace(1, end, POINTS).round()})


def _looks(reached: np.ndarray, grid: Sequence[int], whole: int) -> dict[str, list[float]]:
    """Shares, the ends of their intervals and the fitted curve at ``grid``."""
    count = len(reached)
    won = (reached[:, None] >= np.array(grid)).sum(axis=0)
    low, high = fits.wilson(won, np.full(len(grid), count))
    share = won / count
    fit = np.full(len(grid), np.nan)
    if reached.any():
        failed = np.where(reached == whole, np.inf, reached + 1)
        fit = fits.fit_horizons(reached, failed)(grid)
    columns = {"share": share, "up": high - share, "down": share - low, "fit": fit}
    return {name: np.round(column, 4).tolist() for name, column in columns.items()}


def by_memory(
    curves: Mapping[str, Mapping[int, fits.Curve]], slopes: Mapping[str, fits.Slope]
) -> go.Figure:
    """n50 with its interval against m for each kind of target, and the fitted lines."""
    figure = go.Figure()
    for colour, (kind, found) in zip(PALETTE, curves.items(), strict=False):
        ms = sorted(found)
        middle = np.array([found[m].n50 for m in ms])
        high = np.array([found[m].high for m in ms])
        low = np.array([found[m].low for m in ms])
        figure.add_scatter(
            x=ms, y=middle, mode="markers", name=kind, marker={"color": colour, "size": 9},
            error_y={"array": high - middle, "arrayminus": middle - low, "color": colour},
        )  # fmt: skip
        if kind in slopes:
            ends = [0, max(ms) + 0.5]
            line = slopes[kind]
            name = f"{kind}: C = {line.slope:.1f} [{line.low:.1f}, {line.high:.1f}]"
            figure.add_scatter(
                x=ends, y=line(ends), mode="lines", name=name, line={"color": colour}
            )
    return figure.update_layout(
        xaxis={"title": "memory vectors m", "dtick": 1},
        yaxis={"title": "n50, tokens", "rangemode": "tozero"},
    )


def best_of(starts: Sequence[int], curves: Sequence[fits.Curve]) -> go.Figure:
    """n50 with its interval of the best of so many independent starts (log axis)."""
    middle = np.array([each.n50 for each in curves])
    figure = go.Figure(
        go.Scatter(
            x=list(starts), y=middle, mode="lines+markers",
            error_y={
                "array": np.array([each.high for each in curves]) - middle,
                "arrayminus": middle - np.array([each.low for each in curves]),
            },
        )
    )  # fmt: skip
    return figure.update_layout(
        xaxis={"title": "starts per target", "type": "log", "tickvals": list(starts)},
        yaxis={"title": "n50, tokens", "rangemode": "tozero"},
    )


def radii(found: Mapping[str, tuple[Sequence[int], Sequence[float]]], eps: float) -> go.Figure:
    """The largest l-infinity radius each memory survived against the tokens it gives."""
    figure = go.Figure()
    for colour, (name, (reached, radius)) in zip(PALETTE, found.items(), strict=False):
        figure.add_scatter(
            x=list(reached), y=list(radius), mode="markers", name=name, marker={"color": colour}
        )
    ends = [0, max((max(reached, default=1) for reached, _ in found.values()), default=1) + 1]
    figure.add_scatter(
        x=ends, y=[eps / 2] * 2, mode="lines", name="ε/2", line={"color": "#7f7f7f", "dash": "dot"}
    )
    return figure.update_layout(
        xaxis_title="tokens reached", yaxis={"title": "largest surviving radius", "type": "log"}
    )
