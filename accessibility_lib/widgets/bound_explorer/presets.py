"""The seven published models as starting points."""

from __future__ import annotations

import math
from typing import Any

EPS = 2.0**-10  # what Table 1's ball row was computed with

# Label, d, |V|, r of Table 2, measured slope, published ratio of the ball row of Table 1.
_ROWS: dict[str, tuple[str, int, int, float | None, float, float]] = {
    "pythia-160m": ("Pythia-160M", 768, 50304, 63.62, 90.4, 9.24),
    "pythia-410m": ("Pythia-410M", 1024, 50304, 54.90, 112.4, 9.79),
    "pythia-1b": ("Pythia-1B", 2048, 50304, 65.68, 287.4, 7.77),
    "qwen2.5-0.5b": ("Qwen2.5-0.5B", 896, 151936, 309.00, 71.0, 14.1),
    "qwen2.5-1.5b": ("Qwen2.5-1.5B", 1536, 151936, 153.62, 79.6, 20.4),
    "llama-3.2-1b": ("Llama-3.2-1B", 2048, 128256, None, 137.8, 14.3),
    "gemma-3-270m": ("Gemma-3-270M", 640, 262144, None, 44.54, 11.52),
}


def _preset(
    label: str, d: int, vocab: int, r: float | None, slope: float, ratio: float
) -> dict[str, Any]:
    note = "Radius: Table 2."
    if r is None:
        r = float(f"{EPS / 2 * math.expm1(ratio * slope * math.log(vocab) / d):.3g}")
        note = "Radius: the one that Table 1 implies."
    return dict(label=label, d=d, r=r, eps=EPS, vocab=vocab, slope=slope, note=note)


PRESETS: dict[str, dict[str, Any]] = {key: _preset(*row) for key, row in _ROWS.items()}
