"""Last-layer embeddings of prompts: tokens, text, memory vectors, and prompts made to go far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from accessibility_lib._checks import at_least, positive
from accessibility_lib.errors import AccessibilityError

if TYPE_CHECKING:
    from torch import Tensor

    from accessibility_lib.models import LoadedModel
    from accessibility_lib.targets import Documents

BATCH_TOKENS = 2048  # in one forward pass
KINDS = ("random", "natural", "words", "adversarial")


def embed(
    loaded: LoadedModel,
    prompts: Tensor,
    lengths: Sequence[int] | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> Iterator[np.ndarray]:
    """Last-layer embeddings of prompts of one length, batch by batch in float32.

    ``prompts``: token ids (N, n), or vectors (N, n, d_in) such as memory vectors.  Yields (B, d):
    what the final norm puts out at the last position.  With ``lengths``, (B, len(lengths), d): of
    each prompt's first so many positions, all from one pass, since a causal model does not see
    later ones.  Only one batch is held at a time.

    Raises :class:`AccessibilityError` for no prompts, prompts past the context, lengths out of
    range, and embeddings that are not finite.

    >>> from accessibility_lib import models
    >>> loaded = models.load("micro-llama")
    >>> ids = random_prompts(loaded, 5, 3, np.random.default_rng(0))
    >>> [batch.shape for batch in embed(loaded, ids, batch_tokens=6)]
    [(2, 128), (2, 128), (1, 128)]
    >>> next(embed(loaded, ids, lengths=[1, 3])).shape
    (5, 2, 128)
    """
    import torch

    inputs = _check_prompts(loaded, prompts)
    count, n = inputs.shape[:2]
    places = [
        at_least("a length", length, 1) - 1 for length in ([n] if lengths is None else lengths)
    ]
    if not places or max(places) >= n:
        raise AccessibilityError(f"lengths = {lengths}, but the prompts have {n} positions.")
    name = "inputs_embeds" if inputs.is_floating_point() else "input_ids"
    bar = tqdm(total=count, desc=f"prompts of {loaded.name}", disable=None, delay=2, leave=False)
    with bar:
        for part in inputs.split(max(1, batch_tokens // n)):
            with torch.no_grad():
                options: dict[str, Any] = {name: part.to(loaded.model.device)}
                x = loaded.adapter.last_hidden(**options)[:, places].float().cpu()
            if not torch.isfinite(x).all():
                raise AccessibilityError(
                    f"an embedding of {loaded.name} is not finite: it overflowed in "
                    f"{loaded.model.dtype}; load the model with dtype='float32'."
                )
            yield (x[:, 0] if lengths is None else x).numpy()
            bar.update(len(part))


def prompt_embeddings(loaded: LoadedModel, prompts: Sequence[str]) -> np.ndarray:
    """Last-layer embedding at the last token of each prompt, (N, d) in float64; prompts of equal
    length share a batch.

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
    rows = []
    for prompt in prompts:
        if not loaded.tokenizer(prompt, add_special_tokens=False).input_ids:
            raise AccessibilityError(
                f"the prompt {prompt!r} tokenises to nothing with {loaded.name}; "
                "give a text of at least one token."
            )
        rows.append(loaded.tokenizer(prompt).input_ids)
        _check_length(loaded, len(rows[-1]), f"the prompt {prompt[:20]!r}... has ")
    found = np.empty((len(rows), loaded.adapter.width))
    for length in sorted({len(row) for row in rows}):
        same = [i for i, row in enumerate(rows) if len(row) == length]
        found[same] = np.concatenate([*embed(loaded, torch.tensor([rows[i] for i in same]))])
    return found


def random_prompts(
    loaded: LoadedModel, count: int, length: int, generator: np.random.Generator
) -> Tensor:
    """``count`` prompts of ``length`` tokens, uniform over the usable ones, (count, length) int64.

    >>> from accessibility_lib import models
    >>> random_prompts(models.load("micro-llama"), 3, 4, np.random.default_rng(0)).shape
    torch.Size([3, 4])
    """
    import torch

    shape = at_least("count", count, 1), at_least("length", length, 1)
    _check_length(loaded, length, "length = ")
    return torch.from_numpy(generator.choice(loaded.adapter.token_ids.cpu().numpy(), shape))


def random_embeddings(
    loaded: LoadedModel, count: int, length: int, generator: np.random.Generator
) -> np.ndarray:
    """Last-layer embeddings of :func:`random_prompts`, (count, d) in float64.

    >>> from accessibility_lib import models
    >>> random_embeddings(models.load("micro-llama"), 3, 4, np.random.default_rng(0)).shape
    (3, 128)
    """
    prompts = random_prompts(loaded, count, length, generator)
    return np.concatenate([*embed(loaded, prompts)]).astype(float)


def make(
    kind: str,
    loaded: LoadedModel,
    count: int,
    length: int,
    generator: np.random.Generator,
    documents: Documents | None = None,
) -> Tensor:
    """``count`` prompts of ``length`` positions, of a kind of :data:`KINDS`: token ids
    (count, length), or for "adversarial" vectors (count, length, d_in).

    ``documents``: for "natural" and "words", see :func:`accessibility_lib.targets.natural`.

    >>> from accessibility_lib import models
    >>> loaded, text = models.load("micro-llama"), "Return the number of items in the list."
    >>> make("natural", loaded, 2, 4, np.random.default_rng(0), text).shape
    torch.Size([2, 4])
    """
    if kind == "random":
        return random_prompts(loaded, count, length, generator)
    if kind == "adversarial":
        return adversarial_prompts(loaded, count, length, generator)
    if kind not in KINDS:
        raise AccessibilityError(f"prompts of kind {kind!r}; there are {', '.join(KINDS)}.")
    from accessibility_lib import targets

    return targets.make(kind, loaded, length, count, generator, documents)


def adversarial_prompts(
    loaded: LoadedModel,
    count: int,
    length: int,
    generator: np.random.Generator,
    steps: int = 60,
    lr: float = 0.5,
) -> Tensor:
    """Vectors (count, length, d_in) whose last-layer embedding has a large l-infinity norm.

    Adam ascends |x|_inf from the input embeddings of random tokens; ``lr`` in units of the standard
    deviation of the embedding table.  The best prompt met is returned, so none is worse than the
    tokens it started from.  A lower bound on what soft prompts can do: the support of
    :class:`accessibility_lib.supports.NormEllipsoid` is the upper one.

    >>> from accessibility_lib import models
    >>> loaded = models.load("micro-llama")
    >>> vectors = adversarial_prompts(loaded, 2, 1, np.random.default_rng(0), steps=3)
    >>> vectors.shape
    torch.Size([2, 1, 128])
    """
    import torch

    ids = random_prompts(loaded, count, length, generator).to(loaded.model.device)
    steps, lr = at_least("steps", steps, 1), positive("lr", lr)
    lr *= float(loaded.adapter.embedding_scale * loaded.adapter.input_embedding.float().std())
    best = loaded.adapter.embed(ids).detach()
    reach = torch.full((len(best),), -torch.inf, device=best.device)
    vectors = best.clone().requires_grad_()
    optimizer = torch.optim.Adam([vectors], lr=lr)
    for step in range(steps + 1):
        size = loaded.adapter.last_hidden(inputs_embeds=vectors)[:, -1].abs().amax(dim=1)
        better = size.detach() > reach
        reach = torch.where(better, size.detach(), reach)
        best = torch.where(better[:, None, None], vectors.detach(), best)
        if step < steps:
            (gradient,) = torch.autograd.grad(-size.sum(), vectors)
            vectors.grad = gradient
            optimizer.step()
    return best.cpu()


def memory_embeddings(
    loaded: LoadedModel, memory: Tensor, targets: Sequence[Sequence[int]], reached: Sequence[int]
) -> np.ndarray:
    """Last-layer embeddings from which crammed memories give their targets, (sum(reached), d).

    ``memory`` (N, m, d_in); ``reached`` (N,): of each target, the tokens that its memory gives, so
    one embedding behind the memory and one behind each of those tokens but the last.

    Raises :class:`AccessibilityError` where no memory gives any token.

    >>> from accessibility_lib import models
    >>> loaded = models.load("micro-llama")
    >>> memory_embeddings(loaded, loaded.adapter.input_embedding[None, :1], [[5, 6]], [2]).shape
    (2, 128)
    """
    import torch

    found = []
    for vectors, target, count in zip(memory, targets, reached, strict=True):
        if count:
            ids = torch.tensor(list(target[: count - 1]), dtype=torch.long)
            given = loaded.adapter.embed(ids.to(loaded.model.device)).cpu()
            whole = torch.cat([vectors.to(given.dtype), given])[None]
            found += [x[0] for x in embed(loaded, whole, range(len(vectors), whole.shape[1] + 1))]
    if not found:
        raise AccessibilityError("no memory gives any token of its target; cram with more steps.")
    return np.concatenate(found)


def _check_prompts(loaded: LoadedModel, prompts: Tensor) -> Tensor:
    """Ids (N, n) or vectors (N, n, d_in), on the CPU's terms; anything else is refused."""
    import torch

    inputs = torch.as_tensor(prompts)
    if inputs.is_floating_point():
        d = loaded.adapter.input_embedding.shape[1]
        fits = inputs.ndim == 3 and inputs.shape[2] == d
        wanted = f"vectors (N, n, {d})"
        inputs = inputs.to(loaded.model.dtype)
    else:
        fits, wanted = inputs.ndim == 2, "token ids (N, n)"
    if not fits or 0 in inputs.shape:
        raise AccessibilityError(
            f"prompts have shape {tuple(inputs.shape)}; give at least one prompt of at least one "
            f"position: {wanted}."
        )
    if not inputs.is_floating_point() and not (
        int(inputs.min()) >= 0 and int(inputs.max()) < loaded.adapter.input_embedding.shape[0]
    ):
        raise AccessibilityError(
            f"token ids run from {int(inputs.min())} to {int(inputs.max())}, but {loaded.name} has "
            f"0 to {loaded.adapter.input_embedding.shape[0] - 1}; encode with its own tokenizer."
        )
    if inputs.is_floating_point() and not torch.isfinite(inputs).all():
        bad = int(torch.nonzero(~torch.isfinite(inputs).flatten(1).all(dim=1))[0])
        raise AccessibilityError(f"prompt {bad} holds NaN or infinity; drop it.")
    _check_length(loaded, inputs.shape[1], "the prompts have ")
    return inputs


def _check_length(loaded: LoadedModel, length: int, who: str) -> None:
    context = getattr(loaded.model.config.get_text_config(), "max_position_embeddings", None)
    if context and length > context:
        raise AccessibilityError(
            f"{who}{length} tokens, more than the context of {loaded.name}, {context}; "
            "give shorter ones."
        )
