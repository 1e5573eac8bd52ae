"""Runs by name, one file each; and what the trained models do with a string they cannot copy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from accessibility_lib import artifacts, models
from accessibility_lib._checks import at_least
from accessibility_lib.copying.config import CopyConfig
from accessibility_lib.copying.data import choose, draw
from accessibility_lib.copying.evaluate import evaluate, teacher_forced
from accessibility_lib.copying.results import KIND, CopyResult
from accessibility_lib.copying.scratch import POSITIONS, new, wrap
from accessibility_lib.copying.train import train
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import LoadedModel
from accessibility_lib.supports import NormEllipsoid


def start(name: str, config: CopyConfig) -> LoadedModel:
    """The model before training: a new one where ``name`` is one of the positions, else the known
    model of that name.

    >>> start("alibi", CopyConfig()).name, start("micro-llama", CopyConfig()).name
    ('alibi', 'micro-llama')
    """
    return new(name, config) if name in POSITIONS else models.load(name)


def path_of(name: str, config: CopyConfig, out: str | Path) -> Path:
    """Where :func:`run` keeps a result, without the ending.

    >>> path_of("rotary", CopyConfig(seed=2), "results").as_posix()
    'results/rotary-to50-seed2'
    """
    return Path(out) / f"{Path(name).name}-to{config.longest}-seed{config.seed}"


def run(
    name: str,
    config: CopyConfig,
    out: str | Path,
    *,
    work: str | Path | None = None,
    weights: bool = False,
    every: int = 100,
    progress: bool | None = None,
) -> CopyResult:
    """Train and evaluate one model, or read the result that is there already.

    ``work`` keeps the checkpoint (default: ``out``), which goes when the result is written.
    ``weights``: keep the trained weights with the result.

    Raises :class:`AccessibilityError` where the result that is there has another configuration.
    """
    path = path_of(name, config, out)
    if path.with_suffix(".json").is_file():
        result = CopyResult.load(path)
        if result.config != config:
            raise AccessibilityError(
                f"{path}.json has another configuration; give another folder, or delete it."
            )
        return result
    loaded = start(name, config)
    checkpoint = path_of(name, config, work or out).with_suffix(".checkpoint")
    trained = train(loaded, config, checkpoint=checkpoint, every=every, progress=progress)
    after = trained.loaded
    _, exact, _, letters = evaluate(after.model, choose(after, config), config).by_length()
    named = {key: p.detach().numpy().copy() for key, p in after.model.named_parameters()}
    result = CopyResult(
        name=loaded.name,
        config=config,
        exact=exact,
        letters=letters,
        history=trained.history,
        reached=trained.reached,
        seconds=trained.seconds,
        width=after.adapter.width,
        vocab=after.adapter.vocab_size,
        radius=NormEllipsoid.of_norm(after.adapter.norm).ball().r,
        parameters=sum(p.size for p in named.values()),
        start=loaded.sha256,
        sha256=after.sha256,
        weights=named if weights else {},
    )
    result.save(path)
    checkpoint.unlink()
    return result


def restore(result: CopyResult) -> LoadedModel:
    """The trained model of a result that kept its weights.

    Raises :class:`AccessibilityError` where it did not, or they are not the ones it was evaluated
    with.
    """
    if not result.weights:
        raise AccessibilityError(
            f"the result of {result.name} kept no weights; run it again with weights."
        )
    model = start(result.name, result.config).model
    for key, parameter in model.named_parameters():
        parameter.data.copy_(torch.from_numpy(result.weights[key].copy()))
    loaded = wrap(result.name, model)
    if loaded.sha256 != result.sha256:
        raise AccessibilityError(
            f"the weights of {result.name} are not those with sha256 {result.sha256[:12]}; restore "
            "the file from version control."
        )
    return loaded


def failures(
    loaded: LoadedModel, config: CopyConfig, n: int, count: int, generator: np.random.Generator
) -> Tensor:
    """``count`` strings (count, n) that the model does not copy.

    Raises :class:`AccessibilityError` where so few of 16 count strings fail.
    """
    count = at_least("count", count, 1)
    strings = draw(choose(loaded, config), [at_least("n", n, 1)] * 16 * count, generator)
    failed = np.flatnonzero(~teacher_forced(loaded.model, strings).exact)
    if len(failed) < count:
        raise AccessibilityError(
            f"{loaded.name} failed {len(failed)} of {16 * count} strings of n = {n}, fewer than "
            f"count = {count}; take longer ones."
        )
    return strings.tokens[failed[:count], :n]


def stored(folder: str | Path = "results/copying") -> list[CopyResult]:
    """The stored results in ``folder`` here or one folder up, sorted by name, longest and seed.

    >>> stored("no/such/folder")
    []
    """
    found = [CopyResult.load(path) for path in artifacts.find(artifacts.home(folder), KIND)]
    return sorted(found, key=lambda run: (run.name, run.config.longest, run.config.seed))
