"""Figures of chapter 06: Table 1 of the paper, recomputed."""

from __future__ import annotations

import plotly.graph_objects as go

from accessibility_lib import published
from accessibility_lib.figures import PALETTE

ROWS = {
    "ball": "Ball",
    "cone": "Cone (heuristic)",
    "ellipsoid": "“Ellipsoid” (a box)",
    "ellipsoid_nonuniform": "Box, unequal cells",
    "ellipsoid_variable_eps": "Box, variable ε",
}
COLUMNS = {
    "this paper, slope": ("authors_csv", "slope"),
    "gained, PG-19": ("kuratov_csv", "pg19"),
    "gained, random": ("kuratov_csv", "random"),
    "accuracy ≥ 0.99, PG-19": ("kuratov_notebooks", "pg19"),
    "accuracy ≥ 0.99, random": ("kuratov_notebooks", "random"),
    "exact, PG-19": ("progressive", "pg19"),
}
SYMBOLS = ("circle", "square", "diamond", "cross")


def entries(limit: float) -> go.Figure:
    """All 35 entries of Table 1 by row, with a line at the factor the paper calls tight."""
    figure = go.Figure()
    for i, model in enumerate(published.MODELS.values()):
        figure.add_scatter(
            x=[published.table_1(row, model.name) for row in ROWS],
            y=list(ROWS.values()),
            mode="markers",
            name=model.label,
            marker={"size": 11, "color": PALETTE[i], "symbol": SYMBOLS[i % 4]},
            hovertemplate=f"{model.label}: %{{x}}<extra></extra>",
        )
    figure.add_vline(x=limit, line={"dash": "dash", "color": PALETTE[7]})
    figure.update_xaxes(title="theory / measured")
    figure.update_yaxes(autorange="reversed")
    return figure.update_layout(height=450)


def exchange() -> go.Figure:
    """The non-uniform row: as published, with each model's own cells, with exchanged models."""
    models = list(published.MODELS.values())
    labels = [model.label for model in models]
    names = [model.name for model in models]
    figure = go.Figure()
    for words, values, symbol, color in (
        ("its own cells", [published.nonuniform_ratio(n) for n in names], "circle", PALETTE[0]),
        (
            "cells in alphabetical order of hub name",
            [published.nonuniform_ratio(n, exchanged=True) for n in names],
            "circle-open",
            PALETTE[1],
        ),
        (
            "published",
            [published.table_1("ellipsoid_nonuniform", n) for n in names],
            "x-thin",
            PALETTE[7],
        ),
    ):
        figure.add_scatter(
            x=values,
            y=labels,
            mode="markers",
            name=words,
            marker={"size": 13, "symbol": symbol, "color": color, "line": {"width": 2}},
            hovertemplate="%{y}: %{x:.2f}<extra>" + words + "</extra>",
        )
        figure.data[-1].marker.line.color = color
    figure.update_xaxes(title="theory / measured")
    figure.update_yaxes(autorange="reversed")
    return figure.update_layout(height=460)


def one_vector() -> list[dict[str, object]]:
    """Tokens that one memory vector stores, for each model that two publications measured.

    Rows with ``model``, ``source``, ``kind`` (pg19 or random) and ``tokens``; the paper's own slope
    mixes neither kind and says "slope".
    """
    rows: list[dict[str, object]] = [
        {"model": name, "source": "authors_csv", "kind": "slope", "tokens": slope}
        for name, slope in (
            *((model.name, model.slope_empirical) for model in published.MODELS.values()),
            *((name, each["slope_empirical"]) for name, each in published.BIGGER_MODELS.items()),
        )
    ]
    for source, by_model in published.ONE_VECTOR.items():
        for name, by_kind in by_model.items():
            for kind, tokens in by_kind.items():
                rows.append({"model": name, "source": source, "kind": kind, "tokens": tokens})
    shared = {
        name
        for name in {str(row["model"]) for row in rows}
        if len({row["source"] for row in rows if row["model"] == name}) > 1
    }
    return [row for row in rows if row["model"] in shared]


def side_by_side() -> list[list[object]]:
    """Rows of a table: a model, then its tokens in each of COLUMNS, None where not measured."""
    found = {(row["model"], row["source"], row["kind"]): row["tokens"] for row in one_vector()}
    names = list(dict.fromkeys(str(row["model"]) for row in one_vector()))
    return [[name, *(found.get((name, *key)) for key in COLUMNS.values())] for name in names]


def denominators() -> go.Figure:
    """What one memory vector stores, by publication: the denominators of a tightness ratio."""
    rows = one_vector()
    order = sorted(
        {str(row["model"]) for row in rows},
        key=lambda name: max(float(str(r["tokens"])) for r in rows if r["model"] == name),
    )
    figure = go.Figure()
    sources = list(dict.fromkeys(source for source, _ in COLUMNS.values()))
    for label, (source, kind) in COLUMNS.items():
        kept = [row for row in rows if row["source"] == source and row["kind"] == kind]
        i = sources.index(source)
        figure.add_scatter(
            x=[row["tokens"] for row in kept],
            y=[row["model"] for row in kept],
            mode="markers",
            name=label,
            marker={
                "size": 11,
                "color": PALETTE[i],
                "symbol": SYMBOLS[i] + ("-open" if kind == "random" else ""),
                "line": {"width": 2, "color": PALETTE[i]},
            },
            hovertemplate="%{y}: %{x} tokens<extra>" + label + "</extra>",
        )
    figure.update_xaxes(type="log", title="tokens in one vector")
    figure.update_yaxes(categoryorder="array", categoryarray=order)
    return figure.update_layout(height=520)
