"""Figures of chapter 07: how far models copy, and what the theory says of that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from accessibility_lib import bounds, fits
from accessibility_lib.copying.results import CopyResult, fitted, over_seeds
from accessibility_lib.figures import PALETTE

Groups = Mapping[str, Sequence[CopyResult]]  # name -> runs that differ in the seed alone


def curves(groups: Groups, confidence: float = 0.95) -> go.Figure:
    """Share of strings copied exactly against their length: points with Wilson intervals, and the
    logistic fit, of all seeds of a group together.  Dotted: the longest in training."""
    figure = go.Figure()
    for i, (name, runs) in enumerate(groups.items()):
        n, exact, strings = fitted(runs)
        low, high = fits.wilson(exact, strings, confidence)
        share, colour = exact / strings, PALETTE[i % len(PALETTE)]
        figure.add_scatter(
            x=n,
            y=share,
            error_y={"array": high - share, "arrayminus": share - low, "thickness": 1},
            mode="markers",
            marker={"color": colour, "size": 6},
            name=name,
            legendgroup=name,
            hovertemplate=f"{name}, n = %{{x}}: %{{y:.0%}} of {strings[0]}<extra></extra>",
        )
        fine = np.linspace(n[0], n[-1], 400)
        figure.add_scatter(
            x=fine,
            y=fits.fit_curve(n, exact, strings, confidence)(fine),
            mode="lines",
            line={"color": colour, "width": 1.5},
            showlegend=False,
            legendgroup=name,
            hoverinfo="skip",
        )
    for longest in sorted({run.config.longest for runs in groups.values() for run in runs}):
        figure.add_vline(x=longest, line={"dash": "dot", "color": PALETTE[7]})
    figure.update_xaxes(title="letters in the string, n")
    figure.update_yaxes(title="copied exactly", tickformat=".0%", range=[-0.03, 1.05])
    return figure.update_layout(height=460)


def letters(groups: Groups) -> go.Figure:
    """Share of single letters right, the true ones before them given; mean of the seeds."""
    figure = go.Figure()
    for i, (name, runs) in enumerate(groups.items()):
        figure.add_scatter(
            x=list(runs[0].config.lengths),
            y=np.mean([run.letters for run in runs], axis=0),
            name=name,
            mode="lines+markers",
            line={"color": PALETTE[i % len(PALETTE)]},
        )
    chance = 1 / next(iter(groups.values()))[0].config.alphabet
    figure.add_hline(y=chance, line={"dash": "dot", "color": PALETTE[7]}, annotation_text="a guess")
    figure.update_xaxes(title="letters in the string, n")
    figure.update_yaxes(title="letters right", tickformat=".0%", range=[0, 1.05])
    return figure.update_layout(height=380)


def training(groups: Groups) -> go.Figure:
    """Share of new strings of the whole length law copied exactly, against the step."""
    figure = go.Figure()
    for i, (name, runs) in enumerate(groups.items()):
        for k, run in enumerate(runs):
            figure.add_scatter(
                x=[row[0] for row in run.history],
                y=[row[3] for row in run.history],
                customdata=[row[1] for row in run.history],
                name=name,
                legendgroup=name,
                showlegend=k == 0,
                mode="lines+markers",
                line={"color": PALETTE[i % len(PALETTE)]},
                hovertemplate=f"{name}, seed {run.config.seed}, step %{{x}}: %{{y:.1%}}, "
                "strings up to %{customdata}<extra></extra>",
            )
    figure.update_xaxes(title="step")
    figure.update_yaxes(title="copied exactly", tickformat=".0%", range=[-0.03, 1.05])
    return figure.update_layout(height=380)


def failure(groups: Groups, confidence: float = 0.95) -> go.Figure:
    """n50 of every run against the longest string in training, with the interval of the mean over
    the seeds; dashed: no further than trained."""
    figure = go.Figure()
    for i, (name, runs) in enumerate(groups.items()):
        colour = PALETTE[i % len(PALETTE)]
        by_length: dict[int, list[float]] = {}
        for run in runs:
            by_length.setdefault(run.config.longest, []).append(run.curve().n50)
        figure.add_scatter(
            x=[longest for longest, found in by_length.items() for _ in found],
            y=[value for found in by_length.values() for value in found],
            mode="markers",
            marker={"color": colour, "symbol": "circle-open", "size": 8},
            name=f"{name}, each seed",
            hovertemplate="trained to %{x}: n50 %{y:.1f}<extra></extra>",
        )
        means = np.array([over_seeds(found, confidence) for found in by_length.values()])
        figure.add_scatter(
            x=list(by_length),
            y=means[:, 0],
            error_y={"array": np.nan_to_num(means[:, 2] - means[:, 0])},
            mode="markers",
            marker={"color": colour, "size": 8},
            name=f"{name}, mean of the seeds",
            hovertemplate="trained to %{x}: mean %{y:.1f}<extra></extra>",
        )
    longest = max(run.config.longest for runs in groups.values() for run in runs)
    figure.add_scatter(
        x=[0, longest],
        y=[0, longest],
        mode="lines",
        line={"dash": "dash", "color": PALETTE[7]},
        name="no further than trained",
        hoverinfo="skip",
    )
    figure.update_xaxes(title="longest string in training", rangemode="tozero")
    figure.update_yaxes(title="n50 (letters)", rangemode="tozero")
    return figure.update_layout(height=420)


def threshold(models: Mapping[str, tuple[int, float, int]], n50: Mapping[str, float]) -> go.Figure:
    """log10 of Corollary 4.10's threshold with 2r and 4r beside the measured ``n50``; a slider
    moves eps_W in units of each model's r.

    ``models``: name -> (d, r, |V|).
    """
    figure = go.Figure()
    ratios = 10.0 ** np.arange(-4, 4.25, 0.25)
    names = list(models)
    start = int(np.argmin(abs(ratios - 1e-3)))
    for k, ratio in enumerate(ratios):
        for factor, colour in ((2, PALETTE[0]), (4, PALETTE[1])):
            figure.add_bar(
                x=names,
                y=[
                    bounds.log10_threshold_any_length(d, r, r * ratio, vocab, factor=factor)
                    for d, r, vocab in models.values()
                ],
                name=f"threshold, {factor}r",
                marker={"color": colour},
                visible=k == start,
                hovertemplate="%{x}: 10^%{y:.1f} tokens<extra></extra>",
            )
    figure.add_scatter(
        x=names,
        y=[math.log10(n50[name]) for name in names],
        mode="markers",
        name="measured n50",
        marker={"color": PALETTE[2], "symbol": "diamond", "size": 12},
        hovertemplate="%{x}: 10^%{y:.2f} letters<extra></extra>",
    )
    steps = [
        {
            "label": f"{ratio:.3g}",
            "method": "update",
            "args": [{"visible": [j // 2 == k for j in range(2 * len(ratios))] + [True]}],
        }
        for k, ratio in enumerate(ratios)
    ]
    figure.update_yaxes(title="log₁₀ of tokens")
    return figure.update_layout(
        height=520,
        barmode="group",
        sliders=[{"active": start, "currentvalue": {"prefix": "ε_W / r = "}, "steps": steps}],
    )


def crammed(
    prefixes: Mapping[str, Mapping[int, Sequence[int]]], n: int, copied: float
) -> go.Figure:
    """Longest prefix of the strings that a model cannot copy, against the memory vectors of the
    prompt: name -> m -> prefix of each string.  ``copied``: letters that the copy gives, up to
    ``n``."""
    figure = go.Figure()
    for i, (name, by_m) in enumerate(prefixes.items()):
        found = {m: np.asarray(values, dtype=float) for m, values in by_m.items()}
        middle = np.array([np.median(values) for values in found.values()])
        figure.add_scatter(
            x=list(found),
            y=middle,
            error_y={
                "array": [values.max() for values in found.values()] - middle,
                "arrayminus": middle - [values.min() for values in found.values()],
            },
            mode="lines+markers",
            name=name,
            line={"color": PALETTE[i % len(PALETTE)]},
            hovertemplate=f"{name}, m = %{{x}}: median %{{y}} letters<extra></extra>",
        )
    for y, text, dash in ((n, "the whole string", "dash"), (copied, "before x | fails", "dot")):
        figure.add_hline(y=y, line={"color": PALETTE[7], "dash": dash}, annotation_text=text)
    figure.update_xaxes(title="memory vectors, m", type="log", dtick=math.log10(2))
    figure.update_yaxes(title="longest prefix found (letters)", rangemode="tozero")
    return figure.update_layout(height=420)
