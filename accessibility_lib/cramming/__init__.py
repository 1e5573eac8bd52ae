"""Cramming: how long a target can a few memory vectors make a model give?

:func:`cram` searches memory vectors for whole targets, :func:`horizon` the longest prefix of each.
Success is teacher-forced with exact logits; :mod:`accessibility_lib.cramming.verify` asks for more.
A failure says what one optimiser did not find within its budget, so every n50 is a lower bound.
"""

from accessibility_lib.cramming.config import PUBLISHED, Config, Outcome, Result
from accessibility_lib.cramming.engine import cram, horizon
from accessibility_lib.cramming.objective import Check, teacher_forced
from accessibility_lib.cramming.sweep import Cell, curve, sweep
from accessibility_lib.cramming.verify import prefixes

__all__ = [
    "PUBLISHED",
    "Cell",
    "Check",
    "Config",
    "Outcome",
    "Result",
    "cram",
    "curve",
    "horizon",
    "prefixes",
    "sweep",
    "teacher_forced",
]
