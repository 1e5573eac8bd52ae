"""Strings to copy: x, a separator, x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from accessibility_lib._checks import at_least
from accessibility_lib.copying.config import CopyConfig
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import LoadedModel


@dataclass(frozen=True, eq=False)
class Alphabet:
    """Token ids: ``letters`` (k,) and a ``separator`` that is none of them."""

    letters: Tensor
    separator: int


@dataclass(frozen=True, eq=False)
class Strings:
    """Rows x | x, padded on the right by the separator: a causal model needs no mask for that.

    ``tokens`` (N, 2n + 1), n the longest; ``lengths`` (N,).
    """

    tokens: Tensor
    lengths: Tensor

    @property
    def copied(self) -> Tensor:
        """Where the second x stands: bool (N, 2n + 1)."""
        place, n = torch.arange(self.tokens.shape[1]), self.lengths[:, None]
        return (place > n) & (place <= 2 * n)

    def x(self, row: int) -> Tensor:
        """The string of one row, (length,)."""
        return self.tokens[row, : int(self.lengths[row])]


def choose(loaded: LoadedModel, config: CopyConfig) -> Alphabet:
    """The letters of a model: usable tokens evenly spread over its vocabulary.  The separator is a
    special token where there is one.

    Raises :class:`AccessibilityError` where the vocabulary is too small for the alphabet and a
    separator, and where the model has fewer positions than the longest string needs.

    >>> from accessibility_lib import models
    >>> choose(models.load("micro-llama"), CopyConfig(alphabet=4)).separator
    0
    """
    usable = loaded.adapter.token_ids.tolist()
    special = sorted({*range(loaded.adapter.vocab_size)} - {*usable})
    spare = special[:1] or usable[:1]
    usable = [token for token in usable if token != spare[0]]
    if config.alphabet > len(usable):
        raise AccessibilityError(
            f"alphabet = {config.alphabet} letters and a separator are more than {loaded.name} "
            f"has: {len(usable)} usable tokens beside a separator; take a smaller alphabet."
        )
    positions = getattr(loaded.model.config, "max_position_embeddings", None)
    if positions is not None and config.context > positions:
        longest = max(config.longest, *config.lengths)
        raise AccessibilityError(
            f"a string of {longest} letters takes 2 · {longest} + 1 = {config.context} positions, "
            f"but {loaded.name} has {positions}; take lengths up to {(positions - 1) // 2}."
        )
    places = np.linspace(0, len(usable) - 1, config.alphabet).round().astype(int)
    return Alphabet(torch.tensor(usable)[places], spare[0])


def draw(alphabet: Alphabet, lengths: Sequence[int], generator: np.random.Generator) -> Strings:
    """One string x | x of each of the ``lengths``, letters independent and uniform.

    >>> found = draw(Alphabet(torch.tensor([5, 7]), 0), [2, 1], np.random.default_rng(0))
    >>> found.tokens.tolist(), found.copied[1].tolist()
    ([[7, 7, 0, 7, 7], [7, 0, 7, 0, 0]], [False, False, True, False, False])
    """
    n = np.array([at_least("a length", value, 1) for value in lengths])
    longest = int(n.max())
    x = alphabet.letters.numpy()[generator.integers(len(alphabet.letters), size=(len(n), longest))]
    tokens = np.full((len(n), 2 * longest + 1), alphabet.separator, dtype=np.int64)
    for row, letters, size in zip(tokens, x, n, strict=True):
        row[:size] = row[size + 1 : 2 * size + 1] = letters[:size]
    return Strings(torch.from_numpy(tokens), torch.from_numpy(n))


def draw_law(
    alphabet: Alphabet, config: CopyConfig, count: int, longest: int, generator: np.random.Generator
) -> Strings:
    """``count`` strings with lengths of the law: uniform on ``config.shortest`` .. ``longest``."""
    lengths = generator.integers(config.shortest, longest + 1, size=count)
    return draw(alphabet, lengths.tolist(), generator)
