"""Does a prompt written twice mean the same?"""

from __future__ import annotations

import torch
from torch import Tensor

from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import LoadedModel

ORDERS = ("whole", "each")


@torch.no_grad()
def change(
    loaded: LoadedModel, tokens: Tensor, *, causal: bool = True, order: str = "whole"
) -> Tensor:
    """Relative change of the last-layer embedding of each token when the prompt is doubled.

    ``tokens`` (batch, n).  ``order``: "whole" writes x x, "each" every token twice in a row.
    Compared are the n tokens of the prompt with the second of their two copies: (batch, n) norms
    of the difference over the norm.  ``causal=False`` lets every token see every other.

    Attention without positions is a mean over a set with weights: each token twice leaves it as it
    is.  A causal mask shows the copies different sets, except to the last token of the first
    layer.

    Raises :class:`AccessibilityError` for another ``order``.

    >>> from accessibility_lib.copying import CopyConfig, new
    >>> loaded = new("none", CopyConfig())
    >>> bool(change(loaded, torch.tensor([[1, 2, 3]]), causal=False).max() < 1e-5)
    True
    """
    if order not in ORDERS:
        raise AccessibilityError(f"order = {order!r}; there are {' and '.join(ORDERS)}.")
    n = tokens.shape[1]
    once = _embeddings(loaded, tokens, causal)
    doubled = tokens.repeat(1, 2) if order == "whole" else tokens.repeat_interleave(2, dim=1)
    twice = _embeddings(loaded, doubled, causal)
    twice = twice[:, n:] if order == "whole" else twice[:, 1::2]
    return (twice - once).norm(dim=-1) / once.norm(dim=-1)


def _embeddings(loaded: LoadedModel, tokens: Tensor, causal: bool) -> Tensor:
    if causal:
        return loaded.adapter.last_hidden(input_ids=tokens)
    n = tokens.shape[1]
    # Added to the scores: 0 hides nothing.
    mask = torch.zeros(len(tokens), 1, n, n, dtype=loaded.adapter.unembedding.dtype)
    return loaded.adapter.last_hidden(input_ids=tokens, attention_mask=mask)
