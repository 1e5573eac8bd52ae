"""What the book needs to know of a causal language model: how a last-layer embedding is read out.

Every architecture is described by the same few numbers: logits are ``cap(s (F x + b))`` of the
post-norm last-layer embedding ``x``.  Nothing here goes by the name of an architecture: the kind
of the final norm, the scale of the logits and the scale of the input embedding are measured on the
model, and :func:`describe` compares its own logits with the model's before it returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from accessibility_lib.errors import AccessibilityError

NormKind = Literal["rmsnorm", "layernorm"]
# Where architectures keep the norm between the last block and the unembedding.
FINAL_NORMS = ("norm", "ln_f", "final_layer_norm", "final_layernorm", "norm_f", "ln_out")


@dataclass(frozen=True, eq=False)
class Norm:
    """The final norm: ``gain`` (d,) already as 1+w where the model stores w; ``shift`` or None."""

    kind: NormKind
    gain: Tensor
    shift: Tensor | None
    eps: float

    def __call__(self, h: Tensor) -> Tensor:
        """Apply the norm to pre-norm embeddings (..., d).

        >>> norm = Norm("rmsnorm", torch.ones(2), None, 0.0)
        >>> norm(torch.tensor([3.0, 3.0])).tolist()
        [1.0, 1.0]
        """
        if self.kind == "layernorm":
            return F.layer_norm(h, self.gain.shape, self.gain, self.shift, self.eps)
        return F.rms_norm(h, self.gain.shape, self.gain, self.eps)


@dataclass(frozen=True, eq=False)
class Adapter:
    """A causal language model as the theory sees it.  Tensors are views of the model's weights
    (``numpy.asarray`` takes them as they are on a CPU in fp32); do not write into them.

    ``unembedding``: F, (|V|, d).  ``bias``: b, (|V|,) or None.  ``norm``: the final norm, whose
    output is the last-layer embedding x (d,).  ``input_embedding``: (|V|, d_in), and
    ``embedding_scale * input_embedding[token]`` is what ``inputs_embeds`` takes for that token.
    ``logit_scale`` s and ``logit_softcap`` c (None: no cap): the model's logits are
    ``c tanh(s (F x + b) / c)``; neither moves an argmax.  ``token_ids``: the ids of tokens a
    target may contain, without special tokens and padded rows.  ``tied``: F is the input embedding.

    A word-embedding projection (OPT) is folded into F, so that x is always the norm's output.
    """

    model: Any
    unembedding: Tensor
    bias: Tensor | None
    norm: Norm
    input_embedding: Tensor
    embedding_scale: float
    logit_scale: float
    logit_softcap: float | None
    token_ids: Tensor
    tied: bool
    final_norm: torch.nn.Module

    @property
    def width(self) -> int:
        """d, the width of the last-layer embedding."""
        return self.unembedding.shape[1]

    @property
    def vocab_size(self) -> int:
        """|V|, the rows of the unembedding, padded ones included."""
        return self.unembedding.shape[0]

    def __repr__(self) -> str:
        return (
            f"Adapter(width={self.width}, vocab_size={self.vocab_size}, norm={self.norm.kind!r}, "
            f"bias={self.bias is not None}, tied={self.tied}, logit_scale={self.logit_scale:g}, "
            f"logit_softcap={self.logit_softcap}, embedding_scale={self.embedding_scale:g})"
        )

    def logits(self, x: Tensor) -> Tensor:
        """The model's logits (..., |V|) of post-norm last-layer embeddings ``x`` (..., d).

        >>> from accessibility_lib import models
        >>> loaded = models.load("micro-llama")
        >>> x = loaded.adapter.last_hidden(input_ids=torch.tensor([[72, 73]]))
        >>> loaded.adapter.logits(x).shape == (1, 2, loaded.adapter.vocab_size)
        True
        """
        return self._finish(F.linear(x, self.unembedding, self.bias))

    def logits_at(self, x: Tensor, ids: Tensor) -> Tensor:
        """The logits (k, j) of the tokens ``ids`` (k, j) alone, of embeddings ``x`` (k, d)."""
        z = torch.einsum("kd,kjd->kj", x, self.unembedding[ids])
        return self._finish(z if self.bias is None else z + self.bias[ids])

    def _finish(self, z: Tensor) -> Tensor:
        if self.logit_scale != 1.0:
            z = z * self.logit_scale
        if self.logit_softcap is not None:
            z = self.logit_softcap * torch.tanh(z / self.logit_softcap)
        return z

    def embed(self, input_ids: Tensor) -> Tensor:
        """What ``inputs_embeds`` takes for ``input_ids`` (...): their embeddings (..., d_in)."""
        return self.model.get_input_embeddings()(input_ids)

    def last_hidden(
        self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None, **options: Any
    ) -> Tensor:
        """Post-norm last-layer embeddings (batch, n, d) of token ids (batch, n) or of embeddings
        (batch, n, d_in).  ``options`` (an attention mask, say) go to the model.  Gradients flow.

        Raises :class:`AccessibilityError` unless exactly one of the two inputs is given.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise AccessibilityError("give last_hidden either input_ids or inputs_embeds")
        options = {"use_cache": False, **options}
        with _capture(self.final_norm) as seen:
            self.model.base_model(input_ids=input_ids, inputs_embeds=inputs_embeds, **options)
        return seen[-1][1]


@contextmanager
def _capture(module: torch.nn.Module) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Collect (input, output) of every call of ``module`` within the block."""
    seen: list[tuple[Tensor, Tensor]] = []
    handle = module.register_forward_hook(lambda _, args, out: seen.append((args[0], out)))
    try:
        yield seen
    finally:
        handle.remove()


def _refuse(model: Any, reason: str) -> AccessibilityError:
    return AccessibilityError(
        f"{type(model).__name__} cannot be described as logits = F x + b: {reason}; "
        "use a causal language model with a final norm and a linear head"
    )


def _final_norm(model: Any) -> torch.nn.Module:
    body = getattr(model.base_model, "decoder", model.base_model)
    for name in FINAL_NORMS:
        module = getattr(body, name, None)
        if isinstance(module, torch.nn.Module):
            return module
    if layers := getattr(body, "layers", None):  # OPT-350M: the last block ends in the norm
        module = getattr(layers[-1], "final_layer_norm", None)
        if isinstance(module, torch.nn.Module):
            return module
    parts = ", ".join(name for name, _ in body.named_children())
    raise _refuse(model, f"no final norm among its parts ({parts})")


def _describe_norm(model: Any, module: torch.nn.Module, width: int) -> Norm:
    """Find out what the norm computes by trying it on random vectors, small ones too for eps."""
    stored = getattr(module, "weight", None)
    shift = getattr(module, "bias", None)
    named = [float(getattr(module, n)) for n in ("variance_epsilon", "eps") if hasattr(module, n)]
    like = stored if stored is not None else model.get_output_embeddings().weight
    h = torch.randn(8, width, generator=torch.Generator().manual_seed(0))
    h = (h * torch.logspace(-3, 2, 8)[:, None]).to(like.device, like.dtype)
    expected = module(h)
    ones = torch.ones(width, dtype=like.dtype, device=like.device)
    gains = [ones] if stored is None else [stored.detach(), 1 + stored.detach()]
    bias = None if shift is None else shift.detach()
    kinds: tuple[NormKind, ...] = ("layernorm",) if shift is not None else ("rmsnorm", "layernorm")
    for gain, kind, eps in product(gains, kinds, named or [1e-5, 1e-6]):
        norm = Norm(kind, gain, bias, eps)
        if _close(norm(h), expected):
            return norm
    raise _refuse(model, f"its final norm {type(module).__name__} is neither RMSNorm nor LayerNorm")


def _close(ours: Tensor, own: Tensor) -> bool:
    tolerance = 1e-4 if own.dtype in (torch.float32, torch.float64) else 6e-2
    return torch.allclose(ours, own, rtol=tolerance, atol=tolerance)


def _usable(tokenizer: Any, rows: int) -> Tensor:
    if tokenizer is None:
        return torch.arange(rows)
    special = set(tokenizer.all_special_ids)
    special |= {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    named = set(tokenizer.get_vocab().values())
    return torch.tensor([i for i in range(rows) if i in named and i not in special])


@torch.no_grad()
def describe(model: Any, tokenizer: Any = None) -> Adapter:
    """Describe ``model``, a causal language model of ``transformers`` in evaluation mode.

    Without a ``tokenizer`` every row counts as a usable token.  Raises
    :class:`AccessibilityError`, naming the architecture, where the description would be wrong: the
    logits of a probe must be the model's own, and no token may see a later one.
    """
    head = model.get_output_embeddings()
    embedding = model.get_input_embeddings()
    if not isinstance(head, torch.nn.Linear) or not isinstance(embedding, torch.nn.Embedding):
        raise _refuse(model, "no linear head or no input embedding")
    body = getattr(model.base_model, "decoder", model.base_model)
    projection = getattr(body, "project_out", None)
    F_ = head.weight.detach()
    unembedding = F_ if projection is None else F_ @ projection.weight.detach()
    module = _final_norm(model)
    ids = torch.arange(1, 7, device=F_.device)[None] % embedding.num_embeddings
    with _capture(module) as seen:
        own = model(input_ids=ids, use_cache=False).logits[0]
    if not seen or seen[-1][1].shape[-1] != unembedding.shape[1]:
        raise _refuse(model, "its final norm does not feed its head")
    x = seen[-1][1][0]
    config = model.config.get_text_config()
    cap = getattr(config, "final_logit_softcapping", None)
    bias = None if head.bias is None else head.bias.detach()
    adapter = Adapter(
        model=model,
        unembedding=unembedding,
        bias=bias,
        norm=_describe_norm(model, module, unembedding.shape[1]),
        input_embedding=embedding.weight.detach(),
        embedding_scale=_embedding_scale(embedding, ids),
        logit_scale=_logit_scale(config, own, F.linear(x, unembedding, bias), cap),
        logit_softcap=cap,
        token_ids=_usable(tokenizer, F_.shape[0]),
        tied=F_.data_ptr() == embedding.weight.data_ptr() and projection is None,
        final_norm=module,
    )
    if not _close(adapter.logits(x), own):
        raise _refuse(model, "its logits are not a linear map of its last-layer embedding")
    shorter = model(input_ids=ids[:, :3], use_cache=False).logits[0]
    # Rounding differs with the length and grows through the layers; a later token would do more.
    if (shorter - own[:3]).abs().max() > 0.05 * own.std():
        raise _refuse(model, "it is not causal: a later token changes an earlier logit")
    return adapter


def _embedding_scale(embedding: torch.nn.Embedding, ids: Tensor) -> float:
    rows = embedding.weight[ids].float()
    ratio = float((embedding(ids).float() * rows).sum() / rows.square().sum().clamp_min(1e-30))
    return 1.0 if abs(ratio - 1) < 1e-6 else ratio


def _logit_scale(config: Any, own: Tensor, plain: Tensor, cap: float | None) -> float:
    """The scale the configuration names (Cohere multiplies, Granite divides) that fits."""
    own, plain = own.double(), plain.double()
    if cap is not None:
        own = cap * torch.atanh(own / cap)
    measured = float((own * plain).sum() / plain.square().sum().clamp_min(1e-30))
    candidates = [1.0]
    for name in ("logit_scale", "logits_scaling", "lm_head_multiplier"):
        if value := getattr(config, name, None):
            candidates += [float(value), 1 / float(value)]
    return min(candidates, key=lambda value: abs(value - measured))
