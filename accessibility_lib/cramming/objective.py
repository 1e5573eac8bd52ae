"""Exact logits: the loss and gradient of a batch, and the check of one memory by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from accessibility_lib.cramming.config import Config
from accessibility_lib.models import Adapter, LoadedModel


@dataclass(frozen=True)
class Check:
    """Of one target and memory: ``right`` (n,) whether each token is the argmax given the true
    ones before it; ``gap`` (n,) the target's logit less its closest rival's; ``nats`` (n,)."""

    right: Tensor
    gap: Tensor
    nats: Tensor


@torch.no_grad()
def teacher_forced(loaded: LoadedModel, memory: Tensor, target: Sequence[int]) -> Check:
    """Exact logits of one target (n,) behind one memory (m, d_in), in a forward pass of its own.

    >>> from accessibility_lib import models
    >>> loaded = models.load("micro-llama")
    >>> teacher_forced(loaded, loaded.adapter.embed(torch.tensor([5])), [72, 73]).right.shape
    torch.Size([2])
    """
    adapter = loaded.adapter
    row = torch.as_tensor(target, device=adapter.unembedding.device)
    start = memory.to(adapter.unembedding)
    x = adapter.last_hidden(
        inputs_embeds=torch.cat([start, adapter.embed(row[:-1])])[None],
    )[0, len(start) - 1 :]
    logits = adapter.logits(x).float()
    own = logits.gather(1, row[:, None])[:, 0]
    rival = logits.scatter(1, row[:, None], -math.inf).amax(1)
    # The smallest id wins a tie, as in decoding; a tie has no lead.
    return Check(
        logits.argmax(1) == row, own - rival, F.cross_entropy(logits, row, reduction="none")
    )


def prefix(check: Check, score_first: bool) -> int:
    """The longest prefix whose every token is right; the first is not asked for where given."""
    right = check.right.tolist()
    if not score_first:
        right[0] = True
    return right.index(False) if False in right else len(right)


def padded(targets: Sequence[Sequence[int]], n: int | None = None) -> tuple[Tensor, Tensor]:
    """Targets cut to ``n`` tokens and padded on the right (b, n), and their lengths (b,)."""
    rows = [torch.as_tensor(target)[:n] for target in targets]
    return pad_sequence(rows, batch_first=True), torch.tensor([len(row) for row in rows])


def scored(
    loaded: LoadedModel, memory: Tensor, tokens: Tensor, goal: Tensor, score_first: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Where rows ``memory`` (b, m, d_in) must give the first ``goal`` (b,) of ``tokens`` (b, n):
    the last-layer embeddings (k, d), the rows (k,) they belong to, the tokens wanted (k,)."""
    adapter = loaded.adapter
    start = memory.to(adapter.unembedding)
    tokens, goal = tokens.to(start.device), goal.to(start.device)
    m, n = start.shape[1], tokens.shape[1]
    x = adapter.last_hidden(inputs_embeds=torch.cat([start, adapter.embed(tokens[:, :-1])], dim=1))
    place = torch.arange(n, device=start.device)
    mask = (place < goal[:, None]) & (place >= (0 if score_first else 1))
    rows, columns = mask.nonzero(as_tuple=True)
    return x[rows, columns + m - 1], rows, tokens[rows, columns]


def leads(adapter: Adapter, x: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """How far the wanted token (k,) of each embedding ``x`` (k, d) is above its closest rival: the
    difference (k,) of two logits, and all logits (k, |V|).

    The gradient flows through two rows of F a position; the logits carry none.

    >>> from accessibility_lib import models
    >>> adapter = models.load("micro-llama").adapter
    >>> gap, logits = leads(adapter, torch.ones(1, 128), torch.tensor([7]))
    >>> best = logits[0].sort(descending=True)
    >>> bool(best.indices[0] == 7) == bool(gap[0] > 0)
    True
    """
    with torch.no_grad():
        logits = adapter.logits(x).float()
        rival = logits.scatter(1, wanted[:, None], -math.inf).argmax(1)
    own, other = adapter.logits_at(x, torch.stack([wanted, rival], dim=1)).float().unbind(1)
    return own - other, logits


def loss_and_gradient(
    loaded: LoadedModel, memory: Tensor, tokens: Tensor, goal: Tensor, config: Config
) -> tuple[Tensor, Tensor, Tensor]:
    """Of a batch as in :func:`scored`: the mean loss per scored token (b,), the share of scored
    tokens that are right (b,), and the gradient of the loss (b, m, d_in).  Logits are made a chunk
    of positions at a time, so that they never are all in memory."""
    start = memory.detach().clone().requires_grad_()
    x, rows, wanted = scored(loaded, start, tokens, goal, config.score_first)
    leaf = x.detach().requires_grad_()
    count = torch.bincount(rows, minlength=len(memory)).clamp_min(1)
    loss = torch.zeros(len(memory), device=x.device)
    right = torch.zeros(len(memory), device=x.device)
    for part in torch.arange(len(x)).split(max(1, config.chunk // loaded.adapter.vocab_size)):
        if config.loss == "likelihood":
            logits = loaded.adapter.logits(leaf[part]).float()
            losses = F.cross_entropy(logits, wanted[part], reduction="none")
        else:
            lead, logits = leads(loaded.adapter, leaf[part], wanted[part])
            losses = F.relu(config.margin - lead).square()
        losses = losses / count[rows[part]]
        losses.sum().backward()
        loss.index_add_(0, rows[part], losses.detach())
        right.index_add_(0, rows[part], (logits.argmax(1) == wanted[part]).float())
    right[torch.bincount(rows, minlength=len(memory)) == 0] = 1  # the one token is given
    x.backward(leaf.grad)
    assert start.grad is not None
    return loss.cpu(), (right / count).cpu(), start.grad
