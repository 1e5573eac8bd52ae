"""Figures of chapter 04: radii and angles by layer, by length, and by the number of prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from accessibility_lib.figures import PALETTE
from accessibility_lib.geometry.extremes import Prediction
from accessibility_lib.geometry.layers import radii
from accessibility_lib.geometry.statistics import Statistics
from accessibility_lib.geometry.survey import Survey

NORM_NAMES = {"l1": "ℓ1", "l2": "ℓ2", "linf": "ℓ∞", "rms": "ℓ2 / √d"}


def by_layer(found: Mapping[str, Statistics]) -> go.Figure:
    """Figure 5: the radius of each layer's embeddings in four norms, on a log axis."""
    figure = go.Figure()
    for k, (norm, values) in enumerate(radii(dict(found)).items()):
        figure.add_scatter(
            x=list(found),
            y=values,
            name=NORM_NAMES[norm],
            mode="lines+markers",
            line={"color": PALETTE[k]},
            hovertemplate="%{x}: %{y:.3g}<extra>" + NORM_NAMES[norm] + "</extra>",
        )
    figure.update_xaxes(title="layer", tickangle=-60)
    figure.update_yaxes(type="log", title="radius", exponentformat="power")
    return figure.update_layout(height=480)


def by_length(survey: Survey) -> go.Figure:
    """Figure 9: r against the prompt length, a line for each seed; a slider for the number of
    prompts."""
    figure = go.Figure()
    for k, count in enumerate(survey.counts):
        for s, seed in enumerate(survey.seeds):
            figure.add_scatter(
                x=list(survey.lengths),
                y=np.round(survey.radii[s, :, k], 4),
                name=f"seed {seed}",
                mode="lines+markers",
                line={"color": PALETTE[s % len(PALETTE)]},
                visible=count == survey.counts[-1],
                hovertemplate="length %{x}: r = %{y:.2f}<extra>seed " + str(seed) + "</extra>",
            )
    _slider(figure, [f"{count:,}" for count in survey.counts], "prompts: ", len(survey.counts) - 1)
    figure.update_xaxes(type="log", title="prompt length, tokens", tickvals=list(survey.lengths))
    figure.update_yaxes(title="r, ℓ∞", range=_room(survey.radii))
    return figure.update_layout(height=500)


def radius_by_count(
    survey: Survey, predictions: Mapping[int, Sequence[Prediction]] | None = None
) -> go.Figure:
    """r against the number of prompts, a line for each seed; a slider for the length.

    ``predictions``: by length, what a tail says of more prompts.
    """
    figure = go.Figure()
    foretold = {} if predictions is None else predictions
    for k, length in enumerate(survey.lengths):
        shown = length == survey.lengths[-1]
        _seeds(figure, survey, survey.radii[:, k], shown, "r = %{y:.2f}")
        _predicted(figure, foretold.get(length, ()), 1.0, shown)
    last = max([survey.prompts, *(each.draws for row in foretold.values() for each in row)])
    figure.add_scatter(
        x=[survey.counts[0], last],
        y=[survey.ceiling] * 2,
        mode="lines",
        name="certain from the weights",
        line={"color": PALETTE[7], "dash": "dot"},
        hovertemplate="no embedding of any prompt is beyond %{y:.1f}<extra></extra>",
    )
    _slider(
        figure, [str(each) for each in survey.lengths], "length: ", len(survey.lengths) - 1, spare=1
    )
    figure.update_xaxes(type="log", title="number of prompts", exponentformat="power")
    figure.update_yaxes(title="r, ℓ∞", rangemode="tozero")
    return figure.update_layout(height=520)


def angle_by_count(
    survey: Survey, predictions: Mapping[int, Sequence[Prediction]] | None = None
) -> go.Figure:
    """The largest pairwise angle against the number of prompts; as :func:`radius_by_count`."""
    figure = go.Figure()
    foretold = {} if predictions is None else predictions
    for k, length in enumerate(survey.lengths):
        shown = length == survey.lengths[-1]
        _seeds(figure, survey, np.degrees(survey.angles[:, k]), shown, "θ = %{y:.1f}°")
        _predicted(figure, foretold.get(length, ()), float(np.degrees(1)), shown)
    _slider(figure, [str(each) for each in survey.lengths], "length: ", len(survey.lengths) - 1)
    figure.update_xaxes(type="log", title="number of prompts", exponentformat="power")
    figure.update_yaxes(title="largest pairwise angle, degrees")
    return figure.update_layout(height=500)


def prompt_norms(survey: Survey, bins: int = 60) -> go.Figure:
    """How many prompts have which |x|_inf, with the largest marked; a slider for the seed."""
    figure = go.Figure()
    last = survey.linf[:, -1]
    edges = np.linspace(last.min(), last.max(), bins + 1)
    for s, seed in enumerate(survey.seeds):
        heights, _ = np.histogram(last[s], edges)
        figure.add_bar(
            x=np.round((edges[1:] + edges[:-1]) / 2, 4),
            y=heights,
            width=float(edges[1] - edges[0]),
            name="prompts",
            visible=s == 0,
            marker={"color": PALETTE[0]},
            hovertemplate="|x|∞ about %{x:.2f}: %{y} prompts<extra></extra>",
        )
        r = float(last[s].max())
        figure.add_scatter(
            x=[r, r],
            y=[0, int(heights.max())],
            mode="lines",
            name="r of this seed",
            visible=s == 0,
            line={"color": PALETTE[1], "dash": "dash"},
            hovertemplate=f"seed {seed}: r = {r:.2f}<extra></extra>",
        )
    _slider(figure, [str(seed) for seed in survey.seeds], "seed: ", 0)
    figure.update_xaxes(title="|x|∞ of a prompt")
    figure.update_yaxes(title="prompts")
    return figure.update_layout(height=460, bargap=0)


def _seeds(figure: go.Figure, survey: Survey, values: np.ndarray, shown: bool, says: str) -> None:
    """A line for each seed of ``values`` (S, K) against the counts."""
    for s, seed in enumerate(survey.seeds):
        figure.add_scatter(
            x=list(survey.counts),
            y=np.round(values[s], 4),
            name=f"seed {seed}",
            mode="lines+markers",
            visible=shown,
            line={"color": PALETTE[s % len(PALETTE)], "shape": "hv"},
            hovertemplate="%{x} prompts: " + says + f"<extra>seed {seed}</extra>",
        )


def _predicted(figure: go.Figure, found: Sequence[Prediction], unit: float, shown: bool) -> None:
    """Medians with their intervals."""
    figure.add_scatter(
        x=[each.draws for each in found],
        y=[round(unit * each.median, 4) for each in found],
        error_y={
            "type": "data",
            "array": [round(unit * max(each.high - each.median, 0.0), 4) for each in found],
            "arrayminus": [round(unit * max(each.median - each.low, 0.0), 4) for each in found],
        },
        mode="markers",
        name="predicted by the tail",
        visible=shown,
        marker={"symbol": "diamond-open", "size": 11, "color": PALETTE[6]},
        hovertemplate="predicted for %{x} prompts: %{y:.2f}<extra></extra>",
    )


def _slider(
    figure: go.Figure, labels: Sequence[str], prefix: str, active: int, spare: int = 0
) -> None:
    """One step for each label, which shows an equal share of the traces in order, and the last
    ``spare`` always."""
    each = (len(figure.data) - spare) // len(labels)
    shown = [
        [i // each == k for i in range(each * len(labels))] + [True] * spare
        for k in range(len(labels))
    ]
    steps = [
        {"label": label, "method": "restyle", "args": [{"visible": visible}]}
        for label, visible in zip(labels, shown, strict=True)
    ]
    figure.update_layout(
        sliders=[
            {
                "active": active,
                "steps": steps,
                "currentvalue": {"prefix": prefix},
                "pad": {"t": 70},
            }
        ]
    )


def _room(values: np.ndarray) -> list[float]:
    """A range of the axis that is the same for every step of a slider."""
    low, high = float(values.min()), float(values.max())
    return [max(0.0, low - 0.1 * (high - low)), high + 0.1 * (high - low)]
