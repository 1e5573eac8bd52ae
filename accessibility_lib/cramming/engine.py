"""The engine: many targets, lengths and restarts in one batch of memory vectors.

Every row of the batch is one run: a target, a restart, a goal (how much of the target it must give)
and AdamW moments of its own.  Rows leave when their goal is reached and confirmed, or their steps
are used up, and rows that wait take their place.  Right padding needs no mask in a causal model.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm.auto import tqdm

from accessibility_lib._checks import at_least
from accessibility_lib.cramming.checkpoint import Checkpoint, fingerprint
from accessibility_lib.cramming.config import Config, Result, check_targets
from accessibility_lib.cramming.run import Run
from accessibility_lib.models import LoadedModel


def cram(
    loaded: LoadedModel,
    targets: Sequence[Any] | Tensor,
    m: int,
    config: Config,
    generator: torch.Generator,
    *,
    checkpoint: str | Path | None = None,
    every: float = 60.0,
    limit: float | None = None,
    progress: bool | None = None,
) -> Result:
    """Search ``m`` memory vectors for each target such that the model gives the whole target.

    ``targets``: rows of token ids, of any lengths.  ``generator``: a CPU generator, from which the
    start of every run is drawn first, so that a run does not depend on its company (up to the
    rounding of batched products).  ``checkpoint``: a file that is written every ``every`` seconds
    and gone on from where it exists; a kill loses at most that time.  ``limit``: stop after so many
    seconds with what there is, a result that is not ``complete``; the same call with the checkpoint
    goes on from there.  ``progress``: show a bar; None: where the output is a terminal or a
    notebook.

    Raises :class:`AccessibilityError` for empty targets, tokens out of range, m below 1, targets
    longer than the context, and a checkpoint of something else.

    >>> from accessibility_lib import models
    >>> loaded = models.load("micro-llama")
    >>> result = cram(loaded, [[72, 73]], 1, Config(), torch.Generator().manual_seed(0))
    >>> result.outcomes[0].success, result.memory.shape
    (True, torch.Size([1, 1, 128]))
    """
    m = at_least("m", m, 1, "a prompt has at least one memory vector")
    adapter = loaded.adapter
    positions = getattr(loaded.model.config, "max_position_embeddings", None)
    rows = check_targets(targets, adapter.vocab_size, positions, m)
    seeds = torch.randint(1 << 62, (len(rows), config.restarts), generator=generator)
    run = Run(loaded, rows, m, config, seeds)
    kept = Checkpoint(checkpoint, fingerprint(loaded, rows, m, config, seeds))
    run.restore(kept.read())
    started = saved = shown = time.monotonic()
    before = run.seconds
    bar = tqdm(
        total=len(rows),
        initial=len(run.done),
        desc=f"{loaded.name}, m = {m}",
        disable=None if progress is None else not progress,
    )
    with bar:
        while run.step():
            now = time.monotonic()
            run.seconds = before + now - started
            bar.n = len(run.done)
            if now - shown > 2:
                bar.set_postfix(reached=run.successes(), n50=run.n50(), refresh=False)
                shown = now
            bar.update(0)
            if kept and now - saved >= every:
                kept.write(run.state())
                saved = now
            if limit is not None and now - started >= limit:
                break
    run.seconds = before + time.monotonic() - started
    if kept:
        kept.write(run.state())
    return run.result()


def horizon(
    loaded: LoadedModel,
    targets: Sequence[Any] | Tensor,
    m: int,
    config: Config,
    generator: torch.Generator,
    **options: Any,
) -> Result:
    """The longest prefix of each target that ``m`` memory vectors could be made to give.

    :func:`cram` with a goal that grows, by one token where ``config.growth`` is None.  Give targets
    longer than any memory can reach; ``Outcome.reached`` is the answer.

    >>> from accessibility_lib import models
    >>> loaded = models.load("micro-llama")
    >>> config = Config(steps=5, restarts=1)
    >>> result = horizon(loaded, [[72, 73, 9]], 1, config, torch.Generator().manual_seed(0))
    >>> 0 <= result.outcomes[0].reached <= 3
    True
    """
    config = replace(config, growth=config.growth or 1)
    return cram(loaded, targets, m, config, generator, **options)
