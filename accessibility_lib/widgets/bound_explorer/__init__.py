"""The bound explorer: Theorem 4.5 and Corollary 4.6, moved by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import traitlets

from accessibility_lib import bounds
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports import Ball
from accessibility_lib.widgets.bound_explorer.presets import PRESETS
from accessibility_lib.widgets.host import (
    FOLDER,
    Choice,
    Explorer,
    Scale,
    Setting,
    Switch,
    decades,
    octaves,
    text_of,
    whole,
)

__all__ = ["FIELDS", "PRESETS", "BoundExplorer", "compute"]

DEFAULT = "pythia-1b"
OF_PRESET = ("d", "r", "eps", "vocab")

FIELDS: dict[str, Scale | Choice | Switch] = {
    "preset": Choice(
        "Model",
        "published width, radius and vocabulary",
        (("", "your own numbers"), *((key, preset["label"]) for key, preset in PRESETS.items())),
    ),
    "m": Scale(
        "m", "memory vectors in the prompt", 1, 1e6, tuple(map(float, range(1, 65))), whole=True
    ),
    "d": Scale("d", "width of the embedding", 1, 1e6, whole(octaves(0, 14, 8)), whole=True),
    "r": Scale("r", "radius: no |xᵢ| is larger", 1e-9, 1e9, decades(-3, 6)),
    "eps": Scale("ε", "precision of a coordinate", 2.0**-60, 1e6, octaves(-30, 6)),
    "vocab": Scale("|V|", "tokens in the vocabulary", 2, 1e9, whole(octaves(1, 20, 8)), whole=True),
    "scale": Choice("Vertical axis", "", (("log", "log₁₀"), ("linear", "linear"))),
    "hard": Switch("hard prompts too", "prompts of m tokens: there are only |V|ᵐ"),
}


def compute(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the explorer shows for ``settings``; its ES module exports the same function.

    Parameters
    ----------
    settings
        d, r, eps, vocab, m, and ``lengths``, the target lengths (tokens) of the two curves.

    Returns
    -------
    dict
        ``log_packing``, ln of the packing number (Theorem 4.5); ``slope`` C in tokens per memory
        vector and ``threshold`` n* in tokens (Corollary 4.6); ``log10_fraction`` and
        ``log10_hard_fraction``, log10 of the largest accessible fraction at each length, for memory
        vectors and for prompts of m tokens.

    Raises
    ------
    AccessibilityError
        If a number is not positive and finite, or |V| is below 2.

    >>> shown = compute(dict(d=768, r=63.62, eps=2**-10, vocab=50304, m=2, lengths=[0, 2000]))
    >>> round(shown["threshold"], 1), [round(x) for x in shown["log10_fraction"]]
    (1671.0, [0, -1547])
    """
    vocab, m = settings["vocab"], settings["m"]
    log_packing = Ball(d=settings["d"], r=settings["r"]).log_packing(settings["eps"])
    lengths = list(settings.get("lengths", ()))
    fraction = bounds.log_accessible_fraction(log_packing, vocab, m, lengths)
    hard = bounds.log_hard_prompt_fraction(vocab, m, lengths)
    return {
        "log_packing": log_packing,
        "slope": bounds.slope(log_packing, vocab),
        "threshold": bounds.threshold(log_packing, vocab, m),
        "log10_fraction": (np.asarray(fraction) / math.log(10)).tolist(),
        "log10_hard_fraction": (np.asarray(hard) / math.log(10)).tolist(),
    }


class BoundExplorer(Explorer):
    """How many tokens m memory vectors can possibly reach, for the l-infinity ball.

    Parameters
    ----------
    name
        Names the explorer within a page; becomes the id of its place.
    preset
        One of `PRESETS`; sets d, r, eps and vocab, unless they are given too.
    d, r, eps, vocab, m
        Width, radius, precision, vocabulary size, number of memory vectors.
    scale
        "log" or "linear": the vertical axis.
    hard
        Draw the bound for prompts of m tokens too.
    controls
        What the reader can set, in this order; all by default.

    Raises
    ------
    AccessibilityError
        If a value is outside the limits of `FIELDS` or not known.

    >>> explorer = BoundExplorer(name="intro", preset="pythia-1b", controls=("preset", "m"))
    >>> explorer.d, round(explorer.result["slope"], 1)
    (2048, 2234.1)
    """

    _esm = text_of(
        FOLDER / "host.js",
        FOLDER / "bound_explorer" / "numbers.js",
        FOLDER / "bound_explorer" / "explorer.js",
    )
    _css = text_of(FOLDER / "host.css")

    fields = FIELDS
    presets = traitlets.Dict(PRESETS).tag(sync=True, setting=True)
    preset = Setting(FIELDS["preset"], DEFAULT)
    d = Setting(FIELDS["d"], PRESETS[DEFAULT]["d"])
    r = Setting(FIELDS["r"], PRESETS[DEFAULT]["r"])
    eps = Setting(FIELDS["eps"], PRESETS[DEFAULT]["eps"])
    vocab = Setting(FIELDS["vocab"], PRESETS[DEFAULT]["vocab"])
    m = Setting(FIELDS["m"], 1)
    scale = Setting(FIELDS["scale"], "log")
    hard = Setting(FIELDS["hard"], False)

    def __init__(self, **settings: Any) -> None:
        if "presets" in settings:
            raise AccessibilityError("presets are published; give d, r, eps and vocab instead.")
        preset = PRESETS.get(settings.get("preset") or DEFAULT, {})
        numbers = {key: preset[key] for key in OF_PRESET if preset}
        filled = {"name": "bounds", "controls": tuple(FIELDS), **numbers, **settings}
        if any(filled[key] != number for key, number in numbers.items()):
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

    @property
    def result(self) -> dict[str, Any]:
        """`compute` at the present settings, without the curves."""
        shown = compute(self.settings)
        return {key: shown[key] for key in ("log_packing", "slope", "threshold")}

    def summary(self) -> str:
        """The settings and the threshold in a sentence."""
        shown = self.result
        return (
            f"d = {self.d}, r = {self.r:g}, ε = {self.eps:g}, |V| = {self.vocab}, m = {self.m}: "
            f"ln P = {shown['log_packing']:.6g}, slope C = {shown['slope']:.6g} tokens per memory "
            f"vector, threshold n* = {shown['threshold']:.6g} tokens."
        )
