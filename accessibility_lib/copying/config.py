"""Every number that a copying experiment depends on, in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise

from accessibility_lib._checks import adamw, at_least, positive
from accessibility_lib.errors import AccessibilityError


@dataclass(frozen=True)
class CopyConfig:
    """Full training on x | x: every weight moves, and only the second x is scored.

    **Strings.** ``alphabet`` letters and a separator; letters are independent and uniform.  The
    length law: uniform on ``shortest`` .. ``longest``, each string by itself.  Where ``pace`` is
    below 1 the longest length starts at ``shortest`` and grows by one whenever a step gives at
    least the share ``pace`` of its letters; with 1 the law is the whole one from the start.

    **Optimiser.** AdamW at ``lr``, after a linear ``warmup`` of so many steps; over the last share
    ``decay`` of the steps the rate falls linearly to a twentieth.  ``weight_decay``, ``betas`` and
    the largest norm of a gradient, ``clip``, as in torch.  Float32, no dropout.

    **Stop.** Every ``check_every`` steps ``check_strings`` new strings of the whole length law are
    copied; training stops when the share copied exactly is at least ``accuracy``, and after
    ``steps`` steps at the latest.

    **Evaluation.** At each of ``lengths``, ``strings`` new strings.

    **New models** have ``layers`` blocks of ``width`` with ``heads`` heads; a model that is loaded
    keeps its own.  ``seed`` draws the weights of a new model and all strings.

    >>> CopyConfig(longest=20, lengths=(10, 20, 30)).context
    61
    """

    alphabet: int = 26
    shortest: int = 5
    longest: int = 50
    pace: float = 0.7
    batch: int = 16
    steps: int = 3000
    lr: float = 3e-3
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.01
    warmup: int = 50
    decay: float = 0.6
    clip: float = 1.0
    check_every: int = 100
    check_strings: int = 128
    accuracy: float = 1.0
    lengths: tuple[int, ...] = tuple(range(5, 205, 5))
    strings: int = 32
    width: int = 64
    layers: int = 3
    heads: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        at_least("alphabet", self.alphabet, 2, "one letter has one string of each length")
        for name in ("shortest", "batch", "steps", "check_every", "check_strings", "strings"):
            at_least(name, getattr(self, name), 1)
        for name in ("layers", "heads"):
            at_least(name, getattr(self, name), 1)
        if at_least("width", self.width, 1) % (2 * self.heads):
            raise AccessibilityError(
                f"width = {self.width} is no multiple of 2 · heads = {2 * self.heads}; a rotation "
                "needs pairs."
            )
        for name in ("warmup", "seed"):
            at_least(name, getattr(self, name), 0)
        at_least("longest", self.longest, self.shortest, f"shortest is {self.shortest}")
        for name in ("lr", "clip"):
            positive(name, getattr(self, name))
        for name in ("pace", "accuracy", "decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise AccessibilityError(f"{name} = {getattr(self, name)!r}; give a share, 0 to 1.")
        adamw(self.weight_decay, self.betas)
        lengths = [at_least("a length", n, 1) for n in self.lengths]
        if not lengths or any(b <= a for a, b in pairwise(lengths)):
            raise AccessibilityError(
                f"lengths = {self.lengths} are out of order; give at least one, each above the one "
                "before it."
            )

    @property
    def context(self) -> int:
        """Positions that the longest string takes, 2n + 1: x, the separator, x."""
        return 2 * max(self.longest, *self.lengths) + 1

    def rows(self) -> list[tuple[str, str]]:
        """Every hyper-parameter and its value, as text, in the order of the class."""
        found = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "lengths" and len(value) > 6:
                value = f"{value[0]}, {value[1]}, … {value[-1]} ({len(value)} lengths)"
            found.append((field.name, str(value)))
        return found
