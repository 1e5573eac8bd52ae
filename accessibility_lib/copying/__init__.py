"""Copying: train a model on x | x up to a length, and see from which length on it fails.

:class:`CopyConfig` holds every number; :func:`train` and :func:`evaluate` take a model of any kind,
and :func:`new` makes small ones that differ in how they know a position.
"""

from accessibility_lib.copying.config import CopyConfig
from accessibility_lib.copying.data import Alphabet, Strings, choose, draw
from accessibility_lib.copying.evaluate import Copied, evaluate, greedy, teacher_forced
from accessibility_lib.copying.scratch import POSITIONS, new
from accessibility_lib.copying.train import Trained, train

__all__ = [
    "POSITIONS",
    "Alphabet",
    "Copied",
    "CopyConfig",
    "Strings",
    "Trained",
    "choose",
    "draw",
    "evaluate",
    "greedy",
    "new",
    "teacher_forced",
    "train",
]
