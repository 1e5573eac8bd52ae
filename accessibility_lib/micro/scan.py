"""Mamba's selective scan with a backward pass of its own, for training on a CPU.

Without CUDA kernels ``transformers`` loops over time in Python and lets autograd record each step,
whose backward pass takes time quadratic in the length.  The recurrence is linear, so its gradient
is the same recurrence backwards; the values are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch.nn import functional as F


class _Recurrence(torch.autograd.Function):
    """``h[t] = a[t] * h[t-1] + b[t]`` along the first axis, with ``h[-1] = 0``."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        h = b.clone()
        steps = list(zip(a.unbind(0), h.unbind(0), strict=True))
        for (_, before), (decay, now) in pairwise(steps):
            now.addcmul_(decay, before)
        ctx.save_for_backward(a, h)
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a, h = ctx.saved_tensors
        db = gradients[0].clone()
        steps = list(zip(a.unbind(0), db.unbind(0), strict=True))[::-1]
        for (decay, after), (_, now) in pairwise(steps):
            now.addcmul_(decay, after)
        da = torch.zeros_like(a)
        torch.mul(db[1:], h[:-1], out=da[1:])
        return da, db


def selective_scan(
    u: torch.Tensor,
    dt: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    D: torch.Tensor | None = None,
    z: torch.Tensor | None = None,
    delta_bias: torch.Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
    **_: Any,
) -> Any:
    """The scan of Mamba: ``u``, ``dt``, ``z`` (batch, inner, time), ``A`` (inner, state),
    ``B``, ``C`` (batch, state, time), ``D`` and ``delta_bias`` (inner,).

    Returns (batch, inner, time), and the last state (batch, inner, state) where asked.

    >>> one = torch.ones(1, 1, 3)
    >>> selective_scan(one, one, torch.zeros(1, 1), one, one).tolist()
    [[[1.0, 2.0, 3.0]]]
    """
    if delta_bias is not None:
        dt = dt + delta_bias[:, None]
    if delta_softplus:
        dt = F.softplus(dt)
    time_first = dt.permute(2, 0, 1)  # (time, batch, inner)
    a = torch.exp(time_first[..., None] * A)  # (time, batch, inner, state)
    b = (time_first * u.permute(2, 0, 1))[..., None] * B.permute(2, 0, 1)[:, :, None]
    h: torch.Tensor = _Recurrence.apply(a, b)
    y = (h @ C.permute(2, 0, 1)[..., None]).squeeze(-1).permute(1, 2, 0)
    if D is not None:
        y = y + u * D[:, None]
    if z is not None:
        y = y * F.silu(z)
    return (y, h[-1]) if return_last_state else y


@contextmanager
def trainable() -> Iterator[None]:
    """Within the block ``transformers``' Mamba uses :func:`selective_scan`."""
    from transformers.models.mamba import modeling_mamba

    module: Any = modeling_mamba
    original = module.mamba_selective_scan
    module.mamba_selective_scan = selective_scan
    try:
        yield
    finally:
        module.mamba_selective_scan = original
