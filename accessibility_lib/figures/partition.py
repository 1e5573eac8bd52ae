"""Figures of chapter 01: the cells on a plane."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from accessibility_lib.cells import Slice
from accessibility_lib.figures import PALETTE

LABELLED = 0.02  # share of the window from which a cell carries its token's name


def partition(
    found: Slice,
    names: Sequence[str],
    prompts: Sequence[str],
    at: ArrayLike,
    outline: np.ndarray | None = None,
) -> go.Figure:
    """The cells of a window as polygons, their tokens on hover, and numbered prompts.

    ``names``: of ``found.tokens``.  ``at`` (N, 2): where the ``prompts`` are.  ``outline`` (k, 2):
    the curve of possible embeddings.  The same cells get the same colours, neighbours different
    ones.
    """
    figure = go.Figure()
    a_min, a_max, b_min, b_max = found.window
    # Four digits more than a screen shows, and a page that stays light.
    digits = 5 - int(np.floor(np.log10(a_max - a_min)))
    for polygon, name, share, colour in zip(
        found.polygons, names, found.shares, _colours(found), strict=True
    ):
        x, y = np.round(np.vstack([polygon, polygon[:1]]).T, digits)
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": colour, "width": 1},
            fill="toself",
            fillcolor=_faint(colour),
            hoveron="fills",
            hoverinfo="text",
            text=f"<b>{_literal(name)}</b><br>{share:.2%} of the window",
            showlegend=False,
        )
    if outline is not None:
        x, y = np.round(outline, digits).T
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": "#7f7f7f", "width": 3, "dash": "dot"},
            hoverinfo="skip",
            name="all that the final norm can output here",
        )
    at = np.asarray(at, dtype=float)
    shown = found.shares >= LABELLED
    x, y = np.round(_free_places(found, shown, at), digits).T
    figure.add_scatter(
        x=x,
        y=y,
        mode="text",
        text=[_literal(name) for name, large in zip(names, shown, strict=True) if large],
        hoverinfo="skip",
        showlegend=False,
    )
    x, y = np.round(at, digits).T
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers+text",
        text=[str(k + 1) for k in range(len(prompts))],
        textfont={"color": "black", "size": 13},
        marker={"size": 20, "color": "white", "line": {"color": "black", "width": 2}},
        hovertext=[f"prompt {k + 1}: {_literal(text)}" for k, text in enumerate(prompts)],
        hoverinfo="text",
        name="prompts",
    )
    figure.update_xaxes(
        range=[a_min, a_max], constrain="domain", title="along prompts 1 → 2", showgrid=False
    )
    figure.update_yaxes(
        range=[b_min, b_max],
        scaleanchor="x",
        constrain="domain",
        constraintoward="top",
        title="across",
        showgrid=False,
    )
    return figure.update_layout(height=620, hovermode="closest")


def growth(widths: Sequence[float], counts: Sequence[int], core: Sequence[int]) -> go.Figure:
    """Tokens that own a cell in windows of growing width, and how many hold 99 % of the area."""
    figure = go.Figure()
    for name, values, colour, dash in (
        ("all that own a cell", counts, PALETTE[0], "solid"),
        ("the fewest that hold 99 %", core, PALETTE[1], "dash"),
    ):
        figure.add_scatter(
            x=list(widths),
            y=list(values),
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash},
            hovertemplate="window %{x:g} × as wide: %{y} tokens<extra></extra>",
        )
    figure.update_xaxes(type="log", title="width of the window, × above")
    figure.update_yaxes(title="tokens", rangemode="tozero")
    return figure.update_layout(height=380)


def _literal(text: str) -> str:
    """Text that plotly shows as it is: no tags, no TeX between dollars; it knows no &quot;."""
    return escape(text, quote=False).replace("$", "&#36;")


def _colours(found: Slice) -> list[str]:
    """A colour for each cell, by its token's id, moved on until no neighbour has the same."""
    beside: list[set[int]] = [set() for _ in found.tokens]
    for i, j in found.neighbours.tolist():
        beside[i].add(j)
        beside[j].add(i)
    chosen: dict[int, int] = {}
    for cell, token in enumerate(found.tokens.tolist()):
        taken = {chosen[other] for other in beside[cell] if other in chosen}
        wheel = [(token + step) % len(PALETTE) for step in range(len(PALETTE))]
        chosen[cell] = next((colour for colour in wheel if colour not in taken), wheel[0])
    return [PALETTE[chosen[cell]] for cell in range(len(found))]


def _faint(colour: str) -> str:
    """A fill through which text is legible on a light page and on a dark one."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.3)"


def _free_places(found: Slice, shown: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Where to write the names of the cells ``shown``: the centre, or beside a prompt that is
    there."""
    centres = np.array([_centroid(polygon) for polygon in found.polygons])[shown]
    step = 0.06 * (found.window[3] - found.window[2])
    for centre in centres:
        away = centre - at
        near = np.abs(away).max(axis=1) < 1.2 * step
        if near.any():
            prompt = at[near][0]
            centre[1] = prompt[1] + (step if centre[1] > prompt[1] else -step)
    return centres


def _centroid(polygon: np.ndarray) -> np.ndarray:
    """Centre of mass of a convex polygon."""
    fan = polygon - polygon[0]
    weight = fan[1:-1, 0] * fan[2:, 1] - fan[2:, 0] * fan[1:-1, 1]
    return polygon[0] + ((fan[1:-1] + fan[2:]) * weight[:, None]).sum(axis=0) / (3 * weight.sum())
