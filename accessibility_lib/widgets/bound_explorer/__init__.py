"""The bound explorer: Theorem 4.5, Corollary 4.6 and Corollary 4.10, moved by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from accessibility_lib._checks import LARGEST, number
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.widgets.bound_explorer.fields import (
    FIELDS,
    GRIDS,
    OF_PRESET,
    PRESETS,
    START,
)
from accessibility_lib.widgets.bound_explorer.quantities import compute, slope_of
from accessibility_lib.widgets.host import FOLDER, Explorer, Setting, Several, text_of

__all__ = ["FIELDS", "PRESETS", "BoundExplorer", "compute"]

HERE = FOLDER / "bound_explorer"
CURVES = ("log10_fraction", "log10_hard_fraction")


def _traits(*keys: str) -> list[Any]:
    return [Setting(FIELDS[key], START[key]) for key in keys]


def _is_positive(value: object) -> bool:
    try:
        return 0 < number("value", value) <= LARGEST
    except AccessibilityError:
        return False


class BoundExplorer(Explorer):
    """Up to which length m memory vectors may name every target, by support and precision.

    Parameters
    ----------
    name
        Names the explorer within a page; becomes the id of its place.
    preset
        One of `PRESETS`; sets the numbers of `OF_PRESET`, unless they are given too.
    controls
        What the reader can set, in this order; all by default.
    measured
        Points of one's own for the figure of lengths: dicts with a label, m and n (tokens).
    profile
        Sizes of the ellipsoids' semi-axes relative to their geometric mean, as a summary of any
        length (quantiles, say); (1.0,) makes them equal.
    **settings
        Values of the other `FIELDS`, by name.

    Raises
    ------
    AccessibilityError
        If a value is outside the limits of `FIELDS` or not known.

    >>> explorer = BoundExplorer(name="intro", preset="pythia-1b", controls=("preset", "m"))
    >>> explorer.d, round(explorer.result["slope"], 1)
    (2048, 2234.1)
    """

    _esm = text_of(
        FOLDER / "host.js", HERE / "numbers.js", HERE / "figures.js", HERE / "explorer.js"
    )
    _css = text_of(FOLDER / "host.css")

    fields = FIELDS
    preset, m, d, vocab = _traits("preset", "m", "d", "vocab")
    support, r, angle, share = _traits("support", "r", "angle", "share")
    axis, gain, precision, dtype = _traits("axis", "gain", "precision", "dtype")
    eps, eps_w, reach_n, factor = _traits("eps", "eps_w", "reach_n", "factor")
    view, scale, hard = _traits("view", "scale", "hard")
    profile = Several(default_value=START["profile"]).tag(sync=True, setting=True)
    measured = Several().tag(sync=True, setting=True)
    _presets = traitlets.Dict(PRESETS).tag(sync=True, data=True)
    _grids = traitlets.Dict(GRIDS).tag(sync=True, data=True)

    def __init__(self, **settings: Any) -> None:
        named = settings.get("preset", START["preset"])
        preset = PRESETS.get(named, {}) if isinstance(named, str) else {}
        numbers = {key: preset[key] for key in OF_PRESET if preset}
        filled = {"name": "bounds", "controls": tuple(FIELDS), **numbers, **settings}
        if not all(_is_positive(filled[key]) and filled[key] == numbers[key] for key in numbers):
            filled["preset"] = ""
        super().__init__(**filled)

    @traitlets.observe("preset")
    def _follow_preset(self, _: object) -> None:
        for key in OF_PRESET:
            if self.preset:
                setattr(self, key, PRESETS[self.preset][key])

    @traitlets.observe(*OF_PRESET)
    def _leave_preset(self, change: Any) -> None:
        if self.preset and PRESETS[self.preset][change["name"]] != change["new"]:
            self.preset = ""

    @traitlets.validate("profile")
    def _is_a_profile(self, proposal: Any) -> tuple[float, ...]:
        sizes = tuple(proposal["value"])
        for size in sizes or (0,):
            if not _is_positive(size):
                raise AccessibilityError(
                    f"profile holds {size!r}; give relative sizes above 0, such as quantiles of "
                    "the gains over their geometric mean."
                )
        return tuple(map(float, sizes))

    @traitlets.validate("measured")
    def _are_points(self, proposal: Any) -> tuple[dict[str, Any], ...]:
        for point in proposal["value"]:
            known = isinstance(point, Mapping) and {*point} == {"label", "m", "n"}
            if not known or not all(_is_positive(point[key]) for key in "mn"):
                raise AccessibilityError(
                    f"measured holds {point!r}; give dicts with a label, m and n above 0."
                )
        return tuple(
            {"label": str(point["label"]), "m": float(point["m"]), "n": float(point["n"])}
            for point in proposal["value"]
        )

    @property
    def result(self) -> dict[str, Any]:
        """`compute` at the present settings, without the curves."""
        return {key: value for key, value in compute(self.settings).items() if key not in CURVES}

    def summary(self) -> str:
        """The settings and the threshold in a sentence."""
        shown = slope_of(self.settings)
        return (
            f"d = {self.d}, |V| = {self.vocab}, m = {self.m}, support: {self.support}, "
            f"precision: {shown['eps'] or self.dtype}: "
            f"ln P = {shown['log_packing']:.6g}, slope C = {shown['slope']:.6g} tokens per memory "
            f"vector, threshold n* = {shown['threshold']:.6g} tokens."
        )
