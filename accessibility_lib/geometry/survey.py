"""Table 2 for any model: r, theta and the slope of every support, over seeds and prompt lengths."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from tqdm.auto import tqdm

from accessibility_lib import artifacts, bounds
from accessibility_lib._checks import at_least
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.geometry.extremes import angle_by_count, radius_by_count
from accessibility_lib.geometry.prompts import embed, random_prompts
from accessibility_lib.supports import Ball, Box, Cone, Ellipsoid, NormEllipsoid, Support

if TYPE_CHECKING:
    from accessibility_lib.models import LoadedModel

KIND = "support-survey"
EPS = 2.0**-10  # the paper's
HALF_ANGLE, SMALLEST = "cone, half the largest angle", "smallest cone"


def sampled_supports(points: ArrayLike) -> dict[str, Support]:
    """The supports fitted to (N, d) embeddings, N >= 2, by name: each holds its sample but the
    cone by half of the largest angle, which is the paper's.

    >>> list(sampled_supports(np.eye(3) + 1))
    ['ball', 'cone, half the largest angle', 'smallest cone', 'box', 'ellipsoid']
    """
    found: tuple[Support, ...] = (Cone.fit_half_angle(points), Cone.fit(points))
    return {
        "ball": Ball.fit(points),
        HALF_ANGLE: found[0],
        SMALLEST: found[1],
        "box": Box.fit(points),
        "ellipsoid": Ellipsoid.fit(points),
    }


def certain_supports(norm: Any) -> dict[str, Support]:
    """The supports that a model's final norm (``adapter.norm``) makes certain, by name.

    >>> from accessibility_lib import models
    >>> list(certain_supports(models.load("micro-llama").adapter.norm))
    ['norm ellipsoid', 'box of the norm', 'ball of the norm']
    """
    certain = NormEllipsoid.of_norm(norm)
    return {
        "norm ellipsoid": certain,
        "box of the norm": certain.box(),
        "ball of the norm": certain.ball(),
    }


def shares_outside(supports: Mapping[str, Support], points: ArrayLike) -> dict[str, float]:
    """The share of (N, d) embeddings that each support leaves out.

    >>> shares_outside({"ball": Ball(2, 1.0)}, [[0.5, 0.5], [0.0, 2.0]])
    {'ball': 0.5}
    """
    return {name: float(1 - each.contains(points).mean()) for name, each in supports.items()}


@dataclass(frozen=True, eq=False)
class Survey:
    """Random-token prompts of a model, over seeds.

    ``lengths`` (L,): of the prompts, which share their tokens: a shorter one is the start of a
    longer one.  ``counts`` (K,): numbers of prompts, the first so many of a seed.  ``linf``
    (S, L, N): |x|_inf of each embedding.  ``angles`` (S, L, K): the largest pairwise angle among
    the first so many, in radians.  ``slopes``: by support, slope C at eps = 2^-10 of the sample of
    each seed at the last length, (S,) each; supports that are certain are the same for each.
    ``ceiling``: the l-infinity radius that the final norm makes certain.
    """

    model: str
    sha256: str
    width: int
    vocab: int
    ceiling: float
    seeds: tuple[int, ...]
    lengths: tuple[int, ...]
    counts: tuple[int, ...]
    linf: np.ndarray
    angles: np.ndarray
    slopes: dict[str, tuple[float, ...]]
    seconds: float

    @property
    def prompts(self) -> int:
        """N, prompts of each seed."""
        return self.linf.shape[2]

    @property
    def radii(self) -> np.ndarray:
        """r of the first so many prompts, (S, L, K)."""
        return radius_by_count(self.linf, self.counts)

    def row(self) -> list[Any]:
        """Of Table 2: model, d, |V|, r and theta (degrees) as mean and range over seeds, slopes."""
        r, theta = self.radii[:, -1, -1], np.degrees(self.angles[:, -1, -1])
        slopes = [float(np.mean(values)) for values in self.slopes.values()]
        return [self.model, self.width, self.vocab, spread(r), spread(theta), *slopes]

    def save(self, path: str | Path) -> None:
        """As an artifact: PATH.json and PATH.safetensors."""
        state = asdict(self)
        arrays = {name: state.pop(name) for name in ("linf", "angles")}
        artifacts.save(
            path, KIND, state, arrays, model=self.model, sha256=self.sha256, seconds=self.seconds
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """What :meth:`save` wrote; the artifact is checked."""
        found = artifacts.load(path, KIND)
        state: dict[str, Any] = {
            name: tuple(each) if isinstance(each, list) else each
            for name, each in {**found.data, **found.arrays}.items()
        }
        state["slopes"] = {name: tuple(each) for name, each in state["slopes"].items()}
        return cls(**state)


def spread(values: ArrayLike, digits: int = 2) -> str:
    """Mean and range in words.

    >>> spread([1.0, 2.0])
    '1.50 [1.00, 2.00]'
    """
    array = np.asarray(values, dtype=float)
    mean, low, high = (f"{x:.{digits}f}" for x in (array.mean(), array.min(), array.max()))
    return f"{mean} [{low}, {high}]"


def survey(
    loaded: LoadedModel,
    prompts: int,
    lengths: Sequence[int],
    seeds: Sequence[int] = (0, 1, 2),
) -> Survey:
    """r, theta and slopes of ``prompts`` random-token prompts for each seed, at each length.

    Raises :class:`AccessibilityError` for fewer than two prompts, which have no angle, for no
    seeds, and for lengths past the context.

    >>> from accessibility_lib import models
    >>> found = survey(models.load("micro-llama"), 40, [1, 4], seeds=[0])
    >>> found.radii.shape, found.counts
    ((1, 2, 4), (5, 10, 20, 40))
    """
    started = time.perf_counter()
    prompts = at_least("prompts", prompts, 2, "one prompt has no angle to another")
    lengths = tuple(sorted({at_least("length", length, 1) for length in lengths}))
    if not lengths or not seeds:
        raise AccessibilityError("give at least one length and at least one seed.")
    counts = tuple(sorted({max(2, round(prompts / 2**k)) for k in range(12) if prompts / 2**k > 4}))
    counts = counts or (prompts,)
    vocab = loaded.adapter.vocab_size
    certain = certain_supports(loaded.adapter.norm)
    linf = np.empty((len(seeds), len(lengths), prompts), dtype=np.float32)
    angles = np.empty((len(seeds), len(lengths), len(counts)))
    slopes: dict[str, list[float]] = {}
    for s, seed in enumerate(tqdm(seeds, desc=f"seeds of {loaded.name}", disable=None, delay=2)):
        generator = np.random.default_rng(at_least("seed", seed, 0))
        ids = random_prompts(loaded, prompts, lengths[-1], generator)
        points = np.concatenate([*embed(loaded, ids, lengths)])
        linf[s] = np.abs(points).max(axis=2).T
        for k in range(len(lengths)):
            angles[s, k] = angle_by_count(points[:, k], counts)
        for name, each in {**sampled_supports(points[:, -1]), **certain}.items():
            slopes.setdefault(name, []).append(bounds.slope(each.log_packing(EPS), vocab))
    return Survey(
        model=loaded.name,
        sha256=loaded.sha256,
        width=loaded.adapter.width,
        vocab=vocab,
        ceiling=certain["ball of the norm"].bounds()[1][0].item(),
        seeds=tuple(int(seed) for seed in seeds),
        lengths=lengths,
        counts=counts,
        linf=linf,
        angles=angles,
        slopes={name: tuple(each) for name, each in slopes.items()},
        seconds=round(time.perf_counter() - started, 1),
    )


def stored(name: str, folder: str | Path = "results/support") -> Survey | None:
    """The stored survey ``name``, from ``folder`` here or one folder up; None where there is none.

    >>> stored("no-such-model") is None
    True
    """
    path = artifacts.home(folder) / name
    return Survey.load(path) if path.with_name(f"{name}.json").is_file() else None


def report(loaded: LoadedModel, prompts: int, length: int, seed: int) -> dict[str, Any]:
    """What ``accessibility support`` prints: radii, angles and supports of one sample.

    >>> from accessibility_lib import models
    >>> found = report(models.load("micro-llama"), 20, 4, 0)
    >>> found["prompts"], [row["support"] for row in found["supports"]][:2]
    (20, ['ball', 'cone, half the largest angle'])
    """
    from accessibility_lib.geometry.statistics import summarize

    prompts = at_least("prompts", prompts, 2, "one prompt has no angle to another")
    generator = np.random.default_rng(at_least("seed", seed, 0))
    points = np.concatenate([*embed(loaded, random_prompts(loaded, prompts, length, generator))])
    whole = summarize([points])
    fitted = sampled_supports(points)
    both = {**fitted, **certain_supports(loaded.adapter.norm)}
    cones = {name: each for name, each in fitted.items() if isinstance(each, Cone)}
    return {
        "model": loaded.name,
        "sha256": loaded.sha256,
        "prompts": prompts,
        "length": length,
        "seed": seed,
        "eps": EPS,
        "radius": {norm: whole.radius(norm) for norm in ("l1", "l2", "linf")},
        "largest_angle_degrees": float(np.degrees(2 * cones[HALF_ANGLE].half_angle)),
        "smallest_cone_degrees": float(np.degrees(cones[SMALLEST].half_angle)),
        "supports": [
            {
                "support": name,
                "slope": bounds.slope(each.log_packing(EPS), loaded.adapter.vocab_size),
                "from": "weights" if each.fitted_to is None else "sample",
                "inside": float(each.contains(points).mean()),
                "heuristic": each.heuristic,
            }
            for name, each in both.items()
        ],
    }
