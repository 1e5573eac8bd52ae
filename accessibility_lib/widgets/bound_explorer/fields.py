"""What a reader can set, and where it starts."""

from __future__ import annotations

import math
from typing import Any

from accessibility_lib import published
from accessibility_lib.precision import FLOAT_NAMES, FloatGrid, grid
from accessibility_lib.widgets.host import Choice, Field, Scale, Switch, decades, octaves, whole

DTYPES = tuple(name for name in FLOAT_NAMES if name != "fp64")
BITS = {name: 8 if name.startswith("fp8") else int(name[2:]) for name in DTYPES}


def _grid_of(name: str) -> dict[str, Any]:
    each = grid(name)
    assert isinstance(each, FloatGrid)
    return {
        "name": name,
        "bits": BITS[name],
        "mantissa": each.mantissa,
        "min_exponent": each.min_exponent,
        "largest": each.largest,
    }


GRIDS = {name: _grid_of(name) for name in DTYPES}
"""The constants of each float format that the browser needs to count its values."""

MODEL, SUPPORT, PRECISION = "Model and prompt", "Support", "Precision"
ANY_LENGTH, FIGURE = "Prompts of any length", "Figure"


def _tidy(value: float) -> float:
    """Four digits: the presets are shown in boxes of their own."""
    return float(f"{value:.4g}")


def _preset(name: str) -> dict[str, Any]:
    """The numbers of a published model; ``box`` and ``cone`` are Table 1's own."""
    of = published.model(name)
    r = of.r_table2 or _tidy(published.implied_radius(name))
    points = [
        {"label": f"{source}, {kind}", "m": 1, "n": tokens}
        for source, models in published.ONE_VECTOR.items()
        for kind, tokens in models.get(name, {}).items()
    ]
    return {
        "label": of.label,
        "d": of.d,
        "r": r,
        "eps": published.PAPER_EPS,
        "vocab": of.vocab,
        "angle": _tidy(math.degrees(math.acos(of.min_cos_csv)) / 2),
        "share": _tidy(published.implied_half_width(name) / r),
        "slope": of.slope_empirical,
        "points": points,
        "note": "Radius: Table 2." if of.r_table2 else "Radius: the one that Table 1 implies.",
    }


PRESETS: dict[str, dict[str, Any]] = {name: _preset(name) for name in published.MODELS}
OF_PRESET = ("d", "r", "eps", "vocab", "angle", "share")
DEFAULT = "pythia-1b"

FIELDS: dict[str, Field] = {
    "preset": Choice(
        MODEL,
        "Model",
        "published width, radius and vocabulary",
        (("", "your own numbers"), *((key, preset["label"]) for key, preset in PRESETS.items())),
    ),
    "m": Scale(
        MODEL, "m", "memory vectors in the prompt", 1, 1e6, tuple(map(float, range(1, 65))), True
    ),
    "d": Scale(MODEL, "d", "width of the embedding", 1, 1e6, whole(octaves(0, 14, 8)), True),
    "vocab": Scale(
        MODEL, "|V|", "tokens in the vocabulary", 2, 1e9, whole(octaves(1, 20, 8)), True
    ),
    "support": Choice(
        SUPPORT,
        "Shape",
        "where the last-layer embeddings can lie",
        (
            ("ball", "ball: every |xᵢ| up to r"),
            ("cone", "cone: the ball near one direction"),
            ("box", "box: sides shorter than the ball's"),
            ("ellipsoid", "ellipsoid"),
            ("rmsnorm", "norm ellipsoid (RMSNorm)"),
            ("layernorm", "norm ellipsoid (LayerNorm)"),
        ),
    ),
    "r": Scale(
        SUPPORT,
        "r",
        "radius: no |xᵢ| is larger",
        1e-9,
        1e9,
        decades(-3, 6),
        when=("support", ("ball", "cone", "box")),
    ),
    "angle": Scale(
        SUPPORT,
        "half-angle",
        "of the cone, in degrees",
        0.1,
        180,
        tuple(map(float, range(1, 181))),
        when=("support", ("cone",)),
    ),
    "share": Scale(
        SUPPORT,
        "side",
        "of the box, as a share of the ball's",
        1e-6,
        1,
        tuple(k / 100 for k in range(1, 101)),
        when=("support", ("box",)),
    ),
    "axis": Scale(
        SUPPORT,
        "semi-axis",
        "geometric mean over the coordinates",
        1e-9,
        1e9,
        decades(-3, 6),
        when=("support", ("ellipsoid",)),
    ),
    "gain": Scale(
        SUPPORT,
        "gain",
        "of the final norm, geometric mean",
        1e-9,
        1e9,
        decades(-3, 4),
        when=("support", ("rmsnorm", "layernorm")),
    ),
    "precision": Choice(
        PRECISION,
        "Points count as one",
        "",
        (
            ("eps", "below a distance ε"),
            ("spacing", "below the spacing at the largest |xᵢ|"),
            ("machine", "below machine epsilon: the spacing at 1"),
            ("roundoff", "below unit roundoff: half of that"),
            ("representable", "when all coordinates are the same number"),
        ),
    ),
    "dtype": Choice(PRECISION, "Number format", "", tuple((name, name) for name in DTYPES)),
    "eps": Scale(
        PRECISION,
        "ε",
        "precision of a coordinate",
        2.0**-60,
        1e6,
        octaves(-30, 6),
        when=("precision", ("eps",)),
    ),
    "eps_w": Scale(
        ANY_LENGTH,
        "ε_W",
        "precision in Wasserstein distance, of order 1",
        1e-9,
        1e9,
        decades(-6, 6),
    ),
    "reach_n": Scale(
        ANY_LENGTH,
        "length",
        "wanted as the threshold, in tokens",
        2,
        1e9,
        whole(octaves(1, 20, 4)),
        True,
    ),
    "factor": Choice(
        ANY_LENGTH,
        "Constant",
        "",
        (("2", "2r, as in Theorem 4.9"), ("4", "4r, as Corollary 4.10 prints it")),
    ),
    "view": Choice(
        FIGURE,
        "Show",
        "",
        (("fraction", "accessible fraction by length"), ("reach", "length by memory vectors")),
    ),
    "scale": Choice(
        FIGURE,
        "Vertical axis",
        "",
        (("log", "log₁₀"), ("linear", "linear")),
        when=("view", ("fraction",)),
    ),
    "hard": Switch(FIGURE, "hard prompts too", "prompts of m tokens: there are only |V|ᵐ"),
}

START: dict[str, Any] = {
    **{key: PRESETS[DEFAULT][key] for key in OF_PRESET},
    "preset": DEFAULT,
    "m": 1,
    "support": "ball",
    "axis": 100.0,
    "gain": 4.0,
    "precision": "eps",
    "dtype": "fp16",
    "eps_w": published.PAPER_EPS,
    "reach_n": 200,
    "factor": "2",
    "view": "fraction",
    "scale": "log",
    "hard": False,
    "profile": (1.0,),
}
"""Every setting of a fresh explorer."""
