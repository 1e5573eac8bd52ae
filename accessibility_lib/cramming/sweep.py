"""Curves of one model over kinds of targets and numbers of memory vectors, one file for each."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from accessibility_lib import fits, targets
from accessibility_lib._checks import at_least
from accessibility_lib.cramming.config import Config, Result
from accessibility_lib.cramming.engine import cram
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import LoadedModel


@dataclass(frozen=True)
class Cell:
    """One curve: targets of ``kind``, ``m`` memory vectors, and where its result is kept."""

    kind: str
    m: int
    curve: fits.Curve
    path: Path


def curve(result: Result, confidence: float = 0.95) -> fits.Curve:
    """The accessibility curve of a result.

    Where goals grow, every target counts with the prefix it reached and the goal it failed; else
    with success or failure at its length.  Targets whose time was up count with what they reached.
    """
    growth = result.config.growth
    if growth is None:
        return fits.fit_curve(*result.counts(), confidence)
    reached = np.array([o.reached for o in result.outcomes])
    unlimited = np.array([o.status in ("reached", "unfinished") for o in result.outcomes])
    return fits.fit_horizons(reached, np.where(unlimited, np.inf, reached + growth), confidence)


def sweep(
    loaded: LoadedModel,
    kinds: Sequence[str],
    ms: Sequence[int],
    config: Config,
    out: str | Path,
    *,
    count: int = 16,
    lengths: Sequence[int] = (64,),
    seed: int = 0,
    documents: targets.Documents | None = None,
    every: float = 60.0,
    limit: float | None = None,
    progress: bool | None = None,
) -> list[Cell]:
    """Run every kind of target with every m; files that are there already are read, not run again.

    ``count`` targets of each of the ``lengths``: with growing goals one length is enough, longer
    than any memory can reach; whole targets need a grid.  The targets of a kind are the same for
    every m.  Results go to ``out``/model/kind-m, with a checkpoint beside them while they run.
    ``limit``: stop after so many seconds in all; what ran then is kept as a partial result, which
    the same call completes; curves without a success yet are left out.
    """
    end = math.inf if limit is None else time.monotonic() + limit
    count = at_least("count", count, 1)
    cells = []
    for kind in kinds:
        draw = np.random.default_rng([seed, targets.KINDS.index(kind)])
        rows = [
            row
            for n in lengths
            for row in targets.make(kind, loaded, n, count, draw, documents).tolist()
        ]
        for m in ms:
            path = Path(out) / Path(loaded.name).name / f"{kind}-m{m}"
            generator = torch.Generator().manual_seed(seed)
            checkpoint = path.with_suffix(".checkpoint")
            note = {"kind": kind, "seed": seed}
            result = Result.load(path) if path.with_suffix(".json").is_file() else None
            if result:
                asked = ([tuple(row) for row in rows], config, loaded.sha256, note)
                kept = ([o.target for o in result.outcomes], result.config, result.sha256)
                if (*kept, result.note) != asked:
                    raise AccessibilityError(
                        f"{path}.json is of other targets, another configuration or model; give "
                        "another folder, or delete it to run again."
                    )
            if result is None or not result.complete:
                left = end - time.monotonic()
                if left <= 0:
                    continue
                result = cram(
                    loaded, rows, m, config, generator, checkpoint=checkpoint, every=every,
                    limit=None if limit is None else left, progress=progress,
                )  # fmt: skip
                result = replace(result, note=note)
                result.save(path)
                if result.complete:
                    checkpoint.unlink()
            if result.complete or any(o.reached for o in result.outcomes):
                cells.append(Cell(kind, m, curve(result), path))
    return cells
