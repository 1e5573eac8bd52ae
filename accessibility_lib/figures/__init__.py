"""One plotly template, and one way to show a figure in JupyterLab and in the static book.

In JupyterLab a figure is plotly's own mime type.  In the book it is its JSON inside a ``<figure>``
with words for those who cannot see it; the site's ``lib/figures.js`` draws it, follows the light or
dark theme, and keeps one broken figure from taking the others with it.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from accessibility_lib.errors import AccessibilityError

# Okabe and Ito's palette: told apart by readers with any common colour blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#7F7F7F")

TEMPLATE = go.layout.Template(
    layout={
        "autosize": True,
        "colorway": PALETTE,
        # Neutral greys read on white and on black; the book replaces them by the theme's own.
        "font": {"family": "system-ui, sans-serif", "size": 14, "color": "#6b7280"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 60, "r": 20, "t": 40, "b": 50},
        "hoverlabel": {"font": {"family": "system-ui, sans-serif"}},
        "sliderdefaults": {"pad": {"t": 50}},  # below the title of the axis
        "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0},
        "xaxis": {"gridcolor": "rgba(127,127,127,0.25)", "zeroline": False, "automargin": True},
        "yaxis": {"gridcolor": "rgba(127,127,127,0.25)", "zeroline": False, "automargin": True},
    }
)

PLOTLY_MIME = "application/vnd.plotly.v1+json"
# In JupyterLab; the book's figures.js has its own.  Nothing is sent anywhere.
CONFIG = {"displaylogo": False, "responsive": True, "showSendToCloud": False}


def _readable(value: Any) -> Any:
    """Plotly's base64 arrays as lists and what is no number as null: JSON that anyone can read."""
    if isinstance(value, dict):
        if "bdata" in value:
            array = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
            shape = tuple(int(size) for size in str(value.get("shape", array.size)).split(","))
            return _readable(array.reshape(shape).tolist())
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return [_readable(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Shown:
    """A figure with its words and its name, as the last value of a notebook cell."""

    figure: dict[str, Any]
    alt: str
    name: str

    def html(self) -> str:
        """The figure as a piece of a static page; the same figure gives the same bytes."""
        content = json.dumps(self.figure, sort_keys=True, separators=(",", ":"))
        height = self.figure.get("layout", {}).get("height", 450)
        return (
            f'<figure class="acc-figure" id="figure-{self.name}" aria-label="{escape(self.alt)}">'
            f'<div class="acc-plot" style="min-height:{height:g}px">{escape(self.alt)}</div>'
            '<script type="application/json">' + content.replace("<", "\\u003c") + "</script>"
            "</figure>"
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        live = {**self.figure, "config": CONFIG}
        return {PLOTLY_MIME: live, "text/html": self.html(), "text/plain": self.alt}


def show(figure: go.Figure, *, alt: str, name: str) -> Shown:
    """A plotly figure ready for JupyterLab, the book and a screen reader.

    Parameters
    ----------
    figure
        Any plotly figure; sliders over precomputed traces work in the static page too.
    alt
        What the figure shows, in a sentence or two, for a reader who does not see it.
    name
        Small letters, digits and hyphens, unique on its page: the id ``figure-NAME`` and the name
        of the downloaded data.

    Raises
    ------
    AccessibilityError
        If the words are missing or the name cannot be an id.

    >>> show(go.Figure(go.Scatter(y=[1, 2])), alt="A line that rises.", name="rise").name
    'rise'
    """
    if not isinstance(alt, str) or len(alt.split()) < 3:
        raise AccessibilityError(
            f"alt = {alt!r} says too little: describe in a sentence what the figure shows."
        )
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise AccessibilityError(
            f"name = {name!r}: use small letters, digits and hyphens; it becomes an id."
        )
    figure = go.Figure(figure).update_layout(template=TEMPLATE)
    return Shown(_readable(json.loads(figure.to_json())), alt, name)
