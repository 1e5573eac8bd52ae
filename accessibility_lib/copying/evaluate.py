"""How much of a string a model copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from accessibility_lib.copying.config import CopyConfig
from accessibility_lib.copying.data import Alphabet, Strings, draw
from accessibility_lib.micro import scan

TOKENS = 1 << 12  # in one forward pass, padding included; more is slower on a CPU


@dataclass(frozen=True, eq=False)
class Copied:
    """``right`` (N,): letters given right, each after the true ones before it; of ``lengths`` (N,).

    A string whose letters are all right this way is also given by greedy decoding, and no other is.
    """

    right: np.ndarray
    lengths: np.ndarray

    @property
    def exact(self) -> np.ndarray:
        """Whether the whole string was given: bool (N,)."""
        return self.right == self.lengths

    def by_length(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(lengths, exact strings, strings, share of right letters), each (k,), lengths rising."""
        n, place, trials = np.unique(self.lengths, return_inverse=True, return_counts=True)
        exact = np.bincount(place, weights=self.exact).astype(int)
        return n, exact, trials, np.bincount(place, weights=self.right) / (n * trials)


@torch.no_grad()
def teacher_forced(model: Any, strings: Strings, tokens: int = TOKENS) -> Copied:
    """Copy strings of many lengths at once; ``tokens``: the most in one forward pass.

    The logits of every position come from one pass over x | x, with the true letters before it.
    """
    right = np.zeros(len(strings.lengths), dtype=np.int64)
    order = torch.argsort(strings.lengths, stable=True)
    with scan.trainable():
        while len(order):
            # The longest strings that fit, so that little of a pass is padding.
            width = 2 * int(strings.lengths[order[-1]])
            rows, order = order[-max(1, tokens // width) :], order[: -max(1, tokens // width)]
            ids = strings.tokens[rows, : width + 1]
            given = model(input_ids=ids[:, :-1], use_cache=False).logits.argmax(-1)
            hits = (given == ids[:, 1:]) & strings.copied[rows, 1 : width + 1]
            right[rows.numpy()] = hits.sum(1).numpy()
    return Copied(right, strings.lengths.numpy())


@torch.no_grad()
def greedy(model: Any, prompt: Tensor, n: int) -> Tensor:
    """``n`` tokens (N, n), the argmax each time, after prompts (N, p) of one length: free-running.

    Every token is a pass of its own, over everything before it.
    """
    given = prompt
    with scan.trainable():
        for _ in range(n):
            logits = model(input_ids=given, use_cache=False).logits[:, -1]
            given = torch.cat([given, logits.argmax(-1, keepdim=True)], dim=1)
    return given[:, prompt.shape[1] :]


def evaluate(model: Any, alphabet: Alphabet, config: CopyConfig) -> Copied:
    """Copy ``config.strings`` new strings of each of ``config.lengths``, all in one call."""
    generator = np.random.default_rng([config.seed, 2])
    return teacher_forced(
        model, draw(alphabet, np.repeat(config.lengths, config.strings).tolist(), generator)
    )
