"""What a copying run left: curves, fits, and whether the fall is a cliff."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import stats

from accessibility_lib import artifacts, fits
from accessibility_lib.copying.config import CopyConfig
from accessibility_lib.errors import AccessibilityError

KIND = "copying"
CLIFF = 0.25  # fixed before any run was evaluated
WEAK = 0.9


@dataclass(frozen=True, eq=False)
class CopyResult:
    """One trained model at ``config.lengths``: strings copied ``exact`` of ``config.strings`` and
    the share of ``letters`` right after the true ones, both (k,).

    ``history``, ``reached`` and ``seconds`` as in :class:`accessibility_lib.copying.Trained`;
    ``sha256`` of the weights after training, ``start`` before.  ``radius``: of the smallest
    l-infinity ball about 0 that holds every last-layer embedding, from the final norm; ``width``
    and ``vocab`` of the model.  ``weights``: name -> array, where they were kept.
    """

    name: str
    config: CopyConfig
    exact: np.ndarray
    letters: np.ndarray
    history: tuple[tuple[int, int, float, float], ...]
    reached: bool
    seconds: float
    width: int
    vocab: int
    radius: float
    parameters: int
    start: str
    sha256: str
    weights: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Steps taken in training."""
        return self.history[-1][0]

    def curve(self, confidence: float = 0.95) -> fits.Curve:
        """The logistic fit of exact copies over the length: every length has strings of its own.

        Lengths below ``config.shortest`` are left out: they are as new to the model as those above
        ``config.longest``, and this is the curve of the fall at that end.
        """
        return fits.fit_curve(*fitted([self]), confidence)

    def save(self, path: str | Path) -> None:
        """Write ``path``.json, and ``path``.safetensors where there are weights."""
        names = ("history", "reached", "width", "vocab", "radius", "parameters", "start")
        data = {name: getattr(self, name) for name in names}
        data |= {"exact": self.exact.tolist(), "letters": self.letters.tolist()}
        artifacts.save(
            path, KIND, data, self.weights or None, model=self.name, sha256=self.sha256,
            config=self.config, seed=self.config.seed, seconds=self.seconds,
            complete=self.reached or self.steps == self.config.steps,
        )  # fmt: skip

    @classmethod
    def load(cls, path: str | Path) -> CopyResult:
        """Read what :meth:`save` wrote; errors of :func:`accessibility_lib.artifacts.load`."""
        found = artifacts.load(path, KIND)
        data, kept = dict(found.data), dict(found.provenance["config"])
        for key in ("lengths", "betas"):
            kept[key] = tuple(kept[key])
        for key in ("exact", "letters"):
            data[key] = np.array(data[key])
        data["history"] = tuple(tuple(row) for row in data["history"])
        return cls(
            name=found.provenance["model"],
            config=CopyConfig(**kept),
            seconds=found.provenance["seconds"],
            sha256=found.provenance["sha256"],
            weights=dict(found.arrays),
            **data,
        )


def fitted(runs: Sequence[CopyResult]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(lengths, exact, strings), each (k,), added up over runs that differ in the seed alone; from
    ``config.shortest`` on."""
    config = runs[0].config
    n, exact = np.array(config.lengths), np.sum([run.exact for run in runs], axis=0)
    strings = np.full(len(n), sum(run.config.strings for run in runs))
    kept = n >= config.shortest
    return n[kept], exact[kept], strings[kept]


@dataclass(frozen=True)
class Fall:
    """How a curve falls: ``width``, the tokens from 90 % to 10 %, and its ``ratio`` to n50.

    ``verdict``: "cliff" where the ratio is at most a quarter, else "slope", "no fall" where there
    is no n50.  ``weak``: R^2 is below 0.9, so the logistic curve is no good summary.
    """

    width: float
    ratio: float
    verdict: str
    weak: bool


def fall(curve: fits.Curve) -> Fall:
    """The rule, fixed beforehand: 2 ln 9 scale / n50 <= 1/4 is a cliff.

    >>> fall(fits.fit_curve([10, 20, 30], [20, 20, 0], [20] * 3)).verdict
    'cliff'
    >>> fall(fits.fit_curve([10, 20, 30, 40], [18, 12, 8, 2], [20] * 4)).verdict
    'slope'
    """
    width = 2 * math.log(9) * curve.scale
    weak = not curve.r2 >= WEAK
    if not curve.n50 > 0:
        return Fall(width, math.nan, "no fall", weak)
    return Fall(width, width / curve.n50, "cliff" if width <= CLIFF * curve.n50 else "slope", weak)


def over_seeds(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """(mean, low, high) of runs that differ in the seed alone: Student's t interval of the mean.

    NaN ends for one run.

    >>> [round(x, 2) for x in over_seeds([9.0, 10.0, 11.0])]
    [10.0, 7.52, 12.48]
    """
    runs = np.asarray(values, dtype=float)
    if not runs.size:
        raise AccessibilityError("no runs to average; give the n50 of at least one.")
    if len(runs) < 2:
        return float(runs.mean()), math.nan, math.nan
    half = stats.t.ppf((1 + confidence) / 2, len(runs) - 1) * runs.std(ddof=1) / len(runs) ** 0.5
    return float(runs.mean()), float(runs.mean() - half), float(runs.mean() + half)
