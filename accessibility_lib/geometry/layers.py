"""Every layer's embeddings in one pass (Figure 5), under names that leave no choice open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from accessibility_lib.errors import AccessibilityError
from accessibility_lib.geometry.prompts import BATCH_TOKENS, _check_prompts
from accessibility_lib.geometry.statistics import NORMS, Statistics

if TYPE_CHECKING:
    from torch import Tensor

    from accessibility_lib.models import LoadedModel

POST_NORM = "post-norm"


def layer_statistics(
    loaded: LoadedModel, prompts: Tensor, batch_tokens: int = BATCH_TOKENS
) -> dict[str, Statistics]:
    """Statistics at the last position of each prompt, layer by layer.

    Keys, in the order of the pass: "embedding" (what the first block takes in), "block 1" to
    "block L" (the residual stream after each block; the last one is the pre-norm embedding) and
    "post-norm" (the last-layer embedding x, what the unembedding takes in).

    ``prompts`` as :func:`accessibility_lib.geometry.prompts.embed` takes them.

    >>> from accessibility_lib import models
    >>> import torch
    >>> found = layer_statistics(models.load("micro-llama"), torch.tensor([[72, 73], [5, 6]]))
    >>> list(found)
    ['embedding', 'block 1', 'block 2', 'block 3', 'block 4', 'post-norm']
    """
    import torch

    from accessibility_lib.models.adapter import _capture

    inputs = _check_prompts(loaded, prompts)
    name = "inputs_embeds" if inputs.is_floating_point() else "input_ids"
    whole: dict[str, Statistics] = {}
    for part in inputs.split(max(1, batch_tokens // inputs.shape[1])):
        options: dict[str, Any] = {name: part.to(loaded.model.device)}
        with torch.no_grad(), _capture(loaded.adapter.final_norm) as seen:
            out = loaded.model.base_model(**options, use_cache=False, output_hidden_states=True)
        # The last of the hidden states is the norm's output, or its input, by architecture.
        states = [*out.hidden_states[:-1], *seen[-1]]
        names = ["embedding", *(f"block {i + 1}" for i in range(len(states) - 2)), POST_NORM]
        for layer, state in zip(names, states, strict=True):
            here = Statistics.of(state[:, -1].float().cpu().numpy())
            whole[layer] = whole[layer] + here if layer in whole else here
    return whole


def choices(layers: dict[str, Statistics], layer: str = POST_NORM) -> list[tuple[str, str, float]]:
    """(layer, norm, radius) for every layer and norm, with the radius as a multiple of ``layer``'s
    l-infinity radius: which choices of words give the same number (review point E4).

    >>> some = {"embedding": Statistics.of([[3.0, 4.0]]), "post-norm": Statistics.of([[1.0, 2.0]])}
    >>> choices(some)[0]
    ('embedding', 'l1', 3.5)
    """
    if layer not in layers:
        raise AccessibilityError(f"layer = {layer!r}; there are {', '.join(layers)}.")
    unit = layers[layer].linf
    return [
        (name, norm, found.radius(norm) / unit) for name, found in layers.items() for norm in NORMS
    ]


def radii(layers: dict[str, Statistics], norms: Iterable[str] = NORMS) -> dict[str, list[float]]:
    """The radius of each layer by norm, in the order of the layers (Figure 5's curves).

    >>> radii({"embedding": Statistics.of([[3.0, 4.0]])}, ["l1", "rms"])["l1"]
    [7.0]
    """
    return {norm: [found.radius(norm) for found in layers.values()] for norm in norms}
