"""Last-layer embeddings of prompts, and where a model's final norm lets them be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from accessibility_lib._checks import at_least
from accessibility_lib.cells import Plane
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports import NormEllipsoid

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


def norm_outline(plane: Plane, support: NormEllipsoid, count: int = 2000) -> np.ndarray | None:
    """Where ``plane`` cuts the surface of a norm ellipsoid: a closed ellipse, (count, 2).

    The final norm makes |z|_2 = sqrt(d) but for its tiny eps, so of all the points of a plane that
    passes through three last-layer embeddings only this curve can be an embedding, of any prompt.
    A coordinate whose gain is 0 is constant and is left out.  None where the plane misses it.

    >>> unit = NormEllipsoid.rms_norm(np.full(3, 1 / np.sqrt(3)))
    >>> ring = norm_outline(Plane(np.array([0, 0, 0.6]), np.eye(3)[:2]), unit)
    >>> np.allclose(np.linalg.norm(ring, axis=1), 0.8)
    True
    """
    free = support.gain != 0
    centre = ((plane.origin - support.shift)[free]) / support.gain[free]
    axes = plane.axes[:, free] / support.gain[free]
    # |centre + a axes[0] + b axes[1]|^2 = d, a quadratic in y = (a, b): (y - y0)' M (y - y0) = rest
    matrix = axes @ axes.T
    y0 = -np.linalg.solve(matrix, axes @ centre)
    rest = support.width - centre @ centre + y0 @ matrix @ y0
    if rest <= 0:
        return None
    angle = np.linspace(0, 2 * np.pi, count)
    circle = np.sqrt(rest) * np.stack([np.cos(angle), np.sin(angle)])
    return y0 + np.linalg.solve(np.linalg.cholesky(matrix).T, circle).T
