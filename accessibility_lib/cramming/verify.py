"""What a crammed memory is worth: free-running decoding, rounding, perturbations.

Teacher-forced success is asked of every result already.  *Greedy*: decoding from the memory alone
gives the target.  *Rounded*: so does the memory after rounding to a 16-bit format.  *Robust*: every
perturbation that was tried inside the l-infinity ball of radius eps/2 around the memory (Definition
4.1) leaves every token the argmax; random ones and projected-gradient attacks are tried.  No finite
number of trials proves the ball, so a robust radius is an upper bound of the true one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from accessibility_lib._checks import at_least, positive
from accessibility_lib.cramming.config import Result
from accessibility_lib.cramming.objective import leads, padded, scored
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import LoadedModel

FORMATS = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Verification:
    """Of one reached prefix.  ``target``: its place in the result.  ``greedy``, ``float16``,
    ``bfloat16``: whether decoding from the (rounded) memory alone gives it.  ``robust``: whether
    it survived at ``eps``.  ``radius``: the largest l-infinity radius that survived."""

    target: int
    greedy: bool
    float16: bool
    bfloat16: bool
    eps: float
    robust: bool
    radius: float


def verify(
    loaded: LoadedModel,
    result: Result,
    eps: float,
    generator: torch.Generator,
    *,
    draws: int = 8,
    attack: int = 10,
) -> tuple[Verification, ...]:
    """Verify the prefix that each target was reached to.

    ``draws`` random perturbations and ``attack`` steps of the projected gradient are tried per
    radius.  A radius is in the units of the memory: compare it with the memory's own norm.

    Raises :class:`AccessibilityError` for a result of another model.

    >>> from accessibility_lib import models
    >>> from accessibility_lib.cramming import Config, cram
    >>> loaded, seed = models.load("micro-llama"), torch.Generator().manual_seed(0)
    >>> result = cram(loaded, [[72, 73]], 1, Config(), seed)
    >>> [v.greedy for v in verify(loaded, result, 2**-10, seed)]
    [True]
    """
    if result.sha256 != loaded.sha256:
        raise AccessibilityError(
            f"the result is of {result.model} (sha256 {result.sha256[:12]}), the model given is "
            f"{loaded.name} ({loaded.sha256[:12]}); load the model it was made with."
        )
    eps = positive("eps", eps, "give a spacing such as 2**-10")
    chosen = [i for i, outcome in enumerate(result.outcomes) if outcome.reached]
    if not chosen:
        return ()
    rows = [result.outcomes[i].target[: result.outcomes[i].reached] for i in chosen]
    memory = result.memory[chosen]
    first = result.config.score_first
    decoded = {
        name: decodes(loaded, memory if kind is None else memory.to(kind).float(), rows)
        for name, kind in (("float32", None), *FORMATS.items())
    }
    options: dict[str, Any] = {"score_first": first, "draws": draws, "attack": attack}
    at_eps = survives(loaded, memory, rows, torch.full((len(rows),), eps / 2), generator, **options)
    radius = largest_radius(loaded, memory, rows, generator, **options)
    return tuple(
        Verification(
            target=i,
            greedy=decoded["float32"][k],
            float16=decoded["float16"][k],
            bfloat16=decoded["bfloat16"][k],
            eps=eps,
            robust=bool(at_eps[k]),
            radius=float(radius[k]),
        )
        for k, i in enumerate(chosen)
    )


@torch.no_grad()
def decode(loaded: LoadedModel, memory: Tensor, n: int) -> Tensor:
    """``n`` tokens decoded greedily from memories (b, m, d_in) alone: (b, n).

    >>> from accessibility_lib import models
    >>> loaded = models.load("micro-llama")
    >>> decode(loaded, loaded.adapter.embed(torch.tensor([[72, 73]])), 5).shape
    torch.Size([1, 5])
    """
    n = at_least("n", n, 1)
    from transformers import GenerationConfig

    start = memory.to(loaded.adapter.unembedding)
    plain = GenerationConfig(
        max_new_tokens=n, min_new_tokens=n, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    mask = torch.ones(start.shape[:2], dtype=torch.int64, device=start.device)
    return loaded.model.generate(
        inputs_embeds=start, attention_mask=mask, generation_config=plain
    ).cpu()


def decodes(loaded: LoadedModel, memory: Tensor, targets: Sequence[Sequence[int]]) -> list[bool]:
    """Whether each memory (b, m, d_in) decodes to its own target."""
    rows = decode(loaded, memory, max(map(len, targets))).tolist()
    return [row[: len(t)] == list(t) for row, t in zip(rows, targets, strict=True)]


def prefixes(
    loaded: LoadedModel, result: Result, eps: float, generator: torch.Generator, **options: Any
) -> dict[str, np.ndarray]:
    """How many tokens of each target its memory gives, (targets,) int, by notion of success.

    "teacher-forced" is ``Outcome.reached``; "greedy", "float16" and "bfloat16" count the leading
    tokens that decoding from the (rounded) memory alone gets right; "robust" is the reached prefix
    where it survives every perturbation tried within eps/2 and 0 where one of them breaks it.
    ``options``: ``draws`` and ``attack``, as in :func:`survives`.

    >>> from accessibility_lib import models
    >>> from accessibility_lib.cramming import Config, cram
    >>> loaded, seed = models.load("micro-llama"), torch.Generator().manual_seed(0)
    >>> found = prefixes(loaded, cram(loaded, [[72, 73]], 1, Config(), seed), 2**-10, seed)
    >>> [int(found[notion][0]) for notion in ("teacher-forced", "greedy")]
    [2, 2]
    """
    reached = np.array([outcome.reached for outcome in result.outcomes])
    lengths = {"teacher-forced": reached}
    chosen = np.flatnonzero(reached)
    if not len(chosen):
        return lengths | {name: reached for name in ("greedy", *FORMATS, "robust")}
    memory = result.memory[chosen]
    rows = [result.outcomes[i].target[: reached[i]] for i in chosen]
    for name, kind in (("greedy", None), *FORMATS.items()):
        given = decode(
            loaded, memory if kind is None else memory.to(kind).float(), int(reached.max())
        ).tolist()
        lengths[name] = np.zeros_like(reached)
        lengths[name][chosen] = [
            next((k for k, token in enumerate(row) if said[k] != token), len(row))
            for said, row in zip(given, rows, strict=True)
        ]
    alive = survives(
        loaded, memory, rows, torch.full((len(rows),), eps / 2), generator,
        score_first=result.config.score_first, **options,
    )  # fmt: skip
    lengths["robust"] = np.zeros_like(reached)
    lengths["robust"][chosen] = np.where(alive.numpy(), reached[chosen], 0)
    return lengths


def survives(
    loaded: LoadedModel,
    memory: Tensor,
    targets: Sequence[Sequence[int]],
    radius: Tensor,
    generator: torch.Generator,
    *,
    score_first: bool = True,
    draws: int = 8,
    attack: int = 10,
) -> Tensor:
    """Whether each memory (b, m, d_in) gives its target under every perturbation tried of at most
    its ``radius`` (b,) in every coordinate: (b,) bool.

    Half of the random draws are corners of the ball, the other half uniform in it; the attack
    starts at a corner and follows the sign of the gradient of the smallest lead.
    """
    limit = radius[:, None, None].to(memory)

    def least(x: Tensor) -> Tensor:
        return smallest_lead(loaded, x, targets, score_first)

    with torch.no_grad():
        alive = least(memory) > 0
        for k in range(draws):
            noise = 2 * torch.rand(memory.shape, generator=generator) - 1
            alive &= least(memory + limit * (noise.sign() if k % 2 else noise)) > 0
    shift = limit * (2 * torch.rand(memory.shape, generator=generator) - 1).sign()
    for _ in range(attack):
        x = (memory + shift).requires_grad_()
        value = least(x)
        (gradient,) = torch.autograd.grad(value.sum(), x)
        alive &= value.detach() > 0
        shift = torch.clamp(shift - limit / 4 * gradient.sign(), -limit, limit)
    with torch.no_grad():
        return alive & (least(memory + shift) > 0)


def largest_radius(
    loaded: LoadedModel,
    memory: Tensor,
    targets: Sequence[Sequence[int]],
    generator: torch.Generator,
    *,
    score_first: bool = True,
    draws: int = 8,
    attack: int = 10,
    halvings: int = 10,
) -> Tensor:
    """The largest radius (b,) at which each memory (b, m, d_in) survives, by bisection of its
    logarithm between 2^-16 and 1 times the largest coordinate; 0 where it survives at none."""
    high = memory.abs().amax((1, 2)).log2()
    low = high - 16
    options: dict[str, Any] = {"score_first": score_first, "draws": draws, "attack": attack}
    held = survives(loaded, memory, targets, low.exp2(), generator, **options)
    for _ in range(halvings):
        middle = (low + high) / 2
        alive = survives(loaded, memory, targets, middle.exp2(), generator, **options)
        low, high = torch.where(alive, middle, low), torch.where(alive, high, middle)
    return torch.where(held, low.exp2(), 0.0)


def smallest_lead(
    loaded: LoadedModel, memory: Tensor, targets: Sequence[Sequence[int]], score_first: bool
) -> Tensor:
    """The smallest lead of a target token's logit over its closest rival's: (b,), with gradient."""
    x, rows, wanted = scored(loaded, memory, *padded(targets), score_first)
    lead, _ = leads(loaded.adapter, x, wanted)
    start = torch.full((len(memory),), math.inf, device=lead.device)
    return start.scatter_reduce(0, rows, lead, "amin").to(memory.device)
