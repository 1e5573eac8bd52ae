"""Train a model to copy: resumable, and the same weights every time with one thread.

Every batch is drawn from a generator seeded by (seed, step), so a run that goes on from a
checkpoint sees what the unbroken run would have seen.
"""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm.auto import tqdm

from accessibility_lib.copying.config import CopyConfig
from accessibility_lib.copying.data import choose, draw_law
from accessibility_lib.copying.evaluate import teacher_forced
from accessibility_lib.copying.scratch import wrap
from accessibility_lib.cramming.checkpoint import Checkpoint
from accessibility_lib.micro import scan
from accessibility_lib.models import LoadedModel


@dataclass(frozen=True, eq=False)
class Trained:
    """A model after training.

    ``history``: one row (step, longest length in training, loss of that step in nats per letter,
    share of new strings of the whole length law copied exactly) for each check.  ``reached``: the
    last check met ``config.accuracy``.  ``seconds``: of computing, over all sessions.
    """

    loaded: LoadedModel
    config: CopyConfig
    history: tuple[tuple[int, int, float, float], ...]
    reached: bool
    seconds: float

    @property
    def steps(self) -> int:
        """Steps taken."""
        return self.history[-1][0] if self.history else 0


def learning_rate(config: CopyConfig, step: int) -> float:
    """Linear warm-up, constant, then linear to a twentieth over the last share ``decay``.

    >>> [learning_rate(CopyConfig(lr=1.0, warmup=2, steps=8, decay=0.5), s) for s in (0, 1, 4, 6)]
    [0.5, 1.0, 1.0, 0.5]
    """
    rise = (step + 1) / max(1, config.warmup)
    fall = (config.steps - step) / max(1e-9, config.decay * config.steps)
    return config.lr * min(1.0, rise, max(0.05, fall))


def train(
    loaded: LoadedModel,
    config: CopyConfig,
    *,
    checkpoint: str | Path | None = None,
    every: int = 100,
    until: int | None = None,
    progress: bool | None = None,
) -> Trained:
    """Train all weights of a copy of ``loaded`` to copy strings; ``loaded`` stays as it is.

    ``checkpoint``: a file that is replaced every ``every`` steps and gone on from where it exists.
    ``until``: stop after so many steps all the same.  ``progress``: show a bar; None: on a
    terminal.  With one thread the weights are the same bit for bit, broken or not.

    Raises :class:`AccessibilityError` where the vocabulary or the context of the model is too
    small, and for a checkpoint of something else.
    """
    alphabet = choose(loaded, config)
    model: Any = copy.deepcopy(loaded.model).float().eval().requires_grad_()  # eval: no dropout
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.lr, betas=config.betas, weight_decay=config.weight_decay,
        fused=True,  # half again as many steps a second where the model is small
    )  # fmt: skip
    identity = hashlib.sha256(json.dumps([loaded.sha256, asdict(config)]).encode()).hexdigest()
    kept = Checkpoint(checkpoint, identity)
    state: dict[str, Any] = {"step": 0, "longest": config.shortest, "history": [], "seconds": 0.0}
    if config.pace >= 1:
        state["longest"] = config.longest
    if kept and (found := kept.read()):
        _restore(model, optimizer, found[0])
        state = found[1]
    started, before = time.monotonic(), state["seconds"]
    end = config.steps if until is None else min(until, config.steps)
    bar = tqdm(
        total=end, initial=state["step"], desc=loaded.name,
        disable=None if progress is None else not progress,
    )  # fmt: skip
    with bar, scan.trainable():
        while state["step"] < end and not _reached(config, state["history"]):
            step = state["step"]
            generator = np.random.default_rng([config.seed, 0, step])
            strings = draw_law(alphabet, config, config.batch, state["longest"], generator)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(config, step)
            scored = strings.copied[:, 1:]
            logits = model(input_ids=strings.tokens[:, :-1], use_cache=False).logits[scored]
            letters = strings.tokens[:, 1:][scored]
            loss = F.cross_entropy(logits, letters)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
            optimizer.step()
            right = float((logits.detach().argmax(-1) == letters).float().mean())
            if right >= config.pace and state["longest"] < config.longest:
                state["longest"] += 1
            state["step"] = step + 1
            if state["step"] % config.check_every == 0 or state["step"] == config.steps:
                generator = np.random.default_rng([config.seed, 1, step])
                fresh = draw_law(alphabet, config, config.check_strings, config.longest, generator)
                exact = float(teacher_forced(model, fresh).exact.mean())
                state["history"].append([state["step"], state["longest"], loss.item(), exact])
                bar.set_postfix(longest=state["longest"], exact=exact, refresh=False)
            bar.update()
            state["seconds"] = before + time.monotonic() - started
            done = state["step"] == end or _reached(config, state["history"])
            if kept and (state["step"] % every == 0 or done):
                kept.write((dict(_tensors(model, optimizer)), state))
    history = tuple((int(s), int(n), float(x), float(y)) for s, n, x, y in state["history"])
    trained = wrap(loaded.name, model.requires_grad_(False), loaded.tokenizer)
    return Trained(trained, config, history, _reached(config, state["history"]), state["seconds"])


def _reached(config: CopyConfig, history: list) -> bool:
    return bool(history) and history[-1][-1] >= config.accuracy


def _tensors(model: Any, optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, Tensor]]:
    for name, parameter in model.named_parameters():
        yield f"weight/{name}", parameter.detach()
        for kind, tensor in optimizer.state[parameter].items():
            yield f"{kind}/{name}", tensor


def _restore(model: Any, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for entry, tensor in tensors.items():
        kind, name = entry.split("/", 1)
        if kind == "weight":
            parameters[name].data.copy_(tensor)
        else:
            optimizer.state[parameters[name]][kind] = tensor
