"""Muon in the dtype of the parameters.

``torch.optim.Muon`` orthogonalises in bfloat16, which a CPU without such instructions emulates:
there it takes three quarters of a step at width 128 and nine tenths at width 256.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

COEFFICIENTS = (3.4445, -4.775, 2.0315)


def orthogonalize(matrices: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """Push the singular values of ``matrices`` (..., rows, columns) towards one; same shape.

    The quintic Newton-Schulz iteration of Jordan et al., "Muon" (2024): its coefficients make
    small singular values grow fast, and leave all of them between about 0.7 and 1.2.

    >>> x = orthogonalize(torch.diag(torch.tensor([3.0, 1.0, 0.5])))
    >>> bool(((torch.linalg.svdvals(x) - 1).abs() < 0.35).all())
    True
    """
    a, b, c = COEFFICIENTS
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised, its steps as large as AdamW's; for matrices only.

    The same step as ``torch.optim.Muon(adjust_lr_fn="match_rms_adamw")``, up to bfloat16 rounding.
    """

    def __init__(
        self,
        params: Iterable[torch.Tensor],
        lr: float,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One update from the gradients; matrices of one shape go through one product."""
        for group in self.param_groups:
            lr, momentum = group["lr"], group["momentum"]
            shapes: dict[torch.Size, list[tuple[torch.Tensor, torch.Tensor]]] = {}
            for p in group["params"]:
                if p.grad is not None:
                    buffer = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                    buffer.lerp_(p.grad, 1 - momentum)
                    update = p.grad.lerp(buffer, momentum)
                    shapes.setdefault(p.shape, []).append((p, update))
            for (rows, columns), pairs in shapes.items():
                alike, updates = zip(*pairs, strict=True)
                size = 0.2 * lr * max(rows, columns) ** 0.5
                for p, update in zip(alike, orthogonalize(torch.stack(updates)), strict=True):
                    p.mul_(1 - lr * group["weight_decay"]).add_(update, alpha=-size)
