"""Numbers other people published, each with its source, and what they give when recomputed.

None of these is ours.  ``SOURCES`` says where each was read; a table that shows one names the key.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from accessibility_lib import bounds
from accessibility_lib._checks import number
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.precision import grid
from accessibility_lib.supports import Ball, Cone

SOURCES = {
    "paper_table_1": "How Many Different Outputs Can a Transformer Generate?, arXiv 2605.22223, "
    "Table 1: theoretical slope over empirical slope",
    "paper_table_2": "the same paper, Table 2: radius of the support, five of seven models",
    "reproduction": "an independent partial re-run of Table 2",
    "authors_csv": "the authors' repository mario-michelessa/transformers_accessibility, "
    "models_list.csv, commit d82cea1",
    "authors_notebook": "the same repository, th_bounds_estimation.ipynb, commit d82cea1",
    "kuratov_csv": "yurakuratov/hidden_capacity (Cramming 1568 Tokens, ACL 2025), "
    "data/models_list.csv, commit c371c3f: tokens gained with one memory vector",
    "kuratov_notebooks": "the same repository, notebook outputs: longest length with mean "
    "teacher-forced accuracy of at least 0.99, one memory vector",
    "progressive": "FusionBrainLab/progressive_cramming (ICML 2026): exact reconstruction, "
    "one memory vector, PG-19",
}

PAPER_EPS = 2.0**-10
"""The precision that gives Table 1's ball row: machine epsilon of fp16."""


@dataclass(frozen=True)
class PublishedModel:
    """One column of the paper's tables.

    ``r_table2``, ``r_reproduction``, ``linf_csv``: three published radii, from the sources
    paper_table_2, reproduction and authors_csv.  ``min_cos_csv``: smallest pairwise cosine
    (authors_csv).  ``slope_empirical``: tokens per memory vector (authors_csv), the denominator of
    Table 1.  ``log_volume_slope``: ln of the median cell volume per token (authors_notebook).
    """

    name: str
    label: str
    hub: str
    d: int
    vocab: int
    r_table2: float | None
    r_reproduction: float | None
    linf_csv: float
    min_cos_csv: float
    slope_empirical: float
    log_volume_slope: float


# fmt: off
_ROWS = (
    # name, label, hub, d, |V|, r (Table 2), r (re-run), r (csv), min cos, slope, log-volume slope
    ("pythia-160m", "Pythia-160M", "EleutherAI/pythia-160m",
     768, 50304, 63.62, 58.66, 22.45, 0.890, 90.4, -12.87),
    ("pythia-410m", "Pythia-410M", "EleutherAI/pythia-410m",
     1024, 50304, 54.90, 42.28, 43.44, -0.196, 112.4, -14.54),
    ("pythia-1b", "Pythia-1B", "EleutherAI/pythia-1b",
     2048, 50304, 65.68, 51.54, 57.38, -0.290, 287.4, -14.71),
    ("qwen2.5-0.5b", "Qwen-2.5-0.5B", "Qwen/Qwen2.5-0.5B",
     896, 151936, 309.00, 242.37, 226.75, -0.224, 71.0, -16.50),
    ("qwen2.5-1.5b", "Qwen-2.5-1.5B", "Qwen/Qwen2.5-1.5B",
     1536, 151936, 153.62, 81.85, 155.75, -0.099, 79.6, -16.87),
    ("llama-3.2-1b", "Llama-3.2-1B", "meta-llama/Llama-3.2-1B",
     2048, 128256, None, None, 20.91, -0.051, 137.8, -15.79),
    ("gemma-3-270m", "Gemma-3-270M", "google/gemma-3-270m",
     640, 262144, None, None, 9.95, -0.141, 44.54, -13.03),
)
# fmt: on
MODELS = {row[0]: PublishedModel(*row) for row in _ROWS}

TABLE_1 = {
    "ball": (9.24, 9.79, 7.77, 14.1, 20.4, 14.3, 11.52),
    "cone": (9.10, 9.60, 7.70, 14.01, 20.34, 13.98, 11.24),
    "ellipsoid": (7.92, 8.15, 6.12, 10.96, 15.30, 11.86, 11.12),
    "ellipsoid_nonuniform": (6.66, 5.99, 4.56, 7.92, 10.82, 10.71, 8.79),
    "ellipsoid_variable_eps": (8.65, 9.83, 7.71, 12.32, 18.81, 14.63, 13.42),
}
"""Theoretical over empirical slope, columns in the order of MODELS (source paper_table_1)."""

FIGURE_5_PLATEAU = {"qwen2.5-1.5b": 1.53, "pythia-160m": 52.0}
"""Radius at which Figure 5 levels off, read from the figure."""

BIGGER_MODELS = {
    "pythia-1.4b": {"d": 2048, "vocab": 50304, "slope_empirical": 261.4},
    "pythia-2.8b": {"d": 2560, "vocab": 50304, "slope_empirical": 197.9},
    "pythia-6.9b": {"d": 4096, "vocab": 50304, "slope_empirical": 283.55},
}
"""Models of authors_csv that Table 1 leaves out."""

FITS = {
    "n50_linear_r2": {"pg19": 0.999, "random": 0.995},
    "sigmoid_r2_min_cramming": 0.88,
    "sigmoid_r2_median_copying": 0.95,
    "sigmoid_r2_copying": {"qwen2.5-1.5b": 0.46, "llama-3.2-1b": 0.70},
}
"""Goodness of the paper's fits."""

ONE_VECTOR = {
    "kuratov_csv": {
        "pythia-160m": {"pg19": 71, "random": 61},
        "pythia-410m": {"pg19": 81, "random": 77},
        "pythia-1.4b": {"pg19": 158, "random": 144},
        "pythia-2.8b": {"pg19": 150, "random": 134},
        "llama-3.2-1b": {"pg19": 426, "random": 295},
        "llama-3.2-3b": {"pg19": 720, "random": 457},
        "llama-3.1-8b": {"pg19": 1094, "random": 623},
    },
    "kuratov_notebooks": {
        "pythia-160m": {"pg19": 80, "random": 65},
        "pythia-410m": {"pg19": 96, "random": 72},
        "pythia-1.4b": {"pg19": 160, "random": 139},
        "olmo-1b": {"pg19": 384, "random": 249},
        "llama-3.2-1b": {"pg19": 512, "random": 316},
        "llama-3.1-8b": {"pg19": 1568, "random": 792},
    },
    "progressive": {
        "llama-3.1-8b": {"pg19": 1438},
        "pythia-1.4b": {"pg19": 430},
        "smollm2-1.7b": {"pg19": 335},
        "gemma-3-4b": {"pg19": 214},
        "smollm2-135m": {"pg19": 29},
    },
}
"""Tokens stored in one memory vector, by source, model and kind of target.  Three notions of
"stored", see SOURCES; they bracket a capacity and are not interchangeable."""


def model(name: str) -> PublishedModel:
    """One of the paper's seven models by short name.

    >>> model("pythia-160m").d
    768
    """
    if not isinstance(name, str) or name not in MODELS:
        raise AccessibilityError(f"{name!r} is not in the paper; its models: {', '.join(MODELS)}.")
    return MODELS[name]


def table_1(row: str, name: str) -> float:
    """The published entry of Table 1.

    >>> table_1("ball", "gemma-3-270m")
    11.52
    """
    if not isinstance(row, str) or row not in TABLE_1:
        raise AccessibilityError(f"{row!r} is no row of Table 1; rows: {', '.join(TABLE_1)}.")
    return TABLE_1[row][list(MODELS).index(model(name).name)]


def ratio(log_packing: float, name: str) -> float:
    """Theoretical slope of one memory vector over the published empirical slope."""
    of = model(name)
    return bounds.slope(log_packing, of.vocab) / of.slope_empirical


def implied_radius(name: str) -> float:
    """The r that the ball row of Table 1 implies at eps 2^-10.

    >>> round(implied_radius("llama-3.2-1b"), 1), round(implied_radius("gemma-3-270m"), 1)
    (40.1, 10.8)
    """
    of = model(name)
    slope = table_1("ball", name) * of.slope_empirical
    return bounds.radius_for_slope(slope, of.d, of.vocab, PAPER_EPS)


def radius(name: str) -> float:
    """Table 2's r where it is quoted, else the implied one."""
    return model(name).r_table2 or implied_radius(name)


def ball_ratio(name: str, r: float | None = None) -> float:
    """Table 1's ball entry recomputed at eps 2^-10, from :func:`radius` or from another r.

    >>> round(ball_ratio("pythia-160m"), 2)
    9.24
    """
    ball = Ball(model(name).d, radius(name) if r is None else r)
    return ratio(ball.log_packing(PAPER_EPS), name)


def notebook_ball_ratio(name: str) -> float:
    """The same with the released notebook's eps = r 2^-11; r cancels.

    >>> round(notebook_ball_ratio("pythia-160m"), 2)
    6.53
    """
    return ratio(Ball(model(name).d, 1.0).log_packing(2.0**-11), name)


def cone_ratio(name: str) -> float:
    """Table 1's cone entry recomputed by the paper's rule: half of the largest pairwise angle.

    The angle is that of ``min_cos_csv``.  Heuristic, as every cone count.
    """
    of = model(name)
    axis = np.eye(1, of.d)[0]
    cone = Cone(
        axis,
        radius(name),
        float(np.arccos(of.min_cos_csv)) / 2,
        rule="cone by half the largest angle",
    )
    return ratio(cone.log_packing(PAPER_EPS), name)


def implied_half_width(name: str) -> float:
    """Half the geometric mean side of the box that Table 1's "ellipsoid" entry implies, eps 2^-10.

    A box inside the ball has it at most r.

    >>> implied_half_width("pythia-160m") < radius("pythia-160m")
    True
    """
    of = model(name)
    slope = table_1("ellipsoid", name) * of.slope_empirical
    return bounds.radius_for_slope(slope, of.d, of.vocab, PAPER_EPS)


def nonuniform_ratio(name: str, exchanged: bool = False) -> float:
    """Table 1's "Ellipsoid + non-uniform cells": ellipsoid ratio * ln|V| / -(log-volume slope).

    ``exchanged`` takes the log-volume slopes in alphabetical order of hub name while the models
    stay in the order of the table, which gives the published entries.

    >>> round(nonuniform_ratio("llama-3.2-1b"), 2)
    8.83
    >>> round(nonuniform_ratio("llama-3.2-1b", exchanged=True), 2)
    10.71
    """
    of = model(name)
    volumes = volume_source(name) if exchanged else of
    return table_1("ellipsoid", name) * float(np.log(of.vocab)) / -volumes.log_volume_slope


def volume_source(name: str) -> PublishedModel:
    """The model whose log-volume slope the published non-uniform entry of ``name`` agrees with.

    >>> volume_source("llama-3.2-1b").name
    'gemma-3-270m'
    """
    alphabetical = sorted(MODELS.values(), key=lambda each: each.hub)
    return alphabetical[list(MODELS).index(model(name).name)]


def representable_ratio(name: str, dtype: str = "fp16", r: float | None = None) -> float:
    """The ratio if each coordinate may take every value of ``dtype`` in [-r, r].

    Without ``r``, every finite value: what no support in that format can exceed.

    >>> round(representable_ratio("pythia-410m"), 2)
    9.31
    >>> round(representable_ratio("pythia-410m", r=radius("pythia-410m")), 2)
    8.97
    """
    d = model(name).d
    if r is None:
        every = grid(dtype).count(-sys.float_info.max, sys.float_info.max)
        return ratio(d * math.log(every), name)
    return ratio(Ball(d, r).log_representable(dtype), name)


def ratios_by_convention(name: str) -> dict[str, float]:
    """The ball's ratio under five meanings of "fp16 precision", and by exact count.

    >>> list(ratios_by_convention("pythia-160m"))[0]
    'ε = machine epsilon'
    """
    fp16, ball = grid("fp16"), Ball(model(name).d, radius(name))
    epsilon, roundoff = 2.0**-10, 2.0**-11
    by_eps = {
        "ε = machine epsilon": epsilon,
        "ε = unit roundoff": roundoff,
        "ε = r · machine epsilon": ball.r * epsilon,
        "ε = r · unit roundoff": ball.r * roundoff,
        "ε = spacing at r": fp16.spacing(ball.r),
    }
    ratios = {words: ratio(ball.log_packing(eps), name) for words, eps in by_eps.items()}
    return ratios | {"fp16 values in [−r, r]": representable_ratio(name, "fp16", ball.r)}


def recomputed(row: str, name: str) -> float | None:
    """The entry of Table 1 as the published inputs give it, None where they do not suffice.

    The box rows need one interval for each coordinate, which were not published.

    >>> recomputed("ellipsoid", "pythia-160m") is None
    True
    """
    table_1(row, name)
    if row == "ellipsoid_nonuniform":
        return nonuniform_ratio(name, exchanged=True)
    return {"ball": ball_ratio, "cone": cone_ratio}.get(row, lambda _: None)(name)


def corrected(row: str, name: str) -> float | None:
    """The entry with the inputs of its own model, None where nothing needs or allows correction."""
    return nonuniform_ratio(name) if row == "ellipsoid_nonuniform" else None


def entries_above(limit: float = 10.0) -> int:
    """How many of the 35 entries of Table 1 exceed ``limit``.

    >>> entries_above(10)
    18
    """
    above = number("limit", limit)
    return sum(entry > above for row in TABLE_1.values() for entry in row)
