"""Last-layer embeddings of prompts, and where a model's final norm lets them be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accessibility_lib._checks import at_least
from accessibility_lib.errors import AccessibilityError

if TYPE_CHECKING:
    from accessibility_lib.models import LoadedModel


def prompt_embeddings(loaded: LoadedModel, prompts: Sequence[str]) -> np.ndarray:
    """Last-layer embedding at the last token of each prompt, (N, d) in float64.

    Raises :class:`AccessibilityError` for a prompt that is no text, tokenises to nothing or is
    longer than the model's context.

    >>> from accessibility_lib import models
    >>> prompt_embeddings(models.load("micro-llama"), ["Return the", "a list of"]).shape
    (2, 128)
    """
    import torch

    texts = isinstance(prompts, list | tuple) and all(isinstance(each, str) for each in prompts)
    if not texts or not prompts:
        raise AccessibilityError(f"prompts = {prompts!r}; give a list of at least one text.")
    context = getattr(loaded.model.config.get_text_config(), "max_position_embeddings", None)
    found = []
    for prompt in prompts:
        if not loaded.tokenizer(prompt, add_special_tokens=False).input_ids:
            raise AccessibilityError(
                f"the prompt {prompt!r} tokenises to nothing with {loaded.name}; "
                "give a text of at least one token."
            )
        tokens = loaded.tokenizer(prompt).input_ids
        if context and len(tokens) > context:
            raise AccessibilityError(
                f"the prompt {prompt[:20]!r}... has {len(tokens)} tokens, more than the context of "
                f"{loaded.name}, {context}; give a shorter one."
            )
        ids = torch.tensor([tokens], device=loaded.model.device)
        with torch.no_grad():
            found.append(loaded.adapter.last_hidden(input_ids=ids)[0, -1].double().cpu().numpy())
    return np.stack(found)


def random_embeddings(
    loaded: LoadedModel, count: int, length: int, generator: np.random.Generator
) -> np.ndarray:
    """Last-layer embeddings of ``count`` prompts of ``length`` uniform random tokens, (count, d).

    >>> from accessibility_lib import models
    >>> random_embeddings(models.load("micro-llama"), 3, 4, np.random.default_rng(0)).shape
    (3, 128)
    """
    import torch

    shape = at_least("count", count, 1), at_least("length", length, 1)
    tokens = loaded.adapter.token_ids.cpu().numpy()
    ids = torch.from_numpy(generator.choice(tokens, shape)).to(loaded.model.device)
    with torch.no_grad():
        found = [loaded.adapter.last_hidden(input_ids=part)[:, -1] for part in ids.split(256)]
    return torch.cat(found).double().cpu().numpy()
